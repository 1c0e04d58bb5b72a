//! The command that measures everything and prints the tables.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::compare::{self, Effort};
use crate::once::{self, Sizes};
use crate::report::Report;
use crate::subject::program;
use crate::targets::{COMPARED, ONCE};
use crate::terminal::{print, tell};

/// Arguments.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Rows to measure, by their ids; all where none is named.
    rows: Vec<String>,
    /// Tiny counts: shows that every row can be measured, not what it costs.
    #[arg(long)]
    short: bool,
    /// Rounds of the comparison.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Milliseconds for which each row is measured in a round.
    #[arg(long, default_value_t = 1_500)]
    window_ms: u64,
    /// The server; the one beside this program where left out.
    #[arg(long, env = "PALESTRA_BINARY")]
    palestra: Option<PathBuf>,
    /// Also writes every value into this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Lists the ids of all rows.
    #[arg(long)]
    list: bool,
}

const LONG: Sizes = Sizes {
    starts: 7,
    sessions: 20_000,
    sockets: 1_000,
    documents: 100_000,
    forks: 7,
    edits: 1_000,
    live: [10, 1_000, 100_000],
    stored_steps: 1_000_000,
    rounds: 5,
    window: Duration::from_millis(1_500),
};

const SHORT: Sizes = Sizes {
    starts: 1,
    sessions: 1_000,
    sockets: 50,
    documents: 1_000,
    forks: 3,
    edits: 20,
    live: [10, 100, 1_000],
    stored_steps: 2_000,
    rounds: 1,
    window: Duration::from_millis(50),
};

/// Measures and prints. False when a figure cannot be right; targets that do not hold are told, and are no failure.
///
/// # Errors
/// When a server fails or refuses something.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    if arguments.list {
        let titles = COMPARED.iter().map(|row| (row.id, row.title)).chain(ONCE.iter().map(|row| (row.id, row.title)));
        for (id, title) in titles {
            print(&format!("{id:20} {title}"))?;
        }
        return Ok(true);
    }
    let known = |id: &String| COMPARED.iter().any(|row| row.id == id) || ONCE.iter().any(|row| row.id == id);
    if let Some(unknown) = arguments.rows.iter().find(|id| !known(id)) {
        anyhow::bail!("there is no row {unknown}: --list shows all");
    }
    let program = program(arguments.palestra.as_ref())?;
    let (effort, sizes) = if arguments.short {
        (Effort { rounds: 2, window_ms: 50 }, SHORT)
    } else {
        (Effort { rounds: arguments.rounds.max(1), window_ms: arguments.window_ms.max(1) }, LONG)
    };
    let wanted = |id: &str| arguments.rows.is_empty() || arguments.rows.iter().any(|named| named == id);
    // One thread: the generator shares the processors with the servers.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(async {
        let (compared, missing) = if COMPARED.iter().any(|row| wanted(row.id)) {
            compare::run(&program, effort, |row| wanted(row.id)).await?
        } else {
            (Vec::new(), Vec::new())
        };
        let once = once::run(&program, sizes, |row| wanted(row.id)).await?;
        anyhow::Ok(Report { effort, compared, once, missing })
    })?;
    print(&report.markdown())?;
    if let Some(file) = &arguments.json {
        fs::write(file, serde_json::to_string_pretty(&report.json())? + "\n")?;
    }
    let insane = report.insane();
    if !insane.is_empty() {
        tell(&format!("these rows have figures that cannot be right: {}", insane.join(", ")));
    }
    Ok(insane.is_empty())
}
