//! The end of the process of an attempt that could not report it itself: by its exit status, its last lines, and the counters of the kernel.

use std::process::ExitStatus;
use std::time::Duration;

use palestra_protocol::job::JobError;
use palestra_protocol::worker::Outcome;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::ChildStderr;
use tokio_util::sync::CancellationToken;

/// The line of a program that cannot have the memory it asked for, before it ends itself by [`SIGABRT`].
const ALLOCATION_FAILED: &[u8] = b"memory allocation of";
/// Signal by which a program ends itself.
const SIGABRT: i32 = 6;
/// Signal by which the kernel ends what takes too much memory.
const SIGKILL: i32 = 9;
/// Counters of the kernel about the memory of this control group.
const MEMORY_EVENTS: &str = "/sys/fs/cgroup/memory.events";
/// Bytes that are read at once.
const READ_BYTES: usize = 8 << 10;
/// Bytes of a line that are held back until it is whole.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Bytes of a line that become part of an error.
const TOLD_BYTES_MAX: usize = 1 << 10;
/// Time to read the rest of the output of a process once it is over, in milliseconds: a child of it may hold the output open.
const REST_MS_MAX: u64 = 1_000;

/// The standard error of an attempt, line by line.
#[derive(Debug, Default)]
struct StandardError {
    /// A line that is not whole yet.
    held: Vec<u8>,
    /// The last line that tells of memory that could not be had.
    no_memory: Option<String>,
}

impl StandardError {
    /// Takes what came next; answers the lines that are whole, and what is too long to wait for.
    fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let whole = match self.held.iter().rposition(|byte| *byte == b'\n') {
            Some(place) => place + 1,
            None if self.held.len() > LINE_BYTES_MAX => self.held.len(),
            None => 0,
        };
        let rest = self.held.split_off(whole);
        let lines = std::mem::replace(&mut self.held, rest);
        self.note(&lines);
        lines
    }

    /// Nothing more comes; answers what is left.
    fn rest(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.held);
        self.note(&rest);
        rest
    }

    fn note(&mut self, lines: &[u8]) {
        let mut telling = lines.split(|byte| *byte == b'\n').filter(|line| line.starts_with(ALLOCATION_FAILED));
        if let Some(line) = telling.next_back() {
            let told = String::from_utf8_lossy(&line[..line.len().min(TOLD_BYTES_MAX)]);
            self.no_memory = Some(told.trim_end().to_owned());
        }
    }
}

/// Passes on what an attempt says until it has said all, or for a moment after it is `over`. Answers its line about memory that could
/// not be had.
pub(super) async fn listen(stderr: Option<ChildStderr>, over: &CancellationToken) -> Option<String> {
    let (stderr, mut said) = (stderr?, StandardError::default());
    let late = async {
        over.cancelled().await;
        tokio::time::sleep(Duration::from_millis(REST_MS_MAX)).await;
    };
    tokio::select! {
        () = pass_on(stderr, &mut said) => {}
        () = late => {}
    }
    said.no_memory
}

async fn pass_on(mut from: ChildStderr, said: &mut StandardError) {
    let (mut into, mut piece) = (tokio::io::stderr(), vec![0; READ_BYTES]);
    loop {
        // What cannot be read any more has ended too.
        let count = from.read(&mut piece).await.unwrap_or(0);
        let lines = if count == 0 { said.rest() } else { said.take(&piece[..count]) };
        // An attempt goes on also where nobody reads what it says.
        let _ = into.write_all(&lines).await;
        let _ = into.flush().await;
        if count == 0 {
            return;
        }
    }
}

/// Number of processes of this control group that the kernel has ended for their memory; none where it does not say.
pub(super) async fn memory_kills() -> Option<u64> {
    killed(&tokio::fs::read_to_string(MEMORY_EVENTS).await.ok()?)
}

