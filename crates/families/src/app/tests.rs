//! The adapter, held against an app of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_protocol::action::Action;
use palestra_protocol::id::EpisodeId;
use serde_json::{Map, Value, json};

use super::*;
use palestra_environment::policy::Builtin;
use palestra_environment::randomness::Randomness;
use palestra_environment::spec::GENERATED_SPLITS;
use palestra_environment::tool::Toolbox;
use palestra_environment::{Context, Environment, Input, Secrets};

const TOOLSHED: &str = include_str!("../../../../tests/apps/toolshed/app.yaml");

fn kind() -> Arc<dyn EnvironmentKind> {
    let files = Files::from([("app.yaml".to_owned(), TOOLSHED.to_owned())]);
    let app = App::load(&files).expect("the app of the tests");
    Arc::new(AppKind::new(app, 1, digest_of(&files)))
}

fn task(kind: &dyn EnvironmentKind, split: &str, seed: u64) -> Arc<Task> {
    let Tasks::Generated(generator) = kind.tasks() else { panic!("tasks are generated") };
    Arc::new(generator.generate(split, seed, None).expect("a task"))
}

fn open(kind: &dyn EnvironmentKind, task: &Arc<Task>, config: &Value) -> Box<dyn Environment> {
    let config = config.as_object().expect("settings");
    let opening = Opening {
        task,
        seed: 0,
        secrets: Secrets::Seed(0),
        config,
        episode: EpisodeId::new(),
        resumed: false,
        folder: None,
        from: None,
    };
    match kind.open(opening).expect("a place") {
        Place::Pure(place) => place,
        Place::Live(_) => panic!("apps are pure"),
    }
}

fn context() -> Context {
    Context { rng: Randomness::seeded(&[]), clock_ms: 0 }
}

/// The score of a built-in policy; each of its calls fits the schema of its tool.
fn score(kind: &Arc<dyn EnvironmentKind>, task: &Arc<Task>, policy: Builtin) -> f64 {
    let toolbox = Toolbox::compile(&kind.spec().tools).expect("schemas");
    let mut place = open(&**kind, task, &json!({}));
    let mut policy = policy.begin(kind, task, 3).expect("a policy");
    for _ in 0..STEPS_MAX {
        let reaction = match policy.next_action() {
            None => break,
            Some(Action::Text(text)) => place.act(Input::Text(&text), &mut context()),
            Some(Action::Tool { tool, arguments }) => {
                toolbox.check(&tool, &arguments).unwrap_or_else(|words| panic!("{words} {arguments:?}"));
                place.act(Input::Call { tool: &tool, arguments: &arguments }, &mut context())
            }
            Some(other) => panic!("built-in policies do not act by {other:?}"),
        };
        assert_eq!(reaction.failure, None);
        if reaction.terminated {
            break;
        }
    }
    let case = Case { task, state: &place.state(), trajectory: &[] };
    kind.verifier().pure().expect("a pure verifier").verify(&case).expect("a judgement").score().expect("a score")
}

#[test]
fn the_oracle_solves_every_task_and_others_stay_at_the_floor() {
    let kind = kind();
    let (mut null, mut random) = (0.0, 0.0);
    for seed in 0..60 {
        let task = task(&*kind, "train", seed);
        assert_eq!(score(&kind, &task, Builtin::Oracle), 1.0, "{}", task.public.messages[1].content);
        null += score(&kind, &task, Builtin::Null) / 60.0;
        random += score(&kind, &task, Builtin::Random) / 60.0;
    }
    assert!(null <= FLOOR && random <= FLOOR, "{null} {random}");
}

#[test]
fn no_content_is_in_two_splits() {
    let kind = kind();
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for (split, _) in GENERATED_SPLITS {
        for seed in 0..100 {
            let content = task(&*kind, split, seed).secret["parameters"].to_string();
            assert_eq!(*seen.entry(content).or_insert(split), split);
        }
    }
}

#[test]
fn an_id_recreates_its_task_and_what_is_public_holds_no_row() {
    let (one, other) = (kind(), kind());
    for seed in [0, 1, 7, (1 << 53) - 1] {
        let (first, second) = (task(&*one, "test", seed), task(&*other, "test", seed));
        assert_eq!(first, second);
        let public = serde_json::to_string(&first.public).expect("JSON");
        for row in ["tool", "who"].map(|name| first.secret["parameters"][name].as_str().expect("an id").to_owned()) {
            assert!(!public.contains(&row), "{row}");
        }
    }
    let Tasks::Generated(generator) = one.tasks() else { panic!("tasks are generated") };
    assert!(matches!(generator.generate("nosuch", 0, None), Err(TaskError::UnknownSplit(_))));
    assert!(matches!(generator.generate("train", u64::MAX, None), Err(TaskError::BadChoice(_))));
    assert!(matches!(generator.generate("train", 0, Some(0.5)), Err(TaskError::BadChoice(_))));
}

