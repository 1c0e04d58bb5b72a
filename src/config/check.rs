//! Settings that no server can run with.

use palestra_browser::Host;

use super::Config;
use super::error::{ConfigError, Origin};

/// Fewest bytes of a root secret that is given rather than made.
const SECRET_BYTES_MIN: usize = 32;
/// Fewest bytes of an admin key that is given rather than made.
const ADMIN_KEY_BYTES_MIN: usize = 16;
/// Fewest bytes that a body limit leaves for a request to be useful at all.
const BODY_BYTES_MIN: usize = 1_024;
/// Shortest lease of a job: three heartbeats have to come through in it.
const JOB_LEASE_MS_MIN: u64 = 1_000;

impl Config {
    /// Refuses values that no server can run with.
    ///
    /// # Errors
    /// With the first such value.
    pub fn check(&self) -> Result<(), ConfigError> {
        if !self.listen.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok()) {
            return Err(invalid(
                "listen",
                format!("{:?} is no address with a port: write one as 127.0.0.1:7070", self.listen),
            ));
        }
        if self.secret.as_ref().is_some_and(|secret| secret.reveal().len() < SECRET_BYTES_MIN) {
            return Err(invalid(
                "secret",
                format!("needs at least {SECRET_BYTES_MIN} bytes, as `openssl rand -hex 32` gives"),
            ));
        }
        if self.admin_key.as_ref().is_some_and(|key| !is_usable_key(key.reveal())) {
            return Err(invalid("admin_key", format!("needs at least {ADMIN_KEY_BYTES_MIN} visible ASCII characters")));
        }
        match &self.database_url {
            Some(url) if !url.reveal().starts_with("postgres://") && !url.reveal().starts_with("postgresql://") => {
                return Err(invalid("database_url", "must begin with postgres://"));
            }
            Some(_) if self.secret.is_none() => {
                return Err(invalid(
                    "secret",
                    "is required with PostgreSQL, so that every node signs alike: set PALESTRA_SECRET",
                ));
            }
            _ => {}
        }
        if self.body_bytes_max < BODY_BYTES_MIN {
            return Err(invalid("body_bytes_max", format!("must be at least {BODY_BYTES_MIN}")));
        }
        for (name, value) in [
            ("sessions_max", self.sessions_max as u64),
            ("session_ttl_ms", self.session_ttl_ms),
            ("idle_ms", self.idle_ms),
            ("publish_bytes_max", self.publish_bytes_max as u64),
            ("request_timeout_ms", self.request_timeout_ms),
            ("answer_timeout_ms", self.answer_timeout_ms),
            ("publish_timeout_ms", self.publish_timeout_ms),
            ("streams_max", self.streams_max as u64),
            ("connections_max", self.connections_max as u64),
            ("head_timeout_ms", self.head_timeout_ms),
            ("send_timeout_ms", self.send_timeout_ms),
            ("openenv_sessions_max", self.openenv_sessions_max as u64),
            ("openenv_linger_ms", self.openenv_linger_ms),
            ("openenv_frame_bytes_max", self.openenv_frame_bytes_max as u64),
            ("jobs_queued_max", self.jobs_queued_max),
            ("job_retention_ms", self.job_retention_ms),
            ("artifact_bytes_max", self.artifact_bytes_max),
            ("artifact_quota_bytes", self.artifact_quota_bytes),
        ] {
            if value == 0 {
                return Err(invalid(name, "must be at least 1"));
            }
        }
        if self.job_lease_ms < JOB_LEASE_MS_MIN {
            return Err(invalid("job_lease_ms", format!("must be at least {JOB_LEASE_MS_MIN}")));
        }
        if let Some(origin) = self.cors_origins.iter().find(|origin| !is_origin(origin)) {
            return Err(invalid("cors_origins", format!("{origin:?} is no origin: write one as https://example.org")));
        }
        if let Some(why) = self.browser_hosts.iter().find_map(|host| host.parse::<Host>().err()) {
            return Err(invalid("browser_hosts", why));
        }
        let hosts: Vec<Host> = self.browser_hosts.iter().filter_map(|host| host.parse().ok()).collect();
        if let Some(host) = hosts.iter().find(|host| hosts.iter().any(|other| host.contradicts(other))) {
            let detail =
                format!("{host} has two addresses, or one beside none: write the same address for each of its ports");
            return Err(invalid("browser_hosts", detail));
        }
        Ok(())
    }
}

fn invalid(name: &'static str, detail: impl Into<String>) -> ConfigError {
    ConfigError::Invalid { name, origin: Origin::Unknown, detail: detail.into() }
}

/// Tells whether a key can stand in an `Authorization` header.
fn is_usable_key(key: &str) -> bool {
    key.len() >= ADMIN_KEY_BYTES_MIN && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Tells whether browsers could send this as `Origin`: a scheme and a host, and nothing behind them.
fn is_origin(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, host)| {
        matches!(scheme, "http" | "https")
            && !host.is_empty()
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte))
    })
}
