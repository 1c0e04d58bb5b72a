//! A folder in the public layout as a task.

use std::collections::BTreeMap;

use palestra_protocol::environment::ScoreRange;

use super::config::{Config, Environment, Findings, Healthcheck};
use super::{Folder, UNNAMED, build, compose, provision, words};
use crate::checks::form::resolved;
use crate::terminal::row::{Collect, Judge, On, Row, SPLITS, Scene, Solution, Step};
use crate::work::Fault;

/// Seconds that tests have where the task says nothing.
const VERIFIER_S: f64 = 600.0;
/// Seconds that a command has which leaves something to be judged, where the task says nothing.
const COLLECT_S: f64 = 60.0;
/// Note on a folder without a solution.
pub(in crate::terminal) const UNPROVEN: &str =
    "is missing: the task is unproven, and its verdicts are not trainable without --trust-unproven";
/// The same where `--trust-unproven` says so.
pub(in crate::terminal) const TRUSTED: &str =
    "is missing: the task is unproven, and its verdicts are trainable, as --trust-unproven says";
/// Where artefacts are left that are taken without being named.
const PUBLISHED: &str = "/logs/artifacts";

/// Reads a folder.
///
/// # Errors
/// Every fault.
pub(super) fn row(folder: &Folder<'_>) -> Result<(String, Row), Vec<Fault>> {
    let mut faults: Vec<Fault> = folder.size_fault().into_iter().collect();
    let config =
        folder.text("task.toml").and_then(|text| Config::parse(text).map_err(|why| folder.fault("task.toml", why)));
    let config = match config {
        Ok(config) => config,
        Err(fault) => return Err(vec![fault]),
    };
    let Findings { faults: reported, notes } = config.findings(folder.sandboxes);
    faults.extend(reported.into_iter().map(|(field, detail)| folder.fault(&format!("task.toml: {field}"), detail)));
    let mut notes: Vec<String> = notes.into_iter().map(|note| folder.note("task.toml", &note)).collect();

    let instruction = folder.text("instruction.md").map(str::to_owned).unwrap_or_else(|fault| {
        faults.push(fault);
        "?".to_owned()
    });
    if instruction.trim().is_empty() {
        faults.push(folder.fault("instruction.md", "has no text: say what is to be done"));
    }
    let mut scene = scene(folder, &config.environment, "environment", "environment", &mut faults, &mut notes);
    scene.demand.network = config.wants_network();
    scene.run = config.environment.healthcheck.as_ref().map(Healthcheck::script);
    scene.agent_ms = config.agent.timeout_sec.map(|seconds| (seconds * 1_000.0) as u64);
    if let Some(user) = &config.agent.user {
        scene.user = Some(user.text());
    }
    if scene.user.is_some() {
        // Where the reference solution is put, by who acts.
        let user = scene.user.clone().unwrap_or_default();
        scene.layer.push(Step::Folder { path: "/solution".to_owned(), user });
    }
    let mut end = |name: &str| {
        let value = config.metadata.get(name)?;
        let number = number(value);
        if number.is_none() {
            faults.push(folder.fault(&format!("task.toml: metadata.{name}"), "must be a number"));
        }
        number
    };
    let (floor, ceiling) = (end("floor"), end("ceiling"));
    let score_range = ScoreRange::declared(floor, ceiling).unwrap_or_else(|why| {
        faults.push(folder.fault("task.toml: metadata.floor", why));
        None
    });
    let split = config.metadata.get("split").map_or("train", |split| split.as_str().unwrap_or_default());
    if !SPLITS.contains(&split) {
        let words = format!("must be one of {}", SPLITS.join(", "));
        faults.push(folder.fault("task.toml: metadata.split", words));
    }
    if let Some(value) = config.metadata.get("difficulty")
        && difficulty(Some(value)).is_none()
    {
        let words = "metadata.difficulty is neither a number from 0 to 1 nor easy, medium or hard: it is left out";
        notes.push(folder.note("task.toml", words));
    }
    let judge = judge(folder, &config, &scene, &mut faults, &mut notes);
    let solution = solution(folder, &config, &mut faults);
    if solution.is_none() {
        notes.push(folder.note("solution/solve.sh", UNPROVEN));
    }
    if !faults.is_empty() {
        return Err(faults);
    }

    let (name, area) = folder.names();
    let titled = config.task.as_ref().and_then(|task| task.get("name")).and_then(toml::Value::as_str);
    let name = if name.is_empty() { titled.unwrap_or(UNNAMED) } else { name };
    let row = Row {
        name: name.to_owned(),
        area: area.to_owned(),
        instruction,
        difficulty: difficulty(config.metadata.get("difficulty")),
        score_range,
        scene,
        judge,
        solution,
        cheats: BTreeMap::new(),
        notes,
        trusted: false,
    };
    Ok((split.to_owned(), row))
}

