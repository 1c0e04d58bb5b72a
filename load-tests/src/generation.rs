//! Costs of making and of scoring puzzles, beside `reasoning-gym` where both have the same one.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use nix::time::{ClockId, clock_gettime};
use palestra_environment::task::Task;
use palestra_environment::verifier::Case;
use palestra_environment::{Context, Environment, Input, Opening, Place, Secrets, Tasks};
use palestra_protocol::action::Action;
use palestra_protocol::id::EpisodeId;
use palestra_puzzles::{self as puzzles, Examinable};
use serde::Deserialize;
use serde_json::Map;

use crate::peers;
use crate::terminal::{print, tell};

/// Our puzzles and the data sets of `reasoning-gym` that ask for the same.
const SHARED: &[(&str, &str)] = &[
    ("base_conversion", "base_conversion"),
    ("caesar", "caesar_cipher"),
    ("calendar", "calendar_arithmetic"),
    ("countdown", "countdown"),
    ("cryptarithm", "cryptarithm"),
    ("family_relations", "family_relationships"),
    ("geometry", "advanced_geometry"),
    ("graph_colouring", "graph_color"),
    ("hanoi", "tower_of_hanoi"),
    ("knights_and_knaves", "knights_knaves"),
    ("n_queens", "n_queens"),
    ("sequence_completion", "number_sequence"),
    ("shortest_path", "shortest_path"),
    ("sokoban", "sokoban"),
    ("sudoku", "sudoku"),
    ("word_ladder", "word_ladder"),
    ("zebra", "zebra_puzzles"),
];

/// Tasks that are made at least, however long that takes.
const TASKS_MIN: u64 = 20;

/// Arguments.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Milliseconds of CPU for each puzzle.
    #[arg(long, default_value_t = 1_000)]
    cpu_ms: u64,
}

/// Operations of one puzzle or data set per second of CPU on one core.
#[derive(Debug, Deserialize)]
struct Speed {
    name: String,
    made_per_s: f64,
    scored_per_s: f64,
}

/// Measures and prints a table.
///
/// # Errors
/// When a puzzle cannot be made or its oracle does not solve it, or the peer fails.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let budget = Duration::from_millis(arguments.cpu_ms);
    let theirs = reasoning_gym()?;
    let mut text = String::from(
        "| puzzle | made per CPU second | scored per CPU second | reasoning-gym makes | scores | made, ratio | scored, ratio |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for puzzle in puzzles::all() {
        let ours = measure(&*puzzle, budget)?;
        let shared = SHARED.iter().find(|(name, _)| *name == ours.name);
        let row = match shared.and_then(|(_, dataset)| theirs.get(*dataset)) {
            None => format!("| {} | {:.0} | {:.0} | | | | |\n", ours.name, ours.made_per_s, ours.scored_per_s),
            Some(peer) => format!(
                "| {} | {:.0} | {:.0} | {:.0} | {:.0} | {:.1} | {:.1} |\n",
                ours.name,
                ours.made_per_s,
                ours.scored_per_s,
                peer.made_per_s,
                peer.scored_per_s,
                ours.made_per_s / peer.made_per_s,
                ours.scored_per_s / peer.scored_per_s,
            ),
        };
        text.push_str(&row);
    }
    print(&text)?;
    Ok(true)
}

/// Speeds of the peer by data set; none where it is not installed.
fn reasoning_gym() -> anyhow::Result<BTreeMap<String, Speed>> {
    let Some(python) = peers::python() else {
        tell("reasoning-gym is not installed: load-tests/peers/prepare installs it");
        return Ok(BTreeMap::new());
    };
    let datasets = SHARED.iter().map(|(_, dataset)| *dataset);
    let done = Command::new(python).arg(peers::program("generation.py")).args(datasets).output()?;
    anyhow::ensure!(done.status.success(), "generation.py: {}", String::from_utf8_lossy(&done.stderr));
    let lines = String::from_utf8(done.stdout)?;
    lines
        .lines()
        .map(|line| {
            let speed: Speed = serde_json::from_str(line).with_context(|| line.to_owned())?;
            Ok((speed.name.clone(), speed))
        })
        .collect()
}

/// Makes tasks over the whole scale of difficulty until the budget is spent, then scores their solutions.
fn measure(puzzle: &dyn Examinable, budget: Duration) -> anyhow::Result<Speed> {
    let Tasks::Generated(generator) = puzzle.tasks() else { anyhow::bail!("puzzles are generated") };
    let mut tasks = Vec::new();
    let begun = cpu_time()?;
    let mut making = Duration::ZERO;
    for seed in 0.. {
        if seed >= TASKS_MIN && making >= budget {
            break;
        }
        tasks.push(Arc::new(generator.generate("train", seed, None)?));
        making = cpu_time()? - begun;
    }
    let solved = tasks.iter().map(|task| solve(puzzle, task)).collect::<anyhow::Result<Vec<_>>>()?;
    let begun = cpu_time()?;
    for (task, place) in tasks.iter().zip(&solved) {
        let state = place.state();
        let judgement = puzzle.verifier().pure()?.verify(&Case { task, state: &state, trajectory: &[] })?;
        anyhow::ensure!(judgement.score()? == 1.0, "the oracle does not solve {}", task.public.id);
    }
    let scoring = cpu_time()? - begun;
    let count = f64::from(u32::try_from(tasks.len())?);
    Ok(Speed {
        name: puzzle.facts().name.to_owned(),
        made_per_s: count / making.as_secs_f64(),
        scored_per_s: count / scoring.as_secs_f64(),
    })
}

/// The place after the oracle acted in it.
fn solve(puzzle: &dyn Examinable, task: &Arc<Task>) -> anyhow::Result<Box<dyn Environment>> {
    let config = Map::new();
    let opening = Opening {
        task,
        seed: 0,
        secrets: Secrets::Seed(0),
        config: &config,
        episode: EpisodeId::new(),
        resumed: false,
        folder: None,
        from: None,
    };
    let Place::Pure(mut place) = puzzle.open(opening)? else { anyhow::bail!("puzzles are pure") };
    let mut context = Context::seeded(&[b"generation"]);
    for action in puzzle.oracle(task).context("a puzzle has an oracle")? {
        match &action {
            Action::Text(text) => place.act(Input::Text(text), &mut context),
            Action::Tool { tool, arguments } => place.act(Input::Call { tool, arguments }, &mut context),
            other => anyhow::bail!("puzzles are not solved by {other:?}"),
        };
    }
    Ok(place)
}

/// CPU time of this process.
fn cpu_time() -> anyhow::Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?.into())
}
