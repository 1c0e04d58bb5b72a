//! Programs that take their own sandboxes down, tried and submitted.

use std::sync::Arc;

use palestra_workbench::code::{Code, Problem};
use palestra_workbench::work::{Input, Work};
use serde_json::{Value, json};

use crate::workbench::{self, Way, open, try_everywhere};

/// Fills the memory of its sandbox with segments that outlive it.
const SEGMENTS: &str = "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.shmat.restype = ctypes.c_void_p\n\
    libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]\n\
    libc.shmdt.argtypes = [ctypes.c_void_p]\n\
    while True:\n    segment = libc.shmget(0, 4 << 20, 0o1600)\n    if segment < 0: break\n\
    \x20   at = libc.shmat(segment, None, 0)\n    ctypes.memset(at, 1, 4 << 20)\n    libc.shmdt(at)\n";

fn row() -> Value {
    let problem = json!({"prompt": "Add.", "languages": ["python"], "time_ms": 2_000, "memory_bytes": 64 << 20,
        "solution": "a, b = map(int, input().split())\nprint(a + b)",
        "tests": [{"input": "1 2", "output": "3", "hidden": false}, {"input": "40 2", "output": "42"}]});
    let problem: Problem = serde_json::from_value(problem).expect("a problem");
    serde_json::to_value(problem).expect("a row")
}

fn work() -> Arc<dyn Work> {
    Arc::new(Code::on("python"))
}

fn submitted(name: &'static str, source: &str) -> Way {
    Way { name, calls: vec![("submit", json!({"source": source, "language": "python"}))], score: 0.0, reason: "" }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_submission_breaks_the_place_that_it_is_judged_in() {
    let ways = || {
        vec![
            submitted("memory for good", SEGMENTS),
            submitted("a fork bomb", "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n"),
            submitted("everything killed", "import os, signal\nos.kill(-1, signal.SIGKILL)\n"),
            submitted(
                "everything stopped",
                "import os, signal\nos.kill(-1, signal.SIGSTOP)\nos.kill(os.getpid(), signal.SIGSTOP)\n",
            ),
            submitted("a full disk", "f = open('big', 'wb')\nwhile True: f.write(b'x' * (1 << 20))\n"),
            submitted("a sleep without end", "import time\ntime.sleep(1000)\n"),
            submitted("its folder removed", "import os, shutil\nshutil.rmtree('/code', ignore_errors=True)\n"),
            submitted("output without end", "while True: print('x' * 1000000)\n"),
        ]
    };
    try_everywhere(work, &row(), "python", "code", ways).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_takes_its_sandbox_down_is_something_to_read() {
    for test in workbench::all(&["python"], "run").await {
        let (work, row) = (work(), row());
        let mut workspace = open(&work, &row, &test.workbench, "run").await;
        for source in [SEGMENTS, "import os, signal\nos.kill(-1, signal.SIGKILL)\n"] {
            let arguments = json!({"source": source, "language": "python"});
            let arguments = arguments.as_object().expect("arguments");
            let seen = workspace.act(Input::Call { tool: "run", arguments }).await.expect("something seen");
            println!("{}", seen.text);
            assert!(!seen.terminated && seen.text.contains("runs left"), "{}", seen.text);
        }
        workspace.close().await;
        assert_eq!(test.workbench.sandboxes.open(), 0);
    }
}