/// From a container file or, where there is none, the image that is named.
fn scene(
    folder: &Folder<'_>,
    environment: &Environment,
    context: &str,
    place: &str,
    faults: &mut Vec<Fault>,
    notes: &mut Vec<String>,
) -> Scene {
    let file = format!("{context}/Dockerfile");
    let service = service(folder, context, faults);
    let named = environment.docker_image.as_ref().map(|image| (format!("task.toml: {place}.docker_image"), image));
    let named = named.or_else(|| service.image.as_ref().map(|image| (format!("{context}: image"), image)));
    let mut scene = if folder.files.contains_key(file.as_str()) {
        build::scene(folder, &file, context, faults, notes)
    } else if let Some((place, base)) = named {
        build::named(folder, base).unwrap_or_else(|why| {
            faults.push(folder.fault(&place, why));
            Scene::default()
        })
    } else {
        faults.push(folder.fault(&file, "is missing: add it"));
        Scene::default()
    };
    scene.env.extend(service.env);
    scene.demand = environment.demand(folder.sandboxes);
    if let Some(workdir) = environment.workdir.as_ref().or(service.folder.as_ref()) {
        scene.folder = resolved("/", workdir);
    }
    scene.env.extend(templates(folder, place, &environment.env, faults));
    // Compiled files beside the sources of the system would look like a change of it.
    scene.env.entry("PYTHONDONTWRITEBYTECODE".to_owned()).or_insert_with(|| "1".to_owned());
    scene
}

/// The service of a compose file beside the container file.
pub(super) fn service(folder: &Folder<'_>, context: &str, faults: &mut Vec<Fault>) -> compose::Service {
    let prefix = if context.is_empty() { String::new() } else { format!("{context}/") };
    let files = ["docker-compose.yaml", "docker-compose.yml", "compose.yaml"].map(|name| format!("{prefix}{name}"));
    let Some(file) = files.iter().find(|file| folder.files.contains_key(file.as_str())) else {
        return compose::Service::default();
    };
    let read = folder.text(file).and_then(|text| compose::parse(text).map_err(|why| folder.fault(file, why)));
    read.unwrap_or_else(|fault| {
        faults.push(fault);
        compose::Service::default()
    })
}

