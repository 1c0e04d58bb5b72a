//! `puzzle/river_crossing`: bring everybody over a river in a small boat, without leaving the wrong two alone. Many turns.

mod river;

use std::collections::BTreeSet;

use palestra_protocol::action::Action;
use palestra_protocol::observation::Observation;
use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::river::{BEGINNING, Banks, Group, Refusal, River};
use crate::facts::{Category, Facts};
use crate::list::entries;
use crate::{Puzzle, call, scale};
use palestra_environment::draws::{self, Draws, Requirement};
use palestra_environment::tool::function;
use palestra_environment::verifier::Judgement;
use palestra_environment::verifier::final_answer::extract;
use palestra_environment::{Input, Reaction};

/// Names of passengers: one word each.
const NAMES: [&str; 56] = [
    "alpaca", "badger", "bear", "beaver", "boar", "camel", "cat", "cobra", "cow", "coyote", "crane", "crow", "deer",
    "dingo", "dog", "donkey", "eagle", "falcon", "ferret", "fox", "frog", "goat", "goose", "hamster", "hare", "hawk",
    "hen", "heron", "horse", "hyena", "jackal", "lamb", "leopard", "lizard", "llama", "lynx", "mole", "monkey",
    "mouse", "otter", "owl", "panda", "parrot", "pig", "pigeon", "puma", "rabbit", "raccoon", "rat", "sheep", "skunk",
    "snake", "swan", "tiger", "turkey", "wolf",
];

/// Words for a crossing of the ferryman alone.
const ALONE: [&str; 4] = ["nothing", "nobody", "none", "alone"];

/// Everybody can cross by some plan.
static POSSIBLE: Requirement = Requirement::new("possible", "everybody can cross by some plan", 0.65);

/// The shortest plan is long enough.
static LONG: Requirement = Requirement::new("long", "the shortest plan is long enough", 0.5);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct RiverCrossing;

/// Somebody who has to cross.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Passenger {
    name: String,
    /// In kilograms.
    weight: u32,
}

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    /// By name.
    passengers: Vec<Passenger>,
    /// Passengers in the boat beside the ferryman.
    seats: u32,
    /// Largest load, in kilograms.
    load_max: u32,
    /// Pairs that may not be on a bank without the ferryman, as places in the list of passengers.
    apart: Vec<(usize, usize)>,
    crossings_max: u32,
    /// A shortest plan: who crosses each time.
    plan: Vec<Vec<String>>,
}

/// Banks of all passengers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Progress {
    /// Passengers on the far bank, as bits in the order of the list.
    far: Group,
    boat_far: bool,
    crossings: u32,
}

impl Puzzle for RiverCrossing {
    type Instance = Instance;
    type Progress = Progress;

    fn facts(&self) -> Facts {
        Facts {
            name: "river_crossing",
            version: 1,
            category: Category::Sequential,
            tags: &["planning", "constraints"],
            multi_turn: true,
            description: "Bring five to nine animals over a river in a boat of few seats and little load, some pairs of which may not be left alone.",
            rule: "All have to be on the far bank within the limit of crossings; a crossing against the rules is not made but counts.",
            scale: "More passengers, longer shortest plans, and fewer crossings to spare.",
            effort: "Searches breadth first for a shortest plan; crossings tried.",
            floor: 0.02,
            heavy: true,
        }
    }

    fn tools(&self) -> Vec<Value> {
        vec![function(
            "cross",
            "The ferryman rows to the other bank.",
            json!({
                "type": "object", "required": ["take"], "additionalProperties": false,
                "properties": {"take": {
                    "type": "array", "items": {"type": "string"}, "maxItems": 16, "description": "Who crosses with him; may be empty."
                }}
            }),
        )]
    }

    fn observation_schema(&self) -> Value {
        let names = json!({"type": "array", "items": {"type": "string"}});
        json!({
            "type": "object", "required": ["near", "far", "boat", "crossings_left"],
            "properties": {
                "near": names, "far": names, "boat": {"enum": ["near", "far"]}, "crossings_left": {"type": "integer"}
            }
        })
    }

