//! `palestra jobs submit|list|show|watch|cancel|retry|download`: work that waits in the queue of a server.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use palestra_client::{Client, JobQuery};
use palestra_protocol::id::JobId;
use palestra_protocol::job::{Artifact, CreateJob, Job, JobKind, JobState, Progress};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::choice::{choice, whole};
use super::download::{keep, place};
use super::evaluation;
use super::failure::Failure;
use super::target::{Keep, Target, TargetArguments};
use super::watch::{Shown, metrics, watch};
use crate::table::{Table, facts};
use crate::terminal::{errors, visible};

/// Largest description of a job that is read, in bytes; servers read no larger one.
const FILE_BYTES_MAX: u64 = 20 << 20;
/// Most rows of a list.
const ROWS_MAX: u32 = 1_000;
/// Exit code where the watched job was cancelled; failing is 1, and 2 means wrong arguments.
const CANCELLED: u8 = 3;

/// Does things with jobs.
#[derive(Debug, Args)]
pub struct JobsArguments {
    #[command(subcommand)]
    pub action: JobsAction,
    /// Writes JSON instead of text.
    #[arg(long, global = true)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Actions on jobs.
#[derive(Debug, Subcommand)]
pub enum JobsAction {
    /// Queues a job and writes its id.
    Submit {
        /// A file with the job as JSON, or - for standard input.
        file: PathBuf,
        /// The file holds the spec alone, of a job of this kind.
        #[arg(long, value_parser = choice(JobKind::ALL.map(|kind| (kind.as_str(), kind))))]
        kind: Option<JobKind>,
        /// Higher goes first; -100 to 100 [default: what the file says, or 0].
        #[arg(long, allow_hyphen_values = true)]
        priority: Option<i32>,
        /// Shows the job until it is over.
        #[arg(long)]
        watch: bool,
    },
    /// Lists jobs, newest first.
    List {
        /// Jobs in this state alone.
        #[arg(long, value_parser = choice(JobState::ALL.map(|state| (state.as_str(), state))))]
        state: Option<JobState>,
        /// Jobs of this kind alone.
        #[arg(long, value_parser = choice(JobKind::ALL.map(|kind| (kind.as_str(), kind))))]
        kind: Option<JobKind>,
        /// Those alone that failed after their last attempt.
        #[arg(long)]
        dead_letter: bool,
        /// Most rows.
        #[arg(long, default_value_t = 50, value_parser = whole(1..=ROWS_MAX))]
        limit: u32,
    },
    /// Shows a job: where it stands, why, and what it left.
    Show {
        /// The job, as job_...
        id: JobId,
    },
    /// Shows a job until it is over. Ends with 0 where it succeeded, 1 where it failed, 3 where it was cancelled.
    Watch {
        /// The job, as job_...
        id: JobId,
    },
    /// Cancels a job.
    Cancel {
        /// The job, as job_...
        id: JobId,
    },
    /// Queues a failed or cancelled job again.
    Retry {
        /// The job, as job_...
        id: JobId,
    },
    /// Forgets a job that is over, with its artefacts.
    Delete {
        /// The job, as job_...
        id: JobId,
    },
    /// Downloads artefacts of a job.
    Download {
        /// The job, as job_...
        id: JobId,
        /// The artefact [default: all of them].
        name: Option<String>,
        /// The folder that they go into.
        #[arg(long, default_value = ".", value_name = "FOLDER")]
        out: PathBuf,
    },
}

/// The end of a command on jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It did what it was asked to.
    Done,
    /// It watched a job that ended so.
    Watched(JobState),
}

impl From<Ended> for ExitCode {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Done | Ended::Watched(JobState::Succeeded) => Self::SUCCESS,
            Ended::Watched(JobState::Cancelled) => Self::from(CANCELLED),
            Ended::Watched(_) => Self::FAILURE,
        }
    }
}

/// Does one thing with jobs.
///
/// # Errors
/// When the file is no job, or the server refuses or cannot be reached.
pub async fn jobs(arguments: &JobsArguments, output: &mut impl Write) -> Result<Ended, Failure> {
    let watches = matches!(&arguments.action, JobsAction::Watch { .. } | JobsAction::Submit { watch: true, .. });
    if watches && arguments.target.url.is_none() {
        let why = "a job is watched on a server with workers: name it with --url or PALESTRA_URL";
        return Err(Failure::Other(why.to_owned()));
    }
    let target = arguments.target.open(Keep::DefaultFolder).await?;
    let ended = Box::pin(act(&target, arguments, output)).await;
    target.close().await;
    ended
}

