//! The `app` family: mock applications that are data. A definition becomes a kind of environment here; what it means is the
//! matter of the package `palestra-apps`.

mod definition;
mod guess;
mod place;
mod recent;
mod rows;
mod screen;
mod settings;
pub mod shipped;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use palestra_apps::app::App;
use palestra_apps::task::draw::{Instance, draw};
use palestra_apps::task::episode::Episode;
use palestra_apps::tool;
use palestra_protocol::action::Action;
use palestra_protocol::environment::{Environment as Spec, Task as PublicTask};
use palestra_protocol::list::List;
use palestra_protocol::observation::Message;
use palestra_protocol::shared::Shared;
use palestra_protocol::verdict::Check;
use parking_lot::Mutex;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::spec::{GENERATED_SPLITS, SpecBuilder, check_seed, split_length, split_of};
use super::state::{Digest, State};
use super::surface::Surface;
use super::task::{Task, TaskError, TaskId};
use super::{ConfigError, EnvironmentKind, Opening, Place, TaskGenerator, Tasks};
use crate::verifier::{Case, Judgement, Verifier, VerifierError};
pub use definition::{FILE_BYTES_MAX, FILES_MAX, Files, digest_of, faults_of, files_of, parse};
use place::AppPlace;
use recent::Recent;
use settings::Settings;

/// The family, which the name of an app follows after a slash.
pub const FAMILY: &str = "app";
/// Turns in an episode where a session names no limit.
const STEPS_MAX: u64 = 50;
/// The most that a null or random policy may reach on average.
const FLOOR: f64 = 0.05;
/// Tools beside those of the screen that a session without the others has.
const ENDS: [&str; 2] = ["wait", "submit"];
/// Raised when the same definition, state and task can get another judgement.
const JUDGE_VERSION: u32 = 1;
/// Tasks that are kept as they were drawn: sessions of one task, and its judge, share them.
const INSTANCES_KEPT_MAX: usize = 256;

/// An app as a kind of environment: generator, place and verifier in one.
pub struct AppKind {
    app: Arc<App>,
    spec: Spec,
    gui: Shared<List<Value>>,
    both: Shared<List<Value>>,
    verifier_version: String,
    instances: Mutex<Recent<(String, u64), Arc<Instance>>>,
}

/// What place and judge need to know of a task.
#[derive(Serialize, Deserialize)]
struct Secret {
    split: String,
    seed: u64,
    parameters: Map<String, Value>,
}

impl AppKind {
    /// The kind that an app makes, as a version of its name. `digest` is that of its files.
    #[must_use]
    pub fn new(app: Arc<App>, version: u32, digest: String) -> Self {
        let tools = tool::tools(&app);
        let name = |tool: &Value| tool["function"]["name"].as_str().unwrap_or_default().to_owned();
        let ends = tools.iter().filter(|tool| ENDS.contains(&name(tool).as_str())).cloned();
        let gui: Vec<Value> = screen::tools().into_iter().chain(ends).collect();
        let others = tools.iter().filter(|tool| !screen::NAMES.contains(&name(tool).as_str())).cloned();
        let both: Vec<Value> = screen::tools().into_iter().chain(others).collect();
        let tags: Vec<&str> = app.tags.iter().map(|tag| &**tag).collect();
        let mut spec = SpecBuilder::new(&name_of(&app), version, &app.about)
            .tags(&tags)
            .tools(tools)
            .splits(&GENERATED_SPLITS)
            .steps_max(STEPS_MAX)
            .floor(FLOOR)
            .build_with_digest(digest);
        spec.templates = app.templates.len() as u64;
        let verifier_version = Digest::of(format!("goals {JUDGE_VERSION} over {}", spec.digest).as_bytes()).to_string();
        Self {
            app,
            spec,
            gui: List::from(gui).into(),
            both: List::from(both).into(),
            verifier_version,
            instances: Mutex::new(Recent::new(INSTANCES_KEPT_MAX)),
        }
    }

    /// The task of a seed. The templates take turns; where one has no task in this split, the next one has its turn.
    fn instance(&self, split: &str, seed: u64) -> Result<Arc<Instance>, String> {
        let key = (split.to_owned(), seed);
        if let Some(instance) = self.instances.lock().get(&key) {
            return Ok(instance);
        }
        let count = self.app.templates.len();
        let first = usize::try_from(seed % (count.max(1) as u64)).unwrap_or(0);
        let belongs = |content: &Value| split_of(content) == split;
        let mut reason = "this app has no tasks".to_owned();
        for offset in 0..count {
            match draw(&self.app, (first + offset) % count, split, seed, &belongs) {
                Ok(instance) => {
                    self.instances.lock().put(key, Arc::clone(&instance));
                    return Ok(instance);
                }
                Err(why) => reason = why,
            }
        }
        Err(reason)
    }