    fn steps_max(&self) -> u64 {
        100
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, draws::Refusal> {
        let count = usize::try_from(scale(difficulty, 5, 9))?;
        let seats = if count < 8 { 2 } else { rng.random_range(2..=3) };
        let weights: Vec<u32> = (0..count).map(|_| rng.random_range(5..=60)).collect();
        let heaviest = weights.iter().max().copied().ok_or_else(|| draws::Refusal::fault("nobody has to cross"))?;
        let load_max = rng.random_range(heaviest..=heaviest + 30 * (seats - 1));
        // Every pair has one of a few quarrelsome passengers in it, whom the boat has room for: else there is no plan.
        let mut apart = BTreeSet::new();
        for _ in 0..scale(difficulty, 3, 12) {
            let (one, other) = (rng.random_range(0..usize::try_from(seats)?), rng.random_range(0..count));
            if one != other {
                apart.insert((one.min(other), one.max(other)));
            }
        }
        draws.note("seats", seats);
        draws.note("apart", apart.len());
        let mut places: Vec<usize> = (0..count).collect();
        places.shuffle(rng);
        let placed = |(one, other): (usize, usize)| (places[one].min(places[other]), places[one].max(places[other]));
        let mut apart: Vec<(usize, usize)> = apart.into_iter().map(placed).collect();
        apart.sort_unstable();
        let river = River { weights, seats, load_max, apart };
        let plan = river.search().plan.ok_or(&POSSIBLE)?;
        let crossings = u32::try_from(plan.len())?;
        LONG.demand(crossings >= scale(difficulty, 7, 15))?;
        let mut names = NAMES;
        names.shuffle(rng);
        let names = &mut names[..count];
        names.sort_unstable();
        let passengers = names
            .iter()
            .zip(&river.weights)
            .map(|(name, weight)| Passenger { name: (*name).to_owned(), weight: *weight });
        let group = |load: Group| river.members(load).map(|one| names[one].to_owned()).collect();
        Ok(Instance {
            passengers: passengers.collect(),
            seats,
            load_max,
            plan: plan.into_iter().map(group).collect(),
            // There and back is two crossings.
            crossings_max: crossings + 2 * scale(difficulty, 3, 0),
            apart: river.apart,
        })
    }

    fn content(&self, instance: &Instance) -> Value {
        // Names do not matter: passengers are told apart by their weights.
        let weight = |passenger: usize| instance.passengers[passenger].weight;
        let mut weights: Vec<u32> = instance.passengers.iter().map(|passenger| passenger.weight).collect();
        weights.sort_unstable();
        let pair = |(one, other): &(usize, usize)| (weight(*one).min(weight(*other)), weight(*one).max(weight(*other)));
        let mut apart: Vec<(u32, u32)> = instance.apart.iter().map(pair).collect();
        apart.sort_unstable();
        json!([weights, instance.seats, instance.load_max, apart])
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({
            "passengers": instance.passengers, "seats": instance.seats, "load_max": instance.load_max,
            "apart": instance.apart.iter().map(|(one, other)| [instance.name(*one), instance.name(*other)]).collect::<Vec<_>>(),
            "crossings_max": instance.crossings_max
        })
    }

    fn prompt(&self, instance: &Instance) -> String {
        let passengers: Vec<String> =
            instance.passengers.iter().map(|Passenger { name, weight }| format!("{name} ({weight} kg)")).collect();
        let apart: Vec<String> = instance
            .apart
            .iter()
            .map(|(one, other)| format!("{} and {}", instance.name(*one), instance.name(*other)))
            .collect();
        format!(
            "A ferryman has to bring these animals from the near bank of a river to the far bank: {}.\n\
             He rows the boat himself. It has {} seats for animals, and the animals in it may weigh {} kg together at most. He may \
             also row alone.\n\
             These pairs may not be on a bank together while the ferryman is not there: {}.\n\
             You have {} crossings, each from the bank where the boat is to the other one. A crossing that breaks a rule is not \
             made, but counts.\n\
             Answer with the animals that cross next, separated by commas, or with nothing if the ferryman crosses alone: the word \
             `nothing`, not an empty text. Or think first and put them into <answer></answer>, such as <answer>bee, elk</answer>; \
             or call the tool `cross` with {{\"take\": [\"bee\", \"elk\"]}}.",
            passengers.join(", "),
            instance.seats,
            instance.load_max,
            apart.join("; "),
            instance.crossings_max
        )
    }

    fn start(&self, _instance: &Instance) -> Progress {
        Progress { far: BEGINNING.far, boat_far: BEGINNING.boat_far, crossings: 0 }
    }

    fn show(&self, instance: &Instance, progress: &Progress) -> Observation {
        show(instance, progress, "")
    }

    fn act(&self, instance: &Instance, progress: &mut Progress, input: Input<'_>) -> Reaction {
        let load = match input {
            Input::Text(text) => read(instance, extract(text)),
            Input::Call { arguments, .. } => arguments
                .get("take")
                .and_then(Value::as_array)
                .and_then(|names| names.iter().map(Value::as_str).collect::<Option<Vec<_>>>())
                .and_then(|names| group_of(instance, names.into_iter())),
        };
        let Some(load) = load else {
            let text = "Error: nobody crossed, and it does not count. A crossing is names of animals, each once, or the word nothing.\n";
            return Reaction { observation: show(instance, progress, text), ..Reaction::default() };
        };
        let river = instance.river();
        let mut refusal = String::new();
        if !over(instance, progress) {
            progress.crossings += 1;
            match river.cross(Banks { far: progress.far, boat_far: progress.boat_far }, load) {
                Ok(after) => (progress.far, progress.boat_far) = (after.far, after.boat_far),
                Err(why) => refusal = format!("The crossing was not made: {}.\n", instance.explain(why)),
            }
        }
        let observation = show(instance, progress, &refusal);
        Reaction { observation, terminated: over(instance, progress), ..Reaction::default() }
    }

    fn judge(&self, instance: &Instance, progress: &Progress) -> Judgement {
        let (arrived, count) = (progress.far.count_ones(), instance.passengers.len());
        let score = if progress.far == instance.river().all() { 1.0 } else { 0.0 };
        Judgement::single("all_across", score, format!("{arrived} of {count} are on the far bank"))
    }

    fn solve(&self, instance: &Instance) -> Vec<Action> {
        instance.plan.iter().map(|load| call("cross", "take", json!(load))).collect()
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> Action {
        let taken = rng.random_range(0..=instance.seats);
        let names: BTreeSet<&str> = (0..taken)
            .filter_map(|_| instance.passengers.choose(rng))
            .map(|passenger| passenger.name.as_str())
            .collect();
        Action::Text(if names.is_empty() {
            "nothing".to_owned()
        } else {
            names.into_iter().collect::<Vec<_>>().join(", ")
        })
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> Vec<Action> {
        // Stops before the last crossing of a shortest plan.
        let made = rng.random_range(0..instance.plan.len());
        instance.plan[..made].iter().map(|load| call("cross", "take", json!(load))).collect()
    }

    fn effort(&self, instance: &Instance) -> f64 {
        f64::from(instance.river().search().tried)
    }
}

impl Instance {
    fn river(&self) -> River {
        River {
            weights: self.passengers.iter().map(|passenger| passenger.weight).collect(),
            seats: self.seats,
            load_max: self.load_max,
            apart: self.apart.clone(),
        }
    }

    fn name(&self, passenger: usize) -> &str {
        &self.passengers[passenger].name
    }

    fn explain(&self, refusal: Refusal) -> String {
        match refusal {
            Refusal::Elsewhere(absent) => format!("{} is on the other bank", self.name(absent)),
            Refusal::Full => format!("the boat has {} seats", self.seats),
            Refusal::Heavy(weight) => format!("{weight} kg are more than {} kg", self.load_max),
            Refusal::Together(one, other) => format!("{} and {} would be left alone", self.name(one), self.name(other)),
        }
    }
}

fn over(instance: &Instance, progress: &Progress) -> bool {
    progress.crossings >= instance.crossings_max || progress.far == instance.river().all()
}

fn show(instance: &Instance, progress: &Progress, before: &str) -> Observation {
    let river = instance.river();
    let names = |group: Group| river.members(group).map(|one| instance.name(one)).collect::<Vec<_>>();
    let (near, far) = (names(river.all() & !progress.far), names(progress.far));
    let left = instance.crossings_max.saturating_sub(progress.crossings);
    let boat = if progress.boat_far { "far" } else { "near" };
    let list = |names: &[&str]| if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
    let text = format!(
        "{before}Near bank: {}.\nFar bank: {}.\nThe boat is at the {boat} bank. Crossings left: {left}.",
        list(&near),
        list(&far)
    );
    let data = json!({"near": near, "far": far, "boat": boat, "crossings_left": left});
    Observation { data, ..Observation::text(text) }
}

/// Names with commas, spaces or `and` between, or a word for nobody; `None` when it is anything else.
fn read(instance: &Instance, text: &str) -> Option<Group> {
    let words: Vec<&str> = entries(text).filter(|word| !word.eq_ignore_ascii_case("and")).collect();
    match words.as_slice() {
        [] => None,
        [word] if ALONE.iter().any(|alone| word.eq_ignore_ascii_case(alone)) => Some(0),
        words => group_of(instance, words.iter().copied()),
    }
}

/// The group of these names, each of which may come once.
fn group_of<'a>(instance: &Instance, names: impl Iterator<Item = &'a str>) -> Option<Group> {
    let mut group = 0;
    for name in names {
        let known = instance.passengers.iter().position(|passenger| name.eq_ignore_ascii_case(&passenger.name))?;
        let bit = 1 << known;
        if group & bit != 0 {
            return None;
        }
        group |= bit;
    }
    Some(group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_environment::task::seeded;

    /// Goat, hay (as a hen) and wolf.
    fn instance() -> Instance {
        let passengers = [("goat", 30), ("hen", 2), ("wolf", 40)];
        let passengers = passengers.map(|(name, weight)| Passenger { name: name.to_owned(), weight }).to_vec();
        let plan = ["goat", "", "wolf", "goat", "hen", "", "goat"];
        let plan = plan.map(|name| entries(name).map(str::to_owned).collect()).to_vec();
        Instance { passengers, seats: 1, load_max: 40, apart: vec![(0, 1), (0, 2)], crossings_max: 9, plan }
    }

    fn play(turns: &[&str]) -> (Progress, Vec<Reaction>) {
        let instance = instance();
        let mut progress = RiverCrossing.start(&instance);
        let reactions =
            turns.iter().map(|turn| RiverCrossing.act(&instance, &mut progress, Input::Text(turn))).collect();
        (progress, reactions)
    }

    fn score(progress: &Progress) -> f64 {
        RiverCrossing.judge(&instance(), progress).checks[0].score
    }

    #[test]
    fn both_plans_of_the_classic_solve_it() {
        for turns in [
            ["goat", "nothing", "wolf", "goat", "hen", "nothing", "goat"],
            ["Goat", "alone", "[HEN]", "<answer>goat</answer>", "wolf", "none", "goat"],
        ] {
            let (progress, reactions) = play(&turns);
            let ended: Vec<bool> = reactions.iter().map(|reaction| reaction.terminated).collect();
            assert_eq!(ended, [false, false, false, false, false, false, true]);
            assert_eq!(score(&progress), 1.0, "{turns:?}");
        }
    }

    #[test]
    fn unreadable_turns_cost_nothing() {
        let (progress, reactions) =
            play(&["", "cow", "goat goat", "goat nothing", "ｇoat", "goat!", "and", "<answer></answer>"]);
        assert!(
            reactions.iter().all(|reaction| reaction.observation.text.starts_with("Error") && !reaction.terminated)
        );
        assert_eq!(progress.crossings, 0);
        let arguments = json!({"take": ["goat", 7]});
        let mut progress = progress;
        let call = Input::Call { tool: "cross", arguments: arguments.as_object().expect("an object") };
        assert!(RiverCrossing.act(&instance(), &mut progress, call).observation.text.starts_with("Error"));
    }

    #[test]
    fn crossings_against_the_rules_count_and_run_out() {
        let (progress, reactions) =
            play(&["wolf", "goat and hen", "goat", "wolf", "nothing", "nothing", "hen", "goat", "wolf"]);
        let refused: Vec<bool> =
            reactions.iter().map(|reaction| reaction.observation.text.contains("not made")).collect();
        assert_eq!(refused, [true, true, false, true, false, false, true, false, true]);
        assert!(reactions[0].observation.text.contains("goat and hen would be left alone"));
        assert!(reactions[3].observation.text.contains("wolf is on the other bank"));
        assert_eq!(reactions.iter().filter(|reaction| reaction.terminated).count(), 1);
        assert_eq!((progress.crossings, score(&progress)), (9, 0.0));
    }

    #[test]
    fn made_problems_are_solved_by_their_plan_and_no_shorter_one() {
        let mut rng = seeded(&[b"river"]);
        for difficulty in [0.0, 0.5, 1.0] {
            let made = (0..500)
                .find_map(|_| RiverCrossing.generate(&mut rng, difficulty, &mut Draws::default()).ok())
                .expect("a problem");
            assert_eq!(made.river().search().plan.map(|plan| plan.len()), Some(made.plan.len()));
            assert!(made.plan.len() <= made.crossings_max as usize);
        }
    }
}
