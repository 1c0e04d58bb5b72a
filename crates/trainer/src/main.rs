//! `palestra-trainer`: arguments, log, then one line per command.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use palestra_trainer::device::{self, Choice};
use palestra_trainer::failure::TrainerError;
use palestra_trainer::{generate, worker};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

/// Trains and serves policies for a Palestra server.
#[derive(Debug, Parser)]
#[command(name = "palestra-trainer", version)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Leases jobs and does them until it is told to stop.
    Work(worker::Arguments),
    /// Does one job, whose lease comes over the standard input; started by `work`.
    #[command(hide = true)]
    Attempt(worker::AttemptArguments),
    /// Answers a prompt with a model from a folder or a GGUF file.
    Generate(generate::Arguments),
    /// Says what this build computes on.
    Devices,
}

fn main() -> ExitCode {
    start_log();
    match run(Program::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The same variables as the server's: `PALESTRA_LOG` is a filter, `PALESTRA_LOG_FORMAT` is `text` or `json`. An attempt whose worker is
/// gone has nobody to tell that it cannot log, and must end in order all the same.
fn start_log() {
    let filter = EnvFilter::try_from_env("PALESTRA_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let coloured = std::io::stderr().is_terminal();
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(coloured)
        .with_writer(std::io::stderr)
        .log_internal_errors(false);
    if std::env::var("PALESTRA_LOG_FORMAT").is_ok_and(|format| format == "json") {
        log.json().init();
    } else {
        log.init();
    }
}

fn run(program: Program) -> Result<(), TrainerError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(TrainerError::io("the runtime"))?;
    match program.command {
        Command::Work(arguments) => {
            let own = std::env::current_exe().map_err(TrainerError::io("the path of this program"))?;
            let stop = CancellationToken::new();
            stop_when_asked(&runtime, arguments.until_stdin_closes, &stop);
            runtime.block_on(worker::work(&arguments, &own, stop))
        }
        Command::Attempt(arguments) => worker::attempt(&arguments, runtime.handle()),
        Command::Generate(arguments) => {
            let answer = generate::generate(&arguments)?;
            writeln!(std::io::stdout(), "{answer}").map_err(TrainerError::io("the output"))
        }
        Command::Devices => devices(),
    }
}

/// Cancels `stop` on SIGTERM, on an interrupt, and where asked for at the end of the standard input.
fn stop_when_asked(runtime: &tokio::runtime::Runtime, until_stdin_closes: bool, stop: &CancellationToken) {
    let asked = stop.clone();
    runtime.spawn(async move {
        let terminated = async {
            match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
                Ok(mut signal) => {
                    signal.recv().await;
                }
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            () = terminated => {}
        }
        asked.cancel();
    });
    if until_stdin_closes {
        let closed = stop.clone();
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
            closed.cancel();
        });
    }
}

fn devices() -> Result<(), TrainerError> {
    let mut out = std::io::stdout();
    for choice in [Choice::Cpu, Choice::Gpu] {
        let line = match device::open(choice, false) {
            Ok(opened) => format!("{}: {}", choice.as_str(), opened.name),
            Err(error) => format!("{}: {error}", choice.as_str()),
        };
        writeln!(out, "{line}").map_err(TrainerError::io("the output"))?;
    }
    Ok(())
}
