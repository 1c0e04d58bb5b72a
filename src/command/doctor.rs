//! `palestra doctor`: what works on this machine, and what to install.

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use palestra_sandbox::image::Definition;
use palestra_sandbox::pool::Bounds;
use palestra_sandbox::{Sandboxes, shipped};
use palestra_sql::value::Dialect;
use tokio::process::Command;
use tokio::time::timeout;

use super::failure::Failure;
use crate::backends::{self, Candidate};
use crate::config::{Config, ConfigArguments, SandboxChoice};
use crate::table::Table;
use palestra_families::databases::Databases;
use palestra_store::{self as store, Target};

/// Time limit of one check, in milliseconds.
const CHECK_TIMEOUT_MS: u64 = 10_000;

/// The finding of one check.
struct Finding {
    what: &'static str,
    state: State,
    detail: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Works,
    /// Nothing that runs today needs it.
    Absent,
    /// The server cannot start like this.
    Broken,
}

impl State {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Absent => "absent",
            Self::Broken => "BROKEN",
        }
    }
}

impl Finding {
    fn required(what: &'static str, result: Result<String, String>) -> Self {
        match result {
            Ok(detail) => Self { what, state: State::Works, detail },
            Err(detail) => Self { what, state: State::Broken, detail },
        }
    }
}

/// A program that something optional needs.
struct Program {
    what: &'static str,
    /// Tried in order; the first that answers counts.
    commands: &'static [&'static [&'static str]],
    remedy: &'static str,
}

/// Every optional program, with what it is for.
const PROGRAMS: &[Program] = &[
    Program {
        what: "postgresql",
        commands: &[&["pg_config", "--version"], &["psql", "--version"]],
        remedy: "only for tests on PostgreSQL: apt-get install postgresql",
    },
    Program {
        what: "bubblewrap",
        commands: &[&["bwrap", "--version"]],
        remedy: "only for sandboxes without a daemon: apt-get install bubblewrap",
    },
    Program {
        what: "docker",
        commands: &[&["docker", "version", "--format", "{{.Server.Version}}"]],
        remedy: "only for container sandboxes: apt-get install docker.io, and start its daemon",
    },
];

/// Arguments of `palestra doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    #[command(flatten)]
    config: ConfigArguments,
}

/// Checks this machine for the configuration that `serve` would use.
///
/// # Errors
/// When the configuration is wrong, or something is broken that the server needs.
pub async fn run(arguments: &DoctorArguments, output: &mut impl Write) -> anyhow::Result<()> {
    let config = Config::load(&arguments.config)?;
    Ok(doctor(&config, output).await?)
}

/// Checks this machine and writes a table.
///
/// # Errors
/// When something is broken that the server needs.
pub async fn doctor(config: &Config, output: &mut impl Write) -> Result<(), Failure> {
    let mut findings = vec![
        Finding::required("data folder", data_folder(&config.data)),
        Finding::required("embedded store", within(embedded_store()).await),
        Finding::required("listen address", port(&config.listen)),
    ];
    if let Some(url) = &config.database_url {
        let found = within(open_store(Target::Postgres(url.reveal().to_owned()))).await;
        findings.push(Finding::required("PostgreSQL", found));
    }
    for program in PROGRAMS {
        findings.push(probe(program).await);
    }
    for candidate in backends::candidates(config) {
        findings.push(sandboxes(*candidate, config).await);
    }
    findings.push(browser(config).await);
    findings.push(images(config));
    // Beside the real ones, so that a running server is not disturbed.
    let folder = tempfile::tempdir()?;
    let beside = Config { data: folder.path().to_owned(), ..config.clone() };
    let databases = backends::databases(&beside, "doctor");
    for dialect in Dialect::ALL {
        findings.push(sql(&databases, dialect).await);
    }
    databases.close().await;
    writeln!(output, "{}", table(&findings))?;
    match findings.iter().filter(|finding| finding.state == State::Broken).count() {
        0 => Ok(()),
        broken => Err(Failure::Other(format!("{broken} of {} checks failed: see the lines above", findings.len()))),
    }
}

