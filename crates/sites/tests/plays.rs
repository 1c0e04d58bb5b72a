//! Every template in a real Chromium: its solution clicks its way to the pages that prove the answer.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use palestra_browser::{Answer, Chromium, Context, Launch, Request, Settings, Site as Served, action, find_program};
use palestra_sandbox::image::Images;
use palestra_sandbox::{Backend as _, Local, Start, shipped};
use palestra_sites::{Draw, Site, Template, all};
use parking_lot::Mutex;

/// 2031-05-05T09:00:00Z.
const NOW_MS: i64 = 1_935_738_000_000;
/// Contexts that play at once.
const CONTEXTS: usize = 4;
/// Without SEEDS, one of so many templates is played.
const SHORT_STRIDE: usize = 3;
/// Time that a draw may take.
const DRAW_MAX: Duration = Duration::from_secs(300);

/// A site, and the documents that were asked for.
struct Pages {
    site: Site,
    asked: Mutex<BTreeSet<String>>,
}

#[async_trait::async_trait]
impl Served for Pages {
    async fn answer(&self, request: Request) -> Answer {
        if request.is_document {
            self.asked.lock().insert(request.url.path().to_owned());
        }
        match self.site.get(request.url.path(), "") {
            Some((media, body)) => Answer::text(200, media, body),
            None => Answer::html(404, self.site.missing()),
        }
    }
}

/// Faults of the solution of a draw.
async fn faults(chromium: &Arc<Chromium>, template: &Template, seed: u64) -> Result<(), String> {
    let task = template.draw(&mut Draw::new(template.level, seed)).ok_or("no task")?;
    let site = task.site();
    let solution = site.solution(&task.question).ok_or("no solution")?;
    let pages = Arc::new(Pages { site, asked: Mutex::default() });
    let settings = Settings::new(Arc::clone(&pages) as Arc<dyn Served>, NOW_MS, 1);
    let context = Context::create(Arc::clone(chromium), settings).await.map_err(|error| error.to_string())?;
    let opening = "goto('http://site.test/')".to_owned();
    for call in std::iter::once(&opening).chain(&solution) {
        let parsed = action::parse(call).map_err(|error| format!("{call}: {error}"))?;
        let done = context.perform(&parsed).await.map_err(|error| format!("{call}: {error}"))?;
        if let Some(error) = done.error {
            return Err(format!("{call}: {error}"));
        }
    }
    let seen = context.observe().await.map_err(|error| error.to_string())?;
    if !seen.console.is_empty() || !seen.failed_requests.is_empty() {
        return Err(format!("{:?} {:?}", seen.console, seen.failed_requests));
    }
    // The browser ends after the test, and all of its contexts with it.
    let _ = context.dispose().await;
    let asked = pages.asked.lock();
    let read = asked.iter().map(String::as_str).collect();
    let lacking = pages.site.lacking(&task.question, &read);
    if lacking.is_empty() { Ok(()) } else { Err(format!("{lacking:?} was not read on {read:?}")) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_template_is_solved_by_clicks() {
    let Some(program) = find_program() else {
        return palestra_test_support::not_tried("a Chromium: install Debian's package chromium-headless-shell");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let local = Local::new(&folder.path().join("sandbox")).expect("a back end");
    let profile = shipped::profiles().expect("profiles")["browser"].clone();
    if let Err(error) = local.examine(&profile).await {
        return palestra_test_support::not_tried(format_args!("the local back end: {error}"));
    }
    let image = Images::new(folder.path().join("images")).resolve("host").expect("the host's image");
    let id = format!("s{}", std::process::id());
    let sandbox = local.start(Start { id, image, profile, disk: None }).await.expect("a sandbox");
    let launch = Launch { program, own_sandbox: true };
    let chromium = Arc::new(Chromium::start(Arc::new(sandbox), &launch).await.expect("a browser"));

    let seeds: Option<u64> = std::env::var("SEEDS").ok().map(|seeds| seeds.parse().expect("SEEDS is a number"));
    let stride = if seeds.is_some() { 1 } else { SHORT_STRIDE };
    let seeds = seeds.unwrap_or(1);
    let draws = all()
        .into_iter()
        .step_by(stride)
        .flat_map(|template| (0..seeds).map(move |seed| (template.clone(), seed + 40)));
    let chromium_of = &chromium;
    let played: Vec<(String, Result<(), String>)> = stream::iter(draws)
        .map(|(template, seed)| async move {
            let name = format!("{} {seed}", template.name);
            let late = |_| Err(format!("it took more than {DRAW_MAX:?}"));
            let played = tokio::time::timeout(DRAW_MAX, faults(chromium_of, &template, seed)).await;
            (name, played.unwrap_or_else(late))
        })
        .buffer_unordered(CONTEXTS)
        .collect()
        .await;
    chromium.end().await;
    let faults: Vec<String> = (played.iter())
        .filter_map(|(name, played)| played.as_ref().err().map(|fault| format!("{name}: {fault}")))
        .collect();
    println!("{} draws", played.len());
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), played.len(), faults.join("\n"));
}
