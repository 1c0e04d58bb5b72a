//! Pages in the layout of MiniWoB++, from a folder of the publisher's: each is a template, which its own scripts fill in from a seed
//! and judge. What it says of itself and of its end reaches the server by a way that only its scripts know.

mod guard;
mod pages;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use palestra_browser::{Browsers, action};
use palestra_protocol::action::Action;
use palestra_protocol::environment::{Environment as Spec, Task as PublicTask};
use palestra_protocol::observation::Message;
use palestra_protocol::verdict::Check;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::packed::Packed;
use super::prove::{console_errors, failed_requests, play, random_click};
use crate::browsed::{BrowserPlace, Look};
use crate::definition::Definition;
use pages::{CORE, FOLDER, Page};
use palestra_environment::proof::live::{ProofTask, Prover};
use palestra_environment::spec::{GENERATED_SPLITS, SpecBuilder, check_seed, split_length};
use palestra_environment::state::Digest;
use palestra_environment::surface::Surface;
use palestra_environment::task::{Task, TaskError, TaskId, pick};
use palestra_environment::verifier::{AnyVerifier, Case, Judgement, Verifier, VerifierError};
use palestra_environment::{ConfigError, EnvironmentKind, Opening, Place, TaskGenerator, Tasks};

/// Turns in an episode: the clock of a page moves by half a second with each, and the longest episodes take a minute.
const STEPS_MAX: u64 = 150;
/// The most that a null or random policy may reach on average: some pages want a single click.
const FLOOR: f64 = 0.2;
/// Raised when the same state can be judged otherwise.
const RULE: u32 = 1;
/// The rule that judges.
const VERIFIER: &str = "page-reward";
/// Rules of all tasks.
const SYSTEM: &str = "You use a small web page in a browser. It says at its top what it asks for. Do that, within the time that it \
                      gives: its clock moves by half a second with each action. The first end counts.";
/// The user's words: what a page asks for is known once it runs.
const ASK: &str = "Do what the page asks for.";
/// Where pages lie in folders and archives that people have.
const PLACES: [&str; 3] = ["", "html", "miniwob/html"];

/// The folder of the pages; none where the files have another layout.
pub(super) fn found(files: &BTreeMap<String, Vec<u8>>) -> Option<&'static str> {
    PLACES.into_iter().find(|place| {
        let inside = |path: &str| if place.is_empty() { path.to_owned() } else { format!("{place}/{path}") };
        files.contains_key(&inside(CORE)) && !names(files.keys().filter_map(|path| below(place, path))).is_empty()
    })
}

/// A path below a folder; none where it lies elsewhere.
pub(super) fn below<'p>(folder: &str, path: &'p str) -> Option<&'p str> {
    if folder.is_empty() { Some(path) } else { path.strip_prefix(folder)?.strip_prefix('/') }
}

/// Names of the pages among paths, in order.
pub(super) fn names<'p>(paths: impl Iterator<Item = &'p str>) -> Vec<String> {
    let name = |path: &str| Some(path.strip_prefix(FOLDER)?.strip_prefix('/')?.strip_suffix(".html")?.to_owned());
    let mut names: Vec<String> = paths.filter_map(name).filter(|name| !name.contains('/')).collect();
    names.sort();
    names
}

/// The pages, as they are stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredPages {
    /// Files by path.
    pub(super) files: BTreeMap<String, Packed>,
    /// Names of the pages that are played.
    pub(super) names: Vec<String>,
    /// Seconds of an episode; none where each page says so itself.
    pub(super) seconds: Option<u32>,
    /// Time of the pages at the beginning, in milliseconds since 1970.
    pub(super) now_ms: i64,
    /// True if scores can be trained on, though no solution proves the pages.
    pub(super) trainable: bool,
}

impl StoredPages {
    /// Their content, for a digest.
    pub(super) fn content(&self) -> Value {
        let digests: BTreeMap<&String, String> = self.files.iter().map(|(path, file)| (path, file.digest())).collect();
        json!([digests, self.names, self.seconds, self.now_ms, self.trainable])
    }

