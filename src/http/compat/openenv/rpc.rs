//! `/mcp`: JSON-RPC, as `MCPToolClient` of OpenEnv speaks it, over HTTP and in frames of the socket. Answers hold what the acting
//! side may see: rewards are told by steps over the socket, and by `state`.

use axum::extract::Request;
use palestra_protocol::id::SessionId;
use palestra_protocol::problem::Code;
use serde_json::{Map, Value, json};

use super::super::super::answer::Body;
use super::super::super::body;
use super::super::super::problem::Failure;
use super::super::super::strict;
use super::super::json_rpc::{Call, id_of, told_back};
use super::action::{Turn, call};
use super::arguments::Arguments;
use super::beginning::Resume;
use super::player::{Player, Playing};
use super::refusal::{Occupancy, Refusal};
use super::seats::Kind;
use palestra_environment::tool::to_mcp;

const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;
const METHOD_NOT_FOUND: i64 = -32_601;
const INVALID_PARAMS: i64 = -32_602;
const INTERNAL_ERROR: i64 = -32_603;
const SERVER_ERROR: i64 = -32_000;

/// An error of JSON-RPC.
#[derive(Debug)]
struct RpcError {
    code: i64,
    message: String,
    data: Value,
}

impl RpcError {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: Value::Null }
    }
}

impl From<Refusal> for RpcError {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.message();
        match refusal {
            Refusal::Invalid(details) => Self { data: json!(details), ..Self::new(INVALID_PARAMS, message) },
            Refusal::Full(Occupancy { active_sessions, max_sessions }) => Self {
                data: json!({"active_sessions": active_sessions, "max_sessions": max_sessions}),
                ..Self::new(SERVER_ERROR, message)
            },
            Refusal::Factory { environment, .. } => {
                Self { data: json!({"factory_name": environment}), ..Self::new(SERVER_ERROR, message) }
            }
            Refusal::Session(_) => Self::new(INVALID_REQUEST, message),
            Refusal::Unscored(_) => Self::new(SERVER_ERROR, message),
            Refusal::Failed(failure) => {
                let code = match failure.code() {
                    Code::Invalid | Code::UnknownTask | Code::NotFound => INVALID_PARAMS,
                    Code::Internal => INTERNAL_ERROR,
                    _ => SERVER_ERROR,
                };
                Self { data: json!({"problem": failure.code().as_str()}), ..Self::new(code, message) }
            }
        }
    }
}

/// Where a request came from.
enum Origin<'a> {
    Http,
    Socket(Option<&'a Playing>),
}

/// Answer a JSON-RPC request: `openenv/session/create`, `openenv/session/close`, `tools/list` and `tools/call`.
///
/// Refusals are answered with status 200 and an `error`, as JSON-RPC has it.
#[utoipa::path(post, path = "/mcp", tag = "openenv",
    params(("family" = String, Path, description = "The part of the environment's name before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`.")),
    request_body(content = Value, example = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})),
    responses((status = 200, description = "The answer, or the error.", body = Value)))]
pub(super) async fn answer_over_http(player: Player, request: Request) -> Result<Body<Value>, Failure> {
    if let Err(Refusal::Failed(failure)) = player.entry().await {
        return Err(failure);
    }
    let bytes = body::read(request).await?;
    let answer = match strict::from_slice(&bytes) {
        Ok(request) => answer(&player, &Origin::Http, request).await,
        Err(_) => response(&Value::Null, Err(RpcError::new(PARSE_ERROR, "Parse error"))),
    };
    Ok(Body(answer))
}

/// Answers a request that came in a frame.
pub(super) async fn answer_on_socket(player: &Player, playing: Option<&Playing>, request: Map<String, Value>) -> Value {
    answer(player, &Origin::Socket(playing), Value::Object(request)).await
}

async fn answer(player: &Player, origin: &Origin<'_>, request: Value) -> Value {
    let id = id_of(&request).cloned().unwrap_or_default();
    let outcome = match Call::read(request) {
        Ok(Call { method, params, .. }) => perform(player, origin, &method, params).await,
        Err(words) => Err(RpcError::new(INVALID_REQUEST, format!("Invalid request: {words}"))),
    };
    response(&id, outcome)
}

fn response(id: &Value, outcome: Result<Value, RpcError>) -> Value {
    match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(RpcError { code, message, data }) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, "data": data}})
        }
    }
}

