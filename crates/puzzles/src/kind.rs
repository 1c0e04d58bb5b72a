//! A puzzle as a kind of environment: generator, place and verifier in one.

use std::sync::Arc;

use palestra_protocol::action::Action;
use palestra_protocol::environment::{Environment as Spec, Task as PublicTask};
use palestra_protocol::observation::{Message, Observation};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use super::facts::Facts;
use super::{Examinable, Puzzle};
use palestra_environment::draws::{Draws, Refusal, SPLIT};
use palestra_environment::spec::{
    GENERATED_SPLITS, SpecBuilder, builtin_verifier_version, check_seed, split_length, split_of,
};
use palestra_environment::state::State;
use palestra_environment::task::{Difficulty, Task, TaskError, TaskId, seeded};
use palestra_environment::verifier::{AnyVerifier, Case, Judgement, Verifier, VerifierError};
use palestra_environment::{
    ConfigError, Context, Environment, EnvironmentKind, Input, Opening, Place, Reaction, TaskGenerator, Tasks,
};

/// Number of attempts of a generator until a problem works out and falls into the split that was asked for. A quarter
/// of the contents belongs to the smallest split, so that this many failures in a row mean a broken generator.
const ATTEMPTS_MAX: u32 = 4096;

/// A puzzle as a kind of environment: generator, place and verifier in one.
pub(super) struct PuzzleKind<P> {
    puzzle: Arc<P>,
    listing: Listing,
}

/// The part of a kind that all puzzles have alike, so that it is compiled once.
struct Listing {
    facts: Facts,
    spec: Spec,
    verifier_version: String,
}

/// A task to find a problem for.
struct Wanted {
    id: TaskId,
    difficulty: Difficulty,
}

/// Makes a problem of a difficulty, and answers its content.
type Attempt<'a> = &'a mut dyn FnMut(&mut ChaCha8Rng, f64, &mut Draws) -> Result<Value, Refusal>;

impl Listing {
    fn new(facts: Facts, tools: Vec<Value>, observation: Value, steps_max: u64) -> Self {
        let spec = SpecBuilder::new(&format!("puzzle/{}", facts.name), facts.version, facts.description)
            .tags(&facts.all_tags())
            .tools(tools)
            .observation(observation)
            .steps_max(steps_max)
            .floor(facts.floor)
            .splits(&GENERATED_SPLITS)
            .build();
        let verifier_version = builtin_verifier_version("rule", &spec);
        Self { facts, spec, verifier_version }
    }

    /// Makes attempts that follow from the words, until a problem is of the split.
    fn search(
        &self,
        split: &str,
        seed: u64,
        difficulty: Option<f64>,
        draws: &mut Draws,
        attempt: Attempt<'_>,
    ) -> Result<Wanted, TaskError> {
        split_length(&self.spec, split)?;
        check_seed(seed)?;
        let difficulty = Difficulty::of(&self.spec.name, split, seed, difficulty)?;
        let id = TaskId { split: split.to_owned(), number: seed, difficulty_thousandths: difficulty.asked };
        let wanted = Wanted { id, difficulty };
        self.find(&wanted, draws, attempt).map_err(|refusal| match refusal {
            Refusal::Unmet(requirement) => TaskError::Broken(format!("{}: {} is not met", wanted.id, requirement.name)),
            Refusal::Fault(fault) => TaskError::Broken(format!("{}: {fault}", wanted.id)),
        })?;
        Ok(wanted)
    }

    fn find(&self, wanted: &Wanted, draws: &mut Draws, attempt: Attempt<'_>) -> Result<(), Refusal> {
        let (split, thousandths) = (&wanted.id.split, wanted.difficulty.thousandths);
        let difficulty = f64::from(thousandths) / 1000.0;
        for number in 0..ATTEMPTS_MAX {
            let mut rng = seeded(&[
                self.spec.name.as_bytes(),
                split.as_bytes(),
                &wanted.id.number.to_le_bytes(),
                &thousandths.to_le_bytes(),
                &number.to_le_bytes(),
            ]);
            draws.begin();
            match attempt(&mut rng, difficulty, draws) {
                Ok(content) => {
                    let fits = split_of(&content) == split;
                    draws.count(&SPLIT, 1, u64::from(!fits));
                    if fits {
                        return Ok(());
                    }
                }
                Err(Refusal::Unmet(requirement)) => draws.refuse(requirement),
                Err(Refusal::Fault(fault)) => {
                    return Err(Refusal::Fault(format!("{fault} (attempt {number} at difficulty {difficulty})")));
                }
            }
        }
        Err(Refusal::Fault(format!("no problem came of {ATTEMPTS_MAX} attempts; drawn again: {}", draws.summary())))
    }

    fn task(&self, wanted: &Wanted, prompt: String, metadata: Value, secret: Value) -> Result<Task, TaskError> {
        let Wanted { id, difficulty } = wanted;
        let length = split_length(&self.spec, &id.split)?;
        Ok(Task {
            public: PublicTask {
                id: id.to_string(),
                split: id.split.clone(),
                index: (difficulty.asked.is_none() && id.number < length).then_some(id.number),
                difficulty: Some(difficulty.share()),
                template: self.spec.name.rsplit('/').next().unwrap_or_default().to_owned(),
                messages: vec![Message::new("user", prompt)],
                tools: self.spec.tools.clone(),
                score_range: None,
                metadata,
            },
            secret,
        })
    }
}

