//! Output of a terminal, sorted into what each party is shown: the output of the command that runs, the screen, the recording.

use std::time::Instant;

use palestra_sandbox::SandboxError;
use palestra_sandbox::wire::Exited;
use serde_json::Value;

use super::marks::{Mark, Part, Scanner};
use super::output::Capture;
use super::recording::Recorder;
use super::screen::Screen;

/// Bytes of echo that are held back before a command begins.
const HELD_BYTES_MAX: usize = 64 * 1024;

/// A terminal's output as it comes in.
pub(super) struct OutputLog {
    scanner: Scanner,
    phase: Phase,
    /// Output of the running command that nobody has seen.
    pub(super) output: Capture,
    /// The picture.
    pub(super) screen: Screen,
    /// For players.
    pub(super) recorder: Recorder,
    /// The command that ended last, until somebody takes it.
    pub(super) finished: Option<Finished>,
    /// The shell ended.
    pub(super) exited: Option<Exited>,
    /// The sandbox is gone.
    pub(super) lost: Option<SandboxError>,
    /// Bytes that came in.
    pub(super) received: u64,
    folder: String,
    /// Process id of the shell, as its first prompt said.
    shell: Option<String>,
    /// True if the next command, or the one that runs, is hidden.
    hidden: bool,
}

/// Where a command stands.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    /// None runs.
    Idle,
    /// It was typed; its echo is held back.
    Typed { nonce: String, shown: String, held: Vec<u8>, prompted: bool },
    /// It runs.
    Running { nonce: String },
}

/// End of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finished {
    /// Exit code; `None` where the shell gave it up for its prompt, as it does when it is interrupted.
    pub(super) code: Option<i32>,
    /// The screen at that moment, before the next prompt.
    pub(super) view: Value,
}

impl OutputLog {
    pub(super) fn new(rows: u16, columns: u16, folder: &str, began: Instant) -> Self {
        Self {
            scanner: Scanner::default(),
            phase: Phase::Idle,
            output: Capture::default(),
            screen: Screen::new(rows, columns),
            recorder: Recorder::new(began),
            finished: None,
            exited: None,
            lost: None,
            received: 0,
            folder: folder.to_owned(),
            shell: None,
            hidden: false,
        }
    }

    /// Forgets what was printed.
    pub(super) fn clear(&mut self, rows: u16, columns: u16) {
        self.output = Capture::default();
        self.finished = None;
        self.screen = Screen::new(rows, columns);
        self.recorder.take(rows, columns);
    }

    /// Sets whether the next command is hidden from screen and recording.
    pub(super) fn hide(&mut self, hidden: bool) {
        self.hidden = hidden;
    }

    /// Says that `command` is being typed.
    pub(super) fn typed(&mut self, nonce: &str, command: &str) {
        self.release();
        self.finished = None;
        self.output = Capture::default();
        let (nonce, shown) = (nonce.to_owned(), command.replace('\n', "\r\n> "));
        self.phase = Phase::Typed { nonce, shown, held: Vec::new(), prompted: false };
    }

    /// True if a command was typed and did not begin.
    pub(super) fn waits(&self) -> bool {
        matches!(self.phase, Phase::Typed { .. })
    }

    /// True if a command was typed and did not end.
    pub(super) fn busy(&self) -> bool {
        self.phase != Phase::Idle
    }

    /// Where the shell was when a command last ended.
    pub(super) fn folder(&self) -> &str {
        &self.folder
    }

