//! `task.toml` of the public layout, schema 1.0 to 1.4. What cannot be honoured is a fault; what does not concern an episode is
//! read and passed over.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Value;

/// A task's settings.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
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
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Verifier {
    pub(super) timeout_sec: Option<f64>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) user: Option<Name>,
    pub(super) environment_mode: Option<String>,
    pub(super) environment: Option<Environment>,
    pub(super) collect: Vec<Value>,
    pub(super) network_mode: Option<String>,
    #[serde(rename = "allowed_hosts")]
    _allowed_hosts: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Agent {
    pub(super) timeout_sec: Option<f64>,
    pub(super) user: Option<Name>,
    pub(super) network_mode: Option<String>,
    #[serde(rename = "allowed_hosts")]
    _allowed_hosts: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Environment {
    #[serde(rename = "build_timeout_sec")]
    _build_timeout_sec: Option<f64>,
    pub(super) docker_image: Option<String>,
    pub(super) os: Option<String>,
    pub(super) cpus: Option<f64>,
    pub(super) memory_mb: Option<u64>,
    pub(super) memory: Option<String>,
    #[serde(rename = "storage_mb")]
    _storage_mb: Option<u64>,
    #[serde(rename = "storage")]
    _storage: Option<String>,
    pub(super) gpus: Option<u64>,
    #[serde(rename = "gpu_types")]
    _gpu_types: Option<Vec<String>>,
    pub(super) tpu: Option<Value>,
    pub(super) mcp_servers: Vec<Value>,
    pub(super) env: BTreeMap<String, String>,
    #[serde(rename = "skills_dir")]
    _skills_dir: Option<String>,
    pub(super) healthcheck: Option<Value>,
    pub(super) workdir: Option<String>,
    pub(super) allow_internet: Option<bool>,
    pub(super) network_mode: Option<String>,
    #[serde(rename = "allowed_hosts")]
    _allowed_hosts: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
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
        #[serde(default)]
        service: Option<String>,
    },
}

impl Config {
    /// Reads one.
    ///
    /// # Errors
    /// In words, with line and column.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())
    }

    /// True if the task says that it needs no network, whatever mode it names.
    fn offline(&self) -> bool {
        self.metadata.get("offline").and_then(Value::as_bool).unwrap_or(false)
    }

    /// Unsupported settings, each with its field.
    pub(super) fn faults(&self, memory_bytes: u64, cpu_thousandths: u64) -> Vec<(String, String)> {
        let mut faults = Vec::new();
        let mut fault = |field: &str, detail: String| faults.push((field.to_owned(), detail));
        if let Some(version) = &self.schema_version
            && !version.starts_with("1.")
            && version != "1"
        {
            fault("schema_version", format!("{version:?} is not known: use 1.0 to 1.4"));
        }
        if self.steps.as_ref().is_some_and(|steps| !steps.is_empty()) {
            fault("steps", "tasks of several steps are not supported: split them".to_owned());
        }
        if !self.verifier.collect.is_empty() {
            fault("verifier.collect", "is not supported: leave it out".to_owned());
        }
        if let Some(mode) = &self.verifier.environment_mode
            && !["shared", "separate", "in_place"].contains(&mode.as_str())
        {
            fault("verifier.environment_mode", format!("{mode:?} must be shared, separate or in_place"));
        }
        if self.verifier.environment.is_some()
            && self.verifier.environment_mode.as_deref().is_some_and(|mode| mode != "separate")
        {
            fault("verifier.environment", "must be used with environment_mode = \"separate\"".to_owned());
        }
        for (field, seconds) in
            [("verifier.timeout_sec", self.verifier.timeout_sec), ("agent.timeout_sec", self.agent.timeout_sec)]
        {
            if seconds.is_some_and(|seconds| !(seconds.is_finite() && seconds > 0.0)) {
                fault(field, "must be above 0".to_owned());
            }
        }
        let modes = [
            ("environment.network_mode", &self.environment.network_mode),
            ("agent.network_mode", &self.agent.network_mode),
            ("verifier.network_mode", &self.verifier.network_mode),
        ];
        for (field, mode) in modes {
            if let Some(detail) = mode.as_deref().and_then(|mode| self.network(mode)) {
                fault(field, detail);
            }
        }
        let environments =
            [("environment", Some(&self.environment)), ("verifier.environment", self.verifier.environment.as_ref())];
        for (place, environment) in environments {
            let Some(environment) = environment else { continue };
            if environment.network_mode.is_none()
                && environment.allow_internet == Some(true)
                && let Some(detail) = self.network("public")
            {
                fault(&format!("{place}.allow_internet"), detail);
            }
            for (field, detail) in environment.faults(memory_bytes, cpu_thousandths) {
                fault(&format!("{place}.{field}"), detail);
            }
        }
        for artifact in &self.artifacts {
            if let Artifact::Entry { service: Some(service), .. } = artifact
                && service != "main"
            {
                fault("artifacts", format!("there is no service {service:?}: leave it out"));
            }
            if artifact.source().split('/').any(|part| part == "..") {
                fault("artifacts", format!("{:?} leads elsewhere: use a path inside the folder", artifact.source()));
            }
        }
        faults
    }

    fn network(&self, mode: &str) -> Option<String> {
        match mode {
            "no-network" => None,
            "public" | "allowlist" if self.offline() => None,
            "public" | "allowlist" => Some(format!(
                "{mode:?} cannot be honoured: sandboxes have no network. Where the task needs none, say \"no-network\", or \
                 `offline = true` under [metadata]"
            )),
            other => Some(format!("{other:?} is none of no-network, public and allowlist")),
        }
    }
}

impl Environment {
    fn faults(&self, memory_bytes: u64, cpu_thousandths: u64) -> Vec<(&'static str, String)> {
        let mut faults = Vec::new();
        if self.os.as_deref().is_some_and(|os| !os.eq_ignore_ascii_case("linux")) {
            faults.push(("os", "is linux".to_owned()));
        }
        if self.cpus.is_some_and(|cpus| cpus.is_nan() || cpus * 1_000.0 > cpu_thousandths as f64) {
            faults.push(("cpus", format!("sandboxes have {} cores", cpu_thousandths as f64 / 1_000.0)));
        }
        let memory_mb = match (&self.memory_mb, &self.memory) {
            (Some(memory), _) => Some(*memory),
            (None, Some(memory)) => match megabytes(memory) {
                Some(memory) => Some(memory),
                None => {
                    faults.push(("memory", format!("{memory:?} is no size such as 2G or 512M")));
                    None
                }
            },
            (None, None) => None,
        };
        if memory_mb.is_some_and(|memory| memory.saturating_mul(1 << 20) > memory_bytes) {
            faults.push(("memory_mb", format!("sandboxes have {} MB", memory_bytes >> 20)));
        }
        if self.gpus.is_some_and(|gpus| gpus > 0) {
            faults.push(("gpus", "sandboxes have none".to_owned()));
        }
        if self.tpu.is_some() {
            faults.push(("tpu", "sandboxes have none".to_owned()));
        }
        if !self.mcp_servers.is_empty() {
            faults.push(("mcp_servers", "are not supported".to_owned()));
        }
        if self.healthcheck.is_some() {
            faults.push(("healthcheck", "is not supported: leave it out".to_owned()));
        }
        faults
    }
}

impl Artifact {
    /// Where it is.
    pub(super) fn source(&self) -> &str {
        match self {
            Self::Path(source) | Self::Entry { source, .. } => source,
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
