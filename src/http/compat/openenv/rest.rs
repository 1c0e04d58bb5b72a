//! `/reset`, `/step`, `/state` and what a client asks before it plays. Sessions are found by the `episode_id` that the caller
//! gave or was given, or by `session_id`.

use std::time::Duration;

use axum::extract::{FromRequest, Request};
use palestra_protocol::problem::Code;
use palestra_protocol::session::Session;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{IntoParams, PartialSchema, ToSchema};
use uuid::Uuid;

use super::super::super::answer::Body;
use super::super::super::body;
use super::super::super::extract::Query;
use super::super::super::problem::Failure;
use super::super::super::strict;
use super::action::{self, Turn, Wanted};
use super::arguments::{Arguments, read_id, read_whole};
use super::beginning::Resume;
use super::observation::Shown;
use super::player::Player;
use super::refusal::{Detail, Refusal, ValidationProblem};
use super::schema::{self, Schemas};
use super::seats::Kind;
use super::socket::nothing_played;
use crate::app::App;

/// Longest `timeout_s`.
const TIMEOUT_S_MAX: f64 = 86_400.0;

/// A JSON object, or nothing, which means the same as an empty one. Faults are told as FastAPI tells them.
pub(super) struct Object(pub(super) Map<String, Value>);

impl FromRequest<App> for Object {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &App) -> Result<Self, Refusal> {
        let bytes = body::read(request).await?;
        if bytes.is_empty() {
            return Ok(Self(Map::new()));
        }
        match strict::from_slice(&bytes) {
            Ok(Value::Object(object)) => Ok(Self(object)),
            Ok(other) => Err(Detail::new("dict_type", &["body"], "Input should be a valid dictionary", &other).into()),
            Err(error) => {
                let words = format!("JSON decode error: {error}");
                Err(Detail::new("json_invalid", &["body"], words, &Value::Null).into())
            }
        }
    }
}

/// The body of a reset; other fields are let through.
pub(super) struct ResetBody;

impl PartialSchema for ResetBody {
    fn schema() -> RefOr<Schema> {
        schema::reset_body().into()
    }
}

impl ToSchema for ResetBody {}

/// The body of a step; other fields are let through.
pub(super) struct StepBody;

impl PartialSchema for StepBody {
    fn schema() -> RefOr<Schema> {
        schema::step_body().into()
    }
}

impl ToSchema for StepBody {}

/// Begin an episode.
///
/// The answer's `metadata.episode_id` names it in the calls after this one. A reset with the id of an episode that goes on begins
/// another one, or with `"resume": true` goes on with it.
#[utoipa::path(post, path = "/reset", tag = "openenv",
    params(("family" = String, Path, description = "The part of the environment's name before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`.")),
    request_body(content = Option<ResetBody>, example = json!({"seed": 7})),
    responses((status = 200, description = "What is seen at the beginning.", body = Shown),
              (status = 422, description = "What was sent does not fit.", body = ValidationProblem)))]
pub(super) async fn reset(player: Player, Object(data): Object) -> Result<Body<Shown>, Refusal> {
    let mut arguments = Arguments::read(&data).map_err(|refusal| refusal.inside("body"))?;
    // Without a connection the id is all that leads back to the episode.
    arguments.episode_id.get_or_insert_with(|| Uuid::now_v7().simple().to_string());
    let resume = if arguments.resume == Some(true) { Resume::Demanded } else { Resume::Never };
    let begun = player.begin(&arguments, Kind::Kept, resume, &mut None).await;
    let begun = begun.map_err(|refusal| refusal.inside("body"))?;
    player.seats.leave(begun.playing.session, player.me);
    Ok(Body(begun.shown))
}

/// Take a turn in the episode of `episode_id`, or in the session of `session_id`.
///
/// With `seq`, the number of the turn from 1, the call is safe to repeat. `timeout_s` bounds how long its answer is waited for; the
/// turn itself is taken all the same.
#[utoipa::path(post, path = "/step", tag = "openenv",
    params(("family" = String, Path, description = "The part of the environment's name before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`.")),
    request_body(content = StepBody, example = json!({"episode_id": "ep-1", "action": {"text": "(3 + 5) * 4"}})),
    responses((status = 200, description = "What came of it.", body = Shown),
              (status = 422, description = "What was sent does not fit.", body = ValidationProblem)))]
pub(super) async fn step(player: Player, Object(data): Object) -> Result<Body<Shown>, Refusal> {
    player.entry().await?;
    let StepRequest { turn, seq, limit } = read_step(&data).map_err(|refusal| refusal.inside("body"))?;
    let session = find(&player, &data).await?.ok_or_else(|| {
        let words = "Field required: the episode that reset answered in metadata.episode_id, or its session_id";
        Detail::new("missing", &["body", "episode_id"], words, &Value::Null)
    })?;
    let playing = player.attend(&session).await?;
    let taking = async {
        match turn {
            Wanted::Tools => player.list_tools(Some(&playing)).await,
            Wanted::Turn(turn) => player.step(&playing, turn, seq).await,
        }
    };
    let shown = match limit {
        None => taking.await?,
        Some(limit) => timeout(limit, taking).await.map_err(|_| {
            let words = "the turn was not done in `timeout_s`: send the same `seq` again to get its answer";
            Refusal::Failed(Failure::new(Code::RequestTimeout, words))
        })??,
    };
    Ok(Body(shown))
}

/// A step, read.
struct StepRequest {
    turn: Wanted,
    seq: Option<u64>,
    limit: Option<Duration>,
}

