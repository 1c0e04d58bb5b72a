//! Arguments that take one of a few words: help and completions list them, and a wrong word is answered with the nearest one.

use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Reads a number from 0 to 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "the value must be a number from 0 to 1".to_owned())
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
