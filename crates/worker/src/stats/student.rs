//! Student's t distribution: how wide an interval must be when the spread is itself estimated from few clusters.
//!
//! Student, "The Probable Error of a Mean", Biometrika 6 (1908).

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Two-sided 95%.
const LEVEL: f64 = 0.975;
/// The same point of the standard normal distribution.
const NORMAL_POINT: f64 = 1.959_963_984_540_054;
/// Degrees of freedom from which the expansion is used: its error is below 1e-11 there, while what inverts the distribution loses digits
/// as they grow.
const EXPANDED_FREEDOM_MIN: u64 = 200;

/// The 97.5% point of the distribution with `freedom` degrees of freedom; `None` without any.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts of clusters stay far below 2^53")]
pub fn point_95(freedom: u64) -> Option<f64> {
    match freedom {
        0 => None,
        EXPANDED_FREEDOM_MIN.. => Some(expanded(freedom as f64)),
        _ => StudentsT::new(0.0, 1.0, freedom as f64).ok().map(|distribution| distribution.inverse_cdf(LEVEL)),
    }
}

/// Cornish and Fisher's expansion around the normal distribution: M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions"
/// (1964), 26.7.5.
fn expanded(freedom: f64) -> f64 {
    let x = NORMAL_POINT;
    let odd = |coefficients: &[f64]| coefficients.iter().rev().fold(0.0, |sum, factor| sum * x * x + factor) * x;
    let terms = [
        odd(&[1.0, 1.0]) / 4.0,
        odd(&[3.0, 16.0, 5.0]) / 96.0,
        odd(&[-15.0, 17.0, 19.0, 3.0]) / 384.0,
        odd(&[-945.0, -1920.0, 1482.0, 776.0, 79.0]) / 92_160.0,
    ];
    x + terms.iter().rev().fold(0.0, |sum, term| (sum + term) / freedom)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers are those of `known.py`.
    #[test]
    fn it_agrees_with_scipy() {
        for (freedom, expected) in STUDENT {
            let found = point_95(freedom).unwrap();
            assert!((found - expected).abs() < 1e-9 * expected, "{freedom}: {found}");
        }
        assert_eq!(point_95(0), None);
    }

    const STUDENT: [(u64, f64); 8] = [
        (1, 12.706_204_736_174_694),
        (2, 4.302_652_729_749_462),
        (4, 2.776_445_105_197_793_4),
        (30, 2.042_272_456_301_237_8),
        (199, 1.971_956_544_251_753_3),
        (200, 1.971_896_223_633_908_8),
        (1_000, 1.962_339_080_826_408_3),
        (100_000, 1.959_987_707_534_609_5),
    ];
}
