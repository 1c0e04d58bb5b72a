//! `palestra scripted-model`: serves a model that answers by a script, until it is told to stop.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use palestra_scripted_model::{Options, Script, listen, serve};

use super::serve::reachable;
use super::signal::asked_to_stop;
use crate::terminal::print_line;

/// Arguments of `palestra scripted-model`.
#[derive(Debug, Args)]
pub struct ScriptedModelArguments {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:7080", value_name = "ADDRESS")]
    listen: String,
    /// Rules by which it answers (YAML).
    #[arg(long, value_name = "FILE")]
    script: PathBuf,
    /// Key that callers must have [default: none].
    #[arg(long, env = "PALESTRA_SCRIPTED_KEY", hide_env_values = true, value_parser = NonEmptyStringValueParser::new())]
    key: Option<String>,
    /// Keeps no calls for GET /log.
    #[arg(long)]
    no_log: bool,
}

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// When the script cannot be used, or the address cannot be listened on.
pub async fn run(arguments: &ScriptedModelArguments) -> anyhow::Result<()> {
    let script = Script::load(&arguments.script)?;
    // A connection takes a descriptor, and the usual limit is meant for programs that ask for more; where it stays, it is large enough
    // for a demo.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    let address = &arguments.listen;
    let listener = listen(address).await.map_err(|error| {
        anyhow!("the address {address} cannot be listened on: {error}; choose another with --listen")
    })?;
    print_line(&format!("ready http://{}", reachable(listener.local_addr()?)))?;
    let options = Options { key: arguments.key.clone(), log: !arguments.no_log };
    let stop = async {
        // Where signals cannot be heard, nobody could stop it in order.
        let _ = asked_to_stop().await;
    };
    serve(listener, script, options, stop).await?;
    Ok(())
}
