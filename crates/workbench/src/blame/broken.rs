//! A place that the acting side broke, as evidence: it stands where there is nothing left to judge.

use palestra_sandbox::Ending;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::work::{Check, From, JudgeError, Judgement};

/// The member of an evidence that holds it.
const MEMBER: &str = "broken";

/// A broken sandbox, and the evidence that the acting side broke it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Broken {
    /// Failure, in the words of the failing part.
    pub(super) what: String,
    /// Fact about its end.
    pub(super) fact: String,
    /// Outcome of the control.
    pub(super) control: String,
}

impl Broken {
    /// As evidence.
    pub(super) fn evidence(&self) -> Value {
        json!({ MEMBER: self })
    }

    /// That of an evidence; `None` where there is something to judge.
    ///
    /// # Errors
    /// When it is not of this form.
    pub(super) fn of(evidence: &Value) -> Result<Option<Self>, JudgeError> {
        let Some(found) = evidence.get(MEMBER) else { return Ok(None) };
        let found = Self::deserialize(found);
        found.map(Some).map_err(|error| {
            JudgeError::Unavailable(format!("the evidence cannot be read, check the folder of blobs: {error}"))
        })
    }

    /// 0. What it rests on is kept where the acting side cannot write, so that it may be learnt from.
    pub(super) fn judgement(&self) -> Judgement {
        let check = Check { name: "place".to_owned(), weight: 1.0, score: 0.0, evidence: self.words() };
        Judgement { checks: vec![check], trainable: true, from: From::State }
    }

    /// In words.
    pub(super) fn words(&self) -> String {
        let Self { what, fact, control } = self;
        format!("the acting side broke its place: {what}; {fact}; control: {control}")
    }
}

/// Says what is known of an end that the machine did not bring about.
pub(super) fn fact(ending: &Ending) -> String {
    match ending {
        Ending::OwnLimit(limit, fact) => format!("its own limit of {} ended it: {fact}", limit.as_str()),
        Ending::Unknown(known) | Ending::Host(known) => known.clone(),
    }
}
