//! The learning rate of each update.

use std::f64::consts::PI;

use palestra_protocol::spec::train::{Optimizer, Schedule};

/// The rate of the `update`-th of `updates` updates, counted from 0. It grows in a line over the warm-up, to the full
/// rate at its last update, and goes on as the plan says; a falling one is full at the first update after the warm-up
/// and would be 0 right after the last, so that no update is wasted.
#[must_use]
pub fn rate(plan: &Optimizer, update: u64, updates: u64) -> f64 {
    if update < plan.warmup_steps {
        return plan.lr * (update + 1) as f64 / plan.warmup_steps as f64;
    }
    let length = updates.saturating_sub(plan.warmup_steps).max(1) as f64;
    let gone = ((update - plan.warmup_steps) as f64 / length).min(1.0);
    let share = match plan.schedule {
        Schedule::Constant => 1.0,
        Schedule::Linear => 1.0 - gone,
        Schedule::Cosine => 0.5 * (1.0 + (PI * gone).cos()),
    };
    plan.lr * share
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(schedule: Schedule, warmup_steps: u64, updates: u64) -> Vec<f64> {
        let plan = Optimizer { lr: 2.0, schedule, warmup_steps, ..Optimizer::default() };
        (0..updates).map(|update| rate(&plan, update, updates)).collect()
    }

    fn near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
        }
    }

    #[test]
    fn rates_grow_over_the_warm_up_and_go_on_as_planned() {
        near(&rates(Schedule::Constant, 4, 6), &[0.5, 1.0, 1.5, 2.0, 2.0, 2.0]);
        near(&rates(Schedule::Linear, 2, 6), &[1.0, 2.0, 2.0, 1.5, 1.0, 0.5]);
        let root = 2f64.sqrt();
        near(&rates(Schedule::Cosine, 0, 4), &[2.0, 1.0 + root / 2.0, 1.0, 1.0 - root / 2.0]);
    }

    #[test]
    fn the_only_update_of_a_job_is_made_at_the_full_rate() {
        for schedule in [Schedule::Constant, Schedule::Linear, Schedule::Cosine] {
            near(&rates(schedule, 0, 1), &[2.0]);
            near(&rates(schedule, 1, 1), &[2.0]);
        }
    }

    #[test]
    fn a_warm_up_longer_than_the_job_and_updates_past_the_end_stay_finite() {
        near(&rates(Schedule::Linear, 10, 2), &[0.2, 0.4]);
        let plan = Optimizer { lr: 1.0, schedule: Schedule::Cosine, ..Optimizer::default() };
        assert!(rate(&plan, 50, 10).abs() < 1e-12);
    }
}
