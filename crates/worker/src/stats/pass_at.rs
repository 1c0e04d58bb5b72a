//! Unbiased estimates of the probability that a task is solved within `k` attempts, and that all `k` attempts solve it.
//!
//! M. Chen et al., "Evaluating Large Language Models Trained on Code", <https://arxiv.org/abs/2107.03374>, section 2.1: with `n` samples of a
//! task, `c` of them correct, `pass@k = 1 - C(n - c, k) / C(n, k)`. S. Yao et al., "τ-bench", <https://arxiv.org/abs/2406.12045>, section
//! 4: `pass^k = C(c, k) / C(n, k)`. Both are averaged over tasks.

use serde::Serialize;

/// Both at one `k`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PassAt {
    /// Number of attempts.
    pub k: u32,
    /// At least one of them solves the task.
    pub any: f64,
    /// All of them solve it.
    pub all: f64,
    /// Over how many tasks: those with at least `k` samples.
    pub tasks: u64,
}

/// Both for every `k` from 1 to `k_max` that some task has samples for; `tasks` are numbers of samples and, of those, of correct ones.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts of episodes stay far below 2^53")]
pub fn estimate(tasks: &[(u64, u64)], k_max: u32) -> Vec<PassAt> {
    // Of each task, the share of the choices of k samples without a correct one, and of those without a wrong one.
    let mut shares: Vec<(u64, u64, f64, f64)> = tasks
        .iter()
        .filter(|(samples, correct)| correct <= samples)
        .map(|&(samples, correct)| (samples, correct, 1.0, 1.0))
        .collect();
    let mut found = Vec::new();
    for k in 1..=k_max {
        let taken = u64::from(k - 1);
        shares.retain(|(samples, ..)| *samples > taken);
        if shares.is_empty() {
            break;
        }
        for (samples, correct, none, all) in &mut shares {
            let left = (*samples - taken) as f64;
            *none *= (*samples - *correct).saturating_sub(taken) as f64 / left;
            *all *= correct.saturating_sub(taken) as f64 / left;
        }
        let count = shares.len() as f64;
        let any = 1.0 - shares.iter().map(|(_, _, none, _)| none).sum::<f64>() / count;
        let all = shares.iter().map(|(_, _, _, all)| all).sum::<f64>() / count;
        found.push(PassAt { k, any, all, tasks: shares.len() as u64 });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers are those of `known.py`, which counts every choice.
    #[test]
    fn it_agrees_with_counting_every_choice() {
        let found = estimate(&[(5, 2), (5, 0), (5, 5), (3, 1)], 6);
        let expected = [
            (0.433_333_333_333_333_3, 0.433_333_333_333_333_3, 4),
            (0.591_666_666_666_666_7, 0.275, 4),
            (0.725, 0.25, 4),
            (0.666_666_666_666_666_6, 0.333_333_333_333_333_3, 3),
            (0.666_666_666_666_666_6, 0.333_333_333_333_333_3, 3),
        ];
        assert_eq!(found.len(), expected.len());
        for (at, (any, all, tasks)) in found.iter().zip(expected) {
            assert!((at.any - any).abs() < 1e-12 && (at.all - all).abs() < 1e-12, "{at:?}");
            assert_eq!(at.tasks, tasks);
        }
    }

    #[test]
    fn more_attempts_solve_more_and_all_of_them_less() {
        let found = estimate(&[(40, 3), (40, 20)], 40);
        assert!(found.windows(2).all(|pair| pair[0].any <= pair[1].any && pair[0].all >= pair[1].all));
        assert!(found.iter().all(|at| (0.0..=1.0).contains(&at.any) && (0.0..=1.0).contains(&at.all)));
        assert!(estimate(&[], 3).is_empty());
    }
}
