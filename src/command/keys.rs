//! `palestra keys create|list|revoke`: API keys.

use std::io::Write;

use clap::{Args, Subcommand};
use palestra_protocol::id::KeyId;
use palestra_protocol::key::{CreateKey, Key, Scope};
use palestra_protocol::time::Timestamp;

use super::failure::Failure;
use super::target::{Keep, Target, TargetArguments};
use crate::terminal::Table;

/// Manages keys.
#[derive(Debug, Args)]
pub struct KeysArguments {
    #[command(subcommand)]
    pub action: KeysAction,
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
        /// Its scope: sessions, state:read, verify:probe, environments:write, admin. May be repeated.
        #[arg(long = "scope", default_value = "sessions", value_parser = parse_scope)]
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

fn parse_scope(text: &str) -> Result<Scope, String> {
    let names: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    Scope::ALL
        .into_iter()
        .find(|scope| scope.as_str() == text)
        .ok_or_else(|| format!("unknown scope: choose one of {}", names.join(", ")))
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
    let text = act(&target, &arguments.action).await;
    target.close().await;
    // In one piece, so that a reader who wants the first line alone leaves none unwritten.
    Ok(output.write_all(format!("{}\n", text?).as_bytes())?)
}

async fn act(target: &Target, action: &KeysAction) -> Result<String, Failure> {
    match action {
        KeysAction::Create { name, scopes, expires_at } => {
            let request = CreateKey { name: name.clone(), scopes: scopes.clone(), expires_at: *expires_at };
            let made = target.client.create_key(&request).await?;
            Ok(format!("{}\n{}", made.key.id, made.secret))
        }
        KeysAction::List => Ok(table(&target.client.keys().await?).to_string()),
        KeysAction::Revoke { id } => {
            target.client.revoke_key(*id).await?;
            Ok(format!("{id} is revoked"))
        }
    }
}

fn table(keys: &[Key]) -> Table {
    let time = |at: &Option<Timestamp>| at.map_or_else(|| "-".to_owned(), |at| at.to_string());
    let mut table = Table::new(["id", "name", "scopes", "created", "expires", "revoked"]);
    for key in keys {
        let scopes: Vec<&str> = key.scopes.iter().map(|scope| scope.as_str()).collect();
        table.add_row([
            key.id.to_string(),
            key.name.clone(),
            scopes.join(" "),
            key.created_at.to_string(),
            time(&key.expires_at),
            time(&key.revoked_at),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_and_times_are_read_or_explained() {
        assert_eq!(parse_scope("state:read"), Ok(Scope::StateRead));
        assert!(parse_scope("root").unwrap_err().contains("environments:write"));
        assert_eq!(parse_time("1970-01-01T00:00:01Z"), Ok(Timestamp::from_milliseconds(1_000)));
        assert!(parse_time("tomorrow").is_err());
    }
}
