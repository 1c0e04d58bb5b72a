//! Exact decimal numbers, held as a whole number of their smallest unit: amounts of money and decimals.

/// Longest text that is read as a number, in bytes.
const NUMBER_BYTES_MAX: usize = 64;

/// Reason why a text is no number at a scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotExact {
    /// It isn't written as one, or has more digits behind the point than the scale.
    #[error("it is no decimal number with that many digits behind the point")]
    Malformed,
    /// It doesn't fit into 64 bits.
    #[error("it is too large")]
    TooLarge,
}

/// Digits behind the point in amounts of a currency, by ISO 4217; two for codes that aren't listed there.
#[must_use]
pub fn minor_digits(currency: &str) -> u8 {
    match currency {
        "BIF" | "CLP" | "DJF" | "GNF" | "ISK" | "JPY" | "KMF" | "KRW" | "PYG" | "RWF" | "UGX" | "VND" | "VUV"
        | "XAF" | "XOF" | "XPF" => 0,
        "BHD" | "IQD" | "JOD" | "KWD" | "LYD" | "OMR" | "TND" => 3,
        _ => 2,
    }
}

/// Writes `units` times 10^-`digits`, with all the digits: `show(1250, 2)` is `12.50`.
#[must_use]
pub fn show(units: i64, digits: u8) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let digits = usize::from(digits);
    let text = format!("{:0width$}", units.unsigned_abs(), width = digits + 1);
    let (whole, fraction) = text.split_at(text.len() - digits);
    if digits == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// Reads a number that is exact with `digits` digits behind the point; fewer may be written, and zeros at the end.
///
/// # Errors
/// When it isn't such a number, or doesn't fit.
pub fn parse(text: &str, digits: u8) -> Result<i64, NotExact> {
    let (sign, unsigned) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (whole, fraction) = match unsigned.split_once('.') {
        Some((_, "")) => return Err(NotExact::Malformed),
        Some((whole, fraction)) => (whole, fraction.trim_end_matches('0')),
        None => (unsigned, ""),
    };
    if whole.is_empty() || fraction.len() > usize::from(digits) || text.len() > NUMBER_BYTES_MAX {
        return Err(NotExact::Malformed);
    }
    let padding = std::iter::repeat_n('0', usize::from(digits) - fraction.len());
    whole.chars().chain(fraction.chars()).chain(padding).try_fold(0_i64, |units, letter| {
        let digit = letter.to_digit(10).ok_or(NotExact::Malformed)?;
        let shifted = units.checked_mul(10).ok_or(NotExact::TooLarge)?;
        shifted.checked_add(sign * i64::from(digit)).ok_or(NotExact::TooLarge)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact() {
        for (units, digits, text) in [
            (1250, 2, "12.50"),
            (-5, 2, "-0.05"),
            (0, 2, "0.00"),
            (7, 0, "7"),
            (-1, 3, "-0.001"),
            (i64::MAX, 2, "92233720368547758.07"),
            (i64::MIN, 0, "-9223372036854775808"),
        ] {
            assert_eq!(show(units, digits), text);
            assert_eq!(parse(text, digits), Ok(units), "{text}");
        }
        assert_eq!((parse("12.5", 2), parse("12", 2), parse("12.500", 2)), (Ok(1250), Ok(1200), Ok(1250)));
    }

    #[test]
    fn inexact_amounts_are_refused() {
        for text in ["", "-", ".5", "5.", "12.505", "1e3", "+1", "1 ", "--1", "1.-5", "NaN", "٣", &"0".repeat(65)] {
            assert_eq!(parse(text, 2), Err(NotExact::Malformed), "{text}");
        }
        for text in ["92233720368547758.08", "99999999999999999999"] {
            assert_eq!(parse(text, 2), Err(NotExact::TooLarge), "{text}");
        }
    }

    #[test]
    fn currencies_have_their_digits() {
        assert_eq!(["EUR", "JPY", "KWD"].map(minor_digits), [2, 0, 3]);
    }
}
