//! The logs of the incident world while they are written: every method adds a record and gives its number.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use jiff::civil::DateTime;

use super::words;
use crate::row;
use crate::value::Value;
use crate::world::{Draw, Fact};

/// The moment so many seconds after another.
pub(super) fn later(moment: DateTime, seconds: i64) -> DateTime {
    moment.saturating_add(SignedDuration::from_secs(seconds))
}

/// Hexadecimal digits.
pub(super) fn hex(draw: &mut Draw, digits: usize) -> String {
    (0..digits).map(|_| char::from(b"0123456789abcdef"[draw.below(16)])).collect()
}

/// A number that the set did not hold yet.
pub(super) fn fresh(draw: &mut Draw, used: &mut BTreeSet<i64>, low: i64, high: i64) -> i64 {
    loop {
        let number = draw.between(low, high);
        if used.insert(number) {
            return number;
        }
    }
}

/// Logs under way.
pub(super) struct Journal {
    /// Rows by table.
    pub(super) rows: BTreeMap<&'static str, Vec<Vec<Value>>>,
    /// Ground truth.
    pub(super) facts: BTreeMap<String, Vec<Fact>>,
    used: BTreeMap<&'static str, BTreeSet<i64>>,
    addresses: BTreeSet<i64>,
    words: BTreeSet<String>,
    assigned: Vec<(String, DateTime, DateTime)>,
}

/// A host.
#[derive(Debug, Clone)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) address: String,
}

/// A computer with the person who uses it.
#[derive(Debug, Clone)]
pub(super) struct Workstation {
    pub(super) host: Host,
    pub(super) login: String,
}

/// A program that runs.
#[derive(Debug, Clone)]
pub(super) struct Process<'a> {
    pub(super) host: &'a str,
    pub(super) login: &'a str,
    pub(super) image: &'a str,
    pub(super) parent: Option<i64>,
    pub(super) hash: &'a str,
}

/// Bytes on their way.
#[derive(Debug, Clone)]
pub(super) struct Flow<'a> {
    pub(super) source: &'a str,
    pub(super) target: &'a str,
    pub(super) port: i64,
    pub(super) bytes: i64,
    pub(super) process: Option<i64>,
}

/// Somebody signs in.
#[derive(Debug, Clone)]
pub(super) struct SignIn<'a> {
    pub(super) login: &'a str,
    pub(super) host: &'a str,
    pub(super) source: &'a str,
    pub(super) method: &'a str,
    pub(super) success: bool,
    pub(super) credential: Option<&'a str>,
}

/// Target of an alert.
#[derive(Debug, Clone, Default)]
pub(super) struct Pointer<'a> {
    pub(super) host: Option<&'a str>,
    pub(super) login: Option<&'a str>,
    pub(super) process: Option<i64>,
    pub(super) flow: Option<i64>,
    pub(super) service: Option<&'a str>,
    pub(super) request: Option<&'a str>,
}

/// A request that fails in a service.
#[derive(Debug, Clone)]
pub(super) struct Failure<'a> {
    pub(super) service: &'a str,
    pub(super) version: &'a str,
    pub(super) request: &'a str,
    pub(super) upstream: Option<&'a str>,
    pub(super) code: i64,
    pub(super) message: &'a str,
}

impl Journal {
    pub(super) fn new() -> Self {
        Self {
            rows: BTreeMap::new(),
            facts: BTreeMap::new(),
            used: BTreeMap::new(),
            addresses: BTreeSet::new(),
            words: BTreeSet::new(),
            assigned: Vec::new(),
        }
    }

    /// Numbers say nothing about time, so that nobody follows them instead of the traces.
    fn id(&mut self, table: &'static str, draw: &mut Draw) -> i64 {
        fresh(draw, self.used.entry(table).or_default(), 100_000, 999_999)
    }

    fn add(&mut self, table: &'static str, row: Vec<Value>) {
        self.rows.entry(table).or_default().push(row);
    }

