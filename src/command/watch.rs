//! `palestra jobs watch`: the progress of a job, as a bar on a terminal, as lines elsewhere, or as JSON for programs.

use std::io::Write;
use std::time::{Duration, Instant};

use futures::StreamExt;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use palestra_client::Client;
use palestra_protocol::id::JobId;
use palestra_protocol::job::{Job, JobEvent, JobEventKind, Progress};
use serde_json::Value;

use super::failure::Failure;
use crate::terminal::{errors, is_watched, visible};

/// Time after which a bar is drawn again although nothing happened, in milliseconds.
const DRAW_MS: u64 = 200;
/// Time between two lines that say how far the job is, where there is no terminal, in milliseconds.
const LINE_MS: u64 = 5_000;
/// Most metrics in one line; a job may have hundreds.
const METRICS_MAX: usize = 6;

/// Metrics that are shown before others, in this order.
const FIRST_METRICS: [&str; 6] =
    ["reward_mean", "solve_rate", "evaluate/solve_rate", "score_mean", "validation_loss", "loss"];

/// The form in which a job is shown.
pub(super) enum Shown {
    /// A bar on standard error, with lines above it.
    Bar(ProgressBar),
    /// Lines on standard error.
    Lines,
    /// Every event as a line of JSON on standard output.
    Json,
}

impl Shown {
    /// JSON where it was asked for, a bar on a terminal, lines elsewhere.
    pub(super) fn choose(json: bool) -> Self {
        match (json, is_watched()) {
            (true, _) => Self::Json,
            (false, true) => Self::Bar(bar()),
            (false, false) => Self::Lines,
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {wide_msg}") {
        bar.set_style(style);
    }
    bar.set_message("waiting");
    bar.enable_steady_tick(Duration::from_millis(DRAW_MS));
    bar
}

/// Shows a job from its beginning until it is over, over as many connections as that takes, and answers how it ended.
///
/// # Errors
/// When there is no such job, the server stays away, or the output is closed.
pub(super) async fn watch(client: &Client, job: JobId, shown: Shown, output: &mut impl Write) -> Result<Job, Failure> {
    let mut view = View { shown, progress: None, metrics: String::new(), written: None, unwritten: false };
    let mut last = 0;
    let ended = loop {
        let mut events = client.job_events(job, last);
        while let Some(event) = events.next().await {
            let event = event?;
            last = event.number;
            view.show(&event, output)?;
        }
        let now = client.job(job).await?;
        // It may have been queued again meanwhile.
        if now.state.is_over() {
            break now;
        }
    };
    view.end();
    Ok(ended)
}

/// The last state of a job that was shown.
struct View {
    shown: Shown,
    progress: Option<Progress>,
    metrics: String,
    /// When the last line on how far it is was written.
    written: Option<Instant>,
    /// True where something came since.
    unwritten: bool,
}

impl View {
    fn show(&mut self, event: &JobEvent, output: &mut impl Write) -> Result<(), Failure> {
        if matches!(self.shown, Shown::Json) {
            let line = serde_json::to_string(event).map_err(|error| Failure::Other(error.to_string()))?;
            writeln!(output, "{line}")?;
            return Ok(());
        }
        match event.kind {
            JobEventKind::Progress => self.progress = serde_json::from_value(event.data.clone()).ok(),
            JobEventKind::Metric => self.metrics = metrics(&event.data),
            _ => {
                self.line(&event_text(event));
                return Ok(());
            }
        }
        self.unwritten = true;
        match &self.shown {
            Shown::Bar(bar) => {
                if let Some(progress) = &self.progress {
                    bar.set_length(progress.total);
                    bar.set_position(progress.done);
                }
                bar.set_message(self.progress_text());
            }
            Shown::Lines => {
                let due = self.written.is_none_or(|written| written.elapsed() >= Duration::from_millis(LINE_MS));
                if due {
                    self.write_progress();
                }
            }
            Shown::Json => {}
        }
        Ok(())
    }

    /// Says what happened, above the bar.
    fn line(&mut self, text: &str) {
        match &self.shown {
            Shown::Bar(bar) => bar.println(text),
            Shown::Lines | Shown::Json => {
                if self.unwritten {
                    self.write_progress();
                }
                // Nothing is left to tell when standard error is closed.
                let _ = writeln!(errors(), "{text}");
            }
        }
    }

    fn write_progress(&mut self) {
        self.written = Some(Instant::now());
        self.unwritten = false;
        let counted = self.progress.as_ref().map(|progress| format!("{} of {} ", progress.done, progress.total));
        let _ = writeln!(errors(), "{}{}", counted.unwrap_or_default(), self.progress_text());
    }

    /// Unit, what is being done, the time left, and the last metrics.
    fn progress_text(&self) -> String {
        let mut parts = Vec::new();
        if let Some(progress) = &self.progress {
            parts.push(visible(&progress.unit));
            parts.extend(progress.message.as_deref().map(visible));
            parts.extend(
                progress.remaining_ms.map(|left| format!("{} left", HumanDuration(Duration::from_millis(left)))),
            );
        }
        if !self.metrics.is_empty() {
            parts.push(self.metrics.clone());
        }
        parts.join(", ")
    }

