//! `palestra files upload|list|show|delete|download`: what jobs learn from, and what they left.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use palestra_client::FileQuery;
use palestra_protocol::file::{File, FilePurpose};
use palestra_protocol::id::FileId;
use palestra_protocol::time::Timestamp;

use super::choice::choice;
use super::choice::whole;
use super::download::{keep, place};
use super::failure::Failure;
use super::jobs::write_json;
use super::target::{Keep, Target, TargetArguments};
use crate::table::Table;
use crate::terminal::visible;

/// Most rows of a list.
const ROWS_MAX: u32 = 10_000;

/// Does things with files.
#[derive(Debug, Args)]
pub struct FilesArguments {
    #[command(subcommand)]
    pub action: FilesAction,
    /// Writes JSON instead of text.
    #[arg(long, global = true)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Actions on files.
#[derive(Debug, Subcommand)]
pub enum FilesAction {
    /// Uploads a file and writes its id.
    Upload {
        /// The file; for jobs JSON Lines.
        path: PathBuf,
        /// Its purpose; user_data is for a file that is only kept.
        #[arg(long, default_value = "fine-tune", value_parser = choice(FilePurpose::UPLOADED.map(|purpose| (purpose.as_str(), purpose))))]
        purpose: FilePurpose,
    },
    /// Lists files, newest first.
    List {
        /// Files for this alone.
        #[arg(long, value_parser = choice(FilePurpose::ALL.map(|purpose| (purpose.as_str(), purpose))))]
        purpose: Option<FilePurpose>,
        /// Most rows.
        #[arg(long, default_value_t = 50, value_parser = whole(1..=ROWS_MAX))]
        limit: u32,
    },
    /// Shows a file.
    Show {
        /// The file, as file-...
        id: FileId,
    },
    /// Deletes a file that was uploaded.
    Delete {
        /// The file, as file-...
        id: FileId,
    },
    /// Downloads a file, under the name that it has on the server, or under its id where that is no plain name.
    Download {
        /// The file, as file-...
        id: FileId,
        /// The folder that it goes into.
        #[arg(long, default_value = ".", value_name = "FOLDER")]
        out: PathBuf,
    },
}

/// Does one thing with files.
///
/// # Errors
/// When the server refuses or cannot be reached, or a file cannot be read or written.
pub async fn files(arguments: &FilesArguments, output: &mut impl Write) -> Result<(), Failure> {
    let target = arguments.target.open(Keep::DefaultFolder).await?;
    let acted = Box::pin(act(&target, arguments, output)).await;
    target.close().await;
    acted
}

async fn act(target: &Target, arguments: &FilesArguments, output: &mut impl Write) -> Result<(), Failure> {
    let (client, json) = (&target.client, arguments.json);
    match &arguments.action {
        FilesAction::Upload { path, purpose } => {
            let file = client.upload_file(path, *purpose).await?;
            if json { write_json(output, &file)? } else { writeln!(output, "{}", file.id)? }
        }
        FilesAction::List { purpose, limit } => {
            let query = FileQuery { purpose: *purpose, limit: Some(*limit), after: None };
            let page = client.files(&query).await?;
            if json { write_json(output, &page.data)? } else { writeln!(output, "{}", table(&page.data))? }
        }
        FilesAction::Show { id } => {
            let file = client.file(*id).await?;
            if json { write_json(output, &file)? } else { output.write_all(describe(&file).as_bytes())? }
        }
        FilesAction::Delete { id } => {
            let gone = client.delete_file(*id).await?;
            if json { write_json(output, &gone)? } else { writeln!(output, "{id} is gone")? }
        }
        FilesAction::Download { id, out } => {
            let name = client.file(*id).await?.filename;
            let path = place(out, &name).or_else(|_| place(out, &id.to_string()))?;
            let kept = keep(&path, |mut file| async move {
                let received = client.download_file(*id, &mut file).await;
                (file, received)
            });
            let kept = kept.await?;
            writeln!(output, "{} {} bytes", path.display(), kept.size_bytes)?;
        }
    }
    Ok(())
}

fn created(file: &File) -> String {
    Timestamp::from_milliseconds(file.created_at.saturating_mul(1_000)).to_string()
}

fn table(files: &[File]) -> Table {
    let mut table = Table::new(["id", "name", "purpose", "bytes", "created"]);
    for file in files {
        table.add_row([
            file.id.to_string(),
            visible(&file.filename),
            file.purpose.as_str().to_owned(),
            file.bytes.to_string(),
            created(file),
        ]);
    }
    table
}

/// A file for people: a line per fact.
fn describe(file: &File) -> String {
    let lines = [
        ("file", file.id.to_string()),
        ("name", visible(&file.filename)),
        ("purpose", file.purpose.as_str().to_owned()),
        ("bytes", file.bytes.to_string()),
        ("digest", visible(&file.digest)),
        ("created", created(file)),
    ];
    lines.into_iter().map(|(name, value)| format!("{name:<8} {value}\n")).collect()
}
