//! Principals, and their permissions.

use palestra_protocol::id::{JobId, KeyId, SessionId};
use palestra_protocol::key::{Scope, WhoAmI};
use palestra_protocol::time::Timestamp;

use super::{AuthError, DEFAULT_TENANT};
use palestra_store::Tenant;
use palestra_store::row::KeyRow;

/// An authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The owner of the data.
    pub tenant: Tenant,
    /// The permissions.
    pub grant: Grant,
    /// The time at which the credential expires.
    pub expires_at: Option<Timestamp>,
    /// The key whose revocation revokes the credential: the key itself, or the maker of a token.
    pub key: Option<KeyId>,
}

/// The permissions of a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grant {
    /// An API key's scopes.
    Scopes(Vec<Scope>),
    /// Steps in one session.
    Session(SessionId),
    /// The permissions that a job needs in its tenant, while the lease with this fence is held.
    Job {
        /// The job.
        job: JobId,
        /// The fence of the lease.
        fence: u64,
    },
}

/// Permissions of the holder of a lease besides work on its job. They cover only those jobs, policies and files that the job needs.
const SCOPES_OF_A_LEASE: [Scope; 3] = [Scope::Sessions, Scope::StateRead, Scope::Jobs];

impl Principal {
    /// The admin of a tenant, without a key in the store.
    #[must_use]
    pub fn admin(tenant: Tenant) -> Self {
        Self { tenant, grant: Grant::Scopes(vec![Scope::Admin]), expires_at: None, key: None }
    }

    pub(super) fn of_key(row: &KeyRow) -> Self {
        Self {
            tenant: row.tenant.as_str().into(),
            grant: Grant::Scopes(row.scopes.clone()),
            expires_at: row.expires_at,
            key: Some(row.id),
        }
    }

    /// Refuses callers without a scope. `admin` implies every other.
    ///
    /// # Errors
    /// When the scope is missing, or the credential is the token of a session.
    pub fn require(&self, scope: Scope) -> Result<(), AuthError> {
        match &self.grant {
            Grant::Scopes(scopes) if scopes.contains(&scope) || scopes.contains(&Scope::Admin) => Ok(()),
            Grant::Job { .. } if SCOPES_OF_A_LEASE.contains(&scope) => Ok(()),
            Grant::Scopes(_) | Grant::Job { .. } => Err(AuthError::Scope(scope)),
            Grant::Session(_) => Err(AuthError::TokenTooNarrow),
        }
    }

    /// Refuses callers without a scope in the operator's tenant, for calls that show the whole server. Keys of other tenants are
    /// refused, whatever their scopes.
    ///
    /// # Errors
    /// When the scope is missing, or the key is another tenant's.
    pub fn require_of_operator(&self, scope: Scope) -> Result<(), AuthError> {
        self.require(scope)?;
        if *self.tenant == *DEFAULT_TENANT { Ok(()) } else { Err(AuthError::NotTheOperator) }
    }

    /// Refuses callers who may not read the observations of a session.
    ///
    /// # Errors
    /// When the key lacks the scope, or the token is for another session.
    pub fn require_sight_of(&self, session: SessionId) -> Result<(), AuthError> {
        match self.grant {
            Grant::Scopes(_) | Grant::Job { .. } => self.require(Scope::Sessions),
            Grant::Session(own) if own == session => Ok(()),
            Grant::Session(_) => Err(AuthError::OtherSession),
        }
    }

    /// True for the acting side of a session, which must see neither rewards nor verdicts nor privileged state.
    #[must_use]
    pub const fn is_acting_side(&self) -> bool {
        matches!(self.grant, Grant::Session(_))
    }

    /// The answer to a caller about itself.
    #[must_use]
    pub fn describe(&self) -> WhoAmI {
        let (scopes, key, session) = match &self.grant {
            Grant::Scopes(scopes) => (scopes.clone(), self.key, None),
            Grant::Session(session) => (Vec::new(), None, Some(*session)),
            Grant::Job { .. } => (SCOPES_OF_A_LEASE.to_vec(), None, None),
        };
        WhoAmI { tenant: self.tenant.to_string(), scopes, key, session }
    }
}
