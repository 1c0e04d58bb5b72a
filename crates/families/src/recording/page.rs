//! A replay as one HTML page that needs nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use palestra_protocol::episode::Trajectory;
use palestra_protocol::observation::Observation;
use palestra_protocol::time::Timestamp;
use serde_json::{Map, Value, json};

use super::{Contents, IMAGE, digest_of, error_of, requests_of, words};

const TEMPLATE: &str = include_str!("replay.html");
/// Where the template takes the data.
const PLACE: &str = "DATA";

/// The page: the beginning and the steps in a list, and of each the picture, what was observed, and the requests of its pages. Pictures that `contents`
/// lacks are named in their places.
#[must_use]
pub fn page(trajectory: &Trajectory, contents: &Contents) -> String {
    let digests = super::named(trajectory).into_iter();
    let pictures: Map<String, Value> = digests
        .filter_map(|digest| contents.get(digest).map(|found| (digest, found)))
        .filter(|(_, (media_type, _))| media_type.starts_with("image/"))
        .map(|(digest, (media_type, bytes))| {
            (digest.to_owned(), format!("data:{media_type};base64,{}", STANDARD.encode(bytes)).into())
        })
        .collect();
    let task: Vec<String> =
        trajectory.task.messages.iter().map(|message| format!("{}: {}", message.role, message.content)).collect();
    let beginning = trajectory.opening.as_ref().map(|seen| {
        let at = Moment { seq: 0, action: "the beginning".to_owned(), at: trajectory.episode.started_at, reward: None };
        at.told(seen, contents)
    });
    let steps = trajectory.steps.iter().map(|step| {
        let (seq, action) = (step.seq, words(step.action.as_ref()));
        Moment { seq, action, at: step.at, reward: step.answer.reward }.told(&step.answer.observation, contents)
    });
    let data = json!({
        "episode": trajectory.episode.id,
        "environment": trajectory.episode.environment,
        "task": task.join("\n"),
        "end": end(trajectory),
        "steps": beginning.into_iter().chain(steps).collect::<Vec<_>>(),
        "pictures": pictures,
    });
    // Nothing in the data may end the element that it stands in.
    TEMPLATE.replacen(PLACE, &data.to_string().replace('<', "\\u003c"), 1)
}

/// A step, or the beginning before the first.
struct Moment {
    seq: u64,
    action: String,
    at: Timestamp,
    reward: Option<f64>,
}

impl Moment {
    fn told(self, seen: &Observation, contents: &Contents) -> Value {
        let requests: Vec<Value> = requests_of(seen, contents).iter().map(request).collect();
        json!({
            "seq": self.seq,
            "action": self.action,
            "at": self.at,
            "text": seen.text,
            "error": error_of(seen),
            "reward": self.reward,
            "picture": digest_of(seen, IMAGE),
            "requests": requests,
        })
    }
}

/// Method, address, status, media type and size of a request, as texts.
fn request(entry: &Value) -> Value {
    let (request, response) = (&entry["request"], &entry["response"]);
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let content = &response["content"];
    json!([&request["method"], &request["url"], &response["status"], &content["mimeType"], &content["size"]].map(text))
}

/// The end of the episode, in words.
fn end(trajectory: &Trajectory) -> String {
    match &trajectory.episode.verdict {
        Some(verdict) => {
            let score = verdict.score.map_or_else(|| "none".to_owned(), |score| score.to_string());
            let failed = verdict.checks.iter().filter(|check| !check.passed);
            let failed: Vec<String> = failed.map(|check| format!("{}: {}", check.name, check.evidence)).collect();
            let why = if failed.is_empty() { String::new() } else { format!("; failed checks: {}", failed.join("; ")) };
            format!("Verdict: {}, score {score}{why}", verdict.status.as_str())
        }
        None => "The episode has no verdict.".to_owned(),
    }
}
