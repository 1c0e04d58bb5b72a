//! Tests of blame, over judges and controls with fixed answers.

use std::collections::VecDeque;

use async_trait::async_trait;
use parking_lot::Mutex;

use super::broken::Broken;
use super::judging::{Attempts, decide};
use crate::work::{Check, From, JudgeError, Judgement};

fn judgement(score: f64) -> Judgement {
    let check = Check { name: "x".to_owned(), weight: 1.0, score, evidence: "seen".to_owned() };
    Judgement { checks: vec![check], trainable: true, from: From::FreshDelta }
}

fn infra() -> Result<Judgement, JudgeError> {
    Err(JudgeError::Infra("bash: No such file".to_owned()))
}

/// Answers in order; what is asked beyond them fails the test.
struct FixedAnswers {
    judge: Mutex<VecDeque<Result<Judgement, JudgeError>>>,
    control: Mutex<VecDeque<Result<Judgement, String>>>,
}

#[async_trait]
impl Attempts for FixedAnswers {
    async fn judge(&self) -> Result<Judgement, JudgeError> {
        self.judge.lock().pop_front().expect("no further run of the judge")
    }

    async fn control(&self) -> Result<Judgement, String> {
        self.control.lock().pop_front().expect("no further control")
    }
}

async fn decided<const J: usize, const C: usize>(
    judge: [Result<Judgement, JudgeError>; J],
    control: [Result<Judgement, String>; C],
) -> Result<Judgement, JudgeError> {
    let laid = FixedAnswers { judge: Mutex::new(judge.into()), control: Mutex::new(control.into()) };
    let decided = decide(&laid).await;
    assert!(laid.judge.lock().is_empty() && laid.control.lock().is_empty(), "fewer runs than expected");
    decided
}

#[tokio::test]
async fn a_judge_that_works_asks_for_no_control() {
    assert_eq!(decided([Ok(judgement(0.5))], []).await, Ok(judgement(0.5)));
}

#[tokio::test]
async fn two_failures_between_controls_that_work_are_the_acting_sides() {
    for error in [
        JudgeError::Infra("bash: No such file".to_owned()),
        JudgeError::Verifier("there is no reward".to_owned()),
        JudgeError::Timeout("20 s".to_owned()),
    ] {
        let runs = [Err(error.clone()), Err(error.clone())];
        let found = decided(runs, [Ok(judgement(0.0)), Ok(judgement(0.25))]).await.expect("scored");
        assert_eq!((found.score(), found.trainable, found.from), (0.0, true, From::FreshDelta));
        let evidence = &found.checks[0].evidence;
        for reported in [&*error.to_string(), error.kind(), "run 2", "control 2", "scores 0.25"] {
            assert!(evidence.contains(reported), "{reported}: {evidence}");
        }
    }
}

#[tokio::test]
async fn where_the_control_fails_too_there_is_no_score() {
    let kept = decided([infra()], [Err("the engine is gone".to_owned())]).await.expect_err("no score");
    assert!(matches!(&kept, JudgeError::Infra(words) if words.contains("bash") && words.contains("engine is gone")));
    let kept = decided([infra(), infra()], [Ok(judgement(0.0)), Err("gone meanwhile".to_owned())]).await;
    assert!(matches!(&kept, Err(JudgeError::Infra(words)) if words.contains("gone meanwhile")), "{kept:?}");
}

#[tokio::test]
async fn missing_means_of_the_server_are_nobodys_fault() {
    let lacking = || Err(JudgeError::Unavailable("the evidence is not kept here".to_owned()));
    assert_eq!(decided([lacking()], []).await, lacking());
    assert_eq!(decided([infra(), lacking()], [Ok(judgement(0.0))]).await, lacking());
}

#[tokio::test]
async fn a_second_run_never_gives_a_score_to_learn_from() {
    let found = decided([infra(), Ok(judgement(1.0))], [Ok(judgement(0.0))]).await.expect("scored");
    assert_eq!((found.score(), found.trainable), (1.0, false));
    assert!(found.checks[0].evidence.contains("its first run failed"), "{found:?}");
    let found = decided([infra(), Ok(judgement(0.0))], [Ok(judgement(0.0))]).await.expect("scored");
    assert!(found.trainable, "a zero is not hidden by a first run that failed");
}

#[test]
fn a_broken_place_is_evidence_of_its_own() {
    let broken = Broken { what: "lost".to_owned(), fact: "memory".to_owned(), control: "it opens".to_owned() };
    let evidence = broken.evidence();
    assert_eq!(Broken::of(&evidence), Ok(Some(broken.clone())));
    assert_eq!(Broken::of(&serde_json::json!({"backend": "local", "artefacts": []})), Ok(None));
    assert!(matches!(Broken::of(&serde_json::json!({"broken": 1})), Err(JudgeError::Unavailable(_))));
    let judgement = broken.judgement();
    assert_eq!((judgement.score(), judgement.trainable, judgement.from), (0.0, true, From::State));
}
