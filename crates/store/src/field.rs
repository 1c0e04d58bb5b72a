//! Decoding of columns. Data that does not have the form it was written in is an error, never a panic.

use std::str::FromStr;

use palestra_protocol::time::Timestamp;
use serde::de::DeserializeOwned;

use super::StoreError;

/// The columns of a row. Each driver implements these few reads; the others are built on them.
pub trait Fields: Send + Sync {
    /// Text, or none.
    fn text_or_none(&self, name: &str) -> Result<Option<String>, StoreError>;
    /// An integer, or none.
    fn integer_or_none(&self, name: &str) -> Result<Option<i64>, StoreError>;
    /// A real number, or none.
    fn real_or_none(&self, name: &str) -> Result<Option<f64>, StoreError>;
    /// Yes or no.
    fn flag(&self, name: &str) -> Result<bool, StoreError>;
    /// Bytes.
    fn bytes(&self, name: &str) -> Result<Vec<u8>, StoreError>;
}

impl dyn Fields + '_ {
    /// Text.
    pub(super) fn text(&self, name: &str) -> Result<String, StoreError> {
        present(name, self.text_or_none(name)?)
    }

    /// An integer that is not negative, or none.
    pub(super) fn number_or_none(&self, name: &str) -> Result<Option<u64>, StoreError> {
        let number = self.integer_or_none(name)?;
        number.map(|number| u64::try_from(number).map_err(|_| broken(name, "it is negative"))).transpose()
    }

    /// An integer that is not negative.
    pub(super) fn number(&self, name: &str) -> Result<u64, StoreError> {
        present(name, self.number_or_none(name)?)
    }

    /// A version.
    pub(super) fn version(&self, name: &str) -> Result<u32, StoreError> {
        u32::try_from(self.number(name)?).map_err(|_| broken(name, "it is too large for a version"))
    }

    /// A point in time, or none.
    pub(super) fn time_or_none(&self, name: &str) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.integer_or_none(name)?.map(Timestamp::from_milliseconds))
    }

    /// A point in time.
    pub(super) fn time(&self, name: &str) -> Result<Timestamp, StoreError> {
        present(name, self.time_or_none(name)?)
    }

    /// An id, or none.
    pub(super) fn id_or_none<T: FromStr>(&self, name: &str) -> Result<Option<T>, StoreError> {
        let text = self.text_or_none(name)?;
        text.map(|text| text.parse().map_err(|_| broken(name, "it is not an id of this kind"))).transpose()
    }

    /// An id.
    pub(super) fn id<T: FromStr>(&self, name: &str) -> Result<T, StoreError> {
        present(name, self.id_or_none(name)?)
    }

    /// JSON, or none.
    pub(super) fn json_or_none<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StoreError> {
        let text = self.text_or_none(name)?;
        text.map(|text| serde_json::from_str(&text).map_err(|error| broken(name, error))).transpose()
    }

    /// JSON.
    pub(super) fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T, StoreError> {
        present(name, self.json_or_none(name)?)
    }

    /// A name from a fixed set, or none.
    pub(super) fn word_or_none<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StoreError> {
        let text = self.text_or_none(name)?;
        text.map(|text| {
            let word = serde_json::Value::String(text);
            serde_json::from_value(word).map_err(|error| broken(name, error))
        })
        .transpose()
    }

    /// A name from a fixed set.
    pub(super) fn word<T: DeserializeOwned>(&self, name: &str) -> Result<T, StoreError> {
        present(name, self.word_or_none(name)?)
    }
}

fn present<T>(name: &str, value: Option<T>) -> Result<T, StoreError> {
    value.ok_or_else(|| broken(name, "it is missing"))
}

pub(super) fn broken(name: &str, why: impl std::fmt::Display) -> StoreError {
    StoreError::Broken(format!("column {name}: {why}"))
}
