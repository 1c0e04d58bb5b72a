//! A worker process: requests go in, answers come out, and when it ends everybody who waits is told why.

use std::collections::HashMap;
use std::pin::pin;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use palestra_sqlite_worker::serve::WORKERS;
use palestra_sqlite_worker::wire::{Answer, Ask, FRAME_MAX, Request, Response};
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Settings;
use crate::engine::EngineError;

/// Requests that wait to be written.
const OUTBOX_MAX: usize = 64;
/// Time for which the last words of a worker that ended are waited for.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);
/// Sessions of a worker that may fall silent, until it is killed: each may keep a thread of it for ever.
const SILENT_SESSIONS_MAX: usize = 32;
/// Bytes of a line of its words that are kept.
const WORDS_MAX: usize = 1_000;
/// Reason why a worker, or one of its sessions, is given up.
const SILENT: &str = "it did not answer in time, nor when it was interrupted";
/// Lines of its words that are reported; later ones are read and dropped.
const LINES_MAX: usize = 100;

/// A worker process that was started.
pub(super) struct Process {
    pid: u32,
    outbox: mpsc::Sender<OutgoingFrame>,
    ids: AtomicU64,
    waiting: Mutex<Waiting>,
    end: CancellationToken,
    words: Mutex<String>,
    patience: Duration,
    silent_sessions: AtomicUsize,
}

#[derive(Default)]
struct Waiting {
    answers: HashMap<u64, oneshot::Sender<Answer>>,
    /// Reason why it ended or is being ended.
    ended: Option<String>,
}

/// A request does not fit into a frame.
#[derive(Debug)]
pub(super) struct TooLarge;

/// A request as it is written.
pub(super) struct Frame {
    bytes: Vec<u8>,
    id: u64,
    session: Option<u64>,
}

/// A frame on its way, and whether the worker could have read all of it.
struct OutgoingFrame {
    bytes: Vec<u8>,
    written: Arc<AtomicBool>,
}

/// No answer came, and none will.
#[derive(Debug)]
pub(super) struct WorkerLost {
    pub(super) why: String,
    /// True if the worker may have begun with the request.
    pub(super) midway: bool,
}

impl From<WorkerLost> for EngineError {
    fn from(lost: WorkerLost) -> Self {
        Self::Lost(lost.why)
    }
}

impl Process {
    /// Starts a worker. It ends with `end`, or when it is killed.
    pub(super) fn start(
        settings: &Settings,
        end: CancellationToken,
        tasks: &TaskTracker,
    ) -> std::io::Result<Arc<Self>> {
        let (program, arguments) =
            settings.command.split_first().ok_or_else(|| std::io::Error::other("no program is named"))?;
        let mut child = Command::new(program)
            .args(arguments)
            .arg(format!("{WORKERS}{}", settings.workers.max(1)))
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let (outbox, requests) = mpsc::channel(OUTBOX_MAX);
        let process = Arc::new(Self {
            pid: child.id().unwrap_or_default(),
            outbox,
            ids: AtomicU64::new(1),
            waiting: Mutex::default(),
            end,
            words: Mutex::default(),
            patience: settings.patience,
            silent_sessions: AtomicUsize::new(0),
        });
        let words = child.stderr.take().map(|stderr| tasks.spawn(relay_words(Arc::clone(&process), stderr)));
        tasks.spawn(Arc::clone(&process).supervise(child, requests, words));
        Ok(process)
    }

    /// Its number on this machine.
    pub(super) const fn pid(&self) -> u32 {
        self.pid
    }

    /// Reason why it ended; `None` while it runs.
    pub(super) fn ended(&self) -> Option<String> {
        self.waiting.lock().ended.clone()
    }

