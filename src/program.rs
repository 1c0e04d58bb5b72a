//! The program: arguments, the provider of cryptography, then one line per command.
//!
//! It belongs to the library because an `async fn` is compiled where it is polled: in a binary of its own, everything that commands
//! await would be compiled twice, the second time after everything else.

use std::env;
use std::io::Write as _;
use std::process::ExitCode;

use crate::command::{
    apps, check, doctor, environments, files, images, jobs, keys, openapi, policies, publish, run, serve, work,
};
use crate::terminal::{errors, output};
use clap::{Parser, Subcommand};
use palestra_families::databases::WORKER_COMMAND;

/// Environments as a service, for training and evaluating language-model agents.
#[derive(Parser)]
#[command(name = "palestra", version, about, arg_required_else_help = true)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs the server.
    Serve(Box<serve::ServeArguments>),
    /// Plays episodes with a built-in policy and prints the score with its interval.
    Run(run::RunArguments),
    /// Publishes a data set or an app.
    Publish(publish::PublishArguments),
    /// Proves that apps are sound: their data, their tasks and their goals.
    Check(Box<check::CheckArguments>),
    /// Helps to write apps.
    Apps(apps::AppsArguments),
    /// Builds and lists the images of sandboxes.
    Images(images::ImagesArguments),
    /// Lists environments, or shows one.
    Environments(environments::EnvironmentsArguments),
    /// Queues jobs, watches them, and fetches what they left.
    Jobs(jobs::JobsArguments),
    /// Uploads what jobs learn from, and fetches what they left.
    Files(files::FilesArguments),
    /// Lists stored models, and downloads them.
    Policies(policies::PoliciesArguments),
    /// Does light jobs of a server: those that need no trainer.
    Worker(Box<work::WorkArguments>),
    /// Makes, lists and revokes API keys.
    Keys(keys::KeysArguments),
    /// Says what works on this machine and what to install.
    Doctor(Box<doctor::DoctorArguments>),
    /// Prints the OpenAPI document.
    Openapi(openapi::OpenapiArguments),
}

/// Runs the command that the arguments of the process name.
pub fn run() -> ExitCode {
    // Before anything else: a worker has no threads and opens nothing until it is confined.
    if env::args_os().nth(1).is_some_and(|first| first == WORKER_COMMAND) {
        return palestra_sqlite_worker::serve::run();
    }
    command()
}

#[tokio::main]
async fn command() -> ExitCode {
    // Only the first installation counts, and this is the first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match perform(Program::parse().command).await {
        Ok(code) => code,
        Err(error) => {
            // Nothing is left to tell when standard error is closed.
            let _ = writeln!(errors(), "palestra: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn perform(command: Command) -> anyhow::Result<ExitCode> {
    let (output, errors) = (&mut output(), &mut errors());
    match command {
        Command::Serve(arguments) => Box::pin(serve::run(&arguments)).await?,
        Command::Run(arguments) => Box::pin(run::run(&arguments, output)).await?,
        Command::Publish(arguments) => Box::pin(publish::publish(&arguments, output, errors)).await?,
        Command::Check(arguments) => check::check(&arguments, output, errors).await?,
        Command::Apps(arguments) => apps::apps(&arguments, output)?,
        Command::Images(arguments) => Box::pin(images::images(&arguments, output, errors)).await?,
        Command::Environments(arguments) => Box::pin(environments::environments(&arguments, output)).await?,
        // How a watched job ended is told by the code.
        Command::Jobs(arguments) => return Ok(Box::pin(jobs::jobs(&arguments, output)).await?.into()),
        Command::Files(arguments) => Box::pin(files::files(&arguments, output)).await?,
        Command::Policies(arguments) => Box::pin(policies::policies(&arguments, output)).await?,
        Command::Worker(arguments) => Box::pin(work::work(&arguments)).await?,
        Command::Keys(arguments) => Box::pin(keys::keys(&arguments, output)).await?,
        Command::Doctor(arguments) => Box::pin(doctor::run(&arguments, output)).await?,
        Command::Openapi(arguments) => openapi::run(&arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}