/// The limits that are in force in a sandbox of a back end, or why there is none.
async fn sandboxes(candidate: Candidate, config: &Config) -> Finding {
    let what = match candidate {
        Candidate::Local => "sandboxes (local)",
        Candidate::Docker => "sandboxes (docker)",
    };
    let tried = within(async {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        // Beside the real one, so that a running server is not disturbed.
        let config = Config { data: folder.path().to_owned(), ..config.clone() };
        let backend = backends::connect(&candidate, &config, "doctor").await.map_err(|error| error.to_string())?;
        let profiles = shipped::profiles()?;
        let profile = profiles
            .get(backends::PROFILE)
            .ok_or_else(|| "there is no profile of sandboxes: build from a whole checkout".to_owned())?;
        let isolation = backend.examine(profile).await.map_err(|error| error.to_string())?;
        let lacking = isolation.lines.iter().filter(|(_, line)| !line.enforced);
        let lacking: Vec<String> = lacking.map(|(name, line)| format!("{name} is not enforced: {}", line.by)).collect();
        Ok(if lacking.is_empty() { "every line of the profile is enforced".to_owned() } else { lacking.join("; ") })
    });
    match tried.await {
        Ok(detail) => Finding { what, state: State::Works, detail },
        Err(detail) if config.sandbox == SandboxChoice::Auto => Finding { what, state: State::Absent, detail },
        Err(detail) => Finding { what, state: State::Broken, detail },
    }
}

/// Starts a browser in a sandbox, as sessions would.
async fn browser(config: &Config) -> Finding {
    let tried = within(async {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        // Beside the real one, so that a running server is not disturbed.
        let config = Config { data: folder.path().to_owned(), ..config.clone() };
        let local = backends::connect(&Candidate::Local, &config, "doctor").await.map_err(|error| error.to_string())?;
        let bounds = Bounds { sandboxes_max: 1, warm_min: 0 };
        let sandboxes = Sandboxes::new(vec![local], backends::images(&config), shipped::profiles()?, bounds);
        let browsers = backends::browsers(&config, sandboxes);
        let (version, isolation) = browsers.examine().await.map_err(|error| error.to_string())?;
        let lines = isolation["lines"].as_object().into_iter().flatten();
        let lacking = lines.filter(|(_, line)| line["enforced"] != true);
        let lacking: Vec<String> = lacking
            .map(|(name, line)| format!("{name} is not enforced: {}", line["by"].as_str().unwrap_or_default()))
            .collect();
        let walls =
            if lacking.is_empty() { "every line of its profile is enforced".to_owned() } else { lacking.join("; ") };
        Ok(format!("{version} in a sandbox; {walls}"))
    });
    match tried.await {
        Ok(detail) => Finding { what: "browser", state: State::Works, detail },
        Err(detail) => Finding { what: "browser", state: State::Absent, detail },
    }
}

/// Tries statements of a dialect.
async fn sql(databases: &Databases, dialect: Dialect) -> Finding {
    let what = match dialect {
        Dialect::Sqlite => "SQL (SQLite)",
        Dialect::Postgres => "SQL (PostgreSQL)",
    };
    let tried = within(async {
        databases.offers(dialect)?;
        let version = async { palestra_sql::engine::version(&*databases.engine(dialect).await?).await };
        let version = version.await.map_err(|error| error.to_string())?;
        Ok(format!("version {version}, apart from the server"))
    });
    match tried.await {
        Ok(detail) => Finding { what, state: State::Works, detail },
        Err(detail) => Finding { what, state: State::Absent, detail },
    }
}

