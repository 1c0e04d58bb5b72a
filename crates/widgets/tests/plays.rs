//! Every widget in a real Chromium: its solution is right; sending nothing is wrong, and so is sending at once. `WIDGET=a,b` plays
//! these only, and `SEEDS=n` so many seeds of each level instead of one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, stream};
use palestra_browser::{Answer, Chromium, Context, Launch, Request, Settings, Site, action, find_program, form_fields};
use palestra_sandbox::image::Images;
use palestra_sandbox::{Backend as _, Local, Start, shipped};
use palestra_widgets::{Draw, Level, Task, Widget, all, document, sent};
use parking_lot::Mutex;
use serde_json::Value;

/// 2031-05-05T09:00:00Z.
const NOW_MS: i64 = 1_935_738_000_000;
/// Contexts that play at once.
const CONTEXTS: usize = 8;
/// Time that a draw may take.
const DRAW_MAX: Duration = Duration::from_secs(120);

/// The pages of a task, and what they sent first.
struct Pages {
    page: String,
    documents: BTreeMap<String, String>,
    state: Mutex<Option<Value>>,
}

#[async_trait::async_trait]
impl Site for Pages {
    async fn answer(&self, request: Request) -> Answer {
        match (request.method.as_str(), request.url.path()) {
            ("GET", "/") => Answer::html(200, self.page.as_bytes()),
            ("GET", "/sent") => Answer::html(200, sent()),
            ("POST", "/submit") => {
                let fields = form_fields(&String::from_utf8_lossy(&request.body));
                let state = fields.iter().find(|(name, _)| name == "state");
                let state = state.and_then(|(_, state)| serde_json::from_str(state).ok());
                self.state.lock().get_or_insert(state.unwrap_or(Value::Null));
                Answer::see_other("/sent")
            }
            ("GET", path) => match self.documents.get(path) {
                Some(document) => Answer::html(200, document.as_bytes()),
                None => Answer::text(404, "text/plain", "not found"),
            },
            _ => Answer::Blocked,
        }
    }
}

/// One task, and the browser's context that plays it.
struct Play {
    task: Task,
    pages: Arc<Pages>,
    context: Context,
}

impl Play {
    async fn begin(chromium: &Arc<Chromium>, task: Task) -> Result<Self, String> {
        let pages = Pages { page: document(&task), documents: task.documents.clone(), state: Mutex::default() };
        let pages = Arc::new(pages);
        let files = task.files.clone();
        let settings = Settings { files, ..Settings::new(Arc::clone(&pages) as Arc<dyn Site>, NOW_MS, 1) };
        let context = Context::create(Arc::clone(chromium), settings).await.map_err(|error| error.to_string())?;
        Ok(Self { task, pages, context })
    }

    /// Opens the page afresh, and carries out actions; the state that it sent.
    async fn send(&self, actions: &[String]) -> Result<Option<Value>, String> {
        *self.pages.state.lock() = None;
        let opening = ["goto('http://widget.test/')".to_owned()];
        for call in opening.iter().chain(actions) {
            let parsed = action::parse(call).map_err(|error| format!("{call}: {error}"))?;
            let done = self.context.perform(&parsed).await.map_err(|error| format!("{call}: {error}"))?;
            if let Some(error) = done.error {
                let seen = self.context.observe().await;
                let seen = seen.map(|seen| format!("{}\n{:?}", seen.text, seen.console)).unwrap_or_default();
                return Err(format!("{call}: {error}\n{seen}"));
            }
        }
        Ok(self.pages.state.lock().clone())
    }

    /// What is wrong with the task.
    async fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let wanted = &self.task.wanted;
        let right = |state: Option<&Value>| wanted.judge(state).iter().all(|check| check.passed);
        if right(None) {
            faults.push("sending nothing is right".to_owned());
        }
        if let Some(button) = self.task.solution.last().filter(|last| last.starts_with("click('role=button")) {
            // Where the button cannot be pressed yet, nothing is sent.
            let state = self.send(std::slice::from_ref(button)).await.unwrap_or_default();
            if state.is_some() && right(state.as_ref()) {
                faults.push("sending at once is right".to_owned());
            }
        }
        match self.send(&self.task.solution).await {
            Ok(state) if right(state.as_ref()) => {}
            Ok(state) => faults.push(format!("sent {} for {wanted:?}", state.unwrap_or_default())),
            Err(error) => faults.push(error),
        }
        faults
    }
}

async fn faults(chromium: &Arc<Chromium>, widget: Widget, level: Level, seed: u64) -> Vec<String> {
    let task = (widget.draw)(&mut Draw::new(level, seed));
    let name = format!("{} {level:?} {seed}: {}", widget.name, task.instruction);
    let found = async {
        match Play::begin(chromium, task).await {
            Ok(play) => {
                let faults = play.faults().await;
                // The browser ends after the test, and all of its contexts with it.
                let _ = play.context.dispose().await;
                faults
            }
            Err(error) => vec![error],
        }
    };
    let found = tokio::time::timeout(DRAW_MAX, found).await.unwrap_or_else(|_| vec!["it took too long".to_owned()]);
    found.into_iter().map(|fault| format!("{name} -> {fault}")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_widget_is_solved_by_its_solution_and_not_by_sending_at_once() {
    let Some(program) = find_program() else {
        return palestra_test_support::not_tried("a Chromium: install Debian's package chromium");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let local = Local::new(&folder.path().join("sandbox")).expect("a back end");
    let profile = shipped::profiles().expect("profiles")["browser"].clone();
    if let Err(error) = local.examine(&profile).await {
        return palestra_test_support::not_tried(format_args!("the local back end: {error}"));
    }
    let image = Images::new(folder.path().join("images")).resolve("host").expect("the host's image");
    let id = format!("w{}", std::process::id());
    let sandbox = local.start(Start { id, image, profile, disk: None }).await.expect("a sandbox");
    let launch = Launch { program, own_sandbox: true };
    let chromium = Arc::new(Chromium::start(Arc::new(sandbox), &launch).await.expect("a browser"));

    let chosen = std::env::var("WIDGET").ok();
    let chosen: Option<Vec<&str>> = chosen.as_deref().map(|names| names.split(',').collect());
    let seeds = std::env::var("SEEDS").map_or(1, |seeds| seeds.parse().expect("SEEDS is a number"));
    let widgets: Vec<Widget> =
        all().into_iter().filter(|one| chosen.as_ref().is_none_or(|names| names.contains(&one.name))).collect();
    assert!(!widgets.is_empty(), "WIDGET names none");
    let draws: Vec<(Widget, Level, u64)> = widgets
        .into_iter()
        .flat_map(|widget| Level::ALL.map(|level| (widget, level)))
        .flat_map(|(widget, level)| (0..seeds).map(move |seed| (widget, level, seed)))
        .collect();
    let (count, begun) = (draws.len(), Instant::now());
    let faults: Vec<String> = stream::iter(draws)
        .map(|(widget, level, seed)| faults(&chromium, widget, level, seed))
        .buffer_unordered(CONTEXTS)
        .flat_map(stream::iter)
        .collect()
        .await;
    chromium.end().await;
    println!("{count} draws in {:?}", begun.elapsed());
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n\n"));
}
