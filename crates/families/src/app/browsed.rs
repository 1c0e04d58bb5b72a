//! An app in a real browser. Its pages are answered by the app as it runs, in this process; the browser reaches nothing else.

use std::sync::Arc;

use async_trait::async_trait;
use palestra_apps::html::{self, Frame, Method, PageResponse};
use palestra_browser::action::{self, Action};
use palestra_browser::{
    Answer, BrowserError, Browsers, Kept, Lease, Observed, Performed, Request, Settings, Site, form_fields,
};
use palestra_protocol::id::EpisodeId;
use palestra_protocol::observation::Observation;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use palestra_environment::state::State;
use palestra_environment::{Cause, Context, InfraError, Input, LiveEnvironment, Reaction};

use super::place::AppPlace;

/// The answer where this server has no browser.
pub(super) const NO_BROWSER: &str =
    "this server has no browser: install chromium where it runs, or choose the surface tools or gui";

/// The field of an observation that tells why a copy shows another page than the one that it was made of.
const DIFFERS: &str = "differs";

/// An app that is looked at in a browser.
pub(super) struct BrowsedApp {
    browsers: Browsers,
    pages: Arc<AppPages>,
    seed: u64,
    /// Opened at the first look.
    lease: Option<Lease>,
    /// Pages that a copy goes on from.
    from: Option<Kept>,
    /// Why a copy shows something else than those, until it was told.
    differs: Option<String>,
}

/// The pages of an app as it runs.
struct AppPages {
    host: String,
    played: Mutex<Played>,
}

/// The app, and what came of requests that no answer tells.
struct Played {
    place: AppPlace,
    /// True once a page ended the task.
    terminated: bool,
    /// A fault of the definition.
    failure: Option<InfraError>,
    /// Pages are loaded as they were: nothing that they ask for has an effect.
    going_on: bool,
}

impl Played {
    fn copy(&self) -> Self {
        Self { place: self.place.clone(), terminated: self.terminated, failure: None, going_on: false }
    }
}

impl BrowsedApp {
    pub(super) fn new(browsers: Browsers, place: AppPlace, host: String, seed: u64) -> Self {
        let played = Mutex::new(Played { place, terminated: false, failure: None, going_on: false });
        Self { browsers, pages: Arc::new(AppPages { host, played }), seed, lease: None, from: None, differs: None }
    }

    /// The browser's context; made, and led to the first page, where there is none.
    async fn lease(&mut self) -> Result<&Lease, InfraError> {
        if self.lease.is_none() {
            let now_ms = self.pages.played.lock().place.now().saturating_mul(1_000);
            let site = Arc::clone(&self.pages) as Arc<dyn Site>;
            let lease = self.browsers.lease(Settings::new(site, now_ms, self.seed)).await.map_err(|e| infra(&e))?;
            match self.from.take() {
                Some(kept) => self.go_on_from(&lease, &kept).await?,
                None => self.open_first_page(&lease).await?,
            }
            self.lease = Some(lease);
        }
        self.lease.as_ref().ok_or_else(|| InfraError::new("the browser is gone: open a new session"))
    }

    async fn open_first_page(&self, lease: &Lease) -> Result<(), InfraError> {
        let url = format!("http://{}/", self.pages.host);
        let opened = lease.context().perform(&Action::Goto { url }).await.map_err(|error| infra(&error))?;
        match opened.error {
            Some(error) => Err(InfraError::new(format!("the first page cannot be shown: {error}; open a new session"))),
            None => Ok(()),
        }
    }

    async fn go_on_from(&mut self, lease: &Lease, kept: &Kept) -> Result<(), InfraError> {
        self.pages.played.lock().going_on = true;
        let differs = lease.context().go_on_from(kept).await.map_err(|error| infra(&error));
        self.pages.played.lock().going_on = false;
        self.differs = differs?;
        Ok(())
    }