    /// An address outside that nobody else has, of the nets that are set aside for measurements.
    pub(super) fn address(&mut self, draw: &mut Draw) -> String {
        let number = fresh(draw, &mut self.addresses, 0, (1 << 17) - 1);
        format!("198.{}.{}.{}", 18 + (number >> 16), (number >> 8) & 255, number & 255)
    }

    /// A domain that nobody else has.
    pub(super) fn domain(&mut self, draw: &mut Draw) -> String {
        loop {
            let name = format!(
                "{}-{}{}.example",
                draw.pick(&words::SITES),
                draw.pick(&words::SITE_TAILS),
                if draw.chance(30) { draw.between(2, 99).to_string() } else { String::new() }
            );
            if self.words.insert(name.clone()) {
                return name;
            }
        }
    }

    /// A name with a number that nobody else has.
    pub(super) fn name(&mut self, stem: &str, digits: usize, draw: &mut Draw) -> String {
        loop {
            let name = format!("{stem}{}", hex(draw, digits));
            if self.words.insert(name.clone()) {
                return name;
            }
        }
    }

    /// A file to be fetched, with a name that nobody else has.
    pub(super) fn download(&mut self, draw: &mut Draw) -> String {
        let stem = format!("{}_", draw.pick(&words::DOWNLOADS));
        format!("{}.exe", self.name(&stem, 4, draw))
    }

    /// Keeps what an instance of a chain was about.
    pub(super) fn fact(&mut self, shape: &str, values: &[(&str, Value)]) {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        self.facts.entry(shape.to_owned()).or_default().push(values);
    }

    pub(super) fn mail(
        &mut self,
        at: DateTime,
        (sender, recipient): (&str, &str),
        link: Option<&str>,
        verdict: &str,
        draw: &mut Draw,
    ) -> i64 {
        let id = self.id("mails", draw);
        let subject = *draw.pick(&words::SUBJECTS);
        self.add("mails", row![id, at, sender, recipient, subject, link, verdict]);
        id
    }

    pub(super) fn web(
        &mut self,
        at: DateTime,
        workstation: &Workstation,
        domain: &str,
        download: Option<&str>,
        draw: &mut Draw,
    ) -> i64 {
        let id = self.id("web_requests", draw);
        let bytes = if download.is_some() { draw.between(200_000, 9_000_000) } else { draw.between(900, 400_000) };
        let method = if download.is_none() && draw.chance(12) { "POST" } else { "GET" };
        self.add(
            "web_requests",
            row![id, at, &workstation.host.name, &workstation.login, method, domain, download, bytes],
        );
        id
    }

    pub(super) fn dns(&mut self, at: DateTime, host: &str, name: &str, answer: &str, draw: &mut Draw) -> i64 {
        let id = self.id("dns_queries", draw);
        self.add("dns_queries", row![id, at, host, name, answer]);
        id
    }

    pub(super) fn process(&mut self, at: DateTime, process: &Process<'_>, draw: &mut Draw) -> i64 {
        let id = self.id("processes", draw);
        let Process { host, login, image, parent, hash } = process;
        self.add("processes", row![id, at, *host, *login, *image, *parent, *hash]);
        id
    }

    pub(super) fn file(
        &mut self,
        at: DateTime,
        (host, process): (&str, i64),
        (action, path): (&str, &str),
        hash: Option<&str>,
        draw: &mut Draw,
    ) -> i64 {
        let id = self.id("file_events", draw);
        self.add("file_events", row![id, at, host, process, action, path, hash]);
        id
    }

    pub(super) fn flow(&mut self, at: DateTime, flow: &Flow<'_>, draw: &mut Draw) -> i64 {
        let id = self.id("network_flows", draw);
        let Flow { source, target, port, bytes, process } = flow;
        self.add("network_flows", row![id, at, *source, *target, *port, *bytes, *process]);
        id
    }

