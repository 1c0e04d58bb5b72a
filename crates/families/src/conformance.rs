//! The suite that every built-in environment passes, run on each kind of the registry: a new kind needs no test of its own
//! for any of this. `PALESTRA_PUZZLE_CASES` says how many tasks are looked at of each.

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_protocol::action::Action;
use palestra_protocol::id::EpisodeId;
use palestra_protocol::observation::Observation;
use serde_json::{Map, Value, json};

use crate::registry::{BuiltinSettings, builtin};
use palestra_environment::policy::{Builtin, Policy};
use palestra_environment::task::{Task, TaskError, TaskId, seeded};
use palestra_environment::tool::Toolbox;
use palestra_environment::verifier::Case;
use palestra_environment::{Context, Environment, EnvironmentKind, Input, Opening, Place, Secrets, Tasks};

/// Turns that a policy gets in these tests, unless the environment gives it fewer.
const TURNS_MAX: u64 = 1000;

/// Tasks of each kind that are looked at, unless `PALESTRA_PUZZLE_CASES` asks for another number; at least as many as it takes to
/// meet every difficulty that tests go through.
const CASES: u64 = 60;

/// The number of tasks that `PALESTRA_PUZZLE_CASES` asks for.
fn cases() -> u64 {
    let asked = std::env::var("PALESTRA_PUZZLE_CASES").ok();
    asked.map_or(CASES, |cases| cases.parse().expect("PALESTRA_PUZZLE_CASES is a number"))
}

fn kinds() -> Vec<Arc<dyn EnvironmentKind>> {
    builtin(&BuiltinSettings::default())
}

fn puzzles() -> Vec<Arc<dyn EnvironmentKind>> {
    kinds().into_iter().filter(|kind| kind.spec().family == "puzzle").collect()
}

fn generate(kind: &dyn EnvironmentKind, split: &str, seed: u64, difficulty: Option<f64>) -> Task {
    let Tasks::Generated(generator) = kind.tasks() else { panic!("{} has stored tasks", kind.spec().name) };
    generator.generate(split, seed, difficulty).expect("a task")
}

fn open(kind: &dyn EnvironmentKind, task: &Arc<Task>) -> Box<dyn Environment> {
    let episode = EpisodeId::new();
    let opening = Opening {
        task,
        seed: 0,
        secrets: Secrets::Seed(0),
        config: &Map::new(),
        episode,
        resumed: false,
        folder: None,
        from: None,
    };
    match kind.open(opening).expect("a place") {
        Place::Pure(place) => place,
        Place::Live(_) => panic!("{} is live", kind.spec().name),
    }
}

fn context() -> Context {
    Context::seeded(&[b"conformance"])
}

/// Takes one action as a session would; true when the episode ended.
fn take(place: &mut dyn Environment, tools: &Toolbox, action: &Action) -> (Observation, bool) {
    let reaction = match action {
        Action::Text(text) => place.act(Input::Text(text), &mut context()),
        Action::Tool { tool, arguments } => {
            tools.check(tool, arguments).expect("the call fits its schema");
            place.act(Input::Call { tool, arguments }, &mut context())
        }
        other => panic!("built-in policies do not act by {other:?}"),
    };
    (reaction.observation, reaction.terminated)
}

fn judge(kind: &dyn EnvironmentKind, task: &Task, place: &dyn Environment) -> f64 {
    let case = Case { task, state: &place.state(), trajectory: &[] };
    kind.verifier().pure().expect("a pure verifier").verify(&case).expect("a judgement").score().expect("a score")
}

fn toolbox(kind: &dyn EnvironmentKind) -> Toolbox {
    Toolbox::compile(&kind.spec().tools).expect("schemas")
}

fn play(kind: &Arc<dyn EnvironmentKind>, tools: &Toolbox, task: &Arc<Task>, mut policy: Box<dyn Policy>) -> f64 {
    let turns = kind.spec().limits.steps.map_or(TURNS_MAX, |steps| steps.min(TURNS_MAX));
    let mut place = open(&**kind, task);
    for _ in 0..turns {
        let Some(action) = policy.next_action() else { break };
        if take(&mut *place, tools, &action).1 {
            break;
        }
    }
    judge(&**kind, task, &*place)
}

/// Plays the task of a seed with each of the policies; the scores.
fn scores_of<const COUNT: usize>(
    kind: &Arc<dyn EnvironmentKind>,
    tools: &Toolbox,
    policies: [Builtin; COUNT],
    seed: u64,
    difficulty: Option<f64>,
) -> [f64; COUNT] {
    let task = Arc::new(generate(&**kind, "train", seed, difficulty));
    policies.map(|policy| play(kind, tools, &task, policy.begin(kind, &task, seed).expect("a policy")))
}

