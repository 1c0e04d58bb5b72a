//! A browser for tests, and a site in memory.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use palestra_browser::{Answer, Chromium, Context, Launch, Observed, Request, Settings, Site, find_program};
use palestra_sandbox::image::Images;
use palestra_sandbox::{Backend as _, Local, Start, shipped};
use parking_lot::Mutex;
use tempfile::TempDir;

/// A time at which pages begin: 2031-05-05T09:00:00Z.
pub(crate) const NOW_MS: i64 = 1_935_738_000_000;

/// A browser with what belongs to it.
pub(crate) struct World {
    pub(crate) chromium: Arc<Chromium>,
    _folder: TempDir,
}

impl World {
    /// A running browser; `None`, said aloud, where there is none or no local back end.
    pub(crate) async fn start() -> Option<Self> {
        static STARTED: AtomicU64 = AtomicU64::new(0);
        let Some(program) = find_program() else {
            palestra_test_support::not_tried("a Chromium: install Debian's package chromium-headless-shell");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let local = Local::new(&folder.path().join("sandbox")).expect("a back end");
        let profile = shipped::profiles().expect("profiles")["browser"].clone();
        if let Err(error) = local.examine(&profile).await {
            palestra_test_support::not_tried(format_args!("the local back end: {error}"));
            return None;
        }
        let image = Images::new(folder.path().join("images")).resolve("host").expect("the host's image");
        let id = format!("b{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let sandbox = local.start(Start { id, image, profile, disk: None }).await.expect("a sandbox");
        let launch = Launch { program, own_sandbox: true };
        let chromium = Chromium::start(Arc::new(sandbox), &launch).await.expect("a browser");
        Some(Self { chromium: Arc::new(chromium), _folder: folder })
    }

    /// A context with pages by path.
    pub(crate) async fn context(&self, pages: &[(&str, &str)]) -> (Context, Arc<Memory>) {
        let site = Arc::new(Memory::new(pages));
        let settings = Settings::new(Arc::clone(&site) as Arc<dyn Site>, NOW_MS, 7);
        (Context::create(Arc::clone(&self.chromium), settings).await.expect("a context"), site)
    }

    /// Settings of a context without pages.
    pub(crate) fn settings(&self) -> Settings {
        Settings::new(Arc::new(Memory::new(&[])) as Arc<dyn Site>, NOW_MS, 7)
    }

    pub(crate) async fn end(self) {
        self.chromium.end().await;
    }
}

/// Pages of `http://shop.test/`, in memory.
pub(crate) struct Memory {
    pages: HashMap<String, String>,
    pub(crate) asked: Mutex<Vec<Request>>,
}

impl Memory {
    pub(crate) fn new(pages: &[(&str, &str)]) -> Self {
        let pages = pages.iter().map(|(path, page)| ((*path).to_owned(), (*page).to_owned())).collect();
        Self { pages, asked: Mutex::default() }
    }
}

#[async_trait::async_trait]
impl Site for Memory {
    async fn answer(&self, request: Request) -> Answer {
        self.asked.lock().push(request.clone());
        match request.url.host_str() {
            Some("shop.test") => {}
            _ => return Answer::Blocked,
        }
        match (request.method.as_str(), self.pages.get(request.url.path())) {
            ("GET", Some(page)) => Answer::html(200, page.as_bytes()),
            ("POST", _) => Answer::see_other("/done"),
            _ => Answer::html(404, "<!doctype html><title>Not found</title><h1>Not found</h1>"),
        }
    }
}

/// Carries out an action that must succeed.
pub(crate) async fn act(context: &Context, call: &str) -> Observed {
    let action = palestra_browser::action::parse(call).expect(call);
    let performed = context.perform(&action).await.expect(call);
    assert_eq!(performed.error, None, "{call}");
    context.observe().await.expect("a look")
}

/// Carries out an action that must be refused; the reason.
pub(crate) async fn refused(context: &Context, call: &str) -> String {
    let action = palestra_browser::action::parse(call).expect(call);
    let performed = context.perform(&action).await.expect(call);
    performed.error.unwrap_or_else(|| panic!("{call} was not refused"))
}

/// A context on one page.
pub(crate) async fn on(world: &World, page: &str) -> Context {
    let (context, _) =
        world.context(&[("/", page), ("/other", "<!doctype html><title>Other</title><h1>Other</h1>")]).await;
    act(&context, "goto('http://shop.test/')").await;
    context
}
