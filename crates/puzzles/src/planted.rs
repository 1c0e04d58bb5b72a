//! Generators with planted faults, each of which the audit has to find with the draw that shows it.

use std::sync::Arc;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::facts::{Category, Facts};
use super::kind::PuzzleKind;
use super::question::{Mark, Question, Single};
use palestra_environment::EnvironmentKind;
use palestra_environment::draws::{Draws, Refusal, Requirement};
use palestra_environment::proof::audit::{Audit, audit};

static WANTED: Requirement = Requirement::new("wanted", "the kind is wanted", 0.9);
static ODD: Requirement = Requirement::new("odd", "the number is odd", 0.2);
static NEVER: Requirement = Requirement::new("never", "nothing is as it is", 0.9);
static ROUND: Requirement = Requirement::new("round", "the number is round", 1.0);

/// Faults planted in a generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plant {
    Nothing,
    SolutionRefused,
    GeneratorCrashes,
    JudgeCrashes,
    SearchGivesUp,
    ValueLost,
    ValueNeverDrawn,
    MostThrownAway,
    NothingMeetsIt,
    AnswerConstant,
    AnswerOfAKind,
    FallbackInstance,
    SplitOfNone,
    FewProblems,
}

/// Asks for a number and gets it.
struct Echo(Plant);

#[derive(Debug, Serialize, Deserialize)]
struct Instance {
    number: u32,
    kind: String,
    nonce: u64,
}

impl Question for Echo {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "echo",
            version: 1,
            category: Category::Logic,
            tags: &[],
            multi_turn: false,
            description: "Say the number again.",
            rule: "The number has to be the same.",
            scale: "Nothing grows.",
            effort: "Reads the number; numbers read.",
            floor: 0.02,
            heavy: false,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, _difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let mut number = rng.random_range(1..100_000);
        let kind = ["a", "b", "c"][rng.random_range(0..if self.0 == Plant::ValueNeverDrawn { 2 } else { 3 })];
        let mut nonce = rng.random();
        draws.domain("kind", ["a", "b", "c"]);
        draws.note("kind", kind);
        match self.0 {
            Plant::GeneratorCrashes if number % 40 == 0 => panic!("no room for {number}"),
            Plant::SearchGivesUp if number % 40 == 0 => {
                return Err(Refusal::fault("the search for a second solution gave up after 10 nodes"));
            }
            Plant::ValueLost => WANTED.demand(kind != "b")?,
            Plant::MostThrownAway => ODD.demand(number % 2 == 1)?,
            Plant::NothingMeetsIt => NEVER.demand(false)?,
            Plant::AnswerConstant => number = 7,
            Plant::AnswerOfAKind if kind == "c" => number = 7,
            Plant::FallbackInstance => {
                let round =
                    draws.until(&ROUND, 3, |_| Some(rng.random_range(1..100_000)).filter(|number| number % 3 == 0));
                number = round.unwrap_or_default();
            }
            Plant::FewProblems => (number, nonce) = (number % 300, 0),
            _ => {}
        }
        Ok(Instance { number, kind: kind.to_owned(), nonce })
    }

    fn content(&self, instance: &Instance) -> Value {
        if self.0 == Plant::SplitOfNone { json!("the same") } else { self.metadata(instance) }
    }

    fn metadata(&self, Instance { number, nonce, .. }: &Instance) -> Value {
        json!({"number": number, "nonce": nonce})
    }

    fn prompt(&self, instance: &Instance) -> String {
        format!("Say {}", instance.number)
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        assert!(self.0 != Plant::JudgeCrashes || !instance.number.is_multiple_of(40), "the judge cannot read {answer}");
        if answer == instance.number.to_string() { Mark::right("it is") } else { Mark::wrong("it is not") }
    }

    fn solution(&self, instance: &Instance) -> String {
        let off = self.0 == Plant::SolutionRefused && instance.number.is_multiple_of(40);
        (instance.number + u32::from(off)).to_string()
    }

    fn guess(&self, _instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        rng.random_range(1..100_000).to_string()
    }

    fn mistake(&self, instance: &Instance, _rng: &mut ChaCha8Rng) -> String {
        (instance.number + 1).to_string()
    }

    fn effort(&self, _instance: &Instance) -> f64 {
        1.0
    }
}

fn audited(plant: Plant) -> Audit {
    let kind: Arc<dyn EnvironmentKind> = Arc::new(PuzzleKind::new(Single(Echo(plant))));
    audit(&kind, 600)
}

#[test]
fn a_sound_generator_has_no_faults() {
    let audit = audited(Plant::Nothing);
    assert_eq!(audit.faults, []);
    assert_eq!((audit.tasks, audit.repeated), (600, 0));
    assert!((0.6..0.75).contains(&audit.reasons["split"].share()), "{:?}", audit.reasons);
    let kinds = &audit.parameters["kind"];
    assert_eq!(kinds.values().map(|survival| survival.kept).sum::<u64>(), 600);
    assert_eq!(kinds.values().map(|survival| survival.drawn).sum::<u64>(), audit.attempts);
}

#[test]
fn planted_faults_are_found_with_the_draw_that_shows_them() {
    for (plant, at, fault) in [
        (Plant::SolutionRefused, "attempt", "the solution scores 0"),
        (Plant::GeneratorCrashes, "attempt", "the generator crashed: no room for"),
        (Plant::JudgeCrashes, "attempt", "judging the solution crashed: the judge cannot read"),
        (Plant::SearchGivesUp, "attempt", "gave up after 10 nodes"),
        (Plant::ValueLost, "parameter kind", "b was drawn"),
        (Plant::ValueNeverDrawn, "parameter kind", "c was never drawn for 600 tasks"),
        (Plant::MostThrownAway, "requirement odd", "were thrown away because not: the number is odd; declared are 0.2"),
        (Plant::NothingMeetsIt, "attempt 4096", "no problem came of 4096 attempts; drawn again: never 4096 of 4096"),
        (Plant::AnswerConstant, "answers", "600 of 600 tasks have the answer"),
        (Plant::AnswerOfAKind, "answers", "tasks with kind c have the answer"),
        (Plant::FallbackInstance, "answers", "\"answer\":\"0\""),
        (Plant::SplitOfNone, "attempt 4096", "drawn again: split 4096 of 4096"),
        (Plant::FewProblems, "tasks", "are the problem of an earlier one"),
    ] {
        let faults = audited(plant).faults;
        let found = faults.iter().find(|(place, text)| place.contains(at) && text.contains(fault));
        assert!(found.is_some(), "{plant:?}: {faults:?}");
        println!("{plant:?}: {}: {}", found.map_or("", |found| &found.0), found.map_or("", |found| &found.1));
    }
}
