//! Pages that are drawn in levels, as a kind of environment: generator, place and verifier in one.

use palestra_browser::{Browsers, action};
use palestra_protocol::action::Action;
use palestra_protocol::environment::{Environment as Spec, Task as PublicTask};
use palestra_protocol::observation::Message;
use palestra_protocol::verdict::Check;
use palestra_widgets::{Draw, Level};
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::browsed::{BrowserPlace, Look, Pages};
use palestra_environment::draws::{Draws, SPLIT};
use palestra_environment::spec::{
    GENERATED_SPLITS, SpecBuilder, builtin_verifier_version, check_seed, split_length, split_of,
};
use palestra_environment::surface::Surface;
use palestra_environment::task::{Difficulty, Task, TaskError, TaskId, pick};
use palestra_environment::verifier::{AnyVerifier, Case, Judgement, Verifier, VerifierError};
use palestra_environment::{ConfigError, EnvironmentKind, Opening, Place, TaskGenerator, Tasks};

/// The most that a null or random policy may reach on average.
const FLOOR: f64 = 0.05;
/// Draws of one template until one falls into the split that was asked for; the easiest of some have few different tasks.
const DRAWS_MAX: u64 = 40;
/// Size of the page in pixels, in which a random policy clicks.
const SIZE: (u32, u32) = (1_280, 720);

/// Facts of an environment.
pub(super) struct Facts {
    /// `family/name`.
    pub(super) environment: &'static str,
    /// Its skill, in one sentence.
    pub(super) about: &'static str,
    /// Turns in an episode.
    pub(super) steps_max: u64,
    /// Rules of all tasks.
    pub(super) system: &'static str,
    /// The rule that judges.
    pub(super) verifier: &'static str,
    /// True if a draw or a solution may take more than a millisecond.
    pub(super) heavy: bool,
}

/// Templates whose tasks are pages.
pub(super) trait Content: Send + Sync + 'static {
    /// A drawn task.
    type Drawn;
    /// Its pages.
    type Pages: Pages;

    /// Facts of the environment.
    const FACTS: Facts;

    /// Names of the templates.
    fn templates(&self) -> Vec<&'static str>;

    /// Draws a task of a template; `None` where there is no such template.
    fn draw(&self, template: &str, draw: &mut Draw) -> Option<Self::Drawn>;

    /// The task in words.
    fn instruction(drawn: &Self::Drawn) -> &str;

    /// The problem, by which tasks of different splits differ.
    fn content(template: &str, drawn: &Self::Drawn) -> Value;

    /// The pages at the beginning.
    ///
    /// # Errors
    /// When a setting does not fit.
    fn pages(drawn: Self::Drawn, config: &Map<String, Value>) -> Result<Self::Pages, ConfigError>;

    /// Actions that solve the task, as BrowserGym writes them.
    fn solution(drawn: &Self::Drawn) -> Option<Vec<String>>;

    /// Judges the state of its pages.
    ///
    /// # Errors
    /// When the state is none of such pages.
    fn judge(drawn: &Self::Drawn, state: &Value) -> Result<Vec<Check>, VerifierError>;
}

/// The content as a kind of environment.
pub(super) struct WebKind<C> {
    content: C,
    spec: Spec,
    browsers: Browsers,
    verifier_version: String,
}

/// The draw that a task is.
#[derive(Serialize, Deserialize)]
struct Secret {
    template: String,
    level: usize,
    seed: u64,
}

impl<C: Content> WebKind<C> {
    pub(super) fn new(content: C, browsers: Browsers) -> Self {
        let mut spec = SpecBuilder::new(C::FACTS.environment, 1, C::FACTS.about)
            .tags(&["browser", "web"])
            .tools(action::tools())
            .splits(&GENERATED_SPLITS)
            .steps_max(C::FACTS.steps_max)
            .floor(FLOOR)
            .build();
        spec.templates = content.templates().len() as u64;
        let verifier_version = builtin_verifier_version(C::FACTS.verifier, &spec);
        Self { content, spec, browsers, verifier_version }
    }