    /// True if the script that all pages share is there.
    pub(super) fn has_core(&self) -> bool {
        self.files.contains_key(CORE)
    }
}

/// Pages as a kind of environment.
pub(super) struct MiniwobKind {
    spec: Spec,
    files: Arc<BTreeMap<String, Packed>>,
    names: Vec<String>,
    seconds: Option<u32>,
    now_ms: i64,
    trainable: bool,
    browsers: Browsers,
    verifier_version: String,
}

/// The draw that a task is.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Secret {
    page: String,
    chance: String,
}

impl MiniwobKind {
    pub(super) fn new(
        published: &Definition<'_>,
        description: &str,
        tags: &[String],
        stored: StoredPages,
        browsers: Browsers,
    ) -> Self {
        let StoredPages { files, names, seconds, now_ms, trainable } = stored;
        let tags: Vec<&str> = ["browser", "web"].into_iter().chain(tags.iter().map(String::as_str)).collect();
        let mut spec = SpecBuilder::new(published.name, published.version, description)
            .tags(&tags)
            .tools(action::tools())
            .splits(&GENERATED_SPLITS)
            .steps_max(STEPS_MAX)
            .floor(FLOOR)
            .build_with_digest(published.digest.to_owned());
        spec.templates = names.len() as u64;
        let verifier_version = Digest::of(format!("{VERIFIER} {RULE} over {}", spec.digest).as_bytes()).to_string();
        Self { spec, files: Arc::new(files), names, seconds, now_ms, trainable, browsers, verifier_version }
    }

    /// The task of a draw.
    fn task_of(&self, split: &str, seed: u64, secret: Value) -> Result<Task, String> {
        let page = read(&secret)?.page;
        let length = self.spec.splits.get(split).copied().unwrap_or(0);
        Ok(Task {
            public: PublicTask {
                id: TaskId::plain(split, seed).to_string(),
                split: split.to_owned(),
                index: (seed < length).then_some(seed),
                difficulty: None,
                template: page.clone(),
                messages: vec![Message::new("system", SYSTEM), Message::new("user", ASK)],
                tools: self.spec.tools.clone(),
                score_range: None,
                metadata: json!({"page": page}),
            },
            secret,
        })
    }

    /// The faults of the page at a place in the list of names, as its first task shows it.
    ///
    /// # Errors
    /// As [`Self::faults`].
    pub(super) async fn faults_of_page(&self, place: usize) -> Result<Vec<String>, String> {
        self.faults(self.generate("train", place as u64, None).map_err(|error| error.to_string())?).await
    }

    /// The faults of a page: it does not begin, or doing nothing ends it well.
    ///
    /// # Errors
    /// In words, when no browser can be had.
    async fn faults(&self, task: Task) -> Result<Vec<String>, String> {
        let task = Arc::new(task);
        let played = play(self, &task, &[Action::Text("noop(500)".to_owned())]).await?;
        let mut faults = Vec::new();
        for seen in &played.seen {
            faults.extend(console_errors(seen).into_iter().map(|line| format!("its console says {line:?}")));
            faults.extend(failed_requests(seen).into_iter().map(|request| format!("it asks in vain for {request}")));
        }
        let state = played.state.to_value();
        if state["utterance"].as_str().is_none_or(|utterance| utterance.trim().is_empty()) {
            faults.push("it does not say what it asks for".to_owned());
        }
        if played.score > 0.0 {
            faults.push("doing nothing is right".to_owned());
        }
        Ok(faults)
    }
}

fn read(secret: &Value) -> Result<Secret, String> {
    Secret::deserialize(secret).map_err(|error| format!("the task's secret is broken, choose another task: {error}"))
}

