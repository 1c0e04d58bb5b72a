//! The recorder: the one writer of what sessions do. It commits whatever was queued during the previous commit as one
//! transaction, in order, and tells each session up to where its record is safe.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use dashmap::DashMap;
use palestra_protocol::id::SessionId;
use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use super::SessionError;
use palestra_store::row::{NodeRow, Record};
use palestra_store::{Durability, Groups, Store, StoreError};

/// Groups of records that may wait for a commit.
const GROUPS_QUEUED_MAX: usize = 65_536;
/// Groups in one transaction.
const GROUPS_PER_COMMIT_MAX: usize = 2_048;
/// Time limit of a commit in milliseconds.
const COMMIT_MS_MAX: u64 = 30_000;
/// Longest time that a commit may stay away from the disk, in milliseconds.
const UNSYNCED_MS_MAX: u64 = 1_000;

/// The groups that one incarnation of a session has submitted, and how many of them are committed.
#[derive(Debug)]
pub(super) struct Ledger {
    session: SessionId,
    /// Numbers groups in the order in which they entered the queue.
    issued: Mutex<u64>,
    /// The last group that is safe. Groups are committed in order.
    committed: AtomicU64,
    failed: AtomicBool,
    /// Wakes whoever waits for one of the two.
    moved: Notify,
}

impl Ledger {
    pub(super) fn new(session: SessionId) -> Arc<Self> {
        Arc::new(Self {
            session,
            issued: Mutex::new(0),
            committed: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            moved: Notify::new(),
        })
    }

    /// True once a commit failed: the session's memory is ahead of its record and must be dropped.
    pub(super) fn failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// True if everything that was submitted is committed.
    pub(super) fn settled(&self) -> bool {
        self.committed.load(Ordering::Acquire) == *self.issued.lock()
    }

    fn commit(&self, group: u64) {
        self.committed.store(group, Ordering::Release);
        self.moved.notify_waiters();
    }

    fn fail(&self) {
        self.failed.store(true, Ordering::Release);
        self.moved.notify_waiters();
    }

    /// A ticket for everything that was submitted so far.
    pub(super) fn latest(self: &Arc<Self>) -> Ticket {
        Ticket { ledger: Arc::clone(self), group: *self.issued.lock() }
    }
}

/// A group on its way to the store.
#[derive(Debug, Clone)]
pub(super) struct Ticket {
    ledger: Arc<Ledger>,
    group: u64,
}

impl Ticket {
    /// Waits until the group is committed.
    pub(super) async fn committed(self) -> Result<(), SessionError> {
        loop {
            // Listens before it looks, so that nothing moves unheard in between.
            let moved = self.ledger.moved.notified();
            if self.is_committed() {
                return Ok(());
            }
            if self.ledger.failed() {
                return Err(SessionError::NotRecorded);
            }
            moved.await;
        }
    }

    /// True once the group is committed.
    pub(super) fn is_committed(&self) -> bool {
        self.ledger.committed.load(Ordering::Acquire) >= self.group
    }
}

struct Entry {
    records: Vec<Record>,
    durability: Durability,
    /// The ledgers that wait for this group, each with the group's number there.
    ledgers: Vec<(Arc<Ledger>, u64)>,
    _permit: Option<OwnedSemaphorePermit>,
}

/// A slot in the queue, reserved before an environment acts.
pub(super) struct Permit(OwnedSemaphorePermit);

/// Where sessions submit their records.
#[derive(Clone)]
pub(super) struct Recorder {
    queue: mpsc::UnboundedSender<Entry>,
    slots: Arc<Semaphore>,
    /// Streams of events wait here; entries exist while somebody listens.
    listeners: Arc<DashMap<SessionId, watch::Sender<u64>>>,
    /// Ledgers failed since this was last asked.
    failures: Arc<AtomicBool>,
}

impl Recorder {
    /// Starts the writing task. It ends when `cancel` is cancelled, or every handle is gone, and the queue is empty. When the
    /// node is fenced it cancels `cancel` by itself: this process must not act any more.
    pub(super) fn start(
        store: Arc<Store>,
        node: NodeRow,
        tracker: &tokio_util::task::TaskTracker,
        cancel: CancellationToken,
    ) -> Self {
        let (queue, entries) = mpsc::unbounded_channel();
        let listeners: Arc<DashMap<SessionId, watch::Sender<u64>>> = Arc::default();
        let failures = Arc::new(AtomicBool::new(false));
        let writer = Writer {
            store,
            node,
            entries,
            listeners: Arc::clone(&listeners),
            failures: Arc::clone(&failures),
            unsynced_since: None,
            cancel,
        };
        tracker.spawn(writer.run());
        Self { queue, slots: Arc::new(Semaphore::new(GROUPS_QUEUED_MAX)), listeners, failures }
    }

