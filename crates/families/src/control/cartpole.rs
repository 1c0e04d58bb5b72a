//! `control/cartpole`: keep a pole standing on a cart by pushing the cart to the left or to the right. The smallest task with
//! step rewards, for trainers to be proven on.

use palestra_protocol::action::Action;
use palestra_protocol::environment::{Environment as Spec, Task as PublicTask};
use palestra_protocol::observation::{Message, Observation};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use super::motion::{ANGLE_MAX_DEGREES, DEGREES, POSITION_MAX_M, Push, STEP_SECONDS, Vector};
use super::motion::{advance, has_failed, steady};
use palestra_environment::spec::{
    GENERATED_SPLITS, SpecBuilder, builtin_verifier_version, check_seed, split_length, split_of,
};
use palestra_environment::state::State;
use palestra_environment::task::{Task, TaskError, TaskId, seeded, thousandths};
use palestra_environment::tool::function;
use palestra_environment::verifier::final_answer::extract;
use palestra_environment::verifier::{AnyVerifier, Case, Judgement, Verifier, VerifierError};
use palestra_environment::{
    ConfigError, Context, Environment, EnvironmentKind, Input, Opening, Place, Reaction, TaskGenerator, Tasks,
};

const NAME: &str = "control/cartpole";

/// Steps of the easiest and of the hardest episodes.
const STEPS_EASIEST: u64 = 100;
const STEPS_HARDEST: u64 = 500;

/// The difficulty where none is asked for, which makes 200 steps.
const DIFFICULTY_THOUSANDTHS: u16 = 250;

/// Largest absolute value of each number of the first state.
const BEGINNING_MAX: f64 = 0.05;

/// Attempts of a generator to draw a beginning in the split that was asked for. A quarter of them belongs to the
/// smallest split, so that this many failures in a row mean a broken generator.
const ATTEMPTS_MAX: u32 = 4096;

/// The texts of the actions, in the order in which policies count them.
const ACTIONS: [&str; 2] = ["left", "right"];

/// The kind.
pub struct Cartpole {
    spec: Spec,
    verifier_version: String,
}

/// A problem; there is nothing secret in it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Problem {
    vector: Vector,
    steps: u64,
}

/// The progress of an episode, with the state's floats as they are.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Progress {
    vector: Vector,
    step: u64,
    fallen: bool,
}

impl Progress {
    /// Steps after which the pole still stood.
    fn survived(self) -> u64 {
        self.step.saturating_sub(u64::from(self.fallen))
    }
}

impl Cartpole {
    /// The kind as it is registered.
    #[must_use]
    pub fn new() -> Self {
        let spec = SpecBuilder::new(NAME, 1, "Keep a pole standing on a cart by pushing the cart to the left or right.")
            .tags(&["control", "multi-turn"])
            .tools(vec![function(
                "push",
                "Pushes the cart for one step.",
                json!({
                    "type": "object", "required": ["direction"], "additionalProperties": false,
                    "properties": {"direction": {"type": "string", "enum": ACTIONS}}
                }),
            )])
            .observation(json!({
                "type": "object", "required": ["vector", "actions", "step"],
                "properties": {
                    "vector": {
                        "type": "array", "minItems": 4, "maxItems": 4, "items": {"type": "number"},
                        "description": "Position of the cart (m), its speed (m/s), angle of the pole (radians), its speed (radians/s)."
                    },
                    "actions": {
                        "type": "array", "items": {"type": "string"}, "description": "The texts of the actions, in order."
                    },
                    "step": {"type": "integer", "description": "Steps taken so far."}
                }
            }))
            .splits(&GENERATED_SPLITS)
            .steps_max(STEPS_HARDEST)
            .step_rewards()
            // A pole that nobody pushes stands for 40 of 100 steps on average, the easiest length.
            .floor(0.45)
            .build();
        let verifier_version = builtin_verifier_version("survival", &spec);
        Self { spec, verifier_version }
    }

    /// The first beginning of this split among the attempts that follow from the words.
    fn beginning(&self, split: &str, seed: u64) -> Option<Vector> {
        (0..ATTEMPTS_MAX).find_map(|attempt| {
            let words = [NAME.as_bytes(), split.as_bytes(), &seed.to_le_bytes(), &attempt.to_le_bytes()];
            let mut rng = seeded(&words);
            let vector: Vector = std::array::from_fn(|_| (rng.random::<f64>() * 2.0 - 1.0) * BEGINNING_MAX);
            (split_of(&json!(vector)) == split).then_some(vector)
        })
    }
}

impl Default for Cartpole {
    fn default() -> Self {
        Self::new()
    }
}

fn problem_of(task: &Task) -> Option<Problem> {
    serde_json::from_value(task.secret.clone()).ok()
}