    pub(super) fn sign_in(&mut self, at: DateTime, sign_in: &SignIn<'_>, draw: &mut Draw) -> i64 {
        let id = self.id("sign_ins", draw);
        let SignIn { login, host, source, method, success, credential } = sign_in;
        let outcome = if *success { "success" } else { "failure" };
        self.add("sign_ins", row![id, at, *login, *host, *source, *method, *credential, outcome]);
        id
    }

    /// A session over the VPN, with the address that it is given: one that no other session has at that time.
    pub(super) fn vpn(
        &mut self,
        (from, until): (DateTime, DateTime),
        login: &str,
        remote: &str,
        draw: &mut Draw,
    ) -> (i64, String) {
        let overlaps = |session: &(String, DateTime, DateTime)| session.1 <= until && from <= session.2;
        let assigned = loop {
            let address = format!("10.99.0.{}", draw.between(10, 60));
            if !self.assigned.iter().any(|session| session.0 == address && overlaps(session)) {
                break address;
            }
        };
        self.assigned.push((assigned.clone(), from, until));
        let id = self.id("vpn_sessions", draw);
        let country = *draw.pick(&words::COUNTRIES);
        self.add("vpn_sessions", row![id, from, until, login, remote, country, &assigned]);
        (id, assigned)
    }

    pub(super) fn device(
        &mut self,
        (from, until): (DateTime, DateTime),
        workstation: &Workstation,
        (serial, product): (&str, &str),
        draw: &mut Draw,
    ) {
        for (at, action) in [(from, "attach"), (until, "detach")] {
            let id = self.id("device_events", draw);
            self.add(
                "device_events",
                row![id, at, &workstation.host.name, &workstation.login, serial, product, action],
            );
        }
    }

    pub(super) fn alert(&mut self, at: DateTime, rule: &str, to: &Pointer<'_>, draw: &mut Draw) -> i64 {
        let id = self.id("alerts", draw);
        let severity = *draw.pick(&["low", "medium", "high"]);
        let status = *draw.pick(&["open", "open", "closed", "ignored"]);
        self.add(
            "alerts",
            row![id, at, rule, severity, status, to.host, to.login, to.process, to.flow, to.service, to.request],
        );
        id
    }

    pub(super) fn ticket(&mut self, at: DateTime, opened_by: &str, kind: &str, draw: &mut Draw) -> i64 {
        let id = self.id("tickets", draw);
        let summary = *draw.pick(&words::CHANGE_SUMMARIES);
        let status = *draw.pick(&["open", "done", "done", "rejected"]);
        self.add("tickets", row![id, at, opened_by, kind, summary, status]);
        id
    }

    pub(super) fn deployment(
        &mut self,
        at: DateTime,
        (service, version, commit): (&str, &str, &str),
        (author, approver): (&str, &str),
        ticket: Option<i64>,
        draw: &mut Draw,
    ) -> i64 {
        let id = self.id("deployments", draw);
        self.add("deployments", row![id, at, service, version, commit, author, approver, ticket]);
        id
    }

    pub(super) fn failure(&mut self, at: DateTime, failure: &Failure<'_>, draw: &mut Draw) -> i64 {
        let id = self.id("service_errors", draw);
        let Failure { service, version, request, upstream, code, message } = failure;
        self.add("service_errors", row![id, at, *service, *version, *request, *upstream, *code, *message]);
        id
    }

    pub(super) fn queue(&mut self, at: DateTime, service: &str, depth: i64, draw: &mut Draw) -> i64 {
        let id = self.id("queue_samples", draw);
        let oldest = depth / draw.between(3, 9);
        self.add("queue_samples", row![id, at, service, depth, oldest]);
        id
    }

    pub(super) fn change(
        &mut self,
        at: DateTime,
        (login, service): (&str, &str),
        (setting, old, new): (&str, &str, &str),
        ticket: Option<i64>,
        draw: &mut Draw,
    ) -> i64 {
        let id = self.id("config_changes", draw);
        self.add("config_changes", row![id, at, login, service, setting, old, new, ticket]);
        id
    }
}
