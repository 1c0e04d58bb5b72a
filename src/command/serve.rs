//! `palestra serve`: runs the server until it is told to stop.

use std::net::SocketAddr;

use anyhow::anyhow;
use clap::Args;
use palestra_protocol::action::Action;
use palestra_protocol::id::SessionId;
use palestra_protocol::key::{CreateKey, Scope};
use serde_json::json;
use tokio::net::TcpListener;

use super::signal::asked_to_stop;
use super::terminal::print_line;
use crate::app::{self, App};
use crate::auth::DEFAULT_TENANT;
use crate::config::{Config, ConfigArguments};
use crate::telemetry;

/// The environment of the first session that a new user opens.
const FIRST_ENVIRONMENT: &str = "puzzle/countdown";
/// Its task.
const FIRST_TASK: &str = "train-0";

/// Runs the server.
#[derive(Debug, Args)]
pub struct ServeArguments {
    #[command(flatten)]
    config: ConfigArguments,
}

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// When the server cannot start, or its listener fails.
pub async fn run(arguments: &ServeArguments) -> anyhow::Result<()> {
    let config = Config::load(&arguments.config)?;
    telemetry::start_log(&config)?;
    // Sockets and sandboxes take descriptors, and the usual limit is meant for programs that ask for more.
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    let listener = TcpListener::bind(&config.listen).await.map_err(|error| {
        anyhow!("cannot listen on {}: {error}; choose another address with --listen", config.listen)
    })?;
    let address = listener.local_addr()?;
    let app = App::open(config).await?;
    greet(&app, address).await?;
    let stop = app.shutdown().clone();
    app.tracker().spawn(async move {
        match asked_to_stop().await {
            Ok(signal) => tracing::info!(signal, "stopping"),
            Err(error) => tracing::error!(%error, "signals cannot be heard: stopping"),
        }
        stop.cancel();
    });
    app::serve(app, listener).await?;
    tracing::info!("stopped");
    Ok(())
}

/// Prints the first key and how to use it, on the first start alone, and then the line that scripts wait for.
async fn greet(app: &App, address: SocketAddr) -> anyhow::Result<()> {
    let url = format!("http://{}", reachable(address));
    if app.config().admin_key.is_none() && !app.auth().has_admin_key(DEFAULT_TENANT).await? {
        let request = CreateKey { name: "first admin".to_owned(), scopes: vec![Scope::Admin], expires_at: None };
        let key = app.auth().create_key(DEFAULT_TENANT, request).await?;
        print_line(&welcome(&url, &key.secret, app.first_solution(FIRST_ENVIRONMENT, FIRST_TASK).await.as_ref()))?;
    }
    print_line(&format!("ready {url}"))?;
    Ok(())
}

/// An address that a caller on this machine can use.
fn reachable(address: SocketAddr) -> SocketAddr {
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
