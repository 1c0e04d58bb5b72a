//! The program: arguments, providers of cryptography, then one line per command.

use std::io::{stderr, stdout};

use clap::{Parser, Subcommand};
use palestra::command::{doctor, environments, keys, openapi, publish, run, serve};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Environments as a service, for training and evaluating language-model agents.
#[derive(Parser)]
#[command(name = "palestra", version, about, arg_required_else_help = true)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(Box<serve::ServeArguments>),
    /// Plays episodes with a policy and says how well it did.
    Run(run::RunArguments),
    /// Makes a data set playable.
    Publish(publish::PublishArguments),
    /// Shows what can be played.
    Environments(environments::EnvironmentsArguments),
    Keys(keys::KeysArguments),
    /// Says what works on this machine, and what to install.
    Doctor(Box<doctor::DoctorArguments>),
    Openapi(openapi::OpenapiArguments),
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // Only the first installation counts, and this is the first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let _ = jsonwebtoken::crypto::rust_crypto::DEFAULT_PROVIDER.install_default();
    match Program::parse().command {
        Command::Serve(arguments) => Box::pin(serve::run(&arguments)).await?,
        Command::Run(arguments) => Box::pin(run::run(&arguments, &mut stdout())).await?,
        Command::Publish(arguments) => Box::pin(publish::publish(&arguments, &mut stdout(), &mut stderr())).await?,
        Command::Environments(arguments) => Box::pin(environments::environments(&arguments, &mut stdout())).await?,
        Command::Keys(arguments) => Box::pin(keys::keys(&arguments, &mut stdout())).await?,
        Command::Doctor(arguments) => Box::pin(doctor::doctor(&arguments, &mut stdout())).await?,
        Command::Openapi(arguments) => openapi::run(&arguments)?,
    }
    Ok(())
}
