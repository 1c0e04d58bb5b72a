//! Lists: what is paged or may grow travels inside an object, so that fields can be added beside it. What is short and whole (tools,
//! checks, messages) is a plain array.

use serde::{Deserialize, Deserializer, Serialize};

/// One page of a keyset-paginated list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Page<T> {
    /// The rows of this page.
    pub data: Vec<T>,
    /// The `cursor` of the next page; null on the last one.
    pub next_cursor: Option<String>,
}

/// A whole list inside an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct List<T> {
    /// All items, in order.
    pub data: Vec<T>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { data: Vec::new() }
    }
}

impl<T> From<Vec<T>> for List<T> {
    fn from(data: Vec<T>) -> Self {
        Self { data }
    }
}

/// Reads a plain array, or the object with `data` in which records of earlier builds hold it.
///
/// # Errors
/// When it is neither.
pub(crate) fn plain<'de, D, A, T>(deserializer: D) -> Result<A, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
    A: From<Vec<T>>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either<T> {
        Plain(Vec<T>),
        Wrapped(List<T>),
    }
    let (Either::Plain(items) | Either::Wrapped(List { data: items })) = Either::deserialize(deserializer)?;
    Ok(items.into())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Holder {
        #[serde(deserialize_with = "super::plain")]
        words: Vec<String>,
    }

    #[test]
    fn records_of_before_hold_short_lists_in_an_object() {
        for form in [json!(["a", "b"]), json!({"data": ["a", "b"]})] {
            let holder: Holder = serde_json::from_value(json!({"words": form})).unwrap();
            assert_eq!(holder.words, ["a", "b"], "{form}");
        }
        for form in [json!({"data": ["a"], "more": 1}), json!("a"), json!([1]), json!(null)] {
            assert!(serde_json::from_value::<Holder>(json!({"words": form})).is_err(), "{form}");
        }
    }
}
