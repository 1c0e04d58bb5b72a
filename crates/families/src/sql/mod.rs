//! The family `sql`: databases to act in. What its tasks mean is the matter of the package `palestra-sql`; here they become tasks
//! of the catalog, and its rooms places.

mod place;
mod publication;
pub mod shipped;

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use palestra_protocol::action::Action;
use palestra_protocol::environment::{
    AtSeq, Capabilities, Environment as Spec, ForkKind, Recovery, Task as PublicTask,
};
use palestra_protocol::observation::Message;
use palestra_protocol::verdict::{Check, Judge, Status};
use palestra_sql::judge::{self, JudgeError};
use palestra_sql::library::Library;
use palestra_sql::task::Task as SqlTask;
use palestra_sql::template::Suite;
use palestra_sql::template::audit::Effort;
use palestra_sql::value::Dialect;
use palestra_sql::{prove, session};
use parking_lot::Mutex;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::databases::Databases;
use palestra_environment::proof::live::{ProofTask, Prover};
use palestra_environment::spec::{SpecBuilder, check_seed, split_length};
use palestra_environment::state::{Digest, State};
use palestra_environment::task::{Task, TaskError, TaskId};
use palestra_environment::verifier::{AnyVerifier, Judgement, LiveVerifier, Unjudged};
use palestra_environment::{ConfigError, EnvironmentKind, Opening, Place, Secrets, TaskGenerator, TaskRows, Tasks};

use place::SqlPlace;
pub use publication::{Submission, kind, parse};

/// The family's name.
pub const FAMILY: &str = "sql";
/// Tasks of each template and split that are proven where many are asked for: it takes longer than with apps.
pub const PROVEN_SEEDS_MAX: u64 = 4;
/// Turns in an episode where a session names no limit.
const STEPS_MAX: u64 = 100;
/// The most that a null or random policy may reach on average.
const FLOOR: f64 = 0.05;
/// Raised when the same evidence can be judged otherwise.
const RULE: u32 = 2;
/// The rule that judges.
const VERIFIER: &str = "sql";

/// True if a name is of this family.
#[must_use]
pub fn is_sql(name: &str) -> bool {
    name.split_once('/').is_some_and(|(family, _)| family == FAMILY)
}

/// An environment of databases.
pub struct SqlKind {
    spec: Spec,
    databases: Databases,
    library: Arc<dyn Library>,
    /// Makes the tasks, where they are not stored.
    suite: Option<Arc<Suite>>,
    /// Templates that a proof has audited: once each, whatever the number of their tasks.
    audited: Mutex<BTreeSet<String>>,
    verifier_version: String,
}

/// The description of an environment.
struct Heading<'a> {
    name: &'a str,
    version: u32,
    description: &'a str,
    tags: &'a [String],
    splits: &'a [(String, u64)],
    templates: u64,
    digest: String,
}

impl SqlKind {
    fn new(heading: &Heading<'_>, databases: Databases, library: Arc<dyn Library>, suite: Option<Arc<Suite>>) -> Self {
        let mut spec = SpecBuilder::new(heading.name, heading.version, heading.description)
            .tags(heading.tags)
            .tools(session::tools())
            .splits(heading.splits)
            .steps_max(STEPS_MAX)
            .floor(FLOOR)
            .capabilities(Capabilities {
                deterministic: true,
                recovery: Recovery::Replay,
                fork: ForkKind::State,
                at_seq: AtSeq::Any,
            })
            .build_with_digest(heading.digest.clone());
        spec.templates = heading.templates;
        let verifier_version = Digest::of(format!("{VERIFIER} {RULE} over {}", spec.digest).as_bytes()).to_string();
        Self { spec, databases, library, suite, audited: Mutex::default(), verifier_version }
    }