    /// Reserves a slot in the queue, if one is free and nobody waits for it.
    pub(super) fn try_reserve(&self) -> Option<Permit> {
        Arc::clone(&self.slots).try_acquire_owned().ok().map(Permit)
    }

    /// Reserves a slot in the queue, as soon as one is free.
    pub(super) async fn reserve(&self) -> Result<Permit, SessionError> {
        // Asking first keeps a task that has used up its budget from being sent away while it holds a session's turn.
        if let Some(permit) = self.try_reserve() {
            return Ok(permit);
        }
        let permit = Arc::clone(&self.slots).acquire_owned().await;
        permit.map(Permit).map_err(|_| SessionError::Draining)
    }

    /// Queues a group that belongs to one session.
    pub(super) fn submit(
        &self,
        ledger: &Arc<Ledger>,
        permit: Permit,
        durability: Durability,
        records: Vec<Record>,
    ) -> Ticket {
        let mut issued = ledger.issued.lock();
        *issued += 1;
        let ticket = Ticket { ledger: Arc::clone(ledger), group: *issued };
        self.queue(Entry {
            records,
            durability,
            ledgers: vec![(Arc::clone(ledger), *issued)],
            _permit: Some(permit.0),
        });
        ticket
    }

    /// Waits until everything that was submitted before is in the store, or was refused.
    pub(super) async fn settle(&self) -> Result<(), SessionError> {
        let permit = self.reserve().await?;
        self.submit(&Ledger::new(SessionId::new()), permit, Durability::Disk, Vec::new()).committed().await
    }

    /// Queues a group that belongs to several sessions; the ticket is that of the first.
    pub(super) fn submit_for(
        &self,
        ledgers: &[Arc<Ledger>],
        permit: Permit,
        durability: Durability,
        records: Vec<Record>,
    ) -> Ticket {
        // Numbering and queueing happen under the locks, so that the queue holds a session's groups in the order of their numbers.
        // Only a creation or a fork names several ledgers, all of them new, so no two callers lock the same ones.
        let mut guards: Vec<_> = ledgers.iter().map(|ledger| ledger.issued.lock()).collect();
        let mut numbered = Vec::with_capacity(ledgers.len());
        for (ledger, issued) in ledgers.iter().zip(&mut guards) {
            **issued += 1;
            numbered.push((Arc::clone(ledger), **issued));
        }
        let ticket = Ticket { ledger: Arc::clone(&ledgers[0]), group: numbered[0].1 };
        let entry = Entry { records, durability, ledgers: numbered, _permit: Some(permit.0) };
        self.queue(entry);
        ticket
    }

    fn queue(&self, entry: Entry) {
        if let Err(refused) = self.queue.send(entry) {
            fail(&refused.0, &self.failures);
        }
    }

    /// True if ledgers failed since the last call.
    pub(super) fn failures(&self) -> bool {
        self.failures.swap(false, Ordering::AcqRel)
    }

    /// Counts up whenever something of the session is committed.
    pub(super) fn listen(&self, session: SessionId) -> watch::Receiver<u64> {
        self.listeners.entry(session).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    /// Forgets a session that nobody listens to any more.
    pub(super) fn unlisten(&self, session: SessionId) {
        self.listeners.remove_if(&session, |_, sender| sender.receiver_count() == 0);
    }
}

fn fail(entry: &Entry, failures: &AtomicBool) {
    for (ledger, _) in &entry.ledgers {
        ledger.fail();
    }
    failures.store(true, Ordering::Release);
}

struct Writer {
    store: Arc<Store>,
    node: NodeRow,
    entries: mpsc::UnboundedReceiver<Entry>,
    listeners: Arc<DashMap<SessionId, watch::Sender<u64>>>,
    failures: Arc<AtomicBool>,
    /// Since when something committed has not reached the disk.
    unsynced_since: Option<Instant>,
    cancel: CancellationToken,
}

/// Waits until `deadline`, for ever where there is none.
async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

impl Writer {
    async fn run(mut self) {
        let mut batch = Vec::new();
        loop {
            let deadline = self.unsynced_since.map(|since| since + Duration::from_millis(UNSYNCED_MS_MAX));
            tokio::select! {
                received = self.entries.recv_many(&mut batch, GROUPS_PER_COMMIT_MAX) => {
                    if received == 0 {
                        break;
                    }
                }
                // What is queued is still written; nothing more is taken.
                () = self.cancel.cancelled(), if !self.entries.is_closed() => self.entries.close(),
                () = until(deadline) => self.flush().await,
            }
            self.take_more(&mut batch).await;
            self.write(&mut batch).await;
        }
        self.flush().await;
    }

