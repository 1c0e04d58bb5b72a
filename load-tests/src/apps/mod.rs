//! What apps cost inside one process: tasks, calls, forks, hashes and verdicts, and the memory of many live episodes.

mod rows;
mod subject;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use palestra_apps::task::episode::Episode;
use serde_json::{Value, json};

use crate::figures::{Holds, Series};
use crate::process::resident_bytes_of;
use crate::terminal::{print, tell};
use rows::{Described, ROWS, Row};
use subject::{Moment, Subject};

/// Episodes that are alive at once while single calls are measured.
const BATCH: usize = 64;
/// One in so many episodes is forked instead of begun.
const FORKED_OF: usize = 10;
/// Bytes in a kilobyte.
const KILOBYTE: f64 = 1e3;

/// What to measure.
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
    values.push((Row::Fork, each(moments, budget, |moment| Ok(drop(std::hint::black_box(moment.ready.clone()))))?));
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

/// What an operation takes on average, in turns on every moment.
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

/// Kilobytes that live episodes take, each; and the episodes, since memory that is free again would hide what comes later.
fn memory(subject: &Subject, live: usize) -> anyhow::Result<(Vec<(Row, Series)>, Vec<Episode>)> {
    let moments = &subject.moments;
    for moment in moments {
        let _warm = moment.instance.data.document().digest();
        let _warm = moment.ready.document().digest();
    }
    let resident = || Ok::<f64, anyhow::Error>(resident_bytes_of(Pid::this())? as f64 / KILOBYTE);
    let each = |after: f64, before: f64, count: usize| {
        [(after - before).max(0.0) / count as f64].into_iter().collect::<Series>()
    };
    let forked = live.div_ceil(FORKED_OF);
    let mut episodes = Vec::with_capacity(live + forked);
    let before_forks = resident()?;
    for moment in moments.iter().cycle().take(forked) {
        episodes.push(wrote(moment)?);
    }
    let before = resident()?;
    for moment in moments.iter().cycle().take(live) {
        episodes.push(Episode::begin(&moment.instance, 1)?);
    }
    let idle = resident()?;
    for (moment, episode) in moments.iter().cycle().zip(&mut episodes[forked..]) {
        episode.call(&moment.write.0, &moment.write.1).map_err(anyhow::Error::msg)?;
    }
    let edited = resident()?;
    for episode in &episodes[forked..] {
        let _hashed = episode.document().digest();
    }
    let hashed = resident()?;
    let values = vec![
        (Row::ForkMemory, each(before, before_forks, forked)),
        (Row::IdleMemory, each(idle, before, live)),
        (Row::EditedMemory, each(edited, before, live)),
        (Row::HashedMemory, each(hashed, before, live)),
    ];
    Ok((values, episodes))
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

/// A table of all apps with one line above that says how it came about.
fn markdown(apps: &[Measured], arguments: &Arguments) -> String {
    let Arguments { rounds, cpu_ms, tasks, live, .. } = arguments;
    let names = apps.iter().map(|app| {
        let Subject { name, rows, state_bytes, .. } = &app.subject;
        format!("`{name}`: {rows} rows, {} KB of JSON", state_bytes / 1_000)
    });
    let names: Vec<String> = names.collect();
    let mut text = format!(
        "{rounds} rounds of {cpu_ms} ms of CPU per row on {tasks} tasks of each app, and {live} live episodes: median (least..most of \
         the rounds).\n\n| row | unit | {} | target | holds |\n| --- | --- |{} --- | --- |\n",
        names.join(" | "),
        " --- |".repeat(apps.len())
    );
    for row in ROWS {
        let values: Vec<String> =
            apps.iter().map(|app| app.values.get(&row.row).map(Series::spread).unwrap_or_default()).collect();
        let target = row.most.map(|most| format!("<= {most}")).unwrap_or_default();
        let holds = holds(row, apps).map_or("", Holds::word);
        let _ = writeln!(text, "| {} | {} | {} | {target} | {holds} |", row.title, row.unit, values.join(" | "));
    }
    text
}

/// Whether the target of a row holds of every app; `None` where it has none.
fn holds(row: &Described, apps: &[Measured]) -> Option<Holds> {
    let most = row.most?;
    Holds::all(apps.iter().map(|app| Holds::at_most(app.values.get(&row.row).and_then(Series::median), most)))
}

/// Everything, value by value.
fn as_json(apps: &[Measured], arguments: &Arguments) -> Value {
    let of = |app: &Measured| {
        let values: serde_json::Map<String, Value> =
            ROWS.iter().filter_map(|row| Some((row.id.to_owned(), json!(app.values.get(&row.row)?)))).collect();
        let Subject { name, rows, state_bytes, .. } = &app.subject;
        json!({"app": name, "rows": rows, "state_bytes": state_bytes, "values": values})
    };
    json!({
        "rounds": arguments.rounds, "cpu_ms": arguments.cpu_ms, "tasks": arguments.tasks, "live": arguments.live,
        "apps": apps.iter().map(of).collect::<Vec<_>>(),
    })
}