    /// The draw of a seed: templates take turns, and where one has no task in this split, the next one has its turn.
    fn draw(&self, split: &str, seed: u64, level: usize, draws: &mut Draws) -> Option<(Secret, C::Drawn)> {
        let templates = self.content.templates();
        let count = templates.len() as u64;
        (0..count).find_map(|offset| {
            let template = *templates.get(usize::try_from((seed % count + offset) % count).ok()?)?;
            (0..DRAWS_MAX).find_map(|attempt| {
                let words =
                    [C::FACTS.environment.as_bytes(), split.as_bytes(), &seed.to_le_bytes(), &attempt.to_le_bytes()];
                let secret = Secret { template: template.to_owned(), level, seed: pick(&words, u64::MAX) };
                let drawn = self.drawn(&secret)?;
                draws.begin();
                let fits = split_of(&C::content(template, &drawn)) == split;
                draws.count(&SPLIT, 1, u64::from(!fits));
                fits.then_some((secret, drawn))
            })
        })
    }

    fn drawn(&self, secret: &Secret) -> Option<C::Drawn> {
        self.content.draw(&secret.template, &mut Draw::new(*Level::ALL.get(secret.level)?, secret.seed))
    }

    fn instance(&self, task: &Task) -> Option<C::Drawn> {
        self.drawn(&Secret::deserialize(&task.secret).ok()?)
    }
}

/// The level of a difficulty: each has a quarter of the scale.
fn level_of(difficulty: Difficulty) -> usize {
    usize::from(difficulty.thousandths / 250).min(Level::ALL.len() - 1)
}

impl<C: Content> TaskGenerator for WebKind<C> {
    fn generate(&self, split: &str, seed: u64, difficulty: Option<f64>) -> Result<Task, TaskError> {
        self.generate_counted(split, seed, difficulty, &mut Draws::default())
    }

    fn generate_counted(
        &self,
        split: &str,
        seed: u64,
        difficulty: Option<f64>,
        draws: &mut Draws,
    ) -> Result<Task, TaskError> {
        let length = split_length(&self.spec, split)?;
        check_seed(seed)?;
        let difficulty = Difficulty::of(C::FACTS.environment, split, seed, difficulty)?;
        let id = TaskId { split: split.to_owned(), number: seed, difficulty_thousandths: difficulty.asked };
        let (secret, drawn) = self.draw(split, seed, level_of(difficulty), draws).ok_or_else(|| {
            TaskError::Broken(format!("{id}: no template has a task in this split: choose another split"))
        })?;
        let metadata = json!({"level": secret.level + 1});
        let template = secret.template.clone();
        let secret = serde_json::to_value(secret).map_err(|error| TaskError::Broken(error.to_string()))?;
        Ok(Task {
            public: PublicTask {
                id: id.to_string(),
                split: split.to_owned(),
                index: (difficulty.asked.is_none() && seed < length).then_some(seed),
                difficulty: Some(difficulty.share()),
                template,
                messages: vec![Message::new("system", C::FACTS.system), Message::new("user", C::instruction(&drawn))],
                tools: self.spec.tools.clone(),
                score_range: None,
                metadata,
            },
            secret,
        })
    }
}

impl<C: Content> EnvironmentKind for WebKind<C> {
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
        let drawn = self.instance(opening.task).ok_or_else(|| ConfigError {
            field: None,
            detail: format!(
                "task {} is none of {}: create a session with another task",
                opening.task.public.id,
                C::FACTS.environment
            ),
        })?;
        let (look, config) = Look::split(opening.config)?;
        let place = BrowserPlace::new(self.browsers.clone(), C::pages(drawn, &config)?, opening.seed);
        Ok(Place::Live(Box::new(place.looking(look))))
    }

    fn verifier(&self) -> AnyVerifier<'_> {
        AnyVerifier::Pure(self)
    }

    fn oracle(&self, task: &Task) -> Option<Vec<Action>> {
        Some(C::solution(&self.instance(task)?)?.into_iter().map(Action::Text).collect())
    }

    fn random_action(&self, _task: &Task, rng: &mut ChaCha8Rng) -> Action {
        let (x, y) = (rng.random_range(0..SIZE.0), rng.random_range(0..SIZE.1));
        Action::Text(format!("mouse_click({x}, {y})"))
    }

    fn heavy(&self) -> bool {
        C::FACTS.heavy
    }
}

impl<C: Content> Verifier for WebKind<C> {
    fn name(&self) -> &str {
        C::FACTS.verifier
    }

    fn version(&self) -> &str {
        &self.verifier_version
    }

    fn verify(&self, case: &Case<'_>) -> Result<Judgement, VerifierError> {
        let drawn = self.instance(case.task).ok_or_else(|| VerifierError("the task's secret is broken".to_owned()))?;
        Ok(Judgement { checks: C::judge(&drawn, &case.state.to_value())?, trainable: true })
    }
}
