//! Policies behind a URL: whoever answers OpenAI's chat completions there.
//!
//! The address comes from a job's spec, which a tenant wrote, so a worker goes only to hosts that its owner allowed, and follows nobody
//! elsewhere.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use palestra_protocol::action::Action;
use palestra_protocol::hosts::names;
use palestra_protocol::spec::play::Sampling;
use reqwest::header::RETRY_AFTER;
use reqwest::redirect::Policy as Redirects;
use reqwest::{Client as Http, StatusCode, Url};
use serde_json::{Map, Value, json};

use super::PlayError;
use super::turn::{CUT, PolicyInput, PolicyOutput, Tokens};

/// Time limit of connecting, in milliseconds.
const CONNECT_MS_MAX: u64 = 10_000;
/// Time limit of an answer where nobody sets another, in seconds.
pub const ANSWER_S_DEFAULT: u64 = 600;
/// Longest time limit of an answer, in seconds.
pub const ANSWER_S_MAX: u64 = 86_400;
/// Bytes of an answer.
const ANSWER_BYTES_MAX: usize = 8 << 20;
/// Characters of a refusal that are quoted.
const EXCERPT_CHARACTERS_MAX: usize = 300;
/// Number of tries of a request before the episode is given up.
const TRIES_MAX: u32 = 4;
/// Wait before the second try, in milliseconds; doubled by each further one.
const BACKOFF_MS: u64 = 500;
/// Longest wait that the other side may ask for, in seconds.
const RETRY_AFTER_S_MAX: u64 = 60;
/// Name of the model where the address has none.
const MODEL_DEFAULT: &str = "default";

/// To which hosts a policy's address may lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hosts {
    /// Everywhere: whoever runs the program named the address.
    Any,
    /// These alone, as `host` or `host:port`.
    Only(Vec<String>),
}

impl Hosts {
    fn allow(&self, url: &Url) -> bool {
        let Self::Only(allowed) = self else { return true };
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return false };
        names(allowed, host, port)
    }
}

/// A policy behind a URL.
pub struct Endpoint {
    http: Http,
    url: Url,
    model: String,
    key: Option<String>,
    sampling: Sampling,
    /// True once it has answered: what it refuses from then on is a fault of one request.
    answered: AtomicBool,
}

impl Endpoint {
    /// The policy at `address`, such as `http://localhost:8000/v1#qwen3-8b`: what stands behind `#` is the model that is asked for. `key`
    /// is sent as a bearer credential.
    ///
    /// # Errors
    /// When that is no address, or its host is not allowed.
    pub fn new(
        address: &str,
        hosts: &Hosts,
        key: Option<&str>,
        sampling: &Sampling,
        answer_timeout: Duration,
    ) -> Result<Self, PlayError> {
        let mut url = Url::parse(address).map_err(|error| PlayError::Policy(format!("{address:?}: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(PlayError::Policy(format!("{address:?} is no address: give one of the form http://host/v1")));
        }
        if !hosts.allow(&url) {
            let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
            return Err(PlayError::Policy(format!(
                "this worker may not ask policies at {host}:{port}: allow it by --allow-policy-host"
            )));
        }
        let model = url.fragment().filter(|name| !name.is_empty()).unwrap_or(MODEL_DEFAULT).to_owned();
        url.set_fragment(None);
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["chat", "completions"]);
        }
        let http = Http::builder()
            .redirect(Redirects::none())
            .connect_timeout(Duration::from_millis(CONNECT_MS_MAX))
            .timeout(answer_timeout)
            .build()
            .map_err(|error| PlayError::Policy(error.to_string()))?;
        Ok(Self {
            http,
            url,
            model,
            key: key.map(str::to_owned),
            sampling: sampling.clone(),
            answered: AtomicBool::new(false),
        })
    }

    /// The next turn.
    ///
    /// # Errors
    /// When the other side refuses, answers something else, or cannot be reached in some tries.
    pub async fn answer(&self, asked: &PolicyInput<'_>) -> Result<PolicyOutput, PlayError> {
        let body = self.body(asked);
        let mut wait = BACKOFF_MS;
        for tried in 1.. {
            match self.ask(&body).await {
                Err(Refusal { may_pass: true, wait: told, .. }) if tried < TRIES_MAX => {
                    tokio::time::sleep(told.unwrap_or(Duration::from_millis(wait))).await;
                    wait *= 2;
                }
                answered => return answered.map_err(|refusal| refusal.error),
            }
        }
        Err(PlayError::Turn("no answer".to_owned()))
    }

