//! Threads that carry out jobs: those of one lane one after the other, those of different lanes at the same time. A job that takes long
//! keeps its thread, but goes on at a low priority while another thread takes its place, so that short jobs do not wait for it.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::raw;

/// After this a job takes long.
const LONG: Duration = Duration::from_millis(20);
/// Interval at which running jobs are looked at.
const LOOK: Duration = Duration::from_millis(5);
/// Threads at most.
const THREADS_MAX: usize = 64;
/// Of a thread. SQLite goes deep on expressions within expressions.
const STACK_BYTES: usize = 8 << 20;

/// Something to be done.
pub type Job = Box<dyn FnOnce() + Send>;

/// Jobs that are carried out in order.
#[derive(Default)]
pub struct JobQueue(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    /// True if a thread has it or will have it.
    taken: bool,
    /// True if it waits for something else.
    held: bool,
}

impl JobQueue {
    /// A lane whose jobs wait until [`Pool::release`].
    #[must_use]
    pub fn held() -> Self {
        Self(Mutex::new(Waiting { held: true, ..Waiting::default() }))
    }

    /// Number of jobs that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.lock().jobs.len()
    }

    /// True if none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The threads.
#[derive(Clone)]
pub struct Pool(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    work: Condvar,
    busy: Condvar,
    /// Threads of full priority that there shall be.
    width: usize,
}

#[derive(Default)]
struct State {
    ready: VecDeque<Arc<JobQueue>>,
    running: HashMap<u64, Running>,
    next: u64,
    /// Threads of full priority, and of low priority.
    fast: usize,
    nice: usize,
    /// True if the thread that looks at the others sleeps until there is something to look at.
    unwatched: bool,
}

struct Running {
    since: Instant,
    thread: u32,
    nice: bool,
}

impl Pool {
    /// Starts `width` threads, and one that watches them.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub fn start(width: usize) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            work: Condvar::new(),
            busy: Condvar::new(),
            width: width.clamp(1, THREADS_MAX),
        });
        for _ in 0..shared.width {
            shared.state.lock().fast += 1;
            spawn(&shared)?;
        }
        let watched = Arc::clone(&shared);
        std::thread::Builder::new().name("watch".to_owned()).spawn(move || watched.watch())?;
        Ok(Self(shared))
    }

    /// Adds a job to a lane.
    pub fn submit(&self, lane: &Arc<JobQueue>, job: Job) {
        let mut waiting = lane.0.lock();
        waiting.jobs.push_back(job);
        self.offer(lane, &mut waiting);
    }

    /// Lets a lane that was made held go on.
    pub fn release(&self, lane: &Arc<JobQueue>) {
        let mut waiting = lane.0.lock();
        waiting.held = false;
        self.offer(lane, &mut waiting);
    }

    fn offer(&self, lane: &Arc<JobQueue>, waiting: &mut Waiting) {
        if !waiting.taken && !waiting.held && !waiting.jobs.is_empty() {
            waiting.taken = true;
            self.0.state.lock().ready.push_back(Arc::clone(lane));
            self.0.work.notify_one();
        }
    }
}

fn spawn(shared: &Arc<Shared>) -> std::io::Result<()> {
    let shared = Arc::clone(shared);
    let thread = std::thread::Builder::new().name("sql".to_owned()).stack_size(STACK_BYTES);
    thread.spawn(move || shared.serve()).map(drop)
}

impl Shared {
    /// Carries out jobs, until one has taken long: this thread has a low priority from then on.
    fn serve(self: &Arc<Self>) {
        let thread = raw::thread_id();
        loop {
            let mut state = self.state.lock();
            let lane = loop {
                match state.ready.pop_front() {
                    Some(lane) => break lane,
                    None => self.work.wait(&mut state),
                }
            };
            let key = state.next;
            state.next += 1;
            state.running.insert(key, Running { since: Instant::now(), thread, nice: false });
            if std::mem::take(&mut state.unwatched) {
                self.busy.notify_one();
            }
            drop(state);
            let job = lane.0.lock().jobs.pop_front();
            if let Some(job) = job {
                // A job tells by itself what went wrong; one that panics must not take the thread with it.
                let _ = catch_unwind(AssertUnwindSafe(job));
            }
            if self.finish(key, lane) {
                return;
            }
        }
    }

    /// Ends a job, and says whether its thread shall end with it.
    fn finish(self: &Arc<Self>, key: u64, lane: Arc<JobQueue>) -> bool {
        let mut waiting = lane.0.lock();
        let mut state = self.state.lock();
        if waiting.jobs.is_empty() {
            waiting.taken = false;
        } else {
            drop(waiting);
            state.ready.push_back(lane);
            self.work.notify_one();
        }
        let nice = state.running.remove(&key).is_some_and(|running| running.nice);
        if nice {
            state.nice -= 1;
            self.fill_up(&mut state);
        }
        nice
    }

    /// Starts threads in place of those that became slow.
    fn fill_up(self: &Arc<Self>, state: &mut State) {
        while state.fast < self.width && state.fast + state.nice < THREADS_MAX {
            if spawn(self).is_err() {
                return;
            }
            state.fast += 1;
        }
    }

    fn watch(self: &Arc<Self>) {
        let mut state = self.state.lock();
        loop {
            if state.running.values().all(|running| running.nice) {
                state.unwatched = true;
                self.busy.wait(&mut state);
            } else {
                self.busy.wait_for(&mut state, LOOK);
            }
            let mut slow = 0;
            for running in state.running.values_mut().filter(|running| !running.nice && running.since.elapsed() > LONG)
            {
                running.nice = true;
                slow += 1;
                raw::make_nice(running.thread);
            }
            state.fast -= slow;
            state.nice += slow;
            self.fill_up(&mut state);
        }
    }
}
