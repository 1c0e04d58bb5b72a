//! Upstreams as calls need them: by model, with their keys opened, kept for some seconds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dashmap::DashMap;
use http::{HeaderValue, Uri};
use palestra_auth::{DEFAULT_TENANT, Seals};
use palestra_protocol::hosts::names;
use palestra_protocol::model_call::CallKind;
use palestra_protocol::time::Timestamp;
use palestra_protocol::upstream::{Dialect, PutUpstream, Spent};
use palestra_store::row::UpstreamRow;
use palestra_store::{Store, StoreError, Tenant};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;
use tokio::sync::Semaphore;

use super::meter::{Meter, Most};

/// Time after which another node's changes are seen, in seconds.
const KEPT_S: u64 = 5;
/// Longest wait for the next part of an answer where nobody sets another, in milliseconds.
pub const SILENCE_MS_DEFAULT: u64 = 600_000;
/// Stands where the key of an upstream stood.
const HIDDEN: &str = "***";
/// Characters that stand for themselves in a part of a path.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The name that stands for every model that no upstream names.
const ANY_MODEL: &str = "*";

/// The purpose that the key of an upstream is sealed for: it opens for no other one.
#[must_use]
pub fn purpose(tenant: &str, name: &str) -> String {
    format!("key of upstream {name} of tenant {tenant}")
}

/// Refuses addresses that are none, and hosts that this server may not call for a tenant. The operator names hosts at will.
///
/// # Errors
/// With what is wrong with the address.
pub fn allowed(hosts: &[String], tenant: &str, address: &str) -> Result<(), String> {
    let url = Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.filter(|url| url.query().is_none() && url.fragment().is_none() && url.username().is_empty());
    let host = url.as_ref().and_then(|url| Some((url.host_str()?, url.port_or_known_default()?)));
    let Some((host, port)) = host else {
        return Err("the address is none: give one such as https://api.openai.com/v1, and the key in `key`".to_owned());
    };
    if tenant == DEFAULT_TENANT || names(hosts, host, port) {
        return Ok(());
    }
    Err(format!(
        "the address leads to {host}:{port}, which this server may not call: ask its operator for --upstream-hosts"
    ))
}

/// An upstream that calls are forwarded to.
pub(crate) struct Target {
    pub name: String,
    pub definition: PutUpstream,
    pub updated_at: Timestamp,
    /// As the header that its dialect has for it.
    pub key: Option<HeaderValue>,
    /// The key itself, to keep it out of what is answered and recorded.
    pub secret: Option<String>,
    pub meter: Arc<Meter>,
    pub slots: Option<Arc<Semaphore>>,
}

impl Target {
    /// The name under which the upstream knows a model.
    pub(crate) fn model<'a>(&'a self, asked: &'a str) -> Option<&'a str> {
        let known = self.definition.models.get(asked);
        let any = || self.definition.models.get(ANY_MODEL).map(|model| if model == ANY_MODEL { asked } else { model });
        known.map(String::as_str).or_else(any)
    }

    /// The same text without the key.
    pub(crate) fn without_key(&self, text: String) -> String {
        match &self.secret {
            Some(secret) => text.replace(secret.as_str(), HIDDEN),
            None => text,
        }
    }

    pub(crate) fn most(&self) -> Most {
        let budget = self.definition.budget.unwrap_or_default();
        Most { calls: budget.calls, tokens: budget.tokens, cost: budget.cost }
    }

    pub(crate) fn silence(&self) -> Duration {
        Duration::from_millis(self.definition.silence_max_ms.unwrap_or(SILENCE_MS_DEFAULT))
    }

    /// The address of an operation.
    pub(crate) fn address(&self, kind: CallKind, model: &str, streamed: bool) -> Result<Uri, String> {
        let base = self.definition.url.trim_end_matches('/');
        // Behind `*` the name is the caller's own: it must lead nowhere else.
        let model = utf8_percent_encode(model, SEGMENT);
        // Models of Gemini stand in the path.
        let address = match kind {
            CallKind::ChatCompletions => format!("{base}/chat/completions"),
            CallKind::Responses => format!("{base}/responses"),
            CallKind::Messages => format!("{base}/v1/messages"),
            CallKind::GenerateContent if streamed => {
                format!("{base}/v1beta/models/{model}:streamGenerateContent?alt=sse")
            }
            CallKind::GenerateContent => format!("{base}/v1beta/models/{model}:generateContent"),
        };
        address
            .parse()
            .map_err(|error| format!("the upstream {} has no usable address ({error}): put it with another", self.name))
    }
}

