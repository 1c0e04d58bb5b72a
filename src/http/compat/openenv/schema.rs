//! `/schema`: what actions, observations and states look like here.

use palestra_protocol::environment::Environment as Spec;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa::openapi::schema::{AdditionalProperties, Object, ObjectBuilder, Schema, SchemaType, Type};

use super::arguments::ID_CHARACTERS_MAX;

/// JSON Schemas of an environment.
#[derive(Serialize, ToSchema)]
pub(super) struct Schemas {
    /// Of actions: the form that every environment takes, with the others in `$defs`.
    action: Value,
    /// Of observations, with `reward` and `done`, as OpenEnv's own models have them.
    observation: Value,
    /// The same: a reset shows what a step shows.
    reset_observation: Value,
    /// Of `state`.
    state: Value,
}

pub(super) fn schemas(spec: &Spec) -> Schemas {
    let observation = observation(spec);
    Schemas { action: action(spec), reset_observation: observation.clone(), observation, state: state() }
}

/// Text is taken everywhere, so it is the schema; a client that has but a string to send finds the one field for it. What is
/// taken besides stands in `$defs`.
fn action(spec: &Spec) -> Value {
    let metadata = json!({"type": "object", "description": "Recorded, and never shown to the environment."});
    let arguments = json!({"type": "object"});
    let form = |required: &str, properties: Value| {
        let mut properties = properties;
        properties["metadata"] = metadata.clone();
        json!({"type": "object", "required": [required], "additionalProperties": false, "properties": properties})
    };
    let tools: Vec<Value> = spec
        .tools
        .iter()
        .map(|tool| {
            let function = &tool["function"];
            let mut call =
                form("tool", json!({"tool": {"const": function["name"]}, "arguments": function["parameters"]}));
            call["description"] = function["description"].clone();
            call
        })
        .collect();
    let call_tool =
        form("type", json!({"type": {"const": "call_tool"}, "tool_name": {"type": "string"}, "arguments": arguments}));
    let calls = json!({
        "type": "array",
        "items": {"type": "object", "required": ["id", "tool"], "additionalProperties": false,
                  "properties": {"id": {"type": "string"}, "tool": {"type": "string"}, "arguments": arguments}},
    });
    let mut text =
        form("text", json!({"text": {"type": "string", "description": "The answer, or the move, as text."}}));
    text["title"] = json!("PalestraAction");
    text["description"] = json!(
        "An action is plain text. Instead of it, one of the forms in `$defs` may be sent: a call of a tool of this environment \
         (`tool`), the same as OpenEnv's `call_tool`, several calls of one turn (`calls`), or an assistant message as a chat \
         completion returned it (`message`). `list_tools` is answered with the tools and is no step."
    );
    text["$defs"] = json!({
        "call_tool": call_tool,
        "list_tools": form("type", json!({"type": {"const": "list_tools"}})),
        "calls": form("calls", json!({"calls": calls})),
        "message": form("message", json!({"message": {"type": "object"}})),
    });
    if !tools.is_empty() {
        text["$defs"]["tool"] = json!({"anyOf": tools});
    }
    text
}

fn observation(spec: &Spec) -> Value {
    json!({
        "title": "PalestraObservation",
        "type": "object",
        "required": ["reward", "done", "metadata"],
        "properties": {
            "text": {"type": "string", "description": "Always there after a reset or a step, and enough to act on."},
            "data": spec.observation_schema,
            "content": {"type": "array", "items": {"type": "object"}},
            "messages": {
                "type": "array", "description": "Chat messages, where they say more than the text.",
                "items": {"type": "object", "required": ["role", "content"]}
            },
            "omitted_bytes": {"type": "integer", "minimum": 0},
            "tools": {
                "type": "array", "description": "The answer to list_tools.",
                "items": {"type": "object", "required": ["name", "description", "input_schema"]}
            },
            "tool_name": {"type": "string", "description": "The tool of a call_tool."},
            "result": {"type": "object", "description": "What a call_tool came to."},
            "error": {"type": ["object", "null"], "description": "Why a call_tool did not fit."},
            "reward": {
                "type": ["number", "null"],
                "description": if spec.step_rewards {
                    "The step's reward."
                } else {
                    "The score, in [0, 1], on the step that ends the episode; null before."
                }
            },
            "done": {"type": "boolean"},
            "terminated": {"type": "boolean", "description": "Over because it came to its end."},
            "truncated": {"type": "boolean", "description": "Over because it was cut off."},
            "metadata": {"type": "object"}
        }
    })
}

