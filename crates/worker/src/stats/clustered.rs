//! A mean with an interval that knows that episodes of one task depend on each other.
//!
//! E. Miller, "Adding Error Bars to Evals", <https://arxiv.org/abs/2411.00640>, section 2.2; A. C. Cameron and D. L. Miller, "A
//! Practitioner's Guide to Cluster-Robust Inference", Journal of Human Resources 50 (2015), section II: with `x_gi` the values of cluster
//! `g`, `m` their mean over all `n`, and `u_g = Σ_i (x_gi - m)`,
//! `SE² = G / (G - 1) · Σ_g u_g² / n²`, and the interval is `m ± t(G - 1) · SE`. With one value per cluster this is the plain standard
//! error `s / √n`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::student;

/// A mean with what is known of its error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// Over all values.
    pub mean: f64,
    /// Clustered; null with fewer than two clusters.
    pub standard_error: Option<f64>,
    /// 95%; null with fewer than two clusters, and where all clusters agree: that says nothing about others.
    pub interval: Option<[f64; 2]>,
    /// Number of values.
    pub samples: u64,
    /// Number of clusters that they form.
    pub clusters: u64,
}

/// A standard error that is rounding alone.
const ROUNDING: f64 = 1e-12;

impl Estimate {
    /// With an interval that stays where the values can be.
    #[must_use]
    pub fn within(mut self, low: f64, high: f64) -> Self {
        self.interval = self.interval.map(|[from, to]| [from.clamp(low, high), to.clamp(low, high)]);
        self
    }

    /// True if the clusters differ, so that their spread says something.
    #[must_use]
    pub fn is_spread(&self) -> bool {
        self.standard_error.is_some_and(|error| error > ROUNDING)
    }
}

/// The mean of values, each with its cluster; `None` without any.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts of episodes stay far below 2^53")]
pub fn mean<C: Ord>(values: impl IntoIterator<Item = (C, f64)>) -> Option<Estimate> {
    // In the order of the clusters, so that the same values in another order give the same bits but for the sums within clusters.
    let mut sums: BTreeMap<C, (f64, u64)> = BTreeMap::new();
    for (cluster, value) in values {
        let (sum, count) = sums.entry(cluster).or_default();
        *sum += value;
        *count += 1;
    }
    let samples: u64 = sums.values().map(|(_, count)| count).sum();
    if samples == 0 {
        return None;
    }
    let clusters = sums.len() as u64;
    let mean = sums.values().map(|(sum, _)| sum).sum::<f64>() / samples as f64;
    let mut estimate = Estimate { mean, standard_error: None, interval: None, samples, clusters };
    if let Some(t) = student::point_95(clusters - 1) {
        let squares: f64 = sums.values().map(|(sum, count)| (sum - *count as f64 * mean).powi(2)).sum();
        let correction = clusters as f64 / (clusters - 1) as f64;
        let error = (correction * squares).sqrt() / samples as f64;
        estimate.standard_error = Some(error);
        estimate.interval = estimate.is_spread().then_some([mean - t * error, mean + t * error]);
    }
    Some(estimate)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 1e-9
    }

    /// The numbers are those of `known.py`.
    #[test]
    fn it_agrees_with_the_sandwich_of_a_regression_on_a_constant() {
        let values = [(0, 1.0), (0, 1.0), (0, 0.0), (1, 0.5), (1, 0.25), (2, 0.0), (3, 1.0)];
        let found = mean(values).unwrap();
        assert_eq!((found.samples, found.clusters), (7, 4));
        assert!(close(found.mean, 0.535_714_285_714_285_6), "{found:?}");
        assert!(close(found.standard_error.unwrap(), 0.143_825_676_951_469_22), "{found:?}");
        let [low, high] = found.interval.unwrap();
        assert!(close(low, 0.077_996_791_495_154_26) && close(high, 0.993_431_779_933_416_9), "{found:?}");
    }

    #[test]
    fn one_value_per_cluster_gives_the_plain_standard_error() {
        let found = mean([0.1, 0.9, 0.4, 0.4, 0.7].into_iter().enumerate()).unwrap();
        assert!(close(found.mean, 0.5) && close(found.standard_error.unwrap(), 0.137_840_487_520_902_22), "{found:?}");
    }

    #[test]
    fn one_cluster_says_nothing_about_the_error() {
        assert_eq!(mean(Vec::<(u8, f64)>::new()), None);
        let alone = mean([(0, 1.0), (0, 0.0)]).unwrap();
        assert_eq!((alone.mean, alone.standard_error, alone.interval), (0.5, None, None));
    }

    #[test]
    fn clusters_that_agree_say_nothing_about_others_and_intervals_stay_within_bounds() {
        let agreed = mean([(0, 1.0), (0, 1.0), (1, 1.0), (2, 1.0)]).unwrap();
        assert_eq!((agreed.mean, agreed.standard_error, agreed.interval), (1.0, Some(0.0), None));
        let halves = mean([(0, 1.0), (0, 0.0), (1, 0.0), (1, 1.0)]).unwrap();
        assert_eq!((halves.mean, halves.interval), (0.5, None));
        let few = mean([(0, 1.0), (1, 1.0), (2, 0.0)]).unwrap();
        assert!(few.interval.is_some_and(|[low, high]| low < 0.0 && high > 1.0), "{few:?}");
        assert_eq!(few.within(0.0, 1.0).interval, Some([0.0, 1.0]));
    }

    proptest! {
        #[test]
        fn the_names_and_the_order_of_clusters_do_not_matter(
            values in proptest::collection::vec((0_u8..6, 0.0_f64..1.0), 1..60), turn in 0_usize..60, shift in 0_u8..6,
        ) {
            let first = mean(values.iter().copied()).unwrap();
            let mut moved: Vec<(u8, f64)> =
                values.iter().map(|(cluster, value)| (5 - (cluster + shift) % 6, *value)).collect();
            let length = moved.len();
            moved.rotate_left(turn % length);
            let second = mean(moved).unwrap();
            prop_assert!(close(first.mean, second.mean));
            prop_assert_eq!(first.clusters, second.clusters);
            prop_assert_eq!(first.interval.is_some(), second.interval.is_some());
            let (one, other) = (first.standard_error.unwrap_or(0.0), second.standard_error.unwrap_or(0.0));
            prop_assert!(close(one, other));
        }

        #[test]
        fn a_value_that_each_cluster_repeats_adds_nothing(values in proptest::collection::vec(0.0_f64..1.0, 2..30)) {
            let once = mean(values.iter().copied().enumerate()).unwrap();
            let thrice = mean(values.iter().copied().enumerate().flat_map(|pair| [pair; 3])).unwrap();
            prop_assert!(close(once.standard_error.unwrap(), thrice.standard_error.unwrap()));
        }
    }
}