/// The length of an episode, which is how hard it is.
fn steps_of(thousandths: u16) -> u64 {
    STEPS_EASIEST + (STEPS_HARDEST - STEPS_EASIEST) * u64::from(thousandths) / 1000
}

fn instruction(steps: u64) -> String {
    format!(
        "Keep the pole on the cart standing for {steps} steps of {STEP_SECONDS} s. In each step the cart is pushed to the left or \
         to the right. It is over earlier when the pole leans more than {ANGLE_MAX_DEGREES} degrees or the cart is more than \
         {POSITION_MAX_M} m from the centre.\n\
         Answer with one word, left or right. Or think first and put it into <answer></answer>; or call the tool `push` with \
         {{\"direction\": \"left\"}}. After any other answer a step passes in which nothing pushes."
    )
}

impl TaskGenerator for Cartpole {
    /// Unlike puzzles, tasks without a stated difficulty are all of one length, so that returns can be compared.
    fn generate(&self, split: &str, seed: u64, difficulty: Option<f64>) -> Result<Task, TaskError> {
        let length = split_length(&self.spec, split)?;
        check_seed(seed)?;
        let asked = difficulty.map(thousandths).transpose()?;
        let id = TaskId { split: split.to_owned(), number: seed, difficulty_thousandths: asked };
        let vector = self
            .beginning(split, seed)
            .ok_or_else(|| TaskError::BadChoice(format!("{NAME} found no beginning for {id}: choose another seed")))?;
        let thousandths = asked.unwrap_or(DIFFICULTY_THOUSANDTHS);
        let steps = steps_of(thousandths);
        let problem = json!({"vector": vector, "steps": steps});
        Ok(Task {
            public: PublicTask {
                id: id.to_string(),
                split: split.to_owned(),
                index: (asked.is_none() && seed < length).then_some(seed),
                difficulty: Some(f64::from(thousandths) / 1000.0),
                template: "cartpole".to_owned(),
                messages: vec![Message::new("user", instruction(steps))],
                tools: self.spec.tools.clone(),
                score_range: None,
                metadata: problem.clone(),
            },
            secret: problem,
        })
    }
}

impl EnvironmentKind for Cartpole {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn tasks(&self) -> Tasks<'_> {
        Tasks::Generated(self)
    }

    fn open(&self, opening: Opening<'_>) -> Result<Place, ConfigError> {
        ConfigError::refuse_all(opening.config)?;
        let problem = problem_of(opening.task).ok_or_else(|| ConfigError {
            field: None,
            detail: format!("task {} is none of {NAME}: take one that its tasks list", opening.task.public.id),
        })?;
        let progress = Progress { vector: problem.vector, step: 0, fallen: false };
        Ok(Place::Pure(Box::new(Cart { steps: problem.steps, progress })))
    }

    fn verifier(&self) -> AnyVerifier<'_> {
        AnyVerifier::Pure(self)
    }

    fn oracle(&self, task: &Task) -> Option<Vec<Action>> {
        let problem = problem_of(task)?;
        let mut vector = problem.vector;
        let mut actions = Vec::new();
        for _ in 0..problem.steps.min(STEPS_HARDEST) {
            let push = steady(vector);
            actions.push(Action::Text(ACTIONS[usize::from(push == Push::Right)].to_owned()));
            vector = advance(vector, push);
        }
        Some(actions)
    }

    fn random_action(&self, _task: &Task, rng: &mut ChaCha8Rng) -> Action {
        let direction = json!(ACTIONS[usize::from(rng.random::<bool>())]);
        Action::Tool { tool: "push".to_owned(), arguments: Map::from_iter([("direction".to_owned(), direction)]) }
    }
}

impl Verifier for Cartpole {
    fn name(&self) -> &str {
        "survival"
    }

    fn version(&self) -> &str {
        &self.verifier_version
    }

    fn verify(&self, case: &Case<'_>) -> Result<Judgement, VerifierError> {
        let problem = problem_of(case.task).ok_or_else(|| VerifierError("the task's secret is broken".to_owned()))?;
        let progress: Progress = serde_json::from_value(case.state.to_value())
            .map_err(|error| VerifierError(format!("the state is not one of a cart: {error}")))?;
        let (survived, steps) = (progress.survived().min(problem.steps), problem.steps.max(1));
        let score = survived as f64 / steps as f64;
        Ok(Judgement::single("survival", score, format!("the pole stood for {survived} of {steps} steps")))
    }
}

/// A cart in one session.
#[derive(Clone)]
struct Cart {
    steps: u64,
    progress: Progress,
}

impl Cart {
    fn over(&self) -> bool {
        self.progress.fallen || self.progress.step >= self.steps
    }

