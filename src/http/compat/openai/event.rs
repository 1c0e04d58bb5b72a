//! Events of a job, in OpenAI's form: one event for each of ours.

use palestra_protocol::id::JobId;
use palestra_protocol::job::{JobEvent, JobEventKind};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::job::seconds;
use crate::http::problem::Failure;

/// The prefix of the ids of events.
const PREFIX: &str = "ftevent-";

/// Something that happened to a job.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(in crate::http) struct FineTuningEvent {
    /// The event.
    id: String,
    /// The kind of this object.
    object: FineTuningEventObject,
    /// When, in seconds since 1970.
    created_at: i64,
    /// Its severity.
    level: FineTuningLevel,
    /// The event, for people.
    message: String,
    /// True if it brings numbers.
    #[serde(rename = "type")]
    kind: FineTuningEventKind,
    /// The event, for programs: numbers by name with their `step`, or what the event of the job holds.
    data: Value,
}

/// The kind of object that an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub(super) enum FineTuningEventObject {
    /// An event of a job.
    #[serde(rename = "fine_tuning.job.event")]
    Event,
}

/// Severity of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum FineTuningLevel {
    /// All is well.
    Info,
    /// It goes on.
    Warn,
    /// It does not go on.
    Error,
}

/// The content of an event: words or numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum FineTuningEventKind {
    /// It brings words.
    Message,
    /// It brings numbers.
    Metrics,
}

fn id(job: JobId, number: u64) -> String {
    format!("{PREFIX}{}-{number}", job.uuid().simple())
}

/// The number of the event that an id names in a job.
pub(super) fn number_of(job: JobId, text: &str) -> Result<u64, Failure> {
    let number = text.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
    let number = number.filter(|number| id(job, *number) == text && i64::try_from(*number).is_ok());
    number.ok_or_else(|| Failure::invalid("after", "not an event of this list: pass an id that it answered"))
}

/// Our names of numbers that clients of OpenAI know by others.
fn name_of(ours: &str) -> &str {
    match ours {
        "loss" => "train_loss",
        "validation_loss" => "valid_loss",
        other => other,
    }
}

/// The numbers of a metric event with their step.
pub(super) fn numbers(data: &Value) -> Map<String, Value> {
    let values = data["values"].as_object().into_iter().flatten();
    let mut numbers: Map<_, _> = values.map(|(name, value)| (name_of(name).to_owned(), value.clone())).collect();
    numbers.insert("step".to_owned(), data["step"].clone());
    numbers
}

fn text<'a>(data: &'a Value, name: &str) -> &'a str {
    data[name].as_str().unwrap_or_default()
}

/// An event of a job.
pub(super) fn view(job: JobId, event: JobEvent) -> FineTuningEvent {
    let JobEvent { number, at, kind, data, .. } = event;
    let (level, message) = match kind {
        JobEventKind::State => {
            let state = text(&data, "state");
            let level = if state == "failed" { FineTuningLevel::Error } else { FineTuningLevel::Info };
            (level, format!("The job is {state}{}", because(&data)))
        }
        JobEventKind::Progress => {
            (FineTuningLevel::Info, format!("{} of {} {} are done", data["done"], data["total"], text(&data, "unit")))
        }
        JobEventKind::Metric => {
            let loss = data["values"]["loss"].as_f64().map(|loss| format!(": training loss={loss:.4}"));
            (FineTuningLevel::Info, format!("Step {}{}", data["step"], loss.unwrap_or_default()))
        }
        JobEventKind::Log => {
            let level = match text(&data, "level") {
                "error" => FineTuningLevel::Error,
                "warn" => FineTuningLevel::Warn,
                _ => FineTuningLevel::Info,
            };
            (level, text(&data, "message").to_owned())
        }
        JobEventKind::Artifact => {
            (FineTuningLevel::Info, format!("The file {} of {} bytes is kept", text(&data, "name"), data["size_bytes"]))
        }
        JobEventKind::Checkpoint => (FineTuningLevel::Info, format!("Checkpoint created at step {}", data["step"])),
        JobEventKind::Policy => {
            (FineTuningLevel::Info, format!("New fine-tuned model created: {}", text(&data, "policy")))
        }
    };
    let (kind, data) = match kind {
        JobEventKind::Metric => (FineTuningEventKind::Metrics, Value::Object(numbers(&data))),
        _ => (FineTuningEventKind::Message, data),
    };
    FineTuningEvent {
        id: id(job, number),
        object: FineTuningEventObject::Event,
        created_at: seconds(at),
        level,
        message,
        kind,
        data,
    }
}

/// Why a job came to stand where it does, where its event says so.
fn because(data: &Value) -> String {
    let detail = text(&data["error"], "detail");
    if detail.is_empty() { String::new() } else { format!(": {detail}") }
}

#[cfg(test)]
mod tests {
    use palestra_protocol::time::Timestamp;
    use serde_json::json;

    use super::*;

    fn shown(kind: JobEventKind, data: Value) -> FineTuningEvent {
        let event = JobEvent { number: 7, attempt: 1, at: Timestamp::from_milliseconds(1_999), kind, data };
        view(JobId::new(), event)
    }

    #[test]
    fn numbers_have_the_names_that_clients_know() {
        let event =
            shown(JobEventKind::Metric, json!({"step": 3, "values": {"loss": 0.5, "validation_loss": 1.0, "kl": 2.0}}));
        assert_eq!((event.kind, event.created_at), (FineTuningEventKind::Metrics, 1));
        assert_eq!(event.data, json!({"step": 3, "train_loss": 0.5, "valid_loss": 1.0, "kl": 2.0}));
        assert_eq!(event.message, "Step 3: training loss=0.5000");
    }

    #[test]
    fn what_went_wrong_is_told_as_such() {
        let failed = json!({"state": "failed", "error": {"code": "bad_data", "detail": "line 3"}});
        let event = shown(JobEventKind::State, failed);
        assert_eq!((event.level, event.message.as_str()), (FineTuningLevel::Error, "The job is failed: line 3"));
        let event = shown(JobEventKind::Log, json!({"level": "warn", "message": "slow"}));
        assert_eq!(
            (event.level, event.message.as_str(), event.kind),
            (FineTuningLevel::Warn, "slow", FineTuningEventKind::Message)
        );
    }

    #[test]
    fn an_id_leads_back_to_its_number() {
        let job = JobId::new();
        assert_eq!(number_of(job, &id(job, 12)).unwrap(), 12);
        for wrong in [id(JobId::new(), 12), "12".to_owned(), format!("{}x", id(job, 1)), id(job, u64::MAX)] {
            assert!(number_of(job, &wrong).is_err(), "{wrong}");
        }
    }
}
