//! Places whose agent sees pages in a real browser. Every request of a page is answered in this process; the browser reaches nothing else.

mod har;
mod look;
mod noted;
mod view;

use std::sync::Arc;

use async_trait::async_trait;
use palestra_browser::action::{self, Action};
use palestra_browser::{ActionFailure, Browsers, Kept, Lease, Performed, Settings, Site};
use palestra_protocol::id::EpisodeId;
use palestra_protocol::observation::Observation;
use serde_json::{Map, Value};

pub(crate) use har::Log;
pub(crate) use look::{Look, RECORD, SCREENSHOT};
use noted::Noted;
use palestra_environment::blob::Blob;
use palestra_environment::state::State;
use palestra_environment::{Context, InfraError, Input, LiveEnvironment, Reaction};
use view::{infra, network_block, picture_block, read_block, refused, shown};

/// The answer where this server has no browser.
pub(crate) const NO_BROWSER: &str =
    "this server has no browser: install chromium-headless-shell where it runs, or choose another surface";
/// Bytes of contents that the looks of one turn may make.
const BLOB_BYTES_MAX: usize = 64 << 20;
/// The answer to looks beyond that.
const FULL: &str = "the looks of this turn are too large together: look again in the next turn";
/// The field of an observation that tells why a copy shows another page than the one that it was made of.
const DIFFERS: &str = "differs";

/// Source of the pages of a place, and judge of what they ask for.
pub(crate) trait Pages: Site + 'static {
    /// Host of its pages.
    fn host(&self) -> &str;

    /// Address of the first page.
    fn start(&self) -> String {
        format!("http://{}/", self.host())
    }

    /// Real hosts that its pages reach, as they are told to those who ask for the walls around a session.
    fn reaches(&self) -> Vec<String> {
        Vec::new()
    }

    /// Time of its pages at the beginning, in milliseconds since 1970.
    fn now_ms(&self) -> i64;

    /// Files that its pages can be given, by name.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        Vec::new()
    }

    /// The task in words, once the first page was shown.
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

    /// The agent says something to the user; true if this ends the task.
    fn told(&self, _words: &str) -> bool {
        false
    }

    /// Names of actions that pages led to since it was last asked, and that nothing takes back.
    fn take_irreversible(&self) -> Vec<String> {
        Vec::new()
    }

    /// Tells the time of the pages before an action, in milliseconds since 1970.
    fn set_time(&self, _now_ms: i64) {}

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
    look: Look,
    /// Requests since the last look, where they are recorded.
    noted: Arc<Noted>,
    /// Opened at the first look.
    lease: Option<Lease>,
    /// Pages that a copy goes on from.
    from: Option<Kept>,
    /// Why a copy shows something else than those, until it was told.
    differs: Option<String>,
    /// Contents that observations named and that nobody took yet.
    blobs: Vec<Blob>,
}

impl<P: Pages> BrowserPlace<P> {
    pub(crate) fn new(browsers: Browsers, pages: P, seed: u64) -> Self {
        let (pages, look, noted) = (Arc::new(pages), Look::default(), Arc::default());
        Self { browsers, pages, seed, look, noted, lease: None, from: None, differs: None, blobs: Vec::new() }
    }

    /// Shows more than the tree.
    pub(crate) fn looking(self, look: Look) -> Self {
        Self { look, ..self }
    }

