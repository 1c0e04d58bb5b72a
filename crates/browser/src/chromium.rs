//! One Chromium process in a sandbox, with the contexts of many sessions.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use palestra_sandbox::{Command, Sandbox};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::cdp::{Channel, Connection, Event, Events};
use crate::error::BrowserError;

/// Where Debian's packages keep the programs; those in the PATH are scripts around them, with settings of the machine. The one that has no
/// window to draw opens a session in three quarters of the time, with less memory: it goes first.
const PACKAGED: [&str; 2] = ["/usr/lib/chromium/chromium-headless-shell", "/usr/lib/chromium/chromium"];
/// Names under which they are found in the PATH.
const NAMES: [&str; 6] = [
    "chrome-headless-shell",
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
];
/// Bytes of what it complains about that are kept, the last ones.
const COMPLAINT_BYTES_MAX: usize = 8 << 10;
/// New tabs of one context that wait to be taken.
const TABS_WAITING_MAX: usize = 64;

/// Arguments of every start. Pages are drawn without a screen, nothing is looked for in the network, which is not there, and a frame
/// from another origin shares the process of its page: contexts have processes of their own all the same. The address bar of a window
/// that nobody sees would have processes for its menus.
const ARGUMENTS: [&str; 25] = [
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-startup-window",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-service-autorun",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-breakpad",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-smooth-scrolling",
    "--disable-site-isolation-trials",
    "--disable-features=IsolateOrigins,site-per-process,Translate,OptimizationHints,BackForwardCache,MediaRouter,DialMediaRouteProvider,AutofillServerCommunication,HttpsUpgrades,IsolateSandboxedIframes,NetworkTimeServiceQuerying,WebUIOmniboxPopup,WebUIOmniboxAimPopup",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
    "--hide-scrollbars",
    "--mute-audio",
    "--metrics-recording-only",
];

/// Settings of a start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program, as the sandbox sees it.
    pub program: PathBuf,
    /// True to keep Chromium's own walls between pages: namespaces and a filter of system calls, beside those of the sandbox.
    pub own_sandbox: bool,
}

/// A running Chromium.
pub struct Chromium {
    pub(crate) connection: Connection,
    sandbox: Arc<Sandbox>,
    version: String,
    routes: Arc<Mutex<Routes>>,
    routing: JoinHandle<()>,
}

/// By context: who takes its new tabs.
type Routes = HashMap<String, mpsc::Sender<NewTab>>;

/// A page that a context opened, stopped before its first script.
pub(crate) struct NewTab {
    pub(crate) channel: Channel,
    pub(crate) target: String,
    /// True where the browser opened it by itself, as for a click with the middle button: its first document is on its way before
    /// anyone can answer its request.
    pub(crate) is_ahead: bool,
}

