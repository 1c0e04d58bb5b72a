//! Tasks written in YAML, one file each, or as JSON Lines.

use std::collections::BTreeMap;

use palestra_protocol::environment::ScoreRange;
use palestra_sandbox::image::is_name;
use serde::{Deserialize, Serialize};

use super::row::{Judge, Row, SPLITS, Scene, Solution, StoredFile};
use super::{hidden, secrets};
use crate::checks::CheckForm;
use crate::checks::form::resolved;
use crate::work::Fault;

/// A task as it is written.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Inline {
    /// Only where no file name says it.
    #[serde(default)]
    name: Option<String>,
    instruction: String,
    #[serde(default)]
    difficulty: Option<f64>,
    /// Most that doing nothing scores; 0 where left out.
    #[serde(default)]
    floor: Option<f64>,
    /// Least that the solution scores; 1 where left out.
    #[serde(default)]
    ceiling: Option<f64>,
    #[serde(default = "train")]
    split: String,
    #[serde(default = "shell")]
    image: String,
    #[serde(default = "terminal")]
    profile: String,
    #[serde(default = "work")]
    folder: String,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    secrets: BTreeMap<String, String>,
    #[serde(default)]
    setup: Setup,
    #[serde(default)]
    timeout_s: Option<u64>,
    #[serde(default)]
    artefacts: Vec<String>,
    #[serde(default)]
    judge: JudgePart,
    checks: Vec<CheckForm>,
    #[serde(default)]
    solution: Option<String>,
    /// Answer that the solution submits.
    #[serde(default)]
    answer: Option<String>,
    #[serde(default)]
    cheats: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct Setup {
    files: Vec<StoredFile>,
    run: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct JudgePart {
    image: Option<String>,
    files: Vec<StoredFile>,
}

fn train() -> String {
    "train".to_owned()
}

fn shell() -> String {
    "shell".to_owned()
}

fn terminal() -> String {
    "terminal".to_owned()
}

fn work() -> String {
    "/home/agent/work".to_owned()
}

/// Reads a YAML file.
///
/// # Errors
/// Every fault, with its place.
pub(crate) fn yaml(text: &str, path: &str) -> Result<(String, Row), Vec<Fault>> {
    let inline: Inline = palestra_yaml::read(text).map_err(|error| {
        let place = match error.place {
            Some((line, column)) => format!("{path}:{line}:{column}"),
            None => path.to_owned(),
        };
        vec![Fault { place, detail: error.detail }]
    })?;
    row(inline, path)
}

/// Reads JSON Lines.
///
/// # Errors
/// Every fault, with its line.
pub(super) fn lines(text: &str) -> Result<Vec<(String, Row)>, Vec<Fault>> {
    let mut rows = Vec::new();
    let mut faults = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = format!("line {}", index + 1);
        let read = palestra_state::json::from_str::<Inline>(line)
            .map_err(|error| vec![Fault { place: place.clone(), detail: error.to_string() }])
            .and_then(|inline| row(inline, &place));
        match read {
            Ok(row) => rows.push(row),
            Err(more) => faults.extend(more),
        }
    }
    if faults.is_empty() { Ok(rows) } else { Err(faults) }
}

