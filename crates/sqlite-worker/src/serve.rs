//! Reads requests from standard input, has them carried out, and writes what came of them to standard output.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Condvar, Mutex};

use crate::confine;
use crate::guard::Asking;
use crate::limits::Meter;
use crate::outgoing::Outgoing;
use crate::pages::{self, Table};
use crate::pool::{JobQueue, Pool};
use crate::run::Step;
use crate::session::{Session, Settings};
use crate::wire::{Answer, Ask, FRAME_MAX, Request, TemplateSize, Usage};
use crate::{heap, raw, template};

/// Requests of one session that may wait.
const WAITING_MAX: usize = 1_024;
/// Bytes of requests that may wait. Beyond them nothing more is read.
const WAITING_BYTES_MAX: usize = 512 << 20;

/// Prefix of the last argument, in which the server gives the number of workers.
pub const WORKERS: &str = "--workers=";

/// The process: confines itself, then serves until standard input ends. It takes its share of the machine's memory, or all of it where
/// it is not told that there are others.
#[must_use]
pub fn run() -> ExitCode {
    let width = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let started = workers().and_then(confine::begin).and_then(|()| {
        raw::initialise();
        confine::filter_calls()?;
        Pool::start(width).map_err(|error| format!("no threads: {error}"))
    });
    let pool = match started {
        Ok(pool) => pool,
        Err(error) => {
            let _ = writeln!(io::stderr(), "the SQLite worker cannot start: {error}");
            return ExitCode::from(2);
        }
    };
    let server = Server::new(pool, Outgoing::start(io::stdout()));
    match server.serve(&mut io::stdin().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Number of workers.
fn workers() -> Result<u64, String> {
    let last = std::env::args_os().next_back().unwrap_or_default();
    match last.to_str().and_then(|last| last.strip_prefix(WORKERS)) {
        Some(number) => number.parse().map_err(|_| format!("{number:?} is no number of workers")),
        None => Ok(1),
    }
}

/// State that the reading thread shares with those that carry out requests.
struct Server {
    pool: Pool,
    out: Outgoing,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    templates: Mutex<HashMap<String, Table>>,
    sessions: Mutex<HashMap<u64, Entry>>,
    waiting: Mutex<usize>,
    fewer: Condvar,
}

/// A session, from the moment that it was asked for.
#[derive(Clone)]
struct Entry {
    lane: Arc<JobQueue>,
    meter: Arc<Meter>,
    /// True if waiting requests are not to be done any more.
    closed: Arc<AtomicBool>,
    /// Empty before it is opened, and where that failed.
    session: Arc<Mutex<Option<Session>>>,
}

impl Entry {
    fn new(lane: JobQueue) -> Self {
        Self { lane: Arc::new(lane), meter: Arc::default(), closed: Arc::default(), session: Arc::default() }
    }
}

impl Server {
    fn new(pool: Pool, out: Outgoing) -> Self {
        Self { pool, out, shared: Arc::default() }
    }

    /// Until the input ends, which is no error between two frames.
    fn serve(&self, input: &mut impl Read) -> io::Result<()> {
        while let Some((request, bytes)) = read(input)? {
            self.shared.admit(bytes);
            self.dispatch(request, bytes);
        }
        Ok(())
    }

    fn dispatch(&self, request: Request, bytes: usize) {
        let id = request.id;
        match request.ask {
            Ask::Prepare { template, content, limits } => {
                let shared = Arc::clone(&self.shared);
                self.submit(&Arc::default(), id, bytes, move || {
                    Answer::Prepared(shared.prepare(template, || template::make(&content, limits)))
                });
            }
            Ask::Forget { template } => {
                self.shared.templates.lock().remove(&template);
                self.now(id, bytes, Answer::Done);
            }
            Ask::Open { session, template, access, limits, seed } => {
                let Some(table) = self.shared.templates.lock().get(&template).cloned() else {
                    return self.now(id, bytes, Answer::Wrong(format!("there is no template {template}")));
                };
                let size_max = table.len().saturating_add(limits.growth_max);
                let settings = Settings { asking: Asking::Session(access), limits, seed, size_max };
                let entry = Entry::new(JobQueue::default());
                self.shared.sessions.lock().insert(session, entry.clone());
                self.submit(&entry.lane, id, bytes, move || {
                    match Session::open(&table, settings, Arc::clone(&entry.meter)) {
                        Ok(opened) => {
                            *entry.session.lock() = Some(opened);
                            Answer::Done
                        }
                        Err(error) => Answer::Wrong(error),
                    }
                });
            }
            Ask::Run { session, seq, sql, parameters, now_ms } => self.on(session, id, bytes, move |session| {
                Answer::Ran(session.run(Step { seq, sql: &sql, parameters: &parameters, now_ms, may_change: true }))
            }),
            Ask::Look { session, sql, bytes_max } => {
                self.on(session, id, bytes, move |session| Answer::Ran(session.look(&sql, bytes_max)));
            }
            Ask::Rewind { session, seq } => {
                self.on(session, id, bytes, move |session| Answer::Rewound(session.rewind(seq)));
            }
            Ask::Explain { session, sql, parameters } => {
                self.on(session, id, bytes, move |session| Answer::Explained(session.explain(&sql, &parameters)));
            }
            Ask::File { session } => {
                self.on(session, id, bytes, |session| Answer::File(session.table().bytes().into()));
            }
            Ask::Fork { session, copy } => self.fork(session, copy, id, bytes),
            Ask::Interrupt { session } => {
                let found = self.shared.sessions.lock().get(&session).map(|entry| entry.meter.interrupt());
                self.now(id, bytes, found.map_or_else(|| no_session(session), |()| Answer::Done));
            }
            Ask::Close { session } => match self.shared.sessions.lock().remove(&session) {
                Some(entry) => {
                    entry.closed.store(true, Ordering::SeqCst);
                    entry.meter.interrupt();
                    self.submit(&Arc::clone(&entry.lane), id, bytes, move || {
                        entry.session.lock().take();
                        Answer::Done
                    });
                }
                None => self.now(id, bytes, no_session(session)),
            },
            Ask::Usage => self.now(id, bytes, Answer::Usage(self.shared.usage())),
        }
    }

    fn fork(&self, session: u64, copy: u64, id: u64, bytes: usize) {
        // What is asked of the copy meanwhile waits until it is there.
        let entry = Entry::new(JobQueue::held());
        let (pool, shared) = (self.pool.clone(), Arc::clone(&self.shared));
        self.shared.sessions.lock().insert(copy, entry.clone());
        self.on_or(session, id, bytes, move |session| {
            let forked = session.and_then(|session| session.fork(Arc::clone(&entry.meter)));
            let done = forked.is_some();
            *entry.session.lock() = forked;
            if !done {
                shared.sessions.lock().remove(&copy);
            }
            pool.release(&entry.lane);
            Answer::Rewound(done)
        });
    }

    /// Has a session do something.
    fn on(&self, session: u64, id: u64, bytes: usize, what: impl FnOnce(&mut Session) -> Answer + Send + 'static) {
        self.on_or(session, id, bytes, move |found| found.map_or_else(|| no_session(session), what));
    }

    fn on_or(
        &self,
        session: u64,
        id: u64,
        bytes: usize,
        what: impl FnOnce(Option<&mut Session>) -> Answer + Send + 'static,
    ) {
        let entry = self.shared.sessions.lock().get(&session).cloned();
        match entry {
            None => self.now(id, bytes, no_session(session)),
            Some(entry) if entry.lane.len() >= WAITING_MAX => {
                self.now(id, bytes, Answer::Wrong("too many requests of this session wait".to_owned()));
            }
            Some(entry) => {
                let lane = Arc::clone(&entry.lane);
                self.submit(&lane, id, bytes, move || {
                    let mut session = entry.session.lock();
                    what(session.as_mut().filter(|_| !entry.closed.load(Ordering::SeqCst)))
                });
            }
        }
    }

    fn submit(&self, lane: &Arc<JobQueue>, id: u64, bytes: usize, job: impl FnOnce() -> Answer + Send + 'static) {
        let (out, shared) = (self.out.clone(), Arc::clone(&self.shared));
        self.pool.submit(
            lane,
            Box::new(move || {
                let reply = Reply { id, out, answer: None };
                shared.discharge(bytes);
                reply.give(job());
            }),
        );
    }

    /// Answers at once.
    fn now(&self, id: u64, bytes: usize, answer: Answer) {
        self.shared.discharge(bytes);
        self.out.send(id, answer);
    }
}

/// Every request is answered, also one whose job panics.
struct Reply {
    id: u64,
    out: Outgoing,
    answer: Option<Answer>,
}

impl Reply {
    fn give(mut self, answer: Answer) {
        self.answer = Some(answer);
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        let answer = self.answer.take().unwrap_or_else(|| Answer::Wrong("the request panicked".to_owned()));
        self.out.send(self.id, answer);
    }
}

fn no_session(session: u64) -> Answer {
    Answer::Wrong(format!("there is no session {session}"))
}

impl Shared {
    fn prepare(&self, name: String, make: impl FnOnce() -> Result<Table, String>) -> Result<TemplateSize, String> {
        let size = |table: &Table| TemplateSize { bytes: table.len() };
        if let Some(table) = self.templates.lock().get(&name) {
            return Ok(size(table));
        }
        let made = make()?;
        Ok(size(self.templates.lock().entry(name).or_insert(made)))
    }

    fn usage(&self) -> Usage {
        Usage {
            sessions: self.sessions.lock().len() as u64,
            templates: self.templates.lock().len() as u64,
            heap_bytes: heap::total() as u64,
            page_bytes: pages::total(),
        }
    }

    /// Waits until there is room for a request.
    fn admit(&self, bytes: usize) {
        let mut waiting = self.waiting.lock();
        while *waiting > 0 && *waiting + bytes > WAITING_BYTES_MAX {
            self.fewer.wait(&mut waiting);
        }
        *waiting += bytes;
    }

    fn discharge(&self, bytes: usize) {
        *self.waiting.lock() -= bytes;
        self.fewer.notify_one();
    }
}

/// The next request and its bytes; `None` at the end.
fn read(input: &mut impl Read) -> io::Result<Option<(Request, usize)>> {
    let mut len = [0; 4];
    if input.read(&mut len[..1])? == 0 {
        return Ok(None);
    }
    input.read_exact(&mut len[1..])?;
    let len = usize::try_from(u32::from_le_bytes(len)).unwrap_or(usize::MAX);
    if len > FRAME_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame is too long"));
    }
    let mut frame = Vec::new();
    input.take(len as u64).read_to_end(&mut frame)?;
    let request = postcard::from_bytes(&frame).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(Some((request, len)))
}
