//! Every widget in a real Chromium: its solution is right; sending nothing is wrong, and so is sending at once. `WIDGET=a,b` plays
//! these only, and `SEEDS=n` so many seeds of every level, instead of one seed of one level.

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
const DRAW_MAX: Duration = Duration::from_secs(300);

/// The pages of one task after the other, and what they sent first.
#[derive(Default)]
struct Pages(Mutex<Shown>);

#[derive(Default)]
struct Shown {
    page: String,
    documents: BTreeMap<String, String>,
    state: Option<Value>,
}

#[async_trait::async_trait]
impl Site for Pages {
    async fn answer(&self, request: Request) -> Answer {
        let mut shown = self.0.lock();
        match (request.method.as_str(), request.url.path()) {
            ("GET", "/") => Answer::html(200, shown.page.as_bytes()),
            ("GET", "/sent") => Answer::html(200, sent()),
            ("POST", "/submit") => {
                let fields = form_fields(&String::from_utf8_lossy(&request.body));
                let state = fields.iter().find(|(name, _)| name == "state");
                let state = state.and_then(|(_, state)| serde_json::from_str(state).ok());
                shown.state.get_or_insert(state.unwrap_or(Value::Null));
                Answer::see_other("/sent")
            }
            ("GET", path) => match shown.documents.get(path) {
                Some(document) => Answer::html(200, document.as_bytes()),
                None => Answer::text(404, "text/plain", "not found"),
            },
            _ => Answer::Blocked,
        }
    }
}

/// A context that plays one task after the other, as long as nothing is wrong.
struct Seat {
    pages: Arc<Pages>,
    context: Context,
}

impl Seat {
    async fn create(chromium: &Arc<Chromium>, files: Vec<(String, Vec<u8>)>) -> Result<Self, String> {
        let pages = Arc::new(Pages::default());
        let settings = Settings { files, ..Settings::new(Arc::clone(&pages) as Arc<dyn Site>, NOW_MS, 1) };
        let context = Context::create(Arc::clone(chromium), settings).await.map_err(|error| error.to_string())?;
        Ok(Self { pages, context })
    }

    async fn leave(self) {
        // The browser ends after the test, and all of its contexts with it.
        let _ = self.context.dispose().await;
    }

    /// Opens the page afresh, and carries out actions; the state that it sent.
    async fn send(&self, actions: &[String]) -> Result<Option<Value>, String> {
        self.pages.0.lock().state = None;
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
        Ok(self.pages.0.lock().state.clone())
    }

    /// Faults of a task.
    async fn faults(&self, task: &Task) -> Vec<String> {
        *self.pages.0.lock() = Shown { page: document(task), documents: task.documents.clone(), state: None };
        let mut faults = Vec::new();
        let wanted = &task.wanted;
        let right = |state: Option<&Value>| wanted.judge(state).iter().all(|check| check.passed);
        if right(None) {
            faults.push("sending nothing is right".to_owned());
        }
        if let Some(button) = task.solution.last().filter(|last| last.starts_with("click('role=button")) {
            // Where the button cannot be pressed yet, nothing is sent.
            let state = self.send(std::slice::from_ref(button)).await.unwrap_or_default();
            if state.is_some() && right(state.as_ref()) {
                faults.push("sending at once is right".to_owned());
            }
        }
        match self.send(&task.solution).await {
            Ok(state) if right(state.as_ref()) => {}
            Ok(state) => faults.push(format!("sent {} for {wanted:?}", state.unwrap_or_default())),
            Err(error) => faults.push(error),
        }
        faults
    }
}

/// Name of a draw, the time that it took, and what is wrong with it. Only a task without files takes a seat that is free, and leaves
/// it free if nothing is wrong.
async fn play(
    chromium: &Arc<Chromium>,
    free: &Mutex<Vec<Seat>>,
    (widget, level, seed): (Widget, Level, u64),
) -> (String, Duration, Vec<String>) {
    let begun = Instant::now();
    let task = (widget.draw)(&mut Draw::new(level, seed));
    let name = format!("{} {level:?} {seed}", widget.name);
    let taken = if task.files.is_empty() { free.lock().pop() } else { None };
    let playing = async {
        let seat = match taken {
            Some(seat) => seat,
            None => Seat::create(chromium, task.files.clone()).await?,
        };
        let faults = seat.faults(&task).await;
        if task.files.is_empty() && faults.is_empty() {
            free.lock().push(seat);
        } else {
            seat.leave().await;
        }
        Ok(faults)
    };
    let late = || Err(format!("it took more than {DRAW_MAX:?}"));
    let found = tokio::time::timeout(DRAW_MAX, playing).await.unwrap_or_else(|_| late());
    let found = found.unwrap_or_else(|error| vec![error]);
    let faults = found.into_iter().map(|fault| format!("{name}: {} -> {fault}", task.instruction)).collect();
    (name, begun.elapsed(), faults)
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
    let seeds: Option<u64> = std::env::var("SEEDS").ok().map(|seeds| seeds.parse().expect("SEEDS is a number"));
    let widgets: Vec<Widget> =
        all().into_iter().filter(|one| chosen.as_ref().is_none_or(|names| names.contains(&one.name))).collect();
    assert!(!widgets.is_empty(), "WIDGET names none");
    // The short form takes the levels in turn.
    let levels = |place: usize| match seeds {
        Some(_) => Level::ALL.to_vec(),
        None => vec![Level::ALL[place % Level::ALL.len()]],
    };
    let draws: Vec<(Widget, Level, u64)> = (widgets.into_iter().enumerate())
        .flat_map(|(place, widget)| levels(place).into_iter().map(move |level| (widget, level)))
        .flat_map(|(widget, level)| (0..seeds.unwrap_or(1)).map(move |seed| (widget, level, seed)))
        .collect();
    let (count, begun) = (draws.len(), Instant::now());
    let free = Mutex::new(Vec::new());
    let faults: Vec<String> = stream::iter(draws)
        .map(|draw| play(&chromium, &free, draw))
        .buffer_unordered(CONTEXTS)
        .inspect(|(name, took, faults)| println!("{name}: {took:?}, {} faults", faults.len()))
        .flat_map(|(.., faults)| stream::iter(faults))
        .collect()
        .await;
    chromium.end().await;
    println!("{count} draws in {:?}", begun.elapsed());
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n\n"));
}
