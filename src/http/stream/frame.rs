//! Frames that come in: what is asked, under which id.

use std::borrow::Cow;

use palestra_protocol::action::Action;
use palestra_protocol::id::{EpisodeId, SessionId};
use palestra_protocol::observation::Observe;
use palestra_protocol::problem::Code;
use palestra_protocol::step::Step;
use palestra_protocol::stream::{BATCH_ITEMS_MAX, StepItem};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::batch::{check_length, read_step};
use super::super::extract::parse;
use super::super::fields::Fields;
use super::super::problem::Failure;
use super::super::strict;
use palestra_session::Command;

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

/// The request of a frame.
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

/// The head of a frame, read whatever else is wrong with it.
#[derive(Deserialize)]
struct Head<'a> {
    id: Option<Value>,
    #[serde(borrow)]
    op: Option<Cow<'a, str>>,
}

/// A frame of steps, as nearly all are: read in one pass. What does not fit is read again, piece by piece, so that whatever is
/// wrong is told.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain {
    id: u64,
    op: PlainOperation,
    #[serde(default, deserialize_with = "given")]
    items: Option<Vec<StepItem>>,
    #[serde(default, deserialize_with = "given")]
    session: Option<SessionId>,
    #[serde(default, deserialize_with = "given")]
    seq: Option<Option<u64>>,
    #[serde(default, deserialize_with = "given")]
    action: Option<Action>,
    #[serde(default, deserialize_with = "given")]
    episode: Option<Option<EpisodeId>>,
    #[serde(default, deserialize_with = "given")]
    observe: Option<Option<Observe>>,
    #[serde(default, deserialize_with = "given")]
    meta: Option<Option<Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum PlainOperation {
    Step,
    Steps,
}

/// A field that may be left out, which is something else than null.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl Plain {
    fn frame(self) -> Option<Frame> {
        let Self { id, op, items, session, seq, action, episode, observe, meta } = self;
        let request = match (op, items, session, action) {
            (PlainOperation::Step, None, Some(session), Some(action)) => {
                let (seq, episode) = (seq.flatten(), episode.flatten());
                let step = Step { seq, action, episode, observe: observe.flatten(), meta: meta.flatten() };
                Request::Command(Command::Step { session, step: Box::new(step) })
            }
            (PlainOperation::Steps, Some(items), None, None)
                if (seq, episode, observe, meta) == (None, None, None, None) && items.len() <= BATCH_ITEMS_MAX =>
            {
                Request::Steps(items.into_iter().map(Ok).collect())
            }
            _ => return None,
        };
        Some(Frame { id, request })
    }
}

/// A step of which something may be wrong.
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
    if let Some(frame) = strict::from_slice::<Plain>(text.as_bytes()).ok().and_then(Plain::frame) {
        return Ok(frame);
    }
    let head: Head<'_> = parse(text.as_bytes()).map_err(|failure| Unreadable { id: None, failure })?;
    let id = match &head.id {
        Some(id) => id.as_u64(),
        None => None,
    };
    let unreadable = |failure| Unreadable { id, failure };
    let Some(frame_id) = id else {
        return Err(unreadable(Failure::invalid(
            "id",
            "every frame must have an id, a whole number from 0 to 2^64 - 1",
        )));
    };
    let Some(op) = head.op else {
        return Err(unreadable(Failure::invalid(
            "op",
            format!("every frame must have an operation: use one of {OPERATIONS}"),
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
        _ => return Err(Failure::invalid("op", format!("there is no such operation: use one of {OPERATIONS}"))),
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
        return Err(Failure::new(Code::Malformed, "unknown `after`: pass one that this stream sent"));
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
    fn one_that_does_not_fit_fails_no_other_step_of_its_frame() {
        let item = format!(r#"{{"session":"{SESSION}","seq":1,"action":{{"text":"a"}}}}"#);
        for (items, expected) in [
            (format!("{item},{item}"), vec![true, true]),
            (format!(r#"{item},{{"session":"{SESSION}"}},7,{item}"#), vec![true, false, false, true]),
            (String::new(), vec![]),
        ] {
            let frame = read(&format!(r#"{{"items":[{items}],"op":"steps","id":1}}"#)).unwrap();
            let Request::Steps(items) = frame.request else { panic!("{items}") };
            assert_eq!(items.iter().map(Result::is_ok).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn fields_of_the_other_form_and_nulls_are_refused() {
        let step = format!(r#""op":"step","session":"{SESSION}","action":{{"text":"a"}}"#);
        for body in [
            format!(r#"{step},"items":[]"#),
            format!(r#"{step},"items":null"#),
            format!(r#"{step},"session":"{SESSION}""#),
            format!(r#""op":"steps","items":[],"session":"{SESSION}""#),
            r#""op":"steps","items":[],"seq":1"#.to_owned(),
            r#""op":"steps","items":[],"meta":null"#.to_owned(),
            r#""op":"steps","items":null"#.to_owned(),
            format!(r#""op":"steps","items":[{}]"#, vec!["7"; BATCH_ITEMS_MAX + 1].join(",")),
        ] {
            let unreadable = read(&format!("{{\"id\":1,{body}}}")).unwrap_err();
            assert_eq!((unreadable.id, unreadable.failure.code()), (Some(1), Code::Invalid), "{body:.200}");
        }
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