/// The upstreams of a tenant.
struct Known {
    /// Until when they are taken as they are.
    until: Instant,
    targets: Vec<Arc<Target>>,
}

/// The upstreams of all tenants that were asked for lately.
pub(crate) struct Targets {
    store: Arc<Store>,
    seals: Arc<Seals>,
    hosts: Vec<String>,
    known: DashMap<Tenant, Arc<Known>>,
}

/// Why no upstream answers for a model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoTarget {
    /// The tenant has none of the dialect.
    #[error("no upstream of this tenant speaks the dialect `{}`: make one by `PUT /v1/upstreams/{{name}}`", .0.as_str())]
    None(Dialect),
    /// None of the tenant has the model.
    #[error("no upstream of this tenant has the model {model:?}: choose one of {}", .models.join(", "))]
    Unknown { model: String, models: Vec<String> },
    /// One has it, behind another dialect.
    #[error("the model {model:?} is behind the upstream {upstream}, which speaks the dialect `{}`: call it below `/llm/{}`", .dialect.as_str(), .dialect.as_str())]
    OtherDialect { model: String, upstream: String, dialect: Dialect },
    /// Its address may not be called any more.
    #[error("the upstream {upstream} may not be called, put it again: {why}")]
    Refused { upstream: String, why: String },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Targets {
    pub(crate) fn new(store: Arc<Store>, seals: Arc<Seals>, hosts: Vec<String>) -> Self {
        Self { store, seals, hosts, known: DashMap::new() }
    }

    /// Forgets the upstreams of a tenant, which changed.
    pub(crate) fn forget(&self, tenant: &Tenant) {
        if let Some(mut known) = self.known.get_mut(tenant) {
            let targets = known.targets.clone();
            *known = Arc::new(Known { until: Instant::now(), targets });
        }
    }

    /// The upstream that answers for a model.
    pub(crate) async fn find(&self, tenant: &Tenant, dialect: Dialect, model: &str) -> Result<Arc<Target>, NoTarget> {
        let known = self.of(tenant).await?;
        let speaks = |target: &&Arc<Target>| target.definition.dialect == dialect;
        let names = |target: &&Arc<Target>| target.definition.models.contains_key(model);
        let has = |target: &&Arc<Target>| target.model(model).is_some();
        let found = known.targets.iter().filter(speaks).find(names);
        let found = found.or_else(|| known.targets.iter().filter(speaks).find(has));
        if let Some(target) = found {
            // The list of hosts may be another one than when it was put.
            return match allowed(&self.hosts, tenant, &target.definition.url) {
                Ok(()) => Ok(Arc::clone(target)),
                Err(why) => Err(NoTarget::Refused { upstream: target.name.clone(), why }),
            };
        }
        Err(match known.targets.iter().find(names) {
            Some(other) => NoTarget::OtherDialect {
                model: model.to_owned(),
                upstream: other.name.clone(),
                dialect: other.definition.dialect,
            },
            None => match models(&known.targets, dialect) {
                models if models.is_empty() => NoTarget::None(dialect),
                models => NoTarget::Unknown { model: model.to_owned(), models },
            },
        })
    }

    /// The models of a dialect that sessions of a tenant may call, in order.
    pub(crate) async fn models(&self, tenant: &Tenant, dialect: Dialect) -> Result<Vec<String>, StoreError> {
        Ok(models(&self.of(tenant).await?.targets, dialect))
    }

    /// Spent on an upstream since it was put.
    pub(crate) async fn spent(&self, tenant: &Tenant, name: &str) -> Result<Spent, StoreError> {
        let known = self.of(tenant).await?;
        Ok(known
            .targets
            .iter()
            .find(|target| target.name == name)
            .map(|target| target.meter.spent())
            .unwrap_or_default())
    }

    async fn of(&self, tenant: &Tenant) -> Result<Arc<Known>, StoreError> {
        let before = self.known.get(tenant).map(|known| Arc::clone(&known));
        if let Some(known) = before.as_ref().filter(|known| Instant::now() < known.until) {
            return Ok(Arc::clone(known));
        }
        let mut targets = Vec::new();
        for row in self.store.upstreams(tenant).await? {
            let same = |target: &&Arc<Target>| target.name == row.name && target.updated_at == row.updated_at;
            let kept = before.as_ref().and_then(|known| known.targets.iter().find(same)).map(Arc::clone);
            targets.push(match kept {
                Some(kept) => kept,
                None => Arc::new(self.open(row).await?),
            });
        }
        let known = Arc::new(Known { until: Instant::now() + Duration::from_secs(KEPT_S), targets });
        self.known.insert(Arc::clone(tenant), Arc::clone(&known));
        Ok(known)
    }

    async fn open(&self, row: UpstreamRow) -> Result<Target, StoreError> {
        let UpstreamRow { tenant, name, definition, sealed_key, updated_at } = row;
        let spent = self.store.spent_on_upstream(&tenant, &name, updated_at).await?;
        let secret = if sealed_key.is_empty() {
            None
        } else {
            let opened = self.seals.open(&purpose(&tenant, &name), &sealed_key);
            opened.inspect_err(|error| tracing::error!(upstream = name, tenant, %error, "a key cannot be used")).ok()
        };
        let header = |secret: &String| {
            let text = if definition.dialect == Dialect::Openai { &format!("Bearer {secret}") } else { secret };
            let mut value = HeaderValue::from_str(text).ok()?;
            value.set_sensitive(true);
            Some(value)
        };
        let slots = definition.calls_at_once.map(|most| Arc::new(Semaphore::new(most as usize)));
        let (key, meter) = (secret.as_ref().and_then(header), Meter::new(spent));
        Ok(Target { name, definition, updated_at, key, secret, meter, slots })
    }
}

