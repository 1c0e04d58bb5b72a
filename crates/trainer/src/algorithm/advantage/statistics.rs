//! Means, standard deviations (n - 1) and medians that do not depend on the order of their numbers and are exact for
//! equal ones: numbers are sorted and shifted by the smallest before they are added.

/// Keeps the whitening quotient finite; it stands beside the variance, under the root.
const WHITENING_VARIANCE_MIN: f64 = 1e-8;

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// The mean; 0 of nothing.
pub(super) fn mean(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    let Some(least) = sorted.first().copied() else { return 0.0 };
    least + sorted.iter().map(|value| value - least).sum::<f64>() / sorted.len() as f64
}

/// The standard deviation with n - 1, that of a sample; 0 of fewer than two numbers.
pub(super) fn sample_deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    let squares: f64 = sorted(values).iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// The median; of an even count the lower of the two in the middle, so that it is always one of the numbers. 0 of
/// nothing.
pub(super) fn lower_median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    sorted.len().checked_sub(1).map_or(0.0, |last| sorted[last / 2])
}

/// (value - mean) / (sd of n - 1 + epsilon), or without the division; 0 for fewer than two and for equal numbers.
pub(super) fn normalised(values: &[f64], epsilon: f64, divide: bool) -> Vec<f64> {
    let (mean, deviation) = (mean(values), sample_deviation(values));
    let scale = if divide { deviation + epsilon } else { 1.0 };
    let part = |value: &f64| {
        let centred = value - mean;
        // Also where epsilon is 0: nothing over nothing is nothing here.
        if centred == 0.0 { 0.0 } else { centred / scale }
    };
    values.iter().map(part).collect()
}

/// Mean and 1 / sqrt(variance of n - 1 + 1e-8) over numbers that stand for so many tokens each.
pub(super) fn whitening(values: &[(f64, usize)]) -> (f64, f64) {
    let mut sorted: Vec<(f64, usize)> = values.iter().copied().filter(|(_, tokens)| *tokens > 0).collect();
    sorted.sort_unstable_by(|(left, less), (right, more)| left.total_cmp(right).then(less.cmp(more)));
    let tokens: usize = sorted.iter().map(|(_, tokens)| tokens).sum();
    let Some(least) = sorted.first().map(|(value, _)| *value) else { return (0.0, 0.0) };
    let mean =
        least + sorted.iter().map(|(value, tokens)| (value - least) * *tokens as f64).sum::<f64>() / tokens as f64;
    let squares: f64 = sorted.iter().map(|(value, tokens)| (value - mean).powi(2) * *tokens as f64).sum();
    let variance = if tokens < 2 { 0.0 } else { squares / (tokens - 1) as f64 };
    (mean, 1.0 / (variance + WHITENING_VARIANCE_MIN).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviation_divides_by_one_less_than_the_count() {
        assert_eq!(sample_deviation(&[1.0, 3.0]), 2.0_f64.sqrt());
        assert_eq!(sample_deviation(&[1.0, 2.0, 3.0]), 1.0);
        assert_eq!(sample_deviation(&[5.0]), 0.0);
    }

    #[test]
    fn the_mean_of_equal_numbers_is_that_number_exactly() {
        for count in 1..50 {
            assert_eq!(mean(&vec![0.1; count]), 0.1);
            assert_eq!(whitening(&vec![(0.1, 3); count]).0, 0.1);
        }
    }

    #[test]
    fn a_median_is_always_one_of_the_numbers() {
        assert_eq!(lower_median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(lower_median(&[4.0, 1.0, 3.0, 2.0]), 2.0);
        assert_eq!(lower_median(&[]), 0.0);
    }

    #[test]
    fn equal_numbers_are_zero_even_where_nothing_keeps_the_quotient_finite() {
        assert_eq!(normalised(&[0.3, 0.3], 0.0, true), [0.0, 0.0]);
    }

    #[test]
    fn whitening_counts_a_number_once_per_token() {
        let (mean, scale) = whitening(&[(1.0, 1), (4.0, 2), (99.0, 0)]);
        let (same_mean, same_scale) = whitening(&[(4.0, 1), (1.0, 1), (4.0, 1)]);
        assert_eq!((mean, same_mean), (3.0, 3.0));
        assert!((scale - same_scale).abs() < 1e-15 && (scale - 1.0 / 3.0_f64.sqrt()).abs() < 1e-8);
    }
}
