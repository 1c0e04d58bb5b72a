//! Principals: who is calling, and the one place that says what they may do to sessions.

use palestra_protocol::id::{JobId, KeyId, SessionId};
use palestra_protocol::key::{Scope, WhoAmI};
use palestra_protocol::time::Timestamp;

use super::{AuthError, DEFAULT_TENANT};
use palestra_store::Tenant;
use palestra_store::row::KeyRow;

/// Who is calling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Whose data is reached.
    pub tenant: Tenant,
    /// What may be done.
    pub grant: Grant,
    /// When the credential stops working by itself.
    pub expires_at: Option<Timestamp>,
    /// The key that the credential lives and dies with: itself, or the one that made a session's token.
    pub key: Option<KeyId>,
}

/// What a credential grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grant {
    /// An API key's scopes.
    Scopes(Vec<Scope>),
    /// Acting in one session.
    Session(SessionId),
    /// What a job needs in its tenant, while the lease with this fence is held.
    Job {
        /// The job.
        job: JobId,
        /// Of the lease.
        fence: u64,
    },
}

/// What the holder of a lease may do besides working on its job. Of jobs, policies and files it reaches those alone that its job
/// needs.
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
    /// When the scope is missing, or the caller has but a session's token.
    pub fn require(&self, scope: Scope) -> Result<(), AuthError> {
        match &self.grant {
            Grant::Scopes(scopes) if scopes.contains(&scope) || scopes.contains(&Scope::Admin) => Ok(()),
            Grant::Job { .. } if SCOPES_OF_A_LEASE.contains(&scope) => Ok(()),
            Grant::Scopes(_) | Grant::Job { .. } => Err(AuthError::Scope(scope)),
            Grant::Session(_) => Err(AuthError::TokenTooNarrow),
        }
    }

    /// Refuses callers without a scope in the operator's tenant, for what shows the whole server: keys of other tenants do not reach
    /// it, whatever their scopes.
    ///
    /// # Errors
    /// When the scope is missing, or the key is another tenant's.
    pub fn require_of_operator(&self, scope: Scope) -> Result<(), AuthError> {
        self.require(scope)?;
        if *self.tenant == *DEFAULT_TENANT { Ok(()) } else { Err(AuthError::NotTheOperator) }
    }

    /// Refuses callers who may not see what the acting side of a session sees.
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

    /// Whether this is the acting side, which must learn neither rewards nor verdicts nor anything privileged.
    #[must_use]
    pub const fn is_acting_side(&self) -> bool {
        matches!(self.grant, Grant::Session(_))
    }

    /// What the caller is told of itself.
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