    async fn perform(&mut self, action: &Action) -> Result<Reaction, InfraError> {
        let context = self.lease().await?.context();
        let performed = context.perform(action).await.map_err(|error| infra(&error))?;
        let observed = context.observe().await.map_err(|error| infra(&error))?;
        let differs = self.differs.take();
        let mut played = self.pages.played.lock();
        if let Some(failure) = played.failure.take() {
            return Err(failure);
        }
        let mut reaction = Reaction { terminated: played.terminated, ..Reaction::default() };
        if let Some(reason) = &performed.infeasible {
            let arguments = Map::from_iter([("status".to_owned(), json!("impossible"))]);
            let ended = played.place.call("submit", &arguments);
            reaction.terminated |= ended.terminated;
            reaction.observation = shown(&observed, &performed, Some(reason));
        } else {
            reaction.observation = shown(&observed, &performed, None);
        }
        if let Some(words) = differs {
            reaction.observation.data[DIFFERS] = words.into();
        }
        Ok(reaction)
    }
}

#[async_trait]
impl LiveEnvironment for BrowsedApp {
    async fn observe(&mut self) -> Result<Observation, InfraError> {
        let instruction = self.pages.played.lock().place.instruction();
        let observed = self.lease().await?.context().observe().await.map_err(|error| infra(&error))?;
        let seen = shown(&observed, &Performed::default(), None);
        Ok(Observation { text: format!("{instruction}\n\n{}", seen.text), ..seen })
    }

    async fn act(&mut self, input: Input<'_>, _context: &mut Context) -> Result<Reaction, InfraError> {
        match input {
            Input::Text(text) => match action::parse(text) {
                Ok(action) => self.perform(&action).await,
                Err(error) => Ok(refused(&error.to_string())),
            },
            Input::Call { tool, arguments } if action::NAMES.contains(&tool) => {
                match Action::of_call(tool, arguments) {
                    Ok(action) => self.perform(&action).await,
                    Err(error) => Ok(refused(&error)),
                }
            }
            Input::Call { tool, arguments } => {
                let mut played = self.pages.played.lock();
                let reaction = played.place.call(tool, arguments);
                played.terminated |= reaction.terminated;
                Ok(reaction)
            }
        }
    }

    async fn state(&mut self) -> Result<State, InfraError> {
        Ok(self.pages.played.lock().place.document())
    }

    fn isolation(&self) -> Option<Value> {
        self.lease.as_ref().map(|lease| lease.isolation().clone())
    }

    /// Leaves out why a copy shows another page, which belongs to no action.
    fn agrees(&self, seen: &Observation, again: &Observation) -> bool {
        let without = |observation: &Observation| {
            let mut data = observation.data.clone();
            data.as_object_mut().map(|data| data.remove(DIFFERS));
            Observation { data, ..observation.clone() }
        };
        seen == again || without(seen) == without(again)
    }

    async fn fork(&mut self, _episode: EpisodeId) -> Result<Option<Box<dyn LiveEnvironment>>, InfraError> {
        // A copy that was never looked at goes on from where this one would.
        let waiting = self.from.clone().filter(|_| self.lease.is_none());
        let from = match waiting {
            Some(kept) => kept,
            None => self.lease().await?.context().keep().await.map_err(|error| infra(&error))?,
        };
        let copy = self.pages.played.lock().copy();
        let pages = Arc::new(AppPages { host: self.pages.host.clone(), played: Mutex::new(copy) });
        let (browsers, from) = (self.browsers.clone(), Some(from));
        Ok(Some(Box::new(Self { browsers, pages, seed: self.seed, lease: None, from, differs: None })))
    }

    async fn close(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.end().await;
        }
    }
}