async fn act(target: &Target, arguments: &JobsArguments, output: &mut impl Write) -> Result<Ended, Failure> {
    let (client, json) = (&target.client, arguments.json);
    match &arguments.action {
        JobsAction::Submit { file, kind, priority, watch } => {
            let job = client.create_job(&read_job(file, *kind, *priority)?, None).await?;
            if *watch {
                writeln!(errors(), "{}", job.id)?;
                return watched(client, job.id, json, output).await;
            }
            if json { write_json(output, &job)? } else { writeln!(output, "{}", job.id)? }
        }
        JobsAction::List { state, kind, dead_letter, limit } => {
            let query = JobQuery {
                state: *state,
                kind: *kind,
                dead_letter: *dead_letter,
                limit: Some(*limit),
                ..JobQuery::default()
            };
            let page = client.jobs(&query).await?;
            if json { write_json(output, &page.data)? } else { writeln!(output, "{}", table(&page.data))? }
        }
        JobsAction::Show { id } => {
            let job = client.job(*id).await?;
            if json {
                write_json(output, &job)?;
            } else {
                let (files, last) = (client.artifacts(*id).await?, last_metrics(client, *id).await?);
                output.write_all(describe(&job, &files, &last).as_bytes())?;
            }
        }
        JobsAction::Watch { id } => return watched(client, *id, json, output).await,
        JobsAction::Cancel { id } => write_state(output, &client.cancel_job(*id).await?, json)?,
        JobsAction::Retry { id } => write_state(output, &client.retry_job(*id).await?, json)?,
        JobsAction::Delete { id } => {
            client.delete_job(*id).await?;
            writeln!(output, "{id} is gone")?;
        }
        JobsAction::Download { id, name, out } => download(client, *id, name.as_deref(), out, output).await?,
    }
    Ok(Ended::Done)
}

async fn watched(client: &Client, id: JobId, json: bool, output: &mut impl Write) -> Result<Ended, Failure> {
    let job = watch(client, id, Shown::choose(json), output).await?;
    write_state(output, &job, json)?;
    let result = job.result.as_ref().filter(|_| !json && job.kind == JobKind::Evaluate);
    if let Some(lines) = result.and_then(evaluation::facts) {
        output.write_all(facts(lines).as_bytes())?;
    }
    Ok(Ended::Watched(job.state))
}

/// The job that a file describes.
fn read_job(file: &Path, kind: Option<JobKind>, priority: Option<i32>) -> Result<CreateJob, Failure> {
    let name = file.display();
    let mut bytes = Vec::new();
    let unreadable =
        |error: std::io::Error| Failure::Other(format!("{name} cannot be read, check its path and owner: {error}"));
    if file == Path::new("-") {
        std::io::stdin().take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        let opened = std::fs::File::open(file).map_err(unreadable)?;
        opened.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Failure::Other(format!("{name} must be at most {FILE_BYTES_MAX} bytes")));
    }
    parse_job(&bytes, kind, priority).map_err(|why| Failure::Other(format!("{name}: {why}")))
}

fn parse_job(bytes: &[u8], kind: Option<JobKind>, priority: Option<i32>) -> Result<CreateJob, String> {
    let mut job: CreateJob = match kind {
        Some(kind) => {
            let spec: Value = parse(bytes)?;
            serde_json::from_value(serde_json::json!({"kind": kind, "spec": spec}))
                .map_err(|error| error.to_string())?
        }
        None => parse(bytes)?,
    };
    job.priority = priority.unwrap_or(job.priority);
    // So that a submission whose answer was lost shows up once, whoever sends it again.
    job.id.get_or_insert_with(JobId::new);
    Ok(job)
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = serde_path_to_error::deserialize(&mut reader).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(read)
}

async fn download(
    client: &Client,
    id: JobId,
    name: Option<&str>,
    out: &Path,
    output: &mut impl Write,
) -> Result<(), Failure> {
    let names: Vec<String> = match name {
        Some(name) => vec![name.to_owned()],
        None => client.artifacts(id).await?.into_iter().map(|artifact| artifact.name).collect(),
    };
    for name in &names {
        let path = place(out, name)?;
        let kept = keep(&path, |mut file| async move {
            let received = client.download_artifact(id, name, &mut file).await;
            (file, received)
        });
        let kept = kept.await?;
        writeln!(output, "{} {} bytes", path.display(), kept.size_bytes)?;
    }
    Ok(())
}

/// The last metrics of a job in one line.
async fn last_metrics(client: &Client, id: JobId) -> Result<String, Failure> {
    let last = client.last_job_metrics(id, 1).await?;
    Ok(last.first().map(|event| metrics(&event.data)).unwrap_or_default())
}

pub(super) fn write_json(output: &mut impl Write, value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::Other(error.to_string()))?;
    Ok(writeln!(output, "{text}")?)
}

fn write_state(output: &mut impl Write, job: &Job, json: bool) -> Result<(), Failure> {
    if json {
        return write_json(output, job);
    }
    let mut line = format!("{} is {}", job.id, state(job));
    if let Some(error) = job.error.as_ref().filter(|_| job.state == JobState::Failed) {
        line.push_str(&format!(" ({}): {}", visible(&error.code), visible(&error.detail)));
    }
    Ok(writeln!(output, "{line}")?)
}

fn counted(progress: &Progress) -> String {
    format!("{} of {} {}", progress.done, progress.total, visible(&progress.unit))
}