#[test]
fn the_oracle_solves_every_task() {
    for kind in kinds() {
        let tools = toolbox(&*kind);
        let has_scale = kind.spec().family != "bench";
        for seed in 0..cases().min(150) {
            let difficulty = f64::from(u32::try_from(seed).expect("small") % 11) / 10.0;
            for difficulty in [has_scale.then_some(difficulty), None] {
                let [score] = scores_of(&kind, &tools, [Builtin::Oracle], seed, difficulty);
                assert_eq!(score, 1.0, "{} {seed} {difficulty:?}", kind.spec().name);
            }
        }
    }
}

#[test]
fn null_and_random_policies_stay_at_the_floor() {
    let policies = [Builtin::Null, Builtin::Random];
    for kind in kinds() {
        let tools = toolbox(&*kind);
        let count = cases().min(200);
        let mut totals = [0.0; 2];
        for seed in 0..count {
            let scores = scores_of(&kind, &tools, policies, seed, None);
            totals.iter_mut().zip(scores).for_each(|(total, score)| *total += score);
        }
        for (policy, total) in policies.iter().zip(totals) {
            let mean = total / count as f64;
            assert!(mean <= kind.spec().floor, "{} {policy}: {mean}", kind.spec().name);
        }
    }
}

#[test]
fn even_the_easiest_tasks_are_not_solved_by_chance() {
    for kind in puzzles() {
        let tools = toolbox(&*kind);
        let score = |seed| scores_of(&kind, &tools, [Builtin::Random], seed, Some(0.0))[0];
        let total: f64 = (0..300).map(score).sum();
        assert!(total / 300.0 <= 0.1, "{}: {}", kind.spec().name, total / 300.0);
    }
}

#[test]
fn an_id_recreates_its_task_byte_for_byte() {
    for kind in kinds() {
        for seed in [0, 1, 12, (1 << 53) - 1] {
            for split in kind.spec().splits.keys() {
                let task = generate(&*kind, split, seed, None);
                let id: TaskId = task.public.id.parse().expect("an id");
                let again = generate(&*kind, &id.split, id.number, id.difficulty());
                let bytes = |task: &Task| serde_json::to_string(&task.public).expect("JSON");
                assert_eq!((bytes(&task), &task.secret), (bytes(&again), &again.secret));
            }
        }
    }
    for kind in puzzles() {
        let task = generate(&*kind, "test", 5, Some(0.4001));
        assert_eq!((task.public.id.as_str(), task.public.difficulty), ("test-5-d400", Some(0.4)));
    }
}

#[test]
fn no_content_is_in_two_splits() {
    for kind in kinds().iter().filter(|kind| kind.spec().family != "puzzle") {
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        for split in kind.spec().splits.keys() {
            for seed in 0..200 {
                let task = generate(&**kind, split, seed, None);
                let other = seen.entry(task.public.metadata.to_string()).or_insert_with(|| split.clone());
                assert_eq!(other, split, "{} {}", kind.spec().name, task.public.id);
            }
        }
    }
}

#[test]
fn there_are_many_tasks_even_where_they_are_easy() {
    for kind in puzzles() {
        let secrets: std::collections::BTreeSet<String> =
            (0..500).map(|seed| generate(&*kind, "test", seed, Some(0.0)).secret.to_string()).collect();
        assert!(secrets.len() > 350, "{}: {}", kind.spec().name, secrets.len());
    }
}

#[test]
fn public_parts_of_tasks_do_not_hold_the_solution() {
    for kind in puzzles() {
        for seed in 0..50 {
            let task = Arc::new(generate(&*kind, "train", seed, None));
            let first = open(&*kind, &task).observe();
            let shown = format!("{} {first:?}", serde_json::to_string(&task.public).expect("JSON"));
            for hidden in ["solution", "code"].iter().filter_map(|field| task.secret[*field].as_str()) {
                assert!(!shown.contains(hidden), "{}: {hidden}", kind.spec().name);
            }
            assert!(first.text.starts_with(&task.public.messages[0].content), "the observation repeats the problem");
        }
    }
}

#[test]
fn unknown_splits_and_impossible_difficulties_are_refused() {
    for kind in kinds() {
        let Tasks::Generated(generator) = kind.tasks() else { continue };
        assert!(matches!(generator.generate("nosuch", 0, None), Err(TaskError::UnknownSplit(_))));
        assert!(matches!(generator.generate("train", u64::MAX, None), Err(TaskError::BadChoice(_))));
        assert!(matches!(generator.generate("train", 0, Some(1.5)), Err(TaskError::BadChoice(_))));
        assert!(matches!(generator.generate("train", 0, Some(f64::NAN)), Err(TaskError::BadChoice(_))));
    }
}