/// The program that this machine has; `None` where there is none.
#[must_use]
pub fn find_program() -> Option<PathBuf> {
    if let Some(packaged) = PACKAGED.map(Path::new).into_iter().find(|program| program.is_file()) {
        return Some(packaged.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    let found = NAMES.iter().find_map(|name| {
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
    })?;
    // A link leads to a program that the sandbox sees under its own name.
    Some(found.canonicalize().unwrap_or(found))
}

impl Chromium {
    /// Starts one in a sandbox, which ends with it.
    ///
    /// # Errors
    /// [`BrowserError::Start`] when it ends at once, with its last words.
    pub async fn start(sandbox: Arc<Sandbox>, launch: &Launch) -> Result<Self, BrowserError> {
        let complaint = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&complaint);
        let pipe = sandbox.open_pipe(&command(launch)).await?;
        let connection = Connection::new(pipe, move |bytes| keep(&mut kept.lock(), bytes));
        let (events, mut queue) = Events::queue();
        connection.listen(None, events);
        let routes = Arc::new(Mutex::new(Routes::new()));
        let explain = |error: crate::cdp::CdpError| {
            BrowserError::Start(format!("{error}: {}", String::from_utf8_lossy(&complaint.lock()).trim()))
        };
        let version = connection.call(None, "Browser.getVersion", json!({})).await.map_err(explain)?;
        let attach = json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true});
        connection.call(None, "Target.setAutoAttach", attach).await.map_err(explain)?;
        let router = Router { connection: connection.clone(), routes: Arc::clone(&routes) };
        #[expect(clippy::disallowed_methods, reason = "it ends with the browser")]
        let routing = tokio::spawn(async move {
            while let Some(event) = queue.next().await {
                router.route(event).await;
            }
            router.routes.lock().clear();
        });
        let version = version["product"].as_str().unwrap_or_default().to_owned();
        Ok(Self { connection, sandbox, version, routes, routing })
    }

    /// Its name and version, such as `Chrome/156.0.8078.108`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The sandbox in which it runs.
    #[must_use]
    pub const fn sandbox(&self) -> &Arc<Sandbox> {
        &self.sandbox
    }

    /// Reason why it is gone; `None` while it stands.
    #[must_use]
    pub fn gone(&self) -> Option<String> {
        self.connection.gone()
    }

    /// Ends it with all its contexts.
    pub async fn end(&self) {
        self.sandbox.destroy(true).await;
    }

    /// Makes an empty context, and a queue of the tabs that it opens.
    pub(crate) async fn create_context(&self) -> Result<(String, mpsc::Receiver<NewTab>), BrowserError> {
        let made = self.connection.call(None, "Target.createBrowserContext", json!({"disposeOnDetach": true})).await?;
        let context = made["browserContextId"].as_str().unwrap_or_default().to_owned();
        let (sender, tabs) = mpsc::channel(TABS_WAITING_MAX);
        self.routes.lock().insert(context.clone(), sender);
        let deny = json!({"behavior": "deny", "browserContextId": context, "eventsEnabled": false});
        self.connection.call(None, "Browser.setDownloadBehavior", deny).await?;
        // The clipboard of a browser is one for all its contexts: scripts reach it by events alone, which are listened to.
        for name in ["clipboard-read", "clipboard-write"] {
            let deny = json!({"permission": {"name": name}, "setting": "denied", "browserContextId": context});
            self.connection.call(None, "Browser.setPermission", deny).await?;
        }
        Ok((context, tabs))
    }

    /// Removes a context with all that its pages stored.
    pub(crate) async fn dispose_context(&self, context: &str) -> Result<(), BrowserError> {
        self.routes.lock().remove(context);
        let disposed = json!({"browserContextId": context});
        self.connection.call(None, "Target.disposeBrowserContext", disposed).await.map(drop).map_err(Into::into)
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        self.routing.abort();
    }
}

/// Hands new tabs to their contexts.
struct Router {
    connection: Connection,
    routes: Arc<Mutex<Routes>>,
}

impl Router {
    async fn route(&self, event: Event) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match event.method.as_str() {
            "Target.attachedToTarget" => {}
            // Who listens to a tab that was closed learns it by the end of its events.
            "Target.detachedFromTarget" => return self.connection.forget(&text(&event.params["sessionId"])),
            _ => return,
        }
        let info = &event.params["targetInfo"];
        let session = text(&event.params["sessionId"]);
        let target = text(&info["targetId"]);
        let is_ahead = info["url"] == "" && info["openerId"].is_null();
        let route = self.routes.lock().get(&text(&info["browserContextId"])).cloned();
        let taken = route.filter(|_| info["type"] == "page").is_some_and(|route| {
            let channel = Channel { connection: self.connection.clone(), session: session.into() };
            route.try_send(NewTab { channel, target: target.clone(), is_ahead }).is_ok()
        });
        if !taken {
            // Workers that outlive pages, and tabs beyond the bound. Where the connection is gone, so are they.
            let _ = self.connection.post(None, &[("Target.closeTarget", json!({"targetId": target}))]).await;
        }
    }
}

/// Keeps the last bytes.
fn keep(kept: &mut Vec<u8>, bytes: &[u8]) {
    kept.extend_from_slice(bytes);
    let surplus = kept.len().saturating_sub(COMPLAINT_BYTES_MAX);
    kept.drain(..surplus);
}

/// The program with its pipes where it looks for them.
fn command(launch: &Launch) -> Command {
    let mut argv = ["sh", "-c", "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>&2"].map(str::to_owned).to_vec();
    argv.push(launch.program.display().to_string());
    argv.extend(ARGUMENTS.map(str::to_owned));
    argv.push("--user-data-dir=/home/agent/profile".to_owned());
    if !launch.own_sandbox {
        argv.push("--no-sandbox".to_owned());
    }
    Command::new(argv)
}
