//! Terminals whose artefacts are judged by checks: an ordinary user breaks its own place.

use palestra_state::secrets::Secrets;
use palestra_workbench::terminal::Terminal;
use palestra_workbench::work::{Input, Observation, Upload, Work as _};
use serde_json::{Value, json};

use crate::workbench::{self, SEGMENTS, Way, exec, open, terminal, try_everywhere, way};

/// A task that asks for nothing much.
const PLAIN: &str = r#"
name: plain
image: IMAGE
instruction: Write it.
setup:
  files: [{path: in.txt, text: "b\na\n"}]
artefacts: [out.txt, tool.sh]
checks:
  - {name: out, file: out.txt, equals: "a\nb\n"}
  - {name: tool, weight: 3, run: "sh tool.sh", input: "3\n1\n2\n", timeout_ms: 2000, stdout: {lines: ["1", "2", "3"]}}
solution: |
  sort in.txt > out.txt
  echo sort > tool.sh
"#;

pub(crate) fn row(image: &str) -> Value {
    let yaml = PLAIN.replace("IMAGE", image);
    let rows = Terminal::new().rows(&Upload::Text(yaml)).unwrap_or_else(|faults| panic!("{faults:#?}"));
    rows.into_iter().next().expect("a row").1
}

fn ways() -> Vec<Way> {
    let solved = "sort in.txt > out.txt; echo sort > tool.sh";
    vec![
        way("its folder removed", &["cd /; rm -rf /home/agent/work"]),
        way("its folder a file", &["cd /; rm -rf /home/agent/work; echo x > /home/agent/work"]),
        way("its folder a link", &["cd /; rm -rf /home/agent/work; ln -s / /home/agent/work"]),
        way("its folder closed", &["cd /; chmod 000 /home/agent/work /home/agent"]),
        way("everything killed", &["kill -9 -1; kill -9 1", "echo again"]),
        way("the terminal closed", &["exec 0<&- 1>&- 2>&-", "echo again"]).endless(),
        way("the shell replaced", &["exec sleep 1000", "echo again"]).endless(),
        way("the shell stopped", &["kill -STOP $$", "echo again"]).endless(),
        way("pipes and endless tools", &["mkfifo out.txt; printf 'while :; do :; done' > tool.sh"]),
        way("memory for good", &[SEGMENTS, SEGMENTS, SEGMENTS, "true", "true"]),
        way("its disk full", &["head -c 400M /dev/zero > big; echo x > out.txt"]),
        way("its files used up", &["mkdir x; cd x; seq 25000 | xargs touch; cd ..; echo x > out.txt"]),
        way("its processes used up", &["for i in $(seq 200); do sleep 1000 & done 2>/dev/null", "echo x > out.txt"]),
        way("a fork bomb", &["perl -e 'while (1) { fork }' & sleep 1", "echo x > out.txt"]),
        way(
            "a folder without end",
            &["for i in $(seq 400); do mkdir ddddddddddddddddddddddddd; cd ddddddddddddddddddddddddd; done", "exit"],
        ),
        way("solved, and then everything killed", &[solved, "kill -9 -1"]).scores(1.0),
        way("solved, and then no shell", &[solved, "exec 0<&-; exit", "exec sleep 1000"]).endless().scores(1.0),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ordinary_user_breaks_its_own_place() {
    try_everywhere(terminal, &row("shell"), "shell", "terminal", ways).await;
}

/// Uploads until the episode is over, a few times at most; what was seen last.
async fn until_over(workspace: &mut dyn palestra_workbench::work::Workspace) -> Observation {
    let arguments = json!({"path": "big", "text": "x".repeat(12 << 20)});
    let arguments = arguments.as_object().expect("arguments");
    let mut last = Observation::default();
    for _ in 0..6 {
        last = workspace.act(Input::Call { tool: "upload", arguments }).await.expect("the acting side's own doing");
        if last.terminated {
            return last;
        }
        last = exec(workspace, SEGMENTS).await.expect("the acting side's own doing");
        if last.terminated {
            return last;
        }
    }
    last
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sandbox_that_ran_out_of_its_own_memory_ends_the_episode_with_a_zero() {
    let mut desks = vec![(workbench::local(), "host")];
    desks.extend(workbench::all(&["shell"], "memory").await.into_iter().map(|test| (test, "shell")));
    for (test, image) in desks {
        let (work, row) = (terminal(), row(image));
        let mut workspace = open(&work, &row, &test.workbench, "memory").await;
        exec(&mut *workspace, SEGMENTS).await.expect("alive");
        // What is uploaded lies in the memory of the program that serves the sandbox, until the kernel has nothing else to end.
        let last = until_over(&mut *workspace).await;
        println!("{}: {}", test.workbench.sandboxes.backends()[0].name(), last.text);
        assert!(last.terminated, "the sandbox stands: {}", last.text);
        assert!(last.text.contains("its own limit of memory ended it"), "{}", last.text);
        assert!(exec(&mut *workspace, "true").await.expect("over").terminated);
        let evidence = workspace.evidence().await.expect("evidence");
        assert!(evidence["broken"]["control"].as_str().is_some_and(|control| control.contains("untouched")));
        let judgement = palestra_workbench::blame::judge(&*work, &row, Secrets::Seed(7), &evidence, &test.workbench)
            .await
            .expect("scored");
        assert_eq!((judgement.score(), judgement.trainable), (0.0, true), "{judgement:?}");
        assert!(workspace.fork("none").await.expect("asked").is_none());
        workspace.close().await;
        assert_eq!(test.workbench.sandboxes.open(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shell_that_cannot_be_started_is_something_to_read() {
    for test in workbench::all(&["shell"], "shell").await {
        let (work, row) = (terminal(), workbench::folder_row(&[]));
        let mut workspace = open(&work, &row, &test.workbench, "shell").await;
        exec(&mut *workspace, "cp /bin/bash /app/kept; rm -f /bin/bash /usr/bin/bash").await.expect("alive");
        for command in ["exit", "echo again"] {
            let seen = exec(&mut *workspace, command).await.expect("alive");
            assert!(seen.text.contains("no shell can be started") && !seen.terminated, "{}", seen.text);
        }
        let snapshot = workspace.snapshot().await.expect("taken");
        let mut copy = workspace.fork("copy").await.expect("forked").expect("a copy");
        assert!(exec(&mut *copy, "echo again").await.expect("alive").text.contains("no shell can be started"));
        let from = palestra_workbench::work::Opening { from: snapshot, ..workbench::opening("restored") };
        let restored = palestra_workbench::blame::open(work.clone(), row.clone().into(), &from, &test.workbench).await;
        let mut restored = restored.expect("restored");
        assert!(restored.observe().await.expect("seen").text.contains("no shell can be started"));
        // Whoever puts the program back goes on.
        let arguments = json!({"path": "/bin/bash", "text": "#!/bin/sh\nexec /app/kept \"$@\"\n", "mode": 0o755});
        let arguments = arguments.as_object().expect("arguments");
        let call = Input::Call { tool: "upload", arguments };
        let uploaded = workspace.act(call).await.expect("alive");
        assert!(uploaded.text.contains("were written"), "{}", uploaded.text);
        exec(&mut *workspace, "echo again").await.expect("alive");
        assert_eq!(exec(&mut *workspace, "echo again").await.expect("alive").text, "again\n");
        for mut workspace in [workspace, copy, restored] {
            workspace.close().await;
        }
    }
}
