//! Sessions: programs are tried on what is visible, one is submitted, and what was done before a snapshot or a fork still counts.

use palestra_state::secrets::Secrets;
use palestra_workbench::code::RUNS_MAX;
use palestra_workbench::work::{Input, Observation, Opening, Work as _, Workspace};
use serde_json::{Map, Value, json};

use crate::fixture::{Fixture, fixture, score};
use crate::problem;

async fn open(fixture: &Fixture, row: &Value, from: Option<Value>) -> Box<dyn Workspace> {
    let opening = Opening {
        name: "workspace".to_owned(),
        secrets: Secrets::Seed(1),
        config: Map::new(),
        resumed: from.is_some(),
        from,
    };
    fixture.code.open(row, &opening, &fixture.workbench).await.expect("a workspace")
}

async fn call(workspace: &mut Box<dyn Workspace>, tool: &str, arguments: Value) -> Observation {
    let arguments = arguments.as_object().expect("an object");
    workspace.act(Input::Call { tool, arguments }).await.expect("something seen")
}

fn sum() -> Value {
    let row = json!({"prompt": "Add.", "languages": ["python", "shell"], "time_ms": 1_000, "tests": [
        {"input": "1 2", "output": "3", "hidden": false}, {"input": "40 2", "output": "42"}]});
    serde_json::to_value(problem(row)).expect("a row")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_are_tried_on_what_is_visible_and_one_is_submitted() {
    let Some(fixture) = fixture().await else { return };
    let row = sum();
    let mut workspace = open(&fixture, &row, None).await;
    assert!(workspace.observe().await.expect("seen").text.contains("1 2"));
    assert_eq!(workspace.isolation(), Value::Null);
    let right = json!({"source": "a, b = map(int, input().split())\nprint(a + b)"});
    let seen = call(&mut workspace, "run", right.clone()).await;
    assert_eq!(seen.data["examples"], json!([seen.data["examples"][0]]), "the hidden test was shown");
    assert_eq!(seen.data["examples"][0]["as_shown"], true, "{seen:?}");
    assert_eq!(workspace.isolation()["backend"], "local");
    let own =
        call(&mut workspace, "run", json!({"source": "read x; echo $((x * 2))", "language": "shell", "input": "21"}))
            .await;
    assert_eq!((own.data["output"].as_str(), own.data["status"].as_str()), (Some("42\n"), Some("returned")));
    let broken = call(&mut workspace, "run", json!({"source": "def f(:"})).await;
    assert_eq!(broken.data["status"], "build");
    assert_eq!(broken.data["runs_left"], RUNS_MAX - 3);
    let refused = call(&mut workspace, "submit", json!({"source": "x", "language": "c"})).await;
    assert!(!refused.terminated && refused.data["error"].is_string());

    let kept = workspace.snapshot().await.expect("a snapshot");
    let mut fork = workspace.fork("other").await.expect("a fork").expect("a fork");
    assert!(fork.act(Input::Text("```python\nprint(3)\n```")).await.expect("seen").terminated);
    assert!(call(&mut workspace, "submit", right).await.terminated);
    let (evidence, of_fork) = (workspace.evidence().await.expect("evidence"), fork.evidence().await.expect("evidence"));
    let judged = fixture.code.judge(&row, Secrets::Seed(1), &evidence, &fixture.workbench).await.expect("a judgement");
    assert!((score(&judged) - 1.0).abs() < 1e-9, "{judged:#?}");
    let judged = fixture.code.judge(&row, Secrets::Seed(1), &of_fork, &fixture.workbench).await.expect("a judgement");
    assert!(score(&judged) < 1e-9, "{judged:#?}");

    let mut again = open(&fixture, &row, kept).await;
    let seen = call(&mut again, "run", json!({"source": "print(1)", "input": ""})).await;
    assert_eq!(seen.data["runs_left"], RUNS_MAX - 4);
    assert_eq!(again.evidence().await.expect("evidence"), Value::Null);
    let nothing =
        fixture.code.judge(&row, Secrets::Seed(1), &Value::Null, &fixture.workbench).await.expect("a judgement");
    assert!(score(&nothing) < 1e-9);
    for workspace in [&mut workspace, &mut fork, &mut again] {
        workspace.close().await;
    }
    assert_eq!(fixture.workbench.sandboxes.open(), 0, "a sandbox was left");
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn visible_asserts_are_tried_and_hidden_ones_are_not() {
    let Some(fixture) = fixture().await else { return };
    let row = json!({"prompt": "Double.", "entry": "double", "asserts": [{"assert": "assert double(1) == 2", "hidden": false},
        "assert double(2) == 4"]});
    let row = serde_json::to_value(problem(row)).expect("a row");
    let mut workspace = open(&fixture, &row, None).await;
    let seen = call(&mut workspace, "run", json!({"source": "def double(n):\n    return 2"})).await;
    assert_eq!(seen.data["status"], "returned", "{seen:?}");
    let seen = call(&mut workspace, "run", json!({"source": "def double(n):\n    return 3"})).await;
    assert!(seen.data["errors"].as_str().is_some_and(|errors| errors.contains("AssertionError")), "{seen:?}");
    assert!(!seen.text.contains("double(2)"), "{seen:?}");
    workspace.close().await;
    fixture.close().await;
}
