//! Resource limits of statements: the limits of SQLite that follow from a session's, and the clock that ends them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use rusqlite::Connection;
use rusqlite::ffi;
use rusqlite::limits::Limit;

use crate::raw::Fault;
use crate::wire::{CutReason, Limits};

/// Instructions of the virtual machine between two looks at the clock. SQLite itself looks only where a program jumps.
const BETWEEN_LOOKS: i32 = 16;
/// Nanoseconds that a statement may take beyond its time where the machine is busy with others: its own time is the processor's.
const WAITING: u64 = 5_000_000_000;
/// Time limit of a step in times of a statement's limit.
const STEP: u64 = 8;
/// Least memory of a session: less does not hold a schema.
pub const MEMORY_MIN: u64 = 1 << 20;

/// Sets the limits of a connection.
///
/// # Errors
/// None in practice: SQLite takes any number for these.
pub fn apply(connection: &Connection, limits: &Limits) -> rusqlite::Result<()> {
    let longest = i32::try_from(limits.bytes_max.clamp(1 << 20, 256 << 20)).unwrap_or(i32::MAX);
    for (limit, value) in [
        (Limit::SQLITE_LIMIT_LENGTH, longest),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, longest),
        (Limit::SQLITE_LIMIT_COLUMN, 2_000),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 1_000),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 500),
        (Limit::SQLITE_LIMIT_VDBE_OP, 1_000_000),
        (Limit::SQLITE_LIMIT_FUNCTION_ARG, 127),
        // VACUUM attaches a database of its own; for anybody else the guard refuses it.
        (Limit::SQLITE_LIMIT_ATTACHED, 1),
        // A comparison takes the product of both lengths, and nothing can end it.
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100),
        (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 32_766),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 100),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, value)?;
    }
    Ok(())
}

/// Ends what takes too long.
#[derive(Debug)]
pub struct Meter {
    born: Instant,
    interrupted: AtomicBool,
    /// Nanoseconds of the thread's processor time at which the statement ends, and since `born` the earliest and the latest moment.
    processor: AtomicU64,
    earliest: AtomicU64,
    latest: AtomicU64,
    step: AtomicU64,
}

impl Default for Meter {
    fn default() -> Self {
        let never = || AtomicU64::new(u64::MAX);
        Self {
            born: Instant::now(),
            interrupted: AtomicBool::new(false),
            processor: never(),
            earliest: never(),
            latest: never(),
            step: never(),
        }
    }
}

impl Meter {
    /// Lets the meter look at what a connection does.
    ///
    /// # Errors
    /// None in practice.
    pub fn watch(self: &Arc<Self>, connection: &Connection) -> rusqlite::Result<()> {
        let meter = Arc::clone(self);
        connection.progress_handler(BETWEEN_LOOKS, Some(move || meter.over()))
    }

    /// Begins a step, whose statements take up to this many milliseconds each. Earlier interruptions are forgotten.
    pub fn begin_step(&self, statement_ms: u64) {
        self.interrupted.store(false, Ordering::SeqCst);
        let all = statement_ms.saturating_mul(1_000_000).saturating_mul(STEP);
        self.step.store(self.since_born().saturating_add(all), Ordering::Relaxed);
    }

    /// Begins a statement.
    pub fn begin(&self, statement_ms: u64) {
        let (now, time) = (self.since_born(), statement_ms.saturating_mul(1_000_000));
        self.processor.store(processor_time().saturating_add(time), Ordering::Relaxed);
        self.earliest.store(now.saturating_add(time), Ordering::Relaxed);
        let latest = now.saturating_add(time).saturating_add(WAITING).min(self.step.load(Ordering::Relaxed));
        self.latest.store(latest, Ordering::Relaxed);
    }

    /// Nothing runs that could take too long.
    pub fn end(&self) {
        self.earliest.store(u64::MAX, Ordering::Relaxed);
        self.latest.store(u64::MAX, Ordering::Relaxed);
        self.step.store(u64::MAX, Ordering::Relaxed);
    }

    /// Cuts off what runs now.
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::SeqCst);
    }

    /// True if what runs must end. To be asked by the thread that runs it.
    #[must_use]
    pub fn over(&self) -> bool {
        if self.interrupted.load(Ordering::Relaxed) {
            return true;
        }
        let now = self.since_born();
        now >= self.latest.load(Ordering::Relaxed)
            || now >= self.earliest.load(Ordering::Relaxed)
                && processor_time() >= self.processor.load(Ordering::Relaxed)
    }

    fn since_born(&self) -> u64 {
        nanoseconds(self.born.elapsed())
    }
}

/// Nanoseconds that this thread has spent on a processor.
fn processor_time() -> u64 {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(0, |time| nanoseconds(Duration::from(time)))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Limit behind a fault of SQLite.
#[must_use]
pub fn cut(fault: &Fault) -> Option<CutReason> {
    match fault.code & 0xff {
        _ if fault.code == ffi::SQLITE_IOERR_NOMEM => Some(CutReason::Memory),
        ffi::SQLITE_INTERRUPT => Some(CutReason::Time),
        ffi::SQLITE_TOOBIG => Some(CutReason::Size),
        ffi::SQLITE_NOMEM => Some(CutReason::Memory),
        ffi::SQLITE_FULL => Some(CutReason::Growth),
        ffi::SQLITE_AUTH => Some(CutReason::Refused),
        _ => None,
    }
}

/// Message of a limit in place of SQLite's own words, which do not name it.
#[must_use]
pub fn explain(cut: CutReason, limits: &Limits) -> Option<String> {
    Some(match cut {
        CutReason::Time => format!("the statement was ended: it may take {} ms", limits.statement_ms),
        CutReason::Memory => format!("out of memory: statements may use {} bytes", limits.memory_max.max(MEMORY_MIN)),
        CutReason::Growth => format!("the database is full: it may grow by {} bytes", limits.growth_max),
        CutReason::Size | CutReason::Refused => return None,
    })
}
