//! Updates in a row that teach nothing, so that people are told before the job is over.

use super::batch::Row;
use super::playing::Batch;
use palestra_protocol::spec::train::Rollout;

/// Updates in a row after which a warning is due.
const UPDATES: u64 = 3;

/// Counts updates in a row that taught nothing.
#[derive(Debug, Default)]
pub(super) struct Idle {
    updates: u64,
}

impl Idle {
    /// Takes what was wrong with an update, or none if it taught something. Answers a warning after the third in a row, and
    /// again whenever twice as many have come.
    pub(super) fn note(&mut self, reason: Option<String>) -> Option<String> {
        let Some(reason) = reason else {
            self.updates = 0;
            return None;
        };
        self.updates += 1;
        let due = self.updates.is_multiple_of(UPDATES) && (self.updates / UPDATES).is_power_of_two();
        due.then(|| format!("the last {} updates {reason}", self.updates))
    }
}

/// Reason why a batch with these rows teaches nothing; none where it does.
#[must_use]
pub(super) fn reason(batch: &Batch, rows: &[Row], rollout: &Rollout) -> Option<String> {
    nothing_taught(batch, rows, rollout).map(|why| format!("taught nothing: {why}"))
}

fn nothing_taught(batch: &Batch, rows: &[Row], rollout: &Rollout) -> Option<String> {
    let counted = batch.episodes.iter().filter(|episode| episode.counts);
    let rewards: Vec<f64> = counted.map(|episode| episode.reward).collect();
    if rewards.is_empty() {
        let (cut, all) = (batch.truncated(), batch.episodes.len());
        return Some(format!(
            "no episode counts; {cut} of {all} were cut by a limit: {}, or count cut episodes",
            raise(rollout)
        ));
    }
    if rows.iter().flat_map(|row| &row.actions).any(|target| target.advantage != 0.0) {
        return None;
    }
    if batch.played.iter().all(|played| played.turns.is_empty()) {
        return Some(format!(
            "no episode has an answer, so every prompt fills rollout.max_context_tokens ({}): raise it",
            rollout.max_context_tokens
        ));
    }
    let within = || {
        "the rewards of each task are equal: choose tasks that succeed now and then, or a larger group_size".to_owned()
    };
    let why = equal_rewards(&rewards).unwrap_or_else(within);
    Some(match batch.truncated() {
        0 => why,
        cut => format!("{why}; {cut} of {} episodes were cut by a limit: {}", batch.episodes.len(), raise(rollout)),
    })
}

/// The limits that cut episodes, as advice.
fn raise(rollout: &Rollout) -> String {
    format!(
        "raise rollout.max_tokens ({}), max_turns ({}) or max_context_tokens ({})",
        rollout.max_tokens, rollout.max_turns, rollout.max_context_tokens
    )
}

/// Says that all rewards are equal, where they are.
#[must_use]
fn equal_rewards(rewards: &[f64]) -> Option<String> {
    let first = rewards.first()?;
    let equal = rewards.iter().all(|reward| reward == first);
    let all = match rewards.len() {
        1 => format!("the only reward is {first}"),
        count => format!("all {count} rewards are {first}"),
    };
    equal.then(|| format!("{all}: choose easier or harder tasks, another reward, or a policy that solves some of them"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_comes_after_three_updates_in_a_row_and_then_more_and_more_rarely() {
        let mut idle = Idle::default();
        let told: Vec<bool> = (0..13).map(|_| idle.note(Some("taught nothing: why".to_owned())).is_some()).collect();
        let due: Vec<usize> = (0..13).filter(|update| told[*update]).map(|update| update + 1).collect();
        assert_eq!(due, [3, 6, 12]);
        assert_eq!(idle.note(None), None);
        idle.note(Some("taught nothing: why".to_owned()));
        idle.note(Some("taught nothing: why".to_owned()));
        let warning = idle.note(Some("taught nothing: why".to_owned())).expect("a warning");
        assert_eq!(warning, "the last 3 updates taught nothing: why");
    }

    #[test]
    fn equal_rewards_are_told_by_their_number() {
        assert!(equal_rewards(&[0.5, 0.5]).is_some_and(|why| why.starts_with("all 2 rewards are 0.5: ")));
        assert_eq!(equal_rewards(&[0.5, 0.0]), None);
        assert_eq!(equal_rewards(&[]), None);
    }
}
