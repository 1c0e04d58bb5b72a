//! A folder in the public layout as a task.

use std::collections::BTreeMap;

use palestra_sandbox::shipped;

use super::config::{Config, Environment};
use super::{Folder, build, words};
use crate::checks::form::resolved;
use crate::terminal::row::{Judge, On, Row, Scene, Solution, Step};
use crate::work::Fault;

/// Seconds that tests have where the task says nothing.
const VERIFIER_S: f64 = 600.0;
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
    let profile = shipped::profiles().map_err(|why| vec![folder.fault("task.toml", why)])?.remove("root");
    let (memory, cpu) = profile.map_or((0, 0), |profile| (profile.memory_bytes.value, profile.cpu_thousandths.value));
    let reported = config.faults(memory, cpu).into_iter();
    faults.extend(reported.map(|(field, detail)| folder.fault(&format!("task.toml: {field}"), detail)));

    let instruction = folder.text("instruction.md").map(str::to_owned).unwrap_or_else(|fault| {
        faults.push(fault);
        String::new()
    });
    let mut scene = scene(folder, &config.environment, "environment", "environment", &mut faults);
    scene.agent_ms = config.agent.timeout_sec.map(|seconds| (seconds * 1_000.0) as u64);
    if let Some(user) = &config.agent.user {
        scene.user = Some(user.text());
    }
    if scene.user.is_some() {
        // Where the reference solution is put, by who acts.
        let user = scene.user.clone().unwrap_or_default();
        scene.layer.push(Step::Folder { path: "/solution".to_owned(), user });
    }
    let judge = judge(folder, &config, &scene, &mut faults);
    let solution = solution(folder, &config, &mut faults);
    if !faults.is_empty() {
        return Err(faults);
    }

    let (name, area) = folder.names();
    let titled = config.task.as_ref().and_then(|task| task.get("name")).and_then(toml::Value::as_str);
    let name = if name.is_empty() { titled.unwrap_or("task") } else { name };
    let split = config.metadata.get("split").and_then(toml::Value::as_str).unwrap_or("train");
    let row = Row {
        name: name.to_owned(),
        area: area.to_owned(),
        instruction,
        difficulty: difficulty(config.metadata.get("difficulty")),
        scene,
        judge,
        solution,
        cheats: BTreeMap::new(),
    };
    Ok((split.to_owned(), row))
}

/// From a container file or, where there is none, the image that is named.
fn scene(folder: &Folder<'_>, environment: &Environment, context: &str, place: &str, faults: &mut Vec<Fault>) -> Scene {
    let file = format!("{context}/Dockerfile");
    let compose = ["docker-compose.yaml", "docker-compose.yml", "compose.yaml"];
    if compose.iter().any(|name| folder.files.contains_key(format!("{context}/{name}").as_str())) {
        faults.push(folder.fault(context, "several services (a compose file) are not supported: use one container"));
    }
    let mut scene = if folder.files.contains_key(file.as_str()) {
        build::scene(folder, &file, context, faults)
    } else if let Some(base) = &environment.docker_image {
        let image = build::image(base).unwrap_or_else(|why| {
            faults.push(folder.fault(&format!("task.toml: {place}.docker_image"), why));
            String::new()
        });
        Scene { image, profile: "root".to_owned(), folder: "/".to_owned(), ..Scene::default() }
    } else {
        faults.push(folder.fault(&file, "is missing: add it"));
        Scene::default()
    };
    if let Some(workdir) = &environment.workdir {
        scene.folder = resolved("/", workdir);
    }
    scene.env.extend(templates(folder, place, &environment.env, faults));
    // Compiled files beside the sources of the system would look like a change of it.
    scene.env.entry("PYTHONDONTWRITEBYTECODE".to_owned()).or_insert_with(|| "1".to_owned());
    scene
}

fn judge(folder: &Folder<'_>, config: &Config, scene: &Scene, faults: &mut Vec<Fault>) -> Judge {
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
            self::scene(folder, environment, context, "verifier.environment", faults)
        } else {
            Scene { agent_ms: None, ..scene.clone() }
        };
        On::Artefacts { paths, scene: Box::new(judging) }
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
    Judge::Script {
        on,
        files,
        user: config.verifier.user.as_ref().map(super::config::Name::text),
        env: templates(folder, "verifier", &config.verifier.env, faults),
        timeout_ms: (config.verifier.timeout_sec.unwrap_or(VERIFIER_S) * 1_000.0) as u64,
    }
}

fn solution(folder: &Folder<'_>, config: &Config, faults: &mut Vec<Fault>) -> Option<Solution> {
    folder.files.get("solution/solve.sh")?;
    let mut files = folder.stored("solution", "/solution");
    for file in &mut files {
        if file.path.ends_with(".sh") {
            file.mode = Some(file.mode() | 0o111);
        }
    }
    let env = templates(folder, "solution", &config.solution.env, faults);
    let quoted = |(name, value): (&String, &String)| format!("{name}='{}' ", value.replace('\'', r"'\''"));
    let env: String = env.iter().map(quoted).collect();
    Some(Solution { files, run: format!("{env}/solution/solve.sh") })
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

/// A number, or one of the words.
pub(super) fn difficulty(value: Option<&toml::Value>) -> Option<f64> {
    match value? {
        toml::Value::Float(number) => Some(*number).filter(|number| (0.0..=1.0).contains(number)),
        toml::Value::String(word) => of_word(word),
        _ => None,
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
