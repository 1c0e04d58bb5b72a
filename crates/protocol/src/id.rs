//! Identifiers: a prefix that says what is named, and a UUIDv7 as 32 hexadecimal digits.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// Why a string is not an identifier of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected an id of the form {prefix}<32 hexadecimal digits>")]
pub struct ParseIdError {
    /// The prefix that was expected, with the character that ends it.
    pub prefix: &'static str,
}

/// Reads an id where it stands, without a copy of its text.
struct IdVisitor<T>(PhantomData<T>);

impl<T: FromStr<Err = ParseIdError>> Visitor<'_> for IdVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            /// The prefix of this kind of id.
            pub const PREFIX: &'static str = $prefix;

            /// A new id that sorts after those made before it.
            #[must_use]
            #[expect(clippy::new_without_default, reason = "each call gives another id")]
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }

            /// The id without its prefix.
            #[must_use]
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl From<Uuid> for $name {
            fn from(uuid: Uuid) -> Self {
                Self(uuid)
            }
        }

        impl $name {
            /// Calls `read` with the id in its text form, which is written without taking memory.
            fn with_text<T>(self, read: impl FnOnce(&str) -> T) -> T {
                let mut text = [0; $prefix.len() + 32];
                let (prefix, digits) = text.split_at_mut($prefix.len());
                prefix.copy_from_slice($prefix.as_bytes());
                self.0.as_simple().encode_lower(digits);
                read(std::str::from_utf8(&text).unwrap_or_default())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.with_text(|text| f.write_str(text))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                text.strip_prefix($prefix)
                    .filter(|rest| rest.len() == 32 && rest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
                    .and_then(|rest| Uuid::try_parse(rest).ok())
                    .map(Self)
                    .ok_or(ParseIdError { prefix: $prefix })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.with_text(|text| serializer.serialize_str(text))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(IdVisitor(PhantomData))
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                utoipa::openapi::schema::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .pattern(Some(concat!("^", $prefix, "[0-9a-f]{32}$")))
                    .examples([serde_json::json!(concat!($prefix, "0197a3c2f2a87c53b0a1d5e6f7089abc"))])
                    .into()
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $name {}
    )*};
}

ids! {
    /// A live place to act.
    SessionId = "ses_";
    /// One attempt in a session.
    EpisodeId = "epi_";
    /// One training or evaluation; owner of sessions.
    RunId = "run_";
    /// Rollouts of one task that belong together.
    GroupId = "grp_";
    /// A named point of an episode.
    SnapshotId = "snap_";
    /// An API key.
    KeyId = "key_";
    /// A queued job.
    JobId = "job_";
    /// A stored policy.
    PolicyId = "pol_";
    /// One call of a model.
    CallId = "call_";
    /// An uploaded file.
    FileId = "file-";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_its_text_form() {
        let id = SessionId::new();
        assert_eq!(id.to_string().parse::<SessionId>(), Ok(id));
        assert_eq!(id.to_string().len(), 36);
    }

    #[test]
    fn a_file_is_named_with_a_dash() {
        let id = FileId::new();
        assert!(id.to_string().starts_with("file-"));
        assert_eq!(id.to_string().parse::<FileId>(), Ok(id));
        assert!(id.to_string().replace('-', "_").parse::<FileId>().is_err());
    }

    #[test]
    fn foreign_prefixes_and_other_spellings_are_refused() {
        let id = SessionId::new().to_string();
        for wrong in [
            id.replace("ses_", "epi_"),
            id.to_uppercase(),
            format!("{id}0"),
            id[..35].to_owned(),
            String::new(),
            "ses_".to_owned(),
            "ses_zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz".to_owned(),
        ] {
            assert!(wrong.parse::<SessionId>().is_err(), "{wrong}");
        }
    }
}