fn models(targets: &[Arc<Target>], dialect: Dialect) -> Vec<String> {
    let speaking = targets.iter().filter(|target| target.definition.dialect == dialect);
    let mut models: Vec<String> = speaking.flat_map(|target| target.definition.models.keys().cloned()).collect();
    models.sort_unstable();
    models.dedup();
    models
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(models: &[(&str, &str)], url: &str) -> Target {
        let models = models.iter().map(|(name, model)| ((*name).to_owned(), (*model).to_owned())).collect();
        let definition = PutUpstream {
            dialect: Dialect::Gemini,
            url: url.to_owned(),
            key: None,
            models,
            extra: serde_json::Map::new(),
            price: None,
            budget: None,
            calls_at_once: None,
            silence_max_ms: None,
        };
        Target {
            name: "local".to_owned(),
            definition,
            updated_at: Timestamp::from_milliseconds(0),
            key: None,
            secret: None,
            meter: Meter::new(Spent::default()),
            slots: None,
        }
    }

    #[test]
    fn a_model_in_a_path_leads_nowhere_else() {
        let target = target(&[("*", "*")], "http://host/base/");
        for (asked, path) in [
            ("gemini-2.5-pro", "/base/v1beta/models/gemini-2.5-pro:generateContent"),
            ("../../files?x=", "/base/v1beta/models/..%2F..%2Ffiles%3Fx%3D:generateContent"),
            ("a#b", "/base/v1beta/models/a%23b:generateContent"),
        ] {
            let model = target.model(asked).unwrap();
            let address = target.address(CallKind::GenerateContent, model, false).unwrap();
            assert_eq!((address.path(), address.query()), (path, None));
        }
    }

    #[test]
    fn the_operator_names_hosts_at_will_and_others_those_of_the_list() {
        let hosts = ["models.example".to_owned()];
        assert!(allowed(&hosts, DEFAULT_TENANT, "http://10.0.0.1:8000/v1").is_ok());
        assert!(allowed(&hosts, "other", "https://models.example/v1").is_ok());
        for address in ["http://10.0.0.1:8000/v1", "http://models.example.evil/v1", "http://models.example@evil/v1"] {
            assert!(allowed(&hosts, "other", address).is_err(), "{address}");
        }
    }
}
