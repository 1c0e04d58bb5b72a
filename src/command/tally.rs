//! Results of the episodes of `palestra run`, as a line and as a table.

use std::collections::BTreeMap;

use palestra_protocol::id::RunId;
use palestra_protocol::spec::play::PolicyFrom;
use palestra_protocol::verdict::{Status, Verdict};
use serde::Serialize;

use crate::table::facts;
use crate::terminal::visible;
use palestra_worker::play::PlayError;
use palestra_worker::stats::wilson;

/// Results of all episodes.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Tally {
    scored: u64,
    strict: u64,
    score_sum: f64,
    /// Of the scores as their tasks rescale them; those of other tasks as they are.
    rescaled_sum: f64,
    /// True if any task rescales its score.
    rescales: bool,
    /// Episodes without a score, by reason: no samples, and never zeros.
    unscored: BTreeMap<String, Counted>,
    /// Scored episodes that no trainer may learn from.
    untrainable: Option<Counted>,
    /// Answers that ended because their tokens were used up.
    cut_answers: u64,
}

/// Episodes that are alike, with the cause that was met first.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
struct Counted {
    count: u64,
    /// The cause that was met first, in words.
    first: String,
}

impl Tally {
    /// Counts the answers of an episode that were cut.
    pub(super) const fn add_cut(&mut self, answers: u64) {
        self.cut_answers += answers;
    }

    /// Counts one episode.
    pub(super) fn add(&mut self, outcome: &Result<Verdict, PlayError>) {
        match outcome {
            Ok(verdict @ Verdict { status: Status::Scored, score: Some(score), rescaled, strict, .. }) => {
                self.scored += 1;
                if !verdict.trainable {
                    let new = || Counted { count: 0, first: untrainable(verdict) };
                    self.untrainable.get_or_insert_with(new).count += 1;
                }
                self.score_sum += score;
                self.rescaled_sum += rescaled.map_or(*score, |rescaled| rescaled.score);
                self.rescales |= rescaled.is_some();
                self.strict += u64::from(strict.unwrap_or(0));
            }
            Ok(verdict) => self.add_unscored(verdict.status.as_str(), || verdict.detail.clone().unwrap_or_default()),
            Err(error) => self.add_unscored(error.reason(), || error.to_string()),
        }
    }

    fn add_unscored(&mut self, reason: &str, cause: impl FnOnce() -> String) {
        let unscored = self.unscored.entry(reason.to_owned()).or_insert_with(|| Counted { count: 0, first: cause() });
        unscored.count += 1;
    }

    #[expect(clippy::cast_precision_loss, reason = "at most ten million episodes")]
    fn share(&self, sum: f64) -> Option<f64> {
        (self.scored > 0).then(|| sum / self.scored as f64)
    }

    /// The line of a run that asked for `episodes` and took `seconds`.
    #[expect(clippy::cast_precision_loss, reason = "at most ten million episodes")]
    pub(super) fn line(&self, run: RunId, environment: &str, policy: &PolicyFrom, episodes: u64, seconds: f64) -> Line {
        Line {
            run,
            environment: environment.to_owned(),
            policy: policy.to_string(),
            episodes,
            scored: self.scored,
            mean: self.share(self.score_sum),
            rescaled: self.share(self.rescaled_sum).filter(|_| self.rescales),
            strict: self.share(self.strict as f64),
            interval: wilson::interval_95(self.strict, self.scored),
            not_scored: self.unscored.clone(),
            not_trainable: self.untrainable.clone(),
            cut_answers: self.cut_answers,
            seconds: (seconds * 1e3).round() / 1e3,
        }
    }
}

/// The line that ends a run with `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Line {
    run: RunId,
    environment: String,
    policy: String,
    episodes: u64,
    pub(super) scored: u64,
    /// Of the scores; null without any.
    mean: Option<f64>,
    /// The mean of the scores between the floors and ceilings that tasks declare; absent if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    rescaled: Option<f64>,
    /// Share of scored episodes that passed every check.
    strict: Option<f64>,
    /// 95% Wilson interval of `strict`.
    interval: Option<[f64; 2]>,
    /// By reason.
    not_scored: BTreeMap<String, Counted>,
    /// Scored episodes that no trainer may learn from; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_trainable: Option<Counted>,
    /// Answers that ended because their tokens were used up.
    cut_answers: u64,
    seconds: f64,
}

