//! Results of the episodes of `palestra run`, as a line and as a table.

use std::collections::BTreeMap;

use palestra_protocol::spec::play::PolicyFrom;
use palestra_protocol::verdict::{Status, Verdict};
use serde::Serialize;

use crate::terminal::Table;
use palestra_worker::play::PlayError;
use palestra_worker::stats::wilson;

/// Results of all episodes.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Tally {
    pub(super) scored: u64,
    strict: u64,
    score_sum: f64,
    /// Episodes without a score, by reason: no samples, and never zeros.
    pub(super) unscored: BTreeMap<String, u64>,
}

impl Tally {
    /// Counts one episode.
    pub(super) fn add(&mut self, outcome: &Result<Verdict, PlayError>) {
        match outcome {
            Ok(Verdict { status: Status::Scored, score: Some(score), strict, .. }) => {
                self.scored += 1;
                self.score_sum += score;
                self.strict += u64::from(strict.unwrap_or(0));
            }
            Ok(verdict) => *self.unscored.entry(verdict.status.as_str().to_owned()).or_default() += 1,
            Err(error) => *self.unscored.entry(error.reason().to_owned()).or_default() += 1,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "at most ten million episodes")]
    fn share(&self, sum: f64) -> Option<f64> {
        (self.scored > 0).then(|| sum / self.scored as f64)
    }

    /// The line of a run that asked for `episodes` and took `seconds`.
    #[expect(clippy::cast_precision_loss, reason = "at most ten million episodes")]
    pub(super) fn line(&self, environment: &str, policy: &PolicyFrom, episodes: u64, seconds: f64) -> Line {
        Line {
            environment: environment.to_owned(),
            policy: policy.to_string(),
            episodes,
            scored: self.scored,
            mean: self.share(self.score_sum),
            strict: self.share(self.strict as f64),
            interval: wilson::interval_95(self.strict, self.scored),
            seconds: (seconds * 1e3).round() / 1e3,
        }
    }
}

/// The line that ends a run with `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Line {
    environment: String,
    policy: String,
    episodes: u64,
    scored: u64,
    /// Of the scores; null without any.
    mean: Option<f64>,
    /// Share of scored episodes that passed every check.
    strict: Option<f64>,
    /// 95% Wilson interval of `strict`.
    interval: Option<[f64; 2]>,
    seconds: f64,
}

/// The same for people, with what was not scored and why.
pub(super) fn table(line: &Line, tally: &Tally) -> Table {
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |number| format!("{number:.4}"));
    let unscored: Vec<String> = tally.unscored.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    let interval = line.interval.map_or_else(|| "-".to_owned(), |[low, high]| format!("{low:.4} to {high:.4}"));
    let mut table = Table::new([
        "environment",
        "policy",
        "episodes",
        "scored",
        "not scored",
        "mean",
        "strict",
        "95% of strict",
        "seconds",
    ]);
    table.add_row([
        line.environment.clone(),
        line.policy.clone(),
        line.episodes.to_string(),
        line.scored.to_string(),
        if unscored.is_empty() { "0".to_owned() } else { unscored.join(", ") },
        number(line.mean),
        number(line.strict),
        interval,
        line.seconds.to_string(),
    ]);
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_client::ClientError;
    use palestra_protocol::problem::{Code, Problem};
    use serde_json::json;

    fn verdict(status: &str, score: Option<f64>) -> Verdict {
        let strict = score.map(|score| u8::from(score >= 1.0));
        serde_json::from_value(json!({
            "episode": "epi_0197a3c2f2a87c53b0a1d5e6f7089abc", "status": status, "score": score, "strict": strict,
            "passed": strict == Some(1), "trainable": true, "checks": [], "judge": "state",
            "verifier": {"name": "rules", "version": "sha256:00"}, "state": null, "seq": 1,
            "usage": {"steps": 1, "calls": 0, "env_ms": 0, "judge_ms": 0, "tokens": 0, "cost": 0.0},
        }))
        .unwrap()
    }

    #[test]
    fn episodes_without_a_score_are_counted_apart_and_never_as_zeros() {
        let mut tally = Tally::default();
        tally.add(&Ok(verdict("scored", Some(1.0))));
        tally.add(&Ok(verdict("scored", Some(0.5))));
        tally.add(&Ok(verdict("infra_error", None)));
        tally.add(&Err(ClientError::from(Problem::new(Code::Capacity, "full")).into()));
        let line = tally.line("puzzle/countdown@1", &PolicyFrom::Null, 4, 1.0);
        assert_eq!((line.episodes, line.scored), (4, 2));
        assert_eq!((line.mean, line.strict), (Some(0.75), Some(0.5)));
        assert_eq!(tally.unscored, BTreeMap::from([("capacity".to_owned(), 1), ("infra_error".to_owned(), 1)]));
    }

    #[test]
    fn the_line_without_any_score_has_no_numbers() {
        let line = Tally::default().line("puzzle/countdown@1", &PolicyFrom::Null, 1, 0.5);
        assert_eq!(
            serde_json::to_string(&line).unwrap(),
            r#"{"environment":"puzzle/countdown@1","policy":"builtin:null","episodes":1,"scored":0,"mean":null,"strict":null,"interval":null,"seconds":0.5}"#
        );
    }
}
