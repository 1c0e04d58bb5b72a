//! Environments: what can be acted in. A leaf of the server: everything an environment needs comes in as arguments, and it
//! calls neither the store nor HTTP.

pub mod blob;
pub mod draws;
pub mod policy;
pub mod proof;
pub mod randomness;
pub mod remains;
pub mod spec;
pub mod surface;
pub mod task;
pub mod tool;
pub mod verifier;

pub use palestra_state as state;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use palestra_protocol::action::Action;
use palestra_protocol::environment::Environment as Spec;
use palestra_protocol::id::EpisodeId;
use palestra_protocol::observation::Observation;
use palestra_protocol::shared::Shared;
use palestra_protocol::verdict::Verdict;
pub use palestra_state::secrets::Secrets;
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value};

use crate::blob::Blob;
use crate::verifier::AnyVerifier;
use draws::Draws;
use proof::live::Prover;
use randomness::Randomness;
use state::State;
use surface::Surface;
use task::{Task, TaskError};

/// A kind of environment: its description, its tasks, and how to open a place to act in.
pub trait EnvironmentKind: Send + Sync + 'static {
    /// The description that the API shows. Constant for one version.
    fn spec(&self) -> &Spec;

    /// Where its tasks come from.
    fn tasks(&self) -> Tasks<'_>;

    /// Makes what all sessions share, before the first of them is opened. It may take long, and is called on the blocking pool;
    /// whoever plays without the call waits when it is needed.
    ///
    /// # Errors
    /// When the definition turns out to be broken.
    fn prepare(&self) -> Result<(), String> {
        Ok(())
    }

    /// True if there is something to prepare.
    fn prepares(&self) -> bool {
        false
    }

    /// On what its sessions can act.
    fn surfaces(&self) -> &[Surface] {
        &[Surface::Tools]
    }

    /// On what sessions with these settings act; which of them are wrong is for [`EnvironmentKind::open`] to say.
    fn surface(&self, _config: &Map<String, Value>) -> Surface {
        Surface::Tools
    }

    /// The tools of a surface; those of the spec are for [`Surface::Tools`].
    fn tools(&self, _surface: Surface) -> Shared<Vec<Value>> {
        self.spec().tools.clone()
    }

    /// Where states consist of tables: which rows are created, updated and deleted between two of them.
    fn changed_rows(&self, _before: &State, _after: &State) -> Option<Value> {
        None
    }

    /// Opens a place at the beginning of `task`.
    ///
    /// # Errors
    /// When `config` does not fit; the fault belongs to the caller.
    fn open(&self, opening: Opening<'_>) -> Result<Place, ConfigError>;

    /// True if opening with these settings may take more than a millisecond, and so runs on the blocking pool.
    fn heavy_to_open(&self, _config: &Map<String, Value>) -> bool {
        self.heavy()
    }

    /// The rule that judges its episodes.
    fn verifier(&self) -> AnyVerifier<'_>;

    /// True if the rule that judges is part of each task, so that a stored episode is judged again by the task of the same name in
    /// the version that judges.
    fn judges_by_task(&self) -> bool {
        false
    }

    /// True if the rule that judges compares the end with the beginning that its own version draws, so that it can judge an episode of
    /// another version only where both begin alike.
    fn judges_from_beginning(&self) -> bool {
        false
    }

    /// Proves its tasks, where they are done outside this process.
    fn prover(&self) -> Option<&dyn Prover> {
        None
    }

    /// Actions that solve the task, for gates, tests, and jobs that play by them; over the API only whoever may read the definition
    /// of the environment learns them.
    fn oracle(&self, task: &Task) -> Option<Vec<Action>>;

    /// Removes what an episode left outside the server, once its session is closed.
    fn forget(&self, _episode: EpisodeId) {}

    /// An action that is well formed but chosen without looking, for floors and tests.
    fn random_action(&self, task: &Task, rng: &mut ChaCha8Rng) -> Action;

    /// True if generating, stepping or judging may take more than a millisecond, and so runs on the blocking pool.
    fn heavy(&self) -> bool {
        false
    }
}

