//! The `app` family: mock applications that are data. A definition becomes a kind of environment here; what it means is the
//! matter of the package `palestra-apps`.

mod definition;
mod guess;
mod pages;
mod place;
mod recent;
mod rows;
mod screen;
mod settings;
pub mod shipped;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use palestra_apps::app::{App, FixedTask};
use palestra_apps::draw::{draw, draw_as_before};
use palestra_apps::run::database;
use palestra_apps::task::draw_key::DrawKey;
use palestra_apps::task::episode::Episode;
use palestra_apps::task::instance::Instance;
use palestra_apps::task::outcome::{NoTask, Rule};
use palestra_apps::tool;
use palestra_browser::Browsers;
use palestra_protocol::action::Action;
use palestra_protocol::environment::{Environment as Spec, Task as PublicTask};
use palestra_protocol::observation::Message;
use palestra_protocol::shared::Shared;
use palestra_protocol::verdict::Check;
use parking_lot::Mutex;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use palestra_apps::app::theme::FOLDER;

use crate::browsed::{BrowserPlace, NO_BROWSER};
pub use definition::{FILE_BYTES_MAX, FILES_MAX, Files, digest_of, faults_of, files_of, is_file_name, parse};
use pages::AppPages;
use palestra_environment::spec::{SpecBuilder, check_seed, split_length, split_of};
use palestra_environment::state::{Digest, State};
use palestra_environment::surface::Surface;
use palestra_environment::task::{FaultyTask, Task, TaskError, TaskId};
use palestra_environment::verifier::{AnyVerifier, Case, Judgement, Verifier, VerifierError};
use palestra_environment::{ConfigError, EnvironmentKind, Opening, Place, TaskGenerator, Tasks};
use place::AppPlace;
use recent::Recent;
use settings::Settings;

/// The family, which the name of an app follows after a slash.
pub const FAMILY: &str = "app";
/// Turns in an episode where a session names no limit, unless the solution of a fixed task needs more than half of them.
const STEPS_MAX: u64 = 50;
/// The most that a null or random policy may reach on average.
const FLOOR: f64 = 0.05;
/// Stands for the template of fixed tasks, which have none.
const FIXED: &str = "fixed";
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
    gui: Shared<Vec<Value>>,
    both: Shared<Vec<Value>>,
    browser: Shared<Vec<Value>>,
    hybrid: Shared<Vec<Value>>,
    browsers: Option<Browsers>,
    verifier_version: String,
    instances: Mutex<Recent<(String, u64, Rule), Arc<Instance>>>,
}

/// The part of a task that only place and judge see.
#[derive(Serialize, Deserialize)]
struct Secret {
    split: String,
    seed: u64,
    parameters: Map<String, Value>,
    /// The id of a fixed task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fixed: Option<String>,
    /// Which draw of the seed it is. Tasks that were stored before this was noted were drawn by a laxer rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    drawn: Option<Drawn>,
}

/// Which draw of a seed a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Drawn {
    /// The template, by its place.
    template: usize,
    /// The number of the draw, from 0.
    attempt: u32,
}

impl AppKind {
    /// The kind that an app makes, as a version of its name. `digest` is that of its files.
    #[must_use]
    pub fn new(app: Arc<App>, version: u32, digest: String) -> Self {
        let tools = tool::tools(&app);
        let name = |tool: &Value| tool["function"]["name"].as_str().unwrap_or_default().to_owned();
        let ends = tools.iter().filter(|tool| ENDS.contains(&name(tool).as_str())).cloned();
        let gui: Vec<Value> = screen::tools().into_iter().chain(ends.clone()).collect();
        let others = tools.iter().filter(|tool| !screen::NAMES.contains(&name(tool).as_str())).cloned();
        let both: Vec<Value> = screen::tools().into_iter().chain(others).collect();
        let is_browsers = |tool: &&Value| palestra_browser::action::NAMES.contains(&name(tool).as_str());
        let pages = || palestra_browser::action::tools().into_iter();
        let browser: Vec<Value> = pages().chain(ends).collect();
        let hybrid: Vec<Value> = pages().chain(tools.iter().filter(|tool| !is_browsers(tool)).cloned()).collect();
        let tags: Vec<&str> = app.tags.iter().map(|tag| &**tag).collect();
        let splits = definition::splits(&app);
        let splits: Vec<(&str, u64)> = splits.iter().map(|(split, length)| (split.as_str(), *length)).collect();
        let mut spec = SpecBuilder::new(&name_of(&app), version, &app.about)
            .tags(&tags)
            .tools(tools)
            .splits(&splits)
            .steps_max(steps_max(&app))
            .floor(FLOOR)
            .build_with_digest(digest);
        spec.templates = app.templates.len() as u64;
        let verifier_version = Digest::of(format!("goals {JUDGE_VERSION} over {}", spec.digest).as_bytes()).to_string();
        Self {
            app,
            spec,
            gui: gui.into(),
            both: both.into(),
            browser: browser.into(),
            hybrid: hybrid.into(),
            verifier_version,
            instances: Mutex::new(Recent::new(INSTANCES_KEPT_MAX)),
            browsers: None,
        }
    }