    fn body(&self, asked: &PolicyInput<'_>) -> Value {
        let Sampling { temperature, top_p, max_tokens, tool_format: _ } = self.sampling;
        let mut body = json!({
            "model": self.model, "messages": asked.conversation.messages(), "temperature": temperature, "top_p": top_p,
            "max_tokens": max_tokens, "seed": asked.seed,
        });
        if !asked.conversation.tools().is_empty() {
            body["tools"] = json!(asked.conversation.tools());
        }
        body
    }

    async fn ask(&self, body: &Value) -> Result<PolicyOutput, Refusal> {
        let mut request = self.http.post(self.url.clone()).json(body);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        // Who has thought for so long would think as long again.
        let unreachable = |error: reqwest::Error| {
            let may_pass = !error.is_timeout() || error.is_connect();
            Refusal { error: PlayError::Turn(causes(&error.without_url())), may_pass, wait: None }
        };
        let mut response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let wait =
            response.headers().get(RETRY_AFTER).and_then(|value| retry_after(value.to_str().ok()?, SystemTime::now()));
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
                let told = format!("the policy's answer is larger than {ANSWER_BYTES_MAX} bytes: lower its max_tokens");
                return Err(Refusal { error: PlayError::Turn(told), may_pass: false, wait: None });
            }
            bytes.extend_from_slice(&chunk);
        }
        if status.is_success() {
            self.answered.store(true, Ordering::Relaxed);
            read(&bytes).map_err(Refusal::passing)
        } else {
            Err(refusal(status, wait, &bytes, self.answered.load(Ordering::Relaxed)))
        }
    }
}

/// A request that was not answered.
#[derive(Debug)]
struct Refusal {
    error: PlayError,
    /// True if the same request may be answered later.
    may_pass: bool,
    /// Time after which the other side wants to be asked again.
    wait: Option<Duration>,
}

impl Refusal {
    const fn passing(error: PlayError) -> Self {
        Self { error, may_pass: true, wait: None }
    }
}

/// Time to wait as `Retry-After` says it: in seconds, or by the date (RFC 9110, section 10.2.3). A date that has passed asks for none.
fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    httpdate::parse_http_date(text).ok().map(|date| date.duration_since(now).unwrap_or_default())
}

/// A passing failure may be tried again, after the time that `Retry-After` says; a fault of the request itself may not. Any other ends
/// all episodes, unless the policy has answered before: then address and key are right.
fn refusal(status: StatusCode, retry_after: Option<Duration>, bytes: &[u8], answered: bool) -> Refusal {
    let text: String = String::from_utf8_lossy(bytes).chars().take(EXCERPT_CHARACTERS_MAX).collect();
    let told = |advice: &str| format!("the policy's server answered {status}, {advice}: {text}");
    let wait = retry_after.map(|wait| wait.min(Duration::from_secs(RETRY_AFTER_S_MAX)));
    match status {
        StatusCode::TOO_MANY_REQUESTS => {
            Refusal { error: PlayError::Turn(told("play fewer episodes at once")), may_pass: true, wait }
        }
        _ if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT => {
            Refusal { error: PlayError::Turn(told("look at its log")), may_pass: true, wait }
        }
        // A conversation that is too long for the model is refused alike; other episodes may be shorter.
        StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE => {
            let error = PlayError::Turn(told("correct what it does not take"));
            Refusal { error, may_pass: false, wait: None }
        }
        _ if answered => Refusal { error: PlayError::Turn(told("look at its log")), may_pass: false, wait: None },
        _ => Refusal { error: PlayError::Policy(told("check its address and its key")), may_pass: false, wait: None },
    }
}

/// An error with its causes, the last of which says what happened.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(&format!(": {cause}"));
        next = cause.source();
    }
    text
}

