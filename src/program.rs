//! The program: arguments, the provider of cryptography, then one line per command.
//!
//! It belongs to the library because an `async fn` is compiled where it is polled: in a binary of its own, everything that commands
//! await would be compiled twice, the second time after everything else.

use std::env;
use std::io::Write as _;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::command::failure::Failure;
use crate::command::{
    apps, check, demo, doctor, environments, episodes, files, images, jobs, keys, openapi, policies, publish, replay,
    run, runs, scripted_model, serve, sessions, shell, withdraw, work,
};
use crate::table::facts;
use crate::terminal::{errors, output};
use palestra_families::databases::WORKER_COMMAND;

/// The commands in the order of the help, by what they are for.
const GROUPS: &[(&str, &[&str])] = &[
    ("Serve", &["demo", "serve", "worker", "keys", "images", "doctor"]),
    ("Play and measure", &["environments", "run", "runs", "sessions", "episodes", "replay"]),
    ("Make environments", &["publish", "withdraw", "check", "apps"]),
    ("Train and evaluate", &["jobs", "files", "policies", "scripted-model"]),
    ("About this program", &["openapi", "completions", "man", "help"]),
];

/// Environments as a service, for training and evaluating language-model agents.
#[derive(Parser)]
#[command(name = "palestra", version, about, arg_required_else_help = true)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Shows in one minute what sessions, forks and verdicts are.
    Demo(demo::DemoArguments),
    /// Runs the server.
    Serve(Box<serve::ServeArguments>),
    /// Plays episodes with a built-in policy and prints the score with its interval.
    Run(run::RunArguments),
    /// Publishes a data set or an app.
    Publish(publish::PublishArguments),
    /// Withdraws a version of a published environment: it is not listed any more.
    Withdraw(withdraw::WithdrawArguments),
    /// Proves that apps are sound: their data, their tasks and their goals.
    Check(Box<check::CheckArguments>),
    /// Helps to write apps.
    Apps(apps::AppsArguments),
    /// Builds and lists the images of sandboxes.
    Images(images::ImagesArguments),
    /// Lists environments, or shows one.
    Environments(environments::EnvironmentsArguments),
    /// Lists runs with the mean of their scores, and ends them.
    Runs(runs::RunsArguments),
    /// Lists sessions, shows and closes them.
    Sessions(sessions::SessionsArguments),
    /// Lists recorded episodes, and shows one with its verdict.
    Episodes(episodes::EpisodesArguments),
    /// Writes a recorded episode step by step.
    Replay(replay::ReplayArguments),
    /// Queues jobs, watches them, and fetches what they left.
    Jobs(jobs::JobsArguments),
    /// Uploads what jobs learn from, and fetches what they left.
    Files(files::FilesArguments),
    /// Lists stored models, and downloads them.
    Policies(policies::PoliciesArguments),
    /// Serves a model that answers by a script, for tests and demos.
    ScriptedModel(scripted_model::ScriptedModelArguments),
    /// Does light jobs of a server: those that need no trainer.
    Worker(Box<work::WorkArguments>),
    /// Makes, lists and revokes API keys.
    Keys(keys::KeysArguments),
    /// Says what works on this machine and what to install.
    Doctor(Box<doctor::DoctorArguments>),
    /// Prints the OpenAPI document.
    Openapi(openapi::OpenapiArguments),
    /// Writes the completions of a shell.
    Completions(shell::CompletionsArguments),
    /// Writes pages for `man` into a folder.
    Man(shell::ManArguments),
}

/// The program with its commands in groups.
fn program() -> clap::Command {
    let mut program = Program::command();
    program.build();
    let groups: String =
        GROUPS.iter().map(|(name, commands)| format!("{name}:\n{}\n", group(&program, commands))).collect();
    program.help_template(format!("{{about}}\n\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}"))
}

