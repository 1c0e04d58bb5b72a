//! Every game in a real Chromium: its solution wins through the page, and shows other pixels after each part of it; clicks at chance
//! places and doing nothing do not win. `GAME=a,b` plays these games only, and `SEEDS=n` so many seeds of every level.

use std::sync::Arc;
use std::time::Instant;

use palestra_browser::Answer;
use palestra_browser::{
    Chromium, Context, Launch, Observed, PictureSettings, Request, Settings, Site, action, find_program,
};
use palestra_games::{Board, Game, Input, Outcome, Task, all, document};
use palestra_sandbox::image::Images;
use palestra_sandbox::{Backend as _, Local, Start, shipped};
use palestra_widgets::{Draw, Level};
use parking_lot::Mutex;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// 2031-05-05T09:00:00Z.
const NOW_MS: i64 = 1_935_738_000_000;
/// Clicks at chance places in one game.
const CLICKS: usize = 12;

/// The page of one game after the other.
struct Pages(Mutex<Shown>);

struct Shown {
    title: &'static str,
    board: Board,
    with_words: bool,
    /// Inputs that were malformed.
    malformed: usize,
}

#[async_trait::async_trait]
impl Site for Pages {
    async fn answer(&self, request: Request) -> Answer {
        let mut shown = self.0.lock();
        match (request.method.as_str(), request.url.path()) {
            ("GET", "/") => {
                Answer::html(200, document(shown.title, &shown.board.view(shown.with_words)).expect("a page"))
            }
            ("GET", "/elsewhere") => Answer::html(200, "<p>Elsewhere</p>"),
            ("POST", "/input") if request.header("origin") == Some("http://game.test") => {
                match serde_json::from_slice::<Input>(&request.body) {
                    Ok(input) => {
                        shown.board.take(&input);
                    }
                    Err(_) => shown.malformed += 1,
                }
                let view = serde_json::to_vec(&shown.board.view(shown.with_words)).expect("JSON");
                Answer::text(200, "application/json", view)
            }
            _ => Answer::text(404, "text/plain", "not found"),
        }
    }
}

/// A context that plays one game after the other.
struct Seat {
    pages: Arc<Pages>,
    context: Context,
}

impl Seat {
    async fn create(chromium: &Arc<Chromium>, first: Task) -> Self {
        let shown = Shown { title: first.title, board: first.board, with_words: true, malformed: 0 };
        let pages = Arc::new(Pages(Mutex::new(shown)));
        let settings = Settings::new(Arc::clone(&pages) as Arc<dyn Site>, NOW_MS, 1);
        let context = Context::create(Arc::clone(chromium), settings).await.expect("a context");
        Self { pages, context }
    }

    async fn begin(&self, task: &Task, with_words: bool) {
        *self.pages.0.lock() = Shown { title: task.title, board: task.board.clone(), with_words, malformed: 0 };
        self.act("goto('http://game.test/')").await.expect("the page");
    }

    async fn act(&self, call: &str) -> Result<(), String> {
        let parsed = action::parse(call).map_err(|error| format!("{call}: {error}"))?;
        let done = self.context.perform(&parsed).await.map_err(|error| format!("{call}: {error}"))?;
        done.error.map_or(Ok(()), |error| Err(format!("{call}: {error}")))
    }

    async fn see(&self) -> Observed {
        self.context.observe().await.expect("an observation")
    }

    async fn picture(&self) -> Vec<u8> {
        let picture = self.context.picture(&PictureSettings::default()).await.unwrap_or_else(|_| panic!("a picture"));
        picture.bytes
    }

    fn board(&self) -> Board {
        self.pages.0.lock().board.clone()
    }

    /// Plays the solution; what is wrong, if something is.
    async fn win(&self, task: &Task) -> Result<usize, String> {
        self.begin(task, true).await;
        let before = self.picture().await;
        let solution = task.board.solution().ok_or("no solution")?;
        for (at, step) in solution.iter().enumerate() {
            self.act(&step.action()).await?;
            if at == 0 && self.picture().await == before {
                return Err("the picture is the same after the first move".to_owned());
            }
        }
        let seen = self.see().await;
        if !seen.console.is_empty() || !seen.failed_requests.is_empty() {
            return Err(format!("{:?} {:?}", seen.console, seen.failed_requests));
        }
        if !seen.text.contains("You won.") {
            return Err(format!("the end is not told:\n{}", seen.text));
        }
        let shown = self.pages.0.lock();
        match (shown.board.outcome(), shown.malformed) {
            (Outcome::Won, 0) => Ok(solution.len()),
            (outcome, malformed) => Err(format!("{outcome:?} {:?}, {malformed} malformed", shown.board.progress())),
        }
    }
}

fn task(game: Game, level: Level, seed: u64) -> Task {
    (game.draw)(&mut Draw::new(level, seed))
}