/// Where tasks come from.
pub enum Tasks<'a> {
    /// Made from a seed.
    Generated(&'a dyn TaskGenerator),
    /// Rows in the store.
    Stored(&'a dyn TaskRows),
}

/// Makes tasks from seeds: a pure function.
pub trait TaskGenerator: Send + Sync {
    /// The task of `seed` in `split`. Tasks of different splits differ in content, not in seed alone.
    ///
    /// `difficulty` is in [0, 1]; where it is left out it follows from the seed, so that a split covers the whole scale.
    ///
    /// # Errors
    /// When the split is unknown or the difficulty is not on the environment's scale.
    fn generate(&self, split: &str, seed: u64, difficulty: Option<f64>) -> Result<Task, TaskError>;

    /// Split and index of the task that has this id of its own.
    fn place_of(&self, _id: &str) -> Option<(String, u64)> {
        None
    }

    /// True if the tasks of a split have ids of their own, which [`TaskGenerator::generate`] gives them: each is found by its index, and
    /// none is made from a seed.
    fn has_own_ids(&self, _split: &str) -> bool {
        false
    }

    /// The same task; what was drawn again on the way is counted in `draws`. A generator that draws everything once has nothing to
    /// count.
    ///
    /// # Errors
    /// As [`TaskGenerator::generate`].
    fn generate_counted(
        &self,
        split: &str,
        seed: u64,
        difficulty: Option<f64>,
        draws: &mut Draws,
    ) -> Result<Task, TaskError> {
        draws.begin();
        self.generate(split, seed, difficulty)
    }
}

/// Makes tasks from stored rows.
pub trait TaskRows: Send + Sync {
    /// The digest under which the rows are stored.
    fn digest(&self) -> &str;

    /// The task that a stored row stands for.
    ///
    /// # Errors
    /// When the row does not have the stored form, which means that the store was tampered with.
    fn task(&self, split: &str, index: u64, row: Value) -> Result<Task, TaskError>;
}

/// The arguments of [`EnvironmentKind::open`].
#[derive(Clone, Copy)]
pub struct Opening<'a> {
    /// The problem.
    pub task: &'a Arc<Task>,
    /// Randomness of the environment.
    pub seed: u64,
    /// The source of values that stay hidden from who knows the seed.
    pub secrets: Secrets,
    /// Settings, as the caller gave them.
    pub config: &'a Map<String, Value>,
    /// The episode that begins.
    pub episode: EpisodeId,
    /// True if the episode began earlier and only what outlives the server is left of it.
    pub resumed: bool,
    /// A folder that the environment may use for what outlives the server.
    pub folder: Option<&'a PathBuf>,
    /// The snapshot that the place goes on from, as [`LiveEnvironment::snapshot`] gave it.
    pub from: Option<&'a Value>,
}

/// A setting that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct ConfigError {
    /// Which setting, as a path of fields below `config`.
    pub field: Option<String>,
    /// The fault.
    pub detail: String,
}

impl ConfigError {
    /// Refuses every setting, for environments that have none.
    ///
    /// # Errors
    /// When there is one.
    pub fn refuse_all(config: &Map<String, Value>) -> Result<(), Self> {
        config.keys().next().map_or(Ok(()), |field| {
            Err(Self {
                field: Some(field.clone()),
                detail: "this environment has no such setting: leave it out".to_owned(),
            })
        })
    }
}

/// A place to act in.
pub enum Place {
    /// In this process, without IO, in microseconds.
    Pure(Box<dyn Environment>),
    /// With processes, files or connections of its own.
    Live(Box<dyn LiveEnvironment>),
}

/// A synchronous place: a pure function of its state, the input and the context. A panic ends its session as `infra_error`.
pub trait Environment: Send + Sync {
    /// The present observation; at the beginning, the first one.
    fn observe(&self) -> Observation;

    /// Takes one text or one tool call that is known to fit the tool's schema.
    fn act(&mut self, input: Input<'_>, context: &mut Context) -> Reaction;

    /// Privileged state, as ordered JSON. Everything that a verdict depends on is in it.
    fn state(&self) -> State;

    /// An independent copy of this place.
    fn fork(&self) -> Box<dyn Environment>;

    /// Answers a browser that looks at an address of the screen, or sends a form there. Nothing is done yet, and nothing can be done
    /// after the end of the episode.
    ///
    /// # Errors
    /// In words, when the page has no such form.
    fn page(&self, _request: &PageRequest<'_>, _end: Option<PageEnd<'_>>) -> Result<PageAnswer, String> {
        Ok(PageAnswer::None)
    }

    /// The address of the present screen behind the base; `None` where there is no screen.
    fn page_address(&self) -> Option<String> {
        None
    }
}

/// A request of a browser.
#[derive(Debug, Clone, Copy)]
pub struct PageRequest<'a> {
    /// Beginning of every address of the pages.
    pub base: &'a str,
    /// True if a form is sent; false if an address is looked at.
    pub post: bool,
    /// The path behind the base, as it was sent.
    pub path: &'a str,
    /// The query, as it was sent; empty where there is none.
    pub query: &'a str,
    /// The fields of the form.
    pub form: &'a [(String, String)],
}

/// The end of an episode, for its page.
#[derive(Debug, Clone, Copy)]
pub struct PageEnd<'a> {
    /// The verdict, if there is one. A page may show it only where the session was opened so that it does: who has its path acts in
    /// the session.
    pub verdict: Option<&'a Verdict>,
}