    /// Puts a request into the form in which it is sent.
    pub(super) fn frame(&self, ask: Ask) -> Result<Frame, TooLarge> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let session = session_of(&ask);
        let mut bytes = postcard::to_extend(&Request { id, ask }, vec![0; 4]).map_err(|_| TooLarge)?;
        let length = bytes.len() - 4;
        if length > FRAME_MAX {
            return Err(TooLarge);
        }
        let length = u32::try_from(length).map_err(|_| TooLarge)?;
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        Ok(Frame { bytes, id, session })
    }

    /// Sends a request and waits for its answer. After `time` its session is interrupted. When nothing comes even then, the session
    /// is lost; and with it all others, where the worker answers nobody, or has too many such sessions.
    pub(super) async fn exchange(&self, frame: Frame, time: Duration) -> Result<Answer, WorkerLost> {
        let session = frame.session;
        let written = Arc::default();
        let mut exchange = pin!(self.send(frame, &written));
        if let Ok(answer) = timeout(time, &mut exchange).await {
            return answer;
        }
        if let Some(session) = session {
            self.notify(Ask::Interrupt { session });
        }
        if let Ok(answer) = timeout(self.patience, exchange).await {
            return answer;
        }
        if self.silent_sessions.fetch_add(1, Ordering::Relaxed) < SILENT_SESSIONS_MAX && self.answers_others().await {
            tracing::warn!(pid = self.pid, session, "a SQLite worker does not answer one of its sessions");
            return Err(WorkerLost { why: SILENT.to_owned(), midway: written.load(Ordering::Relaxed) });
        }
        self.kill(SILENT);
        Err(self.lost(&written))
    }

    async fn send(&self, frame: Frame, written: &Arc<AtomicBool>) -> Result<Answer, WorkerLost> {
        let pending_reply = self.expect_answer(frame.id).ok_or_else(|| self.lost(written))?;
        // Where it is not sent, the worker ended, and the ticket tells so.
        let _ = self.outbox.send(OutgoingFrame { bytes: frame.bytes, written: Arc::clone(written) }).await;
        pending_reply.answer().await.ok_or_else(|| self.lost(written))
    }

    async fn answers_others(&self) -> bool {
        let Ok(frame) = self.frame(Ask::Usage) else { return false };
        matches!(timeout(self.patience, self.send(frame, &Arc::default())).await, Ok(Ok(_)))
    }

    /// Sends a request whose answer is of no interest, unless too many wait to be sent: `false` then.
    pub(super) fn notify(&self, ask: Ask) -> bool {
        let outgoing = |frame: Frame| OutgoingFrame { bytes: frame.bytes, written: Arc::default() };
        self.frame(ask).is_ok_and(|frame| self.outbox.try_send(outgoing(frame)).is_ok())
    }

    /// Ends it. Its sessions are lost.
    pub(super) fn kill(&self, why: &str) {
        self.close(why);
        self.end.cancel();
    }

    /// `None` where it has ended.
    fn expect_answer(&self, id: u64) -> Option<PendingReply<'_>> {
        let (sender, answer) = oneshot::channel();
        let mut waiting = self.waiting.lock();
        if waiting.ended.is_some() {
            return None;
        }
        waiting.answers.insert(id, sender);
        Some(PendingReply { process: self, id, answer })
    }

    fn lost(&self, written: &AtomicBool) -> WorkerLost {
        let why = self.ended().unwrap_or_else(|| "its worker ended".to_owned());
        WorkerLost { why, midway: written.load(Ordering::Relaxed) }
    }

    /// Lets nobody wait any more.
    fn close(&self, why: &str) {
        let mut waiting = self.waiting.lock();
        if waiting.ended.is_none() {
            waiting.ended = Some(format!("the SQLite worker {} is gone: {why}", self.pid));
            waiting.answers.clear();
        }
    }

    async fn supervise(
        self: Arc<Self>,
        mut child: Child,
        requests: mpsc::Receiver<OutgoingFrame>,
        words: Option<tokio::task::JoinHandle<()>>,
    ) {
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else { return };
        let why = tokio::select! {
            status = child.wait() => status.map_or_else(|error| error.to_string(), |status| status.to_string()),
            error = self.read_answers(stdout) => format!("its answers cannot be read: {error}"),
            error = write_requests(stdin, requests) => format!("it takes no requests: {error}"),
            () = self.end.cancelled() => "it was ended".to_owned(),
        };
        let _ = child.start_kill();
        // A pipe that breaks says less than the status with which the process ended.
        let status = child.wait().await;
        if let Some(words) = words {
            let _ = timeout(LAST_WORDS_WITHIN, words).await;
        }
        let why = match status {
            Ok(status) if !why.contains(&status.to_string()) => format!("{why} ({status})"),
            _ => why,
        };
        let words = self.words.lock().clone();
        if !self.end.is_cancelled() {
            tracing::warn!(pid = self.pid, why, words, "a SQLite worker ended");
        }
        self.close(&if words.is_empty() { why } else { format!("{why}: {words}") });
    }

    async fn read_answers(&self, stdout: impl AsyncRead + Unpin) -> std::io::Error {
        let mut stdout = BufReader::with_capacity(64 << 10, stdout);
        loop {
            match read_response(&mut stdout).await {
                Ok(response) => {
                    // Who waited may have gone.
                    if let Some(sender) = self.waiting.lock().answers.remove(&response.id) {
                        let _ = sender.send(response.answer);
                    }
                }
                Err(error) => return error,
            }
        }
    }
}