fn state() -> Value {
    json!({
        "title": "PalestraState",
        "type": "object",
        "required": ["episode_id", "step_count"],
        "properties": {
            "episode_id": {"type": ["string", "null"]},
            "step_count": {"type": "integer", "minimum": 0},
            "session_id": {"type": "string", "description": "The session, in Palestra's own API."},
            "episode": {"type": "string", "description": "The episode, in Palestra's own API."},
            "environment": {"type": "string"},
            "task": {"type": "string"},
            "open": {"type": "boolean"},
            "done": {"type": "boolean"},
            "terminated": {"type": "boolean"},
            "truncated": {"type": "boolean"},
            "stop_reason": {"type": ["string", "null"]},
            "status": {"type": ["string", "null"], "description": "Of the verdict; only `scored` has a score."},
            "score": {"type": ["number", "null"]}
        }
    })
}

/// The paths of the mount as an OpenAPI document.
pub(super) fn openapi(spec: &Spec) -> Value {
    let get = |words: &str| json!({"get": {"summary": words, "responses": {"200": {"description": "Done."}}}});
    let post = |words: &str| json!({"post": {"summary": words, "responses": {"200": {"description": "Done."}}}});
    json!({
        "openapi": "3.1.0",
        "info": {"title": spec.name, "version": "1.0.0", "description": spec.description},
        "paths": {
            "/reset": post("Begin an episode."),
            "/step": post("Take a turn."),
            "/state": get("Tell where an episode stands."),
            "/health": get("Tell that the environment can be played."),
            "/metadata": get("Describe the environment."),
            "/schema": get("Tell the schemas."),
            "/mcp": post("Answer a JSON-RPC request."),
            "/list_environments": get("Name the environment."),
            "/{env}/splits": get("List the splits."),
            "/{env}/tasks": post("List the first tasks of a split."),
            "/{env}/num_tasks": post("Count the tasks of a split."),
            "/{env}/task": post("Show a task."),
            "/{env}/task_range": post("Show tasks in a row.")
        }
    })
}

fn named(words: &str, kind: Type) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::from_iter([kind, Type::Null])).description(Some(words))
}

fn open_object() -> ObjectBuilder {
    ObjectBuilder::new().additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(true)))
}

/// The schema of a reset's body.
pub(super) fn reset_body() -> Object {
    let id = || named("Names the episode.", Type::String).max_length(Some(ID_CHARACTERS_MAX));
    let whole = |words| named(words, Type::Integer).minimum(Some(0)).maximum(Some(9_007_199_254_740_991_i64));
    open_object()
        .property("seed", whole("Chooses the problem and the randomness."))
        .property("episode_id", id())
        .property("split", named("Of which split; `train` where left out.", Type::String))
        .property("index", whole("Which task of the split."))
        .property("task_id", named("Recreates a task exactly.", Type::String))
        .property("difficulty", named("From 0 to 1.", Type::Number))
        .property("config", named("Settings of the environment.", Type::Object))
        .property("limits", named("Limits of the session.", Type::Object))
        .property("run", named("The run that owns the session.", Type::String))
        .property("group", named("The group of rollouts.", Type::String))
        .property("resume", named("Go on with the episode of this id.", Type::Boolean))
        .build()
}

/// The schema of a step's body.
pub(super) fn step_body() -> Object {
    let id = |words| named(words, Type::String).max_length(Some(ID_CHARACTERS_MAX));
    open_object()
        .property("action", ObjectBuilder::new().description(Some("As `/schema` says.")))
        .required("action")
        .property("episode_id", id("The episode."))
        .property("session_id", id("Or its session."))
        .property("seq", named("The number of the turn, from 1.", Type::Integer).minimum(Some(1)))
        .property("timeout_s", named("Seconds to wait for the answer.", Type::Number))
        .property("request_id", id("Recorded with the step."))
        .build()
}
