//! Authentication and authorisation: API keys, tokens of sessions and of leases, and their permissions.

mod cache;
mod hs256;
mod job_token;
mod key;
mod principal;
mod seal;
mod secret;
mod token;

use std::sync::Arc;

use hmac::Mac as _;
use palestra_protocol::id::SessionId;
use palestra_protocol::key::{CreateKey, CreatedKey, Key, Scope};
use palestra_protocol::time::Timestamp;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use uuid::Uuid;

use cache::Cache;
pub use job_token::JobTokens;
use key::KeySecret;
use palestra_store::clock::Clock;
use palestra_store::row::{KeyRow, PageRequest};
use palestra_store::{Store, StoreError};
pub use principal::{Grant, Principal};
pub use seal::{SealError, Seals};
pub use secret::{RootSecret, SecretError};
use token::Tokens;

/// The tenant of the operator, the only one until another is made.
pub const DEFAULT_TENANT: &str = "default";

/// The reason why a caller was refused.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// The request has no credential.
    #[error("the request has no credential: send one as `Authorization: Bearer <key>`")]
    Missing,
    /// The credential is not valid. The answer does not tell why.
    #[error("the credential is unknown, expired or revoked: use a valid key, or a new token")]
    Refused,
    /// The key lacks a scope.
    #[error("the key lacks the scope {}: use a key that has it", .0.as_str())]
    Scope(Scope),
    /// A call that shows the whole server came with another tenant's key.
    #[error("this call shows the whole server: use a key of its operator, one of the tenant `{DEFAULT_TENANT}`")]
    NotTheOperator,
    /// The token of a session was used for a call that needs a key.
    #[error("a session's token may step and read observations, and nothing else: use an API key")]
    TokenTooNarrow,
    /// The token of a session was used for another session.
    #[error("the token is for another session: use the one that came with this session")]
    OtherSession,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Authenticates callers, and makes and revokes credentials.
pub struct Auth {
    store: Arc<Store>,
    clock: Clock,
    pepper: [u8; 32],
    /// Digest of the configured key, and its principal.
    admin_key: Option<([u8; 32], Arc<Principal>)>,
    tokens: Tokens,
    /// Tokens of pages, which are part of paths.
    pages: Tokens,
    /// Tokens of leases.
    jobs: JobTokens,
    seals: Arc<Seals>,
    /// Key of the ids that are derived from names.
    names: [u8; 32],
    cache: Arc<Cache>,
}

impl Auth {
    /// Authentication against the keys of `store`. `admin_key` is always accepted as the admin of [`DEFAULT_TENANT`].
    #[must_use]
    pub fn new(store: Arc<Store>, clock: Clock, root: &RootSecret, admin_key: Option<&str>) -> Self {
        let cache = Arc::<Cache>::default();
        Self {
            store,
            clock,
            pepper: root.derive("api keys"),
            admin_key: admin_key.map(|key| (digest(key), Arc::new(Principal::admin(DEFAULT_TENANT.into())))),
            tokens: Tokens::new(&root.derive("session tokens"), token::SESSION),
            pages: Tokens::new(&root.derive("session pages"), token::PAGE),
            jobs: JobTokens::new(&root.derive("job tokens"), Arc::clone(&cache)),
            seals: Arc::new(Seals::new(root)),
            names: root.derive("names"),
            cache,
        }
    }

    /// Seals secrets of others before they are stored.
    #[must_use]
    pub const fn seals(&self) -> &Arc<Seals> {
        &self.seals
    }

    /// The principal of a bearer credential.
    ///
    /// # Errors
    /// When the credential is not valid now, or the store fails.
    pub async fn authenticate(&self, bearer: &str) -> Result<Arc<Principal>, AuthError> {
        let (now, digest) = (self.clock.now(), digest(bearer));
        if let Some((expected, admin)) = &self.admin_key
            && bool::from(expected.ct_eq(&digest))
        {
            return Ok(Arc::clone(admin));
        }
        if let Some(principal) = self.cache.get(&digest, now) {
            return Ok(principal);
        }
        // A credential is verified once and cached until it expires or is revoked.
        let revision = self.cache.revision();
        let principal = Arc::new(match KeySecret::parse(bearer) {
            Some(secret) => self.verify_key(&secret, now).await?,
            None => self.verify_token(bearer, now).await?,
        });
        self.cache.insert(digest, Arc::clone(&principal), now, &revision);
        Ok(principal)
    }

    async fn verify_token(&self, bearer: &str, now: Timestamp) -> Result<Principal, AuthError> {
        let principal = self.tokens.verify(bearer, now).or_else(|_| self.jobs.verify(bearer, now))?;
        if self.is_still_valid(&principal).await? { Ok(principal) } else { Err(AuthError::Refused) }
    }

    async fn verify_key(&self, secret: &KeySecret, now: Timestamp) -> Result<Principal, AuthError> {
        let row = self.store.key(secret.id()).await?.ok_or(AuthError::Refused)?;
        if !secret.matches(&row.mac, &self.pepper) || !is_valid(&row, now) {
            return Err(AuthError::Refused);
        }
        Ok(Principal::of_key(&row))
    }

