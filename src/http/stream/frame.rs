//! Frames that come in: what is asked, under which id.

use std::borrow::Cow;

use palestra_protocol::action::Action;
use palestra_protocol::id::{EpisodeId, SessionId};
use palestra_protocol::observation::Observe;
use palestra_protocol::problem::Code;
use palestra_protocol::step::Step;
use palestra_protocol::stream::StepItem;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::batch::{check_length, read_step};
use super::super::extract::parse;
use super::super::fields::Fields;
use super::super::problem::Failure;
use crate::session::Command;

/// Longest cursor that is looked at.
const CURSOR_BYTES_MAX: usize = 200;
const OPERATIONS: &str =
    "create, reset, step, finish, verify, fork, snapshot, restore, close, subscribe, unsubscribe and steps";

/// A frame that could be read.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) id: u64,
    pub(super) request: Request,
}

/// What a frame asks for.
#[derive(Debug)]
pub(super) enum Request {
    /// One command.
    Command(Command),
    /// Many steps; one that could not be read fails no other.
    Steps(Vec<Result<StepItem, Failure>>),
    /// The events of a session, after a cursor.
    Subscribe { session: SessionId, after: Option<String> },
    /// No more events of a session.
    Unsubscribe { session: SessionId },
}

/// A frame that could not be read, with its id where that much could be.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub(super) id: Option<u64>,
    pub(super) failure: Failure,
}

/// What every frame begins with, whatever else is wrong with it.
#[derive(Deserialize)]
struct Head<'a> {
    id: Option<Value>,
    #[serde(borrow)]
    op: Option<Cow<'a, str>>,
}

/// A step, read straight from the text: this is what nearly all frames are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepFrame {
    #[expect(dead_code, reason = "read with the head")]
    id: IgnoredAny,
    #[expect(dead_code, reason = "read with the head")]
    op: IgnoredAny,
    session: SessionId,
    #[serde(default)]
    seq: Option<u64>,
    action: Action,
    #[serde(default)]
    episode: Option<EpisodeId>,
    #[serde(default)]
    observe: Option<Observe>,
    #[serde(default)]
    meta: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepsFrame<'a> {
    #[expect(dead_code, reason = "read with the head")]
    id: IgnoredAny,
    #[expect(dead_code, reason = "read with the head")]
    op: IgnoredAny,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

/// Reads a frame.
pub(super) fn read(text: &str) -> Result<Frame, Unreadable> {
    let head: Head<'_> = parse(text.as_bytes()).map_err(|failure| Unreadable { id: None, failure })?;
    let id = match &head.id {
        Some(id) => id.as_u64(),
        None => None,
    };
    let unreadable = |failure| Unreadable { id, failure };
    let Some(frame_id) = id else {
        return Err(unreadable(Failure::invalid("id", "every frame has an id, a whole number from 0 to 2^64 - 1")));
    };
    let Some(op) = head.op else {
        return Err(unreadable(Failure::invalid(
            "op",
            format!("every frame has an operation; there are {OPERATIONS}"),
        )));
    };
    let request = request(&op, text).map_err(unreadable)?;
    Ok(Frame { id: frame_id, request })
}

fn request(op: &str, text: &str) -> Result<Request, Failure> {
    match op {
        "step" => {
            let frame: StepFrame = parse(text.as_bytes())?;
            let StepFrame { session, seq, action, episode, observe, meta, .. } = frame;
            let step = Box::new(Step { seq, action, episode, observe, meta });
            return Ok(Request::Command(Command::Step { session, step }));
        }
        "steps" => {
            let frame: StepsFrame<'_> = parse(text.as_bytes())?;
            check_length(frame.items.len())?;
            return Ok(Request::Steps(frame.items.into_iter().map(read_step).collect()));
        }
        _ => {}
    }
    let mut fields = Fields::read(text)?.without(&["id", "op"]);
    let command = match op {
        "create" => {
            let key = fields.key()?;
            Command::Create { request: Box::new(fields.body()?), key }
        }
        "reset" => Command::Reset { session: fields.session()?, key: fields.key()?, request: fields.body()? },
        "fork" => Command::Fork { session: fields.session()?, key: fields.key()?, request: fields.body()? },
        "snapshot" => Command::Snapshot { session: fields.session()?, key: fields.key()?, request: fields.body()? },
        "restore" => Command::Restore { session: fields.session()?, key: fields.key()?, request: fields.body()? },
        "finish" => Command::Finish { session: fields.session()?, request: fields.body()? },
        "verify" => Command::Verify { session: fields.session()?, request: fields.body()? },
        "close" => {
            let session = fields.session()?;
            fields.body::<Nothing>()?;
            Command::Close { session }
        }
        "subscribe" => return subscribe(fields),
        "unsubscribe" => {
            let session = fields.session()?;
            fields.body::<Nothing>()?;
            return Ok(Request::Unsubscribe { session });
        }
        _ => return Err(Failure::invalid("op", format!("there is no such operation; there are {OPERATIONS}"))),
    };
    Ok(Request::Command(command))
}