fn killed(events: &str) -> Option<u64> {
    events.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

/// True where the kernel ended a process between two readings of [`memory_kills`].
pub(super) fn rose(before: Option<u64>, after: Option<u64>) -> bool {
    before.zip(after).is_some_and(|(before, after)| after > before)
}

/// The outcome of an attempt whose process nobody here ended. `no_memory` is its line about memory that it could not have; `kernel` says
/// whether the kernel ended a process for its memory meanwhile.
pub(super) fn died(status: ExitStatus, no_memory: Option<&str>, kernel: bool) -> Outcome {
    use std::os::unix::process::ExitStatusExt as _;
    let (code, detail) = match (status.signal(), no_memory) {
        (Some(SIGKILL), _) if kernel => (
            "out_of_memory",
            "the process was killed: most likely by the kernel, which ended a process for lack of memory meanwhile"
                .to_owned(),
        ),
        (Some(SIGKILL), _) => (
            "killed",
            "the process was killed from outside; nothing says that memory ran out: it goes on at its next attempt"
                .to_owned(),
        ),
        (Some(SIGABRT), Some(line)) => ("out_of_memory", format!("the process ran out of memory: {line}")),
        (Some(signal), _) => ("internal", format!("the process ended by signal {signal}")),
        (None, _) => ("internal", format!("the process ended with {status}")),
    };
    Outcome::Failed { error: JobError { code: code.to_owned(), detail }, retry: true }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    const LINE: &str = "memory allocation of 4096 bytes failed";

    fn error(status: i32, no_memory: Option<&str>, kernel: bool) -> (String, String) {
        match died(ExitStatus::from_raw(status), no_memory, kernel) {
            Outcome::Failed { error, retry: true } => (error.code, error.detail),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_allocation_that_failed_is_a_lack_of_memory() {
        let (code, detail) = error(SIGABRT, Some(LINE), false);
        assert_eq!(code, "out_of_memory");
        assert!(detail.contains("memory") && detail.contains("4096"), "{detail}");
        assert_eq!(error(SIGABRT, None, false), ("internal".to_owned(), "the process ended by signal 6".to_owned()));
        // It was said, but the process went on and ended otherwise: exit code 1.
        assert_eq!(error(1 << 8, Some(LINE), false).0, "internal");
        assert_eq!(error(11, Some(LINE), false).0, "internal");
    }

    #[test]
    fn a_kill_is_a_lack_of_memory_only_where_the_kernel_counted_one() {
        let (code, detail) = error(SIGKILL, None, true);
        assert!(code == "out_of_memory" && detail.contains("by the kernel"), "{code}: {detail}");
        let (code, detail) = error(SIGKILL, None, false);
        assert!(code == "killed" && detail.contains("from outside"), "{code}: {detail}");
        assert!(rose(Some(1), Some(2)));
        assert!(!rose(Some(2), Some(2)) && !rose(None, Some(2)) && !rose(Some(2), None));
    }

    #[test]
    fn kills_are_counted_apart_from_other_events() {
        let events = "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n";
        assert_eq!(killed(events), Some(2));
        assert_eq!(killed("low 0\noom_group_kill 1\n"), None);
    }

    #[test]
    fn lines_are_passed_on_whole_and_the_one_about_memory_is_remembered() {
        let mut said = StandardError::default();
        let pieces = ["first\nmemory alloc", "ation of 4096 bytes ", "failed\nlast"];
        let passed: Vec<Vec<u8>> = pieces.iter().map(|piece| said.take(piece.as_bytes())).collect();
        assert_eq!(passed, [b"first\n".to_vec(), Vec::new(), format!("{LINE}\n").into_bytes()]);
        assert_eq!(said.rest(), b"last");
        assert_eq!(said.no_memory.as_deref(), Some(LINE));
    }

    #[test]
    fn a_line_about_memory_may_be_the_last_one_and_has_to_begin_so() {
        let mut said = StandardError::default();
        said.take(b"a log line on memory allocation of something\n");
        assert_eq!(said.no_memory, None);
        said.take(LINE.as_bytes());
        assert_eq!(said.no_memory, None);
        said.rest();
        assert_eq!(said.no_memory.as_deref(), Some(LINE));
    }

    #[test]
    fn a_line_without_end_is_not_held_back_for_ever() {
        let mut said = StandardError::default();
        let piece = vec![b'x'; READ_BYTES];
        let passed: usize = (0..32).map(|_| said.take(&piece).len()).sum();
        assert!(said.held.len() <= LINE_BYTES_MAX);
        assert_eq!(passed + said.held.len(), 32 * READ_BYTES);
    }
}