fn group(program: &clap::Command, names: &[&str]) -> String {
    let commands = names.iter().filter_map(|name| program.find_subcommand(name));
    let about = |command: &clap::Command| command.get_about().map(ToString::to_string).unwrap_or_default();
    let lines = facts(commands.map(|command| (command.get_name(), about(command))));
    lines.lines().map(|line| format!("  {line}\n")).collect()
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
    let matches = program().get_matches();
    let parsed = Program::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match perform(parsed.command).await {
        Ok(code) => code,
        // Whoever read has seen enough.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to tell when standard error is closed.
            let _ = writeln!(errors(), "palestra: {error}");
            ExitCode::FAILURE
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    // Not that of a connection, which stands deeper.
    let own = match error.downcast_ref::<Failure>() {
        Some(Failure::Io(error)) => Some(error),
        _ => error.downcast_ref::<std::io::Error>(),
    };
    own.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

async fn perform(command: Command) -> anyhow::Result<ExitCode> {
    let (output, errors) = (&mut output(), &mut errors());
    match command {
        Command::Serve(arguments) => Box::pin(serve::run(&arguments)).await?,
        Command::Run(arguments) => Box::pin(run::run(&arguments, output)).await?,
        Command::Publish(arguments) => Box::pin(publish::publish(&arguments, output, errors)).await?,
        Command::Withdraw(arguments) => Box::pin(withdraw::withdraw(&arguments, output)).await?,
        Command::Check(arguments) => check::check(&arguments, output, errors).await?,
        Command::Apps(arguments) => apps::apps(&arguments, output)?,
        Command::Images(arguments) => Box::pin(images::images(&arguments, output, errors)).await?,
        Command::Environments(arguments) => Box::pin(environments::environments(&arguments, output)).await?,
        // How a watched job ended is told by the code.
        Command::Jobs(arguments) => return Ok(Box::pin(jobs::jobs(&arguments, output)).await?.into()),
        Command::Files(arguments) => Box::pin(files::files(&arguments, output)).await?,
        Command::Policies(arguments) => Box::pin(policies::policies(&arguments, output)).await?,
        Command::ScriptedModel(arguments) => scripted_model::run(&arguments).await?,
        Command::Worker(arguments) => Box::pin(work::work(&arguments)).await?,
        Command::Keys(arguments) => Box::pin(keys::keys(&arguments, output)).await?,
        Command::Doctor(arguments) => Box::pin(doctor::run(&arguments, output)).await?,
        Command::Demo(arguments) => Box::pin(demo::demo(&arguments, output)).await?,
        Command::Runs(arguments) => Box::pin(runs::runs(&arguments, output)).await?,
        Command::Sessions(arguments) => Box::pin(sessions::sessions(&arguments, output)).await?,
        Command::Episodes(arguments) => Box::pin(episodes::episodes(&arguments, output)).await?,
        Command::Replay(arguments) => Box::pin(replay::replay(&arguments, output)).await?,
        Command::Openapi(arguments) => openapi::run(&arguments)?,
        Command::Completions(arguments) => shell::completions(&arguments, program(), output)?,
        Command::Man(arguments) => shell::man(&arguments, program(), output)?,
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_lists_each_command_once() {
        let mut program = program();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, commands)| commands.iter().copied()).collect();
        grouped.sort_unstable();
        let mut commands: Vec<String> =
            program.get_subcommands().map(|command| command.get_name().to_owned()).collect();
        commands.sort_unstable();
        assert_eq!(grouped, commands);
        let help = program.render_help().to_string();
        assert!(help.contains("\nPlay and measure:\n  environments  Lists environments"), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }

    #[test]
    fn commands_and_words_that_are_nearly_right_are_answered_with_the_right_ones() {
        for (given, meant) in [
            (&["palestra", "enviroments"][..], "environments"),
            (&["palestra", "jobs", "list", "--state", "runing"], "running"),
            (&["palestra", "episodes", "list", "--status", "score"], "scored"),
            (&["palestra", "keys", "create", "a", "--scope", "sesions"], "sessions"),
        ] {
            let error = program().try_get_matches_from(given).expect_err("a typo").to_string();
            assert!(error.contains("similar") && error.contains(&format!("'{meant}'")), "{error}");
        }
        let help =
            program().try_get_matches_from(["palestra", "jobs", "list", "--help"]).expect_err("help").to_string();
        assert!(help.contains("possible values: queued, running"), "{help}");
    }
}
