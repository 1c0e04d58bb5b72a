//! Folders in the public layout, as somebody may upload them.

use std::collections::BTreeMap;

use palestra_sandbox::image::Images;
use palestra_sandbox::pool::Bounds;
use palestra_sandbox::{Allowance, NetworkAllowance};

use super::*;
use crate::terminal::row::{Judge, On, Step};

/// The rows where no operator allows more.
fn rows(files: &BTreeMap<String, UploadedFile>) -> Result<Vec<(String, Row)>, Vec<Fault>> {
    rows_with(files, Allowance::default())
}

fn rows_with(files: &BTreeMap<String, UploadedFile>, allowance: Allowance) -> Result<Vec<(String, Row)>, Vec<Fault>> {
    let bounds = Bounds { sandboxes_max: 0, warm_min: 0 };
    let sandboxes = Sandboxes::allowing(Vec::new(), Images::new(""), BTreeMap::new(), bounds, allowance);
    let (rows, faults) = super::rows(files, &sandboxes);
    if faults.is_empty() { Ok(rows) } else { Err(faults) }
}

fn upload(files: &[(&str, &str)]) -> BTreeMap<String, UploadedFile> {
    let file = |(path, text): &(&str, &str)| {
        ((*path).to_owned(), UploadedFile { mode: 0o644, bytes: text.as_bytes().to_vec() })
    };
    files.iter().map(file).collect()
}

const TOML: &str = r#"
schema_version = "1.4"
artifacts = ["/app/out.txt"]
[task]
name = "org/x"
[metadata]
difficulty = "hard"
anything = { goes = true }
[environment]
cpus = 1
memory_mb = 1024
storage_mb = 10240
network_mode = "no-network"
[environment.env]
MODE = "${MODE:-fast}"
[agent]
timeout_sec = 60.0
[verifier]
timeout_sec = 30
"#;

