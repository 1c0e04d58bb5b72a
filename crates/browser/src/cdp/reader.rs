//! Messages that arrive.

use std::sync::Arc;

use palestra_sandbox::sandbox::{PipeOutput, PipePiece};
use parking_lot::Mutex;
use serde_json::Value;

use super::{CdpError, Event, State};

/// Longest message that is taken: a screenshot of a large page.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Reads messages and hands each to who waits for it.
pub(super) struct Reader<C> {
    state: Arc<Mutex<State>>,
    complain: C,
    /// Bytes of an incomplete message.
    held: Vec<u8>,
    /// True while the rest of a message that is too long passes by.
    passes: bool,
}

impl<C: FnMut(&[u8])> Reader<C> {
    pub(super) const fn new(state: Arc<Mutex<State>>, complain: C) -> Self {
        Self { state, complain, held: Vec::new(), passes: false }
    }

    /// Reads until the browser ends.
    pub(super) async fn run(mut self, mut output: PipeOutput) {
        let gone = loop {
            match output.next().await {
                Ok(PipePiece::Output(bytes)) => {
                    if let Err(why) = self.take(&bytes) {
                        break why;
                    }
                }
                Ok(PipePiece::Error(bytes)) => (self.complain)(&bytes),
                Ok(PipePiece::Exited(exited)) => break format!("it ended with {}", end_of(exited.code, exited.signal)),
                Err(error) => break error.to_string(),
            }
        };
        self.state.lock().end(gone);
    }

    fn take(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while let Some(end) = bytes.iter().position(|byte| *byte == 0) {
            let (message, rest) = bytes.split_at(end);
            bytes = &rest[1..];
            if std::mem::take(&mut self.passes) {
                continue;
            }
            if self.held.is_empty() {
                self.message(message)?;
            } else {
                let mut whole = std::mem::take(&mut self.held);
                whole.extend_from_slice(message);
                self.message(&whole)?;
            }
        }
        // What one page makes too long is left out, and who waits for it is told so in time: other pages share the connection.
        if self.held.len() + bytes.len() > MESSAGE_BYTES_MAX {
            self.passes = true;
            self.held = Vec::new();
        }
        if !self.passes {
            self.held.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn message(&self, bytes: &[u8]) -> Result<(), String> {
        let mut message: Value = match serde_json::from_slice(bytes) {
            Ok(message) => message,
            Err(error) => return self.refuse(bytes, &error),
        };
        let mut state = self.state.lock();
        if let Some(id) = message["id"].as_u64() {
            // A command whose answer nobody waits for.
            let Some(waiting) = state.calls.remove(&id) else { return Ok(()) };
            let answer = match message.get("error") {
                Some(error) => {
                    let message = error["message"].as_str().unwrap_or_default().to_owned();
                    Err(CdpError::Refused { method: waiting.method, message })
                }
                None => Ok(message["result"].take()),
            };
            // Who asked may have given up.
            let _ = waiting.answer.send(answer);
            return Ok(());
        }
        let Some(method) = message["method"].as_str().map(str::to_owned) else { return Ok(()) };
        let params = message["params"].take();
        let listener = match message["sessionId"].as_str() {
            Some(session) => state.sessions.get(session),
            None => state.browser.as_ref(),
        };
        if let Some(events) = listener {
            events.put(Event { method, params, bytes: bytes.len() });
        }
        Ok(())
    }

    /// An answer that a page made too deep to be read is told to who waits for it: other pages share the connection.
    fn refuse(&self, bytes: &[u8], error: &serde_json::Error) -> Result<(), String> {
        let waiting = id_of(bytes).and_then(|id| self.state.lock().calls.remove(&id));
        let Some(waiting) = waiting else {
            return Err(format!("Chromium sent what is no message ({error}): open a new session"));
        };
        let message = format!("the answer cannot be read ({error}): go to another page");
        // Who asked may have given up.
        let _ = waiting.answer.send(Err(CdpError::Refused { method: waiting.method, message }));
        Ok(())
    }
}

/// The number of the command that an answer belongs to, which Chromium writes first.
fn id_of(bytes: &[u8]) -> Option<u64> {
    let rest = bytes.strip_prefix(b"{\"id\":")?;
    let end = rest.iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(&rest[..end]).ok()?.parse().ok()
}

fn end_of(code: Option<i32>, signal: Option<i32>) -> String {
    match (code, signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no code".to_owned(),
    }
}
