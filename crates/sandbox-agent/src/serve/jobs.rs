//! Requests that may take long, on threads of their own, so that commands start and end meanwhile.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::Layers;
use super::failure::Failure;
use super::outbox::Outbox;
use super::unpack::Unpack;
use super::{file, layers, pack};
use crate::wire::{Event, FailureCode, Request};

/// Most threads.
const THREADS_MAX: usize = 32;
/// Enough for the deepest folders; what is not touched takes no memory.
const STACK_BYTES: usize = 2 * 1024 * 1024;

/// A request that may take long.
pub(crate) struct Job {
    pub(crate) stream: u32,
    pub(crate) request: Request,
    /// Input of a request that takes data.
    pub(crate) input: Option<File>,
}

/// Resources of jobs.
pub(crate) struct JobContext {
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) layers: Layers,
    /// True if files can be given to other users.
    pub(crate) owners: bool,
}

/// Threads that take jobs. One is there from the start: where a command has used up all processes, there would be no other.
pub(crate) struct JobThreads {
    jobs: Sender<Job>,
    taking: Arc<Mutex<Receiver<Job>>>,
    /// Threads less jobs.
    free: Arc<AtomicIsize>,
    threads: usize,
    context: Arc<JobContext>,
}

impl JobThreads {
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn new(context: JobContext) -> io::Result<Self> {
        let (jobs, taking) = channel();
        let taking = Arc::new(Mutex::new(taking));
        let mut threads = Self { jobs, taking, free: Arc::default(), threads: 0, context: Arc::new(context) };
        threads.hire()?;
        Ok(threads)
    }

    /// Takes on a job, which answers on its stream.
    ///
    /// # Errors
    /// When all threads are busy, no other can be started, and the job takes data: it would hold up all that the server sends. A
    /// job without data waits for a thread.
    pub(crate) fn take_on(&mut self, job: Job) -> Result<(), Failure> {
        // Only this thread takes away from the number, so what it finds here stays.
        if self.free.load(Ordering::Acquire) <= 0 && self.threads < THREADS_MAX {
            // Whether it works shows below.
            let _ = self.hire();
        }
        if self.free.load(Ordering::Acquire) <= 0 && job.input.is_some() {
            return Err(Failure::new(FailureCode::Exhausted, "too many requests at the same time"));
        }
        self.free.fetch_sub(1, Ordering::AcqRel);
        let gone = |_| Failure::new(FailureCode::Failed, "no thread is left");
        self.jobs.send(job).map_err(gone)
    }

    fn hire(&mut self) -> io::Result<()> {
        let (taking, free, context) = (Arc::clone(&self.taking), Arc::clone(&self.free), Arc::clone(&self.context));
        thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
            loop {
                let job = taking.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok(job) = job else { return };
                let stream = job.stream;
                let event = context.carry_out(job).unwrap_or_else(Failure::event);
                // Free before the answer, so that whoever has the answer finds a thread.
                free.fetch_add(1, Ordering::AcqRel);
                context.outbox.send_event(stream, &event);
            }
        })?;
        self.free.fetch_add(1, Ordering::AcqRel);
        self.threads += 1;
        Ok(())
    }
}

impl JobContext {
    fn carry_out(&self, job: Job) -> Result<Event, Failure> {
        let Job { stream, request, input } = job;
        let outbox = &*self.outbox;
        let input = || input.ok_or_else(|| Failure::invalid("no data"));
        match request {
            Request::Write { path, mode, user } => {
                file::write(&path, mode, self.owners.then_some(user), input()?)?;
            }
            Request::Read { path, bytes_max } => file::read(&path, bytes_max, stream, outbox)?,
            Request::Pack { paths, bytes_max, entries_max } => {
                return pack::pack(&paths, bytes_max, entries_max, stream, outbox);
            }
            Request::Unpack { folder, user, bytes_max, entries_max } => {
                let unpack = Unpack { user, owners: self.owners, delta: false, bytes_max, entries_max };
                unpack.run(&folder, input()?)?;
            }
            Request::Apply => {
                let (bytes_max, entries_max) = (u64::MAX, u64::MAX);
                let unpack = Unpack { user: None, owners: self.owners, delta: true, bytes_max, entries_max };
                unpack.run("/", input()?)?;
            }
            Request::Changes { entries_max } => layers::changes(&self.layers, entries_max, stream, outbox)?,
            Request::Delta { bytes_max, entries_max, except } => {
                return layers::delta(&self.layers, bytes_max, entries_max, &except, stream, outbox);
            }
            _ => return Err(Failure::invalid("no such job")),
        }
        Ok(Event::Done)
    }
}