fn images(config: &Config) -> Finding {
    let names: Vec<String> =
        backends::images(config).list().unwrap_or_default().iter().map(|image| image.name.clone()).collect();
    let missing: Vec<&str> =
        Definition::shipped_names().filter(|name| names.iter().all(|there| there != name)).collect();
    let (state, detail) = match (names.is_empty(), missing.is_empty()) {
        (_, true) => (State::Works, names.join(", ")),
        (true, false) => (State::Absent, format!("build them: palestra images build {}", missing.join(" "))),
        (false, false) => {
            (State::Works, format!("{}; more: palestra images build {}", names.join(", "), missing.join(" ")))
        }
    };
    Finding { what: "images", state, detail }
}

fn data_folder(folder: &Path) -> Result<String, String> {
    let existed = folder.exists();
    let fail =
        |error: std::io::Error| format!("{} is not writable: {error}; choose another with --data", folder.display());
    std::fs::create_dir_all(folder).map_err(fail)?;
    let file = tempfile::NamedTempFile::new_in(folder).map_err(fail)?;
    file.as_file().sync_all().map_err(fail)?;
    drop(file);
    if !existed {
        // Left as it was found: a folder that someone has filled meanwhile stays.
        let _ = std::fs::remove_dir(folder);
    }
    Ok(format!("{} is writable", folder.display()))
}

async fn embedded_store() -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    open_store(Target::Sqlite(folder.path().join("doctor.sqlite"))).await
}

async fn open_store(target: Target) -> Result<String, String> {
    let store = store::open(&target).await.map_err(|error| error.to_string())?;
    let answer = store.ping().await.map_err(|error| error.to_string());
    let engine = store.engine();
    store.close().await;
    answer.map(|()| format!("{engine} opens, migrates and answers"))
}

fn port(listen: &str) -> Result<String, String> {
    TcpListener::bind(listen)
        .map(|_| format!("{listen} is free"))
        .map_err(|error| format!("{listen}: {error}; a server may run there already, or choose another with --listen"))
}

async fn within(check: impl Future<Output = Result<String, String>>) -> Result<String, String> {
    timeout(Duration::from_millis(CHECK_TIMEOUT_MS), check)
        .await
        .unwrap_or_else(|_| Err(format!("no answer in {CHECK_TIMEOUT_MS} ms: check its load")))
}

async fn probe(program: &Program) -> Finding {
    for command in program.commands {
        if let Ok(detail) = within(answer_of(command)).await {
            return Finding { what: program.what, state: State::Works, detail };
        }
    }
    Finding { what: program.what, state: State::Absent, detail: program.remedy.to_owned() }
}

/// The first line that a command prints.
async fn answer_of(command: &[&str]) -> Result<String, String> {
    let [program, arguments @ ..] = command else { return Err("no command".to_owned()) };
    let output = Command::new(program)
        .args(arguments)
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|error| format!("{program}: {error}"))?;
    let line = String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().trim().to_owned();
    if output.status.success() && !line.is_empty() {
        Ok(line)
    } else {
        Err(format!("{program} does not answer: install it, or correct PATH"))
    }
}

fn table(findings: &[Finding]) -> Table {
    let mut table = Table::new(["check", "state", "what was found, or what to do"]).wrapping(2);
    for finding in findings {
        table.add_row([finding.what, finding.state.as_str(), &finding.detail]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_folder_is_left_as_it_was_found() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("new/data");
        assert!(data_folder(&inner).is_ok());
        assert!(!inner.exists());
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(data_folder(&file).unwrap_err().contains("--data"));
    }

    #[test]
    fn a_port_in_use_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = listener.local_addr().unwrap().to_string();
        assert!(port(&taken).is_err());
        drop(listener);
        assert!(port(&taken).is_ok());
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_absent_with_a_remedy() {
        let program = Program { what: "nothing", commands: &[&["palestra-no-such-program"]], remedy: "install it" };
        let finding = probe(&program).await;
        assert!(finding.state == State::Absent && finding.detail == "install it");
    }
}