    /// The same with browsers, for the surfaces that need one.
    #[must_use]
    pub fn in_browsers(self, browsers: Browsers) -> Self {
        Self { browsers: Some(browsers), ..self }
    }

    /// The task of a seed. The templates take turns; where one has no task in this split, the next one has its turn. A draw that
    /// shows a fault of the definition is an error.
    fn instance(&self, split: &str, seed: u64) -> Result<Arc<Instance>, TaskError> {
        if let Some(instance) = self.kept(split, seed, Rule::Strict) {
            return Ok(instance);
        }
        let belongs = |content: &Value| split_of(content) == split;
        let mut error =
            TaskError::Broken("this app has no tasks: play it freely, or choose another environment".to_owned());
        for template in self.turns(seed) {
            match draw(&self.app, template, split, seed, &belongs) {
                Ok(instance) => return Ok(self.keep((split, seed, Rule::Strict), instance)),
                Err(faulty @ NoTask::Faulty(..)) => return Err(self.faulty(split, seed, &faulty)),
                Err(why @ NoTask::Exhausted(..)) => error = self.faulty(split, seed, &why),
            }
        }
        Err(error)
    }

    /// The fault of the definition that leaves a seed without a task.
    fn faulty(&self, split: &str, seed: u64, why: &NoTask) -> TaskError {
        TaskError::Faulty(Box::new(FaultyTask {
            environment: format!("{}@{}", self.spec.name, self.spec.version),
            template: why.template().to_owned(),
            split: split.to_owned(),
            seed,
            flaw: why.word(),
            evidence: why.to_string(),
        }))
    }

    /// The task of a seed as it was drawn when draws that show a fault were thrown away without a word.
    fn instance_as_before(&self, split: &str, seed: u64) -> Result<Arc<Instance>, String> {
        if let Some(instance) = self.kept(split, seed, Rule::Before) {
            return Ok(instance);
        }
        let belongs = |content: &Value| split_of(content) == split;
        let mut reason = "this app has no tasks: play it freely, or choose another environment".to_owned();
        for template in self.turns(seed) {
            match draw_as_before(&self.app, template, split, seed, &belongs) {
                Ok(instance) => return Ok(self.keep((split, seed, Rule::Before), instance)),
                Err(why) => reason = why.to_string(),
            }
        }
        Err(reason)
    }

    /// The places of the templates, from that whose turn a seed is.
    fn turns(&self, seed: u64) -> impl Iterator<Item = usize> {
        let count = self.app.templates.len();
        let first = usize::try_from(seed % (count.max(1) as u64)).unwrap_or(0);
        (0..count).map(move |offset| (first + offset) % count)
    }

    fn kept(&self, split: &str, seed: u64, rule: Rule) -> Option<Arc<Instance>> {
        self.instances.lock().get(&(split.to_owned(), seed, rule))
    }

    fn keep(&self, (split, seed, rule): (&str, u64, Rule), instance: Arc<Instance>) -> Arc<Instance> {
        self.instances.lock().put((split.to_owned(), seed, rule), Arc::clone(&instance));
        instance
    }

    fn instance_of(&self, task: &Task) -> Result<Arc<Instance>, String> {
        let secret = Secret::deserialize(&task.secret).map_err(|_| "the task's secret is broken".to_owned())?;
        let (split, seed) = (&*secret.split, secret.seed);
        if let Some(id) = &secret.fixed {
            let task = self.app.fixed.iter().find(|task| *task.id == **id);
            let task = task.ok_or_else(|| format!("the app has no fixed task {id} any more: list its tasks"))?;
            return self.fixed_instance(task, split, seed);
        }
        let Some(noted) = secret.drawn else { return self.instance_as_before(split, seed) };
        if let Some(instance) = self.kept(split, seed, Rule::Strict).filter(|instance| drawn(instance) == noted) {
            return Ok(instance);
        }
        let Drawn { template, attempt } = noted;
        if template >= self.app.templates.len() {
            return Err("the task's secret names no template".to_owned());
        }
        let ticket = DrawKey { app: &self.app, template, split, seed, attempt, rule: Rule::Strict };
        let instance = ticket.draw(&|_| true).task.map_err(|_| "the task can no longer be drawn".to_owned())?;
        Ok(self.keep((split, seed, Rule::Strict), instance))
    }
}

impl AppKind {
    /// The fixed tasks of a split, in order.
    fn fixed(&self, split: &str) -> impl Iterator<Item = &FixedTask> {
        self.app.fixed.iter().filter(move |task| *task.split == *split)
    }

