//! An environment of pages that somebody published, with a list of tasks on them.

use std::sync::Arc;

use async_trait::async_trait;
use palestra_browser::{Browsers, action};
use palestra_protocol::action::Action;
use palestra_protocol::environment::{
    AtSeq, Capabilities, Environment as Spec, ForkKind, Recovery, Task as PublicTask,
};
use palestra_protocol::observation::Message;
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::content::Content;
use super::live::check_admitted;
use super::prove::{self, random_click};
use super::site_pages::SitePages;
use super::task::SiteTask;
use crate::browsed::{BrowserPlace, Look};
use crate::definition::Definition;
use palestra_environment::proof::live::{ProofTask, Prover};
use palestra_environment::spec::{SpecBuilder, split_length};
use palestra_environment::state::Digest;
use palestra_environment::surface::Surface;
use palestra_environment::task::{Task, TaskError, TaskId};
use palestra_environment::verifier::{AnyVerifier, Case, Judgement, Verifier, VerifierError};
use palestra_environment::{ConfigError, EnvironmentKind, Opening, Place, TaskRows, Tasks};

/// Turns in an episode.
const STEPS_MAX: u64 = 100;
/// Sessions whose pages reach real hosts: what those answer, and what they keep, is theirs.
const LIVE: Capabilities =
    Capabilities { deterministic: false, recovery: Recovery::None, fork: ForkKind::None, at_seq: AtSeq::None };
/// The most that a null or random policy may reach on average.
const FLOOR: f64 = 0.05;
/// Raised when the same state can be judged otherwise.
const RULE: u32 = 1;
/// The rule that judges.
const VERIFIER: &str = "told-and-asked";
/// Rules of all tasks.
const SYSTEM: &str = "You use web pages in a browser. Do what the user asks for. Where the user asks a question, answer it by \
                      send_msg_to_user with nothing but the answer: that ends the task. If it cannot be done, say so by \
                      report_infeasible.";

/// Pages that were published, as a kind of environment. Its tasks stay in the store.
pub(super) struct SiteKind {
    spec: Spec,
    content: Arc<Content>,
    now_ms: i64,
    browsers: Browsers,
    verifier_version: String,
}

impl SiteKind {
    pub(super) fn new(
        published: &Definition<'_>,
        description: &str,
        tags: &[String],
        (content, now_ms): (Content, i64),
        browsers: Browsers,
    ) -> Self {
        let splits: Vec<(&String, u64)> = published.splits.iter().map(|(split, length)| (split, *length)).collect();
        let tags: Vec<&str> = ["browser", "web"].into_iter().chain(tags.iter().map(String::as_str)).collect();
        let capabilities = if content.hosts.is_empty() { Capabilities::PURE } else { LIVE };
        let spec = SpecBuilder::new(published.name, published.version, description)
            .tags(&tags)
            .tools(action::tools())
            .splits(&splits)
            .steps_max(STEPS_MAX)
            .floor(FLOOR)
            .capabilities(capabilities)
            .build_with_digest(published.digest.to_owned());
        let verifier_version = Digest::of(format!("{VERIFIER} {RULE} over {}", spec.digest).as_bytes()).to_string();
        Self { spec, content: Arc::new(content), now_ms, browsers, verifier_version }
    }

    /// The task of a stored row.
    fn task_of(&self, split: &str, index: u64, row: Value) -> Result<Task, TaskError> {
        let task = read(&row).map_err(TaskError::Broken)?;
        let template = task.id.clone().unwrap_or_else(|| "task".to_owned());
        Ok(Task {
            public: PublicTask {
                id: TaskId::plain(split, index).to_string(),
                split: split.to_owned(),
                index: Some(index),
                difficulty: None,
                template,
                messages: vec![Message::new("system", SYSTEM), Message::new("user", task.instruction)],
                tools: self.spec.tools.clone(),
                score_range: None,
                metadata: json!({"start": task.start}),
            },
            secret: row,
        })
    }
}

fn read(row: &Value) -> Result<SiteTask, String> {
    SiteTask::deserialize(row)
        .map_err(|error| format!("a task is not of the stored form, publish the environment anew: {error}"))
}

impl TaskRows for SiteKind {
    fn digest(&self) -> &str {
        &self.spec.digest
    }

    fn task(&self, split: &str, index: u64, row: Value) -> Result<Task, TaskError> {
        let length = split_length(&self.spec, split)?;
        if index >= length {
            return Err(TaskError::OutOfRange { split: split.to_owned(), length, index });
        }
        self.task_of(split, index, row)
    }
}

impl EnvironmentKind for SiteKind {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn tasks(&self) -> Tasks<'_> {
        Tasks::Stored(self)
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
        let refused = |detail| ConfigError { field: None, detail };
        let task = read(&opening.task.secret).map_err(refused)?;
        check_admitted(&self.content.hosts, &self.browsers).map_err(|(_, detail)| refused(detail))?;
        let upstream = self.browsers.upstream().clone();
        let pages = SitePages::new(Arc::clone(&self.content), upstream, Arc::new(task), self.now_ms);
        Ok(Place::Live(Box::new(BrowserPlace::new(self.browsers.clone(), pages, opening.seed).looking(look))))
    }

    fn verifier(&self) -> AnyVerifier<'_> {
        AnyVerifier::Pure(self)
    }

    fn judges_by_task(&self) -> bool {
        true
    }

    fn prover(&self) -> Option<&dyn Prover> {
        Some(self)
    }

    fn oracle(&self, task: &Task) -> Option<Vec<Action>> {
        let solution = read(&task.secret).ok()?.solution?;
        Some(solution.into_iter().map(Action::Text).collect())
    }

    fn random_action(&self, _task: &Task, rng: &mut ChaCha8Rng) -> Action {
        random_click(rng)
    }
}

impl Verifier for SiteKind {
    fn name(&self) -> &str {
        VERIFIER
    }

    fn version(&self) -> &str {
        &self.verifier_version
    }

    fn verify(&self, case: &Case<'_>) -> Result<Judgement, VerifierError> {
        let task = read(&case.task.secret).map_err(VerifierError)?;
        let checks = task.judge(&case.state.to_value()).map_err(|error| VerifierError(error.0))?;
        Ok(Judgement { checks, trainable: task.trainable })
    }
}

#[async_trait]
impl Prover for SiteKind {
    fn check_available(&self) -> Result<(), String> {
        self.browsers.program().map(|_| ()).map_err(|error| error.to_string())
    }

    fn cases(&self, split: &str, seeds: u64) -> u64 {
        self.spec.splits.get(split).copied().unwrap_or(0).min(seeds)
    }

    fn case(&self, split: &str, number: u64) -> Result<ProofTask, String> {
        Err(format!("the task {split}-{number} is in the store: ask for it there"))
    }

    async fn prove(&self, task: &ProofTask) -> Result<Vec<String>, String> {
        let task = self.task_of("train", task.seed, task.secret.clone()).map_err(|error| error.to_string())?;
        prove::faults(self, &Arc::new(task)).await
    }
}
