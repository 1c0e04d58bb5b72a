//! The pages of one session on what somebody published, and what was asked of them.

use std::sync::Arc;

use async_trait::async_trait;
use palestra_browser::{Answer, Request, Site, Unanswered, Upstream};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use url::Url;

use super::content::Content;
use super::live::LiveHost;
use super::task::{Done, SiteTask};
use crate::browsed::Pages;
use palestra_environment::state::State;
use palestra_environment::{InfraError, Reaction};

/// Requests of a session to real hosts.
const LIVE_REQUESTS_MAX: u64 = 10_000;
/// Bytes of words to the user that are kept.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// The pages of one session.
pub(super) struct SitePages {
    content: Arc<Content>,
    upstream: Upstream,
    task: Arc<SiteTask>,
    host: String,
    now_ms: i64,
    played: Mutex<Played>,
}

#[derive(Clone, Default)]
struct Played {
    done: Done,
    /// Requests by what came of them: answered, without an answer, and to hosts that are closed.
    answered: u64,
    missing: u64,
    blocked: u64,
    /// Requests to real hosts.
    live: u64,
    /// A real host that could not be reached.
    failure: Option<InfraError>,
    going_on: bool,
}

impl SitePages {
    pub(super) fn new(content: Arc<Content>, upstream: Upstream, task: Arc<SiteTask>, now_ms: i64) -> Self {
        let done = Done { met: vec![false; task.requests.len()], ..Done::default() };
        let host = Url::parse(&task.start).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
        let played = Mutex::new(Played { done, ..Played::default() });
        Self { content, upstream, task, host, now_ms, played }
    }

    /// The answer of a real host.
    async fn live_answer(&self, live: &LiveHost, request: &Request) -> Answer {
        let count = {
            let mut played = self.played.lock();
            played.live += 1;
            played.live
        };
        if count > LIVE_REQUESTS_MAX {
            return Answer::Blocked;
        }
        let why = match live.answer(&self.upstream, request).await {
            Ok(answer) => return answer,
            Err(Unanswered::Unreachable(why)) => {
                // Of the place where its task begins, an agent cannot choose one that is down.
                if Url::parse(&self.task.start).is_ok_and(|start| start.origin() == request.url.origin()) {
                    self.played.lock().failure = Some(InfraError::new(why.clone()));
                }
                why
            }
            Err(Unanswered::Failed(why)) => why,
        };
        Answer::text(502, "text/plain; charset=utf-8", why)
    }

    /// Takes note of a request and of what came of it. A page that is missing was not fetched, and neither was what a real host refuses.
    fn note(&self, request: &Request, answer: &Answer, is_live: bool) {
        let mut played = self.played.lock();
        if played.going_on {
            return;
        }
        match answer {
            Answer::Blocked => played.blocked += 1,
            Answer::Response { status, .. } if *status == 404 || (is_live && *status >= 400) => played.missing += 1,
            Answer::Response { .. } => {
                played.answered += 1;
                for (met, wanted) in played.done.met.iter_mut().zip(&self.task.requests) {
                    *met |= wanted.is_met_by(request);
                }
            }
        }
    }
}

#[async_trait]
impl Site for SitePages {
    async fn answer(&self, request: Request) -> Answer {
        let live = self.content.live_host(&request.url);
        let answer = match live {
            Some(live) => self.live_answer(live, &request).await,
            None => self.content.answer(&request),
        };
        self.note(&request, &answer, live.is_some());
        answer
    }

    fn waits(&self, request: &Request) -> bool {
        self.content.live_host(&request.url).is_some()
    }
}

impl Pages for SitePages {
    fn host(&self) -> &str {
        &self.host
    }

    fn start(&self) -> String {
        self.task.start.clone()
    }

    fn reaches(&self) -> Vec<String> {
        self.content.hosts.iter().map(|live| live.host.to_string()).collect()
    }

    fn now_ms(&self) -> i64 {
        self.now_ms
    }

    fn instruction(&self) -> String {
        self.task.instruction.clone()
    }

    fn copy(&self) -> Self {
        let played = self.played.lock().clone();
        Self {
            content: Arc::clone(&self.content),
            upstream: self.upstream.clone(),
            task: Arc::clone(&self.task),
            host: self.host.clone(),
            now_ms: self.now_ms,
            played: Mutex::new(played),
        }
    }

    fn go_on(&self, going_on: bool) {
        self.played.lock().going_on = going_on;
    }

    /// Requests alone end a task that wants no answer.
    fn outcome(&self) -> Result<bool, InfraError> {
        let mut played = self.played.lock();
        if let Some(failure) = played.failure.take() {
            return Err(failure);
        }
        let met = &played.done.met;
        Ok(!self.task.ends_with_an_answer() && !met.is_empty() && met.iter().all(|met| *met))
    }

    fn give_up(&self) -> bool {
        self.played.lock().done.gave_up = true;
        true
    }

    /// The first answer counts.
    fn told(&self, message: &str) -> bool {
        if !self.task.ends_with_an_answer() {
            return false;
        }
        let answer: String =
            message.char_indices().take_while(|(at, _)| *at < ANSWER_BYTES_MAX).map(|(_, c)| c).collect();
        self.played.lock().done.answer.get_or_insert(answer);
        true
    }

    fn call(&self, tool: &str, _arguments: &Map<String, Value>) -> Reaction {
        Reaction::text(format!("Error: there is no tool {tool}: use those of the browser"))
    }

    fn document(&self) -> State {
        let played = self.played.lock();
        let mut state = played.done.state();
        state["answered_requests"] = played.answered.into();
        state["missing_pages"] = played.missing.into();
        state["blocked_requests"] = played.blocked.into();
        State::from(state)
    }
}
