//! `task.toml` of the public layout, schema 1.0 to 1.4. What cannot be honoured is a fault; what is not honoured and may not matter,
//! as the proof shows, is a note, also a field that the layout does not have; what does not concern an episode is read and passed over.

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_sandbox::{Demand, NetworkAllowance, Profile, Sandboxes, shipped};
use serde::Deserialize;
use toml::Value;

/// A task's settings.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Config {
    #[serde(alias = "version")]
    pub(super) schema_version: Option<String>,
    pub(super) task: Option<toml::Table>,
    pub(super) metadata: toml::Table,
    pub(super) verifier: Verifier,
    pub(super) agent: Agent,
    pub(super) environment: Environment,
    pub(super) solution: Solution,
    #[serde(rename = "source")]
    _source: Option<String>,
    #[serde(rename = "multi_step_reward_strategy")]
    _multi_step_reward_strategy: Option<String>,
    pub(super) steps: Option<Vec<Value>>,
    pub(super) artifacts: Vec<Artifact>,
    /// Fields that the layout does not have.
    #[serde(skip)]
    unknown: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Verifier {
    pub(super) timeout_sec: Option<f64>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) user: Option<Name>,
    pub(super) environment_mode: Option<String>,
    pub(super) environment: Option<Environment>,
    pub(super) collect: Vec<Collect>,
    pub(super) network_mode: Option<String>,
    pub(super) network: Option<NetworkTable>,
    #[serde(rename = "allowed_hosts")]
    _allowed_hosts: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Agent {
    pub(super) timeout_sec: Option<f64>,
    pub(super) user: Option<Name>,
    pub(super) network_mode: Option<String>,
    pub(super) network: Option<NetworkTable>,
    #[serde(rename = "setup_network")]
    _setup_network: Option<NetworkTable>,
    #[serde(rename = "allowed_hosts")]
    _allowed_hosts: Option<Vec<String>>,
}

/// A mode of the network in a table of its own.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NetworkTable {
    mode: Option<String>,
    #[serde(rename = "allowed_hosts")]
    _allowed_hosts: Option<Vec<String>>,
}

/// A command that leaves something to be judged.
#[derive(Debug, Deserialize)]
pub(super) struct Collect {
    pub(super) command: String,
    #[serde(default)]
    pub(super) service: Option<String>,
    #[serde(default)]
    pub(super) user: Option<Name>,
    #[serde(default)]
    pub(super) timeout_sec: Option<f64>,
}

/// A command that succeeds once the environment can be used.
#[derive(Debug, Deserialize)]
pub(super) struct Healthcheck {
    pub(super) command: String,
    #[serde(default = "five")]
    pub(super) interval_sec: f64,
    #[serde(default = "thirty")]
    pub(super) timeout_sec: f64,
    #[serde(default)]
    pub(super) start_period_sec: f64,
    #[serde(default = "five", rename = "start_interval_sec")]
    _start_interval_sec: f64,
    #[serde(default = "three")]
    pub(super) retries: u32,
}

fn five() -> f64 {
    5.0
}

fn thirty() -> f64 {
    30.0
}

fn three() -> u32 {
    3
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Environment {
    #[serde(rename = "build_timeout_sec")]
    _build_timeout_sec: Option<f64>,
    pub(super) docker_image: Option<String>,
    pub(super) os: Option<String>,
    pub(super) cpus: Option<f64>,
    pub(super) memory_mb: Option<u64>,
    pub(super) memory: Option<String>,
    pub(super) storage_mb: Option<u64>,
    pub(super) storage: Option<String>,
    pub(super) gpus: Option<u64>,
    #[serde(rename = "gpu_types")]
    _gpu_types: Option<Vec<String>>,
    pub(super) tpu: Option<Value>,
    pub(super) mcp_servers: Vec<Value>,
    pub(super) env: BTreeMap<String, String>,
    #[serde(rename = "skills_dir")]
    _skills_dir: Option<String>,
    pub(super) healthcheck: Option<Healthcheck>,
    pub(super) workdir: Option<String>,
    pub(super) allow_internet: Option<bool>,
    pub(super) network_mode: Option<String>,
    pub(super) network: Option<NetworkTable>,
    #[serde(rename = "allowed_hosts")]
    _allowed_hosts: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Solution {
    pub(super) env: BTreeMap<String, String>,
}

/// A user by name or number.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Name {
    Name(String),
    Number(u32),
}

/// Something that is taken when judging begins.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Artifact {
    Path(String),
    Entry {
        source: String,
        #[serde(default, rename = "destination")]
        _destination: Option<String>,
        #[serde(default)]
        service: Option<String>,
        #[serde(default)]
        exclude: Vec<String>,
    },
}