/// The first choice of a chat completion.
fn read(bytes: &[u8]) -> Result<PolicyOutput, PlayError> {
    let mut completion: Value = serde_json::from_slice(bytes)
        .map_err(|error| PlayError::Turn(format!("the policy's server answered no JSON: {error}")))?;
    let count = |field: &str| completion["usage"][field].as_u64().unwrap_or(0);
    let ended = completion.pointer("/choices/0/finish_reason").and_then(Value::as_str).map(str::to_owned);
    let cut = u64::from(ended.as_deref() == Some(CUT));
    let tokens = Tokens { prompt: count("prompt_tokens"), completion: count("completion_tokens"), cut };
    let Some(Value::Object(mut message)) = completion.pointer_mut("/choices/0/message").map(Value::take) else {
        return Err(PlayError::Turn("the policy's server answered no chat completion".to_owned()));
    };
    message.insert("role".to_owned(), json!("assistant"));
    let mut meta = tokens.meta();
    if let Some(ended) = ended {
        meta["finish_reason"] = json!(ended);
    }
    Ok(PolicyOutput { action: Action::Message(Map::from_iter(message)), tokens, meta: Some(meta) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(names: &[&str]) -> Hosts {
        Hosts::Only(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn only_allowed_hosts_are_asked() {
        let url = |text: &str| Url::parse(text).unwrap();
        let allowed = hosts(&["models.example", "10.0.0.1:8000"]);
        for (address, expected) in [
            ("https://models.example/v1", true),
            ("http://MODELS.example:9000/v1", true),
            ("http://10.0.0.1:8000/v1", true),
            ("http://10.0.0.1/v1", false),
            ("http://models.example.evil/v1", false),
            ("http://models.example@evil/v1", false),
            ("http://169.254.169.254/latest", false),
        ] {
            assert_eq!(allowed.allow(&url(address)), expected, "{address}");
        }
        assert!(Hosts::Any.allow(&url("http://anywhere")));
        assert!(!hosts(&[]).allow(&url("http://anywhere")));
    }

    #[test]
    fn what_stands_behind_the_sign_names_the_model() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (sampling, timeout) = (Sampling::default(), Duration::from_secs(ANSWER_S_DEFAULT));
        let new = |address| Endpoint::new(address, &Hosts::Any, None, &sampling, timeout);
        let endpoint = new("http://localhost:8000/v1/#qwen").unwrap();
        assert_eq!((endpoint.url.as_str(), &*endpoint.model), ("http://localhost:8000/v1/chat/completions", "qwen"));
        let endpoint = new("http://localhost:8000").unwrap();
        assert_eq!(endpoint.model, MODEL_DEFAULT);
        for wrong in ["localhost", "file:///etc/passwd"] {
            assert!(matches!(new(wrong), Err(PlayError::Policy(_))), "{wrong}");
        }
    }

    #[test]
    fn a_wait_is_told_in_seconds_or_by_a_date() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let seconds = |text| retry_after(text, now).map(|wait| wait.as_secs());
        assert_eq!(seconds(" 7 "), Some(7));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:50:07 GMT"), Some(30));
        assert_eq!(seconds("Sunday, 06-Nov-94 08:50:07 GMT"), Some(30), "the form of RFC 850 is read too");
        assert_eq!(seconds("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0));
        assert_eq!(seconds("soon"), None);
    }

    #[test]
    fn a_refusal_says_whether_and_when_to_ask_again() {
        let told = |status, after: Option<u64>| {
            let refusal = refusal(status, after.map(Duration::from_secs), b"why", false);
            (refusal.may_pass, refusal.wait.map(|wait| wait.as_secs()), refusal.error.ends_all())
        };
        assert_eq!(told(StatusCode::TOO_MANY_REQUESTS, Some(7)), (true, Some(7), false));
        assert_eq!(told(StatusCode::SERVICE_UNAVAILABLE, Some(100_000)), (true, Some(RETRY_AFTER_S_MAX), false));
        assert_eq!(told(StatusCode::INTERNAL_SERVER_ERROR, None), (true, None, false));
        assert_eq!(told(StatusCode::BAD_REQUEST, Some(7)), (false, None, false), "the same request is refused again");
        assert_eq!(told(StatusCode::UNAUTHORIZED, None), (false, None, true), "so is every other");
        let later = refusal(StatusCode::NOT_FOUND, None, b"why", true);
        assert!(!later.may_pass && !later.error.ends_all(), "who has answered has a right address");
    }

    #[test]
    fn a_completion_is_an_action_with_its_tokens() {
        let completion = json!({"choices": [{"message": {"role": "assistant", "content": "4"}, "finish_reason": "length"}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 2}});
        let answered = read(completion.to_string().as_bytes()).unwrap();
        assert_eq!(answered.tokens, Tokens { prompt: 9, completion: 2, cut: 1 });
        assert_eq!(answered.meta.as_ref().map(Tokens::recorded), Some(answered.tokens));
        assert!(matches!(answered.action, Action::Message(message) if message["content"] == "4"));
        assert!(read(b"{}").is_err() && read(b"<html>").is_err());
    }
}