    /// Takes in what others are about to submit, for whom the next commit would be a long wait.
    async fn take_more(&mut self, batch: &mut Vec<Entry>) {
        tokio::task::yield_now().await;
        while batch.len() < GROUPS_PER_COMMIT_MAX
            && let Ok(entry) = self.entries.try_recv()
        {
            batch.push(entry);
        }
    }

    async fn flush(&mut self) {
        if self.unsynced_since.is_none() {
            return;
        }
        match self.store.flush().await {
            Ok(()) => self.unsynced_since = None,
            // Waits another period: a commit that needs the disk says so itself.
            Err(error) => {
                warn!(%error, "the store could not be flushed");
                self.unsynced_since = Some(Instant::now());
            }
        }
    }

    async fn write(&mut self, batch: &mut Vec<Entry>) {
        let (mut live, dead): (Vec<Entry>, Vec<Entry>) =
            batch.drain(..).partition(|entry| !entry.ledgers.iter().any(|(ledger, _)| ledger.failed()));
        dead.iter().for_each(|entry| fail(entry, &self.failures));
        if live.is_empty() {
            return;
        }
        let overdue =
            self.unsynced_since.is_some_and(|since| since.elapsed().as_millis() >= u128::from(UNSYNCED_MS_MAX));
        let wanted = live.iter().map(|entry| entry.durability).max().unwrap_or(Durability::Process);
        let durability = if overdue { Durability::Disk } else { wanted };
        let groups: Groups = live.iter_mut().map(|entry| std::mem::take(&mut entry.records)).collect();
        match self.commit(&groups, durability).await {
            Ok(()) => self.settle(&live, durability),
            // One group may be at fault: it must not take the others with it.
            Err(error) if live.len() > 1 && !matches!(error, StoreError::Fenced) && self.answers().await => {
                self.write_singly(&live, &groups).await;
            }
            Err(error) => self.refuse(&live, &error),
        }
    }

    /// Commits each group by itself, so that those which the store takes are not lost with one that it refuses.
    async fn write_singly(&mut self, entries: &[Entry], groups: &Groups) {
        let mut answers = true;
        for (entry, records) in entries.iter().zip(groups.iter()) {
            if !answers || entry.ledgers.iter().any(|(ledger, _)| ledger.failed()) {
                fail(entry, &self.failures);
                continue;
            }
            match self.commit(&[records.clone()].into(), entry.durability).await {
                Ok(()) => self.settle(std::slice::from_ref(entry), entry.durability),
                Err(error) => {
                    self.refuse(std::slice::from_ref(entry), &error);
                    answers = self.answers().await;
                }
            }
        }
    }

    /// Commits within bounded time. A commit that is given up may have happened all the same: its sessions are read back.
    async fn commit(&self, groups: &Groups, durability: Durability) -> Result<(), StoreError> {
        let limit = Duration::from_millis(COMMIT_MS_MAX);
        let committed = tokio::time::timeout(limit, self.store.commit(&self.node, groups, durability)).await;
        committed.unwrap_or(Err(StoreError::TimedOut(COMMIT_MS_MAX)))
    }

    async fn answers(&self) -> bool {
        self.store.ping().await.is_ok()
    }

    fn settle(&mut self, entries: &[Entry], durability: Durability) {
        self.unsynced_since = match durability {
            Durability::Disk => None,
            Durability::Process => self.unsynced_since.or_else(|| Some(Instant::now())),
        };
        // Asked once: it looks into every shard.
        let heard = !self.listeners.is_empty();
        for (ledger, group) in entries.iter().flat_map(|entry| &entry.ledgers) {
            ledger.commit(*group);
            if heard && let Some(listener) = self.listeners.get(&ledger.session) {
                listener.send_modify(|count| *count += 1);
            }
        }
    }

    fn refuse(&self, entries: &[Entry], error: &StoreError) {
        error!(%error, groups = entries.len(), "the store refused a commit");
        entries.iter().for_each(|entry| fail(entry, &self.failures));
        if matches!(error, StoreError::Fenced) {
            self.cancel.cancel();
        }
    }
}