/// Findings in the settings, each fault with its field.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) faults: Vec<(String, String)>,
    pub(super) notes: Vec<String>,
}

impl Findings {
    fn fault(&mut self, field: impl Into<String>, detail: impl Into<String>) {
        self.faults.push((field.into(), detail.into()));
    }
}

impl Config {
    /// Reads one.
    ///
    /// # Errors
    /// In words, with line and column.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let words = |error: toml::de::Error| error.to_string().trim_end().to_owned();
        let mut unknown = Vec::new();
        let reader = toml::Deserializer::parse(text).map_err(words)?;
        let config = serde_ignored::deserialize(reader, |field| unknown.push(field.to_string())).map_err(words)?;
        Ok(Self { unknown, ..config })
    }

    /// True if the task says that it needs no network, whatever mode it names.
    fn offline(&self) -> bool {
        self.metadata.get("offline").and_then(Value::as_bool).unwrap_or(false)
    }

    /// Settings that cannot be honoured, and those that are not.
    pub(super) fn findings(&self, sandboxes: &Sandboxes) -> Findings {
        let mut found = Findings::default();
        found.notes.extend(self.unknown.iter().map(|field| {
            format!("{field} is no field of the layout, and the task was proven without it: leave it out, or look for a slip")
        }));
        if let Some(version) = &self.schema_version
            && !version.starts_with("1.")
            && version != "1"
        {
            found.fault("schema_version", format!("{version:?} is not known: use 1.0 to 1.4"));
        }
        if let Some(steps) = self.steps.as_ref().filter(|steps| !steps.is_empty()) {
            let count = steps.len();
            let why = format!(
                "{count} steps: tasks of several steps are not supported, since a session has one instruction and one verdict; \
                 publish each step as a task"
            );
            found.fault("steps", why);
        }
        if let Some(mode) = &self.verifier.environment_mode
            && !["shared", "separate", "in_place"].contains(&mode.as_str())
        {
            found.fault("verifier.environment_mode", format!("{mode:?} must be shared, separate or in_place"));
        }
        if self.verifier.environment.is_some()
            && self.verifier.environment_mode.as_deref().is_some_and(|mode| mode != "separate")
        {
            found.fault("verifier.environment", "must be used with environment_mode = \"separate\"");
        }
        for (field, seconds) in
            [("verifier.timeout_sec", self.verifier.timeout_sec), ("agent.timeout_sec", self.agent.timeout_sec)]
        {
            if let Some(seconds) = seconds.filter(|seconds| !(seconds.is_finite() && *seconds > 0.0)) {
                found.fault(field, format!("{seconds} must be above 0"));
            }
        }
        self.network_findings(sandboxes, &mut found);
        self.environment.findings("environment", sandboxes, &mut found);
        if let Some(environment) = &self.verifier.environment {
            environment.findings("verifier.environment", sandboxes, &mut found);
        }
        self.artifact_findings(&mut found);
        found
    }

    fn network_findings(&self, sandboxes: &Sandboxes, found: &mut Findings) {
        let (agent, verifier) = (&self.agent, &self.verifier);
        let modes = [
            ("environment", self.environment.network_mode()),
            ("agent", mode(agent.network_mode.as_ref(), agent.network.as_ref())),
            ("verifier", mode(verifier.network_mode.as_ref(), verifier.network.as_ref())),
            ("verifier.environment", verifier.environment.as_ref().and_then(Environment::network_mode)),
        ];
        for (place, mode) in modes {
            let Some((field, mode)) = mode else { continue };
            let field = format!("{place}.{field}");
            match mode {
                "no-network" => {}
                _ if self.offline() && ["public", "allowlist"].contains(&mode) => {}
                "public" if sandboxes.allowance().network == NetworkAllowance::All => {}
                "public" => found.notes.push(format!(
                    "{field} asks for a network ({mode}), and sandboxes have none: the task was proven without; --sandbox-network all gives it one"
                )),
                "allowlist" => found.notes.push(format!(
                    "{field} asks for some hosts ({mode}), and sandboxes reach all or none: the task was proven without a network"
                )),
                other => found.fault(field, format!("{other:?} must be no-network, public or allowlist")),
            }
        }
    }

    fn artifact_findings(&self, found: &mut Findings) {
        for artifact in &self.artifacts {
            if let Artifact::Entry { service: Some(service), .. } = artifact
                && service != "main"
            {
                found.fault("artifacts", other_service(service));
            }
            if artifact.source().split('/').any(|part| part == "..") {
                found.fault(
                    "artifacts",
                    format!("{:?} leads elsewhere: use a path inside the folder", artifact.source()),
                );
            }
        }
        for collect in &self.verifier.collect {
            if let Some(service) = collect.service.as_ref().filter(|service| *service != "main") {
                found.fault("verifier.collect", other_service(service));
            }
        }
    }

    /// True if the acting side is to have a network, where the operator allows one.
    pub(super) fn wants_network(&self) -> bool {
        let agent = mode(self.agent.network_mode.as_ref(), self.agent.network.as_ref());
        let asked = agent.or_else(|| self.environment.network_mode());
        asked.is_some_and(|(_, mode)| mode == "public") && !self.offline()
    }

    /// The same for the tests; as the acting side where it is left out.
    pub(super) fn verifier_wants_network(&self) -> Option<bool> {
        let own = mode(self.verifier.network_mode.as_ref(), self.verifier.network.as_ref());
        own.map(|(_, mode)| mode == "public" && !self.offline())
    }
}

