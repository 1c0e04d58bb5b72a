//! The server's reports of itself: the log, and every metric by name.

use std::sync::OnceLock;
use std::time::Duration;

use metrics::Unit;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use palestra_jobs::metrics::{JOB_LEASES_LOST, JOBS_ENDED, JOBS_LEASED, JOBS_QUEUED, JOBS_RUNNING};

use crate::config::{Config, LogFormat};
use crate::terminal;

/// Requests that were answered, by `method`, `route` and `status`.
pub const HTTP_REQUESTS: &str = "palestra_http_requests_total";
/// Seconds from a request's head to its answer's head, by `method` and `route`.
pub const HTTP_SECONDS: &str = "palestra_http_request_seconds";
/// Open connections, those that became sockets not counted.
pub const CONNECTIONS: &str = "palestra_connections";
/// Connections that found no room.
pub const CONNECTIONS_REFUSED: &str = "palestra_connections_refused_total";
/// Sessions in memory.
pub const SESSIONS_LIVE: &str = "palestra_sessions_live";
/// Open sockets of `/v1/stream`.
pub const STREAM_SOCKETS: &str = "palestra_stream_sockets";
/// Frames that came in over sockets.
pub const STREAM_FRAMES: &str = "palestra_stream_frames_total";
/// Sockets that ended, by `reason`.
pub const STREAM_ENDS: &str = "palestra_stream_ends_total";
/// Open sockets of the OpenEnv mounts.
pub const OPENENV_SOCKETS: &str = "palestra_openenv_sockets";
/// Sockets of the OpenEnv mounts that ended, by `reason`.
pub const OPENENV_ENDS: &str = "palestra_openenv_ends_total";
/// Commands that were answered, by `operation` and `code` (`ok`, or the problem's).
pub const COMMANDS: &str = "palestra_commands_total";
/// Credentials that were refused.
pub const CREDENTIALS_REFUSED: &str = "palestra_credentials_refused_total";

/// Milliseconds between two summings up of what histograms have taken in.
const UPKEEP_MS: u64 = 1_000;

/// Upper bounds of the latency histogram's buckets, in seconds.
const SECONDS_BUCKETS: [f64; 14] =
    [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// A filter for the log that cannot be read, or metrics that cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter.
    #[error("setting log: {0}; write a level, or targets with levels as palestra=debug")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// The metrics.
    #[error("the metrics cannot be set up: {0}")]
    Metrics(String),
}

/// Sends the log to standard error. A log that was set up earlier in this process stays.
///
/// # Errors
/// When the filter cannot be read.
pub fn start_log(config: &Config) -> Result<(), TelemetryError> {
    let filter = EnvFilter::try_new(&config.log)?;
    let registry = tracing_subscriber::registry().with(filter);
    let already_set_up = match config.log_format {
        LogFormat::Text => {
            // Colours belong on a terminal, not into a file.
            let coloured = terminal::is_watched();
            let layer = tracing_subscriber::fmt::layer().with_ansi(coloured).with_writer(terminal::log(coloured));
            registry.with(layer).try_init().is_err()
        }
        LogFormat::Json => {
            registry.with(tracing_subscriber::fmt::layer().json().with_writer(terminal::log(false))).try_init().is_err()
        }
    };
    if already_set_up {
        tracing::debug!("the log was set up earlier");
    }
    Ok(())
}

/// The metrics of this process: they are made once, and every server in it counts into them.
///
/// # Errors
/// When another recorder holds the place.
pub fn metrics() -> Result<PrometheusHandle, TelemetryError> {
    static HANDLE: OnceLock<Result<PrometheusHandle, String>> = OnceLock::new();
    HANDLE
        .get_or_init(|| {
            let handle = PrometheusBuilder::new()
                .set_buckets(&SECONDS_BUCKETS)
                .and_then(PrometheusBuilder::install_recorder)
                .map_err(|error| error.to_string())?;
            describe();
            Ok(handle)
        })
        .clone()
        .map_err(TelemetryError::Metrics)
}

/// Sums up what histograms have taken in, again and again until `end`: they keep every value until somebody does.
pub async fn keep_up(metrics: PrometheusHandle, end: CancellationToken) {
    let mut rounds = tokio::time::interval(Duration::from_millis(UPKEEP_MS));
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = end.cancelled() => return,
            _ = rounds.tick() => metrics.run_upkeep(),
        }
    }
}

fn describe() {
    metrics::describe_counter!(HTTP_REQUESTS, Unit::Count, "Requests that were answered.");
    metrics::describe_histogram!(HTTP_SECONDS, Unit::Seconds, "Time from a request's head to its answer's head.");
    metrics::describe_gauge!(CONNECTIONS, Unit::Count, "Open connections.");
    metrics::describe_counter!(CONNECTIONS_REFUSED, Unit::Count, "Connections that found no room.");
    metrics::describe_gauge!(SESSIONS_LIVE, Unit::Count, "Sessions in memory.");
    metrics::describe_gauge!(STREAM_SOCKETS, Unit::Count, "Open sockets of the stream.");
    metrics::describe_counter!(STREAM_FRAMES, Unit::Count, "Frames that came in over sockets.");
    metrics::describe_counter!(STREAM_ENDS, Unit::Count, "Sockets that ended.");
    metrics::describe_gauge!(OPENENV_SOCKETS, Unit::Count, "Open sockets of the OpenEnv mounts.");
    metrics::describe_counter!(OPENENV_ENDS, Unit::Count, "Sockets of the OpenEnv mounts that ended.");
    metrics::describe_counter!(COMMANDS, Unit::Count, "Commands that were answered.");
    metrics::describe_counter!(CREDENTIALS_REFUSED, Unit::Count, "Credentials that were refused.");
    metrics::describe_gauge!(JOBS_QUEUED, Unit::Count, "Jobs that are queued.");
    metrics::describe_gauge!(JOBS_RUNNING, Unit::Count, "Jobs that run.");
    metrics::describe_counter!(JOBS_LEASED, Unit::Count, "Leases that were given.");
    metrics::describe_counter!(JOBS_ENDED, Unit::Count, "Jobs that are over.");
    metrics::describe_counter!(JOB_LEASES_LOST, Unit::Count, "Leases that were taken back.");
}
