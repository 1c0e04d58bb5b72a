//! `web/widgets`: small pages with one kind of control each. A page sends what was entered to this process, which judges it.

use std::sync::Arc;

use palestra_browser::{Browsers, action};
use palestra_protocol::action::Action;
use palestra_protocol::environment::{Environment as Spec, Task as PublicTask};
use palestra_protocol::observation::Message;
use palestra_protocol::verdict::Check;
use palestra_widgets::{Draw, Level, Widget};
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::pages::WidgetPages;
use crate::browsed::{BrowserPlace, Look};
use palestra_environment::draws::{Draws, SPLIT};
use palestra_environment::spec::{
    GENERATED_SPLITS, SpecBuilder, builtin_verifier_version, check_seed, split_length, split_of,
};
use palestra_environment::surface::Surface;
use palestra_environment::task::{Task, TaskError, TaskId, pick, thousandths};
use palestra_environment::verifier::{AnyVerifier, Case, Judgement, Verifier, VerifierError};
use palestra_environment::{ConfigError, EnvironmentKind, Opening, Place, TaskGenerator, Tasks};

const NAME: &str = "web/widgets";
const ABOUT: &str =
    "Small web pages with one kind of control each, from dates and sliders to drawing and uploads, in a real browser.";
/// Turns in an episode: the longest solution takes about fifty.
const STEPS_MAX: u64 = 100;
/// The most that a null or random policy may reach on average.
const FLOOR: f64 = 0.05;
/// Draws of one widget until one falls into the split that was asked for; the easiest of some widgets has few different tasks.
const DRAWS_MAX: u64 = 40;
/// Rules of all tasks.
const SYSTEM: &str = "You use a web page in a browser. Do what the user asks for, and send it by the page's own button. \
                      The task ends when the page is sent, and only what is sent first counts.";
/// Size of the page in pixels, in which a random policy clicks.
const SIZE: (u32, u32) = (1_280, 720);

/// The widgets as a kind of environment.
pub(super) struct Widgets {
    widgets: Vec<Widget>,
    spec: Spec,
    browsers: Browsers,
    verifier_version: String,
}

/// The draw that a task is.
#[derive(Serialize, Deserialize)]
struct Secret {
    widget: String,
    level: usize,
    seed: u64,
}

impl Widgets {
    pub(super) fn new(browsers: Browsers) -> Self {
        let widgets = palestra_widgets::all();
        let mut spec = SpecBuilder::new(NAME, 1, ABOUT)
            .tags(&["browser", "web"])
            .tools(action::tools())
            .splits(&GENERATED_SPLITS)
            .steps_max(STEPS_MAX)
            .floor(FLOOR)
            .build();
        spec.templates = widgets.len() as u64;
        let verifier_version = builtin_verifier_version("sent-state", &spec);
        Self { widgets, spec, browsers, verifier_version }
    }

    /// The draw of a seed: widgets take turns, and where one has no task in this split, the next one has its turn.
    fn draw(
        &self,
        split: &str,
        seed: u64,
        level: usize,
        draws: &mut Draws,
    ) -> Option<(Secret, palestra_widgets::Task)> {
        let count = self.widgets.len() as u64;
        (0..count).find_map(|offset| {
            let widget = self.widgets.get(usize::try_from((seed % count + offset) % count).ok()?)?;
            (0..DRAWS_MAX).find_map(|attempt| {
                let words = [NAME.as_bytes(), split.as_bytes(), &seed.to_le_bytes(), &attempt.to_le_bytes()];
                let secret = Secret { widget: widget.name.to_owned(), level, seed: pick(&words, u64::MAX) };
                let task = self.task_of(&secret)?;
                draws.begin();
                let fits = split_of(&json!([widget.name, task.instruction, task.wanted])) == split;
                draws.count(&SPLIT, 1, u64::from(!fits));
                fits.then_some((secret, task))
            })
        })
    }

    fn task_of(&self, secret: &Secret) -> Option<palestra_widgets::Task> {
        let widget = self.widgets.iter().find(|widget| widget.name == secret.widget)?;
        Some((widget.draw)(&mut Draw::new(*Level::ALL.get(secret.level)?, secret.seed)))
    }