async fn perform(
    player: &Player,
    origin: &Origin<'_>,
    method: &str,
    params: Map<String, Value>,
) -> Result<Value, RpcError> {
    match method {
        "openenv/session/create" => create(player, origin, &params).await,
        "openenv/session/close" => close(player, origin, &params).await,
        "tools/list" => {
            let session = match session_of(origin, &params)? {
                Some(id) => Some(known(player, id).await?),
                None => None,
            };
            let tools: Vec<Value> = player.tools(session).await?.iter().map(to_mcp).collect();
            Ok(json!({"tools": tools}))
        }
        "tools/call" => call_tool(player, origin, params).await,
        other => Err(RpcError::new(METHOD_NOT_FOUND, format!("Method not found: {}", told_back(other)))),
    }
}

async fn create(player: &Player, origin: &Origin<'_>, params: &Map<String, Value>) -> Result<Value, RpcError> {
    let session = match origin {
        Origin::Socket(Some(playing)) => playing.session,
        Origin::Socket(None) => {
            return Err(RpcError::new(INVALID_REQUEST, "there is no episode yet: send a reset first"));
        }
        Origin::Http => {
            let arguments = Arguments::read(params).map_err(|refusal| refusal.inside("params"))?;
            let begun = player.begin(&arguments, Kind::Kept, Resume::Never, &mut None).await?;
            player.seats.leave(begun.playing.session, player.me);
            begun.playing.session
        }
    };
    Ok(json!({"session_id": session}))
}

async fn close(player: &Player, origin: &Origin<'_>, params: &Map<String, Value>) -> Result<Value, RpcError> {
    let id = named_session(params)?
        .ok_or_else(|| RpcError::new(INVALID_PARAMS, "Invalid params - 'session_id' is required"))?;
    if matches!(origin, Origin::Socket(Some(playing)) if playing.session == id) {
        let words = "Cannot close active WebSocket-managed session via MCP method";
        return Err(RpcError::new(INVALID_REQUEST, words));
    }
    let id = known(player, id).await?;
    if player.seats.close(id, &player.principal).await {
        Ok(json!({"session_id": id, "closed": true}))
    } else {
        Ok(json!({"session_id": id, "closed": false, "closing": true}))
    }
}

async fn call_tool(player: &Player, origin: &Origin<'_>, params: Map<String, Value>) -> Result<Value, RpcError> {
    let session = session_of(origin, &params)?.ok_or_else(|| {
        RpcError::new(INVALID_PARAMS, "'session_id' is required: openenv/session/create makes a session")
    })?;
    let (tool, arguments) = call(params, "name").map_err(|refusal| refusal.inside("params"))?;
    known(player, session).await?;
    let playing = player.attend(&player.session(session).await?).await?;
    let shown = player.step(&playing, Turn::calling(tool, arguments), None).await?;
    Ok(shown.observation.get("result").cloned().unwrap_or_default())
}

/// The session that a request is about: the socket's own, or the one that it names.
fn session_of(origin: &Origin<'_>, params: &Map<String, Value>) -> Result<Option<SessionId>, RpcError> {
    match origin {
        Origin::Socket(playing) => Ok(playing.map(|playing| playing.session)),
        Origin::Http => named_session(params),
    }
}

fn named_session(params: &Map<String, Value>) -> Result<Option<SessionId>, RpcError> {
    match params.get("session_id") {
        None | Some(Value::Null) => Ok(None),
        Some(id) => {
            let id = id.as_str().and_then(|id| id.parse().ok());
            id.map(Some).ok_or_else(|| RpcError::new(INVALID_PARAMS, "Unknown session_id"))
        }
    }
}

async fn known(player: &Player, id: SessionId) -> Result<SessionId, RpcError> {
    match player.session(id).await {
        Ok(session) => Ok(session.id),
        Err(Refusal::Failed(failure)) if failure.code() == Code::NotFound => {
            Err(RpcError::new(INVALID_PARAMS, format!("Unknown session_id: {id}")))
        }
        Err(refusal) => Err(refusal.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_a_result_or_an_error_and_the_id_of_its_request() {
        assert_eq!(response(&json!(7), Ok(json!({}))), json!({"jsonrpc": "2.0", "id": 7, "result": {}}));
        let failed = response(&Value::Null, Err(RpcError::new(PARSE_ERROR, "Parse error")));
        assert_eq!((&failed["error"]["code"], failed.get("result")), (&json!(-32_700), None));
    }
}
