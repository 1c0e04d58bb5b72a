//! Every widget in a real Chromium: its solution is right; sending nothing is wrong, and so is sending at once. Clicks on elements at
//! chance hardly ever solve one, and a player whose actions go wrong now and then solves fewer the higher the level. `WIDGET=a,b` plays
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
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

/// 2031-05-05T09:00:00Z.
const NOW_MS: i64 = 1_935_738_000_000;
/// Contexts that play at once.
const CONTEXTS: usize = 8;
/// Actions of a player that clicks at chance.
const CLICKS: usize = 8;
/// Draws of a hundred that such clicks may solve at most: some widgets have few things to click on.
const SOLVED_AT_CHANCE_MAX: usize = 3;
/// Draws more that may be, so that the short form does not rest on one.
const FEW: usize = 2;
/// Share of the actions of the careless player that are clicks at chance.
const CARELESS: f64 = 0.1;
/// Without SEEDS, one of so many widgets is played at chance.
const SHORT_STRIDE: usize = 12;
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

/// A browser, with the folder that it needs; none, said aloud, where this machine has no Chromium or cannot shut it in.
async fn chromium() -> Option<(Arc<Chromium>, tempfile::TempDir)> {
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
    let id = format!("w{}", std::process::id());
    let sandbox = local.start(Start { id, image, profile, disk: None }).await.expect("a sandbox");
    let launch = Launch { program, own_sandbox: true };
    Some((Arc::new(Chromium::start(Arc::new(sandbox), &launch).await.expect("a browser")), folder))
}

/// The widgets that `WIDGET` names, or all.
fn widgets() -> Vec<Widget> {
    let chosen = std::env::var("WIDGET").ok();
    let chosen: Option<Vec<&str>> = chosen.as_deref().map(|names| names.split(',').collect());
    let widgets: Vec<Widget> =
        all().into_iter().filter(|one| chosen.as_ref().is_none_or(|names| names.contains(&one.name))).collect();
    assert!(!widgets.is_empty(), "WIDGET names none");
    widgets
}