fn other_service(service: &str) -> String {
    format!("there is no service {service:?}, since a task has one container: name main, or leave it out")
}

/// A mode of the network with the field that names it.
fn mode<'a>(plain: Option<&'a String>, table: Option<&'a NetworkTable>) -> Option<(&'static str, &'a str)> {
    let plain = plain.map(|mode| ("network_mode", mode.as_str()));
    plain.or_else(|| Some(("network.mode", table?.mode.as_deref()?)))
}

impl Environment {
    fn network_mode(&self) -> Option<(&'static str, &str)> {
        let allowed = self.allow_internet.map(|allowed| {
            let mode = if allowed { "public" } else { "no-network" };
            ("allow_internet", mode)
        });
        mode(self.network_mode.as_ref(), self.network.as_ref()).or(allowed)
    }

    /// Demand on sandboxes; more disk than the operator allows is not asked for.
    pub(super) fn demand(&self, sandboxes: &Sandboxes) -> Demand {
        let megabytes = |number: Option<u64>, text: &Option<String>| {
            let asked = number.or_else(|| megabytes(text.as_ref()?))?;
            Some(asked.saturating_mul(1 << 20)).filter(|bytes| *bytes > 0)
        };
        let cores = self.cpus.filter(|cpus| cpus.is_finite() && *cpus > 0.0);
        let disk = megabytes(self.storage_mb, &self.storage);
        Demand {
            memory_bytes: megabytes(self.memory_mb, &self.memory),
            cpu_thousandths: cores.map(|cpus| (cpus * 1_000.0) as u64),
            disk_bytes: disk.filter(|bytes| *bytes <= most_disk(sandboxes)),
            network: false,
        }
    }

