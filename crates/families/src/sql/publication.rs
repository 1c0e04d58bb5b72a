//! Publications of databases: a folder of databases with questions, or of task templates. Each is proven by playing it first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use palestra_protocol::problem::Fault;
use palestra_sql::counterexample::Search;
use palestra_sql::engine::{Engine, EngineError};
use palestra_sql::fault::Fault as SqlFault;
use palestra_sql::import::{self, Admission, Engines, Imported};
use palestra_sql::library::{Library, ScriptLibrary};
use palestra_sql::prove;
use palestra_sql::task::Spoken;
use palestra_sql::template::Suite;
use palestra_sql::template::audit::Effort;
use palestra_sql::value::Dialect;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::shipped::{SPLIT_LENGTH, of_suite};
use super::{FAMILY, Heading, SqlKind};
use crate::databases::Databases;
use crate::definition::{Definition, Left, Parsed};
use palestra_environment::EnvironmentKind;
use palestra_environment::state::Digest;

/// The file that a folder of templates has.
const TEMPLATES: &str = "environment.yaml";
/// Faults that are told.
const FAULTS_TOLD_MAX: usize = 100;
/// Fault of a question that a constant answers.
const CONSTANT: &str = "a query that writes the result out is right on every data: set `now` where times matter, give the database rows \
                        that make other results possible, or leave it out by --keep-going";
/// Tasks of each template that are proven.
const SEEDS: u64 = 2;
/// Time limit of a proof in minutes.
const MINUTES_MAX: u64 = 60;

/// A definition to publish.
pub struct Submission {
    /// `sql/name`.
    pub name: String,
    /// The subject.
    pub description: String,
    /// Words to filter by.
    pub tags: Vec<String>,
    /// Files by path.
    pub files: BTreeMap<String, Vec<u8>>,
    /// True if questions that a constant answers are left out, rather than refusing all.
    pub keep_going: bool,
}

/// The part that is stored beside the rows.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    kind: String,
    description: String,
    tags: Vec<String>,
    content: Content,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Content {
    /// The scripts that make each database, by name; tasks are rows.
    Databases(BTreeMap<String, Spoken>),
    /// The files of a suite; tasks are made from them.
    Templates(BTreeMap<String, String>),
}

/// Reads a publication and proves it by playing it. Takes long, and is called on the blocking pool; it ends early where nobody waits
/// for it any more.
///
/// # Errors
/// With every fault.
pub fn parse(submission: Submission, databases: &Databases, left: Left) -> Result<Parsed, Vec<Fault>> {
    let name = submission.name.split_once('/').filter(|(family, _)| *family == FAMILY).map(|(_, name)| name);
    let fits = |name: &str| {
        (1..=100).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_'))
    };
    if !name.is_some_and(fits) {
        let detail = format!("{:?} is no name: say sql/ and small letters, digits, - and _", submission.name);
        return Err(vec![Fault { field: Some("name".to_owned()), detail, ..Fault::default() }]);
    }
    let parsed = tokio::runtime::Handle::current().block_on(async {
        let parsing = async {
            if submission.files.contains_key(TEMPLATES) {
                parse_templates(submission, databases).await
            } else {
                parse_databases(submission, databases).await
            }
        };
        let ended = |why: String| Err(vec![SqlFault::new("publication", why)]);
        tokio::select! {
            parsed = timeout(Duration::from_secs(MINUTES_MAX * 60), parsing) => {
                parsed.unwrap_or_else(|_| ended(format!("proving it took more than {MINUTES_MAX} minutes")))
            }
            _ = left => ended("nobody waits for it any more".to_owned()),
        }
    });
    parsed.map_err(|faults| {
        let told = |fault: SqlFault| Fault { file: Some(fault.place), detail: fault.detail, ..Fault::default() };
        faults.into_iter().take(FAULTS_TOLD_MAX).map(told).collect()
    })
}

