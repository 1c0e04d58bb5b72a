//! Instructions of an operation, counted by valgrind: they hardly depend on what else the machine does, so that a change which
//! costs a few per cent shows.
//!
//! Only what happens within [`crate::drive`]'s function `counted` is counted, on all threads: no start and no end.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::drive::Way;
use crate::terminal::{print, tell};

/// By how much a count may rise.
const MARGIN_PERCENT: f64 = 5.0;
/// Operations of a drive.
const OPERATIONS: u64 = 4_096;
/// The function whose instructions count, as valgrind names it.
const COUNTED: &str = "palestra_load_tests::drive::counted";

/// Arguments.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Ways to count; all where none is named.
    ways: Vec<Way>,
    /// Keeps what was counted as what later counts are held against.
    #[arg(long)]
    update: bool,
    /// The committed counts.
    #[arg(long, default_value_os_t = committed())]
    file: PathBuf,
    /// Leaves the profiles in this folder, for callgrind_annotate.
    #[arg(long)]
    profiles: Option<PathBuf>,
}

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.json")
}

/// The committed counts.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counts {
    /// Instructions per operation, by way.
    per_operation: BTreeMap<String, u64>,
}

/// Counts, prints, and compares; false when a count rose by more than the margin.
///
/// # Errors
/// When valgrind is not there, or a drive fails.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let ways = if arguments.ways.is_empty() { Way::value_variants() } else { &arguments.ways };
    let mut counts: Counts = match fs::read(&arguments.file) {
        Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| arguments.file.display().to_string())?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Counts::default(),
        Err(error) => return Err(error).context(arguments.file.display().to_string()),
    };
    let scratch = tempfile::tempdir()?;
    let folder = match &arguments.profiles {
        Some(folder) => {
            fs::create_dir_all(folder)?;
            folder
        }
        None => scratch.path(),
    };
    print("| operation | instructions | committed | change | holds |\n| --- | --- | --- | --- | --- |")?;
    let mut all_hold = true;
    for way in ways {
        let name = name(*way);
        let counted = instructions_per_operation(*way, folder)?;
        let before = counts.per_operation.get(&name).copied();
        let change = before.map(|before| (counted as f64 / before as f64 - 1.0) * 100.0);
        let holds = change.is_none_or(|change| change <= MARGIN_PERCENT);
        all_hold &= holds;
        print(&format!(
            "| {name} | {counted} | {} | {} | {} |",
            before.map_or("none".to_owned(), |before| before.to_string()),
            change.map_or("none".to_owned(), |change| format!("{change:+.1}%")),
            if holds { "yes" } else { "no" }
        ))?;
        counts.per_operation.insert(name, counted);
    }
    if arguments.update {
        fs::write(&arguments.file, serde_json::to_string_pretty(&counts)? + "\n")?;
        return Ok(true);
    }
    if !all_hold {
        tell(&format!(
            "a count rose by more than {MARGIN_PERCENT}%: find out why (--profiles FOLDER), or accept it with --update. \
             Another compiler or kind of processor moves all counts."
        ));
    }
    Ok(all_hold)
}

fn name(way: Way) -> String {
    way.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn instructions_per_operation(way: Way, folder: &Path) -> anyhow::Result<u64> {
    let rounds = OPERATIONS.div_ceil(way.operations_per_round());
    let profile = folder.join(format!("{}.callgrind", name(way)));
    let done = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .args([format!("--dump-before={COUNTED}"), format!("--dump-after={COUNTED}")])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(env::current_exe()?)
        .args(["drive", &name(way), &rounds.to_string()])
        .output()
        .context("valgrind cannot be run: apt-get install valgrind")?;
    if !done.status.success() {
        bail!("a drive under valgrind failed: {}", String::from_utf8_lossy(&done.stderr));
    }
    // The first dump holds what came before the function, the second what happened in it, on all threads.
    let dump = folder.join(format!("{}.callgrind.2", name(way)));
    let text = fs::read_to_string(&dump).with_context(|| format!("valgrind found no function {COUNTED}"))?;
    let total = total(&text).context("the profile holds no total")?;
    ensure!(total > 0, "nothing was counted in {COUNTED}");
    Ok(total / (rounds * way.operations_per_round()))
}

/// The sum of all counts, which callgrind writes in a line of its own.
fn total(profile: &str) -> Option<u64> {
    let line =
        profile.lines().find_map(|line| line.strip_prefix("totals: ").or_else(|| line.strip_prefix("summary: ")))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_from_a_profile() {
        assert_eq!(total("version: 1\nevents: Ir\nfn=(1) main\n1 5\ntotals: 1234\n"), Some(1234));
        assert_eq!(total("version: 1\nfn=(1) totals: 9\n"), None);
    }

    #[test]
    fn every_way_has_a_committed_count() {
        let counts: Counts = serde_json::from_str(&fs::read_to_string(committed()).expect("a file")).expect("counts");
        let ways: Vec<String> = Way::value_variants().iter().map(|way| name(*way)).collect();
        for way in &ways {
            assert!(counts.per_operation.get(way).is_some_and(|count| *count > 0), "{way}");
        }
        assert_eq!(counts.per_operation.len(), ways.len());
    }
}
