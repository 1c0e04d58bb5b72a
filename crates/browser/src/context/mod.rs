//! The browser context of one session: its tabs, what happened in them, and how they come to rest.

mod clipboard;
mod driver;
mod element;
mod failure;
mod input;
mod keep;
mod keys;
mod observe;
mod perform;
mod picture;
mod read;
mod settle;
mod state;
mod tabs;

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::cdp::Channel;
use crate::chromium::{Chromium, NewTab};
use crate::clock::Clock;
use crate::error::BrowserError;
use crate::site::Site;
use crate::tree::Ids;
pub use failure::ActionFailure;
use input::Held;
pub use keep::Kept;
use keep::Stand;
pub use observe::{Observed, TabView};
pub use perform::Performed;
pub use picture::{Mark, Picture};
pub use read::{Read, Reading};
use state::State;
pub use state::{ConsoleLine, Dialog, FailedRequest};

/// Size of tabs in pixels, and their time zone, unless a session wants others.
const WIDTH: u32 = 1_280;
const HEIGHT: u32 = 720;
const TIME_ZONE: &str = "UTC";

/// Shows what most pages have, for one frame.
const DRAW_FIRST: &str = "document.body.innerHTML = `<style>main { font: 600 16px sans-serif } b { font-size: 2rem }</style>
  <main><h1>Ready</h1><p>Words, <b>bold</b> and <a href='#'>linked</a></p><form><label>Name <input></label><select><option>one</select>
  <button>Send</button></form><table><tr><td>1</table><svg width='9' height='9'><path d='M0 0L9 9'/></svg></main>`;
  new Promise((drawn) => requestAnimationFrame(() => drawn()))";

/// Settings of a context.
#[derive(Clone)]
pub struct Settings {
    /// Answers the requests of its pages.
    pub site: Arc<dyn Site>,
    /// Width of its tabs in pixels.
    pub width: u32,
    /// Height of its tabs in pixels.
    pub height: u32,
    /// Time of its pages at the beginning, in milliseconds since 1970.
    pub now_ms: i64,
    /// Source of the chance of its pages.
    pub seed: u64,
    /// Time zone of its pages, by its IANA name.
    pub time_zone: String,
    /// Milliseconds by which the clock of its pages moves with each action.
    pub action_ms: u32,
    /// Files that its pages can be given, by name.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Settings {
    /// Pages of a site, 1,280 by 720 pixels, at a time.
    #[must_use]
    pub fn new(site: Arc<dyn Site>, now_ms: i64, seed: u64) -> Self {
        let time_zone = TIME_ZONE.to_owned();
        Self { site, width: WIDTH, height: HEIGHT, now_ms, seed, time_zone, action_ms: 500, files: Vec::new() }
    }
}

/// An empty context that no session has yet.
pub struct Blank {
    chromium: Arc<Chromium>,
    id: String,
    shared: Arc<Shared>,
    setup: TabSetup,
    /// Takes new tabs.
    taking: JoinHandle<()>,
}

/// The context of one session.
pub struct Context {
    blank: Blank,
    settings: Settings,
    clock: Mutex<Clock>,
    ids: Mutex<Ids>,
    held: Mutex<Held>,
}

/// Shared by the context and those who listen to its tabs.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Rises with each change of the state.
    changes: watch::Sender<u64>,
    /// Answers requests once a session has the context.
    site: OnceLock<Arc<dyn Site>>,
    /// Answers them in its place while histories are built up.
    stand: Mutex<Option<Arc<Stand>>>,
}

impl Shared {
    /// Changes the state, and tells who waits.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state.lock());
        self.changes.send_modify(|count| *count += 1);
        changed
    }
}

impl Blank {
    /// Makes one with an empty tab.
    ///
    /// # Errors
    /// When the browser is gone or refuses.
    pub async fn create(chromium: Arc<Chromium>) -> Result<Self, BrowserError> {
        let (id, mut queue) = chromium.create_context().await?;
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changes: watch::Sender::new(0),
            site: OnceLock::new(),
            stand: Mutex::default(),
        });
        let setup = TabSetup::default();
        let taking = {
            let (shared, setup) = (Arc::clone(&shared), setup.clone());
            #[expect(clippy::disallowed_methods, reason = "it ends with the context, which aborts it")]
            tokio::spawn(async move {
                while let Some(tab) = queue.recv().await {
                    // A tab that is gone again needs no one to listen.
                    let _ = setup.open(&shared, tab).await;
                }
            })
        };
        let blank = Self { chromium, id, shared, setup, taking };
        blank.open_tab("about:blank").await?;
        blank.warm_up().await?;
        Ok(blank)
    }

    /// Draws a small page and takes it away again: what a page's process makes at its first one is there before a session waits for it.
    async fn warm_up(&self) -> Result<(), BrowserError> {
        let Some(channel) = self.shared.state.lock().front().map(|tab| tab.channel.clone()) else { return Ok(()) };
        let draw = json!({"expression": DRAW_FIRST, "awaitPromise": true, "silent": true});
        channel.call("Runtime.evaluate", draw).await?;
        channel.call("Accessibility.getFullAXTree", json!({})).await?;
        let clear = json!({"expression": "document.body.innerHTML = ''", "silent": true});
        channel.call("Runtime.evaluate", clear).await?;
        Ok(())
    }

    /// Makes it the context of a session.
    ///
    /// # Errors
    /// When the browser is gone or refuses.
    pub async fn begin(self, settings: Settings) -> Result<Context, BrowserError> {
        let seed = u32::try_from((settings.seed ^ (settings.seed >> 32)) & 0xffff_ffff).unwrap_or_default();
        let mut clock = Clock::new(format!("__{}", self.id), settings.now_ms, seed);
        let script = clock.script();
        // It was set never before: a context begins once.
        let _ = self.shared.site.set(Arc::clone(&settings.site));
        *self.setup.0.lock() = Some(Tailored { settings: settings.clone(), script });
        let first = self.shared.state.lock().front().map(|tab| (tab.channel.clone(), tab.target.clone()));
        if let Some((channel, target)) = first {
            self.setup.tailor(&self.shared, &channel, &target).await?;
        }
        Ok(Context { blank: self, settings, clock: Mutex::new(clock), ids: Mutex::default(), held: Mutex::default() })
    }
}

impl std::ops::Deref for Context {
    type Target = Blank;

    fn deref(&self) -> &Blank {
        &self.blank
    }
}

impl Context {
    /// Makes a context with one empty tab.
    ///
    /// # Errors
    /// When the browser is gone or refuses.
    pub async fn create(chromium: Arc<Chromium>, settings: Settings) -> Result<Self, BrowserError> {
        Blank::create(chromium).await?.begin(settings).await
    }

    /// Removes it with all that its pages stored.
    ///
    /// # Errors
    /// When the browser is gone, and it with it.
    pub async fn dispose(&self) -> Result<(), BrowserError> {
        self.taking.abort();
        self.chromium.dispose_context(&self.id).await
    }

    /// The browser that it is in.
    #[must_use]
    pub fn chromium(&self) -> &Arc<Chromium> {
        &self.chromium
    }

    /// Time of its pages, in milliseconds since 1970.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        self.clock.lock().now_ms
    }

    /// The tab that is in front.
    fn front(&self) -> Result<Channel, BrowserError> {
        let state = self.shared.state.lock();
        let tab = state
            .front()
            .ok_or_else(|| BrowserError::Gone("the session has no tab any more: open a new session".to_owned()))?;
        Ok(tab.channel.clone())
    }
}

impl Drop for Blank {
    /// A context that is dropped without being disposed of leaves its pages to the browser.
    fn drop(&mut self) {
        self.taking.abort();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (chromium, id) = (Arc::clone(&self.chromium), self.id.clone());
            runtime.spawn(async move { chromium.dispose_context(&id).await });
        }
    }
}

/// Preparation of each new tab, before its first script.
#[derive(Clone, Default)]
struct TabSetup(Arc<Mutex<Option<Tailored>>>);

/// Part of the preparation that differs between sessions.
#[derive(Clone)]
struct Tailored {
    settings: Settings,
    /// The script that runs before those of documents that begin now.
    script: String,
}

fn size(width: u32, height: u32) -> (&'static str, Value) {
    let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
    ("Emulation.setDeviceMetricsOverride", size)
}

fn time_zone(name: &str) -> (&'static str, Value) {
    ("Emulation.setTimezoneOverride", json!({"timezoneId": name}))
}

impl TabSetup {
    async fn open(&self, shared: &Arc<Shared>, tab: NewTab) -> Result<(), BrowserError> {
        let NewTab { channel, target, is_ahead } = tab;
        driver::Driver::listen(Arc::clone(shared), channel.clone(), target.clone(), is_ahead);
        let commands = [
            ("Page.enable", json!({})),
            ("Fetch.enable", json!({"patterns": [{"urlPattern": "*"}]})),
            // Told of requests, it keeps no bodies.
            ("Network.enable", json!({"maxTotalBufferSize": 0, "maxResourceBufferSize": 0})),
            ("Runtime.enable", json!({})),
            ("Log.enable", json!({})),
            ("DOM.enable", json!({})),
            ("Target.setAutoAttach", json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true})),
            size(WIDTH, HEIGHT),
            time_zone(TIME_ZONE),
            ("Emulation.setLocaleOverride", json!({"locale": "en-US"})),
            ("Emulation.setFocusEmulationEnabled", json!({"enabled": true})),
            (
                "Emulation.setEmulatedMedia",
                json!({"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}),
            ),
            ("Page.setInterceptFileChooserDialog", json!({"enabled": true})),
            ("Input.setInterceptDrags", json!({"enabled": true})),
        ];
        channel.post(&commands).await?;
        channel.post(&clipboard::setup()).await?;
        // A page in a process of its own answers nothing before it runs: so it is let go on in the same breath.
        let run = [("Runtime.runIfWaitingForDebugger", json!({}))];
        let (tailored, ran) = tokio::join!(self.tailor(shared, &channel, &target), channel.post(&run));
        ran?;
        tailored?;
        if is_ahead {
            // What was told of its document before it was listened to.
            let told = channel.call("Page.getFrameTree", json!({})).await?;
            let frame = &told["frameTree"]["frame"];
            if !matches!(frame["url"].as_str(), None | Some("" | ":" | "about:blank")) {
                driver::catch_up(shared, &channel, &target, frame);
            }
        }
        shared.change(|state| state.tab(&target).map(|tab| tab.is_open = true));
        Ok(())
    }

    /// Gives a tab the size, the time and the script of its session, where it has one.
    async fn tailor(&self, shared: &Arc<Shared>, channel: &Channel, target: &str) -> Result<(), BrowserError> {
        let Some(Tailored { settings, script }) = self.0.lock().clone() else { return Ok(()) };
        // A tab has the usual ones before a session takes it, which need not wait for them.
        let mut commands = Vec::new();
        if (settings.width, settings.height) != (WIDTH, HEIGHT) {
            commands.push(size(settings.width, settings.height));
        }
        if settings.time_zone != TIME_ZONE {
            commands.push(time_zone(&settings.time_zone));
        }
        channel.post(&commands).await?;
        let script = json!({"source": script, "runImmediately": true});
        let added = channel.call("Page.addScriptToEvaluateOnNewDocument", script).await?;
        let id = added["identifier"].as_str().unwrap_or_default().to_owned();
        shared.change(|state| state.tab(target).map(|tab| tab.script = id));
        Ok(())
    }
}
