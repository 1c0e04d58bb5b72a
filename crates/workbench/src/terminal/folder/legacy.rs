//! Folders of the first Terminal-Bench: `task.yaml`, `Dockerfile`, `run-tests.sh`, `tests/`, `solution.sh`. Their tests write no
//! reward: what `run-tests.sh` returns is it, as it returns what pytest returned.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Folder, UNNAMED, build, provision, public};
use crate::terminal::row::{Judge, On, Row, Solution, StoredFile};
use crate::work::Fault;

/// `task.yaml`. Fields that do not concern an episode are passed over.
#[derive(Debug, Deserialize)]
struct Task {
    instruction: String,
    #[serde(default)]
    difficulty: Option<String>,
    #[serde(default)]
    parser_name: Option<String>,
    #[serde(default)]
    max_agent_timeout_sec: Option<f64>,
    #[serde(default)]
    max_test_timeout_sec: Option<f64>,
    #[serde(default)]
    run_tests_in_same_shell: bool,
}

/// Script that turns the return code into a reward.
const REWARD: &str = "#!/bin/bash
export TEST_DIR=/tests
bash /tests/run-tests.sh
if [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi
";

/// Reads a folder.
///
/// # Errors
/// Every fault.
pub(super) fn row(folder: &Folder<'_>) -> Result<(String, Row), Vec<Fault>> {
    let mut faults: Vec<Fault> = folder.size_fault().into_iter().collect();
    let task = folder
        .text("task.yaml")
        .and_then(|text| palestra_yaml::read::<Task>(text).map_err(|error| folder.fault("task.yaml", error.detail)));
    let task = match task {
        Ok(task) => task,
        Err(fault) => return Err(vec![fault]),
    };
    if let Some(parser) = task.parser_name.as_ref().filter(|parser| *parser != "pytest") {
        let why = format!("{parser:?} must be pytest, other tests are not supported");
        faults.push(folder.fault("task.yaml: parser_name", why));
    }
    if task.run_tests_in_same_shell {
        faults.push(folder.fault(
            "task.yaml: run_tests_in_same_shell",
            "true is not supported, since tests run apart from the shell: leave it out",
        ));
    }
    let service = public::service(folder, "", &mut faults);
    let mut notes = Vec::new();
    let mut scene = build::scene(folder, "Dockerfile", "", &mut faults, &mut notes);
    scene.env.extend(service.env);
    scene.env.entry("PYTHONDONTWRITEBYTECODE".to_owned()).or_insert_with(|| "1".to_owned());
    scene.agent_ms = task.max_agent_timeout_sec.map(|seconds| (seconds * 1_000.0) as u64);
    let mut files = folder.stored("tests", "/tests");
    match folder.files.get("run-tests.sh") {
        Some(script) => files.push(StoredFile::of("/tests/run-tests.sh", script.mode, &script.bytes)),
        None => faults.push(folder.fault("run-tests.sh", "is missing: add it")),
    }
    files.push(StoredFile::of("/tests/test.sh", 0o755, REWARD.as_bytes()));
    if !faults.is_empty() {
        return Err(faults);
    }
    let solution = folder.files.get("solution.sh").map(|script| Solution {
        files: vec![StoredFile::of("/solution/solution.sh", 0o755, &script.bytes)],
        run: "bash /solution/solution.sh".to_owned(),
        answer: None,
    });
    let script = folder.text("run-tests.sh").unwrap_or_default();
    let provision = provision::steps(script, &folder.place("run-tests.sh"));
    notes.extend(solution.is_none().then(|| folder.note("solution.sh", public::UNPROVEN)));
    let (name, area) = folder.names();
    let name = if name.is_empty() { UNNAMED } else { name };
    let row = Row {
        name: name.to_owned(),
        area: area.to_owned(),
        instruction: task.instruction,
        difficulty: task.difficulty.as_deref().and_then(public::of_word),
        score_range: None,
        scene,
        judge: Judge::Script {
            on: On::Delta,
            files,
            provision,
            collect: Vec::new(),
            network: None,
            user: None,
            env: BTreeMap::new(),
            timeout_ms: (task.max_test_timeout_sec.unwrap_or(600.0) * 1_000.0) as u64,
        },
        solution,
        cheats: BTreeMap::new(),
        notes,
        trusted: false,
    };
    Ok(("train".to_owned(), row))
}