fn game(name: &str) -> Game {
    all().into_iter().find(|game| game.name == name).expect("a game")
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
    let id = format!("g{}", std::process::id());
    let sandbox = local.start(Start { id, image, profile, disk: None }).await.expect("a sandbox");
    let launch = Launch { program, own_sandbox: true };
    let chromium = Arc::new(Chromium::start(Arc::new(sandbox), &launch).await.expect("a browser"));
    Some((chromium, folder))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_game_is_won_through_its_page() {
    let Some((chromium, _folder)) = chromium().await else { return };
    let chosen = std::env::var("GAME").ok();
    let chosen: Option<Vec<&str>> = chosen.as_deref().map(|names| names.split(',').collect());
    let seeds: Option<u64> = std::env::var("SEEDS").ok().map(|seeds| seeds.parse().expect("SEEDS is a number"));
    let levels = if seeds.is_some() { Level::ALL.as_slice() } else { &[Level::One, Level::Three] };
    let seeds = seeds.unwrap_or(1);
    let seat = Seat::create(&chromium, task(all()[0], Level::One, 0)).await;
    let mut faults = Vec::new();
    for game in all().into_iter().filter(|game| chosen.as_ref().is_none_or(|names| names.contains(&game.name))) {
        for (level, seed) in levels.iter().flat_map(|level| (0..seeds).map(move |seed| (*level, seed))) {
            let begun = Instant::now();
            let played = seat.win(&task(game, level, seed)).await;
            println!("{} {level:?} {seed}: {played:?} in {:?}", game.name, begun.elapsed());
            faults.extend(played.err().map(|error| format!("{} {level:?} {seed}: {error}", game.name)));
        }
    }
    chromium.end().await;
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doing_nothing_and_clicks_at_chance_places_do_not_win() {
    let Some((chromium, _folder)) = chromium().await else { return };
    let seat = Seat::create(&chromium, task(all()[0], Level::One, 0)).await;
    let mut random = ChaCha8Rng::seed_from_u64(3);
    for (seed, game) in (0..).zip(all()) {
        let task = task(game, Level::Two, seed);
        seat.begin(&task, true).await;
        seat.act("noop(60000)").await.expect("time passes");
        assert_eq!(seat.board(), task.board, "{}: it waits", game.name);
        for _ in 0..CLICKS {
            let (x, y) = (random.random_range(0..1_280), random.random_range(0..720));
            seat.act(&format!("mouse_click({x}, {y})")).await.expect("a click");
        }
        assert_ne!(seat.board().outcome(), Outcome::Won, "{}", game.name);
    }
    chromium.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_board_is_told_in_words_or_by_its_picture_alone_and_stays_where_one_leaves_it() {
    let Some((chromium, _folder)) = chromium().await else { return };
    let merge = task(game("merge"), Level::One, 5);
    let seat = Seat::create(&chromium, merge.clone()).await;
    seat.begin(&merge, true).await;
    let told = merge.board.view(true).words;
    let seen = seat.see().await.text;
    assert!(told.iter().all(|line| seen.contains(line.as_str())), "{told:?}\n{seen}");
    seat.begin(&merge, false).await;
    let seen = seat.see().await.text;
    assert!(seen.contains("Board") && told.iter().all(|line| !seen.contains(line.as_str())), "{seen}");

    // Away and back: the board is as it was left, on the page too.
    seat.begin(&merge, true).await;
    let solution = merge.board.solution().expect("a solution");
    for step in &solution[..3] {
        seat.act(&step.action()).await.expect("a move");
    }
    let left = (seat.board(), seat.picture().await);
    assert_ne!(left.0, merge.board);
    for way in ["goto('http://game.test/elsewhere')", "keyboard_press('ArrowUp')", "go_back()"] {
        seat.act(way).await.expect("a way");
    }
    assert_eq!((seat.board(), seat.picture().await == left.1), (left.0.clone(), true));
    seat.act("reload()").await.expect("the page again");
    assert_eq!((seat.board(), seat.picture().await == left.1), (left.0, true));
    chromium.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_with_time_moves_with_the_clock_of_the_page_alone() {
    let Some((chromium, _folder)) = chromium().await else { return };
    let snake = task(game("snake"), Level::Four, 2);
    let seat = Seat::create(&chromium, snake.clone()).await;
    seat.begin(&snake, true).await;
    let first = snake.board.solution().expect("a solution")[0].clone();
    let mut expected = snake.board.clone();
    let ticks = |board: &mut Board, count: u32| {
        for _ in 0..count {
            board.take(&Input::Tick);
        }
    };
    seat.act(&first.action()).await.expect("a key");
    expected.take(&first.input().expect("an input"));
    ticks(&mut expected, 2);
    assert_eq!(seat.board(), expected, "two ticks in half a second");
    seat.act("noop(250)").await.expect("time passes");
    ticks(&mut expected, 1);
    assert_eq!(seat.board(), expected, "one tick in a quarter");
    seat.act("noop(100)").await.expect("time passes");
    seat.act("goto('http://game.test/elsewhere')").await.expect("elsewhere");
    seat.act("noop(5000)").await.expect("time passes");
    assert_eq!(seat.board(), expected, "nothing moves while the page is not shown");
    // A page that is loaded anew ticks at full quarters of a second, as the one before did.
    seat.act("goto('http://game.test/')").await.expect("back");
    ticks(&mut expected, 2);
    assert_eq!(seat.board(), expected, "two quarters end within this half second, which began behind one");
    seat.act("noop(150)").await.expect("time passes");
    ticks(&mut expected, 1);
    assert_eq!(expected.outcome(), Outcome::Open);
    assert_eq!(seat.board(), expected, "up to the next quarter");
    chromium.end().await;
}
