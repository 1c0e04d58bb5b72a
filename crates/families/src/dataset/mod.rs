//! The `dataset` family: questions with answers from a published file, each judged by a rule that the file names.

mod parse;
mod row;

use std::sync::Arc;

use palestra_protocol::action::Action;
use palestra_protocol::environment::{Environment as Spec, Task as PublicTask};
use palestra_protocol::observation::{Message, Observation};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::definition::Definition;
use palestra_environment::spec::{SpecBuilder, split_length};
use palestra_environment::state::{Digest, State};
use palestra_environment::task::{Task, TaskError, TaskId};
use palestra_environment::tool::function;
use palestra_environment::verifier::choice::letter;
use palestra_environment::verifier::rule::{Expected, GIVEN_BYTES_MAX, RULES_VERSION, Rule, RuleError, judge};
use palestra_environment::verifier::{AnyVerifier, Case, Judgement, Verifier, VerifierError, rules};
use palestra_environment::{
    ConfigError, Context, Environment, EnvironmentKind, Input, Opening, Place, Reaction, TaskRows, Tasks,
};

pub use parse::{Parsed, Submission, parse};
use row::Row;

/// The header of the file, which holds for all its rows; stored when it is published.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Common {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verifier: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    tags: Vec<String>,
    /// The mean score of guessing among the choices.
    #[serde(default)]
    chance: f64,
}

/// The kind that a published data set makes.
///
/// # Errors
/// When the definition does not have the stored form.
pub fn kind(published: &Definition<'_>) -> Result<Arc<dyn EnvironmentKind>, String> {
    let common: Common = serde_json::from_value(published.definition.clone()).map_err(|error| error.to_string())?;
    let verifier = common.verifier.as_ref().map(rules::parse).transpose().map_err(|error| error.to_string())?;
    let splits: Vec<(&String, u64)> = published.splits.iter().map(|(split, rows)| (split, *rows)).collect();
    let described = match common.description.as_str() {
        "" => format!("Questions from the data set {}.", published.name),
        description => description.to_owned(),
    };
    let spec = SpecBuilder::new(published.name, published.version, &described)
        .tags(&common.tags)
        .tools(vec![function(
            "answer",
            "Gives the one answer.",
            json!({
                "type": "object", "required": ["answer"], "additionalProperties": false,
                "properties": {"answer": {"type": "string"}}
            }),
        )])
        .splits(&splits)
        .steps_max(4)
        .floor((common.chance + 0.05).min(1.0))
        .build_with_digest(published.digest.to_owned());
    let version = Digest::of(format!("rules {RULES_VERSION} over {}", published.digest).as_bytes()).to_string();
    Ok(Arc::new(Dataset { spec, system: common.system, verifier, verifier_version: version }))
}

/// A data set as a kind of environment. Its rows stay in the store.
struct Dataset {
    spec: Spec,
    system: Option<String>,
    /// The rule of the rows that name none of their own.
    verifier: Option<Arc<dyn Rule>>,
    verifier_version: String,
}

/// The part of a row that only the judge sees.
#[derive(Deserialize)]
struct Secret {
    answer: Value,
    choices: Vec<String>,
    verifier: Option<Value>,
}

impl Dataset {
    fn secret(task: &Task) -> Result<Secret, RuleError> {
        serde_json::from_value(task.secret.clone()).map_err(|_| RuleError("the task's secret is broken".to_owned()))
    }

    fn rule(&self, secret: &Secret) -> Result<Arc<dyn Rule>, RuleError> {
        match (&secret.verifier, &self.verifier) {
            (Some(named), _) => rules::parse(named),
            (None, Some(rule)) => Ok(Arc::clone(rule)),
            (None, None) => rules::parse(&row::default_verifier(!secret.choices.is_empty())),
        }
    }

    fn judge(&self, case: &Case<'_>) -> Result<Judgement, RuleError> {
        let secret = Self::secret(case.task)?;
        let rule = self.rule(&secret)?;
        let Some(given) = case.state.get("answer").and_then(State::as_str) else {
            return Ok(Judgement::single(rule.name(), 0.0, "no answer was given"));
        };
        judge(&*rule, &Expected { answer: &secret.answer, choices: &secret.choices }, given)
    }
}