    fn instance(&self, task: &Task) -> Option<palestra_widgets::Task> {
        self.task_of(&Secret::deserialize(&task.secret).ok()?)
    }
}

/// The level of a difficulty: each has a quarter of the scale.
fn level_of(thousandths: u16) -> usize {
    usize::from(thousandths / 250).min(Level::ALL.len() - 1)
}

impl TaskGenerator for Widgets {
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
        let asked = difficulty.map(thousandths).transpose()?;
        let thousandths = asked.unwrap_or_else(|| {
            let words = [NAME.as_bytes(), b"difficulty", split.as_bytes(), &seed.to_le_bytes()];
            u16::try_from(pick(&words, 1001)).unwrap_or(0)
        });
        let id = TaskId { split: split.to_owned(), number: seed, difficulty_thousandths: asked };
        let (secret, task) = self.draw(split, seed, level_of(thousandths), draws).ok_or_else(|| {
            TaskError::Broken(format!("{id}: no widget has a task in this split: choose another split"))
        })?;
        let metadata = json!({"level": secret.level + 1});
        let template = secret.widget.clone();
        let secret = serde_json::to_value(secret).map_err(|error| TaskError::Broken(error.to_string()))?;
        Ok(Task {
            public: PublicTask {
                id: id.to_string(),
                split: split.to_owned(),
                index: (asked.is_none() && seed < length).then_some(seed),
                difficulty: Some(f64::from(thousandths) / 1000.0),
                template,
                messages: vec![Message::new("system", SYSTEM), Message::new("user", task.instruction)],
                tools: self.spec.tools.clone(),
                score_range: None,
                metadata,
            },
            secret,
        })
    }
}

impl EnvironmentKind for Widgets {
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
        let look = Look::read_alone(opening.config)?;
        let task = self.instance(opening.task).ok_or_else(|| ConfigError {
            field: None,
            detail: format!("task {} is none of {NAME}: create a session with another task", opening.task.public.id),
        })?;
        let pages = WidgetPages::new(Arc::new(task));
        let place = BrowserPlace::new(self.browsers.clone(), pages, opening.seed);
        Ok(Place::Live(Box::new(place.looking(look))))
    }

    fn verifier(&self) -> AnyVerifier<'_> {
        AnyVerifier::Pure(self)
    }

    fn oracle(&self, task: &Task) -> Option<Vec<Action>> {
        Some(self.instance(task)?.solution.into_iter().map(Action::Text).collect())
    }

    fn random_action(&self, _task: &Task, rng: &mut ChaCha8Rng) -> Action {
        let (x, y) = (rng.random_range(0..SIZE.0), rng.random_range(0..SIZE.1));
        Action::Text(format!("mouse_click({x}, {y})"))
    }
}

impl Verifier for Widgets {
    fn name(&self) -> &str {
        "sent-state"
    }

    fn version(&self) -> &str {
        &self.verifier_version
    }

    fn verify(&self, case: &Case<'_>) -> Result<Judgement, VerifierError> {
        let task = self.instance(case.task).ok_or_else(|| VerifierError("the task's secret is broken".to_owned()))?;
        let state = case.state.to_value();
        let parts = task.wanted.judge(state["sent"].as_bool().unwrap_or_default().then_some(&state["state"]));
        let right = parts.iter().all(|part| part.passed);
        // A page is right as a whole or not; its parts tell where it is wrong.
        let whole = Check {
            name: "right".to_owned(),
            weight: 1.0,
            score: if right { 1.0 } else { 0.0 },
            passed: right,
            evidence: if state["sent"] == true { "sent".to_owned() } else { "nothing was sent".to_owned() },
        };
        let parts = parts.into_iter().map(|part| Check {
            name: format!("part {}", part.name),
            weight: 0.0,
            score: if part.passed { 1.0 } else { 0.0 },
            passed: part.passed,
            evidence: part.found.to_string(),
        });
        Ok(Judgement { checks: std::iter::once(whole).chain(parts).collect(), trainable: true })
    }
}