    /// The browser's context; made, and led to the first page, where there is none.
    async fn lease(&mut self) -> Result<&Lease, InfraError> {
        if self.lease.is_none() {
            let mut site = Arc::clone(&self.pages) as Arc<dyn Site>;
            if self.look.requests {
                self.noted.set_clock(self.pages.now_ms());
                site = self.noted.listen(site);
            }
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
        let url = self.pages.start();
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

    /// The present view after an action.
    async fn see(&mut self, performed: &Performed) -> Result<Observation, InfraError> {
        let wanted = self.look.screenshot.filter(|_| self.has_room());
        let context = self.lease().await?.context();
        let observed = context.observe().await.map_err(|error| infra(&error))?;
        let seen = match wanted {
            Some(settings) => Some(context.picture(&settings).await),
            None => None,
        };
        let mut observation = shown(&observed, performed);
        match seen {
            Some(Ok(picture)) => self.name(&mut observation, picture_block(picture)),
            Some(Err(ActionFailure::Told(why))) => observation.text.push_str(&format!("\nNo picture: {why}")),
            Some(Err(ActionFailure::Broken(error))) => return Err(infra(&error)),
            None if self.look.screenshot.is_some() => observation.text.push_str(&format!("\nNo picture: {FULL}")),
            None => {}
        }
        if let Some(picture) = performed.picture.clone() {
            self.name(&mut observation, picture_block(picture));
        }
        if self.look.requests {
            let requests = network_block(&self.noted.take());
            self.name(&mut observation, requests);
        }
        if let Some(read) = &performed.read {
            let (text, block) = read_block(read);
            observation.text = text;
            self.name(&mut observation, block);
        }
        self.lease().await?.make_up();
        Ok(observation)
    }

    /// True while a turn may make more contents.
    fn has_room(&self) -> bool {
        self.blobs.iter().map(|blob| blob.bytes.len()).sum::<usize>() < BLOB_BYTES_MAX
    }

    /// Lets an observation name content, which is kept once.
    fn name(&mut self, observation: &mut Observation, (block, blob): (Value, Blob)) {
        observation.content.push(block);
        if self.blobs.iter().all(|kept| kept.digest != blob.digest) {
            self.blobs.push(blob);
        }
    }

    async fn perform(&mut self, action: &Action) -> Result<Reaction, InfraError> {
        let (pages, noted) = (Arc::clone(&self.pages), Arc::clone(&self.noted));
        let context = self.lease().await?.context();
        pages.set_time(context.now_ms());
        noted.set_clock(context.now_ms());
        let performed = context.perform(action).await.map_err(|error| infra(&error))?;
        let mut observation = self.see(&performed).await?;
        let mut terminated = self.pages.outcome()?;
        if performed.infeasible.is_some() {
            terminated |= self.pages.give_up();
        }
        if let Some(words) = &performed.message {
            terminated |= self.pages.told(words);
        }
        if let Some(words) = self.differs.take() {
            observation.data[DIFFERS] = words.into();
        }
        Ok(Reaction { observation, terminated, irreversible: self.pages.take_irreversible(), ..Reaction::default() })
    }
}

#[async_trait]
impl<P: Pages> LiveEnvironment for BrowserPlace<P> {
    async fn observe(&mut self) -> Result<Observation, InfraError> {
        let seen = self.see(&Performed::default()).await?;
        // A page may say what it asks for once it has loaded.
        let instruction = self.pages.instruction();
        Ok(Observation { text: format!("{instruction}\n\n{}", seen.text), ..seen })
    }

    async fn act(&mut self, input: Input<'_>, _context: &mut Context) -> Result<Reaction, InfraError> {
        let action = match input {
            Input::Text(text) => action::parse(text).map_err(|error| error.to_string()),
            Input::Call { tool, arguments } if action::NAMES.contains(&tool) => Action::of_call(tool, arguments),
            Input::Call { tool, arguments } => return Ok(self.pages.call(tool, arguments)),
        };
        match action {
            Ok(action) if action.looks() && !self.has_room() => Ok(refused(FULL)),
            Ok(action) => self.perform(&action).await,
            Err(error) => Ok(refused(&error)),
        }
    }

    async fn state(&mut self) -> Result<State, InfraError> {
        Ok(self.pages.document())
    }

    fn isolation(&self) -> Option<Value> {
        let mut isolation = self.lease.as_ref()?.isolation().clone();
        let hosts = self.pages.reaches();
        if !hosts.is_empty() {
            isolation["hosts"] = hosts.into();
        }
        Some(isolation)
    }

    /// Leaves out why a copy shows another page, which belongs to no action, and pictures, of which a pixel may differ.
    fn agrees(&self, seen: &Observation, again: &Observation) -> bool {
        let without = |observation: &Observation| {
            let mut data = observation.data.clone();
            data.as_object_mut().map(|data| data.remove(DIFFERS));
            Observation { data, content: Vec::new(), ..observation.clone() }
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
        Ok(Some(Box::new(Self { from: Some(from), ..copy.looking(self.look) })))
    }

    fn take_blobs(&mut self) -> Vec<Blob> {
        std::mem::take(&mut self.blobs)
    }

    async fn close(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.end().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use palestra_browser::{Answer, Request};

    use super::*;
    use crate::backends::Backends;

    /// Pages without content.
    struct Nothing;

    #[async_trait]
    impl Site for Nothing {
        async fn answer(&self, _request: Request) -> Answer {
            Answer::Blocked
        }
    }

    impl Pages for Nothing {
        fn host(&self) -> &str {
            "nothing.test"
        }

        fn now_ms(&self) -> i64 {
            0
        }

        fn instruction(&self) -> String {
            String::new()
        }

        fn copy(&self) -> Self {
            Self
        }

        fn go_on(&self, _going_on: bool) {}

        fn outcome(&self) -> Result<bool, InfraError> {
            Ok(false)
        }

        fn give_up(&self) -> bool {
            false
        }

        fn call(&self, _tool: &str, _arguments: &Map<String, Value>) -> Reaction {
            Reaction::default()
        }

        fn document(&self) -> State {
            State::from(Value::Null)
        }
    }

    #[tokio::test]
    async fn equal_contents_are_kept_once_and_a_turn_that_made_too_much_gets_no_closer_look() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut place = BrowserPlace::new(Backends::none(folder.path()).browsers, Nothing, 1);
        let mut observation = Observation::default();
        for size in [8, 8, BLOB_BYTES_MAX] {
            let blob = Blob::new("image/png", vec![0; size]);
            place.name(&mut observation, (Value::Null, blob));
        }
        assert_eq!((observation.content.len(), place.blobs.len()), (3, 2));
        let mut context = Context::seeded(&[]);
        // Nothing is asked of the browser, which is not there.
        let told = place.act(Input::Text("page_html()"), &mut context).await.expect("words");
        assert!(told.observation.text.contains("next turn"), "{}", told.observation.text);
        assert_eq!(place.take_blobs().len(), 2);
        assert!(place.act(Input::Text("page_html()"), &mut context).await.is_err(), "there is no browser");
    }
}