/// A goal that two days of the lending miss.
fn faulty() -> AppKind {
    let good = "due: \"add_days(init.today, t.days)\"";
    assert_eq!(TOOLSHED.matches(good).count(), 1);
    let text = TOOLSHED.replace(good, "due: \"add_days(init.today, t.days == 2 ? 3 : t.days)\"");
    let files = Files::from([("app.yaml".to_owned(), text)]);
    AppKind::new(App::load(&files).expect("an app"), 1, digest_of(&files))
}

#[test]
fn a_draw_that_shows_a_fault_is_an_error_and_no_other_draw_stands_in_for_it() {
    let kind = faulty();
    let (mut told, mut drawn) = (0, 0);
    for seed in 0..60 {
        match kind.generate("train", seed, None) {
            Ok(task) => drawn += u64::from(task.secret["drawn"]["attempt"].is_u64()),
            Err(TaskError::Faulty(faulty)) => {
                assert_eq!((&*faulty.environment, &*faulty.template), ("app/toolshed@1", "lend_tool"));
                assert_eq!((&*faulty.split, faulty.seed, faulty.flaw), ("train", seed, "solution_misses"));
                assert!(faulty.evidence.contains("does not reach the goal"), "{}", faulty.evidence);
                assert!(!faulty.to_string().contains("does not reach the goal"), "evidence is for who publishes");
                told += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(told > 0 && drawn > 0, "{told} {drawn}");
}

#[test]
fn a_task_that_was_stored_by_the_laxer_rule_is_judged_as_the_one_that_was_drawn_then() {
    let kind = faulty();
    let mut redrawn = 0;
    for seed in 0..60 {
        let instance = kind.instance_as_before("train", seed).expect("a task");
        let mut secret = json!({"split": "train", "seed": seed, "parameters": instance.parameters()});
        let public = task(&*self::kind(), "train", seed).public.clone();
        let stored = Task { public, secret: secret.clone() };
        assert_eq!(kind.instance_of(&stored).expect("its task").values, instance.values);
        match kind.generate("train", seed, None) {
            // A sound draw is the same by both rules, and is found again by its number.
            Ok(task) => {
                secret["drawn"] = task.secret["drawn"].clone();
                assert_eq!(task.secret, secret);
                assert_eq!(faulty().instance_of(&task).expect("its task").values, instance.values);
            }
            Err(_) => redrawn += 1,
        }
    }
    assert!(redrawn > 0);
}

#[test]
fn a_fork_goes_its_own_way() {
    let kind = kind();
    let task = task(&*kind, "train", 0);
    let mut place = open(&*kind, &task, &json!({"surface": "both"}));
    let fork = place.fork();
    let before = place.state().digest();
    for action in kind.oracle(&task).expect("a solution") {
        let Action::Tool { tool, arguments } = action else { panic!("solutions call tools") };
        place.act(Input::Call { tool: &tool, arguments: &arguments }, &mut context());
    }
    assert_ne!(place.state().digest(), before);
    assert_eq!(fork.state().digest(), before);
    assert!(place.state().get("screen").is_some());
}

#[test]
fn hostile_calls_are_answered_and_change_nothing() {
    let kind = kind();
    let task = task(&*kind, "train", 0);
    let mut place = open(&*kind, &task, &json!({"surface": "both"}));
    let before = place.state().get("data").expect("data").digest();
    let long = "x".repeat(1 << 20);
    let values = [json!(null), json!(-1), json!(1e300), json!(long), json!([[]]), json!({"id": "T1"}), json!("T0001")];
    let tools = ["lend", "give_back", "tools", "click", "type", "select", "scroll", "submit", "wait", "nosuch", ""];
    for value in &values {
        for tool in tools {
            let names = ["tool", "member", "days", "loan", "search", "page", "element", "text", "seconds", "status"];
            let arguments: Map<String, Value> = names.iter().map(|name| ((*name).to_owned(), value.clone())).collect();
            let reaction = place.act(Input::Call { tool, arguments: &arguments }, &mut context());
            assert_eq!(reaction.failure, None, "{tool}");
            assert!(!reaction.terminated && reaction.observation.text.len() < 20_000, "{tool}");
        }
        place.act(Input::Text(&long), &mut context());
    }
    assert_eq!(place.state().get("data").expect("data").digest(), before);
}

#[test]
fn actions_that_nothing_takes_back_are_told_once_they_were_done() {
    let lend = "  lend:\n    about: Lends a tool to a member.\n";
    let marked = TOOLSHED.replace(lend, &format!("{lend}    irreversible: true\n"));
    assert_ne!(marked, TOOLSHED);
    let app = App::load(&Files::from([("app.yaml".to_owned(), marked)])).expect("an app");
    let kind: Arc<dyn EnvironmentKind> = Arc::new(AppKind::new(app, 1, "sha256:0".to_owned()));
    let about = |name: &str| {
        let tool = kind.spec().tools.iter().find(|tool| tool["function"]["name"] == name).expect("a tool");
        tool["function"]["description"].as_str().expect("words").to_owned()
    };
    assert_eq!(about("lend"), "Lends a tool to a member. It cannot be undone.");
    assert_eq!(about("give_back"), "Takes a tool back.");
    let task = task(&*kind, "train", 0);
    let solution = kind.oracle(&task).expect("a solution");
    let mut place = open(&*kind, &task, &json!({}));
    let mut told = Vec::new();
    // The second time the tool is out: nothing is done.
    for action in solution.iter().chain(&solution) {
        let Action::Tool { tool, arguments } = action else { panic!("{action:?}") };
        told.push((tool.clone(), place.act(Input::Call { tool, arguments }, &mut context()).irreversible));
    }
    let of =
        |name: &str| told.iter().filter(|(tool, _)| tool == name).map(|(_, told)| told.clone()).collect::<Vec<_>>();
    assert_eq!(of("lend"), [vec!["lend".to_owned()], Vec::new()]);
    assert!(told.iter().all(|(tool, told)| tool == "lend" || told.is_empty()), "{told:?}");
}

#[test]
fn every_shipped_app_compiles_and_every_template_has_a_task() {
    for shipped in shipped::all() {
        let kind = shipped.kind(None).unwrap_or_else(|faults| panic!("{}: {faults}", shipped.name()));
        let templates = kind.spec().templates;
        let seen: std::collections::BTreeSet<String> =
            (0..templates).map(|seed| task(&*kind, "train", seed).public.template.clone()).collect();
        assert!(seen.len() as u64 * 10 >= templates * 9, "{}: {} of {templates}", shipped.name(), seen.len());
    }
}

/// The app of the tests with rows and fixed tasks of its own.
fn with_fixed_tasks() -> Files {
    let rows = json!({
        "member": {"user_7": {"name": "Ida Own", "balance": "50.00"}},
        "tool": {"#T1": {"name": "Borer", "kind": "drill", "day_fee": "2.00"}},
    });
    let task = |id: &str, days: u64, fee: &str, left: &str| {
        json!({
            "id": id, "split": "club", "text": format!("Lend the Borer to Ida Own for {days} days."),
            "goal": {"end": {"member": {"user_7": {"balance": left}}, "tool": {"#T1": {"state": "out"}},
                             "loan": {"new": {"tool": "#T1", "member": "user_7", "due": format!("2031-05-{:02}", 5 + days), "fee": fee}}}},
            "solution": [{"tool": "lend", "arguments": {"tool": "#T1", "member": "user_7", "days": days}}],
        })
        .to_string()
    };
    let tasks = [task("club/ida #1", 2, "4.00", "46.00"), task("club-1", 3, "6.00", "44.00")].join("\n");
    Files::from([
        ("app.yaml".to_owned(), TOOLSHED.to_owned()),
        ("data.json".to_owned(), rows.to_string()),
        ("tasks.jsonl".to_owned(), tasks),
    ])
}

#[test]
fn fixed_tasks_have_a_split_and_ids_of_their_own_beside_those_of_templates() {
    let files = with_fixed_tasks();
    let parsed = parse(&files).expect("no fault");
    assert_eq!((parsed.splits["club"], parsed.splits["train"]), (2, 1_000_000));
    let kind: Arc<dyn EnvironmentKind> = Arc::new(AppKind::new(App::load(&files).expect("an app"), 1, parsed.digest));
    for (index, id) in [(0, "club/ida #1"), (1, "club-1")] {
        let task = task(&*kind, "club", index);
        assert_eq!((task.public.id.as_str(), task.public.index, &*task.public.template), (id, Some(index), "fixed"));
        assert_eq!(score(&kind, &task, Builtin::Oracle), 1.0, "{id}");
        assert!(score(&kind, &task, Builtin::Null) < 0.05, "{id}");
    }
    let Tasks::Generated(generator) = kind.tasks() else { panic!("tasks are generated") };
    assert_eq!(generator.place_of("club-1"), Some(("club".to_owned(), 1)));
    assert_eq!((generator.place_of("club-0"), generator.has_own_ids("train")), (None, false));
    assert_eq!(task(&*kind, "club", 2).public.id, "club/ida #1", "a seed counts on from the first");
    assert_eq!(task(&*kind, "train", 1).public.id, "train-1");
}

#[test]
fn an_id_that_a_template_makes_is_refused() {
    let mut files = with_fixed_tasks();
    let tasks = files["tasks.jsonl"].replace("\"club-1\"", "\"train-1\"");
    files.insert("tasks.jsonl".to_owned(), tasks);
    let faults = parse(&files).expect_err("a fault");
    assert_eq!(faults[0].detail, "tasks.jsonl:2:1: train-1: a task of a template has this id: choose another one");
}
