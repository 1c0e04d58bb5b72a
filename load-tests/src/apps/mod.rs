//! Costs of apps inside one process: tasks, calls, forks, hashes and verdicts, and the memory of many live episodes.

mod memory;
mod report;
mod rows;
mod subject;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use nix::time::{ClockId, clock_gettime};
use palestra_apps::task::episode::Episode;

use crate::figures::Series;
use crate::terminal::{print, tell};
use memory::memory;
use report::{as_json, markdown};
use rows::Row;
use subject::{Moment, Subject};

/// Episodes that are alive at once while single calls are measured.
const BATCH: usize = 64;

/// Arguments.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Folders of apps, beside the one whose tables have 10,000 rows.
    folders: Vec<PathBuf>,
    /// Rounds, each of which measures every app.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Milliseconds of CPU for each row of an app in a round.
    #[arg(long, default_value_t = 200)]
    cpu_ms: u64,
    /// Tasks of each app, of which calls, forks, hashes and verdicts are measured.
    #[arg(long, default_value_t = 8)]
    tasks: usize,
    /// Episodes that are alive at once while memory is measured.
    #[arg(long, default_value_t = 100_000)]
    live: usize,
    /// Also writes every value into this file.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// An app with what came of it.
struct Measured {
    subject: Subject,
    values: BTreeMap<Row, Series>,
}

/// Measures and prints a table.
///
/// # Errors
/// When an app cannot be compiled, or a call of a solution fails.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let mut apps = vec![Measured { subject: Subject::ledger(arguments.tasks)?, values: BTreeMap::new() }];
    for folder in &arguments.folders {
        apps.push(Measured { subject: Subject::read(folder, arguments.tasks)?, values: BTreeMap::new() });
    }
    let budget = Duration::from_millis(arguments.cpu_ms);
    // All apps in every round, so that what else the machine does meets them alike. The first round warms up.
    for round in 0..=arguments.rounds {
        tell(&format!("round {round} of {}", arguments.rounds));
        for app in &mut apps {
            for (row, value) in times(&app.subject, round as u64, budget)? {
                if round > 0 {
                    app.values.entry(row).or_default().push(value);
                }
            }
        }
    }
    let mut alive = Vec::new();
    for app in &mut apps {
        tell(&format!("{} live episodes of {}", arguments.live, app.subject.name));
        let (values, episodes) = memory(&app.subject, arguments.live)?;
        app.values.extend(values);
        alive.push(episodes);
    }
    print(&markdown(&apps, arguments))?;
    if let Some(file) = &arguments.json {
        fs::write(file, serde_json::to_string_pretty(&as_json(&apps, arguments))? + "\n")?;
    }
    Ok(true)
}

/// Microseconds of CPU of every row but those of memory.
fn times(subject: &Subject, round: u64, budget: Duration) -> anyhow::Result<Vec<(Row, f64)>> {
    let moments = &subject.moments;
    let mut watch = Watch::default();
    let (mut drawing, mut hashing) = (Watch::default(), Watch::default());
    for number in 0.. {
        if drawing.spent >= budget {
            break;
        }
        let instance = drawing.time(|| subject.task(round << 32 | number))?;
        let _digest = hashing.time(|| instance.data.document().digest());
    }
    let mut values = vec![(Row::Task, drawing.mean_us()), (Row::FirstHash, hashing.mean_us())];
    let begin = |moment: &Moment| Episode::begin(&moment.instance, 1).map(drop);
    values.push((Row::Begin, each(moments, budget, |moment| Ok(begin(moment)?))?));
    let fork = |moment: &Moment| {
        drop(std::hint::black_box(moment.ready.clone()));
        Ok(())
    };
    values.push((Row::Fork, each(moments, budget, fork)?));
    values.push((Row::ForkWrite, each(moments, budget, |moment| wrote(moment).map(drop))?));
    values.push((
        Row::Judge,
        each(moments, budget, |moment| moment.solved.judge().map(drop).map_err(anyhow::Error::msg))?,
    ));
    while watch.spent < budget {
        for moment in moments {
            let mut forks = vec![moment.ready.clone(); BATCH];
            watch.time_many(BATCH, || {
                forks.iter_mut().try_for_each(|fork| fork.perform(&moment.write.0, &moment.write.1).map(drop))
            })?;
        }
    }
    values.push((Row::Write, watch.mean_us()));
    let (mut reading, mut hashing) = (Watch::default(), Watch::default());
    for moment in moments {
        // As the server does, which hashes the state that a session begins with.
        let _warm = moment.ready.document().digest();
    }
    while hashing.spent < budget {
        for moment in moments {
            let forks = (0..BATCH).map(|_| wrote(moment)).collect::<anyhow::Result<Vec<_>>>()?;
            hashing.time_many(BATCH, || {
                for fork in &forks {
                    std::hint::black_box(fork.document().digest());
                }
            });
        }
    }
    values.push((Row::Hash, hashing.mean_us()));
    let reads: Vec<_> = moments.iter().flat_map(|moment| moment.reads.iter().map(move |read| (moment, read))).collect();
    while !reads.is_empty() && reading.spent < budget {
        for (moment, read) in &reads {
            let mut fork = moment.ready.clone();
            reading.time(|| fork.perform(&read.0, &read.1).map(drop))?;
        }
    }
    if !reads.is_empty() {
        values.push((Row::Read, reading.mean_us()));
    }
    Ok(values)
}

/// A fork that was written to.
fn wrote(moment: &Moment) -> anyhow::Result<Episode> {
    let mut fork = moment.ready.clone();
    fork.perform(&moment.write.0, &moment.write.1)?;
    Ok(fork)
}

/// Average cost of an operation, in turns on every moment.
fn each(
    moments: &[Moment],
    budget: Duration,
    mut operation: impl FnMut(&Moment) -> anyhow::Result<()>,
) -> anyhow::Result<f64> {
    let mut watch = Watch::default();
    while watch.spent < budget {
        for moment in moments {
            watch.time_many(BATCH, || (0..BATCH).try_for_each(|_| operation(moment)))?;
        }
    }
    Ok(watch.mean_us())
}

/// CPU of this process while something is done.
#[derive(Default)]
struct Watch {
    spent: Duration,
    done: usize,
}

impl Watch {
    fn time<T>(&mut self, operation: impl FnOnce() -> T) -> T {
        self.time_many(1, operation)
    }

    fn time_many<T>(&mut self, count: usize, operation: impl FnOnce() -> T) -> T {
        let begun = cpu();
        let value = operation();
        self.spent += cpu().saturating_sub(begun);
        self.done += count;
        value
    }

    fn mean_us(&self) -> f64 {
        self.spent.as_secs_f64() * 1e6 / self.done.max(1) as f64
    }
}

fn cpu() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}
