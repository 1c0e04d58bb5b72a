//! Tools: their description, and the check of a call before the environment sees it.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

/// An OpenAI function tool with `parameters` as JSON Schema.
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "reads better at the call sites, which build the schema in place")]
pub fn function(name: &str, description: &str, parameters: Value) -> Value {
    json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
}

/// The same tool in MCP's form, with `inputSchema`.
#[must_use]
pub fn to_mcp(tool: &Value) -> Value {
    let function = &tool["function"];
    json!({"name": function["name"], "description": function["description"], "inputSchema": function["parameters"]})
}

/// Compiled schemas of an environment's tools.
pub struct Toolbox {
    tools: HashMap<String, jsonschema::Validator>,
    names: Vec<String>,
}

impl Toolbox {
    /// Compiles OpenAI function tools.
    ///
    /// # Errors
    /// With the tool's name when its `parameters` are no JSON Schema.
    pub fn compile(tools: &[Value]) -> Result<Self, String> {
        let mut compiled = HashMap::new();
        let mut names = Vec::new();
        for tool in tools {
            let function = &tool["function"];
            let name = function["name"].as_str().ok_or("a tool has no name: name it")?.to_owned();
            let validator = jsonschema::validator_for(&function["parameters"])
                .map_err(|error| format!("tool {name}: its parameters are no JSON Schema, correct them: {error}"))?;
            names.push(name.clone());
            compiled.insert(name, validator);
        }
        Ok(Self { tools: compiled, names })
    }

    /// Says what is wrong with a call, in words that a policy can learn from.
    ///
    /// # Errors
    /// When the tool is unknown or the arguments do not fit its schema.
    pub fn check(&self, tool: &str, arguments: &Map<String, Value>) -> Result<(), String> {
        let Some(validator) = self.tools.get(tool) else {
            let offered = if self.names.is_empty() { "none".to_owned() } else { self.names.join(", ") };
            return Err(format!("Error: there is no tool named {:?}. Tools: {offered}.", shortened(tool)));
        };
        let arguments = Value::Object(arguments.clone());
        let faults: Vec<String> = validator
            .iter_errors(&arguments)
            .take(8)
            .map(|error| {
                let path = error.instance_path().to_string();
                let fault = shortened(&error.to_string());
                if path.is_empty() { fault } else { format!("{}: {fault}", shortened(&path)) }
            })
            .collect();
        if faults.is_empty() { Ok(()) } else { Err(format!("Error: bad arguments for {tool}: {}.", faults.join("; "))) }
    }
}

/// Text that quotes what a caller sent, cut where it is long: its beginning and its end, which says what was expected.
fn shortened(text: &str) -> String {
    const CHARACTERS_MAX: usize = 400;
    let count = text.chars().count();
    if count <= CHARACTERS_MAX {
        return text.to_owned();
    }
    let head: String = text.chars().take(CHARACTERS_MAX / 2).collect();
    let tail: String = text.chars().skip(count - CHARACTERS_MAX / 2).collect();
    format!("{head} … {tail}")
}
