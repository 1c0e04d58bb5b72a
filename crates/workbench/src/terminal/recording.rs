//! Recording of a terminal's output, and a file that terminal players play.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Bytes that the recording of one step keeps; the rest is counted.
const STEP_BYTES_MAX: usize = 48 * 1024;
/// Largest distance in time of outputs that make one event.
const EVENT: Duration = Duration::from_millis(10);
/// Events that the recording of one step keeps apart; what follows belongs to the last.
const EVENTS_MAX: usize = 256;

/// Output of one step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// Size of the screen.
    pub rows: u16,
    /// Size of the screen.
    pub columns: u16,
    /// Each a time in milliseconds since the workspace was opened, and how many of the bytes were there then.
    pub events: Vec<(u64, usize)>,
    /// The bytes in base64.
    pub bytes: String,
    /// Number of omitted bytes.
    pub omitted_bytes: u64,
}

/// Records.
#[derive(Debug)]
pub(super) struct Recorder {
    began: Instant,
    events: Vec<(u64, usize)>,
    bytes: Vec<u8>,
    omitted_bytes: u64,
}

impl Recorder {
    pub(super) fn new(began: Instant) -> Self {
        Self { began, events: Vec::new(), bytes: Vec::new(), omitted_bytes: 0 }
    }

    /// Adds what was printed.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let kept = bytes.len().min(STEP_BYTES_MAX - self.bytes.len());
        self.omitted_bytes += (bytes.len() - kept) as u64;
        if kept == 0 {
            return;
        }
        self.bytes.extend_from_slice(&bytes[..kept]);
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let full = self.events.len() >= EVENTS_MAX;
        match self.events.last_mut() {
            Some((at, end)) if full || now.saturating_sub(*at) < EVENT.as_millis() as u64 => *end = self.bytes.len(),
            _ => self.events.push((now, self.bytes.len())),
        }
    }

    /// Output since the last call.
    pub(super) fn take(&mut self, rows: u16, columns: u16) -> Recording {
        Recording {
            rows,
            columns,
            events: std::mem::take(&mut self.events),
            bytes: STANDARD.encode(std::mem::take(&mut self.bytes)),
            omitted_bytes: std::mem::take(&mut self.omitted_bytes),
        }
    }
}

/// The steps of an episode as asciicast, version 2. `steps` holds [`Observation::data`](crate::work::Seen::data) of each; those without a
/// recording are passed over.
#[must_use]
pub fn asciicast<'a>(steps: impl IntoIterator<Item = &'a Value>) -> String {
    let mut size = None;
    let mut lines = String::new();
    for step in steps {
        let Some(recording) = step.get("recording") else { continue };
        let Ok(recording) = Recording::deserialize(recording) else { continue };
        let Ok(bytes) = STANDARD.decode(&recording.bytes) else { continue };
        let now = (recording.rows, recording.columns);
        let first = recording.events.first().map_or(0, |(at, _)| *at);
        if size.is_none() {
            let header = json!({"version": 2, "width": now.1, "height": now.0, "env": {"TERM": "xterm-256color"}});
            let _ = writeln!(lines, "{header}");
        } else if size != Some(now) {
            event(&mut lines, first, "r", &format!("{}x{}", now.1, now.0));
        }
        size = Some(now);
        let mut start = 0;
        let mut last = first;
        for (at, end) in &recording.events {
            // A character that arrived in two parts is told with the second.
            let end = boundary(&bytes, (*end).min(bytes.len()));
            if end > start {
                event(&mut lines, *at, "o", &String::from_utf8_lossy(&bytes[start..end]));
                start = end;
            }
            last = *at;
        }
        if start < bytes.len() {
            event(&mut lines, last, "o", &String::from_utf8_lossy(&bytes[start..]));
        }
        if recording.omitted_bytes > 0 {
            event(&mut lines, last, "o", &format!("\r\n[... {} bytes left out ...]\r\n", recording.omitted_bytes));
        }
    }
    lines
}

fn event(lines: &mut String, at_ms: u64, kind: &str, text: &str) {
    let _ = writeln!(lines, "{}", json!([at_ms as f64 / 1_000.0, kind, text]));
}

/// The end of the last whole character before `end`.
fn boundary(bytes: &[u8], end: usize) -> usize {
    match std::str::from_utf8(&bytes[..end]) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => {
            // Invalid bytes earlier on: only a character that is cut at the very end is of interest.
            let tail = end.saturating_sub(3);
            let cut = (tail..end).rev().find(|index| bytes[*index] >= 0xc0);
            match cut {
                Some(index)
                    if std::str::from_utf8(&bytes[index..end]).is_err_and(|error| error.error_len().is_none()) =>
                {
                    index
                }
                _ => end,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_played_as_it_was_printed() {
        let mut recorder = Recorder::new(Instant::now());
        recorder.push("$ caf\u{e9}".as_bytes());
        let one = json!({"recording": recorder.take(24, 80)});
        recorder.push(&[0xff, b'x']);
        recorder.push(&vec![b'y'; STEP_BYTES_MAX]);
        let two = json!({"recording": recorder.take(10, 40)});
        let text = asciicast([&one, &json!({"exit_code": 0}), &two]);
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(lines[0]["version"], 2);
        assert_eq!((&lines[0]["width"], &lines[0]["height"]), (&json!(80), &json!(24)));
        assert_eq!((&lines[1][1], &lines[1][2]), (&json!("o"), &json!("$ caf\u{e9}")));
        assert_eq!((&lines[2][1], &lines[2][2]), (&json!("r"), &json!("40x10")));
        assert!(lines[3][2].as_str().is_some_and(|text| text.starts_with("\u{fffd}xyyy")));
        assert!(lines[4][2].as_str().is_some_and(|text| text.contains("2 bytes left out")));
    }

    #[test]
    fn a_character_that_arrived_in_two_parts_is_whole() {
        let bytes = "a\u{20ac}b".as_bytes();
        let recording = Recording {
            rows: 24,
            columns: 80,
            events: vec![(5, 2), (9, bytes.len())],
            bytes: STANDARD.encode(bytes),
            omitted_bytes: 0,
        };
        let text = asciicast([&json!({ "recording": recording })]);
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!((&lines[1], &lines[2]), (&json!([0.005, "o", "a"]), &json!([0.009, "o", "\u{20ac}b"])));
    }
}
