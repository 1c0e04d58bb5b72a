//! `palestra withdraw NAME`: takes a version of a published environment from the list.

use std::io::Write;

use clap::Args;

use super::failure::Failure;
use super::target::{Keep, TargetArguments};

/// Arguments of `palestra withdraw`.
#[derive(Debug, Args)]
pub struct WithdrawArguments {
    /// The environment, as family/name or family/name@version; the newest version where none is named.
    pub name: String,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Withdraws a version.
///
/// # Errors
/// When the server refuses or cannot be reached.
pub async fn withdraw(arguments: &WithdrawArguments, output: &mut impl Write) -> Result<(), Failure> {
    let target = arguments.target.open(Keep::DefaultFolder).await?;
    // Named in the answer, and the same one if the request is sent again.
    let withdrawn = match target.client.environment(&arguments.name).await {
        Ok(environment) => {
            let version = format!("{}@{}", environment.name, environment.version);
            target.client.withdraw(&version).await.map(|()| version)
        }
        Err(error) => Err(error),
    };
    target.close().await;
    writeln!(output, "{} is withdrawn: what names this version goes on", withdrawn?)?;
    Ok(())
}
