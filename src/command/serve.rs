//! `palestra serve`: runs the server until it is told to stop.

use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use palestra_protocol::action::Action;
use palestra_protocol::id::SessionId;
use palestra_protocol::key::{CreateKey, Scope};
use serde_json::json;
use tokio::net::TcpListener;

use super::choice::whole;
use super::local_workers::{self, LocalWorkers, WorkerProgram, sibling_program};
use super::signal::asked_to_stop;
use crate::app::App;
use crate::config::{Config, ConfigArguments, LogFormat};
use crate::terminal::print_line;
use crate::{http, telemetry};
use palestra_auth::DEFAULT_TENANT;
use palestra_worker::play::endpoint::{ANSWER_S_DEFAULT, ANSWER_S_MAX};

/// The environment of the first session that a new user opens.
const FIRST_ENVIRONMENT: &str = "puzzle/countdown";
/// Its task.
const FIRST_TASK: &str = "train-0";
/// The program that trains policies.
const TRAINER: &str = "palestra-trainer";

/// Runs the server.
#[derive(Debug, Args)]
pub struct ServeArguments {
    #[command(flatten)]
    config: ConfigArguments,
    /// Workers that this command starts and supervises.
    #[arg(long, env = "PALESTRA_WORKERS", default_value = "local")]
    workers: Workers,
    /// The trainer among them [default: palestra-trainer beside this program, where it is].
    #[arg(long, env = "PALESTRA_TRAINER", value_name = "FILE")]
    trainer: Option<PathBuf>,
    /// On what it computes, as cpu or gpu [default: what the trainer chooses].
    #[arg(long, env = "PALESTRA_TRAINER_DEVICE", value_name = "DEVICE")]
    trainer_device: Option<OsString>,
    /// Folders from which jobs may load models as file:PATH [default: none].
    #[arg(long = "models", env = "PALESTRA_MODELS", value_delimiter = ',', value_name = "FOLDERS")]
    models: Vec<OsString>,
    /// Hosts at which jobs may ask policies behind URLs, as host or host:port, separated by commas [default: none].
    #[arg(long = "allow-policy-host", env = "PALESTRA_ALLOW_POLICY_HOST", value_delimiter = ',', value_name = "HOSTS")]
    policy_hosts: Vec<String>,
    /// Credential for those hosts.
    #[arg(long, env = "PALESTRA_POLICY_KEY", hide_env_values = true)]
    policy_key: Option<String>,
    /// Seconds that such a policy may take for one answer.
    #[arg(long, env = "PALESTRA_ANSWER_TIMEOUT", value_name = "SECONDS", default_value_t = ANSWER_S_DEFAULT, value_parser = whole(1..=ANSWER_S_MAX))]
    answer_timeout: u64,
}

/// Workers that a server starts by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Workers {
    /// One for light jobs, and the trainer where it is present.
    Local,
    /// None: workers come from elsewhere.
    None,
}

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// When the server cannot start, or its listener fails.
pub async fn run(arguments: &ServeArguments) -> anyhow::Result<()> {
    let config = Config::load(&arguments.config)?;
    telemetry::start_log(&config)?;
    let programs = worker_programs(arguments, &config)?;
    // Sockets and sandboxes take descriptors, and the usual limit is meant for programs that ask for more.
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    let listener = TcpListener::bind(&config.listen).await.map_err(|error| {
        anyhow!("the address {} cannot be listened on: {error}; choose another with --listen", config.listen)
    })?;
    let address = listener.local_addr()?;
    let app = App::open(config).await?;
    let url = greet(&app, address).await?;
    let workers = LocalWorkers::begin(&app, url, programs);
    let stop = app.shutdown().clone();
    app.tracker().spawn(async move {
        tokio::select! {
            asked = asked_to_stop() => match asked {
                Ok(signal) => tracing::info!(signal, "stopping"),
                Err(error) => tracing::error!(%error, "signals cannot be heard: stopping"),
            },
            () = stop.cancelled() => {}
        }
        // Workers hand their jobs back while somebody answers them.
        workers.end().await;
        stop.cancel();
    });
    serve(app, listener).await?;
    tracing::info!("stopped");
    Ok(())
}

/// Answers on `listener` until `shutdown` is cancelled, then ends sockets and event streams, finishes what runs and closes.
///
/// # Errors
/// When the listener fails.
pub async fn serve(app: App, listener: TcpListener) -> io::Result<()> {
    let stop = app.shutdown().clone();
    let (background, ends) = (app.background().clone(), stop.clone());
    app.tracker().spawn(async move {
        // The recorder cancels this by itself when another process took the node over: then nothing may be answered any more.
        background.cancelled().await;
        ends.cancel();
    });
    let router = http::router(app.clone());
    let connections = http::listen(&app, listener, router);
    let patience = Duration::from_millis(app.config().drain_ms);
    let deadline = async {
        stop.cancelled().await;
        tokio::time::sleep(patience).await;
    };
    let served = tokio::select! {
        served = connections => served,
        () = deadline => {
            tracing::warn!(drain_ms = app.config().drain_ms, "connections were still open when the server stopped");
            Ok(())
        }
    };
    app.close().await;
    served
}

