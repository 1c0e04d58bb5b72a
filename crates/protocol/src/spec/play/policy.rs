//! The names of policies in jobs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::id::{JobId, PolicyId};
use crate::spec::Faults;

/// Where a policy comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PolicyFrom {
    /// `builtin:oracle`: solves each task from its secret.
    Oracle,
    /// `builtin:random`: acts well formed but without looking.
    Random,
    /// `builtin:null`: says nothing.
    Null,
    /// `builtin:mlp`: a small network over observations that are vectors, from scratch.
    Mlp,
    /// `builtin:tiny-transformer`: a small decoder over bytes, from scratch.
    TinyTransformer,
    /// `pol_..`: a registered policy.
    Registered(PolicyId),
    /// `job_..`: what that job registered last, once it has succeeded.
    Job(JobId),
    /// `file:PATH`: a folder or GGUF file on the worker's machine, below the folders that it was told to offer.
    File(String),
    /// `url:http(s)://..`: whoever answers OpenAI's chat completions there.
    Url(String),
}

impl PolicyFrom {
    /// True if it has weights that a trainer can change.
    #[must_use]
    pub const fn is_trainable(&self) -> bool {
        !matches!(self, Self::Oracle | Self::Random | Self::Null | Self::Url(_))
    }

    /// True if its weights are made from scratch.
    #[must_use]
    pub const fn is_scratch(&self) -> bool {
        matches!(self, Self::Mlp | Self::TinyTransformer)
    }

    pub(in crate::spec) fn check(&self, field: &str, faults: &mut Faults) {
        if let Self::File(path) = self {
            let sane = !path.is_empty() && path.len() <= 4_096 && !path.contains('\0');
            faults.unless(sane, field, "`file:` and a path of at most 4096 bytes");
        }
        if let Self::Url(url) = self {
            let sane = (url.starts_with("http://") || url.starts_with("https://")) && url.len() <= 4_096;
            faults.unless(sane, field, "`url:http://..` or `url:https://..` of at most 4096 bytes");
        }
    }
}

impl fmt::Display for PolicyFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Oracle => f.write_str("builtin:oracle"),
            Self::Random => f.write_str("builtin:random"),
            Self::Null => f.write_str("builtin:null"),
            Self::Mlp => f.write_str("builtin:mlp"),
            Self::TinyTransformer => f.write_str("builtin:tiny-transformer"),
            Self::Registered(id) => id.fmt(f),
            Self::Job(id) => id.fmt(f),
            Self::File(path) => write!(f, "file:{path}"),
            Self::Url(url) => write!(f, "url:{url}"),
        }
    }
}

/// This names no policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} names no policy: use builtin:oracle, builtin:random, builtin:null, builtin:mlp, builtin:tiny-transformer, pol_.., job_.., file:PATH or url:http://.."
)]
pub struct UnknownPolicy(String);

impl FromStr for PolicyFrom {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        let unknown = || UnknownPolicy(text.chars().take(200).collect());
        Ok(match text {
            "builtin:oracle" => Self::Oracle,
            "builtin:random" => Self::Random,
            "builtin:null" => Self::Null,
            "builtin:mlp" => Self::Mlp,
            "builtin:tiny-transformer" => Self::TinyTransformer,
            _ if text.starts_with(PolicyId::PREFIX) => Self::Registered(text.parse().map_err(|_| unknown())?),
            _ if text.starts_with(JobId::PREFIX) => Self::Job(text.parse().map_err(|_| unknown())?),
            _ => match text.split_once(':') {
                Some(("file", path)) => Self::File(path.to_owned()),
                Some(("url", url)) => Self::Url(url.to_owned()),
                _ => return Err(unknown()),
            },
        })
    }
}

impl Serialize for PolicyFrom {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PolicyFrom {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for PolicyFrom {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::schema::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .description(Some("builtin:oracle, builtin:random, builtin:null, builtin:mlp, builtin:tiny-transformer, pol_.., job_.., file:PATH or url:http://..".to_owned()))
            .examples([serde_json::json!("builtin:tiny-transformer")])
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for PolicyFrom {}
