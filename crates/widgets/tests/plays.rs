//! Every widget in a real Chromium: its solution is right, and doing nothing is not.

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_browser::{Answer, Chromium, Context, Launch, Request, Settings, Site, action, find_program};
use palestra_sandbox::image::Images;
use palestra_sandbox::{Backend as _, Local, Start, shipped};
use palestra_widgets::{Draw, Level, Task, all, document, sent};
use parking_lot::Mutex;
use serde_json::Value;

/// 2031-05-05T09:00:00Z.
const NOW_MS: i64 = 1_935_738_000_000;
/// Seeds of each level.
const SEEDS: u64 = 2;

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
                let body = String::from_utf8_lossy(&request.body).into_owned();
                let url = palestra_browser::form_fields(&body);
                let state = url.iter().find(|(name, _)| name == "state").map(|(_, value)| value.clone());
                let state = state.and_then(|state| serde_json::from_str(&state).ok());
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

async fn play(chromium: &Arc<Chromium>, task: &Task, actions: &[String]) -> Result<Option<Value>, String> {
    let pages = Arc::new(Pages { page: document(task), documents: task.documents.clone(), state: Mutex::default() });
    let files = task.files.clone();
    let settings = Settings { files, ..Settings::new(Arc::clone(&pages) as Arc<dyn Site>, NOW_MS, 1) };
    let context = Context::create(Arc::clone(chromium), settings).await.map_err(|error| error.to_string())?;
    let opening = ["goto('http://widget.test/')".to_owned()];
    for call in opening.iter().chain(actions) {
        let parsed = action::parse(call).map_err(|error| format!("{call}: {error}"))?;
        let done = context.perform(&parsed).await.map_err(|error| format!("{call}: {error}"))?;
        if let Some(error) = done.error {
            let seen = context.observe().await.map(|seen| seen.text).unwrap_or_default();
            return Err(format!("{call}: {error}\n{seen}"));
        }
    }
    context.dispose().await.map_err(|error| error.to_string())?;
    let state = pages.state.lock().clone();
    Ok(state)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_widget_is_solved_by_its_solution_and_not_by_doing_nothing() {
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
    let mut faults = Vec::new();
    for widget in all().into_iter().filter(|widget| chosen.as_deref().is_none_or(|name| widget.name.contains(name))) {
        for level in Level::ALL {
            for seed in 0..SEEDS {
                let task = (widget.draw)(&mut Draw::new(level, seed));
                let name = format!("{} {level:?} {seed}", widget.name);
                if task.wanted.judge(None).iter().any(|check| check.passed) {
                    faults.push(format!("{name}: doing nothing is right"));
                }
                match play(&chromium, &task, &task.solution).await {
                    Ok(state) => {
                        let checks = task.wanted.judge(state.as_ref());
                        let wrong: Vec<_> = checks.iter().filter(|check| !check.passed).collect();
                        if !wrong.is_empty() {
                            faults.push(format!("{name}: {} -> {wrong:?} of {:?}", task.instruction, task.wanted));
                        }
                    }
                    Err(error) => faults.push(format!("{name}: {} -> {error}", task.instruction)),
                }
            }
        }
    }
    chromium.end().await;
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}
