//! Folders in the public layout: the acting side is root in its place, and all that it changed is judged.

use palestra_workbench::work::{From, JudgeError};

use crate::workbench::{self, Way, folder_row, play, terminal, try_everywhere, way};

const FAILED: &str = "over the untouched beginning the judge works";

/// Makes empty files whose paths take up 40 MB together.
const LONG_PATHS: &str = "name=$(printf 'n%.0s' $(seq 250)); for i in $(seq 7); do mkdir $name; cd $name; done; \
    seq -f '%0250.0f' 20000 | xargs touch";

fn ways() -> Vec<Way> {
    let solved = "tr a-z A-Z < names.txt > out.txt";
    vec![
        way("its folder removed", &["cd /; rm -rf /app"]),
        way("its folder a file", &["cd /; rm -rf /app; echo x > /app"]).reason(FAILED),
        way("its folder a link", &["cd /; rm -rf /app; ln -s /tmp /app"]),
        way("its folder a link to nowhere", &["cd /; rm -rf /app; ln -s /nowhere /app"]).reason(FAILED),
        way("everything killed", &["kill -9 -1; kill -9 1"]),
        way("the shell removed", &[solved, "rm -f /bin/bash /usr/bin/bash"]).reason(FAILED),
        way("the shell removed, and left", &["rm -f /bin/bash /usr/bin/bash; exit", "echo again"]).reason(FAILED),
        way("another program for the shell", &["cp /bin/true /tmp/t; mv /tmp/t /bin/bash"]).reason(FAILED),
        way(
            "a shell that hangs",
            &["printf '#!/bin/sh\\nsleep 1000\\n' > /tmp/b; chmod 755 /tmp/b; mv /tmp/b /bin/bash"],
        )
        .reason("it took too long"),
        way("/usr removed", &["rm -rf /usr/bin /usr/lib"]).reason(FAILED),
        way("/usr moved", &["mv /usr /elsewhere"]).reason(FAILED),
        way("everything removed", &["rm -rf --no-preserve-root / 2>/dev/null"]).reason(FAILED),
        way("the loader broken", &["for f in /lib64/ld-* /lib/ld-*; do cat /dev/null > $f; done"]).reason(FAILED),
        way("programs closed", &["chmod 000 /usr/bin/bash"]),
        way("the root closed", &["chmod 000 / /app /tmp"]),
        way("pipes for files", &["rm names.txt; mkfifo out.txt names.txt"]),
        way("what the judge needs stands in the way", &["rm -rf /logs /tests; echo x > /logs; echo x > /tests"]),
        way("too much", &["head -c 400M /dev/urandom > /app/big"]),
        way("paths too long for any list", &[solved, LONG_PATHS]).reason("paths of more than 32 MiB"),
        way("solved, with a shell that tells lies", &[solved, "echo 'exit 1' >> ~/.bashrc; kill -9 -1"]).scores(1.0),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn root_breaks_its_own_place() {
    try_everywhere(terminal, &folder_row(&[]), "shell", "folders", ways).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_that_is_judged_where_it_stands_is_broken() {
    let row = folder_row(&[("x/task.toml", "[verifier]\ntimeout_sec = 5.0\nenvironment_mode = \"in_place\"\n")]);
    let ways = || {
        vec![
            way("the shell removed", &["rm -f /bin/bash /usr/bin/bash"]).reason(FAILED),
            way("tests that never end", &["rm names.txt; mkfifo out.txt names.txt"]).reason(FAILED),
        ]
    };
    try_everywhere(terminal, &row, "shell", "in-place", ways).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_zero_for_a_broken_place_can_be_learnt_from_and_a_broken_judge_is_no_score() {
    for test in workbench::all(&["shell"], "learnt").await {
        let calls = way("", &["rm -f /bin/bash /usr/bin/bash"]).calls;
        let judgement = play(&terminal(), &folder_row(&[]), &test.workbench, "learnt", &calls).await.expect("scored");
        assert_eq!((judgement.score(), judgement.trainable, judgement.from), (0.0, true, From::FreshDelta));
        for reason in ["run 1", "control 1", "run 2", "control 2", "bash"] {
            assert!(judgement.checks[0].evidence.contains(reason), "{reason}: {judgement:?}");
        }
        let broken = folder_row(&[("x/tests/test.sh", "exit 1")]);
        let error = play(&terminal(), &broken, &test.workbench, "broken", &[]).await.expect_err("no score");
        assert!(
            matches!(&error, JudgeError::Verifier(why) if why.contains("over the untouched beginning the judge fails too")),
            "{error:?}"
        );
    }
}