    fn instance_of(&self, task: &Task) -> Result<Arc<Instance>, String> {
        let secret = Secret::deserialize(&task.secret).map_err(|_| "the task's secret is broken".to_owned())?;
        self.instance(&secret.split, secret.seed)
    }
}

/// `app/name`.
fn name_of(app: &App) -> String {
    format!("{FAMILY}/{}", app.name)
}

impl TaskGenerator for AppKind {
    fn generate(&self, split: &str, seed: u64, difficulty: Option<f64>) -> Result<Task, TaskError> {
        let length = split_length(&self.spec, split)?;
        check_seed(seed)?;
        if difficulty.is_some() {
            return Err(TaskError::BadChoice("tasks of apps have no difficulty".to_owned()));
        }
        let instance = self.instance(split, seed).map_err(TaskError::Broken)?;
        let secret = Secret { split: split.to_owned(), seed, parameters: instance.parameters() };
        Ok(Task {
            public: PublicTask {
                id: TaskId::plain(split, seed).to_string(),
                split: split.to_owned(),
                index: (seed < length).then_some(seed),
                difficulty: None,
                template: instance.template().name.to_string(),
                messages: vec![
                    Message::new("system", tool::system_text(&instance)),
                    Message::new("user", instance.text.clone()),
                ],
                tools: self.spec.tools.clone(),
                metadata: json!({}),
            },
            secret: serde_json::to_value(secret).map_err(|error| TaskError::Broken(error.to_string()))?,
        })
    }
}

impl EnvironmentKind for AppKind {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn tasks(&self) -> Tasks<'_> {
        Tasks::Generated(self)
    }

    fn prepare(&self) -> Result<(), String> {
        (0..self.app.variants.count()).try_for_each(|variant| self.app.variants.get(&self.app, variant).map(|_| ()))
    }

    fn prepares(&self) -> bool {
        true
    }

    fn surfaces(&self) -> &[Surface] {
        &Surface::ALL
    }

    fn surface(&self, config: &Map<String, Value>) -> Surface {
        Settings::surface_of(config).unwrap_or_default()
    }

    fn tools(&self, surface: Surface) -> Shared<List<Value>> {
        match surface {
            Surface::Tools => self.spec.tools.clone(),
            Surface::Gui => self.gui.clone(),
            Surface::Both => self.both.clone(),
        }
    }

    fn changed_rows(&self, before: &State, after: &State) -> Option<Value> {
        rows::changed(&self.app.schema, before.get("data")?, after.get("data")?)
    }

    fn open(&self, opening: Opening<'_>) -> Result<Place, ConfigError> {
        let settings = Settings::read(opening.config)?;
        let broken = |detail: String| ConfigError { field: None, detail };
        let instance = self.instance_of(opening.task).map_err(broken)?;
        let data = settings.data(&instance)?;
        let episode = Episode::begin_with(&instance, opening.seed, data);
        let episode = episode.map_err(|stop| broken(stop.to_string()))?;
        Ok(Place::Pure(Box::new(AppPlace::new(episode, settings.surface))))
    }

    fn heavy_to_open(&self, config: &Map<String, Value>) -> bool {
        config.contains_key(settings::STATE)
    }

    fn verifier(&self) -> &dyn Verifier {
        self
    }

    fn oracle(&self, task: &Task) -> Option<Vec<Action>> {
        let instance = self.instance_of(task).ok()?;
        let mut calls: Vec<Action> = instance
            .solution()
            .iter()
            .map(|call| Action::Tool { tool: call.name.to_string(), arguments: call.arguments.clone() })
            .collect();
        let submits = instance.solution().last().is_some_and(|call| &*call.name == "submit");
        if !submits {
            let arguments = Map::from_iter([("status".to_owned(), json!("ok"))]);
            calls.push(Action::Tool { tool: "submit".to_owned(), arguments });
        }
        Some(calls)
    }

    fn random_action(&self, task: &Task, rng: &mut ChaCha8Rng) -> Action {
        match self.instance_of(task) {
            Ok(instance) => guess::action(&instance, rng),
            Err(_) => Action::Text(String::new()),
        }
    }
}

impl Verifier for AppKind {
    fn name(&self) -> &str {
        "state-goals"
    }

    fn version(&self) -> &str {
        &self.verifier_version
    }

    fn verify(&self, case: &Case<'_>) -> Result<Judgement, VerifierError> {
        let instance = self.instance_of(case.task).map_err(VerifierError)?;
        let checks = instance.judge(case.state).map_err(VerifierError)?;
        let checks = checks.into_iter().map(|check| Check {
            name: check.name,
            weight: check.weight,
            score: check.score,
            passed: check.passed,
            evidence: check.evidence,
        });
        // Where a configuration has changed the data so that the task makes no sense any more, a score teaches nothing.
        let trainable = instance.is_sound(case.state).map_err(VerifierError)?;
        Ok(Judgement { checks: checks.collect(), trainable })
    }
}
