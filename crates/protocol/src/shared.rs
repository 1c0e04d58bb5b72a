//! Values that many answers hold: kept once in memory, and written as JSON once.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use serde_json::value::{RawValue, to_raw_value};

/// A value that is cheap to clone and whose JSON is written the first time it is asked for, then repeated, also by clones.
///
/// In JSON it looks like the value itself.
#[derive(Clone, Default)]
pub struct Shared<T>(Arc<Inner<T>>);

#[derive(Clone, Default)]
struct Inner<T> {
    value: T,
    json: OnceLock<Box<RawValue>>,
}

impl<T: Clone> Shared<T> {
    /// The value, to change; copied first where others hold it too.
    pub fn make_mut(&mut self) -> &mut T {
        let inner = Arc::make_mut(&mut self.0);
        inner.json = OnceLock::new();
        &mut inner.value
    }
}

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(Inner { value, json: OnceLock::new() }))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = match self.0.json.get() {
            Some(json) => json,
            None => {
                let written = to_raw_value(&self.0.value).map_err(ser::Error::custom)?;
                self.0.json.get_or_init(|| written)
            }
        };
        json.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[derive(Clone, Default)]
    struct Counted(Cell<u32>);

    impl Serialize for Counted {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.0.set(self.0.get() + 1);
            serializer.serialize_u32(self.0.get())
        }
    }

    fn written<T: Serialize>(value: &T) -> String {
        serde_json::to_string(value).expect("JSON")
    }

    #[test]
    fn its_json_is_written_once_for_all_clones() {
        let first = Shared::from(Counted::default());
        let second = first.clone();
        assert_eq!([written(&second), written(&first), written(&first.clone())], ["1", "1", "1"]);
    }

    #[test]
    fn it_reads_and_writes_like_the_value_itself() {
        let value = vec!["a \"word\"".to_owned(), String::new()];
        let shared = Shared::from(value.clone());
        assert_eq!(written(&shared), written(&value));
        assert_eq!(serde_json::to_value(&shared).expect("JSON"), serde_json::to_value(&value).expect("JSON"));
        assert_eq!(serde_json::from_str::<Shared<Vec<String>>>(&written(&value)).expect("a list"), shared);
    }

    #[test]
    fn a_change_is_written_and_leaves_other_holders_alone() {
        let first = Shared::from(vec![1]);
        let mut second = first.clone();
        assert_eq!(written(&second), "[1]");
        second.make_mut().push(2);
        assert_eq!((written(&first), written(&second)), ("[1]".to_owned(), "[1,2]".to_owned()));
    }
}
