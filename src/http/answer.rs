//! Answers of success: JSON bodies, and what commands came to with the status that fits.

use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use palestra_protocol::session::Created;
use serde::Serialize;

use super::problem::{Failure, internal};
use palestra_session::Answer;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Bytes around the answer of an item, and around all items.
const BYTES_BESIDE_ANSWER: usize = 16;
/// Room for a body at first: enough for most.
const BODY_BYTES: usize = 1_024;

/// A JSON body.
pub(super) struct Body<T>(pub(super) T);

impl<T: Serialize> IntoResponse for Body<T> {
    fn into_response(self) -> Response {
        let mut bytes = Vec::with_capacity(BODY_BYTES);
        match serde_json::to_writer(&mut bytes, &self.0) {
            Ok(()) => ([(CONTENT_TYPE, JSON)], bytes).into_response(),
            Err(error) => internal(&error).into_response(),
        }
    }
}

/// The JSON of what a command came to. That of a step is there already.
pub(super) fn write_answer(json: &mut String, answer: &Answer) -> serde_json::Result<()> {
    match answer {
        Answer::Stepped(said) => json.push_str(said.json()),
        answer => json.push_str(&serde_json::to_string(answer)?),
    }
    Ok(())
}

/// The JSON of what many commands came to: a list with an [`Outcome`](palestra_protocol::stream::Outcome) for each.
pub(super) fn write_outcomes(json: &mut String, answers: &[Result<Answer, Failure>]) -> serde_json::Result<()> {
    // Most answers are there already: their frame is written without growing.
    let known = |answer: &Result<Answer, Failure>| match answer {
        Ok(Answer::Stepped(said)) => said.json().len() + BYTES_BESIDE_ANSWER,
        _ => 0,
    };
    json.reserve(BYTES_BESIDE_ANSWER + answers.iter().map(known).sum::<usize>());
    json.push_str(r#"{"data":["#);
    for (place, answer) in answers.iter().enumerate() {
        json.push_str(if place == 0 { "" } else { "," });
        match answer {
            Ok(answer) => {
                json.push_str(r#"{"ok":"#);
                write_answer(json, answer)?;
            }
            Err(failure) => {
                json.push_str(r#"{"error":"#);
                json.push_str(&serde_json::to_string(&failure.0)?);
            }
        }
        json.push('}');
    }
    json.push_str("]}");
    Ok(())
}

/// Outcomes of the commands of a batch, in their order.
pub(super) struct Outcomes(pub(super) Vec<Result<Answer, Failure>>);

impl IntoResponse for Outcomes {
    fn into_response(self) -> Response {
        written(|json| write_outcomes(json, &self.0))
    }
}

fn written(write: impl FnOnce(&mut String) -> serde_json::Result<()>) -> Response {
    let mut json = String::new();
    match write(&mut json) {
        Ok(()) => ([(CONTENT_TYPE, JSON)], json).into_response(),
        Err(error) => internal(&error).into_response(),
    }
}

/// The outcome of a command, with status and `Location`.
pub(super) struct Answered(pub(super) Answer);

impl IntoResponse for Answered {
    fn into_response(self) -> Response {
        let (status, location) = match &self.0 {
            Answer::Created(Created::One(opened)) => (StatusCode::CREATED, Some(format!("/v1/sessions/{}", opened.id))),
            Answer::Created(Created::Many(_)) | Answer::Forked(_) | Answer::Snapshot(_) => (StatusCode::CREATED, None),
            Answer::Pending { episode } => (StatusCode::ACCEPTED, Some(format!("/v1/episodes/{episode}/verdicts"))),
            Answer::Opened(_) | Answer::Stepped(_) | Answer::Finished(_) | Answer::Verdict(_) | Answer::Closed(_) => {
                (StatusCode::OK, None)
            }
        };
        let mut response = (status, written(|json| write_answer(json, &self.0))).into_response();
        if let Some(location) = location.and_then(|location| HeaderValue::from_str(&location).ok()) {
            response.headers_mut().insert(LOCATION, location);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use palestra_protocol::list::List;
    use palestra_protocol::problem::Problem;
    use palestra_protocol::step::Stepped;
    use palestra_protocol::stream::Outcome;
    use serde_json::json;

    use super::*;
    use palestra_session::Said;

    #[test]
    fn outcomes_are_written_as_the_protocol_says() {
        let stepped: Stepped = serde_json::from_value(json!({
            "episode": "epi_0197a3c2f2a87c53b0a1d5e6f7089abc", "seq": 1, "durable_seq": 1,
            "observation": {"text": "seen"}, "messages": [], "reward": 0.5, "terminated": true, "truncated": false,
            "stop_reason": "done", "info": {"env_ms": 0.1, "queue_ms": 0.1}
        }))
        .unwrap();
        let failure = Failure::not_found("session");
        let problem: Problem = (*failure.0).clone();
        let answer = Answer::Stepped(Said::new(stepped.clone()).unwrap());
        let mut json = String::new();
        write_outcomes(&mut json, &[Ok(answer), Err(failure)]).unwrap();
        let read: List<Outcome<Stepped>> = serde_json::from_str(&json).unwrap();
        assert_eq!(read.data, [Outcome::Ok(stepped), Outcome::Error(problem)]);
        json.clear();
        write_outcomes(&mut json, &[]).unwrap();
        assert_eq!(json, r#"{"data":[]}"#);
    }
}
