//! `palestra publish FILE|DIR`: makes a data set or an app playable.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use palestra_client::{ClientError, Submission};
use palestra_protocol::environment::Published;
use palestra_protocol::problem::Problem;
use tokio::io::AsyncReadExt;

use super::failure::Failure;
use super::folder;
use super::links;
use super::target::{Keep, TargetArguments};
use crate::terminal::visible;
use palestra_families::app::Files;
use palestra_families::{sql, web, work};

/// The largest file that is read, in bytes. The server has a limit of its own.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Arguments of `palestra publish`.
#[derive(Debug, Args)]
pub struct PublishArguments {
    /// A JSON Lines file, one task a line (`-` reads standard input), the folder or `.yaml` file of an app, or a folder of tasks.
    pub file: PathBuf,
    /// Name of a data set, as dataset/name; where left out, the file's first line names it. An app names itself. A name as
    /// terminal/name, code/name or repository/name publishes work that is done in sandboxes, sql/name a folder of databases with questions,
    /// web/name a folder of web pages with tasks.
    #[arg(long)]
    pub name: Option<String>,
    /// Verifier of every row that names none: its name, or its options as a JSON object.
    #[arg(long)]
    pub verifier: Option<String>,
    /// System text of every task.
    #[arg(long)]
    pub system: Option<String>,
    /// The instructions of the acting side.
    #[arg(long)]
    pub description: Option<String>,
    /// Leaves out tasks that are refused, and publishes the others; each that is left out is named with the reason.
    #[arg(long)]
    pub keep_going: bool,
    /// Lets task folders without a solution be trained on, though nothing proves that they can be solved.
    #[arg(long)]
    pub trust_unproven: bool,
    /// Most that doing nothing may score in task folders that declare no floor, from 0 to 1: verdicts then carry the score rescaled.
    #[arg(long)]
    pub floor: Option<f64>,
    /// Reads, checks and proves everything, and publishes nothing.
    #[arg(long)]
    pub check: bool,
    /// Ends with one line of JSON instead of text.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Publishes a file and says how it can be played.
///
/// # Errors
/// When the file cannot be read, or holds faults: all of them are written to `errors`, by line.
pub async fn publish(
    arguments: &PublishArguments,
    output: &mut impl Write,
    errors: &mut impl Write,
) -> Result<(), Failure> {
    let upload = Upload::read(arguments).await?;
    let target = arguments.target.open(Keep::DefaultFolder).await?;
    let answer = match upload {
        Upload::Dataset(submission, lines) => target.client.publish(&submission, lines).await,
        Upload::App(files) => target.client.publish_app(&files, arguments.check).await,
        Upload::Work(submission, media_type, body) => target.client.publish_work(&submission, media_type, body).await,
    };
    target.close().await;
    match answer {
        Ok(published) if arguments.json => Ok(writeln!(output, "{}", summary_json(&published, arguments.check))?),
        Ok(published) => Ok(write!(output, "{}", summary(&published, arguments))?),
        Err(ClientError::Problem(problem)) if !problem.errors.is_empty() => {
            write_faults(&arguments.file, &problem, errors)?;
            let count = match problem.errors.len() {
                1 => "1 fault".to_owned(),
                several => format!("{several} faults"),
            };
            Err(Failure::Other(format!("the publication was refused: correct the {count} above, and send it again")))
        }
        Err(error) => Err(error.into()),
    }
}

/// Notes that are shown as text.
const NOTES_SHOWN_MAX: usize = 30;

/// The content that is sent.
enum Upload {
    Dataset(Submission, Vec<u8>),
    App(Files),
    Work(Submission, &'static str, Vec<u8>),
}

impl Upload {
    async fn read(arguments: &PublishArguments) -> Result<Self, Failure> {
        let PublishArguments { file, name, verifier, system, description, .. } = arguments;
        let of_work = |name: &str| work::family(name).is_some() || sql::is_sql(name) || web::is_web(name);
        let submission = Submission {
            name: name.clone(),
            verifier: verifier.clone(),
            system: system.clone(),
            description: description.clone(),
            keep_going: arguments.keep_going,
            trust_unproven: arguments.trust_unproven,
            floor: arguments.floor,
            dry_run: arguments.check,
        };
        if let Some(name) = name.as_deref().filter(|name| !of_work(name) && of_work(&name.to_ascii_lowercase())) {
            let lower = name.to_ascii_lowercase();
            return Err(Failure::Other(format!("--name {name:?} must be in small letters: write {lower:?}")));
        }
        if name.as_deref().is_some_and(of_work) {
            if file.is_dir() {
                return Ok(Self::Work(submission, "application/x-tar", links::packed(file)?));
            }
            let yaml = file.extension().is_some_and(|extension| extension == "yaml");
            let media_type = if yaml { "application/yaml" } else { "application/jsonl" };
            return Ok(Self::Work(submission, media_type, read(file).await?));
        }
        if !folder::is_definition(file) {
            return Ok(Self::Dataset(submission, read(file).await?));
        }
        if [name, verifier, system, description].into_iter().any(Option::is_some) {
            let words = "an app names and describes itself: leave out --name, --verifier, --system and --description, or name a folder of tasks as terminal/NAME, code/NAME, repository/NAME or sql/NAME";
            return Err(Failure::Other(words.to_owned()));
        }
        if arguments.keep_going || arguments.trust_unproven || arguments.floor.is_some() {
            let words = "an app is published as a whole: leave out --keep-going, --trust-unproven and --floor, or name a folder of tasks with --name terminal/NAME, code/NAME, repository/NAME or sql/NAME";
            return Err(Failure::Other(words.to_owned()));
        }
        Ok(Self::App(folder::read(file)?))
    }
}

async fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut lines = Vec::new();
    let limit = FILE_BYTES_MAX + 1;
    if path.as_os_str() == "-" {
        tokio::io::stdin().take(limit).read_to_end(&mut lines).await?;
    } else {
        let file = tokio::fs::File::open(path).await.map_err(|error| links::unreadable(path, &error))?;
        file.take(limit).read_to_end(&mut lines).await?;
    }
    if lines.len() as u64 > FILE_BYTES_MAX {
        return Err(Failure::Other(format!("{} has more than {FILE_BYTES_MAX} bytes: split it", path.display())));
    }
    Ok(lines)
}

fn write_faults(file: &Path, problem: &Problem, errors: &mut impl Write) -> std::io::Result<()> {
    for fault in &problem.errors {
        match &fault.file {
            Some(name) if file.is_dir() => write!(errors, "{}", file.join(name).display())?,
            // A place within the file that was sent: `line 3: tests`.
            Some(place) => write!(errors, "{}: {}", file.display(), visible(place))?,
            None => write!(errors, "{}", file.display())?,
        }
        for number in [fault.line, fault.column].into_iter().flatten() {
            write!(errors, ":{number}")?;
        }
        match &fault.field {
            Some(field) => writeln!(errors, ": {field}: {}", fault.detail)?,
            None => writeln!(errors, ": {}", fault.detail)?,
        }
    }
    Ok(())
}

fn summary(published: &Published, arguments: &PublishArguments) -> String {
    let environment = &published.environment;
    let splits: Vec<String> = environment.splits.iter().map(|(split, tasks)| format!("{split} {tasks}")).collect();
    let verb = match (arguments.check, published.created) {
        (true, true) => "checked, and nothing published:",
        (true, false) => "checked, and published already:",
        (false, true) => "published",
        (false, false) => "unchanged:",
    };
    let name = &environment.name;
    let mut notes: String =
        published.notes.iter().take(NOTES_SHOWN_MAX).map(|note| format!("note: {note}\n")).collect();
    if let more @ 1.. = published.notes.len().saturating_sub(NOTES_SHOWN_MAX) {
        notes.push_str(&format!("note: and {more} more: --json shows all of them\n"));
    }
    let play = if arguments.check {
        String::new()
    } else {
        let data = arguments.target.data_flag();
        format!("play it: palestra run {name}{data} --policy builtin:null --episodes 10\n")
    };
    format!("{verb} {name}@{} ({})\n{notes}{play}", environment.version, splits.join(", "))
}

fn summary_json(published: &Published, is_check: bool) -> serde_json::Value {
    let environment = &published.environment;
    serde_json::json!({
        "environment": environment.name,
        "version": environment.version,
        "digest": environment.digest,
        "splits": environment.splits,
        "created": published.created && !is_check,
        "check": is_check,
        "notes": published.notes,
    })
}