fn table(jobs: &[Job]) -> Table {
    let header = ["id", "kind", "state", "progress", "attempts", "worker", "created"];
    let mut table = Table::new(header);
    for job in jobs {
        table.add_row([
            job.id.to_string(),
            job.kind.as_str().to_owned(),
            state(job),
            job.progress.as_ref().map_or_else(|| "-".to_owned(), counted),
            job.attempts.to_string(),
            job.worker.as_deref().map_or_else(|| "-".to_owned(), visible),
            job.created_at.to_string(),
        ]);
    }
    table
}

/// The state of a job, and whether it was asked to stop.
fn state(job: &Job) -> String {
    let asked = if job.cancel_requested && !job.state.is_over() { ", asked to stop" } else { "" };
    format!("{}{asked}", job.state.as_str())
}

/// The attempts of a job, with those that count against its bound.
fn attempts(job: &Job) -> String {
    format!("{} begun, {} of {} without progress", job.attempts, job.attempts_without_progress, job.attempts_max)
}

/// A job for people: a line per fact that there is.
/// A policy of a spec: where it begins.
fn asked(policy: &Value) -> Option<String> {
    policy["from"].as_str().or_else(|| policy.as_str()).map(visible)
}

/// The environments of a spec, each with its split where it names one.
fn environments(spec: &Value) -> Option<String> {
    let one = |environment: &Value| {
        let split = environment["split"].as_str().map(|split| format!(" ({})", visible(split))).unwrap_or_default();
        Some(visible(environment["name"].as_str()?) + &split)
    };
    let names: Vec<String> = spec["environments"].as_array()?.iter().filter_map(one).collect();
    Some(names.join(", ")).filter(|names| !names.is_empty())
}

fn describe(job: &Job, files: &[Artifact], last_metrics: &str) -> String {
    let mut lines = vec![
        ("job", format!("{} ({})", job.id, job.kind.as_str())),
        ("state", state(job)),
        ("attempts", attempts(job)),
        ("created", job.created_at.to_string()),
    ];
    let mut add = |name, value: Option<String>| lines.extend(value.map(|value| (name, value)));
    add("policy", asked(&job.spec["policy"]));
    add("of", environments(&job.spec));
    add("waiting", job.waiting.as_deref().map(visible));
    add("place", job.place.map(|place| format!("{place} jobs are before it")));
    add("worker", job.worker.as_deref().map(visible));
    add("started", job.started_at.map(|at| at.to_string()));
    add("ended", job.ended_at.map(|at| at.to_string()));
    add("progress", job.progress.as_ref().map(counted));
    let running = job.progress.as_ref().filter(|_| !job.state.is_over());
    add("doing", running.and_then(|progress| progress.message.as_deref()).map(visible));
    add("metrics", Some(last_metrics.to_owned()).filter(|text| !text.is_empty()));
    add("error", job.error.as_ref().map(|error| format!("{}: {}", visible(&error.code), visible(&error.detail))));
    match job.result.as_ref().filter(|_| job.kind == JobKind::Evaluate).and_then(evaluation::facts) {
        Some(facts) => facts.into_iter().for_each(|(name, value)| add(name, Some(value))),
        None => add("result", job.result.as_ref().map(|result| visible(&result.to_string()))),
    }
    for file in files {
        add("file", Some(format!("{} {} bytes", visible(&file.name), file.size_bytes)));
    }
    lines.into_iter().map(|(name, value)| format!("{name:<9} {value}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_job_or_the_spec_of_one() {
        let job = parse_job(br#"{"kind":"check","spec":{"environment":"a/b"},"priority":3}"#, None, None).unwrap();
        assert_eq!((job.kind, job.priority), (JobKind::Check, 3));
        assert!(job.id.is_some());
        let job = parse_job(br#"{"environment":"a/b"}"#, Some(JobKind::Check), Some(-5)).unwrap();
        assert_eq!((job.kind, job.priority, &job.spec["environment"]), (JobKind::Check, -5, &Value::from("a/b")));
        assert!(parse_job(br#"{"kind":"check","spec":{},"colour":1}"#, None, None).unwrap_err().contains("colour"));
        assert!(parse_job(br#"{"kind":"cook","spec":{}}"#, None, None).unwrap_err().contains("kind"));
        assert!(parse_job(b"{", None, None).is_err());
        assert!(parse_job(br#"{"environment":"a/b"} {}"#, Some(JobKind::Check), None).is_err());
    }

    #[test]
    fn the_exit_code_tells_how_a_watched_job_ended() {
        let code = |state| format!("{:?}", ExitCode::from(Ended::Watched(state)));
        assert_eq!(code(JobState::Succeeded), format!("{:?}", ExitCode::SUCCESS));
        assert_eq!(code(JobState::Failed), format!("{:?}", ExitCode::FAILURE));
        assert_eq!(code(JobState::Cancelled), format!("{:?}", ExitCode::from(3)));
    }
}