    /// True while the credential of an authenticated principal is still valid. Sockets check this periodically.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn is_still_valid(&self, principal: &Principal) -> Result<bool, StoreError> {
        let now = self.clock.now();
        if principal.expires_at.is_some_and(|end| end <= now) {
            return Ok(false);
        }
        if let Grant::Job { job, fence } = principal.grant {
            let row = self.store.job(job).await?;
            return Ok(row.is_some_and(|row| *row.tenant == *principal.tenant && row.is_held(fence)));
        }
        match principal.key {
            Some(id) => Ok(self.store.key(id).await?.is_some_and(|row| is_valid(&row, now))),
            None => Ok(true),
        }
    }

    /// Makes a key. Its secret is in the answer and nowhere else.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn create_key(&self, tenant: &str, request: CreateKey) -> Result<CreatedKey, StoreError> {
        let secret = KeySecret::generate();
        let mut scopes = request.scopes;
        scopes.sort_unstable();
        scopes.dedup();
        let row = KeyRow {
            id: secret.id(),
            tenant: tenant.to_owned(),
            name: request.name,
            scopes,
            mac: secret.mac(&self.pepper).to_vec(),
            created_at: self.clock.now(),
            expires_at: request.expires_at,
            revoked_at: None,
        };
        self.store.create_key(&row).await?;
        Ok(CreatedKey { key: public(row), secret: secret.reveal() })
    }

    /// Keys of a tenant by descending id, without their secrets.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn keys(&self, tenant: &str, page: &PageRequest) -> Result<Vec<Key>, StoreError> {
        Ok(self.store.keys(tenant, page).await?.into_iter().map(public).collect())
    }

    /// Revokes a key; false when the tenant has none of this id. Other nodes follow within [`cache::CACHED_MS`].
    ///
    /// # Errors
    /// When the store fails.
    pub async fn revoke_key(&self, tenant: &str, id: palestra_protocol::id::KeyId) -> Result<bool, StoreError> {
        let revoked = self.store.revoke_key(tenant, id, self.clock.now()).await?;
        self.cache.forget(id);
        Ok(revoked)
    }

    /// True when the tenant has a valid key that can manage keys.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn has_admin_key(&self, tenant: &str) -> Result<bool, StoreError> {
        const KEYS_PER_PAGE: u32 = 500;
        let now = self.clock.now();
        let mut before = None;
        loop {
            let rows = self.store.keys(tenant, &PageRequest { before, limit: KEYS_PER_PAGE }).await?;
            if rows.iter().any(|row| row.scopes.contains(&Scope::Admin) && is_valid(row, now)) {
                return Ok(true);
            }
            match rows.last() {
                Some(last) if rows.len() == KEYS_PER_PAGE as usize => before = Some(last.id.to_string()),
                _ => return Ok(false),
            }
        }
    }

    /// The credential of a session, valid until `expires_at` or the end of the key that makes it. The same arguments give the same
    /// token, so a repeated answer stays the same. None where it cannot be written, which the log says.
    #[must_use]
    pub fn session_token(&self, maker: &Principal, session: SessionId, expires_at: Timestamp) -> Option<String> {
        self.tokens.mint(maker, session, expires_at)
    }

    /// The end of the path of a session's page, valid as long as the session's token is.
    #[must_use]
    pub fn page_token(&self, maker: &Principal, session: SessionId, expires_at: Timestamp) -> Option<String> {
        self.pages.mint(maker, session, expires_at)
    }

    /// The principal of a token in the path of a page. It is not cached like a credential, so that it is never accepted as one.
    ///
    /// # Errors
    /// When it is not valid now, or the store fails.
    pub async fn authenticate_page(&self, token: &str) -> Result<Arc<Principal>, AuthError> {
        let principal = self.pages.verify(token, self.clock.now())?;
        if self.is_still_valid(&principal).await? { Ok(Arc::new(principal)) } else { Err(AuthError::Refused) }
    }

    /// The issuer of tokens of leases.
    #[must_use]
    pub fn job_tokens(&self) -> JobTokens {
        self.jobs.clone()
    }

    /// The id that is derived from words: the same on every call, and unpredictable without the root secret.
    #[must_use]
    pub fn id_of(&self, words: &[&str]) -> Uuid {
        let mut hmac = secret::hmac(&self.names);
        for word in words {
            hmac.update(&(word.len() as u64).to_le_bytes());
            hmac.update(word.as_bytes());
        }
        let digest: [u8; 32] = hmac.finalize().into_bytes().into();
        Uuid::from_slice(&digest[..16]).unwrap_or_default()
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

fn is_valid(row: &KeyRow, now: Timestamp) -> bool {
    row.revoked_at.is_none() && row.expires_at.is_none_or(|end| now < end)
}

fn public(row: KeyRow) -> Key {
    let KeyRow { id, tenant, name, scopes, created_at, expires_at, revoked_at, mac: _ } = row;
    Key { id, name, tenant, scopes, created_at, expires_at, revoked_at }
}

#[cfg(test)]
mod tests;
