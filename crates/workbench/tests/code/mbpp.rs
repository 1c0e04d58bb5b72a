//! The public problems of MBPP: reference solutions are accepted, and changed ones rejected wherever the asserts can tell. A tenth
//! of the problems unless `PALESTRA_MBPP=all`, and of changed ones a thirtieth.

use std::sync::Arc;
use std::time::Instant;

use palestra_workbench::code::Problem;
use palestra_workbench::work::{From, Judgement};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::fixture::{Fixture, fixture, score, statuses};
use crate::problem;

/// Judgings at the same time.
const AT_ONCE: usize = 3;

#[derive(Deserialize)]
struct Published {
    task_id: u64,
    query: String,
    gold: String,
    tests: Vec<String>,
    test_setup_code: String,
}

impl Published {
    fn problem(&self) -> Problem {
        problem(json!({"id": self.task_id.to_string(), "prompt": self.query, "asserts": self.tests,
            "setup": self.test_setup_code, "solution": self.gold, "time_ms": 10_000}))
    }

    /// The program that asserts all by itself: what plain Python says.
    fn plain(&self, source: &str) -> String {
        format!("{source}\n\n{}\n{}\n", self.test_setup_code, self.tests.join("\n"))
    }
}

/// Of so many problems the reference solution of one is judged where not all are.
const REFERENCES_EVERY: usize = 10;

/// Likewise changed solutions, of which each problem has several.
const CHANGED_EVERY: usize = 30;

/// Numbers of our own problems begin here.
const OWN_FROM: u64 = 100_001;

/// Problems of our own, which are tried everywhere.
const OWN: &str = include_str!("own.json");

/// Problems of our own, and those of MBPP: all of them, one of so many, or none, with a line that says so, where the data is absent.
fn published(every: usize) -> Vec<Arc<Published>> {
    let mut chosen: Vec<Published> = serde_json::from_str(OWN).expect("problems");
    if let Some(data) = palestra_test_support::data("mbpp") {
        let text = std::fs::read_to_string(data.join("problems.json")).expect("problems");
        let all: Vec<Published> = serde_json::from_str(&text).expect("problems");
        assert_eq!(all.len(), 974);
        let every = if std::env::var("PALESTRA_MBPP").is_ok_and(|value| value == "all") { 1 } else { every };
        chosen.extend(all.into_iter().step_by(every));
    }
    chosen.into_iter().map(Arc::new).collect()
}

/// A solution, and what the judge says of it.
struct Judged {
    published: Arc<Published>,
    /// Rule that changed it; none where it is the reference.
    rule: String,
    source: String,
    judgement: Judgement,
}

/// Judges solutions, a few at the same time.
async fn judge_all(fixture: &Arc<Fixture>, cases: Vec<(Arc<Published>, String, String)>, time_ms: u64) -> Vec<Judged> {
    let workspace = Arc::new(Semaphore::new(AT_ONCE));
    let mut tasks = JoinSet::new();
    for (published, rule, source) in cases {
        let (fixture, workspace) = (Arc::clone(fixture), Arc::clone(&workspace));
        tasks.spawn(async move {
            let _permit = workspace.acquire().await.expect("workspace");
            let problem = Problem { time_ms, ..published.problem() };
            let judgement = fixture.judge(&problem, "python", &source).await.expect("a judgement");
            Judged { published, rule, source, judgement }
        });
    }
    tasks.join_all().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reference_solutions_of_mbpp_are_accepted() {
    let problems = published(REFERENCES_EVERY);
    let Some(fixture) = fixture().await else { return };
    let fixture = Arc::new(fixture);
    let begun = Instant::now();
    let cases = problems.iter().map(|one| (Arc::clone(one), String::new(), one.gold.clone())).collect();
    let judged = judge_all(&fixture, cases, 10_000).await;
    let mut rejected: Vec<String> = Vec::new();
    for Judged { published, judgement, .. } in &judged {
        if score(judgement) < 1.0 {
            let why: Vec<&String> = judgement.checks.iter().map(|check| &check.evidence).collect();
            rejected.push(format!("{}: {:?} {why:?}", published.task_id, statuses(judgement)));
        }
    }
    let beside = judged.iter().filter(|one| one.judgement.from == From::InPlace);
    let beside: Vec<u64> = beside.map(|one| one.published.task_id).collect();
    let (count, taken) = (judged.len(), begun.elapsed());
    println!("{} of {count} accepted in {taken:?}; run beside the submission: {beside:?}", count - rejected.len());
    println!("{}", rejected.join("\n"));
    let own = judged.iter().filter(|one| one.published.task_id >= OWN_FROM && score(&one.judgement) < 1.0).count();
    assert_eq!(own, 0, "solutions of our own are rejected");
    assert!(rejected.len() * 974 <= 4 * count.max(244), "{} of {count} rejected", rejected.len());
    assert!(beside.len() * 50 <= count, "{beside:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_solutions_of_mbpp_are_rejected_wherever_the_asserts_can_tell() {
    let problems = published(CHANGED_EVERY);
    let Some(fixture) = fixture().await else { return };
    let fixture = Arc::new(fixture);
    let mut cases = Vec::new();
    for (published, changes) in problems.iter().zip(changes(&fixture, &problems).await) {
        cases.extend(changes.into_iter().map(|(rule, source)| (Arc::clone(published), rule, source)));
    }
    let judged = judge_all(&fixture, cases, 2_000).await;
    let (accepted, rejected): (Vec<Judged>, Vec<Judged>) =
        judged.into_iter().partition(|one| score(&one.judgement) == 1.0);
    let mut missed = Vec::new();
    for Judged { published, rule, source, .. } in &accepted {
        if !passes_plainly(&fixture, &published.plain(source)).await {
            missed.push(format!("{} {rule}:\n{source}", published.task_id));
        }
    }
    let (rejected, accepted) = (rejected.len(), accepted.len());
    println!("{} changed solutions: {rejected} rejected, {accepted} that the asserts cannot tell", rejected + accepted);
    assert!(rejected + accepted > problems.len());
    assert!(missed.is_empty(), "{} missed:\n{}", missed.len(), missed.join("\n\n"));
}

/// Judgements of changed reference solutions by the rules.
async fn changes(fixture: &Fixture, problems: &[Arc<Published>]) -> Vec<Vec<(String, String)>> {
    let sources: Vec<&str> = problems.iter().map(|one| one.gold.as_str()).collect();
    let input = serde_json::to_string(&sources).expect("sources");
    let output = fixture.output(include_str!("mutate.py"), input).await;
    serde_json::from_str(&output).expect("changes")
}

/// True if a program that asserts by itself ends well, in a sandbox and without any of the judge.
async fn passes_plainly(fixture: &Fixture, source: &str) -> bool {
    let row: Value = json!({"prompt": "p", "languages": ["python"], "time_ms": 10_000, "tests": [{"output": ""}],
        "comparison": {"checker": {"language": "python", "source": "pass"}}});
    let judgement = fixture.judge(&problem(row), "python", source).await.expect("a judgement");
    score(&judgement) == 1.0
}