    /// On which engines tasks are proven: those that templates name; what was published as databases is played on SQLite, and where
    /// it can be said in another dialect, that was tried when it was published.
    fn proven_on(&self) -> &[Dialect] {
        match &self.suite {
            Some(suite) => &suite.environment().engines,
            None => &[Dialect::Sqlite],
        }
    }

    /// The faults of a template beside the tasks that are played, where nobody has looked yet.
    async fn audit(&self, template: &str) -> Result<Vec<String>, String> {
        let (Some(suite), Some(dialect)) = (&self.suite, self.proven_on().first()) else { return Ok(Vec::new()) };
        if !self.audited.lock().insert(template.to_owned()) {
            return Ok(Vec::new());
        }
        let engine = self.databases.engine(*dialect).await.map_err(|error| error.to_string())?;
        Ok(suite.audit(&engine, template, Effort::USUAL).await?.faults)
    }

    fn told(&self, split: &str, number: u64, index: Option<u64>, task: &SqlTask, secret: Value) -> Task {
        let mut metadata: Map<String, Value> =
            task.metadata.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        metadata.insert("kind".to_owned(), json!(task.kind));
        metadata.insert("access".to_owned(), json!(task.access));
        metadata.insert("submission".to_owned(), json!(task.submission));
        Task {
            public: PublicTask {
                id: TaskId::plain(split, number).to_string(),
                split: split.to_owned(),
                index,
                difficulty: task.difficulty,
                template: task.template.clone(),
                messages: vec![Message::new("user", task.instruction.clone())],
                tools: self.spec.tools.clone(),
                score_range: None,
                metadata: Value::Object(metadata),
            },
            secret,
        }
    }
}

/// The task of a stored form.
fn read(secret: &Value) -> Result<SqlTask, String> {
    SqlTask::deserialize(secret)
        .map_err(|error| format!("a task is not of the stored form, publish the environment anew: {error}"))
}

impl EnvironmentKind for SqlKind {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn tasks(&self) -> Tasks<'_> {
        match self.suite {
            Some(_) => Tasks::Generated(self),
            None => Tasks::Stored(self),
        }
    }

    fn open(&self, opening: Opening<'_>) -> Result<Place, ConfigError> {
        let place = SqlPlace::new(self.databases.clone(), Arc::clone(&self.library), &opening)?;
        Ok(Place::Live(Box::new(place)))
    }

    /// A place is opened at the first look.
    fn heavy_to_open(&self, _config: &Map<String, Value>) -> bool {
        false
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

    fn oracle(&self, task: &Task) -> Option<Vec<Action>> {
        let calls = prove::solution(&read(&task.secret).ok()?, Dialect::Sqlite)?;
        Some(calls.into_iter().map(|(tool, arguments)| Action::Tool { tool: tool.to_owned(), arguments }).collect())
    }

    fn random_action(&self, _task: &Task, rng: &mut ChaCha8Rng) -> Action {
        let (tool, arguments) = session::random_call(rng.random());
        Action::Tool { tool: tool.to_owned(), arguments }
    }

    /// Worlds are made and scripts are written when tasks are asked for.
    fn heavy(&self) -> bool {
        true
    }
}

impl TaskGenerator for SqlKind {
    fn generate(&self, split: &str, seed: u64, difficulty: Option<f64>) -> Result<Task, TaskError> {
        check_seed(seed)?;
        let length = split_length(&self.spec, split)?;
        let suite = self.suite.as_ref().ok_or_else(|| TaskError::Broken("the tasks are in the store".to_owned()))?;
        let task = suite.task(split, seed, difficulty).map_err(TaskError::Broken)?;
        let secret = serde_json::to_value(&task).map_err(|error| TaskError::Broken(error.to_string()))?;
        Ok(self.told(split, seed, (seed < length).then_some(seed), &task, secret))
    }
}

impl TaskRows for SqlKind {
    fn digest(&self) -> &str {
        &self.spec.digest
    }