impl<P: Puzzle> PuzzleKind<P> {
    /// The kind as it is registered.
    #[must_use]
    pub(super) fn new(puzzle: P) -> Self {
        let listing = Listing::new(puzzle.facts(), puzzle.tools(), puzzle.observation_schema(), puzzle.steps_max());
        Self { puzzle: Arc::new(puzzle), listing }
    }

    fn instance(&self, task: &Task) -> Option<P::Instance> {
        serde_json::from_value(task.secret.clone()).ok()
    }
}

impl<P: Puzzle> TaskGenerator for PuzzleKind<P> {
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
        let mut last = None;
        let mut attempt = |rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws| {
            let instance = last.insert(self.puzzle.generate(rng, difficulty, draws)?);
            Ok(self.puzzle.content(instance))
        };
        let wanted = self.listing.search(split, seed, difficulty, draws, &mut attempt)?;
        let instance = last.ok_or_else(|| TaskError::Broken(format!("{}: no problem was made", wanted.id)))?;
        let secret = serde_json::to_value(&instance).map_err(|error| TaskError::Broken(error.to_string()))?;
        self.listing.task(&wanted, self.puzzle.prompt(&instance), self.puzzle.metadata(&instance), secret)
    }
}

impl<P: Puzzle> EnvironmentKind for PuzzleKind<P> {
    fn spec(&self) -> &Spec {
        &self.listing.spec
    }

    fn tasks(&self) -> Tasks<'_> {
        Tasks::Generated(self)
    }

    fn open(&self, opening: Opening<'_>) -> Result<Place, ConfigError> {
        ConfigError::refuse_all(opening.config)?;
        let instance = self.instance(opening.task).ok_or_else(|| ConfigError {
            field: None,
            detail: format!("task {} is none of {}", opening.task.public.id, self.listing.spec.name),
        })?;
        let progress = self.puzzle.start(&instance);
        Ok(Place::Pure(Box::new(PuzzlePlace {
            puzzle: Arc::clone(&self.puzzle),
            instance: Arc::new(instance),
            progress,
        })))
    }

    fn verifier(&self) -> AnyVerifier<'_> {
        AnyVerifier::Pure(self)
    }

    fn oracle(&self, task: &Task) -> Option<Vec<Action>> {
        Some(self.puzzle.solve(&self.instance(task)?))
    }

    fn random_action(&self, task: &Task, rng: &mut ChaCha8Rng) -> Action {
        match self.instance(task) {
            Some(instance) => self.puzzle.guess(&instance, rng),
            None => Action::Text(String::new()),
        }
    }

    fn heavy(&self) -> bool {
        self.listing.facts.heavy
    }
}

impl<P: Puzzle> Examinable for PuzzleKind<P> {
    fn facts(&self) -> &Facts {
        &self.listing.facts
    }

    fn content(&self, task: &Task) -> Option<Value> {
        Some(self.puzzle.content(&self.instance(task)?))
    }

    fn mistake(&self, task: &Task, rng: &mut ChaCha8Rng) -> Option<Vec<Action>> {
        Some(self.puzzle.mistake(&self.instance(task)?, rng))
    }

    fn effort(&self, task: &Task) -> Option<f64> {
        Some(self.puzzle.effort(&self.instance(task)?))
    }
}

impl<P: Puzzle> Verifier for PuzzleKind<P> {
    fn name(&self) -> &str {
        "rule"
    }

    fn version(&self) -> &str {
        &self.listing.verifier_version
    }

    fn verify(&self, case: &Case<'_>) -> Result<Judgement, VerifierError> {
        let instance =
            self.instance(case.task).ok_or_else(|| VerifierError("the task's secret is broken".to_owned()))?;
        let progress = serde_json::from_value(case.state.to_value())
            .map_err(|error| VerifierError(format!("the state is not one of this puzzle: {error}")))?;
        Ok(self.puzzle.judge(&instance, &progress))
    }
}

/// A puzzle on the table. Copies share the instance.
struct PuzzlePlace<P: Puzzle> {
    puzzle: Arc<P>,
    instance: Arc<P::Instance>,
    progress: P::Progress,
}

impl<P: Puzzle> Environment for PuzzlePlace<P> {
    fn observe(&self) -> Observation {
        let mut observation = self.puzzle.show(&self.instance, &self.progress);
        let shown = observation.text.trim_end();
        let separator = if shown.is_empty() { "" } else { "\n\n" };
        observation.text = format!("{}{separator}{shown}", self.puzzle.prompt(&self.instance));
        observation
    }

    fn act(&mut self, input: Input<'_>, _context: &mut Context) -> Reaction {
        self.puzzle.act(&self.instance, &mut self.progress, input)
    }

    fn state(&self) -> State {
        // Progress is a struct of plain data, which always has a JSON form.
        State::from(serde_json::to_value(&self.progress).unwrap_or_default())
    }

    fn fork(&self) -> Box<dyn Environment> {
        Box::new(Self {
            puzzle: Arc::clone(&self.puzzle),
            instance: Arc::clone(&self.instance),
            progress: self.progress.clone(),
        })
    }
}