async fn parse_templates(submission: Submission, databases: &Databases) -> Result<Parsed, Vec<SqlFault>> {
    let Submission { name, description, tags, files, .. } = submission;
    let suite = Arc::new(Suite::load(&files)?);
    let library: Arc<dyn Library> = Arc::clone(&suite) as _;
    let environment = suite.environment();
    let splits = environment.splits.keys().map(|split| (split.clone(), SPLIT_LENGTH)).collect();
    let mut faults = Vec::new();
    for dialect in &environment.engines {
        let engine = engine(databases, *dialect).await?;
        for split in environment.splits.keys() {
            for (template, _) in suite.templates() {
                for seed in 0..SEEDS {
                    let place = || format!("templates/{template}.yaml");
                    let proven = match suite.drawn(template, split, seed) {
                        Ok(drawn) => prove::task(&engine, &library, &drawn.task, seed).await,
                        Err(detail) => Err(detail),
                    };
                    faults.extend(
                        proven.err().map(|detail| SqlFault::new(place(), format!("{}: {detail}", dialect.name()))),
                    );
                }
            }
        }
    }
    // Where no task is wrong, what was drawn for others is looked at too.
    if faults.is_empty()
        && let Some(dialect) = environment.engines.first()
    {
        let engine = engine(databases, *dialect).await?;
        for (template, _) in suite.templates() {
            let place = format!("templates/{template}.yaml");
            let audited = suite.audit(&engine, template, Effort::USUAL).await;
            let found = audited.map_or_else(|why| vec![why], |report| report.faults);
            faults.extend(found.into_iter().map(|detail| SqlFault::new(place.clone(), detail)));
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let description = if description.is_empty() { environment.description.clone() } else { description };
    let texts = files.into_iter().map(|(path, bytes)| (path, String::from_utf8_lossy(&bytes).into_owned())).collect();
    stored(name, description, tags, Content::Templates(texts), splits, Vec::new())
}

async fn parse_databases(submission: Submission, databases: &Databases) -> Result<Parsed, Vec<SqlFault>> {
    let Submission { name, description, tags, files, keep_going } = submission;
    let engines = Engines {
        sqlite: engine(databases, Dialect::Sqlite).await?,
        postgres: match databases.engine(Dialect::Postgres).await {
            Ok(postgres) => Some(postgres),
            Err(EngineError::Missing(_)) => None,
            Err(error) => return Err(vec![SqlFault::new("PostgreSQL", error.to_string())]),
        },
    };
    let mut imported = import::read(&files, &engines.sqlite).await?;
    import::choose_moments(&engines.sqlite, &mut imported).await;
    import::try_out(&engines.sqlite, &imported).await?;
    import::vary(&engines.sqlite, &mut imported, Search::default()).await?;
    let admission = import::admit(&engines, &mut imported).await?;
    let left_out = leave_out(&mut imported, &admission, keep_going)?;
    let scripts = imported.scripts().map_err(|error| vec![SqlFault::new("databases", error.to_string())])?;
    let mut rows: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (split, task) in &imported.rows {
        let row = serde_json::to_value(task).map_err(|error| vec![SqlFault::new("questions", error.to_string())])?;
        rows.entry(split.clone()).or_default().push(row);
    }
    let splits = rows.iter().map(|(split, rows)| (split.clone(), rows.len() as u64)).collect();
    let rows = rows.into_iter().collect();
    let parsed = stored(name, description, tags, Content::Databases(scripts), splits, rows)?;
    Ok(Parsed { notes: notes(&admission, left_out, imported.notes), ..parsed })
}

/// Takes the questions out that a constant answers, with a note each. Without leave to, and where no other is left, they are faults.
fn leave_out(imported: &mut Imported, admission: &Admission, keep_going: bool) -> Result<Vec<String>, Vec<SqlFault>> {
    let constant: BTreeSet<usize> = admission.constant.iter().copied().collect();
    if !keep_going || constant.len() == imported.rows.len() {
        let fault = |place: &usize| SqlFault::new(&imported.places[*place], CONSTANT);
        return if constant.is_empty() { Ok(Vec::new()) } else { Err(constant.iter().map(fault).collect()) };
    }
    let notes = constant.iter().map(|place| format!("left out: {}: {CONSTANT}", imported.places[*place])).collect();
    let all = std::mem::take(&mut imported.rows).into_iter().zip(std::mem::take(&mut imported.places));
    let kept = all.enumerate().filter(|(place, _)| !constant.contains(place)).map(|(_, kept)| kept);
    (imported.rows, imported.places) = kept.unzip();
    Ok(notes)
}

/// Notes for the publisher: numbers first, then what was left out, then particulars.
fn notes(admission: &Admission, questions_left_out: Vec<String>, particulars: Vec<String>) -> Vec<String> {
    let mut notes = vec![format!(
        "{} references run on SQLite, {} of them give rows; {} can be played on PostgreSQL as well",
        admission.sqlite,
        admission.with_rows,
        admission.postgres + admission.postgres_but_for_ties
    )];
    notes.extend(admission.left_out.iter().map(|(why, places)| format!("{} on SQLite alone: {why}", places.len())));
    notes.extend(questions_left_out);
    notes.extend(particulars);
    notes
}

async fn engine(databases: &Databases, dialect: Dialect) -> Result<Arc<dyn Engine>, Vec<SqlFault>> {
    databases.engine(dialect).await.map_err(|error| vec![SqlFault::new(dialect.name(), error.to_string())])
}

fn stored(
    name: String,
    description: String,
    tags: Vec<String>,
    content: Content,
    splits: BTreeMap<String, u64>,
    rows: Vec<(String, Vec<Value>)>,
) -> Result<Parsed, Vec<SqlFault>> {
    let stored = Stored { kind: FAMILY.to_owned(), description, tags, content };
    let definition =
        serde_json::to_value(&stored).map_err(|error| vec![SqlFault::new("definition", error.to_string())])?;
    let digest = Digest::of_json(&json!([name, definition, rows])).to_string();
    Ok(Parsed { name, definition, splits, rows, digest, notes: Vec::new(), left_out: Vec::new(), keep_going: false })
}

/// The kind that a stored publication makes.
///
/// # Errors
/// When it does not have the stored form.
pub fn kind(published: &Definition<'_>, databases: &Databases) -> Result<Arc<dyn EnvironmentKind>, String> {
    let stored = Stored::deserialize(published.definition).map_err(|error| error.to_string())?;
    let digest = published.digest.to_owned();
    match stored.content {
        Content::Templates(files) => {
            let files = files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect();
            let suite =
                Suite::load(&files).map_err(|faults| faults.iter().map(ToString::to_string).collect::<String>())?;
            Ok(Arc::new(of_suite(published.name, published.version, suite, digest, databases)))
        }
        Content::Databases(scripts) => {
            let splits: Vec<(String, u64)> =
                published.splits.iter().map(|(split, length)| (split.clone(), *length)).collect();
            let heading = Heading {
                name: published.name,
                version: published.version,
                description: &stored.description,
                tags: &stored.tags,
                splits: &splits,
                templates: 1,
                digest,
            };
            let library: Arc<dyn Library> = Arc::new(ScriptLibrary::new(scripts));
            Ok(Arc::new(SqlKind::new(&heading, databases.clone(), library, None)))
        }
    }
}
