//! Arguments that take one of a few words: help and completions list them, and a wrong word is answered with the nearest one.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Reads a number from 0 to 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "the value must be a number from 0 to 1".to_owned())
}

/// Reads a whole number of a range. One that is too large for any number is told by the bounds as well.
pub(super) fn whole<T>(bounds: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok().filter(|number| bounds.contains(number));
        number.ok_or_else(|| format!("the value must be a whole number from {} to {}", bounds.start(), bounds.end()))
    }
}

/// Reads one of these words as its value.
pub(super) fn choice<T, const N: usize>(words: [(&'static str, T); N]) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words.iter().map(|(word, _)| *word).collect::<Vec<_>>()).try_map(move |given: String| {
        let found = words.iter().find(|(word, _)| *word == given);
        found.map(|(_, value)| value.clone()).ok_or_else(|| format!("{given:?} is unknown: choose a word of the list"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_out_of_range_is_told_by_the_bounds_however_large_it_is() {
        let read = whole(1..=1_000_u32);
        assert_eq!((read("1"), read("1000")), (Ok(1), Ok(1_000)));
        for wrong in ["0", "1001", "99999999999999999999999999", "-1", "1.5", "many", ""] {
            assert_eq!(read(wrong), Err("the value must be a whole number from 1 to 1000".to_owned()), "{wrong}");
        }
    }
}
