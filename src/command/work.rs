//! `palestra worker`: does light jobs of a server, on this machine or any other.

use std::io::Read;
use std::thread;
use std::time::Duration;

use clap::Args;
use palestra_client::Client;
use palestra_protocol::job::JobKind;
use tokio_util::sync::CancellationToken;

use super::choice::whole;
use super::failure::Failure;
use super::signal::asked_to_stop;
use crate::config::{Config, LogFormat};
use crate::telemetry;
use palestra_worker::play::endpoint::{ANSWER_S_DEFAULT, ANSWER_S_MAX};
use palestra_worker::{self as worker, JOBS_AT_ONCE_DEFAULT, Options, light_kinds};

/// Most jobs at once.
const JOBS_AT_ONCE_MAX: u64 = 256;
/// Bytes of standard input that are read, and thrown away, at once.
const STDIN_BYTES: usize = 256;

/// Arguments of `palestra worker`.
#[derive(Debug, Args)]
pub struct WorkArguments {
    /// Address of the server.
    #[arg(long, env = "PALESTRA_URL", default_value = "http://127.0.0.1:7070")]
    pub url: String,
    /// A key with the scope worker.
    #[arg(long, env = "PALESTRA_API_KEY", hide_env_values = true)]
    pub key: Option<String>,
    /// Name of this worker, for people.
    #[arg(long, default_value = "worker")]
    pub name: String,
    /// Kinds of jobs to do, separated by commas [default: all that need no trainer].
    #[arg(long, value_delimiter = ',', value_parser = parse_light_kind)]
    pub kinds: Vec<JobKind>,
    /// Jobs at once.
    #[arg(long, default_value_t = JOBS_AT_ONCE_DEFAULT as u64, value_parser = whole(1..=JOBS_AT_ONCE_MAX))]
    pub jobs: u64,
    /// Memory that jobs may ask for, in bytes [default: what is free].
    #[arg(long)]
    pub memory_bytes: Option<u64>,
    /// Hosts at which policies behind URLs may be asked, as host or host:port, separated by commas [default: none].
    #[arg(long = "allow-policy-host", value_delimiter = ',', value_name = "HOSTS")]
    pub policy_hosts: Vec<String>,
    /// Credential for those hosts.
    #[arg(long, env = "PALESTRA_POLICY_KEY", hide_env_values = true)]
    pub policy_key: Option<String>,
    /// Seconds that such a policy may take for one answer.
    #[arg(long, env = "PALESTRA_ANSWER_TIMEOUT", value_name = "SECONDS", default_value_t = ANSWER_S_DEFAULT, value_parser = whole(1..=ANSWER_S_MAX))]
    pub answer_timeout: u64,
    /// Ends when standard input does: for whoever started it.
    #[arg(long)]
    pub until_stdin_closes: bool,
    /// Filter of the log, as in info,palestra=debug.
    #[arg(long, env = "PALESTRA_LOG", default_value = "info", value_name = "FILTER")]
    pub log: String,
    /// Format of the log.
    #[arg(long, env = "PALESTRA_LOG_FORMAT", default_value = "text")]
    pub log_format: LogFormat,
}

/// Does jobs until it is asked to stop; what is under way goes back into the queue then.
///
/// # Errors
/// When the server refuses the credential, or what is asked of it.
pub async fn work(arguments: &WorkArguments) -> Result<(), Failure> {
    let log = Config { log: arguments.log.clone(), log_format: arguments.log_format, ..Config::default() };
    telemetry::start_log(&log).map_err(|error| Failure::Other(error.to_string()))?;
    let client = Client::new(&arguments.url, arguments.key.as_deref())?;
    let stop = CancellationToken::new();
    if arguments.until_stdin_closes {
        stop_with_stdin(stop.clone());
    }
    let options = Options {
        name: arguments.name.clone(),
        kinds: if arguments.kinds.is_empty() { light_kinds() } else { arguments.kinds.clone() },
        policy_hosts: arguments.policy_hosts.clone(),
        policy_key: arguments.policy_key.clone(),
        answer_timeout: Duration::from_secs(arguments.answer_timeout),
        jobs_at_once: usize::try_from(arguments.jobs).unwrap_or(JOBS_AT_ONCE_DEFAULT),
        memory_bytes: arguments.memory_bytes.unwrap_or_else(free_memory_bytes),
    };
    tracing::info!(url = arguments.url, name = options.name, "asking for jobs");
    let mut working = std::pin::pin!(worker::run(&client, &options, &stop));
    tokio::select! {
        worked = &mut working => return Ok(worked?),
        asked = asked_to_stop() => {
            tracing::info!(signal = asked?, "stopping");
            stop.cancel();
        }
    }
    Ok(working.await?)
}

fn parse_light_kind(text: &str) -> Result<JobKind, String> {
    let kinds = light_kinds();
    let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    let found = kinds.iter().copied().find(|kind| kind.as_str() == text);
    found.ok_or_else(|| format!("this worker does {}: start a trainer for others", names.join(", ")))
}

/// Cancels `stop` once standard input ends. On a thread of its own that nobody waits for: reading cannot be called off.
fn stop_with_stdin(stop: CancellationToken) {
    thread::spawn(move || {
        let mut thrown_away = [0; STDIN_BYTES];
        while std::io::stdin().read(&mut thrown_away).is_ok_and(|length| length > 0) {}
        stop.cancel();
    });
}

/// Memory that is free on this machine, in bytes; 0 where the system does not say.
fn free_memory_bytes() -> u64 {
    std::fs::read_to_string("/proc/meminfo").map_or(0, |text| available_bytes(&text).unwrap_or(0))
}

fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_that_need_a_trainer_are_refused_with_a_reason() {
        assert_eq!(parse_light_kind("evaluate"), Ok(JobKind::Evaluate));
        assert!(parse_light_kind("train").unwrap_err().contains("trainer"));
    }

    #[test]
    fn free_memory_is_what_the_system_calls_available() {
        let text = "MemTotal:       16303436 kB\nMemFree:          123456 kB\nMemAvailable:   10485760 kB\n";
        assert_eq!(available_bytes(text), Some(10 << 30));
        assert_eq!(available_bytes("MemTotal: 1 kB"), None);
    }
}