/// The programs of the workers that are asked for.
fn worker_programs(arguments: &ServeArguments, config: &Config) -> anyhow::Result<Vec<WorkerProgram>> {
    if arguments.workers == Workers::None {
        return Ok(Vec::new());
    }
    let format = match config.log_format {
        LogFormat::Text => "text",
        LogFormat::Json => "json",
    };
    let log = || vec![("PALESTRA_LOG", config.log.clone().into()), ("PALESTRA_LOG_FORMAT", format.into())];
    let mut light = WorkerProgram {
        name: local_workers::LIGHT,
        program: std::env::current_exe()?,
        arguments: ["worker", "--until-stdin-closes"].map(OsString::from).to_vec(),
        variables: log(),
    };
    for host in &arguments.policy_hosts {
        light.arguments.extend(["--allow-policy-host".into(), host.into()]);
    }
    light.variables.extend(arguments.policy_key.as_ref().map(|key| ("PALESTRA_POLICY_KEY", key.into())));
    light.arguments.extend(["--answer-timeout".into(), arguments.answer_timeout.to_string().into()]);
    let mut programs = vec![light];
    if let Some(named) = arguments.trainer.as_ref().filter(|named| !named.is_file()) {
        return Err(anyhow!("there is no trainer at {}: name the program with --trainer", named.display()));
    }
    if let Some(program) = arguments.trainer.clone().or_else(|| sibling_program(TRAINER)) {
        let mut words = ["work", "--until-stdin-closes"].map(OsString::from).to_vec();
        words.extend(arguments.trainer_device.iter().flat_map(|device| ["--device".into(), device.clone()]));
        words.extend(arguments.models.iter().flat_map(|folder| ["--models".into(), folder.clone()]));
        programs.push(WorkerProgram { name: local_workers::TRAINER, program, arguments: words, variables: log() });
    }
    Ok(programs)
}

/// Prints the first key and how to use it, on the first start alone, and then the line that scripts wait for.
async fn greet(app: &App, address: SocketAddr) -> anyhow::Result<String> {
    let url = format!("http://{}", reachable(address));
    if app.config().admin_key.is_none() && !app.auth().has_admin_key(DEFAULT_TENANT).await? {
        let request = CreateKey { name: "first admin".to_owned(), scopes: vec![Scope::Admin], expires_at: None };
        let key = app.auth().create_key(DEFAULT_TENANT, request).await?;
        print_line(&welcome(&url, &key.secret, app.first_solution(FIRST_ENVIRONMENT, FIRST_TASK).await.as_ref()))?;
    }
    print_line(&format!("ready {url}"))?;
    Ok(url)
}

/// An address that a caller on this machine can use.
pub(super) fn reachable(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => (std::net::Ipv4Addr::LOCALHOST, v4.port()).into(),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => (std::net::Ipv6Addr::LOCALHOST, v6.port()).into(),
        address => address,
    }
}

/// The new key, and a first episode in lines that work as they are.
fn welcome(url: &str, key: &str, solution: Option<&Action>) -> String {
    let mut text = format!(
        "This is the admin key. It is shown this once; keep it:\n\n    export PALESTRA_API_KEY={key}\n    export PALESTRA_URL={url}\n"
    );
    let Some(solution) = solution else { return text };
    let session = SessionId::new();
    let create = json!({"id": session, "environment": FIRST_ENVIRONMENT, "task": {"id": FIRST_TASK}});
    let step = json!({"seq": 1, "action": solution});
    let call = |path: &str, body: &serde_json::Value| {
        // Inside single quotes a shell leaves everything alone but the quote itself.
        let body = body.to_string().replace('\'', "'\\''");
        format!(
            "    curl -sS {url}/v1/sessions{path} -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' -d '{body}'; echo\n"
        )
    };
    text.push_str("\nA first episode: open a session, take the step that solves it, read the verdict:\n\n");
    text.push_str(&call("", &create));
    text.push_str(&call(&format!("/{session}/step"), &step));
    text.push_str(&call(&format!("/{session}/verify"), &json!({})));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_lines_can_be_pasted_as_they_are() {
        let text = welcome("http://127.0.0.1:7070", "pk_1_2", Some(&Action::Text("it's (1+2)".to_owned())));
        let lines: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with("curl")).collect();
        assert_eq!(lines.len(), 3, "{text}");
        let session = lines[0].split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap();
        assert!(session.parse::<SessionId>().is_ok(), "{session}");
        assert!(lines[1].contains(&format!("/v1/sessions/{session}/step")));
        assert!(lines[1].contains(r"it'\''s (1+2)"), "{}", lines[1]);
        assert!(!text.contains("jq"));
    }

    #[test]
    fn a_server_on_all_addresses_is_reached_on_this_machine() {
        assert_eq!(reachable(([0, 0, 0, 0], 70).into()), ([127, 0, 0, 1], 70).into());
        assert_eq!(reachable(([10, 0, 0, 1], 70).into()), ([10, 0, 0, 1], 70).into());
    }
}
