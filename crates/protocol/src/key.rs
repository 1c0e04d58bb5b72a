//! API keys and the scopes they carry.

use serde::{Deserialize, Serialize};

use crate::id::KeyId;
use crate::time::Timestamp;

/// A permission of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Scope {
    /// Open, step, verify, fork and close sessions, and read episodes and environments.
    #[serde(rename = "sessions")]
    Sessions,
    /// Read privileged state and diffs.
    #[serde(rename = "state:read")]
    StateRead,
    /// Judge a live episode without ending it.
    #[serde(rename = "verify:probe")]
    VerifyProbe,
    /// Publish environments.
    #[serde(rename = "environments:write")]
    EnvironmentsWrite,
    /// Queue, read and cancel jobs, and use policies.
    #[serde(rename = "jobs")]
    Jobs,
    /// Lease jobs and report on them.
    #[serde(rename = "worker")]
    Worker,
    /// Read the metrics of the server, with a key of the operator's tenant.
    #[serde(rename = "metrics:read")]
    MetricsRead,
    /// Manage keys; implies every other scope.
    #[serde(rename = "admin")]
    Admin,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 8] = [
        Self::Sessions,
        Self::StateRead,
        Self::VerifyProbe,
        Self::EnvironmentsWrite,
        Self::Jobs,
        Self::Worker,
        Self::MetricsRead,
        Self::Admin,
    ];

    /// As it is written in JSON and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::StateRead => "state:read",
            Self::VerifyProbe => "verify:probe",
            Self::EnvironmentsWrite => "environments:write",
            Self::Jobs => "jobs",
            Self::Worker => "worker",
            Self::MetricsRead => "metrics:read",
            Self::Admin => "admin",
        }
    }
}

/// Makes a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateKey {
    /// A name for people.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub name: String,
    /// Its permissions.
    #[cfg_attr(feature = "openapi", schema(min_items = 1))]
    pub scopes: Vec<Scope>,
    /// When it stops working; never where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// A key, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Key {
    /// The key.
    pub id: KeyId,
    /// A name for people.
    pub name: String,
    /// The tenant whose data it reaches.
    pub tenant: String,
    /// Its permissions.
    pub scopes: Vec<Scope>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// A new key; its secret is shown this once and never again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreatedKey {
    /// The key.
    #[serde(flatten)]
    pub key: Key,
    /// The credential for `Authorization: Bearer`.
    pub secret: String,
}

/// The caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WhoAmI {
    /// The tenant whose data the caller reaches.
    pub tenant: String,
    /// The caller's permissions; empty for a session token.
    pub scopes: Vec<Scope>,
    /// The API key, when called with one.
    pub key: Option<KeyId>,
    /// The session, when called with its token.
    pub session: Option<crate::id::SessionId>,
}
