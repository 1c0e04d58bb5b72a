//! Tokens of leases: JWTs (HS256) that let a worker do in the tenant of its job what the job needs, while it holds the lease.

use std::sync::Arc;

use palestra_protocol::id::JobId;
use palestra_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::cache::Cache;
use super::token::{ISSUER, Signer, seconds};
use super::{AuthError, Grant, Principal};

/// For whom these tokens are: no session's token passes for one, and none of these for a session's.
const AUDIENCE: &str = "palestra/job";
/// Milliseconds after which a token ends although its lease was renewed all the time: longer than any job.
const TOKEN_MS: u64 = 366 * 86_400_000;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    iss: String,
    aud: String,
    sub: JobId,
    tenant: String,
    fence: u64,
    /// Seconds since 1970.
    exp: u64,
}

/// Makes and reads the tokens of leases. Cheap to clone.
#[derive(Clone)]
pub struct JobTokens(Arc<Inner>);

struct Inner {
    signer: Signer,
    cache: Arc<Cache>,
}

impl JobTokens {
    pub(super) fn new(key: &[u8; 32], cache: Arc<Cache>) -> Self {
        Self(Arc::new(Inner { signer: Signer::new(key, AUDIENCE), cache }))
    }

    /// The token of the lease of `job` with this fence; none where it cannot be written, which the log says.
    #[must_use]
    pub fn mint(&self, tenant: &str, job: JobId, fence: u64, now: Timestamp) -> Option<String> {
        let (iss, aud) = (ISSUER.to_owned(), AUDIENCE.to_owned());
        let exp = seconds(now.plus_ms(TOKEN_MS));
        self.0.signer.sign(&Claims { iss, aud, sub: job, tenant: tenant.to_owned(), fence, exp })
    }

    /// Lets no token of this job pass without a look at whether its lease is held.
    pub fn forget(&self, job: JobId) {
        self.0.cache.forget_job(job);
    }

    /// Whom a token stands for, if its lease is held.
    pub(super) fn verify(&self, token: &str, now: Timestamp) -> Result<Principal, AuthError> {
        let (claims, end) = self.0.signer.read::<Claims>(token, now, |claims| claims.exp)?;
        Ok(Principal {
            tenant: Arc::from(claims.tenant),
            grant: Grant::Job { job: claims.sub, fence: claims.fence },
            expires_at: Some(end),
            key: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_milliseconds(1_000_000);

    fn tokens(key: u8) -> JobTokens {
        JobTokens::new(&[key; 32], Arc::default())
    }

    #[test]
    fn a_token_names_its_job_its_fence_and_its_tenant() {
        let job = JobId::new();
        let token = tokens(7).mint("acme", job, 3, NOW).unwrap();
        let principal = tokens(7).verify(&token, NOW).unwrap();
        assert_eq!(principal.grant, Grant::Job { job, fence: 3 });
        assert_eq!(&*principal.tenant, "acme");
        assert!(tokens(7).verify(&token, NOW.plus_ms(TOKEN_MS + 1_000)).is_err());
    }

    #[test]
    fn forged_tokens_are_refused() {
        let token = tokens(8).mint("acme", JobId::new(), 3, NOW).unwrap();
        let (message, _) = token.rsplit_once('.').unwrap();
        for forged in [token.as_str(), message, &format!("{message}."), "", "..", &"a".repeat(TOKEN_BYTES_MAX + 1)] {
            assert!(matches!(tokens(7).verify(forged, NOW), Err(AuthError::Refused)), "{forged}");
        }
    }
}
