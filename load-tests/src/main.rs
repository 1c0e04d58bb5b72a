//! Load tests, beside a bare server and beside other servers: `docs/PERFORMANCE.md` says how it is measured.

mod apps;
mod body;
mod callers;
mod compare;
mod drive;
mod figures;
mod generation;
mod hosts;
mod http;
mod instructions;
mod load;
mod measure;
mod once;
mod peers;
mod postgres;
mod process;
mod reference;
mod report;
mod sandboxes;
mod socket;
mod sql;
mod subject;
mod targets;
mod terminal;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use palestra_families::databases::WORKER_COMMAND;

// The server's own allocator, so that instructions are counted with it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Load tests of Palestra.
#[derive(Parser)]
#[command(name = "palestra-load-tests", version, about, arg_required_else_help = true)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measures everything beside its references and prints the tables.
    Measure(measure::Arguments),
    /// Counts the instructions of steps, creations and forks with valgrind, and fails when they rose.
    Instructions(instructions::Arguments),
    /// Measures what it costs to make and to score puzzles, beside reasoning-gym.
    Generation(generation::Arguments),
    /// Measures apps inside one process: tasks, calls, forks, hashes, verdicts, and the memory of live episodes.
    Apps(apps::Arguments),
    /// Measures sandboxes: starts, commands, forks and many at once, beside the Docker engine's own commands.
    Sandboxes(sandboxes::Arguments),
    /// Measures databases to act in: sessions, steps, rewinds and forks on both engines, and many at once.
    Sql(sql::Arguments),
    /// Does operations in a server inside this process: what `instructions` runs.
    #[command(hide = true)]
    Drive(drive::Arguments),
    /// Serves the bare reference: what `measure` compares with.
    #[command(hide = true)]
    Reference,
}

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == WORKER_COMMAND) {
        return palestra_sqlite_worker::serve::run();
    }
    let done = match Program::parse().command {
        Command::Measure(arguments) => measure::run(&arguments),
        Command::Instructions(arguments) => instructions::run(&arguments),
        Command::Generation(arguments) => generation::run(&arguments),
        Command::Apps(arguments) => apps::run(&arguments),
        Command::Sandboxes(arguments) => sandboxes::run(&arguments),
        Command::Sql(arguments) => sql::run(&arguments),
        Command::Drive(arguments) => drive::run(&arguments),
        Command::Reference => reference::run(),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            terminal::tell(&format!("palestra-load-tests: {error:#}"));
            ExitCode::from(2)
        }
    }
}
