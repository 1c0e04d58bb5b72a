//! `palestra keys create|list|revoke`: API keys.

use std::io::Write;

use clap::{Args, Subcommand};
use palestra_protocol::id::KeyId;
use palestra_protocol::key::{CreateKey, Key, Scope};
use palestra_protocol::time::Timestamp;
use serde::Serialize;

use super::choice::choice;
use super::failure::Failure;
use super::target::{Keep, Target, TargetArguments};
use crate::table::Table;

/// Manages keys.
#[derive(Debug, Args)]
pub struct KeysArguments {
    #[command(subcommand)]
    pub action: KeysAction,
    /// Writes JSON instead of text.
    #[arg(long, global = true)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Actions on keys.
#[derive(Debug, Subcommand)]
pub enum KeysAction {
    /// Makes a key and writes its secret, this once.
    Create {
        /// A name for people.
        name: String,
        /// Its scope; may be repeated.
        #[arg(long = "scope", default_value = "sessions", value_parser = choice(Scope::ALL.map(|scope| (scope.as_str(), scope))))]
        scopes: Vec<Scope>,
        /// When it stops working, as 2027-01-31T00:00:00Z; never where left out.
        #[arg(long, value_parser = parse_time)]
        expires_at: Option<Timestamp>,
    },
    /// Lists keys, without their secrets.
    List,
    /// Revokes a key.
    Revoke {
        /// The key's id, as key_...
        id: KeyId,
    },
}

fn parse_time(text: &str) -> Result<Timestamp, String> {
    serde_json::from_value(serde_json::Value::from(text)).map_err(|error| error.to_string())
}

/// Does one thing with keys.
///
/// # Errors
/// When the server refuses or cannot be reached.
pub async fn keys(arguments: &KeysArguments, output: &mut impl Write) -> Result<(), Failure> {
    let target = arguments.target.open(Keep::DefaultFolder).await?;
    let text = act(&target, arguments).await;
    target.close().await;
    // In one piece, so that a reader who wants the first line alone leaves none unwritten.
    Ok(output.write_all(format!("{}\n", text?).as_bytes())?)
}

async fn act(target: &Target, arguments: &KeysArguments) -> Result<String, Failure> {
    match &arguments.action {
        KeysAction::Create { name, scopes, expires_at } => {
            let request = CreateKey { name: name.clone(), scopes: scopes.clone(), expires_at: *expires_at };
            let made = target.client.create_key(&request).await?;
            if arguments.json { json(&made) } else { Ok(format!("{}\n{}", made.key.id, made.secret)) }
        }
        KeysAction::List => {
            let keys = target.client.keys().await?;
            if arguments.json { json(&keys) } else { Ok(table(&keys).to_string()) }
        }
        KeysAction::Revoke { id } => {
            target.client.revoke_key(*id).await?;
            Ok(format!("{id} is revoked"))
        }
    }
}

fn json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::Other(error.to_string()))
}

fn table(keys: &[Key]) -> Table {
    let time = |at: &Option<Timestamp>| at.map_or_else(|| "-".to_owned(), |at| at.to_string());
    let mut table = Table::new(["id", "name", "scopes", "revoked", "expires", "created"]);
    for key in keys {
        let scopes: Vec<&str> = key.scopes.iter().map(|scope| scope.as_str()).collect();
        table.add_row([
            key.id.to_string(),
            key.name.clone(),
            scopes.join(" "),
            time(&key.revoked_at),
            time(&key.expires_at),
            key.created_at.to_string(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_or_explained() {
        assert_eq!(parse_time("1970-01-01T00:00:01Z"), Ok(Timestamp::from_milliseconds(1_000)));
        assert!(parse_time("tomorrow").is_err());
    }
}
