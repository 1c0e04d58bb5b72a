//! `palestra check app/* DIR`: proves that the data of apps is sound, their tasks solvable, and their goals not to be had for
//! nothing; `palestra check terminal/* sql/*` that work can be done and judged; `palestra check control/* puzzle/*` that built-in
//! environments are solved by their oracles alone.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use palestra_apps::app::App;
use palestra_apps::check::{Effort, Report, check as prove};
use serde_json::{Value, json};

mod builtin;
mod draws;
mod sql;
mod work;

use super::failure::Failure;
use super::folder;
use crate::config::{Config, ConfigArguments};
use crate::table::Table;
use palestra_environment::EnvironmentKind;
use palestra_environment::proof::live;
use palestra_families::app::shipped;
use palestra_families::sql::PROVEN_SEEDS_MAX;

/// Stands for fixed tasks in tables.
const FIXED: &str = "tasks.jsonl";
/// Stands for every name behind it.
const ALL: &str = "*";

/// Arguments of `palestra check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// Shipped environments by name (`app/mail`, `app/*`, `terminal/*`, `sql/*`, `control/*`, `puzzle/*`), or folders and files of
    /// apps.
    #[arg(required = true)]
    pub apps: Vec<String>,
    /// Tasks of each template.
    #[arg(long, default_value_t = Effort::FULL.seeds)]
    pub seeds: u64,
    /// Random calls under which invariants must hold.
    #[arg(long, default_value_t = Effort::FULL.calls)]
    pub calls: u64,
    /// Draws of each template of an app that are audited.
    #[arg(long, default_value_t = Effort::FULL.draws)]
    pub draws: u64,
    /// Writes one line of JSON per app instead of tables.
    #[arg(long)]
    pub json: bool,
    /// Back end and images of sandboxes, for work that is done in them.
    #[command(flatten)]
    pub config: ConfigArguments,
}

/// Checks apps and prints what was found of each.
///
/// # Errors
/// When an app has faults or fails the check; all of them are written to `errors`.
pub async fn check(
    arguments: &CheckArguments,
    output: &mut impl Write,
    errors: &mut impl Write,
) -> Result<(), Failure> {
    let mut failed = Vec::new();
    let (works, others): (Vec<&String>, Vec<&String>) = arguments.apps.iter().partition(|asked| work::is_work(asked));
    let (databases, others): (Vec<&String>, Vec<&String>) = others.into_iter().partition(|asked| sql::asked_for(asked));
    let (kinds, apps): (Vec<&String>, Vec<&String>) = others.into_iter().partition(|asked| builtin::asked_for(asked));
    for asked in works {
        let config = Config::load(&arguments.config).map_err(|error| Failure::Other(error.to_string()))?;
        failed.extend(work::check(asked, &config, arguments.json, output, errors).await?);
    }
    for asked in databases {
        let config = Config::load(&arguments.config).map_err(|error| Failure::Other(error.to_string()))?;
        let seeds = arguments.seeds.min(PROVEN_SEEDS_MAX);
        failed.extend(sql::check(asked, &config, seeds, arguments.json, output, errors).await?);
    }
    for asked in kinds {
        failed.extend(builtin::check(asked, arguments.seeds, arguments.json, output, errors).await?);
    }
    for (name, loaded) in apps.into_iter().map(|asked| find(asked)).collect::<Result<Vec<_>, _>>()?.concat() {
        let faults = match loaded {
            Ok(app) => {
                let effort = Effort { seeds: arguments.seeds, calls: arguments.calls, draws: arguments.draws };
                let report = tokio::task::spawn_blocking(move || prove(&app, effort)).await;
                let report = report.map_err(|error| Failure::Other(error.to_string()))?;
                if arguments.json {
                    writeln!(output, "{}", json!({"app": name, "report": report}))?;
                } else {
                    writeln!(output, "{}", table(&name, &report))?;
                    draws::write(&report, output)?;
                    for note in &report.notes {
                        writeln!(output, "{name}: note: {note}")?;
                    }
                }
                report.failures
            }
            Err(faults) => faults,
        };
        for fault in &faults {
            writeln!(errors, "{name}: {fault}")?;
        }
        if !faults.is_empty() {
            failed.push(name);
        } else if !arguments.json {
            writeln!(output, "{name} passes the check")?;
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::Other(format!("the check failed for {}: correct what is reported above", failed.join(", "))))
    }
}

