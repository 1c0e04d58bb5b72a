//! Numbers of days as people write them.

use palestra_environment::verifier::number::Written;

/// Reads a whole number; `days` may stand behind it.
pub(super) fn read_count(text: &str) -> Option<i64> {
    let number = text.strip_suffix("days").or_else(|| text.strip_suffix("day")).unwrap_or(text);
    let digits = number.bytes().all(|byte| byte.is_ascii_digit() || b"+-,. ".contains(&byte));
    match Written::parse(number) {
        Some(Written::Exact(value)) if digits && value.denominator() == 1 => i64::try_from(value.numerator()).ok(),
        _ => None,
    }
}
