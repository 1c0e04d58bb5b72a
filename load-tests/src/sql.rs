//! Costs of databases to act in: sessions from the pool, steps, rewinds and forks on both engines, and many at once.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::Args;
use futures::future::try_join_all;
use palestra_families::databases::{Databases, Settings, WORKER_COMMAND};
use palestra_sql::engine::{Access, Database, Engine, Limits, Opening, Step};
use palestra_sql::source::Source;
use palestra_sql::value::Dialect;
use serde_json::json;
use tokio::time::sleep;

use crate::figures::{Series, available_mib, median_ms};
use crate::terminal::{print, tell};

/// Time that the pool may take to be filled.
const FILLED_MAX: Duration = Duration::from_secs(60);
/// Rows of the templates: about 100 KB and 5 MB.
const SIZES: [(&str, u64); 2] = [("100 KB", 800), ("5 MB", 40_000)];
/// Operations on a session.
const ROWS: [&str; 6] =
    ["session from the pool", "with its first query", "query", "insert", "rewind over an insert", "fork"];
/// With how many sessions one after the other the pool is asked.
const WARM: usize = 8;

/// Arguments.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A cluster for PostgreSQL; a private one where left out.
    #[arg(long, env = "PALESTRA_SQL_POSTGRES_URL")]
    postgres: Option<String>,
    /// Rounds, each of which measures everything.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Times that each thing is done in a round; the median counts.
    #[arg(long, default_value_t = 200)]
    times: usize,
    /// Sessions of SQLite at once.
    #[arg(long, default_value_t = 1_000)]
    sqlite: usize,
    /// Sessions of PostgreSQL at once.
    #[arg(long, default_value_t = 100)]
    postgres_sessions: usize,
    /// Also writes every value into this file.
    #[arg(long)]
    json: Option<PathBuf>,
}

type Figures = BTreeMap<&'static str, Series>;

/// Measures and prints a table.
///
/// # Errors
/// When an engine cannot be started or a statement fails.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(measure(arguments))
}

async fn measure(arguments: &Arguments) -> anyhow::Result<bool> {
    let folder = tempfile::tempdir()?;
    let databases = Databases::new(Settings {
        worker: Some(vec![std::env::current_exe()?.into_os_string(), WORKER_COMMAND.into()]),
        workers: 0,
        postgres_url: arguments.postgres.clone(),
        postgres_folder: Some(folder.path().join("postgres")),
        node: "loadtests".to_owned(),
        warm: WARM,
        sqlite_max: arguments.sqlite + 100,
        postgres_max: arguments.postgres_sessions + 50,
    });
    let mut figures: BTreeMap<String, Figures> = BTreeMap::new();
    let mut many = BTreeMap::new();
    for dialect in Dialect::ALL {
        let engine = databases.engine(dialect).await?;
        for (size, rows) in SIZES {
            let source = Arc::new(Source::script(script(rows)));
            engine.prepare(&source).await?;
            let times = if dialect == Dialect::Sqlite { arguments.times } else { arguments.times.min(WARM) };
            for round in 0..=arguments.rounds {
                tell(&format!("{}, {size}: round {round} of {}", dialect.name(), arguments.rounds));
                let values = one_round(&*engine, &source, times).await?;
                // The first round fills caches and the pool.
                if round > 0 {
                    let kept = figures.entry(format!("{}, {size}", dialect.name())).or_default();
                    values.into_iter().for_each(|(row, value)| kept.entry(row).or_default().push(value));
                }
            }
        }
        let count = if dialect == Dialect::Sqlite { arguments.sqlite } else { arguments.postgres_sessions };
        tell(&format!("{count} sessions of {} at once", dialect.name()));
        many.insert(dialect.name(), at_once(&*engine, count).await?);
    }
    databases.close().await;
    print(&markdown(&figures, &many))?;
    if let Some(file) = &arguments.json {
        fs::write(file, serde_json::to_string_pretty(&json!({"milliseconds": figures, "many": many}))? + "\n")?;
    }
    Ok(true)
}

/// Medians in milliseconds.
async fn one_round(
    engine: &dyn Engine,
    source: &Arc<Source>,
    times: usize,
) -> anyhow::Result<Vec<(&'static str, f64)>> {
    let mut took: BTreeMap<&'static str, Vec<Duration>> = BTreeMap::new();
    for turn in 0..times {
        wait_for_pool(engine, source, turn).await;
        let mut seq = 0;
        let mut timed = |row: &'static str, since: Instant| took.entry(row).or_default().push(since.elapsed());
        let began = Instant::now();
        let mut database = engine.open(source, &opening()).await?;
        timed(ROWS[0], began);
        step(&mut *database, &mut seq, "SELECT amount FROM sale WHERE id = 7").await?;
        timed(ROWS[1], began);
        let began = Instant::now();
        step(&mut *database, &mut seq, "SELECT amount FROM sale WHERE id = 8").await?;
        timed(ROWS[2], began);
        let mark = seq;
        let began = Instant::now();
        step(&mut *database, &mut seq, "INSERT INTO sale VALUES (-1, 'north', 5, 'a row more')").await?;
        timed(ROWS[3], began);
        let began = Instant::now();
        ensure!(database.rewind(mark).await?, "the session cannot be rewound");
        timed(ROWS[4], began);
        let began = Instant::now();
        if let Some(copy) = database.fork().await? {
            timed(ROWS[5], began);
            copy.close().await;
        }
        database.close().await;
    }
    Ok(took.into_iter().map(|(row, mut times)| (row, median_ms(&mut times))).collect())
}

