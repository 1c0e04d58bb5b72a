//! Places whose agent sees pages in a real browser. Every request of a page is answered in this process; the browser reaches nothing else.

mod view;

use std::sync::Arc;

use async_trait::async_trait;
use palestra_browser::action::{self, Action};
use palestra_browser::{Browsers, Kept, Lease, Performed, Settings, Site};
use palestra_protocol::id::EpisodeId;
use palestra_protocol::observation::Observation;
use serde_json::{Map, Value};

use palestra_environment::state::State;
use palestra_environment::{Context, InfraError, Input, LiveEnvironment, Reaction};
use view::{infra, refused, shown};

/// The answer where this server has no browser.
pub(crate) const NO_BROWSER: &str =
    "this server has no browser: install chromium where it runs, or choose another surface";
/// The field of an observation that tells why a copy shows another page than the one that it was made of.
const DIFFERS: &str = "differs";

/// Source of the pages of a place, and judge of what they ask for.
pub(crate) trait Pages: Site + 'static {
    /// Host of its pages.
    fn host(&self) -> &str;

    /// Time of its pages at the beginning, in milliseconds since 1970.
    fn now_ms(&self) -> i64;

    /// Files that its pages can be given, by name.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        Vec::new()
    }

    /// The task in words.
    fn instruction(&self) -> String;

    /// An independent copy.
    fn copy(&self) -> Self;

    /// While `true`, pages are loaded as they were: nothing that they ask for has an effect.
    fn go_on(&self, going_on: bool);

    /// True once a page ended the task.
    ///
    /// # Errors
    /// When the last request met a fault of the definition.
    fn outcome(&self) -> Result<bool, InfraError>;

    /// The agent says that the task cannot be done; true if this ends it.
    fn give_up(&self) -> bool;

    /// Calls a tool that is none of the browser.
    fn call(&self, tool: &str, arguments: &Map<String, Value>) -> Reaction;

    /// Privileged state.
    fn document(&self) -> State;
}

/// A place that is looked at in a browser.
pub(crate) struct BrowserPlace<P> {
    browsers: Browsers,
    pages: Arc<P>,
    seed: u64,
    /// Opened at the first look.
    lease: Option<Lease>,
    /// Pages that a copy goes on from.
    from: Option<Kept>,
    /// Why a copy shows something else than those, until it was told.
    differs: Option<String>,
}

impl<P: Pages> BrowserPlace<P> {
    pub(crate) fn new(browsers: Browsers, pages: P, seed: u64) -> Self {
        Self { browsers, pages: Arc::new(pages), seed, lease: None, from: None, differs: None }
    }

    /// The browser's context; made, and led to the first page, where there is none.
    async fn lease(&mut self) -> Result<&Lease, InfraError> {
        if self.lease.is_none() {
            let site = Arc::clone(&self.pages) as Arc<dyn Site>;
            let settings =
                Settings { files: self.pages.files(), ..Settings::new(site, self.pages.now_ms(), self.seed) };
            let lease = self.browsers.lease(settings).await.map_err(|error| infra(&error))?;
            match self.from.take() {
                Some(kept) => self.go_on_from(&lease, &kept).await?,
                None => self.open_first_page(&lease).await?,
            }
            self.lease = Some(lease);
        }
        self.lease.as_ref().ok_or_else(|| InfraError::new("the browser is gone: open a new session"))
    }

    async fn open_first_page(&self, lease: &Lease) -> Result<(), InfraError> {
        let url = format!("http://{}/", self.pages.host());
        let opened = lease.context().perform(&Action::Goto { url }).await.map_err(|error| infra(&error))?;
        match opened.error {
            Some(error) => Err(InfraError::new(format!("the first page cannot be shown: {error}; open a new session"))),
            None => Ok(()),
        }
    }

    async fn go_on_from(&mut self, lease: &Lease, kept: &Kept) -> Result<(), InfraError> {
        self.pages.go_on(true);
        let differs = lease.context().go_on_from(kept).await.map_err(|error| infra(&error));
        self.pages.go_on(false);
        self.differs = differs?;
        Ok(())
    }

    async fn perform(&mut self, action: &Action) -> Result<Reaction, InfraError> {
        let context = self.lease().await?.context();
        let performed = context.perform(action).await.map_err(|error| infra(&error))?;
        let observed = context.observe().await.map_err(|error| infra(&error))?;
        let mut terminated = self.pages.outcome()?;
        if performed.infeasible.is_some() {
            terminated |= self.pages.give_up();
        }
        let mut observation = shown(&observed, &performed);
        if let Some(words) = self.differs.take() {
            observation.data[DIFFERS] = words.into();
        }
        Ok(Reaction { observation, terminated, ..Reaction::default() })
    }
}

#[async_trait]
impl<P: Pages> LiveEnvironment for BrowserPlace<P> {
    async fn observe(&mut self) -> Result<Observation, InfraError> {
        let instruction = self.pages.instruction();
        let observed = self.lease().await?.context().observe().await.map_err(|error| infra(&error))?;
        let seen = shown(&observed, &Performed::default());
        Ok(Observation { text: format!("{instruction}\n\n{}", seen.text), ..seen })
    }

    async fn act(&mut self, input: Input<'_>, _context: &mut Context) -> Result<Reaction, InfraError> {
        let action = match input {
            Input::Text(text) => action::parse(text).map_err(|error| error.to_string()),
            Input::Call { tool, arguments } if action::NAMES.contains(&tool) => Action::of_call(tool, arguments),
            Input::Call { tool, arguments } => return Ok(self.pages.call(tool, arguments)),
        };
        match action {
            Ok(action) => self.perform(&action).await,
            Err(error) => Ok(refused(&error)),
        }
    }

    async fn state(&mut self) -> Result<State, InfraError> {
        Ok(self.pages.document())
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
        let copy = Self::new(self.browsers.clone(), self.pages.copy(), self.seed);
        Ok(Some(Box::new(Self { from: Some(from), ..copy })))
    }

    async fn close(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.end().await;
        }
    }
}