    fn task(&self, split: &str, index: u64, row: Value) -> Result<Task, TaskError> {
        let length = split_length(&self.spec, split)?;
        if index >= length {
            return Err(TaskError::OutOfRange { split: split.to_owned(), length, index });
        }
        let task = read(&row).map_err(TaskError::Broken)?;
        Ok(self.told(split, index, Some(index), &task, row))
    }
}

#[async_trait]
impl LiveVerifier for SqlKind {
    fn name(&self) -> &str {
        VERIFIER
    }

    fn version(&self) -> &str {
        &self.verifier_version
    }

    async fn judge(
        &self,
        task: &Task,
        seed: u64,
        _secrets: Secrets,
        state: &State,
    ) -> Result<(Judgement, Judge), Unjudged> {
        let unjudged = |status, detail: String| Unjudged { status, detail };
        let task = read(&task.secret).map_err(|detail| unjudged(Status::VerifierError, detail))?;
        let state = state.to_value();
        let dialect = place::dialect_of(&state["engine"]).map_err(|detail| unjudged(Status::VerifierError, detail))?;
        let engine = self.databases.engine(dialect).await;
        let engine = engine.map_err(|error| unjudged(Status::InfraError, error.to_string()))?;
        let judged = judge::judge(&*engine, &*self.library, &task, seed, &state["evidence"]).await;
        let judgement = judged.map_err(|error| match &error {
            JudgeError::Verifier(_) => unjudged(Status::VerifierError, error.to_string()),
            JudgeError::Infra(_) => unjudged(Status::InfraError, error.to_string()),
            JudgeError::Timeout => unjudged(Status::Timeout, error.to_string()),
        })?;
        let checks = judgement.checks.into_iter().map(|check| Check {
            name: check.name,
            weight: check.weight,
            score: check.score,
            passed: check.passed,
            evidence: check.evidence.to_string(),
        });
        Ok((Judgement { checks: checks.collect(), trainable: true }, Judge::Fresh))
    }
}

#[async_trait]
impl Prover for SqlKind {
    fn check_available(&self) -> Result<(), String> {
        self.proven_on().iter().try_for_each(|dialect| self.databases.offers(*dialect))
    }

    fn cases(&self, split: &str, seeds: u64) -> u64 {
        match &self.suite {
            Some(suite) => (suite.templates().count() as u64).saturating_mul(seeds),
            None => self.spec.splits.get(split).copied().unwrap_or(0).min(seeds),
        }
    }

    /// Each template in turn.
    fn case(&self, split: &str, number: u64) -> Result<ProofTask, String> {
        let suite = self.suite.as_ref().ok_or_else(|| "the tasks are in the store".to_owned())?;
        let templates: Vec<&str> = suite.templates().map(|(name, _)| name).collect();
        let count = templates.len().max(1) as u64;
        let template = usize::try_from(number % count).ok().and_then(|place| templates.get(place));
        let (template, seed) = (
            template.ok_or_else(|| "the suite has no template: choose another environment".to_owned())?,
            number / count,
        );
        let drawn = suite.drawn(template, split, seed).map_err(|fault| format!("{template} {seed}: {fault}"))?;
        let secret = serde_json::to_value(&drawn.task).map_err(|error| error.to_string())?;
        Ok(ProofTask { name: format!("{template} {seed}"), seed, secret })
    }

    async fn prove(&self, task: &ProofTask) -> Result<Vec<String>, String> {
        let read = match read(&task.secret) {
            Ok(read) => read,
            Err(fault) => return Ok(vec![fault]),
        };
        let mut faults = Vec::new();
        for dialect in self.proven_on() {
            let engine = self.databases.engine(*dialect).await.map_err(|error| error.to_string())?;
            if let Err(fault) = prove::task(&engine, &self.library, &read, task.seed).await {
                faults.push(format!("on {}: {fault}", dialect.name()));
            }
        }
        if faults.is_empty() {
            faults.extend(self.audit(&read.template).await?);
        }
        Ok(faults)
    }
}
