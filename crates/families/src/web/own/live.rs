//! Real hosts that published pages reach, where the server's operator lets them.

use palestra_browser::{Answer, Browsers, Host, Request, Unanswered, Upstream};
use serde::{Deserialize, Serialize};

/// A real host, and what is sent to it.
#[derive(Debug, Clone)]
pub(super) struct LiveHost {
    pub(super) host: Host,
    /// Methods of requests that are sent to it.
    methods: Vec<String>,
}

/// The same as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredHost {
    pub(super) host: String,
    #[serde(default = "safe_methods")]
    pub(super) methods: Vec<String>,
}

/// Methods that are sent to a host where it names none: those that change nothing.
pub(super) fn safe_methods() -> Vec<String> {
    ["GET", "HEAD"].map(str::to_owned).to_vec()
}

impl LiveHost {
    /// The host of the stored form.
    ///
    /// # Errors
    /// In words, when it is none.
    pub(super) fn of(stored: &StoredHost) -> Result<Self, String> {
        Ok(Self { host: stored.host.parse()?, methods: stored.methods.clone() })
    }

    /// Asks the host, if the request may be sent to it.
    ///
    /// # Errors
    /// When it gives no answer.
    pub(super) async fn answer(&self, upstream: &Upstream, request: &Request) -> Result<Answer, Unanswered> {
        if !self.methods.contains(&request.method) {
            let words = format!("{} takes {} alone here", self.host, self.methods.join(", "));
            return Ok(Answer::text(405, "text/plain; charset=utf-8", words));
        }
        upstream.fetch(request).await
    }
}

/// Checks that this server's operator lets pages reach every host.
///
/// # Errors
/// With the place of the first that they may not reach, and what to do.
pub(super) fn check_admitted(hosts: &[LiveHost], browsers: &Browsers) -> Result<(), (usize, String)> {
    let refused = hosts.iter().enumerate().find(|(_, live)| !browsers.upstream().admits(&live.host));
    refused.map_or(Ok(()), |(number, LiveHost { host, .. })| {
        Err((
            number,
            format!("pages of this server may not reach {host}: start it with --browser-hosts {host}, or leave it out"),
        ))
    })
}