fn row(inline: Inline, path: &str) -> Result<(String, Row), Vec<Fault>> {
    let mut faults = Vec::new();
    let mut fault = |field: &str, detail: String| faults.push(Fault { place: format!("{path}: {field}"), detail });

    let (area, stem) = match path.rsplit_once('/') {
        Some((area, file)) => (area.rsplit('/').next().unwrap_or(area), file),
        None => ("", path),
    };
    let stem = stem.strip_suffix(".yaml").or_else(|| stem.strip_suffix(".yml"));
    let name = inline.name.clone().or_else(|| stem.map(str::to_owned)).unwrap_or_default();
    if name.is_empty() {
        fault("name", "is missing: add it".to_owned());
    }
    if inline.instruction.trim().is_empty() {
        fault("instruction", "must not be empty".to_owned());
    }
    if inline.difficulty.is_some_and(|difficulty| !(0.0..=1.0).contains(&difficulty)) {
        fault("difficulty", "must be from 0 to 1".to_owned());
    }
    let score_range = ScoreRange::declared(inline.floor, inline.ceiling).unwrap_or_else(|why| {
        fault("floor", why);
        None
    });
    if !SPLITS.contains(&inline.split.as_str()) {
        fault("split", format!("{:?} must be one of {}", inline.split, SPLITS.join(", ")));
    }
    for (field, image) in [("image", Some(&inline.image)), ("judge.image", inline.judge.image.as_ref())] {
        if let Some(image) = image
            && !is_name(image)
        {
            fault(field, format!("{image:?} must be the name of an image, as `palestra images list` shows it"));
        }
    }
    if !["terminal", "root"].contains(&inline.profile.as_str()) {
        fault("profile", format!("{:?} must be terminal or root", inline.profile));
    }
    if !inline.folder.starts_with('/') || resolved("/", &inline.folder) != inline.folder {
        fault("folder", format!("{:?} must be an absolute path without .. and trailing /", inline.folder));
    }
    for (name, pattern) in &inline.secrets {
        if let Some(detail) = secrets::fault(name, pattern) {
            fault(&format!("secrets.{name}"), detail);
        }
        if inline.instruction.contains(&format!("${{{name}}}")) {
            fault(
                "instruction",
                format!("tells the secret {name:?}, which differs from session to session: leave it out"),
            );
        }
    }
    for detail in hidden::unused(&inline.secrets, &inline.setup.files, inline.setup.run.as_deref()) {
        fault("secrets", detail);
    }
    for (place, files) in [("setup.files", &inline.setup.files), ("judge.files", &inline.judge.files)] {
        for (index, file) in files.iter().enumerate() {
            if file.path.is_empty() || file.path.split('/').any(|part| part == "..") {
                fault(&format!("{place}[{index}].path"), format!("{:?} must be a path without ..", file.path));
            }
            if let Err(detail) = file.bytes() {
                fault(&format!("{place}[{index}]"), detail);
            }
        }
    }
    for (index, file) in inline.judge.files.iter().enumerate() {
        if !file.path.starts_with("/judge/") {
            fault(&format!("judge.files[{index}].path"), "must be below /judge/".to_owned());
        }
    }
    if !inline.judge.files.is_empty() && !inline.checks.iter().any(CheckForm::has_driver) {
        fault(
            "judge.files",
            "are for drivers, and no check is one: leave them out, what `run` starts may read nothing of the judge's"
                .to_owned(),
        );
    }
    let artefacts: Vec<String> = inline.artefacts.iter().map(|path| resolved(&inline.folder, path)).collect();
    if artefacts.is_empty() && !inline.checks.iter().all(|check| check.answer.is_some()) {
        fault("artefacts", "name what is taken when judging begins".to_owned());
    }
    for (index, artefact) in artefacts.iter().enumerate() {
        if ["/", "/home", "/judge", "/proc", "/dev", "/tmp"].contains(&artefact.as_str()) {
            fault(&format!("artefacts[{index}]"), format!("{artefact} is too much: take less"));
        }
    }
    if inline.checks.is_empty() {
        fault("checks", "are missing: add them".to_owned());
    }
    for (index, check) in inline.checks.iter().enumerate() {
        let place = format!("checks[{index}]");
        if check.name.is_empty() {
            fault(&place, "name is missing: add it".to_owned());
        } else if inline.checks[..index].iter().any(|other| other.name == check.name) {
            fault(&place, format!("the name {:?} is there twice: rename one", check.name));
        }
        for detail in check.faults() {
            fault(&place, detail);
        }
        for file in check.files() {
            let path = resolved(&inline.folder, file);
            let taken = artefacts.iter().any(|taken| path == *taken || path.starts_with(&format!("{taken}/")));
            if !taken {
                fault(&place, format!("{file:?} is among no artefacts: add it there"));
            }
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }

    let files =
        inline.setup.files.into_iter().map(|file| StoredFile { path: resolved(&inline.folder, &file.path), ..file });
    let scene = Scene {
        image: inline.image.clone(),
        profile: inline.profile,
        folder: inline.folder.clone(),
        env: inline.env,
        secrets: inline.secrets,
        files: files.collect(),
        run: inline.setup.run,
        agent_ms: inline.timeout_s.map(|seconds| seconds.saturating_mul(1_000)),
        ..Scene::default()
    };
    let judge = Judge::Checks {
        image: inline.judge.image.unwrap_or(inline.image),
        files: inline.judge.files,
        artefacts,
        checks: inline.checks,
    };
    let solution = (inline.solution.is_some() || inline.answer.is_some()).then(|| Solution {
        files: Vec::new(),
        run: inline.solution.unwrap_or_default(),
        answer: inline.answer,
    });
    let row = Row {
        name,
        area: area.to_owned(),
        instruction: inline.instruction,
        difficulty: inline.difficulty,
        score_range,
        scene,
        judge,
        solution,
        cheats: inline.cheats,
        notes: Vec::new(),
        trusted: false,
    };
    Ok((inline.split, row))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str = r#"
instruction: Sort it.
difficulty: 0.3
secrets: {flag: "flag{%hex16%}"}
setup:
  files:
    - {path: in.txt, text: "b ${flag}\na\n", mode: 0o600}
artefacts: [out.txt]
checks:
  - {name: sorted, file: out.txt, contains: "${flag}"}
  - {name: runs, run: "cat out.txt", code: null, stdout: {lines: [a], unordered: true}}
solution: sort in.txt > out.txt
cheats: {touch: touch out.txt}
"#;

    #[test]
    fn a_task_is_read_with_its_defaults() {
        let (split, row) = yaml(TASK, "files/sort.yaml").expect("a task");
        assert_eq!((split.as_str(), row.name.as_str(), row.area.as_str()), ("train", "sort", "files"));
        assert_eq!(row.scene.files[0].path, "/home/agent/work/in.txt");
        assert_eq!(row.scene.files[0].mode(), 0o600);
        let Judge::Checks { image, artefacts, checks, .. } = &row.judge else { panic!("{:?}", row.judge) };
        assert_eq!(
            (image.as_str(), artefacts.as_slice()),
            ("shell", ["/home/agent/work/out.txt".to_owned()].as_slice())
        );
        assert_eq!(checks[1].code, Some(None));
        let stored = serde_json::to_value(&row).expect("JSON");
        assert_eq!(Row::read(&stored).expect("read"), row);
    }

    #[test]
    fn every_fault_is_told_with_its_place() {
        let wrong = TASK
            .replace("difficulty: 0.3", "difficulty: 3\nfloor: 0.5\nceiling: 0.5")
            .replace("artefacts: [out.txt]", "artefacts: [other.txt]")
            .replace("code: null", "equals: x")
            .replace("%hex16%", "%hex%");
        let faults = yaml(&wrong, "files/sort.yaml").expect_err("wrong");
        let places: Vec<&str> = faults.iter().map(|fault| fault.place.as_str()).collect();
        for place in ["difficulty", "floor", "checks[0]", "checks[1]", "secrets.flag"] {
            assert!(places.contains(&format!("files/sort.yaml: {place}").as_str()), "{place} in {faults:?}");
        }
        let faults = yaml(&TASK.replace("cheats:", "cheets:"), "a/b.yaml").expect_err("wrong");
        assert!(faults[0].place.starts_with("a/b.yaml:") && faults[0].detail.contains("cheets"), "{faults:?}");
    }

    #[test]
    fn json_lines_carry_their_names() {
        let (_, row) = yaml(TASK, "x.yaml").expect("a task");
        let Judge::Checks { checks, .. } = row.judge else { panic!("checks") };
        let line = serde_json::json!({"name": "n", "instruction": "x", "artefacts": ["out.txt"], "checks": checks});
        assert_eq!(lines(&format!("{line}\n\n")).expect("read")[0].1.name, "n");
        let faults = lines(&format!("{line}\n{{}}\n")).expect_err("wrong");
        assert_eq!(faults[0].place, "line 2");
    }
}