    fn end(&mut self) {
        match &self.shown {
            Shown::Bar(bar) => bar.finish_and_clear(),
            Shown::Lines if self.unwritten => self.write_progress(),
            Shown::Lines | Shown::Json => {}
        }
    }
}

/// An event in one line.
fn event_text(event: &JobEvent) -> String {
    let text = |pointer: &str| event.data.pointer(pointer).and_then(Value::as_str).map(visible);
    match event.kind {
        JobEventKind::State => {
            let more = text("/error/detail").map(|why| format!(": {why}"));
            let more = more.or_else(|| text("/worker").map(|worker| format!(" on {worker}")));
            let asked = event.data["cancel_requested"].as_bool() == Some(true);
            let more = more.or_else(|| asked.then(|| ", asked to stop".to_owned()));
            format!("{}{}", text("/state").unwrap_or_default(), more.unwrap_or_default())
        }
        JobEventKind::Log => {
            format!("{}: {}", text("/level").unwrap_or_else(|| "info".to_owned()), text("/message").unwrap_or_default())
        }
        JobEventKind::Artifact => format!("kept {}", text("/name").unwrap_or_default()),
        JobEventKind::Checkpoint => format!("checkpoint after step {}", event.data["step"]),
        JobEventKind::Policy => format!("policy {}", text("/policy").unwrap_or_default()),
        JobEventKind::Progress | JobEventKind::Metric => visible(&event.data.to_string()),
    }
}

/// The first metrics of a step in one line: those that say how well it goes, then others by name.
pub(super) fn metrics(data: &Value) -> String {
    let Some(values) = data["values"].as_object() else { return String::new() };
    let place = |name: &str| FIRST_METRICS.iter().position(|first| *first == name).unwrap_or(FIRST_METRICS.len());
    let mut numbers: Vec<(&String, f64)> =
        values.iter().filter_map(|(name, value)| Some((name, value.as_f64()?))).collect();
    numbers.sort_by_key(|(name, _)| place(name));
    let shown: Vec<String> = numbers
        .into_iter()
        .take(METRICS_MAX)
        .map(|(name, value)| format!("{} {}", visible(name), number(value)))
        .collect();
    match data["step"].as_u64() {
        Some(step) => format!("step {step}: {}", shown.join(" ")),
        None => shown.join(" "),
    }
}

/// A number as people read it.
fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || (1e-3..1e6).contains(&size) {
        let text = format!("{value:.4}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        format!("{value:.3e}")
    }
}

#[cfg(test)]
mod tests {
    use palestra_protocol::time::Timestamp;
    use serde_json::json;

    use super::*;

    fn event(kind: JobEventKind, data: Value) -> JobEvent {
        JobEvent { number: 1, attempt: 1, at: Timestamp::from_milliseconds(0), kind, data }
    }

    #[test]
    fn what_happened_stands_in_one_line_that_commands_no_terminal() {
        for (kind, data, line) in [
            (JobEventKind::State, json!({"state": "queued"}), "queued"),
            (JobEventKind::State, json!({"state": "running", "worker": "gpu-3"}), "running on gpu-3"),
            (JobEventKind::State, json!({"state": "running", "cancel_requested": true}), "running, asked to stop"),
            (
                JobEventKind::State,
                json!({"state": "failed", "error": {"code": "device", "detail": "no such device"}}),
                "failed: no such device",
            ),
            (JobEventKind::Log, json!({"level": "warn", "message": "a\u{1b}[2Jb\nc"}), "warn: a\\u001b[2Jb c"),
            (JobEventKind::Checkpoint, json!({"step": 20}), "checkpoint after step 20"),
            (JobEventKind::Artifact, json!({"name": "a/b.svg"}), "kept a/b.svg"),
            (JobEventKind::Policy, json!({"policy": "pol_1"}), "policy pol_1"),
        ] {
            assert_eq!(event_text(&event(kind, data)), line);
        }
    }

    #[test]
    fn metrics_are_short_and_few() {
        let data = json!({"step": 12, "values": {"a": 0.25, "b": 1e-9, "c": 3, "d": "no number"}});
        assert_eq!(metrics(&data), "step 12: a 0.25 b 1.000e-9 c 3");
        let many: serde_json::Map<String, Value> = (0..100).map(|name| (format!("m{name:03}"), json!(1))).collect();
        assert_eq!(metrics(&json!({"values": many})).split(' ').count(), 2 * METRICS_MAX);
        assert_eq!(metrics(&json!(7)), "");
    }

    #[test]
    fn the_reward_comes_first() {
        let values = json!({"clip_fraction": 0.1, "entropy": 2, "env_ms_mean": 3, "evaluate/solve_rate": 0.5, "grad_norm": 1,
            "kl": 0, "learning_rate": 1, "loss": -0.25, "reward_mean": 0.75, "solve_rate": 0.5});
        let expected =
            "step 3: reward_mean 0.75 solve_rate 0.5 evaluate/solve_rate 0.5 loss -0.25 clip_fraction 0.1 entropy 2";
        assert_eq!(metrics(&json!({"step": 3, "values": values})), expected);
    }

    #[test]
    fn the_text_of_progress_says_what_is_left() {
        let progress = Progress {
            done: 3,
            total: 10,
            unit: "steps".to_owned(),
            message: Some("playing".to_owned()),
            remaining_ms: Some(90_000),
        };
        let view = View {
            shown: Shown::Lines,
            progress: Some(progress),
            metrics: "loss 1".to_owned(),
            written: None,
            unwritten: false,
        };
        let text = view.progress_text();
        assert!(text.starts_with("steps, playing, ") && text.ends_with(" left, loss 1"), "{text}");
    }
}
