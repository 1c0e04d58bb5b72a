//! A cell of the session table: the queue in front of a session, and what is in memory of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use palestra_protocol::environment::{ForkKind, Limits, Recovery, Task as PublicTask};
use palestra_protocol::episode::EpisodeState;
use palestra_protocol::id::SessionId;
use palestra_protocol::observation::{Message, Observation};
use palestra_protocol::session::{Opened, RecordMode};
use palestra_protocol::shared::Shared;
use palestra_protocol::step::{Stepped, StopReason};
use palestra_protocol::time::Timestamp;
use palestra_protocol::verdict::Verdict;
use tokio::sync::{Mutex, MutexGuard, OwnedMutexGuard, watch};

use super::recorder::Ledger;
use super::taken::KeptStep;
use super::{SessionError, TakenStep};
use palestra_catalog::Entry;
use palestra_environment::task::Task;
use palestra_environment::{Context, Place};
use palestra_store::row::{EpisodeRow, SessionRow};

/// Commands that may wait for one session.
pub(super) const COMMANDS_QUEUED_MAX: usize = 64;
/// Steps of an unrecorded session that are kept in memory, for repeated steps and for forks at an earlier step.
pub(super) const UNRECORDED_STEPS_MAX: usize = 4_096;

/// One session's place in the table.
pub(super) struct Cell {
    pub id: SessionId,
    waiting: AtomicUsize,
    /// Milliseconds since 1970 of the last command.
    touched: AtomicI64,
    /// Milliseconds since 1970 from which sweeps look at it; until its first look, always.
    due: AtomicI64,
    live: Arc<Mutex<Slot>>,
}

/// The content of a cell.
pub(super) enum Slot {
    /// Not loaded yet.
    Empty,
    /// In memory.
    Live(Box<Live>),
    /// Taken out of the table: whoever waited here looks the session up again.
    Retired,
}

/// The turn of a command. The next command waits until it is dropped.
pub(super) type Turn = OwnedMutexGuard<Slot>;

impl Cell {
    pub(super) fn new(id: SessionId, slot: Slot, now: Timestamp) -> Arc<Self> {
        Arc::new(Self {
            id,
            waiting: AtomicUsize::new(0),
            touched: AtomicI64::new(now.milliseconds()),
            due: AtomicI64::new(i64::MIN),
            live: Arc::new(Mutex::new(slot)),
        })
    }

    /// Waits for the session's turn, in order of arrival. The place in the queue is taken at the first poll.
    pub(super) async fn turn(&self, now: Timestamp) -> Result<Turn, SessionError> {
        let _place = Waiting::take(&self.waiting)?;
        // A task that has used up its budget would be sent away before it stands in the queue.
        let turn = tokio::task::coop::unconstrained(Arc::clone(&self.live).lock_owned()).await;
        self.touch(now);
        Ok(turn)
    }

    /// The session's turn for work of the engine itself, which a full queue must not refuse. It does not count as a touch.
    pub(super) async fn own_turn(&self) -> Turn {
        tokio::task::coop::unconstrained(Arc::clone(&self.live).lock_owned()).await
    }

    /// The session's turn for a command that is done before anybody else looks, if none is running or waiting.
    pub(super) fn turn_now(&self) -> Option<MutexGuard<'_, Slot>> {
        self.live.try_lock().ok()
    }

    /// Notes a command.
    pub(super) fn touch(&self, now: Timestamp) {
        self.touched.store(now.milliseconds(), Ordering::Relaxed);
    }

    /// The session's turn, if no command is running or waiting.
    pub(super) fn try_turn(&self) -> Option<Turn> {
        Arc::clone(&self.live).try_lock_owned().ok()
    }

    pub(super) fn touched(&self) -> Timestamp {
        Timestamp::from_milliseconds(self.touched.load(Ordering::Relaxed))
    }

    /// True once a sweep has to look at the cell.
    pub(super) fn due(&self, now: Timestamp) -> bool {
        self.due.load(Ordering::Relaxed) <= now.milliseconds()
    }

    /// Nothing can be due before.
    pub(super) fn rest_until(&self, due: Timestamp) {
        self.due.store(due.milliseconds(), Ordering::Relaxed);
    }
}