fn judge(
    folder: &Folder<'_>,
    config: &Config,
    scene: &Scene,
    faults: &mut Vec<Fault>,
    notes: &mut Vec<String>,
) -> Judge {
    let separate = match config.verifier.environment_mode.as_deref() {
        Some(mode) => mode == "separate",
        None => config.verifier.environment.is_some(),
    };
    let own = separate && folder.files.contains_key("tests/Dockerfile");
    let on = if separate {
        let sources = config.artifacts.iter().map(|artifact| resolved(&scene.folder, artifact.source()));
        let mut paths: Vec<String> = sources.collect();
        if !paths.iter().any(|path| path == PUBLISHED) {
            paths.push(PUBLISHED.to_owned());
        }
        let fallback = Environment::default();
        let environment = config.verifier.environment.as_ref().unwrap_or(&fallback);
        let judging = if own || environment.docker_image.is_some() {
            let context = if own { "tests" } else { "tests/none" };
            self::scene(folder, environment, context, "verifier.environment", faults, notes)
        } else {
            Scene { agent_ms: None, run: None, ..scene.clone() }
        };
        let except = config.artifacts.iter().flat_map(|artifact| artifact.excluded()).cloned().collect();
        On::Artefacts { paths, except, scene: Box::new(judging) }
    } else if config.verifier.environment_mode.as_deref() == Some("in_place") {
        On::Place
    } else {
        On::Delta
    };
    // A judge with a container file of its own has its tests in its image.
    let files = if own { Vec::new() } else { folder.stored("tests", "/tests") };
    if !own && !folder.files.contains_key("tests/test.sh") {
        faults.push(folder.fault("tests/test.sh", "is missing: add it"));
    }
    let script = if own { None } else { folder.text("tests/test.sh").ok() };
    faults.extend(folder.line_end_fault("tests/test.sh"));
    Judge::Script {
        on,
        files,
        provision: script.map(|script| provision::steps(script, &folder.place("tests/test.sh"))).unwrap_or_default(),
        collect: config.verifier.collect.iter().map(collect).collect(),
        network: config.verifier_wants_network(),
        user: config.verifier.user.as_ref().map(super::config::Name::text),
        env: templates(folder, "verifier", &config.verifier.env, faults),
        timeout_ms: (config.verifier.timeout_sec.unwrap_or(VERIFIER_S) * 1_000.0) as u64,
    }
}

fn collect(wanted: &super::config::Collect) -> Collect {
    Collect {
        command: wanted.command.clone(),
        user: wanted.user.as_ref().map(super::config::Name::text),
        timeout_ms: (wanted.timeout_sec.unwrap_or(COLLECT_S) * 1_000.0) as u64,
    }
}

fn solution(folder: &Folder<'_>, config: &Config, faults: &mut Vec<Fault>) -> Option<Solution> {
    folder.files.get("solution/solve.sh")?;
    faults.extend(folder.line_end_fault("solution/solve.sh"));
    let mut files = folder.stored("solution", "/solution");
    for file in &mut files {
        if file.path.ends_with(".sh") {
            file.mode = Some(file.mode() | 0o111);
        }
    }
    let env = templates(folder, "solution", &config.solution.env, faults);
    let quoted = |(name, value): (&String, &String)| format!("{name}='{}' ", value.replace('\'', r"'\''"));
    let env: String = env.iter().map(quoted).collect();
    Some(Solution { files, run: format!("{env}/solution/solve.sh"), answer: None })
}

/// Values with `${NAME:-default}`; variables of the server are nobody's business.
fn templates(
    folder: &Folder<'_>,
    place: &str,
    env: &BTreeMap<String, String>,
    faults: &mut Vec<Fault>,
) -> BTreeMap<String, String> {
    let mut filled = BTreeMap::new();
    for (name, value) in env {
        let needs =
            value.match_indices("${").any(|(at, _)| !value[at..].split('}').next().unwrap_or_default().contains(":-"));
        match words::expand(value, &BTreeMap::new()) {
            Ok(value) if !needs => {
                filled.insert(name.clone(), value);
            }
            _ => {
                let detail =
                    format!("{value:?} asks for a variable of the host, which is not given away; write a default");
                faults.push(folder.fault(&format!("task.toml: {place}.env.{name}"), detail));
            }
        }
    }
    filled
}

/// A number, whole or not.
fn number(value: &toml::Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

/// A number, or one of the words.
pub(super) fn difficulty(value: Option<&toml::Value>) -> Option<f64> {
    match value? {
        toml::Value::String(word) => of_word(word),
        value => number(value).filter(|number| (0.0..=1.0).contains(number)),
    }
}

/// Difficulty behind a word.
pub(super) fn of_word(word: &str) -> Option<f64> {
    match word {
        "easy" => Some(0.25),
        "medium" => Some(0.5),
        "hard" => Some(0.75),
        _ => None,
    }
}
