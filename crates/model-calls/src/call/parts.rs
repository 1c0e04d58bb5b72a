//! An answer that comes in parts: passed on as it comes, recorded before its last part.

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use palestra_protocol::model_call::CallKind;
use reqwest::Response;
use tokio::sync::mpsc;

use super::{ANSWER_BYTES_MAX, Call, EVENT_STREAM, End, Told, status_of, stopping, upstream};
use crate::dialect::{Assembly, Part, refusal_event};
use crate::sse::{Splitter, data};
use crate::{BrokenOff, CallError, Reply, ReplyBody};

/// Parts of an answer that wait for their reader.
const PARTS_QUEUED_MAX: usize = 64;

impl Call {
    /// Passes an answer on in its parts, and records it before the last.
    pub(super) async fn pass_parts(mut self, response: Response, told: Told) {
        let (parts, body) = mpsc::channel(PARTS_QUEUED_MAX);
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, EVENT_STREAM)]);
        let reply = Reply { id: self.row.id, status: StatusCode::OK, headers, body: ReplyBody::Parts(body) };
        if told.send(Ok(reply)).is_err() {
            return self.record_lost().await;
        }
        let mut assembly = Assembly::new(self.row.kind, self.hide_usage);
        let calls = self.calls.clone();
        let passed = tokio::select! {
            () = parts.closed() => Err(End::Gone),
            () = calls.0.stop.cancelled() => Err(stopping()),
            passed = self.read_parts(response, &mut assembly, &parts) => passed,
        };
        let (last, complete) = match passed {
            Ok(last) => match assembly.finish() {
                Ok(answer) => {
                    self.completed(answer);
                    (last, true)
                }
                Err(wrong) => (self.broke_off(&self.no_answer(&wrong)), false),
            },
            Err(End::Gone) => {
                // As far as it came.
                if let Ok(answer) = assembly.finish() {
                    self.spend(&answer);
                    self.row.response = serde_json::to_string(&answer.body).ok();
                }
                return self.record_lost().await;
            }
            Err(End::Failed(error)) => (self.broke_off(&error), false),
            Err(End::Refused { .. }) => {
                (self.broke_off(&upstream("the upstream refused the call: look at its log".to_owned())), false)
            }
        };
        let (kind, recorded) = (self.row.kind, self.record().await);
        let (last, complete) = match recorded {
            Ok(()) => (last, complete),
            Err(error) => (refusal_event(kind, "not_recorded", &error.to_string()).into(), false),
        };
        // A caller who is gone meanwhile needs no answer.
        let _gone = parts.send(Ok(last)).await;
        if !complete {
            let _gone = parts.send(Err(BrokenOff)).await;
        }
    }

    /// Passes parts on as they come, but for those that complete the answer.
    async fn read_parts(
        &mut self,
        mut response: Response,
        assembly: &mut Assembly,
        parts: &mpsc::Sender<Result<Bytes, BrokenOff>>,
    ) -> Result<Bytes, End> {
        let (mut splitter, mut held, mut read) = (Splitter::default(), BytesMut::new(), 0);
        loop {
            let chunk = self.chunk(&mut response).await?;
            let ended = chunk.is_none();
            let mut events = Vec::new();
            match chunk {
                Some(chunk) => {
                    read += chunk.len();
                    if read > ANSWER_BYTES_MAX {
                        return Err(self.too_large().into());
                    }
                    splitter.push(&chunk);
                    while let Some(event) = splitter.next().map_err(|error| upstream(error.to_string()))? {
                        events.push(event);
                    }
                }
                None => events.extend(std::mem::take(&mut splitter).rest()),
            }
            let mut passed = BytesMut::new();
            for event in events {
                let part = match data(&event) {
                    Some(data) => assembly.take(&data).map_err(upstream)?,
                    None => Part::Pass,
                };
                match part {
                    Part::Drop => {}
                    Part::Last => held.extend_from_slice(&event),
                    Part::Pass if held.is_empty() => passed.extend_from_slice(&event),
                    Part::Pass => held.extend_from_slice(&event),
                }
            }
            if !passed.is_empty() && parts.send(Ok(self.without_key(passed.freeze()))).await.is_err() {
                return Err(End::Gone);
            }
            if ended || (assembly.is_complete() && self.row.kind != CallKind::GenerateContent) {
                break;
            }
        }
        if assembly.is_complete() {
            Ok(self.without_key(held.freeze()))
        } else {
            Err(upstream(format!(
                "the upstream {} broke off in the middle of its answer: try again, or look at its log",
                self.target.name
            ))
            .into())
        }
    }

    /// Notes that an answer broke off; the event that says so.
    fn broke_off(&mut self, error: &CallError) -> Bytes {
        let told = self.target.without_key(error.to_string());
        let event = refusal_event(self.row.kind, "upstream_failed", &told);
        self.failed(status_of(error), told);
        event.into()
    }
}