#[test]
fn a_fork_goes_its_own_way_and_the_same_actions_lead_to_the_same_state() {
    for kind in kinds() {
        let tools = toolbox(&*kind);
        let task = Arc::new(generate(&*kind, "train", 3, None));
        let mut rng = seeded(&[b"actions"]);
        let actions: Vec<Action> = (0..8).map(|_| kind.random_action(&task, &mut rng)).collect();
        let (mut first, mut second) = (open(&*kind, &task), open(&*kind, &task));
        let begin = first.state().digest();
        let mut forks = Vec::new();
        for action in &actions {
            forks.push((first.fork(), first.state().digest()));
            let (left, right) = (take(&mut *first, &tools, action), take(&mut *second, &tools, action));
            assert_eq!(left, right, "{}", kind.spec().name);
            assert_eq!(first.state().digest(), second.state().digest());
            if left.1 {
                break;
            }
        }
        assert_ne!(first.state().digest(), begin, "{}", kind.spec().name);
        for (at, (mut fork, digest)) in forks.into_iter().enumerate() {
            assert_eq!(fork.state().digest(), digest, "acting elsewhere moved a fork of {}", kind.spec().name);
            for action in &actions[at..] {
                if take(&mut *fork, &tools, action).1 {
                    break;
                }
            }
            assert_eq!(fork.state().digest(), first.state().digest(), "{}", kind.spec().name);
        }
    }
}

#[test]
fn hostile_input_is_answered() {
    let long = "(".repeat(1 << 20);
    let texts = ["", "\0", "9e999", "-", "[[[[", "\u{202e}", "\\boxed{", "<answer></answer>", &long];
    for kind in kinds() {
        let task = Arc::new(generate(&*kind, "train", 1, Some(0.5).filter(|_| kind.spec().family == "puzzle")));
        for text in texts {
            let mut place = open(&*kind, &task);
            let reaction = place.act(Input::Text(text), &mut context());
            assert!(reaction.observation.text.len() < 4000, "{}", kind.spec().name);
            assert!(judge(&*kind, &task, &*place) < 1.0, "{} {text:.20}", kind.spec().name);
            for argument in [json!(null), json!(1e300), json!([text]), json!({"a": text})] {
                let names = ["amount", "expression", "code", "directions"];
                let arguments: Map<String, Value> =
                    names.iter().map(|name| ((*name).to_owned(), argument.clone())).collect();
                let mut place = open(&*kind, &task);
                place.act(Input::Call { tool: "x", arguments: &arguments }, &mut context());
                assert!(judge(&*kind, &task, &*place) < 1.0, "{}", kind.spec().name);
            }
        }
    }
}

/// A change of these digests is a change that users can observe: it needs a new version of the environment.
#[test]
fn tasks_observations_and_states_are_those_of_the_version() {
    for kind in kinds() {
        let tools = toolbox(&*kind);
        let mut text = String::new();
        let mut states = Vec::new();
        for (split, seed) in [("train", 0), ("train", 7), ("validation", 1), ("test", 2)] {
            let task = Arc::new(generate(&*kind, split, seed, None));
            text.push_str(&serde_json::to_string(&task.public).expect("JSON"));
            let mut place = open(&*kind, &task);
            text.push_str(&serde_json::to_string(&place.observe()).expect("JSON"));
            let mut rng = seeded(&[b"golden"]);
            let guesses = (0..3).map(|_| kind.random_action(&task, &mut rng)).collect::<Vec<_>>();
            for action in guesses.iter().chain(&kind.oracle(&task).expect("an oracle")) {
                let (observation, ended) = take(&mut *place, &tools, action);
                text.push_str(&serde_json::to_string(&observation).expect("JSON"));
                states.push(Value::String(place.state().digest().to_string()));
                if ended {
                    break;
                }
            }
        }
        let spec = kind.spec();
        let golden = format!(
            "{}@{} seen {:.23} states {:.23} spec {:.23}",
            spec.name,
            spec.version,
            palestra_environment::state::Digest::of(text.as_bytes()).to_string(),
            palestra_environment::state::Digest::of_json(&Value::Array(states)).to_string(),
            spec.digest
        );
        insta::assert_snapshot!(spec.name.replace('/', "_"), golden);
    }
}
