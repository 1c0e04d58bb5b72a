//! The numbers that `trainer/known/algorithms.py` worked out apart from this crate, for tests.

use serde_json::Value;

/// All known numbers.
pub(crate) fn known() -> Value {
    serde_json::from_str(include_str!("../../known/algorithms.json")).expect("the known numbers are JSON")
}

/// A list of numbers; `null` stands for none.
pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|number| number.as_f64().unwrap_or(f64::NAN)).collect()
}

/// Asserts that two lists agree within `tolerance` x the larger of 1 and the expected number.
pub(crate) fn assert_near(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{found:?} has another length than {expected:?}");
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let distance = (found - expected).abs();
        assert!(distance <= tolerance * expected.abs().max(1.0), "at {index}: {found} instead of {expected}");
    }
}
