//! Tokens of leases: JWTs (HS256) with the permissions that a job needs in its tenant, valid while its lease is held.

use std::sync::Arc;

use palestra_protocol::id::JobId;
use palestra_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::cache::Cache;
use super::token::{ISSUER, Signer, seconds};
use super::{AuthError, Grant, Principal};

/// The audience: tokens of sessions are refused as tokens of leases, and the other way round.
const AUDIENCE: &str = "palestra/job";
/// Longest life of a token in milliseconds, however often its lease is renewed: longer than any job.
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

/// Signs and verifies the tokens of leases. Cheap to clone.
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

    /// The token of the lease of `job` with this fence; `None`, with an error in the log, if it cannot be encoded.
    #[must_use]
    pub fn mint(&self, tenant: &str, job: JobId, fence: u64, now: Timestamp) -> Option<String> {
        let (iss, aud) = (ISSUER.to_owned(), AUDIENCE.to_owned());
        let exp = seconds(now.plus_ms(TOKEN_MS));
        self.0.signer.sign(&Claims { iss, aud, sub: job, tenant: tenant.to_owned(), fence, exp })
    }

    /// Removes the tokens of a job from the cache, so that the next call checks its lease.
    pub fn forget(&self, job: JobId) {
        self.0.cache.forget_job(job);
    }

    /// The principal of a token. The caller checks that the lease is held.
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
    use crate::token::TOKEN_BYTES_MAX;

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