/// A body without fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Subscribe {
    #[serde(default)]
    after: Option<String>,
}

fn subscribe(mut fields: Fields) -> Result<Request, Failure> {
    let session = fields.session()?;
    let Subscribe { after } = fields.body()?;
    if after.as_ref().is_some_and(|after| after.len() > CURSOR_BYTES_MAX) {
        return Err(Failure::new(Code::Malformed, "`after` is none that this stream sent"));
    }
    Ok(Request::Subscribe { session, after })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "ses_0197a3c2f2a87c53b0a1d5e6f7089abc";

    #[test]
    fn a_step_is_read_with_all_its_fields() {
        let text = format!(
            r#"{{"id":7,"op":"step","session":"{SESSION}","seq":2,"action":{{"text":"a"}},"observe":{{"text_bytes":3}},"meta":[1]}}"#
        );
        let frame = read(&text).unwrap();
        let Request::Command(Command::Step { session, step }) = frame.request else { panic!("{text}") };
        assert_eq!((frame.id, session.to_string().as_str(), step.seq), (7, SESSION, Some(2)));
        assert_eq!(step.meta, Some(serde_json::json!([1])));
    }

    #[test]
    fn every_operation_is_read() {
        for body in [
            r#""op":"create","environment":"a/b","key":"k""#,
            r#""op":"reset","session":"S","key":"k""#,
            r#""op":"step","session":"S","action":{"text":"a"}"#,
            r#""op":"steps","items":[{"session":"S","action":{"text":"a"}}]"#,
            r#""op":"finish","session":"S","reason":"gave_up""#,
            r#""op":"verify","session":"S","wait_ms":5"#,
            r#""op":"fork","session":"S","count":2"#,
            r#""op":"snapshot","session":"S","name":"here""#,
            r#""op":"restore","session":"S","snapshot":"snap_0197a3c2f2a87c53b0a1d5e6f7089abc""#,
            r#""op":"close","session":"S""#,
            r#""op":"subscribe","session":"S","after":"1""#,
            r#""op":"unsubscribe","session":"S""#,
        ] {
            let text =
                format!("{{\"id\":0,{}}}", body.replace('S', SESSION).replace(&format!("\"{SESSION}\":"), "\"S\":"));
            assert!(read(&text).is_ok(), "{text}: {:?}", read(&text));
        }
    }

    #[test]
    fn what_cannot_be_read_is_answered_under_its_id_where_there_is_one() {
        for (text, id, code) in [
            ("", None, Code::Malformed),
            ("{", None, Code::Malformed),
            ("[1]", None, Code::Invalid),
            ("7", None, Code::Invalid),
            ("{}", None, Code::Invalid),
            (r#"{"id":-1,"op":"step"}"#, None, Code::Invalid),
            (r#"{"id":"a","op":"step"}"#, None, Code::Invalid),
            (r#"{"id":1}"#, Some(1), Code::Invalid),
            (r#"{"id":1,"op":"dance"}"#, Some(1), Code::Invalid),
            (r#"{"id":1,"op":"step"}"#, Some(1), Code::Invalid),
            (r#"{"id":1,"op":"step","session":"ses_1","action":{"text":"a"}}"#, Some(1), Code::Invalid),
            (r#"{"id":1,"op":"close"}"#, Some(1), Code::Invalid),
            (
                r#"{"id":1,"op":"close","session":"ses_0197a3c2f2a87c53b0a1d5e6f7089abc","key":"k"}"#,
                Some(1),
                Code::Invalid,
            ),
            (r#"{"id":1,"op":"create","environment":"a/b","key":7}"#, Some(1), Code::Invalid),
            (r#"{"id":1,"op":"create","environment":"a/b","colour":"red"}"#, Some(1), Code::Invalid),
        ] {
            let unreadable = read(text).unwrap_err();
            assert_eq!((unreadable.id, unreadable.failure.code()), (id, code), "{text}");
        }
    }
}