fn read_step(data: &Map<String, Value>) -> Result<StepRequest, Refusal> {
    let wanted = match data.get("action") {
        Some(Value::Object(action)) => action::read(action.clone()).map_err(|refusal| refusal.inside("action"))?,
        None => return Err(Detail::new("missing", &["action"], "Field required", &Value::Null).into()),
        Some(other) => {
            let words = "Input should be a valid dictionary";
            return Err(Detail::new("dict_type", &["action"], words, other).into());
        }
    };
    let seq = read_whole(data, "seq")?;
    if seq == Some(0) {
        return Err(Detail::new("greater_than_equal", &["seq"], "Steps are counted from 1", &json!(0)).into());
    }
    let limit = match data.get("timeout_s") {
        None | Some(Value::Null) => None,
        Some(seconds) => Some(read_timeout(seconds)?),
    };
    let request_id = read_id(data, "request_id")?;
    let turn = match wanted {
        Wanted::Turn(Turn { action, called, meta: None }) => {
            Wanted::Turn(Turn { action, called, meta: request_id.map(|id| json!({"request_id": id})) })
        }
        other => other,
    };
    Ok(StepRequest { turn, seq, limit })
}

fn read_timeout(seconds: &Value) -> Result<Duration, Refusal> {
    let fault = |kind, words: &str| Refusal::from(Detail::new(kind, &["timeout_s"], words, seconds));
    let number = seconds.as_f64().ok_or_else(|| fault("float_type", "Input should be a valid number"))?;
    if number <= 0.0 {
        return Err(fault("greater_than", "Input should be greater than 0"));
    }
    Ok(Duration::from_secs_f64(number.min(TIMEOUT_S_MAX)))
}

/// The session that a call is about.
async fn find(player: &Player, data: &Map<String, Value>) -> Result<Option<Session>, Refusal> {
    let read = |name| read_id(data, name).map_err(|refusal| refusal.inside("body"));
    let (label, session) = (read("episode_id")?, read("session_id")?);
    let id = match (session, label.filter(|label| !label.is_empty())) {
        (Some(session), _) => session.parse().map_err(|_| Failure::not_found("session"))?,
        (None, Some(label)) => player.session_of_label(&label).await?,
        (None, None) => return Ok(None),
    };
    player.session(id).await.map(Some)
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct StateQuery {
    /// The episode.
    #[param(max_length = 255)]
    episode_id: Option<String>,
    /// Its session.
    #[param(max_length = 255)]
    session_id: Option<String>,
}

/// Tell where an episode stands; without its name, what there is before any.
#[utoipa::path(get, path = "/state", tag = "openenv",
    params(("family" = String, Path, description = "The part of the environment's name before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`."), StateQuery),
    responses((status = 200, description = "`episode_id`, `step_count`, and how it ended.", body = Value),
              (status = 422, description = "What was sent does not fit.", body = ValidationProblem)))]
pub(super) async fn get_state(player: Player, Query(query): Query<StateQuery>) -> Result<Body<Value>, Refusal> {
    player.entry().await?;
    let StateQuery { episode_id, session_id } = query;
    let data = json!({"episode_id": episode_id, "session_id": session_id});
    let data = data.as_object().cloned().unwrap_or_default();
    match find(&player, &data).await? {
        Some(session) => Ok(Body(json!(player.state(session.id, None).await?))),
        None => Ok(Body(nothing_played())),
    }
}

/// The server's health.
#[derive(Serialize, ToSchema)]
pub(super) struct Healthy {
    /// `healthy`.
    status: &'static str,
}

/// Tell that the environment can be played.
#[utoipa::path(get, path = "/health", tag = "openenv",
    params(("family" = String, Path, description = "The part of the environment's name before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`.")),
    responses((status = 200, description = "It can.", body = Healthy)))]
pub(super) async fn get_health(player: Player) -> Result<Body<Healthy>, Refusal> {
    player.entry().await?;
    Ok(Body(Healthy { status: "healthy" }))
}

/// A description of the environment.
#[derive(Serialize, ToSchema)]
pub(super) struct About {
    /// `family/name`.
    name: String,
    /// The task of the acting side.
    description: String,
    /// Its version.
    version: String,
    /// Nothing: the environment has no such text.
    readme_content: Option<String>,
    /// Nothing.
    author: Option<String>,
    /// Nothing.
    documentation_url: Option<String>,
}

/// Describe the environment.
#[utoipa::path(get, path = "/metadata", tag = "openenv",
    params(("family" = String, Path, description = "The part of the environment's name before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`.")),
    responses((status = 200, description = "Name, description and version.", body = About)))]
pub(super) async fn get_metadata(player: Player) -> Result<Body<About>, Refusal> {
    let entry = player.entry().await?;
    let spec = entry.spec();
    Ok(Body(About {
        name: spec.name.clone(),
        description: spec.description.clone(),
        version: spec.version.to_string(),
        readme_content: None,
        author: None,
        documentation_url: None,
    }))
}

/// Tell the schemas of actions, observations and state.
#[utoipa::path(get, path = "/schema", tag = "openenv",
    params(("family" = String, Path, description = "The part of the environment's name before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`.")),
    responses((status = 200, description = "JSON Schemas.", body = Schemas)))]
pub(super) async fn get_schema(player: Player) -> Result<Body<Schemas>, Refusal> {
    let entry = player.entry().await?;
    Ok(Body(schema::schemas(entry.spec())))
}

/// List what there is at this address, as an OpenAPI document: tools of OpenEnv look for it to learn what a server can do.
#[utoipa::path(get, path = "/openapi.json", tag = "openenv",
    params(("family" = String, Path, description = "The part of the environment's name before the slash."),
           ("name" = String, Path, description = "The part behind it, optionally with `@version`.")),
    responses((status = 200, description = "The paths.", body = Value)))]
pub(super) async fn get_openapi(player: Player) -> Result<Body<Value>, Refusal> {
    let entry = player.entry().await?;
    Ok(Body(schema::openapi(entry.spec())))
}
