//! The families whose work is done in sandboxes: `terminal`, `code`, `repository`. What they mean is the matter of the package
//! `palestra-workbench`; here their rows become tasks, and their rooms places.

mod place;
mod publication;
pub mod shipped;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use palestra_protocol::action::Action;
use palestra_protocol::environment::{
    AtSeq, Capabilities, Environment as Spec, ForkKind, Recovery, Task as PublicTask,
};
use palestra_protocol::id::EpisodeId;
use palestra_protocol::observation::Message;
use palestra_protocol::verdict::{Check, Judge, Status};
use palestra_workbench::blame;
use palestra_workbench::code::Code;
use palestra_workbench::repository::Repository;
use palestra_workbench::terminal::Terminal;
use palestra_workbench::work::{From, JudgeError, Work, Workbench};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use palestra_environment::proof::live::{ProofTask, Prover};
use palestra_environment::spec::{SpecBuilder, check_seed, split_length};
use palestra_environment::state::{Digest, State};
use palestra_environment::task::{Task, TaskError, TaskId, pick};
use palestra_environment::verifier::{AnyVerifier, Judgement, LiveVerifier, Unjudged};
use palestra_environment::{ConfigError, EnvironmentKind, Opening, Place, Secrets, TaskGenerator, TaskRows, Tasks};

use place::WorkPlace;
pub use publication::{Submission, add_notes, called, kind, parse, proven};

/// Turns in an episode where a session names no limit.
const STEPS_MAX: u64 = 200;
/// The most that a null or random policy may reach on average.
const FLOOR: f64 = 0.05;

/// The families, each once: what a family prepares is shared by all its environments.
static FAMILIES: LazyLock<Vec<(&'static str, Arc<dyn Work>)>> = LazyLock::new(|| {
    vec![
        ("code", Arc::new(Code::default())),
        ("repository", Arc::new(Repository::default())),
        ("terminal", Arc::new(Terminal::new())),
    ]
});

/// The family of a name, `family/name`, if its work is done in sandboxes.
#[must_use]
pub fn family(name: &str) -> Option<Arc<dyn Work>> {
    let family = name.split('/').next()?;
    FAMILIES.iter().find(|(name, _)| *name == family).map(|(_, work)| Arc::clone(work))
}

/// An environment whose work is done in sandboxes.
pub struct WorkKind {
    work: Arc<dyn Work>,
    desk: Workbench,
    spec: Spec,
    verifier_version: String,
    rows: Rows,
}

/// Where the rows of tasks are.
enum Rows {
    /// In the program, by split.
    Shipped(BTreeMap<String, Vec<Value>>),
    /// In the store.
    Stored,
}

/// The description of an environment, beside its rows.
struct Heading<'a> {
    name: &'a str,
    version: u32,
    description: &'a str,
    tags: &'a [String],
    splits: &'a BTreeMap<String, u64>,
    digest: &'a str,
    /// Digest of what its rows are judged by.
    judged_by: &'a str,
}

impl WorkKind {
    fn new(work: Arc<dyn Work>, desk: Workbench, heading: &Heading<'_>, rows: Rows) -> Self {
        let splits: Vec<(&String, u64)> = heading.splits.iter().map(|(split, length)| (split, *length)).collect();
        let spec = SpecBuilder::new(heading.name, heading.version, heading.description)
            .tags(heading.tags)
            .tools(work.tools())
            .splits(&splits)
            .steps_max(STEPS_MAX)
            .floor(FLOOR)
            .capabilities(Capabilities {
                deterministic: false,
                recovery: Recovery::Files,
                fork: ForkKind::Files,
                at_seq: AtSeq::Snapshots,
            })
            .build_with_digest(heading.digest.to_owned());
        let rule = format!("{} over {}", work.verifier(), heading.judged_by);
        Self { work, desk, spec, verifier_version: Digest::of(rule.as_bytes()).to_string(), rows }
    }

    fn read(&self, split: &str, number: u64, index: Option<u64>, row: Value) -> Result<Task, TaskError> {
        let brief = self.work.describe(&row).map_err(TaskError::Broken)?;
        let mut messages = Vec::new();
        if !brief.system.is_empty() {
            messages.push(Message::new("system", brief.system));
        }
        messages.push(Message::new("user", brief.instruction));
        Ok(Task {
            public: PublicTask {
                id: TaskId::plain(split, number).to_string(),
                split: split.to_owned(),
                index,
                difficulty: brief.difficulty,
                template: brief.template,
                messages,
                tools: self.spec.tools.clone(),
                score_range: brief.score_range,
                metadata: Value::Object(brief.metadata),
            },
            secret: row,
        })
    }
}

/// The digest of what rows are judged by: another one gives another verifier version.
fn judged_by<'a>(work: &dyn Work, rows: impl Iterator<Item = &'a Value>) -> String {
    let parts: Vec<Value> = rows.map(|row| work.judged_by(row)).collect();
    Digest::of_json(&Value::Array(parts)).to_string()
}