/// PostgreSQL's pool is filled by a task of its own: what is measured is a session that was ready.
async fn wait_for_pool(engine: &dyn Engine, source: &Source, turn: usize) {
    if engine.dialect() == Dialect::Postgres && turn.is_multiple_of(WARM) {
        let began = Instant::now();
        while engine.ready(source, Access::Write) < WARM && began.elapsed() < FILLED_MAX {
            sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Seconds to open many and act in each at the same time, and what they hold.
async fn at_once(engine: &dyn Engine, count: usize) -> anyhow::Result<BTreeMap<&'static str, f64>> {
    let source = Arc::new(Source::script(script(SIZES[0].1)));
    engine.prepare(&source).await?;
    let before = available_mib()?;
    let began = Instant::now();
    let opening = opening();
    let opened = try_join_all((0..count).map(|_| engine.open(&source, &opening))).await?;
    let opened_s = began.elapsed().as_secs_f64();
    let began = Instant::now();
    let acted = opened.into_iter().enumerate().map(|(index, mut database)| async move {
        let mut seq = 0;
        let insert = format!("INSERT INTO sale VALUES (-1, 'north', {index}, 'mine')");
        step(&mut *database, &mut seq, &insert).await?;
        let found = step(&mut *database, &mut seq, "SELECT amount FROM sale WHERE id = -1").await?;
        ensure!(found == index.to_string(), "session {index} sees the row of another: {found}");
        Ok::<_, anyhow::Error>(database)
    });
    let opened = try_join_all(acted).await?;
    let acted_s = began.elapsed().as_secs_f64();
    let held = before - available_mib()?;
    for database in opened {
        database.close().await;
    }
    Ok(BTreeMap::from([
        ("sessions", count as f64),
        ("opened in seconds", opened_s),
        ("an insert and a query in each, in seconds", acted_s),
        ("MiB of the machine for each", held / count.max(1) as f64),
    ]))
}

/// The first value of a statement's first row, as text.
async fn step(database: &mut dyn Database, seq: &mut u64, sql: &str) -> anyhow::Result<String> {
    *seq += 1;
    let ran = database.run(&Step { seq: *seq, sql, parameters: &[], now_ms: 0 }).await?;
    ensure!(ran.error.is_none(), "{sql}: {:?}", ran.error);
    let result = ran.results.first().context("no result")?;
    Ok(match result.rows.first().and_then(|row| row.first()) {
        Some(palestra_sql::value::Value::Integer(number)) => number.to_string(),
        other => format!("{other:?}"),
    })
}

const fn opening() -> Opening {
    let limits =
        Limits { statement_ms: 5_000, rows_max: 1_000, bytes_max: 1 << 20, memory_max: 64 << 20, growth_max: 64 << 20 };
    Opening { access: Access::Write, limits, seed: 1 }
}

/// A table of so many rows of about 120 bytes, with an index.
fn script(rows: u64) -> String {
    let mut text = String::from(
        "CREATE TABLE sale (id INTEGER PRIMARY KEY, region TEXT NOT NULL, amount INTEGER NOT NULL, note TEXT);\n",
    );
    for start in (0..rows).step_by(100) {
        let values: Vec<String> = (start..rows.min(start + 100))
            .map(|id| format!("({id}, 'region {}', {}, '{:0>90}')", id % 17, id * 31 % 1_000, id))
            .collect();
        text.push_str(&format!("INSERT INTO sale VALUES {};\n", values.join(", ")));
    }
    text.push_str("CREATE INDEX sale_by_region ON sale (region);\n");
    text
}

fn markdown(figures: &BTreeMap<String, Figures>, many: &BTreeMap<&'static str, BTreeMap<&'static str, f64>>) -> String {
    let mut text = String::from("| milliseconds |");
    figures.keys().for_each(|name| text.push_str(&format!(" {name} |")));
    text.push_str("\n| --- |");
    figures.keys().for_each(|_| text.push_str(" --- |"));
    for row in ROWS {
        text.push_str(&format!("\n| {row} |"));
        for values in figures.values() {
            let value = values.get(row).map_or_else(|| "by replay".to_owned(), Series::spread);
            text.push_str(&format!(" {value} |"));
        }
    }
    text.push('\n');
    for (engine, figures) in many {
        text.push_str(&format!("\n{engine}, at once:"));
        figures.iter().for_each(|(what, value)| text.push_str(&format!(" {what} {value:.2};")));
    }
    text.push('\n');
    text
}