/// The number of seeds, where it is named.
fn seeds() -> Option<u64> {
    std::env::var("SEEDS").ok().map(|seeds| seeds.parse().expect("SEEDS is a number"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_widget_is_solved_by_its_solution_and_not_by_sending_at_once() {
    let Some((chromium, _folder)) = chromium().await else { return };
    let (widgets, seeds) = (widgets(), seeds());
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

/// Elements of a tree, by their ids.
fn ids(tree: &str) -> Vec<&str> {
    tree.lines().filter_map(|line| line.trim_start().strip_prefix('[')?.split_once(']').map(|(id, _)| id)).collect()
}

impl Seat {
    /// Takes an action that may fail, as actions at chance do.
    async fn try_out(&self, call: &str) -> Result<(), String> {
        let parsed = action::parse(call).map_err(|error| format!("{call}: {error}"))?;
        self.context.perform(&parsed).await.map(drop).map_err(|error| format!("{call}: {error}"))
    }

    /// Clicks on an element at chance.
    async fn stray(&self, random: &mut ChaCha8Rng) -> Result<(), String> {
        let tree = self.context.observe().await.map_err(|error| error.to_string())?.text;
        match ids(&tree).choose(random) {
            Some(id) => self.try_out(&format!("click('{id}')")).await,
            None => Ok(()),
        }
    }

    /// Plays the solution, each action of which makes way for a click at chance with this probability, up to the last, which sends; with
    /// probability 1, a few such clicks before it. True if the task is solved.
    async fn plays_badly(&self, task: &Task, careless: f64, random: &mut ChaCha8Rng) -> Result<bool, String> {
        *self.pages.0.lock() = Shown { page: document(task), documents: task.documents.clone(), state: None };
        self.try_out("goto('http://widget.test/')").await?;
        let (last, rest) = task.solution.split_last().ok_or("no solution")?;
        let calls: Vec<Option<&String>> =
            if careless < 1.0 { rest.iter().map(Some).collect() } else { vec![None; CLICKS] };
        for call in calls {
            match call.filter(|_| !random.random_bool(careless)) {
                Some(call) => self.try_out(call).await?,
                None => self.stray(random).await?,
            }
        }
        if self.pages.0.lock().state.is_none() {
            self.try_out(last).await?;
        }
        let shown = self.pages.0.lock();
        Ok(shown.state.is_some() && task.wanted.judge(shown.state.as_ref()).iter().all(|check| check.passed))
    }
}

/// Draws that a player solves whose actions are clicks at chance in this share: by level, of how many each, and their names.
async fn solved_badly(careless: f64) -> Option<([usize; 4], usize, Vec<String>)> {
    let (chromium, _folder) = chromium().await?;
    let stride = if seeds().is_some() { 1 } else { SHORT_STRIDE };
    let widgets: Vec<Widget> = widgets().into_iter().step_by(stride).collect();
    let draws: Vec<(Widget, Level, u64)> = (widgets.iter())
        .flat_map(|widget| Level::ALL.map(|level| (*widget, level)))
        .flat_map(|(widget, level)| (0..seeds().unwrap_or(1)).map(move |seed| (widget, level, seed)))
        .collect();
    let each = draws.len() / Level::ALL.len();
    let of_chromium = &chromium;
    let played: Vec<(Level, String, Result<bool, String>)> = stream::iter(draws)
        .map(|(widget, level, seed)| async move {
            let task = (widget.draw)(&mut Draw::new(level, seed));
            let mut random = ChaCha8Rng::seed_from_u64(seed * 1_000 + widget.name.len() as u64);
            let playing = async {
                let seat = Seat::create(of_chromium, task.files.clone()).await?;
                let solved = seat.plays_badly(&task, careless, &mut random).await;
                seat.leave().await;
                solved
            };
            let late = || Err(format!("it took more than {DRAW_MAX:?}"));
            let solved = tokio::time::timeout(DRAW_MAX, playing).await.unwrap_or_else(|_| late());
            (level, format!("{} {level:?} {seed}", widget.name), solved)
        })
        .buffer_unordered(CONTEXTS)
        .collect()
        .await;
    chromium.end().await;
    let failed: Vec<String> =
        played.iter().filter_map(|(_, name, solved)| Some(format!("{name}: {}", solved.as_ref().err()?))).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let solved: Vec<&(Level, String, _)> = played.iter().filter(|(.., solved)| *solved == Ok(true)).collect();
    let by_level = Level::ALL.map(|level| solved.iter().filter(|(of, ..)| *of == level).count());
    Some((by_level, each, solved.into_iter().map(|(_, name, _)| name.clone()).collect()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clicks_at_chance_hardly_ever_solve_a_widget() {
    let Some((by_level, each, solved)) = solved_badly(1.0).await else { return };
    println!("clicks at chance solve {by_level:?} of {each} by level: {}", solved.join(", "));
    let most = SOLVED_AT_CHANCE_MAX * Level::ALL.len() * each / 100 + FEW;
    assert!(solved.len() <= most, "{by_level:?} of {each}: {}", solved.join(", "));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_careless_player_solves_fewer_widgets_the_higher_the_level() {
    let Some((by_level, each, _)) = solved_badly(CARELESS).await else { return };
    println!("a careless player solves {by_level:?} of {each} by level");
    let [first, .., last] = by_level;
    // Few draws do not tell the first level from the last beyond chance.
    assert!(seeds().is_none() || first > last, "{by_level:?} of {each}");
    // From one level to the next, chance may add two standard errors of the difference of two counts.
    #[expect(clippy::cast_precision_loss, reason = "counts of draws are small")]
    let is_harder = |one: &usize, next: &usize| *next as f64 <= *one as f64 + 2.0 * ((one + next) as f64).sqrt();
    assert!(by_level.is_sorted_by(is_harder), "{by_level:?} of {each}");
}