/// Answer to a browser.
#[derive(Debug, Clone, PartialEq)]
pub enum PageAnswer {
    /// The page of the present screen.
    Html(String),
    /// Calls to make in order, up to the first that is refused, and then the page.
    Calls(Vec<PageCall>),
    /// A style sheet, script or picture with its media type.
    Asset(&'static str, String),
    /// Something that no page has.
    Missing,
    /// This environment has no pages.
    None,
}

/// A call that a form of a page stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct PageCall {
    /// The tool's name.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

/// An asynchronous place that owns things outside this process.
#[async_trait]
pub trait LiveEnvironment: Send + Sync {
    /// The present observation; at the beginning, the first one.
    async fn observe(&mut self) -> Result<Observation, InfraError>;

    /// Takes one text or one tool call that is known to fit the tool's schema.
    async fn act(&mut self, input: Input<'_>, context: &mut Context) -> Result<Reaction, InfraError>;

    /// Takes a recorded input again to rebuild an episode. `seen` is the data of what was seen then, for what does not come out
    /// alike by itself, such as a statement that time cut off.
    async fn act_again(
        &mut self,
        input: Input<'_>,
        _seen: &Value,
        context: &mut Context,
    ) -> Result<Reaction, InfraError> {
        self.act(input, context).await
    }

    /// True if the observation `again` equals the observation `seen`, as far as the episode needs it to go on from there.
    fn agrees(&self, seen: &Observation, again: &Observation) -> bool {
        seen == again
    }

    /// Privileged state, as ordered JSON.
    async fn state(&mut self) -> Result<State, InfraError>;

    /// A snapshot that another place can go on from, as JSON; `None` where the environment declares no snapshots.
    async fn snapshot(&mut self) -> Result<Option<Value>, InfraError> {
        Ok(None)
    }

    /// The files that differ from a snapshot or else from the beginning; `None` where there are no files.
    async fn changed_files(&mut self, _since: Option<&Value>) -> Result<Option<Value>, InfraError> {
        Ok(None)
    }

    /// Describes the isolation of the place from the rest of the machine; `None` where it needs none.
    fn isolation(&self) -> Option<Value> {
        None
    }

    /// An independent copy of this place; `None` where the environment declares that it cannot fork.
    async fn fork(&mut self, episode: EpisodeId) -> Result<Option<Box<dyn LiveEnvironment>>, InfraError>;

    /// Contents that observations since the last call named by their digest.
    fn take_blobs(&mut self) -> Vec<Blob> {
        Vec::new()
    }

    /// Frees everything outside this process.
    async fn close(&mut self);

    /// Frees everything but what the place is picked up from again, when the session is next touched.
    async fn leave(&mut self) {
        self.close().await;
    }
}

/// The infrastructure under an environment failed; the episode is not a sample.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct InfraError {
    /// The failure in words.
    pub detail: String,
    /// Why the fault is not this place's own, where it is not.
    pub cause: Cause,
}

/// The cause of a failure of the infrastructure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Cause {
    /// The place broke.
    #[default]
    Broken,
    /// Everything is in use; in so many milliseconds something may be free.
    Busy(u64),
    /// This server lacks what the place needs.
    Missing,
    /// The place stands, but cannot do what was asked for.
    Refused,
}

impl InfraError {
    /// A place broke.
    #[must_use]
    pub fn new(detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), cause: Cause::Broken }
    }
}

/// One thing to react to.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// Plain text.
    Text(&'a str),
    /// A call of a tool that the environment offers, with arguments that fit its schema.
    Call {
        /// The tool's name.
        tool: &'a str,
        /// Its arguments.
        arguments: &'a Map<String, Value>,
    },
}

/// Randomness and clock of an episode, lent to its environment while it acts.
#[derive(Debug, Clone)]
pub struct Context {
    /// The session's only source of randomness.
    pub rng: Randomness,
    /// The session's virtual clock: milliseconds since the episode began. Only the environment moves it.
    pub clock_ms: u64,
}

impl Context {
    /// The beginning of an episode whose randomness follows from `words`.
    #[must_use]
    pub fn seeded(words: &[&[u8]]) -> Self {
        Self { rng: Randomness::seeded(words), clock_ms: 0 }
    }
}

/// The result of one input.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reaction {
    /// The observation after it.
    pub observation: Observation,
    /// The reward of this input; `None` where the environment has no step rewards.
    pub reward: Option<f64>,
    /// Shaping, reported apart from the reward.
    pub shaping: Option<f64>,
    /// Names of actions that it led to and that nothing takes back.
    pub irreversible: Vec<String>,
    /// The task ended by its own rules.
    pub terminated: bool,
    /// A failure under the environment, such as a broken definition: the episode is then no sample.
    pub failure: Option<InfraError>,
}

impl Reaction {
    /// Text to look at; the episode goes on.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { observation: Observation::text(text), ..Self::default() }
    }

    /// The environment itself failed.
    #[must_use]
    pub fn failed(detail: impl Into<String>) -> Self {
        Self { failure: Some(InfraError::new(detail)), ..Self::default() }
    }

    /// Text to look at; the episode ends.
    #[must_use]
    pub fn end(text: impl Into<String>) -> Self {
        Self { terminated: true, ..Self::text(text) }
    }
}
