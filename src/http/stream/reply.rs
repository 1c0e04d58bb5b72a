//! Frames that leave a socket, as JSON.

use palestra_protocol::episode::Event;
use palestra_protocol::id::SessionId;
use palestra_protocol::problem::Problem;
use serde::Serialize;

use super::super::answer::{write_answer, write_outcomes};
use super::super::problem::Failure;
use palestra_session::Answer;

#[derive(Serialize)]
struct ErrorFrame<'a> {
    id: Option<u64>,
    error: &'a Problem,
}

#[derive(Serialize)]
struct EventFrame<'a> {
    event: &'a Event,
}

/// The frame that answers a command.
pub(super) fn answer(id: u64, outcome: &Result<Answer, Failure>) -> String {
    match outcome {
        Ok(answer) => ok(id, |json| write_answer(json, answer)),
        Err(failure) => refusal(Some(id), failure),
    }
}

/// The frame that answers many commands.
pub(super) fn answers(id: u64, outcomes: &[Result<Answer, Failure>]) -> String {
    ok(id, |json| write_outcomes(json, outcomes))
}

/// The frame that answers the beginning or end of a subscription.
pub(super) fn confirmation(id: u64, session: SessionId) -> String {
    format!(r#"{{"id":{id},"ok":{{"session":"{session}"}}}}"#)
}

fn ok(id: u64, write: impl FnOnce(&mut String) -> serde_json::Result<()>) -> String {
    let mut frame = format!(r#"{{"id":{id},"ok":"#);
    let written = write(&mut frame).map(|()| frame + "}");
    written.unwrap_or_else(|error| unwritten(&error))
}

/// The frame that refuses what another asked for.
pub(super) fn refusal(id: Option<u64>, failure: &Failure) -> String {
    encode(&ErrorFrame { id, error: &failure.0 })
}

/// The frame that tells what happened in a session.
pub(super) fn event(event: &Event) -> String {
    encode(&EventFrame { event })
}

fn encode(frame: &impl Serialize) -> String {
    serde_json::to_string(frame).unwrap_or_else(|error| unwritten(&error))
}

fn unwritten(error: &serde_json::Error) -> String {
    tracing::error!(%error, "a frame could not be written");
    String::from("{\"id\":null}")
}