/// A place in a session's queue, given back when dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn take(waiting: &'a AtomicUsize) -> Result<Self, SessionError> {
        if waiting.fetch_add(1, Ordering::Relaxed) >= COMMANDS_QUEUED_MAX {
            waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(SessionError::Busy(COMMANDS_QUEUED_MAX));
        }
        Ok(Self(waiting))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A session in memory, with its current episode.
pub(super) struct Live {
    pub row: SessionRow,
    pub entry: Arc<Entry>,
    pub task: Arc<Task>,
    pub episode: EpisodeRow,
    /// `None` once the environment failed or could not be recovered.
    pub place: Option<Place>,
    pub context: Context,
    pub seq: u64,
    pub calls: u64,
    /// Microseconds inside the environment in this episode.
    pub env_us: u64,
    /// The last step of a recorded session, or `None` at an episode's own beginning.
    pub last: Option<KeptStep>,
    /// The first observation of the episode, until it is answered.
    pub first: Option<Box<Observation>>,
    /// The past of an unrecorded session.
    pub past: imbl::Vector<KeptStep>,
    /// The number of its oldest steps that were dropped from `past`.
    pub forgotten: u64,
    /// The randomness that replaced the episode's at earlier forks: after which step, and with which salt.
    pub salts: Vec<(u64, u64)>,
    pub verdict: Option<Box<Verdict>>,
    /// A judging that runs beside later commands.
    pub judging: Option<watch::Receiver<Option<Verdict>>>,
    /// A message for the acting side, put before the next observation.
    pub notice: Option<String>,
    pub ledger: Arc<Ledger>,
}

/// The view from a point of a task. Sessions that stand at the same point answer with the same one.
#[derive(Clone)]
pub(super) struct Scene {
    task: Shared<PublicTask>,
    observation: Shared<Observation>,
    messages: Shared<Vec<Message>>,
}

impl Live {
    /// True if steps are stored.
    pub(super) fn recorded(&self) -> bool {
        self.row.record != RecordMode::None
    }

    /// True while the episode takes steps.
    pub(super) fn running(&self) -> bool {
        self.episode.state == EpisodeState::Running
    }

    /// True if the session can leave memory and come back.
    pub(super) fn parkable(&self) -> bool {
        self.recorded()
            && self.entry.spec().capabilities.recovery == Recovery::Replay
            && self.judging().is_none()
            && self.ledger.settled()
    }

    /// True if a command must run to its end on a task of its own, because acting or judging takes time or awaits.
    pub(super) fn needs_task(&self) -> bool {
        let kind = &self.entry.kind;
        !self.entry.opens_at_once() || kind.verifier().needs_trajectory() || matches!(self.place, Some(Place::Live(_)))
    }

    /// The judging that runs beside later commands, unless it ended without a verdict.
    pub(super) fn judging(&self) -> Option<&watch::Receiver<Option<Verdict>>> {
        self.judging.as_ref().filter(|verdict| verdict.has_changed().is_ok())
    }

    /// The last step whose record is committed.
    pub(super) fn durable_seq(&self) -> u64 {
        if !self.recorded() {
            return 0;
        }
        match &self.last {
            Some(KeptStep { ticket: Some(ticket), .. }) if !ticket.is_committed() => self.seq.saturating_sub(1),
            _ => self.seq,
        }
    }

    /// Marks the episode as over.
    pub(super) fn end(&mut self, terminated: bool, truncated: bool, reason: StopReason, at: Timestamp) {
        self.episode.state = EpisodeState::Ended;
        self.episode.seq = Some(self.seq);
        self.episode.terminated = terminated;
        self.episode.truncated = truncated;
        self.episode.stop_reason = Some(reason);
        self.episode.ended_at = Some(at);
    }