impl Line {
    /// The same for people: a line per fact. The run is named where its episodes are kept.
    pub(super) fn describe(&self, kept: bool) -> String {
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |number| format!("{number:.4}"));
        let interval = self.interval.map(|[low, high]| format!(" (95% interval {low:.4} to {high:.4})"));
        let mut lines = vec![("environment", self.environment.clone()), ("policy", self.policy.clone())];
        lines.extend(kept.then(|| ("run", self.run.to_string())));
        lines.push(("episodes", format!("{}, of which {} were scored", self.episodes, self.scored)));
        for (reason, unscored) in &self.not_scored {
            lines.push(("not scored", format!("{} {reason}, first: {}", unscored.count, visible(&unscored.first))));
        }
        if let Some(Counted { count, first }) = &self.not_trainable {
            lines.push(("untrainable", format!("{count} of the scored, first: {}", visible(first))));
        }
        if self.cut_answers > 0 {
            lines.push(("cut off", format!("{} answers ended at --max-tokens", self.cut_answers)));
        }
        lines.push(("mean score", number(self.mean)));
        lines.extend(self.rescaled.map(|rescaled| ("rescaled", number(Some(rescaled)))));
        lines.push(("strict", number(self.strict) + &interval.unwrap_or_default()));
        lines.push(("seconds", self.seconds.to_string()));
        facts(lines)
    }

    /// The policy with the mean of its scores, in one line.
    pub(super) fn short(&self) -> String {
        let mean = self.mean.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.4}"));
        format!("{:<16} mean score {mean} of {} episodes in {} s", self.policy, self.scored, self.seconds)
    }

    /// The first cause of the most frequent reason that an episode was not scored.
    pub(super) fn first_cause(&self) -> Option<String> {
        let (reason, unscored) = self.not_scored.iter().max_by_key(|(_, unscored)| unscored.count)?;
        let first = visible(&unscored.first);
        Some(if first.starts_with(reason) { first } else { format!("{reason}: {first}") })
    }
}

/// Reason why nobody may learn from an episode: what its judge added last.
fn untrainable(verdict: &Verdict) -> String {
    let told = verdict.checks.iter().find_map(|check| check.evidence.lines().last().filter(|line| !line.is_empty()));
    told.unwrap_or("its judge cannot vouch for the score").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_client::ClientError;
    use palestra_protocol::problem::{Code, Problem};
    use serde_json::json;

    const RUN: &str = "run_0197a3c2f2a87c53b0a1d5e6f7089abc";

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
        let line = tally.line(RUN.parse().unwrap(), "puzzle/countdown@1", &PolicyFrom::Null, 4, 1.0);
        assert_eq!((line.episodes, line.scored), (4, 2));
        assert_eq!((line.mean, line.strict), (Some(0.75), Some(0.5)));
        let text = line.describe(true);
        for told in ["episodes     4, of which 2 were scored", "1 capacity, first: capacity", "1 infra_error", RUN] {
            assert!(text.contains(told), "{told}: {text}");
        }
        assert!(!line.describe(false).contains(RUN));
        tally.add(&Err(ClientError::from(Problem::new(Code::Invalid, "tasks have no\u{1b} difficulty")).into()));
        tally.add(&Err(ClientError::from(Problem::new(Code::Invalid, "something later")).into()));
        let cause = tally.line(RUN.parse().unwrap(), "a/b@1", &PolicyFrom::Null, 6, 1.0).first_cause().unwrap();
        assert!(cause.starts_with("invalid (422): ") && cause.ends_with("tasks have no\\u001b difficulty"), "{cause}");
    }

    #[test]
    fn scores_that_nobody_may_learn_from_are_counted_with_their_reason() {
        let mut untrusted = verdict("scored", Some(1.0));
        untrusted.trainable = false;
        untrusted.checks =
            serde_json::from_value(json!([{"name": "reward", "weight": 1.0, "score": 1.0, "passed": true,
            "evidence": "the tests gave 1; they printed: ok\nwhat judges may have been changed: the reward"}]))
            .unwrap();
        let mut tally = Tally::default();
        tally.add(&Ok(verdict("scored", Some(1.0))));
        tally.add(&Ok(untrusted));
        let text = tally.line(RUN.parse().unwrap(), "terminal/x@1", &PolicyFrom::Oracle, 2, 1.0).describe(false);
        assert!(
            text.contains("untrainable  1 of the scored, first: what judges may have been changed: the reward"),
            "{text}"
        );
    }

    #[test]
    fn the_line_without_any_score_has_no_numbers() {
        let line = Tally::default().line(RUN.parse().unwrap(), "puzzle/countdown@1", &PolicyFrom::Null, 1, 0.5);
        assert_eq!(
            serde_json::to_string(&line).unwrap(),
            format!(
                r#"{{"run":"{RUN}","environment":"puzzle/countdown@1","policy":"builtin:null","episodes":1,"scored":0,"mean":null,"strict":null,"interval":null,"not_scored":{{}},"cut_answers":0,"seconds":0.5}}"#
            )
        );
    }
}
