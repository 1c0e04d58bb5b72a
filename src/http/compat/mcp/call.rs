//! `tools/call`: a turn of the session. What went wrong with it is a result that a model can read, not an error of the protocol.

use palestra_protocol::action::Action;
use palestra_protocol::observation::Observation;
use palestra_protocol::problem::Code;
use palestra_protocol::step::{Step, Stepped, StopReason};
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, JsonObject, MetaObject, ServerResult};
use serde_json::{Value, json};

use super::super::super::perform::{ToolForm, perform};
use super::super::super::problem::{Failure, internal};
use super::super::played;
use super::message::params;
use super::seat::Seat;
use palestra_session::{Answer, Command};

/// Takes the turn that a call stands for, whichever is next.
pub(super) async fn call_tool(seat: &Seat<'_>, given: JsonObject) -> Result<Result<ServerResult, ErrorData>, Failure> {
    let (tool, arguments) = match params::<CallToolRequestParams>(given) {
        Ok(called) => (called.name.into_owned(), called.arguments.unwrap_or_default()),
        Err(error) => return Ok(Err(error)),
    };
    let environment = played::environment(seat.app, &seat.principal.tenant, seat.session).await?;
    let config = played::config(seat.app, &seat.principal.tenant, &environment, seat.session.id).await?;
    let fits = environment.offer(&config).toolbox.check(&tool, &arguments).is_ok();
    let step = Step { seq: None, action: Action::Tool { tool, arguments }, episode: None, observe: None, meta: None };
    let command = Command::Step { session: seat.session.id, step: Box::new(step) };
    let result = match perform(seat.app, seat.principal, command, ToolForm::default()).await {
        Ok(Answer::Stepped(step)) => shown(step.into_stepped(), fits),
        Ok(_) => return Err(internal(&std::io::Error::other("another answer than was asked for"))),
        // Somebody else's session, or one that was there a moment ago.
        Err(failure) if failure.code() == Code::NotFound => return Err(failure),
        Err(failure) => refused(&failure),
    };
    Ok(Ok(ServerResult::CallToolResult(result)))
}

/// A turn that was taken. Neither reward nor verdict is told, whoever asks: clients hand results to the model that is judged.
fn shown(stepped: Stepped, fits: bool) -> CallToolResult {
    let Stepped { episode, seq, observation, terminated, truncated, stop_reason, .. } = stepped;
    let Observation { text, data, omitted_bytes, .. } = observation;
    let broken = stop_reason == Some(StopReason::InfraError);
    let failed = !fits || broken || data.get("error").is_some_and(|error| !error.is_null());
    let mut content = vec![ContentBlock::text(text)];
    if let Some(reason) = stop_reason.filter(|_| terminated || truncated) {
        content.push(ContentBlock::text(format!("The episode is over: {}.", reason.as_str())));
    }
    let mut result = if failed { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = Some(data).filter(Value::is_object);
    let mut meta = MetaObject::new();
    meta.insert("episode".to_owned(), json!(episode));
    meta.insert("seq".to_owned(), json!(seq));
    meta.insert("terminated".to_owned(), json!(terminated));
    meta.insert("truncated".to_owned(), json!(truncated));
    meta.insert("stop_reason".to_owned(), json!(stop_reason));
    if omitted_bytes > 0 {
        meta.insert("omitted_bytes".to_owned(), json!(omitted_bytes));
    }
    result.with_meta(Some(meta))
}

/// A turn that was refused, with the code of the problem.
fn refused(failure: &Failure) -> CallToolResult {
    let (code, detail) = (failure.code().as_str(), &failure.0.detail);
    let mut result = CallToolResult::error(vec![ContentBlock::text(format!("Error ({code}): {detail}"))]);
    result.structured_content = Some(json!({"error": {"code": code, "detail": detail}}));
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(extra: Value, fits: bool) -> Value {
        let mut stepped = json!({
            "episode": "epi_0197a3c2f2a87c53b0a1d5e6f7089abc", "seq": 1, "durable_seq": 1,
            "observation": {"text": "seen"}, "messages": [], "reward": 0.5, "terminated": false, "truncated": false,
            "stop_reason": null, "info": {"env_ms": 0.1, "queue_ms": 0.1, "shaping": 0.5}
        });
        let Value::Object(extra) = extra else { panic!("fields") };
        for (field, value) in extra {
            stepped[field] = value;
        }
        let stepped = serde_json::from_value(stepped).expect("an answer");
        serde_json::to_value(shown(stepped, fits)).expect("JSON")
    }

    #[test]
    fn a_turn_shows_its_text_and_its_data_where_that_is_an_object() {
        let plain = result(json!({}), true);
        assert_eq!(plain["content"], json!([{"type": "text", "text": "seen"}]));
        assert_eq!((&plain["isError"], plain.get("structuredContent")), (&json!(false), None));
        let with_data = result(json!({"observation": {"text": "seen", "data": {"count": 1}}}), true);
        assert_eq!(with_data["structuredContent"], json!({"count": 1}));
        let with_list = result(json!({"observation": {"text": "seen", "data": [1]}}), true);
        assert_eq!(with_list.get("structuredContent"), None);
        assert!(!plain.to_string().contains("0.5"), "{plain}");
    }

    #[test]
    fn what_went_wrong_is_an_error_that_a_model_can_read() {
        assert_eq!(result(json!({}), false)["isError"], true);
        for (data, failed) in [
            (json!({"error": {"code": "not_allowed"}}), true),
            (json!({"error": "no such row"}), true),
            (json!({"error": null}), false),
            (json!(["error"]), false),
            (json!("error"), false),
        ] {
            assert_eq!(result(json!({"observation": {"text": "a", "data": data}}), true)["isError"], failed, "{data}");
        }
    }

    #[test]
    fn the_end_of_the_episode_is_told_in_words_and_in_fields() {
        let ended = result(json!({"truncated": true, "stop_reason": "max_steps"}), true);
        assert_eq!(ended["content"][1]["text"], "The episode is over: max_steps.");
        let meta = &ended["_meta"];
        assert_eq!((&meta["terminated"], &meta["truncated"]), (&json!(false), &json!(true)));
        assert_eq!(meta["stop_reason"], "max_steps");
        assert_eq!(result(json!({}), true)["content"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn a_refusal_names_its_code() {
        let result = refused(&Failure::new(Code::EpisodeOver, "the episode is over"));
        let result = serde_json::to_value(result).expect("JSON");
        assert_eq!(result["isError"], true);
        assert_eq!(result["content"][0]["text"], "Error (episode_over): the episode is over");
        assert_eq!(result["structuredContent"]["error"]["code"], "episode_over");
    }
}