impl EnvironmentKind for Dataset {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn tasks(&self) -> Tasks<'_> {
        Tasks::Stored(self)
    }

    fn open(&self, opening: Opening<'_>) -> Result<Place, ConfigError> {
        ConfigError::refuse_all(opening.config)?;
        Ok(Place::Pure(Box::new(Question { task: Arc::clone(opening.task), answer: None })))
    }

    fn verifier(&self) -> AnyVerifier<'_> {
        AnyVerifier::Pure(self)
    }

    fn oracle(&self, task: &Task) -> Option<Vec<Action>> {
        let secret = Self::secret(task).ok()?;
        let expected = Expected { answer: &secret.answer, choices: &secret.choices };
        let answer = self.rule(&secret).ok()?.own_answer(&expected).ok()?;
        let arguments = Map::from_iter([("answer".to_owned(), Value::String(answer))]);
        Some(vec![Action::Tool { tool: "answer".to_owned(), arguments }])
    }

    fn random_action(&self, task: &Task, rng: &mut ChaCha8Rng) -> Action {
        let choices = Self::secret(task).map(|secret| secret.choices.len()).unwrap_or_default();
        Action::Text(match choices {
            0 => rng.random_range(0..1000).to_string(),
            choices => letter(rng.random_range(0..choices)).to_string(),
        })
    }
}

impl TaskRows for Dataset {
    fn digest(&self) -> &str {
        &self.spec.digest
    }

    fn task(&self, split: &str, index: u64, row: Value) -> Result<Task, TaskError> {
        let length = split_length(&self.spec, split)?;
        if index >= length {
            return Err(TaskError::OutOfRange { split: split.to_owned(), length, index });
        }
        let row: Row = serde_json::from_value(row).map_err(|error| TaskError::Broken(error.to_string()))?;
        let choices = row.choices();
        Ok(Task {
            public: PublicTask {
                id: TaskId::plain(split, index).to_string(),
                split: split.to_owned(),
                index: Some(index),
                difficulty: None,
                template: "row".to_owned(),
                messages: row.messages(self.system.as_deref()),
                tools: self.spec.tools.clone(),
                score_range: row.score_range().map_err(TaskError::Broken)?,
                metadata: row.metadata.clone().unwrap_or_else(|| json!({})),
            },
            secret: json!({"answer": row.answer, "choices": choices, "verifier": row.verifier}),
        })
    }
}

impl Verifier for Dataset {
    fn name(&self) -> &str {
        self.verifier.as_ref().map_or("final", |rule| rule.name())
    }

    fn version(&self) -> &str {
        &self.verifier_version
    }

    fn verify(&self, case: &Case<'_>) -> Result<Judgement, VerifierError> {
        self.judge(case).map_err(|error| VerifierError(error.0))
    }
}

/// A question that waits for its one answer.
#[derive(Clone)]
struct Question {
    task: Arc<Task>,
    answer: Option<Arc<str>>,
}

impl Environment for Question {
    fn observe(&self) -> Observation {
        Observation::text(as_text(&self.task.public.messages))
    }

    fn act(&mut self, input: Input<'_>, _context: &mut Context) -> Reaction {
        let answer = match input {
            Input::Text(text) => text,
            Input::Call { arguments, .. } => arguments.get("answer").and_then(Value::as_str).unwrap_or_default(),
        };
        if answer.len() > GIVEN_BYTES_MAX {
            return Reaction::end(format!("Error: an answer of more than {GIVEN_BYTES_MAX} bytes counts as none."));
        }
        // A second input cannot come, since the first one ends the episode; if it did, the first would count.
        self.answer.get_or_insert_with(|| answer.into());
        Reaction::end("Your answer was taken.")
    }

    fn state(&self) -> State {
        State::from(json!({"answer": self.answer.as_deref()}))
    }

    fn fork(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }
}

