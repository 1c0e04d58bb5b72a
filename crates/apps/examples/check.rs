//! Checks the app of a folder: `cargo run --release -p palestra-apps --example check -- FOLDER [SEEDS] [CALLS] [DRAWS] [json]`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use palestra_apps::app::App;
use palestra_apps::check::{Effort, check};

#[expect(clippy::print_stdout, reason = "a program for people")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(folder) = arguments.first() else {
        println!("which folder?");
        return ExitCode::FAILURE;
    };
    let number =
        |place: usize, default: u64| arguments.get(place).and_then(|text| text.parse().ok()).unwrap_or(default);
    let effort = Effort { seeds: number(1, 5), calls: number(2, 500), draws: number(3, 1_000) };
    let files = match read(Path::new(folder)) {
        Ok(files) => files,
        Err(error) => {
            println!("{folder}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let app = match App::load(&files) {
        Ok(app) => app,
        Err(faults) => {
            faults.iter().for_each(|fault| println!("{fault}"));
            println!("{} faults", faults.len());
            return ExitCode::FAILURE;
        }
    };
    let report = check(&app, effort);
    if arguments.get(4).is_some_and(|form| form == "json") {
        println!("{}", serde_json::to_string(&report).unwrap_or_default());
    }
    for (name, figures) in &report.templates {
        let draws = &figures.draws;
        println!("{name}: {} of {} draws are tasks", draws.accepted, draws.made);
        draws.again.iter().for_each(|(why, count)| println!("    {count} thrown away: {why}"));
        draws.faulty.iter().for_each(|(what, count)| println!("    {count} faulty: {what}"));
    }
    println!("{} random calls, {} of them succeeded", report.random_calls.0, report.random_calls.1);
    report.failures.iter().for_each(|failure| println!("FAILED {failure}"));
    if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn read(folder: &Path) -> std::io::Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            files.insert(name, std::fs::read_to_string(&path)?);
        }
    }
    Ok(files)
}
