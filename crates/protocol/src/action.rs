//! Actions: what the acting side does in one turn.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// One turn of the acting side, in any of four forms.
///
/// Unknown tools, bad arguments and unparsable text are no errors here: the environment answers them with an observation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "Form")]
pub enum Action {
    /// Plain text.
    Text(String),
    /// One tool call without an id.
    Tool {
        /// The tool's name.
        tool: String,
        /// Its arguments.
        arguments: Map<String, Value>,
    },
    /// Several tool calls, run in order.
    Calls(Vec<Call>),
    /// An OpenAI assistant message, as a chat completion returned it.
    Message(Map<String, Value>),
}

/// One tool call of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Names the call; its result carries the same id.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// Its arguments; an empty object when left out.
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

/// The JSON forms of an action: exactly one of `text`, `tool`, `calls` and `message`.
#[derive(Default, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Form {
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    arguments: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    calls: Option<Vec<Call>>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    message: Option<Map<String, Value>>,
}

/// A field that may be left out, and is not null where it stands.
fn not_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl TryFrom<Form> for Action {
    type Error = &'static str;

    fn try_from(form: Form) -> Result<Self, Self::Error> {
        match form {
            Form { text: Some(text), tool: None, arguments: None, calls: None, message: None } => Ok(Self::Text(text)),
            Form { text: None, tool: Some(tool), arguments, calls: None, message: None } => {
                Ok(Self::Tool { tool, arguments: arguments.unwrap_or_default() })
            }
            Form { text: None, tool: None, arguments: None, calls: Some(calls), message: None } => {
                Ok(Self::Calls(calls))
            }
            Form { text: None, tool: None, arguments: None, calls: None, message: Some(message) } => {
                let role = message.get("role");
                if role.is_none_or(|role| role == "assistant") {
                    Ok(Self::Message(message))
                } else {
                    Err("a message that is an action must have the role \"assistant\"")
                }
            }
            _ => Err(
                "an action must be exactly one of {\"text\"}, {\"tool\",\"arguments\"}, {\"calls\"} and {\"message\"}",
            ),
        }
    }
}

impl From<Action> for Form {
    fn from(action: Action) -> Self {
        match action {
            Action::Text(text) => Self { text: Some(text), ..Self::default() },
            Action::Tool { tool, arguments } => {
                Self { tool: Some(tool), arguments: Some(arguments), ..Self::default() }
            }
            Action::Calls(calls) => Self { calls: Some(calls), ..Self::default() },
            Action::Message(message) => Self { message: Some(message), ..Self::default() },
        }
    }
}

#[cfg(feature = "openapi")]
mod openapi {
    use serde_json::json;
    use utoipa::openapi::schema::{
        AdditionalProperties, ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type,
    };
    use utoipa::openapi::{Ref, RefOr};

    use super::{Action, Call};

    fn form(required: &str, properties: &[(&str, RefOr<Schema>)]) -> ObjectBuilder {
        properties.iter().fold(
            ObjectBuilder::new()
                .required(required)
                .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false))),
            |object, (name, schema)| object.property(*name, schema.clone()),
        )
    }

    impl utoipa::PartialSchema for Action {
        fn schema() -> RefOr<Schema> {
            let string: RefOr<Schema> = ObjectBuilder::new().schema_type(Type::String).into();
            let object: RefOr<Schema> = ObjectBuilder::new().schema_type(SchemaType::Type(Type::Object)).into();
            let calls: RefOr<Schema> = ArrayBuilder::new().items(Ref::from_schema_name("Call")).into();
            OneOfBuilder::new()
                .item(form("text", &[("text", string.clone())]))
                .item(form("tool", &[("tool", string), ("arguments", object.clone())]))
                .item(form("calls", &[("calls", calls)]))
                .item(form("message", &[("message", object)]))
                .description(Some(
                    "One turn: plain text, a tool call, several tool calls, or an OpenAI assistant message.",
                ))
                .examples([json!({"text": "(3 + 5) * 4"})])
                .into()
        }
    }

    impl utoipa::ToSchema for Action {
        fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
            schemas.push(("Call".to_owned(), <Call as utoipa::PartialSchema>::schema()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_forms_survive_a_round_trip() {
        for text in [
            r#"{"text":"hello"}"#,
            r#"{"tool":"move","arguments":{"direction":"up"}}"#,
            r#"{"calls":[{"id":"a","tool":"move","arguments":{}}]}"#,
            r#"{"message":{"content":"hello","role":"assistant"}}"#,
        ] {
            let action: Action = serde_json::from_str(text).expect(text);
            assert_eq!(serde_json::to_string(&action).expect("an action is JSON"), text);
        }
    }

    #[test]
    fn mixtures_and_unknown_fields_are_refused() {
        for text in [
            "{}",
            r#"{"text":"a","tool":"b"}"#,
            r#"{"arguments":{}}"#,
            r#"{"text":"a","extra":1}"#,
            r#"{"calls":[{"tool":"a"}]}"#,
            r#"{"text":1}"#,
            r#"{"text":"a","tool":null}"#,
            r#"{"tool":"a","arguments":null}"#,
            r#"{"calls":[{"id":"a","tool":"b","arguments":null}]}"#,
            r#"{"message":{"role":"user","content":"hello"}}"#,
            "[]",
        ] {
            assert!(serde_json::from_str::<Action>(text).is_err(), "{text}");
        }
    }
}