impl EnvironmentKind for WorkKind {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn tasks(&self) -> Tasks<'_> {
        match self.rows {
            Rows::Shipped(_) => Tasks::Generated(self),
            Rows::Stored => Tasks::Stored(self),
        }
    }

    fn open(&self, opening: Opening<'_>) -> Result<Place, ConfigError> {
        let place = WorkPlace::new(Arc::clone(&self.work), self.desk.clone(), &opening)?;
        Ok(Place::Live(Box::new(place)))
    }

    fn verifier(&self) -> AnyVerifier<'_> {
        AnyVerifier::Live(self)
    }

    fn judges_by_task(&self) -> bool {
        true
    }

    fn prover(&self) -> Option<&dyn Prover> {
        Some(self)
    }

    fn forget(&self, episode: EpisodeId) {
        self.desk.sandboxes.forget_disk(&episode.to_string());
    }

    fn oracle(&self, task: &Task) -> Option<Vec<Action>> {
        let calls = self.work.oracle(&task.secret, 0)?;
        Some(calls.into_iter().map(|call| Action::Tool { tool: call.tool, arguments: call.arguments }).collect())
    }

    fn random_action(&self, _task: &Task, rng: &mut ChaCha8Rng) -> Action {
        let call = self.work.random_call(rng.random());
        Action::Tool { tool: call.tool, arguments: call.arguments }
    }
}

impl TaskGenerator for WorkKind {
    /// The tasks are a list: a seed below its length is a place in it, any other one picks a place.
    fn generate(&self, split: &str, seed: u64, difficulty: Option<f64>) -> Result<Task, TaskError> {
        check_seed(seed)?;
        if difficulty.is_some() {
            return Err(TaskError::BadChoice(
                "tasks of this environment are a list: choose by index or seed".to_owned(),
            ));
        }
        let length = split_length(&self.spec, split)?;
        let Rows::Shipped(rows) = &self.rows else {
            return Err(TaskError::Broken("the rows are in the store".to_owned()));
        };
        let place = if seed < length { seed } else { pick(&[b"task by seed", &seed.to_le_bytes()], length) };
        let row = rows.get(split).zip(usize::try_from(place).ok()).and_then(|(rows, place)| rows.get(place));
        let row = row.ok_or_else(|| TaskError::Broken(format!("split {split} has no row {place}")))?;
        self.read(split, seed, (seed < length).then_some(seed), row.clone())
    }
}

impl TaskRows for WorkKind {
    fn digest(&self) -> &str {
        &self.spec.digest
    }

    fn task(&self, split: &str, index: u64, row: Value) -> Result<Task, TaskError> {
        let length = split_length(&self.spec, split)?;
        if index >= length {
            return Err(TaskError::OutOfRange { split: split.to_owned(), length, index });
        }
        self.read(split, index, Some(index), row)
    }
}

#[async_trait]
impl LiveVerifier for WorkKind {
    fn name(&self) -> &str {
        self.work.verifier()
    }

    fn version(&self) -> &str {
        &self.verifier_version
    }

    async fn judge(
        &self,
        task: &Task,
        _seed: u64,
        secrets: Secrets,
        state: &State,
    ) -> Result<(Judgement, Judge), Unjudged> {
        let judged = blame::judge(&*self.work, &task.secret, secrets, &state.to_value(), &self.desk).await;
        let judgement = judged.map_err(|error| {
            let (status, detail) = match error {
                JudgeError::Verifier(detail) => (Status::VerifierError, detail),
                JudgeError::Infra(detail) | JudgeError::Unavailable(detail) => (Status::InfraError, detail),
                JudgeError::Timeout(detail) => (Status::Timeout, detail),
            };
            Unjudged { status, detail }
        })?;
        let judge = match judgement.from {
            From::State => Judge::State,
            From::Fresh => Judge::Fresh,
            From::FreshDelta => Judge::FreshDelta,
            From::InPlace => Judge::InPlace,
        };
        let checks = judgement
            .checks
            .into_iter()
            .map(|check| Check {
                name: check.name,
                weight: check.weight,
                score: check.score,
                passed: check.score >= 1.0,
                evidence: check.evidence,
            })
            .collect();
        Ok((Judgement { checks, trainable: judgement.trainable }, judge))
    }
}

#[async_trait]
impl Prover for WorkKind {
    fn check_available(&self) -> Result<(), String> {
        self.desk.sandboxes.backend(None).map(|_| ()).map_err(|error| error.to_string())
    }

    fn cases(&self, split: &str, seeds: u64) -> u64 {
        self.spec.splits.get(split).copied().unwrap_or(0).min(seeds)
    }

    fn case(&self, split: &str, number: u64) -> Result<ProofTask, String> {
        let Task { public, secret } = self.generate(split, number, None).map_err(|error| error.to_string())?;
        Ok(ProofTask { name: public.template, seed: number, secret })
    }

    async fn prove(&self, task: &ProofTask) -> Result<Vec<String>, String> {
        Ok(self.work.admit(&task.secret, &self.desk).await.err().into_iter().collect())
    }
}
