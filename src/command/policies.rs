//! `palestra policies list|show|register|download|delete`: stored models.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use palestra_client::PolicyQuery;
use palestra_protocol::id::{JobId, PolicyId};
use palestra_protocol::job::{Policy, RegisterCheckpoint};

use super::choice::whole;
use super::download::{keep, place};
use super::failure::Failure;
use super::jobs::write_json;
use super::target::{Keep, Target, TargetArguments};
use crate::table::Table;
use crate::terminal::visible;

/// Most rows of a list.
const ROWS_MAX: u32 = 1_000;

/// Does things with policies.
#[derive(Debug, Args)]
pub struct PoliciesArguments {
    #[command(subcommand)]
    pub action: PoliciesAction,
    /// Writes JSON instead of text.
    #[arg(long, global = true)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Actions on policies.
#[derive(Debug, Subcommand)]
pub enum PoliciesAction {
    /// Lists policies, newest first.
    List {
        /// Most rows.
        #[arg(long, default_value_t = 50, value_parser = whole(1..=ROWS_MAX))]
        limit: u32,
    },
    /// Shows a policy: what it was made from, and its files.
    Show {
        /// The policy, as pol_...
        id: PolicyId,
    },
    /// Registers the policy of a checkpoint of a training, which may run or be over.
    Register {
        /// The training, as job_...
        job: JobId,
        /// After how many updates [default: the newest checkpoint].
        #[arg(long)]
        step: Option<u64>,
    },
    /// Deletes a policy that no queued or running job uses.
    Delete {
        /// The policy, as pol_...
        id: PolicyId,
    },
    /// Downloads the files of a policy.
    Download {
        /// The policy, as pol_...
        id: PolicyId,
        /// The file [default: all of them].
        file: Option<String>,
        /// The folder that they go into.
        #[arg(long, default_value = ".", value_name = "FOLDER")]
        out: PathBuf,
    },
}

/// Does one thing with policies.
///
/// # Errors
/// When the server refuses or cannot be reached, or a file cannot be written.
pub async fn policies(arguments: &PoliciesArguments, output: &mut impl Write) -> Result<(), Failure> {
    let target = arguments.target.open(Keep::DefaultFolder).await?;
    let acted = Box::pin(act(&target, arguments, output)).await;
    target.close().await;
    acted
}

async fn act(target: &Target, arguments: &PoliciesArguments, output: &mut impl Write) -> Result<(), Failure> {
    let client = &target.client;
    match &arguments.action {
        PoliciesAction::List { limit } => {
            let page = client.policies(&PolicyQuery { limit: Some(*limit), ..PolicyQuery::default() }).await?;
            if arguments.json { write_json(output, &page.data)? } else { writeln!(output, "{}", table(&page.data))? }
        }
        PoliciesAction::Show { id } => show(&client.policy(*id).await?, arguments.json, output)?,
        PoliciesAction::Register { job, step } => {
            let policy = client.register_checkpoint(&RegisterCheckpoint { job: *job, step: *step }).await?;
            show(&policy, arguments.json, output)?;
        }
        PoliciesAction::Delete { id } => {
            client.delete_policy(*id).await?;
            writeln!(output, "{id} is gone")?;
        }
        PoliciesAction::Download { id, file, out } => {
            let names: Vec<String> = match file {
                Some(name) => vec![name.clone()],
                None => client.policy(*id).await?.files.into_iter().map(|file| file.name).collect(),
            };
            for name in &names {
                let path = place(out, name)?;
                let kept = keep(&path, |mut file| async move {
                    let received = client.download_policy_file(*id, name, &mut file).await;
                    (file, received)
                });
                let kept = kept.await?;
                writeln!(output, "{} {} bytes", path.display(), kept.size_bytes)?;
            }
        }
    }
    Ok(())
}

fn show(policy: &Policy, json: bool, output: &mut impl Write) -> Result<(), Failure> {
    if json { write_json(output, policy) } else { Ok(output.write_all(describe(policy).as_bytes())?) }
}

fn table(policies: &[Policy]) -> Table {
    let mut table = Table::new(["id", "architecture", "parent", "job", "created"]);
    for policy in policies {
        table.add_row([
            policy.id.to_string(),
            visible(&policy.architecture),
            policy.parent.map_or_else(|| "-".to_owned(), |parent| parent.to_string()),
            policy.job.to_string(),
            policy.created_at.to_string(),
        ]);
    }
    table
}

/// A policy for people: a line per fact.
fn describe(policy: &Policy) -> String {
    let mut lines = vec![
        ("policy", policy.id.to_string()),
        ("model", visible(&policy.architecture)),
        ("job", policy.job.to_string()),
        ("step", policy.step.map_or_else(|| "last".to_owned(), |step| step.to_string())),
        ("parent", policy.parent.map_or_else(|| "none".to_owned(), |parent| parent.to_string())),
        ("created", policy.created_at.to_string()),
    ];
    lines.extend(policy.environments.iter().map(|environment| ("trained", visible(environment))));
    lines.extend(policy.metrics.iter().map(|(name, value)| ("metric", visible(&format!("{name} {value}")))));
    lines
        .extend(policy.files.iter().map(|file| ("file", format!("{} {} bytes", visible(&file.name), file.size_bytes))));
    lines.into_iter().map(|(name, value)| format!("{name:<8} {value}\n")).collect()
}