    fn fixed_instance(&self, task: &FixedTask, split: &str, index: u64) -> Result<Arc<Instance>, String> {
        if let Some(instance) = self.kept(split, index, Rule::Strict) {
            return Ok(instance);
        }
        let instance = task.instance(&self.app).map_err(|fault| fault.to_string())?;
        Ok(self.keep((split, index, Rule::Strict), instance))
    }

    /// The fixed task at a place of its split; a number beyond them counts on from the first.
    fn fixed_task(&self, split: &str, number: u64) -> Result<Task, TaskError> {
        let length = split_length(&self.spec, split)?;
        let index = number % length.max(1);
        let place = usize::try_from(index).unwrap_or(usize::MAX);
        let out_of_range = || TaskError::OutOfRange { split: split.to_owned(), length, index };
        let task = self.fixed(split).nth(place).ok_or_else(out_of_range)?;
        let instance = self.fixed_instance(task, split, index).map_err(TaskError::Broken)?;
        let fixed = Some(task.id.to_string());
        let secret = Secret { split: split.to_owned(), seed: index, parameters: Map::new(), fixed, drawn: None };
        self.task(task.id.to_string(), Some(index), FIXED, &instance, secret)
    }

    fn task(
        &self,
        id: String,
        index: Option<u64>,
        template: &str,
        instance: &Instance,
        secret: Secret,
    ) -> Result<Task, TaskError> {
        Ok(Task {
            public: PublicTask {
                id,
                split: secret.split.clone(),
                index,
                difficulty: None,
                template: template.to_owned(),
                messages: vec![
                    Message::new("system", tool::system_text(instance)),
                    Message::new("user", instance.text.clone()),
                ],
                tools: self.spec.tools.clone(),
                score_range: None,
                metadata: json!({}),
            },
            secret: serde_json::to_value(secret).map_err(|error| TaskError::Broken(error.to_string()))?,
        })
    }
}

/// Turns for an episode: a fixed task leaves room for twice its solution.
fn steps_max(app: &App) -> u64 {
    let longest = app.fixed.iter().map(|task| task.solution.len() as u64).max().unwrap_or(0);
    STEPS_MAX.max(2 * longest)
}

/// Which draw of its seed a task is.
fn drawn(instance: &Instance) -> Drawn {
    Drawn { template: instance.template, attempt: instance.attempt }
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
            return Err(TaskError::BadChoice("tasks of apps have no difficulty: leave it out".to_owned()));
        }
        if self.has_own_ids(split) {
            return self.fixed_task(split, seed);
        }
        let instance = self.instance(split, seed)?;
        let (drawn, parameters) = (Some(drawn(&instance)), instance.parameters());
        let secret = Secret { split: split.to_owned(), seed, parameters, fixed: None, drawn };
        let index = (seed < length).then_some(seed);
        self.task(TaskId::plain(split, seed).to_string(), index, &instance.template().name, &instance, secret)
    }

    fn place_of(&self, id: &str) -> Option<(String, u64)> {
        let split = &self.app.fixed.iter().find(|task| *task.id == *id)?.split;
        let index = self.fixed(split).position(|task| *task.id == *id)?;
        Some((split.to_string(), u64::try_from(index).ok()?))
    }

    fn has_own_ids(&self, split: &str) -> bool {
        self.fixed(split).next().is_some()
    }
}

impl EnvironmentKind for AppKind {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn judges_from_beginning(&self) -> bool {
        true
    }

    fn tasks(&self) -> Tasks<'_> {
        Tasks::Generated(self)
    }

    fn prepare(&self) -> Result<(), String> {
        (0..self.app.variants.count()).try_for_each(|variant| database(&self.app, variant).map(|_| ()))
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

    fn tools(&self, surface: Surface) -> Shared<Vec<Value>> {
        match surface {
            Surface::Tools => self.spec.tools.clone(),
            Surface::Gui => self.gui.clone(),
            Surface::Both => self.both.clone(),
            Surface::Browser => self.browser.clone(),
            Surface::Hybrid => self.hybrid.clone(),
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
        let place = AppPlace::new(episode, &settings);
        if !settings.surface.has_browser() {
            return Ok(Place::Pure(Box::new(place)));
        }
        let missing = || ConfigError { field: Some("surface".to_owned()), detail: NO_BROWSER.to_owned() };
        let browsers = self.browsers.clone().ok_or_else(missing)?;
        let host = format!("{}.test", self.app.name.replace('_', "-"));
        let place = BrowserPlace::new(browsers, AppPages::new(place, host), opening.seed);
        Ok(Place::Live(Box::new(place.looking(settings.look))))
    }

    fn heavy_to_open(&self, config: &Map<String, Value>) -> bool {
        config.contains_key(settings::STATE)
    }

    fn verifier(&self) -> AnyVerifier<'_> {
        AnyVerifier::Pure(self)
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