    /// Takes what was printed.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.received += bytes.len() as u64;
        for part in self.scanner.feed(bytes) {
            match part {
                Part::Bytes(bytes) => self.printed(&bytes),
                Part::Mark(mark) => self.marked(mark),
            }
        }
    }

    /// Says that nothing follows.
    pub(super) fn end(&mut self, exited: Exited) {
        let rest = self.scanner.rest();
        self.printed(&rest);
        self.release();
        self.phase = Phase::Idle;
        self.exited = Some(exited);
    }

    /// Shows what was held back: what was typed was not taken as a command.
    pub(super) fn release(&mut self) {
        if let Phase::Typed { held, .. } = &mut self.phase {
            let held = std::mem::take(held);
            self.show(&held);
        }
    }

    fn printed(&mut self, bytes: &[u8]) {
        match &mut self.phase {
            Phase::Typed { held, .. } => {
                held.extend_from_slice(bytes);
                if held.len() > HELD_BYTES_MAX {
                    self.release();
                }
            }
            Phase::Running { .. } => {
                self.output.push(bytes);
                if !self.hidden {
                    self.show(bytes);
                }
            }
            Phase::Idle => self.show(bytes),
        }
    }

    fn marked(&mut self, mark: Mark) {
        match (mark, &mut self.phase) {
            (Mark::Prompt(shell), phase) => {
                let own = *self.shell.get_or_insert_with(|| shell.clone()) == shell;
                match phase {
                    Phase::Typed { prompted, .. } => *prompted = true,
                    Phase::Running { .. } if own => {
                        self.phase = Phase::Idle;
                        self.hidden = false;
                        self.finished = Some(Finished { code: None, view: self.screen.view() });
                    }
                    Phase::Running { .. } | Phase::Idle => {}
                }
            }
            (Mark::Begin(begun), Phase::Typed { nonce, shown, prompted, .. }) if begun == *nonce => {
                // In place of the echo of what was typed stands what was meant, after a prompt if that was held back too.
                let prompt = if *prompted { format!("{}$ ", self.folder) } else { String::new() };
                let line = format!("{prompt}{shown}\r\n");
                self.phase = Phase::Running { nonce: begun };
                if !self.hidden {
                    self.show(line.as_bytes());
                }
            }
            (Mark::End { nonce: ended, code, folder }, Phase::Running { nonce }) if ended == *nonce => {
                self.phase = Phase::Idle;
                self.folder = folder;
                if std::mem::take(&mut self.hidden) {
                    // The next prompt takes the place of the one that stands there.
                    self.show(b"\r\x1b[K");
                }
                self.finished = Some(Finished { code: Some(code), view: self.screen.view() });
            }
            _ => {}
        }
    }

    fn show(&mut self, bytes: &[u8]) {
        self.screen.push(bytes);
        self.recorder.push(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_stands_between_the_marks_and_echo_is_replaced() {
        let mut output_log = OutputLog::new(24, 80, "/w", Instant::now());
        output_log.feed(b"\x1b]5277;p;9\x07/w$ ");
        output_log.typed("7", "echo hi");
        output_log.feed(b" builtin printf junk echo hi\r\n");
        assert!(output_log.waits());
        output_log.feed(b"\x1b]5277;b;7\x07hi\r\n\x1b]5277;e;8;0;/\x07more");
        assert!(
            output_log.busy() && !output_log.waits() && output_log.finished.is_none(),
            "a mark of another command ends nothing"
        );
        output_log.feed(b"\x1b]5277;e;7;2;/w/a\x07\x1b]5277;p;9\x07/w/a$ ");
        let finished = output_log.finished.clone().expect("it ended");
        assert_eq!(finished.code, Some(2));
        assert_eq!(finished.view["lines"], serde_json::json!(["/w$ echo hi", "hi", "more"]));
        assert_eq!(output_log.output.take().0, "hi\nmore");
        assert_eq!(output_log.folder(), "/w/a");
        assert_eq!(output_log.screen.view()["lines"], serde_json::json!(["/w$ echo hi", "hi", "more/w/a$"]));
    }

    #[test]
    fn output_outside_commands_is_shown_as_it_is() {
        let mut output_log = OutputLog::new(24, 80, "/w", Instant::now());
        output_log.typed("7", "x");
        output_log.feed(b"Python says no");
        output_log.release();
        assert_eq!(output_log.screen.view()["lines"], serde_json::json!(["Python says no"]));
    }
}