/// The right to one answer; gives up its place when it is dropped.
struct PendingReply<'a> {
    process: &'a Process,
    id: u64,
    answer: oneshot::Receiver<Answer>,
}

impl PendingReply<'_> {
    /// `None` when the worker ended.
    async fn answer(mut self) -> Option<Answer> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for PendingReply<'_> {
    fn drop(&mut self) {
        self.process.waiting.lock().answers.remove(&self.id);
    }
}

const fn session_of(ask: &Ask) -> Option<u64> {
    match ask {
        Ask::Open { session, .. }
        | Ask::Run { session, .. }
        | Ask::Rewind { session, .. }
        | Ask::Fork { session, .. }
        | Ask::Explain { session, .. }
        | Ask::Look { session, .. }
        | Ask::Interrupt { session }
        | Ask::Close { session }
        | Ask::File { session } => Some(*session),
        Ask::Prepare { .. } | Ask::Forget { .. } | Ask::Usage => None,
    }
}

async fn write_requests(
    mut stdin: tokio::process::ChildStdin,
    mut requests: mpsc::Receiver<OutgoingFrame>,
) -> std::io::Error {
    while let Some(OutgoingFrame { bytes, written }) = requests.recv().await {
        if let Err(error) = stdin.write_all(&bytes).await {
            return error;
        }
        written.store(true, Ordering::Relaxed);
    }
    std::io::Error::other("nobody asks any more")
}

async fn read_response(stdout: &mut (impl AsyncRead + Unpin)) -> std::io::Result<Response> {
    let length = stdout.read_u32_le().await? as usize;
    if length > FRAME_MAX {
        return Err(std::io::Error::other(format!("a frame of {length} bytes")));
    }
    let mut bytes = vec![0; length];
    stdout.read_exact(&mut bytes).await?;
    postcard::from_bytes(&bytes).map_err(std::io::Error::other)
}

/// Reports what a worker says on its standard error, and keeps the last line for whoever asks why it ended.
async fn relay_words(process: Arc<Process>, stderr: ChildStderr) {
    let mut stderr = BufReader::new(stderr);
    let mut lines = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut stderr).take(WORDS_MAX as u64).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let words = String::from_utf8_lossy(&line).trim().to_owned();
        lines += 1;
        if words.is_empty() || lines > LINES_MAX {
            continue;
        }
        tracing::warn!(pid = process.pid, words, "a SQLite worker says");
        *process.words.lock() = words;
    }
}