/// Proves an environment whose tasks are done outside this process, and says what was found. Answers whether anything is wrong.
async fn prove_live(
    kind: &dyn EnvironmentKind,
    seeds: u64,
    as_json: bool,
    output: &mut impl Write,
    errors: &mut impl Write,
) -> Result<bool, Failure> {
    let name = &kind.spec().name;
    let prover = kind.prover().ok_or_else(|| {
        Failure::Other(format!(
            "tasks of {name} are not proven by doing them: choose an environment of sandboxes or databases"
        ))
    })?;
    let proof = live::prove(prover, &kind.spec().splits, seeds).await.map_err(Failure::Other)?;
    report(name, proof.tasks, &proof.faults, as_json, output, errors)
}

/// Says how many tasks of an environment were proven, and what is wrong with some. Answers whether anything is.
fn report(
    environment: &str,
    tasks: usize,
    faults: &[(String, String)],
    as_json: bool,
    output: &mut impl Write,
    errors: &mut impl Write,
) -> Result<bool, Failure> {
    if as_json {
        let faults: Vec<Value> = faults.iter().map(|(task, fault)| json!({"task": task, "fault": fault})).collect();
        writeln!(output, "{}", json!({"environment": environment, "tasks": tasks, "faults": faults}))?;
    } else {
        writeln!(output, "{environment}: {tasks} tasks, {} with faults", faults.len())?;
    }
    for (task, fault) in faults {
        writeln!(errors, "{environment} {task}: {fault}")?;
    }
    Ok(!faults.is_empty())
}

/// An app by its name, or the faults of its definition.
pub(super) type Loaded = (String, Result<Arc<App>, Vec<String>>);

/// The apps that an argument stands for.
pub(super) fn find(asked: &str) -> Result<Vec<Loaded>, Failure> {
    let path = Path::new(asked);
    if folder::is_definition(path) {
        return Ok(vec![(asked.to_owned(), load(&folder::read(path)?))]);
    }
    let fits = |name: &str| asked.strip_suffix(ALL).map_or(name == asked, |beginning| name.starts_with(beginning));
    let found: Vec<Loaded> =
        shipped::all().iter().filter(|app| fits(&app.name())).map(|app| (app.name(), load(&app.files()))).collect();
    if found.is_empty() {
        return Err(Failure::Other(format!(
            "{asked} is neither a shipped app nor a folder with a definition: name one of these"
        )));
    }
    Ok(found)
}

fn load(files: &palestra_families::app::Files) -> Result<Arc<App>, Vec<String>> {
    App::load(files).map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

fn table(name: &str, report: &Report) -> Table {
    let head = [name, "tasks", "calls", "mutants", "null", "random", "refuse", "replays solved"];
    let mut table = Table::new(head);
    let fixed = report.fixed.iter().map(|figures| (FIXED, figures));
    for (template, figures) in report.templates.iter().map(|(name, figures)| (name.as_str(), figures)).chain(fixed) {
        table.add_row([
            template.to_owned(),
            figures.tasks.to_string(),
            figures.calls.to_string(),
            format!("{} ({} pass)", figures.mutants, figures.survivors),
            format!("{:.3}", figures.null),
            format!("{:.3}", figures.random),
            format!("{:.3}", figures.refuse),
            format!("{} of {}", figures.replays.1, figures.replays.0),
        ]);
    }
    let (made, succeeded) = report.random_calls;
    table.add_row([format!("random calls: {made}, {succeeded} succeeded")]);
    table
}