    fn findings(&self, place: &str, sandboxes: &Sandboxes, found: &mut Findings) {
        if let Some(os) = self.os.as_ref().filter(|os| !os.eq_ignore_ascii_case("linux")) {
            found.fault(format!("{place}.os"), format!("{os:?}: sandboxes are linux, leave it out"));
        }
        for (field, size) in [("memory", &self.memory), ("storage", &self.storage)] {
            if let Some(size) = size.as_ref().filter(|size| megabytes(size).is_none()) {
                found.fault(format!("{place}.{field}"), format!("{size:?} is no size such as 2G or 512M"));
            }
        }
        if let Some(cpus) = self.cpus.filter(|cpus| !(cpus.is_finite() && *cpus > 0.0)) {
            found.fault(format!("{place}.cpus"), format!("{cpus} must be above 0"));
        }
        if let Some(profile) = root() {
            for (limit, why) in self.demand(sandboxes).beyond(&profile, sandboxes.allowance()) {
                let field = if limit == "cores" { "cpus" } else { "memory_mb" };
                found.fault(format!("{place}.{field}"), why);
            }
        }
        let storage = self.storage_mb.or_else(|| megabytes(self.storage.as_ref()?));
        if let Some(storage) = storage.filter(|storage| storage.saturating_mul(1 << 20) > most_disk(sandboxes)) {
            found.notes.push(format!(
                "{place}.storage_mb asks for {storage} MB of disk, and sandboxes have at most {}: the task was proven with that; \
                 --sandbox-disk-max {storage} gives it more",
                most_disk(sandboxes) >> 20
            ));
        }
        if let Some(gpus) = self.gpus.filter(|gpus| *gpus > 0) {
            found.fault(format!("{place}.gpus"), format!("{gpus}: sandboxes have none, leave it out"));
        }
        if self.tpu.is_some() {
            found.fault(format!("{place}.tpu"), "sandboxes have none: leave it out");
        }
        if !self.mcp_servers.is_empty() {
            let names: Vec<&str> =
                self.mcp_servers.iter().filter_map(|server| server.get("name").and_then(Value::as_str)).collect();
            let why = format!(
                "{} are not supported: an agent acts by the tools of the terminal alone; start them in the environment instead",
                if names.is_empty() { "MCP servers".to_owned() } else { names.join(", ") }
            );
            found.fault(format!("{place}.mcp_servers"), why);
        }
    }
}

/// The profile under which folders are played.
fn root() -> Option<Arc<Profile>> {
    shipped::profiles().ok()?.remove("root")
}

/// Most bytes of disk that a task can have.
fn most_disk(sandboxes: &Sandboxes) -> u64 {
    let given = root().map_or(0, |profile| profile.disk_bytes.value);
    sandboxes.allowance().disk_bytes_max.unwrap_or(given).max(given)
}

impl Healthcheck {
    /// A script that waits until the command succeeds.
    pub(super) fn script(&self) -> String {
        let command = self.command.replace('\'', r"'\''");
        let (interval, timeout, start) = (self.interval_sec, self.timeout_sec, self.start_period_sec);
        // Failures of the starting period do not count.
        let early = if interval > 0.0 { (start / interval).ceil() as u32 } else { 0 };
        let tries = self.retries.max(1).saturating_add(early);
        format!(
            "for try in $(seq {tries}); do\n  timeout {timeout} bash -c '{command}' && exit 0\n  sleep {interval}\ndone\n\
             echo 'the healthcheck did not succeed: {command}'\nexit 1\n"
        )
    }
}

impl Artifact {
    /// Where it is.
    pub(super) fn source(&self) -> &str {
        match self {
            Self::Path(source) | Self::Entry { source, .. } => source,
        }
    }

    /// Patterns of what is left out.
    pub(super) fn excluded(&self) -> &[String] {
        match self {
            Self::Path(_) => &[],
            Self::Entry { exclude, .. } => exclude,
        }
    }
}

impl Name {
    /// As text.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Name(name) => name.clone(),
            Self::Number(number) => number.to_string(),
        }
    }
}

fn megabytes(size: &str) -> Option<u64> {
    let size = size.trim().to_ascii_uppercase();
    let (number, unit) = size.split_at(size.len().checked_sub(1)?);
    let number: f64 = number.parse().ok()?;
    let factor = match unit {
        "G" => 1_024.0,
        "M" => 1.0,
        "K" => 1.0 / 1_024.0,
        _ => return None,
    };
    Some((number * factor) as u64)
}
