//! `palestra replay EPISODE`: reads a recorded episode step by step.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use palestra_client::Client;
use palestra_protocol::action::{Action, Call};
use palestra_protocol::episode::{StepRecord, Trajectory};
use palestra_protocol::id::EpisodeId;
use palestra_protocol::observation::Message;
use serde_json::{Map, Value};

use super::download;
use super::episodes::describe;
use super::failure::Failure;
use super::jobs::write_json;
use super::target::{Keep, TargetArguments};

/// Arguments of `palestra replay`.
#[derive(Debug, Args)]
pub struct ReplayArguments {
    /// The episode, as epi_...
    pub id: EpisodeId,
    /// Writes the whole trajectory as JSON instead of text.
    #[arg(long)]
    pub json: bool,
    /// Writes a page that stands alone into this file: each step with its picture, observation and requests.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "trace"])]
    pub html: Option<PathBuf>,
    /// Writes an archive into this file that Playwright's trace viewer opens.
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub trace: Option<PathBuf>,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Writes the task, each action with its observation, and the verdict. Nothing is played again.
///
/// # Errors
/// When there is no such episode, or the server refuses or cannot be reached.
pub async fn replay(arguments: &ReplayArguments, output: &mut impl Write) -> Result<(), Failure> {
    let target = arguments.target.open(Keep::DefaultFolder).await?;
    let recording = [("html", &arguments.html), ("playwright", &arguments.trace)];
    if let Some((form, path)) = recording.into_iter().find_map(|(form, path)| Some((form, path.as_ref()?))) {
        let written = save(&target.client, arguments.id, form, path).await;
        target.close().await;
        return Ok(writeln!(output, "{}: {} bytes", path.display(), written?)?);
    }
    let found = target.client.trajectory(arguments.id).await;
    target.close().await;
    let trajectory = found?;
    if arguments.json { write_json(output, &trajectory) } else { Ok(output.write_all(text(&trajectory).as_bytes())?) }
}

/// Writes a recording into a file; its size in bytes.
async fn save(client: &Client, episode: EpisodeId, form: &str, path: &Path) -> Result<u64, Failure> {
    let kept = download::keep(path, |mut file| async move {
        let received = client.download_recording(episode, form, &mut file).await;
        (file, received)
    });
    Ok(kept.await?.size_bytes)
}

fn text(trajectory: &Trajectory) -> String {
    let mut text = String::new();
    trajectory.task.messages.iter().for_each(|message| say(&mut text, message));
    trajectory.steps.iter().for_each(|step| tell(&mut text, step));
    text.push('\n');
    text.push_str(&describe(&trajectory.episode));
    text
}

fn say(text: &mut String, Message { role, content, .. }: &Message) {
    let _ = writeln!(text, "── {role}\n{content}");
}

fn tell(text: &mut String, step: &StepRecord) {
    let _ = writeln!(text, "── step {}", step.seq);
    match &step.action {
        Some(done) => text.push_str(&format!("{}\n", action(done))),
        None => text.push_str("(no action reached the environment)\n"),
    }
    let answer = &step.answer;
    if !answer.observation.text.is_empty() {
        let _ = writeln!(text, "── observation\n{}", answer.observation.text);
    }
    if let Some(reward) = answer.reward {
        let _ = writeln!(text, "reward {reward}");
    }
}

/// An action as it would be typed: a line for each call.
pub(super) fn action(action: &Action) -> String {
    match action {
        Action::Text(said) => said.clone(),
        Action::Tool { tool, arguments } => call(tool, arguments),
        Action::Calls(calls) => {
            let lines = calls.iter().map(|Call { tool, arguments, .. }| call(tool, arguments));
            lines.collect::<Vec<_>>().join("\n")
        }
        Action::Message(message) => Value::Object(message.clone()).to_string(),
    }
}

fn call(tool: &str, arguments: &Map<String, Value>) -> String {
    let arguments: Vec<String> = arguments.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{tool}({})", arguments.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(given: Value) -> String {
        action(&serde_json::from_value(given).unwrap())
    }

    #[test]
    fn actions_of_every_form_are_told() {
        assert_eq!(told(json!({"text": "(3 + 5) * 4"})), "(3 + 5) * 4");
        assert_eq!(told(json!({"tool": "add", "arguments": {"amount": 3, "why": "a"}})), "add(amount=3, why=\"a\")");
        let calls = json!({"calls": [{"id": "1", "tool": "a"}, {"id": "2", "tool": "b", "arguments": {"c": [1]}}]});
        assert_eq!(told(calls), "a()\nb(c=[1])");
        let message = json!({"message": {"role": "assistant", "content": "hi"}});
        assert_eq!(told(message), "{\"content\":\"hi\",\"role\":\"assistant\"}");
    }
}