    /// The observation: in words with numbers, and as a vector.
    fn show(&self, before: &str) -> Observation {
        let Progress { vector, step, fallen } = self.progress;
        let [x, x_dot, theta, theta_dot] = vector;
        let after = match (fallen, self.over()) {
            (true, _) if x.abs() > POSITION_MAX_M => " The cart left the track.",
            (true, _) => " The pole fell.",
            (false, true) => " The pole stood to the end.",
            (false, false) => "",
        };
        let text = format!(
            "{before}Step {step} of {}. The cart is {:.3} m to the {} of the centre and moves {} at {:.3} m/s. The pole leans {:.2} \
             degrees to the {} and turns {} at {:.2} degrees/s.{after}",
            self.steps,
            x.abs(),
            side(x),
            side(x_dot),
            x_dot.abs(),
            (theta * DEGREES).abs(),
            side(theta),
            side(theta_dot),
            (theta_dot * DEGREES).abs(),
        );
        Observation { data: json!({"vector": vector, "actions": ACTIONS, "step": step}), ..Observation::text(text) }
    }
}

fn side(number: f64) -> &'static str {
    ACTIONS[usize::from(number > 0.0)]
}

/// The push that an input asks for.
fn read_push(input: Input<'_>) -> Option<Push> {
    let word = match input {
        Input::Text(text) => extract(text).trim(),
        Input::Call { arguments, .. } => arguments.get("direction")?.as_str()?,
    };
    [Push::Left, Push::Right]
        .into_iter()
        .zip(ACTIONS)
        .find_map(|(push, name)| word.eq_ignore_ascii_case(name).then_some(push))
}

impl Environment for Cart {
    fn observe(&self) -> Observation {
        self.show(&format!("{}\n\n", instruction(self.steps)))
    }

    fn act(&mut self, input: Input<'_>, _context: &mut Context) -> Reaction {
        if self.over() {
            return Reaction { observation: self.show(""), reward: Some(0.0), terminated: true, ..Reaction::default() };
        }
        let push = read_push(input);
        self.progress.vector = advance(self.progress.vector, push.unwrap_or(Push::Idle));
        self.progress.step += 1;
        self.progress.fallen = has_failed(self.progress.vector);
        let before = if push.is_some() { "" } else { "Error: nothing was pushed. Answer with left or right.\n" };
        Reaction {
            observation: self.show(before),
            reward: Some(if self.progress.fallen { 0.0 } else { 1.0 }),
            terminated: self.over(),
            ..Reaction::default()
        }
    }

    fn state(&self) -> State {
        // Progress is a struct of plain data, which always has a JSON form.
        State::from(serde_json::to_value(self.progress).unwrap_or_default())
    }