    /// The remainder of the limits.
    pub(super) fn limits_left(&self, now: Timestamp) -> Limits {
        let limits = self.row.limits;
        Limits {
            steps: limits.steps.map(|steps| steps.saturating_sub(self.seq)),
            calls: limits.calls.map(|calls| calls.saturating_sub(self.calls)),
            wall_ms: limits.wall_ms.map(|wall_ms| wall_ms.saturating_sub(self.elapsed_ms(now))),
            ..limits
        }
    }

    /// Milliseconds since the episode began.
    pub(super) fn elapsed_ms(&self, now: Timestamp) -> u64 {
        u64::try_from(now.milliseconds() - self.episode.started_at.milliseconds()).unwrap_or(0)
    }

    /// The last step, or `None` at an episode's own beginning.
    pub(super) fn last_step(&self) -> Result<Option<TakenStep>, SessionError> {
        self.last_kept().map(KeptStep::decoded).transpose()
    }

    fn last_kept(&self) -> Option<&KeptStep> {
        self.past.last().or(self.last.as_ref())
    }

    /// The view from where the session stands.
    pub(super) fn scene(&self) -> Result<Scene, SessionError> {
        let surface = self.entry.kind.surface(&self.row.config);
        let (observation, messages) = match self.last_step()? {
            None => {
                let first = self.first.as_deref().cloned().unwrap_or_default();
                let mut messages = self.task.public.messages.clone();
                // On a screen or in a browser, what is seen first repeats the instruction and goes on with the page.
                if let Some(last) = messages.last_mut().filter(|_| surface.has_screen() || surface.has_browser()) {
                    last.content.clone_from(&first.text);
                }
                (first, messages)
            }
            Some(past) => {
                let Stepped { observation, messages, .. } = past.answer.into_stepped();
                (observation, messages)
            }
        };
        let messages =
            if messages.is_empty() { vec![Message::new("user", observation.text.clone())] } else { messages };
        let mut task = self.task.public.clone();
        task.tools = self.entry.offer(&self.row.config).tools.clone();
        Ok(Scene {
            task: task.into(),
            observation: super::observe::cut(observation, &self.row.observe, None).into(),
            messages: messages.into(),
        })
    }

    /// True if another session stands at the same point.
    pub(super) fn stands_with(&self, other: &Self) -> bool {
        let same_last = match (self.last_kept(), other.last_kept()) {
            (None, None) => self.first == other.first,
            (Some(one), Some(other)) => Arc::ptr_eq(&one.answer, &other.answer),
            _ => false,
        };
        same_last && Arc::ptr_eq(&self.task, &other.task) && self.row.observe == other.row.observe
    }

    /// The answer to opening, resetting, forking or restoring.
    pub(super) fn opened(&mut self, scene: Scene, now: Timestamp) -> Opened {
        self.first = None;
        let Scene { task, observation, messages } = scene;
        Opened {
            id: self.row.id,
            episode: self.episode.id,
            attempt: self.episode.attempt,
            environment: self.entry.full_name().to_owned(),
            tools: task.tools.clone(),
            task,
            seed: self.episode.seed,
            seq: self.seq,
            durable_seq: if self.recorded() { self.seq } else { 0 },
            observation,
            messages,
            limits: if self.seq == 0 { self.row.limits } else { self.limits_left(now) },
            run: self.row.run,
            group: self.row.group,
            parent: self.row.parent,
            at_seq: self.row.parent.map(|_| self.episode.origin.map_or(0, |origin| origin.seq)),
            exact: self.row.parent.map(|_| self.entry.spec().capabilities.fork != ForkKind::Files),
            expires_at: self.row.expires_at,
            token: None,
            screen: self.entry.kind.surface(&self.row.config).has_screen(),
            page: None,
        }
    }
}