/// A conversation to read; a question alone stands for itself.
fn as_text(messages: &[Message]) -> String {
    match messages {
        [message] => message.content.clone(),
        messages => {
            let parts: Vec<String> =
                messages.iter().map(|message| format!("{}: {}", message.role, message.content)).collect();
            parts.join("\n\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publish(body: &str) -> (Arc<dyn EnvironmentKind>, Parsed) {
        let submission = Submission { name: Some("dataset/x".to_owned()), ..Submission::default() };
        let parsed = parse(&submission, body.as_bytes()).expect("a data set");
        let splits = parsed.splits();
        let definition = Definition {
            name: &parsed.name,
            version: 1,
            digest: &parsed.digest,
            definition: &parsed.definition,
            splits: &splits,
        };
        (kind(&definition).expect("a kind"), parsed)
    }

    fn task(kind: &dyn EnvironmentKind, parsed: &Parsed, split: usize, index: usize) -> Task {
        let Tasks::Stored(rows) = kind.tasks() else { panic!("rows are stored") };
        let (split, values) = &parsed.rows[split];
        rows.task(split, index as u64, values[index].clone()).expect("a task")
    }

    fn score(kind: &dyn EnvironmentKind, task: &Task, answer: &Value) -> f64 {
        let state = State::from(json!({"answer": answer}));
        let case = Case { task, state: &state, trajectory: &[] };
        kind.verifier().pure().expect("a pure verifier").verify(&case).expect("a judgement").score().expect("a score")
    }

    #[test]
    fn rows_become_tasks_that_their_own_answers_solve() {
        let (kind, parsed) = publish(
            r#"{"prompt":"2+2?","answer":4}
{"prompt":"Capital of France?","answer":"Paris","verifier":"text","metadata":{"source":"atlas"}}
{"prompt":"Which is a fruit?","answer":"apple","choices":["stone","apple"],"split":"test"}"#,
        );
        let sum = task(&*kind, &parsed, 1, 0);
        assert_eq!((sum.public.id.as_str(), sum.public.messages[0].content.as_str()), ("train-0", "2+2?"));
        assert_eq!(score(&*kind, &sum, &json!("It is \\boxed{4.0}")), 1.0);
        assert_eq!(score(&*kind, &sum, &json!("5")), 0.0);
        assert_eq!(score(&*kind, &sum, &Value::Null), 0.0);
        let capital = task(&*kind, &parsed, 1, 1);
        assert_eq!(capital.public.metadata, json!({"source": "atlas"}));
        assert_eq!(score(&*kind, &capital, &json!("paris")), 1.0);
        assert_eq!(score(&*kind, &capital, &json!("Answer: paris")), 0.0, "the row's own rule reads no marks");
        let fruit = task(&*kind, &parsed, 0, 0);
        assert_eq!(fruit.public.messages[0].content, "Which is a fruit?\n\n(A) stone\n(B) apple");
        assert_eq!(score(&*kind, &fruit, &json!("Answer: B")), 1.0);
        assert!(!fruit.public.messages.iter().any(|message| message.content.contains("answer")));
    }

    #[test]
    fn system_text_stands_first_and_the_observation_repeats_everything() {
        let (kind, parsed) = publish(
            r#"{"environment":"dataset/y","system":"Be brief.","description":"Sums","tags":["math"],"verifier":"number"}
{"messages":[{"role":"user","content":"1"},{"role":"assistant","content":"2"},{"role":"user","content":"3"}],"answer":4}
{"prompt":"5","answer":6,"system":"Be long."}"#,
        );
        assert_eq!((kind.spec().description.as_str(), kind.spec().tags[0].as_str()), ("Sums", "math"));
        let first = task(&*kind, &parsed, 0, 0);
        assert_eq!(first.public.messages[0], Message::new("system", "Be brief."));
        assert_eq!(as_text(&first.public.messages), "system: Be brief.\n\nuser: 1\n\nassistant: 2\n\nuser: 3");
        let second = task(&*kind, &parsed, 0, 1);
        assert_eq!(second.public.messages[0], Message::new("system", "Be long."));
        let Some(Action::Tool { arguments, .. }) = kind.oracle(&second).and_then(|actions| actions.into_iter().next())
        else {
            panic!("the oracle answers by tool")
        };
        assert_eq!(score(&*kind, &second, &arguments["answer"]), 1.0);
    }

    #[test]
    fn the_first_answer_ends_it() {
        let (kind, parsed) = publish(r#"{"prompt":"2+2?","answer":4}"#);
        let task = Arc::new(task(&*kind, &parsed, 0, 0));
        let mut place = Question { task, answer: None };
        let mut context = Context::seeded(&[]);
        assert_eq!(place.state().to_value(), json!({"answer": null}));
        let fork = place.fork();
        assert!(place.act(Input::Text("4"), &mut context).terminated);
        place.act(Input::Text("5"), &mut context);
        assert_eq!(place.state().to_value(), json!({"answer": "4"}));
        assert_eq!(fork.state().to_value(), json!({"answer": null}));
        let mut long = Question { answer: None, ..place };
        assert!(long.act(Input::Text(&"x".repeat(GIVEN_BYTES_MAX + 1)), &mut context).terminated);
        assert_eq!(long.state().to_value(), json!({"answer": null}));
    }

    #[test]
    fn stored_rows_that_were_tampered_with_are_no_tasks() {
        let (kind, _) = publish(r#"{"prompt":"2+2?","answer":4}"#);
        let Tasks::Stored(rows) = kind.tasks() else { panic!("rows are stored") };
        assert!(matches!(rows.task("train", 0, json!({"prompt": 1})), Err(TaskError::Broken(_))));
        assert!(matches!(rows.task("train", 1, json!({})), Err(TaskError::OutOfRange { .. })));
        assert!(matches!(rows.task("other", 0, json!({})), Err(TaskError::UnknownSplit(_))));
    }
}
