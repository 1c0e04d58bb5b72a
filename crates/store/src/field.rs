//! Values on their way out of a row. Data that does not have the form it was written in is an error, never a panic.

use std::str::FromStr;

use palestra_protocol::time::Timestamp;
use serde::de::DeserializeOwned;

use super::StoreError;

/// A row as an engine answers it. Each engine implements these few reads, all else is built on them.
pub(super) trait Fields: Send + Sync {
    /// Text, or none.
    fn text_or_none(&self, name: &str) -> Result<Option<String>, StoreError>;
    /// A whole number, or none.
    fn integer_or_none(&self, name: &str) -> Result<Option<i64>, StoreError>;
    /// A real number, or none.
    fn real_or_none(&self, name: &str) -> Result<Option<f64>, StoreError>;
    /// Yes or no.
    fn flag(&self, name: &str) -> Result<bool, StoreError>;
    /// Bytes.
    fn bytes(&self, name: &str) -> Result<Vec<u8>, StoreError>;

    /// Text.
    fn text(&self, name: &str) -> Result<String, StoreError> {
        present(name, self.text_or_none(name)?)
    }

    /// A whole number that is not negative, or none.
    fn number_or_none(&self, name: &str) -> Result<Option<u64>, StoreError> {
        let number = self.integer_or_none(name)?;
        number.map(|number| u64::try_from(number).map_err(|_| broken(name, "it is negative"))).transpose()
    }

    /// A whole number that is not negative.
    fn number(&self, name: &str) -> Result<u64, StoreError> {
        present(name, self.number_or_none(name)?)
    }

    /// A version.
    fn version(&self, name: &str) -> Result<u32, StoreError> {
        u32::try_from(self.number(name)?).map_err(|_| broken(name, "it is too large for a version"))
    }

    /// A point in time, or none.
    fn time_or_none(&self, name: &str) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.integer_or_none(name)?.map(Timestamp::from_milliseconds))
    }

    /// A point in time.
    fn time(&self, name: &str) -> Result<Timestamp, StoreError> {
        present(name, self.time_or_none(name)?)
    }

    /// An id, or none.
    fn id_or_none<T: FromStr>(&self, name: &str) -> Result<Option<T>, StoreError> {
        let text = self.text_or_none(name)?;
        text.map(|text| text.parse().map_err(|_| broken(name, "it is no such id"))).transpose()
    }

    /// An id.
    fn id<T: FromStr>(&self, name: &str) -> Result<T, StoreError> {
        present(name, self.id_or_none(name)?)
    }

    /// JSON, or none.
    fn json_or_none<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StoreError> {
        let text = self.text_or_none(name)?;
        text.map(|text| serde_json::from_str(&text).map_err(|error| broken(name, error))).transpose()
    }

    /// JSON.
    fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T, StoreError> {
        present(name, self.json_or_none(name)?)
    }

    /// One of a fixed set of words, or none.
    fn word_or_none<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StoreError> {
        let text = self.text_or_none(name)?;
        text.map(|text| {
            let word = serde_json::Value::String(text);
            serde_json::from_value(word).map_err(|error| broken(name, error))
        })
        .transpose()
    }

    /// One of a fixed set of words.
    fn word<T: DeserializeOwned>(&self, name: &str) -> Result<T, StoreError> {
        present(name, self.word_or_none(name)?)
    }
}

fn present<T>(name: &str, value: Option<T>) -> Result<T, StoreError> {
    value.ok_or_else(|| broken(name, "it is missing"))
}

pub(super) fn broken(name: &str, why: impl std::fmt::Display) -> StoreError {
    StoreError::Broken(format!("column {name}: {why}"))
}
