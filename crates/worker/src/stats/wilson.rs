//! The Wilson score interval of a proportion.
//!
//! E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", Journal of the American Statistical
//! Association 22 (1927). Unlike mean ± 2 standard errors it stays inside [0, 1] and does not shrink to nothing when every
//! trial went the same way, which is common in evaluations.

/// The 97.5% point of the standard normal distribution: two-sided 95%.
const Z_95: f64 = 1.959_963_984_540_054;

/// The 95% interval of the rate behind `successes` out of `trials`; `None` without a trial.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts of episodes stay far below 2^53")]
pub fn interval_95(successes: u64, trials: u64) -> Option<[f64; 2]> {
    if trials == 0 || successes > trials {
        return None;
    }
    let n = trials as f64;
    let p = successes as f64 / n;
    let z2 = Z_95 * Z_95;
    // center = (p + z²/2n) / (1 + z²/n); half = z/(1 + z²/n) · sqrt(p(1-p)/n + z²/4n²)
    let denominator = 1.0 + z2 / n;
    let center = (p + z2 / (2.0 * n)) / denominator;
    let half = Z_95 / denominator * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    // At the ends the bound is exact, and rounding must not move it.
    let low = if successes == 0 { 0.0 } else { (center - half).max(0.0) };
    let high = if successes == trials { 1.0 } else { (center + half).min(1.0) };
    Some([low, high])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17 (1998), table I,
    /// method 3.
    #[test]
    fn it_agrees_with_published_numbers() {
        for (successes, trials, low, high) in
            [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)]
        {
            let [found_low, found_high] = interval_95(successes, trials).unwrap();
            assert!((found_low - low).abs() < 5e-5, "{successes} of {trials}: {found_low}");
            assert!((found_high - high).abs() < 5e-5, "{successes} of {trials}: {found_high}");
        }
    }

    #[test]
    fn it_is_symmetric_and_stays_inside() {
        for trials in [1, 2, 10, 1_000] {
            for successes in 0..=trials {
                let [low, high] = interval_95(successes, trials).unwrap();
                let [other_low, other_high] = interval_95(trials - successes, trials).unwrap();
                assert!((low - (1.0 - other_high)).abs() < 1e-12 && (high - (1.0 - other_low)).abs() < 1e-12);
                assert!(0.0 <= low && low < high && high <= 1.0);
            }
        }
        assert_eq!(interval_95(0, 100).map(|[low, _]| low), Some(0.0));
        assert_eq!(interval_95(100, 100).map(|[_, high]| high), Some(1.0));
        assert_eq!(interval_95(0, 0), None);
        assert_eq!(interval_95(3, 2), None);
    }
}