#[async_trait]
impl Site for AppPages {
    async fn answer(&self, request: Request) -> Answer {
        if request.url.scheme() != "http" || request.url.host_str() != Some(&self.host) || request.url.port().is_some()
        {
            return Answer::Blocked;
        }
        let method = match request.method.as_str() {
            "GET" => Method::Get,
            "POST" => Method::Post,
            _ => return Answer::text(405, "text/plain", "this app takes GET and POST"),
        };
        let form = form_fields(&String::from_utf8_lossy(&request.body));
        let asked = html::PageRequest {
            method,
            path: request.url.path(),
            query: request.url.query().unwrap_or_default(),
            form: &form,
        };
        let mut played = self.played.lock();
        let responded = if played.going_on {
            played.place.clone().respond(&asked, &Frame::default())
        } else {
            played.place.respond(&asked, &Frame::default())
        };
        match responded {
            Ok(PageResponse::Html(page)) => fresh(Answer::html(200, page)),
            Ok(PageResponse::Redirect(address)) => Answer::see_other(&address),
            Ok(PageResponse::Asset(asset)) => Answer::text(200, asset.media, asset.text.as_bytes()),
            Ok(PageResponse::Submit(arguments)) => {
                let ended = played.place.call("submit", &arguments);
                played.terminated |= ended.terminated;
                Answer::see_other("/")
            }
            Ok(PageResponse::Missing) => Answer::html(404, MISSING),
            Ok(PageResponse::Bad(words)) => Answer::text(400, "text/plain; charset=utf-8", words),
            Err(why) => {
                played.failure = Some(InfraError::new(why));
                Answer::text(500, "text/plain; charset=utf-8", "the app failed")
            }
        }
    }
}

const MISSING: &str = "<!doctype html><html lang=\"en\"><title>Not found</title><h1>Not found</h1><p>There is no such page. <a href=\"/\">Go to the first page.</a></p></html>";

/// A page is asked for again each time it is shown: what it shows may have changed.
fn fresh(answer: Answer) -> Answer {
    match answer {
        Answer::Response { status, mut headers, body } => {
            headers.push(("cache-control".to_owned(), "no-store".to_owned()));
            Answer::Response { status, headers, body }
        }
        Answer::Blocked => Answer::Blocked,
    }
}

/// The tabs and the page in front, as text and as data.
fn shown(observed: &Observed, performed: &Performed, infeasible: Option<&str>) -> Observation {
    let mut text = String::new();
    if let Some(error) = &performed.error {
        text.push_str(&format!("Error: {error}\n"));
    }
    for (place, tab) in observed.tabs.iter().enumerate() {
        let mark = if place == observed.active { " (in front)" } else { "" };
        text.push_str(&format!("Tab {place}{mark}: {} {}\n", tab.title, tab.url));
    }
    if let Some(dialog) = &observed.dialog {
        text.push_str(&format!("The page shows a dialog ({}): {}\n", dialog.kind, dialog.message));
    }
    text.push('\n');
    text.push_str(&observed.text);
    if observed.cut > 0 {
        text.push_str(&format!("\n… {} more nodes are not shown", observed.cut));
    }
    let data = json!({
        "error": performed.error,
        "message": performed.message,
        "infeasible": infeasible,
        "tabs": observed.tabs,
        "active": observed.active,
        "focused": observed.focused,
        "dialog": observed.dialog,
        "console": observed.console,
        "failed_requests": observed.failed_requests,
        "left_out": observed.left_out,
        "nodes": observed.nodes,
        "lines": observed.lines,
    });
    Observation { text, data, ..Observation::default() }
}

/// The answer to what is no action; nothing was looked at for it.
fn refused(error: &str) -> Reaction {
    let (text, data) = (format!("Error: {error}"), json!({"error": error}));
    Reaction { observation: Observation { text, data, ..Observation::default() }, ..Reaction::default() }
}

fn infra(error: &BrowserError) -> InfraError {
    let cause = match error {
        BrowserError::Busy { retry_after_ms } => Cause::Busy(*retry_after_ms),
        BrowserError::Missing(_) => Cause::Missing,
        BrowserError::Sandbox(palestra_sandbox::SandboxError::Unavailable(_)) => Cause::Missing,
        BrowserError::Sandbox(palestra_sandbox::SandboxError::Exhausted { retry_after_ms }) => {
            Cause::Busy(*retry_after_ms)
        }
        _ => Cause::Broken,
    };
    InfraError { detail: error.to_string(), cause }
}