impl TaskGenerator for MiniwobKind {
    fn generate(&self, split: &str, seed: u64, difficulty: Option<f64>) -> Result<Task, TaskError> {
        split_length(&self.spec, split)?;
        check_seed(seed)?;
        if difficulty.is_some() {
            return Err(TaskError::BadChoice("tasks of these pages have no difficulty: leave it out".to_owned()));
        }
        let count = self.names.len().max(1) as u64;
        let name = usize::try_from(seed % count).ok().and_then(|place| self.names.get(place));
        let name = name.ok_or_else(|| TaskError::Broken("there are no pages".to_owned()))?;
        let chance = pick(&[b"page", name.as_bytes(), split.as_bytes(), &seed.to_le_bytes()], u64::MAX);
        let secret = Secret { page: name.clone(), chance: format!("{split}-{chance:016x}") };
        let secret = serde_json::to_value(secret).map_err(|error| TaskError::Broken(error.to_string()))?;
        self.task_of(split, seed, secret).map_err(TaskError::Broken)
    }
}

impl EnvironmentKind for MiniwobKind {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn tasks(&self) -> Tasks<'_> {
        Tasks::Generated(self)
    }

    fn surfaces(&self) -> &[Surface] {
        &[Surface::Browser]
    }

    fn surface(&self, _config: &Map<String, Value>) -> Surface {
        Surface::Browser
    }

    fn open(&self, opening: Opening<'_>) -> Result<Place, ConfigError> {
        let (look, config) = Look::split(opening.config)?;
        ConfigError::refuse_all(&config)?;
        let Secret { page, chance } =
            read(&opening.task.secret).map_err(|detail| ConfigError { field: None, detail })?;
        let page = Page::new(Arc::clone(&self.files), (&page, chance), self.seconds, self.now_ms);
        Ok(Place::Live(Box::new(BrowserPlace::new(self.browsers.clone(), page, opening.seed).looking(look))))
    }

    fn verifier(&self) -> AnyVerifier<'_> {
        AnyVerifier::Pure(self)
    }

    fn prover(&self) -> Option<&dyn Prover> {
        Some(self)
    }

    /// The pages bring no solutions.
    fn oracle(&self, _task: &Task) -> Option<Vec<Action>> {
        None
    }

    fn random_action(&self, _task: &Task, rng: &mut ChaCha8Rng) -> Action {
        random_click(rng)
    }
}

impl Verifier for MiniwobKind {
    fn name(&self) -> &str {
        VERIFIER
    }

    fn version(&self) -> &str {
        &self.verifier_version
    }

    fn verify(&self, case: &Case<'_>) -> Result<Judgement, VerifierError> {
        let state = case.state.to_value();
        let reward = state["ended"]["reward"].as_f64();
        let passed = reward.is_some_and(|reward| reward > 0.0);
        let evidence = match (reward, state["ended"]["reason"].as_str()) {
            (Some(reward), Some(reason)) => format!("the page gave {reward}: {reason}"),
            (Some(reward), None) => format!("the page gave {reward}"),
            (None, _) => "the page came to no end".to_owned(),
        };
        let score = if passed { 1.0 } else { 0.0 };
        let check = Check { name: VERIFIER.to_owned(), weight: 1.0, score, passed, evidence };
        Ok(Judgement { checks: vec![check], trainable: self.trainable })
    }
}

#[async_trait]
impl Prover for MiniwobKind {
    fn check_available(&self) -> Result<(), String> {
        self.browsers.program().map(|_| ()).map_err(|error| error.to_string())
    }

    fn cases(&self, split: &str, seeds: u64) -> u64 {
        let length = self.spec.splits.get(split).copied().unwrap_or(0);
        (self.names.len() as u64).saturating_mul(seeds).min(length)
    }

    fn case(&self, split: &str, number: u64) -> Result<ProofTask, String> {
        let Task { public, secret } = self.generate(split, number, None).map_err(|error| error.to_string())?;
        Ok(ProofTask { name: public.template, seed: number, secret })
    }

    async fn prove(&self, task: &ProofTask) -> Result<Vec<String>, String> {
        self.faults(self.task_of("train", task.seed, task.secret.clone())?).await
    }
}