const DOCKERFILE: &str = r#"
ARG TAG=22.04
FROM ubuntu:${TAG}
ENV APP=/app GREETING="hello there"
WORKDIR $APP
RUN apt-get update && apt-get install -y git && rm -rf /var/lib/apt/lists/*
COPY --chown=1000:1000 data /app/data
COPY *.txt main.sh ./
RUN <<EOF
echo made > made
EOF
USER 1000
EXPOSE 80
CMD ["bash"]
"#;

fn task() -> Vec<(&'static str, &'static str)> {
    vec![
        ("set/x/task.toml", TOML),
        ("set/x/instruction.md", "Do it."),
        ("set/x/environment/Dockerfile", DOCKERFILE),
        ("set/x/environment/data/a/b", "deep"),
        ("set/x/environment/one.txt", "1"),
        ("set/x/environment/main.sh", "echo"),
        ("set/x/tests/test.sh", "echo 1 > /logs/verifier/reward.txt"),
        ("set/x/tests/other.yaml", "not: a task"),
        ("set/x/solution/solve.sh", "true"),
    ]
}

fn with(path: &str, text: &'static str) -> BTreeMap<String, UploadedFile> {
    let mut files = upload(&task());
    files.insert(path.to_owned(), UploadedFile { mode: 0o644, bytes: text.as_bytes().to_vec() });
    files
}

#[test]
fn a_folder_is_read_whole() {
    let rows = rows(&upload(&task())).unwrap_or_else(|faults| panic!("{faults:#?}"));
    let [(split, row)] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((split.as_str(), row.name.as_str(), row.area.as_str()), ("train", "x", "set"));
    assert_eq!((row.difficulty, row.scene.agent_ms), (Some(0.75), Some(60_000)));
    assert_eq!(
        (row.scene.image.as_str(), row.scene.folder.as_str(), row.scene.profile.as_str()),
        ("shell", "/app", "root")
    );
    assert_eq!(row.scene.env["GREETING"], "hello there");
    assert_eq!(row.scene.env["MODE"], "fast");
    assert_eq!(row.scene.user.as_deref(), Some("1000"));
    let steps = &row.scene.layer;
    assert!(matches!(&steps[0], Step::Folder { path, .. } if path == "/app"));
    let place = "set/x/environment/Dockerfile:6";
    assert!(matches!(&steps[1], Step::Packages { names, place: at, .. } if names == &["git"] && at == place));
    assert!(
        matches!(&steps[2], Step::Files { files, user } if files[0].path == "/app/data/a/b" && user == "1000:1000")
    );
    let Step::Files { files, .. } = &steps[3] else { panic!("{steps:?}") };
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["/app/one.txt", "/app/main.sh"]);
    assert!(matches!(&steps[4], Step::Run { argv, folder, .. } if argv[2] == "echo made > made\n" && folder == "/app"));
    let Judge::Script { on, timeout_ms, files, .. } = &row.judge else { panic!("{:?}", row.judge) };
    assert_eq!((on, *timeout_ms, files.len()), (&On::Delta, 30_000, 2));
    assert_eq!(row.solution.as_ref().map(|solution| solution.run.as_str()), Some("/solution/solve.sh"));
}

#[test]
fn a_path_that_is_extended_keeps_that_of_the_image() {
    let path = |text: &'static str| {
        let rows = rows(&with("set/x/environment/Dockerfile", text)).unwrap_or_else(|faults| panic!("{faults:#?}"));
        rows[0].1.scene.env["PATH"].clone()
    };
    let image = palestra_sandbox::image::Definition::shipped("shell").unwrap().env["PATH"].clone();
    assert_eq!(path("FROM ubuntu:22.04\nENV PATH=\"/opt/x/bin:$PATH\"\n"), format!("/opt/x/bin:{image}"));
    assert_eq!(path("FROM ubuntu:22.04\nENV PATH=/a:$PATH\nENV PATH=${PATH}:/b\n"), format!("/a:{image}:/b"));
    assert_eq!(path("FROM ubuntu:22.04\nENV PATH=/only\n"), "/only");
    assert_eq!(path("FROM ubuntu:22.04\nENV PATH=${HOME}/bin\n"), "/root/bin");
}

#[test]
fn unsupported_settings_are_refused_with_their_position() {
    let cases = [
        ("task.toml", "[environment]\nmemory = \"64G\"", "task.toml: environment.memory_mb", "2048 MB"),
        ("task.toml", "[environment]\ncpus = 64", "task.toml: environment.cpus", "2 cores"),
        ("task.toml", "[environment]\ngpus = 1", "task.toml: environment.gpus", "none"),
        ("task.toml", "[environment]\nos = \"windows\"", "task.toml: environment.os", "linux"),
        ("task.toml", "[[steps]]\nname = \"a\"", "task.toml: steps", "several"),
        ("task.toml", "[environment.env]\nKEY = \"${KEY}\"", "task.toml: environment.env.KEY", "host"),
        ("task.toml", "schema_version = \"2.0\"", "task.toml: schema_version", "not known"),
        ("environment/Dockerfile", "FROM debian\nFROM debian", "environment/Dockerfile:2", "second FROM"),
        ("environment/Dockerfile", "FROM registry.example/secret:1", "environment/Dockerfile:1", "stands in"),
        ("environment/Dockerfile", "FROM debian\nCOPY --from=x a b", "environment/Dockerfile:2", "stages"),
        ("environment/Dockerfile", "FROM debian\nCOPY missing b", "environment/Dockerfile:2", "not among"),
        ("environment/Dockerfile", "FROM debian\nCOPY ../solution b", "environment/Dockerfile:2", "not among"),
        ("environment/Dockerfile", "FROM debian\nADD https://x/y z", "environment/Dockerfile:2", "fetch it by RUN"),
        ("environment/Dockerfile", "FROM debian\nRUNN true", "environment/Dockerfile:2", "is no instruction"),
        ("environment/Dockerfile", "FROM debian\nONBUILD RUN x", "environment/Dockerfile:2", "ONBUILD"),
        (
            "task.toml",
            "[[environment.mcp_servers]]\nname = \"web\"",
            "task.toml: environment.mcp_servers",
            "web are not supported",
        ),
        (
            "task.toml",
            "[environment]\nnetwork_mode = \"lan\"",
            "task.toml: environment.network_mode",
            "\"lan\" must be",
        ),
        (
            "environment/docker-compose.yaml",
            "services: {main: {}, db: {}}",
            "environment/docker-compose.yaml",
            "several services (db, main)",
        ),
    ];
    for (path, text, place, words) in cases {
        let faults = rows(&with(&format!("set/x/{path}"), text)).expect_err(text);
        let reported = faults.iter().find(|fault| fault.place == format!("set/x/{place}"));
        assert!(reported.is_some_and(|fault| fault.detail.contains(words)), "{text}: {faults:#?}");
    }
    let mut files = upload(&task());
    files.remove("set/x/tests/test.sh");
    files.remove("set/x/instruction.md");
    assert_eq!(rows(&files).expect_err("missing").len(), 2);
    assert!(rows(&BTreeMap::new()).is_err());
}

#[test]
fn fields_that_the_layout_does_not_have_are_notes() {
    let toml = "tags = [\"a\"]\n[verifier]\ntimeout = 900\n[environment.runtime]\nkind = \"x\"";
    let read = rows(&with("set/x/task.toml", toml)).expect("read");
    let notes = read[0].1.notes.join("\n");
    for field in ["tags", "verifier.timeout", "environment.runtime"] {
        assert!(notes.contains(&format!("set/x/task.toml: {field} is no field of the layout")), "{notes}");
    }
    let faults = rows(&with("set/x/task.toml", "[verifier]\ntimeout_sec = \"long\"")).expect_err("a text");
    assert!(faults[0].detail.contains("line 2, column 15"), "{faults:#?}");
}

#[test]
fn what_the_template_asks_for_is_no_fault() {
    let toml = "[environment]\nallow_internet = true\nstorage_mb = 10240\nmcp_servers = []\ngpus = 0\n\
                [verifier]\nnetwork_mode = \"allowlist\"";
    let read = rows(&with("set/x/task.toml", toml)).expect("read");
    let row = &read[0].1;
    assert!(row.scene.demand.network && row.scene.demand.disk_bytes.is_none(), "{:?}", row.scene.demand);
    let notes = row.notes.join("\n");
    for words in [
        "set/x/task.toml: environment.allow_internet asks for a network",
        "verifier.network_mode asks for some hosts",
        "environment.storage_mb asks for 10240 MB",
    ] {
        assert!(notes.contains(words), "{notes}");
    }
    let allowance = Allowance {
        network: NetworkAllowance::All,
        disk_bytes_max: Some(20 << 30),
        memory_bytes_max: Some(8 << 30),
        ..Allowance::default()
    };
    let toml = "[environment]\nallow_internet = true\nstorage_mb = 10240\nmemory = \"4G\"";
    let read = rows_with(&with("set/x/task.toml", toml), allowance).expect("read");
    let row = &read[0].1;
    assert_eq!((row.scene.demand.disk_bytes, row.scene.demand.memory_bytes), (Some(10 << 30), Some(4 << 30)));
    let more: Vec<&String> = row.notes.iter().filter(|note| !note.contains("stands in")).collect();
    assert_eq!(more, Vec::<&String>::new());
}

#[test]
fn a_folder_without_a_solution_is_unproven() {
    let mut files = upload(&task());
    files.remove("set/x/solution/solve.sh");
    let read = rows(&files).expect("read");
    assert!(read[0].1.is_unproven());
    assert!(read[0].1.notes.iter().any(|note| note.contains("solution/solve.sh: is missing: the task is unproven")));
}

#[test]
fn what_is_collected_and_left_out_is_read() {
    let toml = "artifacts = [{source = \"/app\", exclude = [\"*.log\"], service = \"main\"}]\n\
                [verifier]\nenvironment_mode = \"separate\"\n\
                collect = [{command = \"dump > /app/db\", user = \"root\"}]\n\
                [environment.healthcheck]\ncommand = \"true\"\nretries = 2";
    let read = rows(&with("set/x/task.toml", toml)).expect("read");
    let row = &read[0].1;
    let Judge::Script { on: On::Artefacts { except, .. }, collect, .. } = &row.judge else { panic!("{row:?}") };
    assert_eq!(except, &["*.log"]);
    assert_eq!((collect[0].command.as_str(), collect[0].user.as_deref()), ("dump > /app/db", Some("root")));
    assert!(row.scene.run.as_deref().is_some_and(|script| script.contains("seq 2")));
}

#[test]
fn a_task_may_say_that_it_needs_no_network() {
    let toml = "[metadata]\noffline = true\n[environment]\nnetwork_mode = \"public\"";
    assert_eq!(rows(&with("set/x/task.toml", toml)).map(|rows| rows.len()), Ok(1));
    assert_eq!(rows(&with("set/x/task.toml", "")).map(|rows| rows.len()), Ok(1), "naming no mode asks for nothing");
}

#[test]
fn separate_judges_have_a_scene_of_their_own() {
    let toml = "artifacts = [\"out\"]\n[verifier]\nenvironment_mode = \"separate\"";
    let mut files = with("set/x/task.toml", toml);
    let read = rows(&files).expect("read");
    let Judge::Script { on: On::Artefacts { paths, scene, .. }, files: tests, .. } = &read[0].1.judge else {
        panic!("{read:?}")
    };
    assert_eq!(paths, &["/app/out", "/logs/artifacts"]);
    assert_eq!((scene.image.as_str(), tests.len()), ("shell", 2));
    let dockerfile = "FROM python:3.12\nCOPY . /tests";
    files.insert(
        "set/x/tests/Dockerfile".to_owned(),
        UploadedFile { mode: 0o644, bytes: dockerfile.as_bytes().to_vec() },
    );
    let read = rows(&files).expect("read");
    let Judge::Script { on: On::Artefacts { scene, .. }, files: tests, .. } = &read[0].1.judge else {
        panic!("{read:?}")
    };
    assert_eq!((scene.image.as_str(), tests.len()), ("python", 0));
    let toml = "[verifier]\nenvironment_mode = \"in_place\"";
    let read = rows(&with("set/x/task.toml", toml)).expect("read");
    assert!(matches!(&read[0].1.judge, Judge::Script { on: On::Place, .. }));
}

#[test]
fn older_folders_are_read_too() {
    let files = upload(&[
        ("old/task.yaml", "instruction: Do it.\ndifficulty: easy\nparser_name: pytest\nauthor_name: nobody\n"),
        ("old/Dockerfile", "FROM ubuntu:24.04\nWORKDIR /app\n"),
        ("old/docker-compose.yaml", "services: {client: {build: .}}"),
        ("old/run-tests.sh", "pytest $TEST_DIR/test_outputs.py"),
        ("old/tests/test_outputs.py", "def test(): pass"),
        ("old/solution.sh", "true"),
    ]);
    let read = rows(&files).unwrap_or_else(|faults| panic!("{faults:#?}"));
    assert_eq!((read[0].1.name.as_str(), read[0].1.difficulty), ("old", Some(0.25)));
    let alone = files.iter().filter_map(|(path, file)| Some((path.strip_prefix("old/")?.to_owned(), file.clone())));
    assert_eq!(rows(&alone.collect()).expect("published by itself")[0].1.name, "task");
    let Judge::Script { files, .. } = &read[0].1.judge else { panic!("{read:?}") };
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["/tests/test_outputs.py", "/tests/run-tests.sh", "/tests/test.sh"]);
}

#[test]
fn a_folder_that_lost_its_file_of_settings_is_told() {
    let mut files = upload(&task());
    files.insert("set/y/instruction.md".to_owned(), UploadedFile { mode: 0o644, bytes: b"Do it.".to_vec() });
    let faults = rows(&files).expect_err("a fault");
    let told: Vec<String> = faults.iter().map(|fault| format!("{}: {}", fault.place, fault.detail)).collect();
    assert_eq!(told, ["set/y/task.toml: is missing: add it"]);
}

#[test]
fn inline_tasks_lie_beside_folders() {
    let mut files = upload(&task());
    let inline = "instruction: x\nartefacts: [a]\nchecks: [{name: a, file: a, exists: true}]\n";
    files.insert("files/a.yaml".to_owned(), UploadedFile { mode: 0o644, bytes: inline.as_bytes().to_vec() });
    assert_eq!(rows(&files).map(|rows| rows.len()), Ok(2));
}

#[test]
fn metadata_that_counts_is_held_to_its_values() {
    for (metadata, place) in [
        ("floor = \"0.25\"", "metadata.floor: must be a number"),
        ("ceiling = true", "metadata.ceiling: must be a number"),
        ("split = \"trian\"", "metadata.split: must be one of train, validation, test"),
        ("split = 1", "metadata.split: must be one of train, validation, test"),
    ] {
        let mut files = upload(&task());
        let toml = TOML.replace("difficulty = \"hard\"", metadata);
        files.insert("set/x/task.toml".to_owned(), UploadedFile { mode: 0o644, bytes: toml.into_bytes() });
        let faults = rows(&files).unwrap_err();
        let told: Vec<String> = faults.iter().map(|fault| format!("{}: {}", fault.place, fault.detail)).collect();
        assert_eq!(told, [format!("set/x/task.toml: {place}")], "{metadata}");
    }
    let mut files = upload(&task());
    let toml = TOML.replace("\"hard\"", "7").into_bytes();
    files.insert("set/x/task.toml".to_owned(), UploadedFile { mode: 0o644, bytes: toml });
    let (_, row) = rows(&files).unwrap().remove(0);
    assert!(row.difficulty.is_none());
    assert!(row.notes.iter().any(|note| note.contains("metadata.difficulty is neither")), "{:?}", row.notes);
}

#[test]
fn scripts_and_texts_that_cannot_be_used_are_named() {
    for (path, text, detail) in [
        ("set/x/instruction.md", " \n", "has no text"),
        ("set/x/tests/test.sh", "#!/bin/bash\r\necho 1\r\n", "its lines end with CRLF"),
        ("set/x/solution/solve.sh", "#!/bin/bash\r\ntrue\r\n", "its lines end with CRLF"),
    ] {
        let faults = rows(&with(path, text)).unwrap_err();
        assert!(faults.len() == 1 && faults[0].place == path && faults[0].detail.starts_with(detail), "{faults:?}");
    }
    let mut files = upload(&task());
    files.insert("set/x/instruction.md".to_owned(), UploadedFile { mode: 0o644, bytes: vec![b'a', 0xe9] });
    assert!(rows(&files).unwrap_err()[0].detail.starts_with("must be text in UTF-8"));
}

#[test]
fn the_image_that_stands_in_is_noted_and_python_installs_as_in_its_own() {
    let dockerfile = "FROM python:3.12-slim\nWORKDIR /app\n";
    let (_, row) = rows(&with("set/x/environment/Dockerfile", dockerfile)).unwrap().remove(0);
    let note =
        "set/x/environment/Dockerfile: FROM python:3.12-slim: the image \"python\" stands in: Debian's Python 3.11";
    assert!(row.notes.iter().any(|told| told.starts_with(note)), "{:?}", row.notes);
    assert_eq!(row.scene.env.get("PIP_BREAK_SYSTEM_PACKAGES").map(String::as_str), Some("1"));
    let (_, row) = rows(&upload(&task())).unwrap().remove(0);
    assert!(!row.scene.env.contains_key("PIP_BREAK_SYSTEM_PACKAGES"), "Ubuntu's own refuses too");
}