    fn fork(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use palestra_protocol::id::EpisodeId;

    use super::*;
    use palestra_environment::Secrets;

    fn generate(seed: u64, difficulty: Option<f64>) -> Arc<Task> {
        Arc::new(Cartpole::new().generate("train", seed, difficulty).expect("a task"))
    }

    fn open(task: &Arc<Task>) -> Box<dyn Environment> {
        let config = Map::new();
        let episode = EpisodeId::new();
        let opening = Opening {
            task,
            seed: 0,
            secrets: Secrets::Seed(0),
            config: &config,
            episode,
            resumed: false,
            folder: None,
            from: None,
        };
        match Cartpole::new().open(opening).expect("a place") {
            Place::Pure(place) => place,
            Place::Live(_) => panic!("a cart is pure"),
        }
    }

    fn act(place: &mut dyn Environment, text: &str) -> Reaction {
        place.act(Input::Text(text), &mut Context::seeded(&[b"cartpole"]))
    }

    fn judge(task: &Task, place: &dyn Environment) -> f64 {
        let case = Case { task, state: &place.state(), trajectory: &[] };
        Cartpole::new().verify(&case).expect("a judgement").score().expect("a score")
    }

    /// Takes the same text until the end, at most 500 times; the rewards.
    fn rewards(place: &mut dyn Environment, text: &str) -> Vec<f64> {
        let mut rewards = Vec::new();
        for _ in 0..STEPS_HARDEST {
            let reaction = act(place, text);
            rewards.push(reaction.reward.expect("a reward"));
            if reaction.terminated {
                break;
            }
        }
        rewards
    }

    #[test]
    fn the_difficulty_is_the_length_and_200_steps_are_usual() {
        let steps = |difficulty| generate(3, difficulty).public.metadata["steps"].as_u64().expect("steps");
        assert_eq!([None, Some(0.0), Some(0.25), Some(0.5), Some(1.0)].map(steps), [200, 100, 200, 300, 500]);
        assert_eq!(generate(3, Some(0.5)).public.metadata["vector"], generate(3, None).public.metadata["vector"]);
    }

    #[test]
    fn beginnings_are_small_and_spread_over_their_range() {
        let beginnings: Vec<Vector> =
            (0..400).map(|seed| problem_of(&generate(seed, None)).expect("a problem").vector).collect();
        for place in 0..4 {
            let numbers = || beginnings.iter().map(|vector| vector[place]);
            assert!(numbers().all(|number| number.abs() <= BEGINNING_MAX));
            assert!(numbers().fold(0.0, f64::min) < -0.045 && numbers().fold(0.0, f64::max) > 0.045);
            assert!((numbers().sum::<f64>() / 400.0).abs() < 0.006);
        }
    }

    #[test]
    fn the_score_is_the_sum_of_the_rewards_over_the_steps() {
        let task = generate(1, Some(0.0));
        let mut place = open(&task);
        let rewards = rewards(&mut *place, "right");
        assert_eq!(rewards.last(), Some(&0.0), "the step of the fall");
        assert!(rewards.len() < 20, "{rewards:?}");
        let sum: f64 = rewards.iter().sum();
        assert_eq!(sum, rewards.len() as f64 - 1.0);
        assert_eq!(judge(&task, &*place), sum / 100.0);
    }

    #[test]
    fn a_pole_that_stands_to_the_end_scores_one() {
        let task = generate(1, Some(1.0));
        let mut place = open(&task);
        let actions = Cartpole::new().oracle(&task).expect("actions");
        assert_eq!(actions.len(), 500);
        let mut sum = 0.0;
        for (at, action) in actions.iter().enumerate() {
            let Action::Text(text) = action else { panic!("{action:?}") };
            let reaction = act(&mut *place, text);
            sum += reaction.reward.expect("a reward");
            assert_eq!(reaction.terminated, at == 499);
        }
        assert_eq!((sum, judge(&task, &*place)), (500.0, 1.0));
        let after = act(&mut *place, "left");
        assert_eq!((after.terminated, after.reward, judge(&task, &*place)), (true, Some(0.0), 1.0));
    }

    #[test]
    fn a_text_and_a_call_push_alike_and_anything_else_lets_a_step_pass() {
        let task = generate(2, None);
        for (text, direction) in [("left", "left"), (" RIGHT\n", "right"), ("It leans. <answer>left</answer>", "left")]
        {
            let (mut one, mut other) = (open(&task), open(&task));
            let arguments = Map::from_iter([("direction".to_owned(), json!(direction))]);
            let called = Input::Call { tool: "push", arguments: &arguments };
            let called = other.act(called, &mut Context::seeded(&[b"cartpole"]));
            assert_eq!(act(&mut *one, text), called, "{text}");
        }
        let begin = problem_of(&task).expect("a problem").vector;
        for text in ["", "up", "left right", "\u{202e}left", "push"] {
            let mut place = open(&task);
            let reaction = act(&mut *place, text);
            assert!(reaction.observation.text.starts_with("Error: nothing was pushed."), "{text}");
            assert_eq!(reaction.observation.data["step"], 1);
            assert_eq!(reaction.observation.data["vector"], json!(advance(begin, Push::Idle)));
            assert_eq!(reaction.reward, Some(1.0));
        }
    }

    #[test]
    fn a_policy_over_vectors_finds_numbers_and_actions_in_the_data() {
        let task = generate(5, None);
        let place = open(&task);
        let begin = task.public.metadata["vector"].clone();
        assert_eq!(place.observe().data, json!({"vector": begin, "actions": ["left", "right"], "step": 0}));
        assert_eq!(place.state().to_value(), json!({"vector": begin, "step": 0, "fallen": false}));
    }

    #[test]
    fn a_state_keeps_its_floats_to_the_last_bit() {
        let mut place = open(&generate(6, None));
        act(&mut *place, "left");
        let written = serde_json::to_string(&place.state().to_value()).expect("JSON");
        let read: Progress = serde_json::from_str(&written).expect("a progress");
        let shown = place.observe().data["vector"].clone();
        let shown: Vector = serde_json::from_value(shown).expect("a vector");
        assert_eq!(read.vector.map(f64::to_bits), shown.map(f64::to_bits));
    }

    #[test]
    fn a_pole_that_nobody_pushes_stays_at_the_floor_also_in_the_shortest_episodes() {
        let total: f64 = (0..300)
            .map(|seed| {
                let task = generate(seed, Some(0.0));
                let mut place = open(&task);
                rewards(&mut *place, "");
                judge(&task, &*place)
            })
            .sum();
        let mean = total / 300.0;
        assert!(mean > 0.3 && mean <= Cartpole::new().spec.floor, "{mean}");
    }
}
