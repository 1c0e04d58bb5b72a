//! Session tokens: JWTs (HS256) that let their bearer act in one session only. Tokens of pages have another audience, so that a token
//! from a path is refused in a header.

use std::borrow::Cow;
use std::sync::Arc;

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use palestra_protocol::id::{KeyId, SessionId};
use palestra_protocol::time::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{AuthError, Grant, Principal, hs256};

pub(super) const ISSUER: &str = "palestra";
/// The audience of tokens in headers.
pub(super) const SESSION: &str = "palestra/session";
/// The audience of tokens in paths of pages.
pub(super) const PAGE: &str = "palestra/page";
/// Longest credential that is parsed, in bytes.
pub(super) const TOKEN_BYTES_MAX: usize = 2_048;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims<'a> {
    iss: Cow<'a, str>,
    aud: Cow<'a, str>,
    sub: SessionId,
    tenant: Cow<'a, str>,
    /// The key that made the token and whose revocation revokes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<KeyId>,
    /// Seconds since 1970.
    exp: u64,
}

/// Signs and reads tokens of one audience (HS256).
pub(super) struct Signer {
    signing: EncodingKey,
    reading: DecodingKey,
    validation: Validation,
}

impl Signer {
    pub(super) fn new(key: &[u8; 32], audience: &str) -> Self {
        hs256::install();
        // The algorithm is fixed: a token that names another one is refused.
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_issuer(&[ISSUER]);
        validation.set_audience(&[audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        // Expiry is checked below, with the server's clock.
        validation.validate_exp = false;
        Self { signing: EncodingKey::from_secret(key), reading: DecodingKey::from_secret(key), validation }
    }

    /// The token with these claims; none where they cannot be written, which the log says.
    pub(super) fn sign(&self, claims: &impl Serialize) -> Option<String> {
        let token = jsonwebtoken::encode(&Header::new(Algorithm::HS256), claims, &self.signing);
        token.inspect_err(|error| tracing::error!(%error, "a token could not be written")).ok()
    }

    /// The claims of a token, and the end of its time by what `exp` reads from them.
    pub(super) fn read<C: DeserializeOwned>(
        &self,
        token: &str,
        now: Timestamp,
        exp: impl Fn(&C) -> u64,
    ) -> Result<(C, Timestamp), AuthError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(AuthError::Refused);
        }
        let claims = jsonwebtoken::decode::<C>(token, &self.reading, &self.validation);
        let claims = claims.map_err(|_| AuthError::Refused)?.claims;
        let end = i64::try_from(exp(&claims).saturating_mul(1_000)).unwrap_or(i64::MAX);
        let end = Timestamp::from_milliseconds(end);
        if end > now { Ok((claims, end)) } else { Err(AuthError::Refused) }
    }
}

/// A point in time as claims name it: seconds since 1970, rounded up.
pub(super) fn seconds(at: Timestamp) -> u64 {
    u64::try_from(at.milliseconds()).unwrap_or(0).div_ceil(1_000)
}

/// Makes and reads session tokens of one audience.
pub(super) struct Tokens {
    signer: Signer,
    audience: &'static str,
}

impl Tokens {
    pub(super) fn new(key: &[u8; 32], audience: &'static str) -> Self {
        Self { signer: Signer::new(key, audience), audience }
    }

    /// The token of a session that `maker` opened, valid until `expires_at`, rounded up to a second.
    pub(super) fn mint(&self, maker: &Principal, session: SessionId, expires_at: Timestamp) -> Option<String> {
        self.signer.sign(&Claims {
            iss: ISSUER.into(),
            aud: self.audience.into(),
            sub: session,
            tenant: Cow::Borrowed(&maker.tenant),
            key: maker.key,
            exp: seconds(expires_at),
        })
    }

    pub(super) fn verify(&self, token: &str, now: Timestamp) -> Result<Principal, AuthError> {
        let (claims, end) = self.signer.read::<Claims<'static>>(token, now, |claims| claims.exp)?;
        Ok(Principal {
            tenant: Arc::from(&*claims.tenant),
            grant: Grant::Session(claims.sub),
            expires_at: Some(end),
            key: claims.key,
        })
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::{Value, json};

    use super::*;

    const NOW: Timestamp = Timestamp::from_milliseconds(1_000_000);

    fn tokens() -> Tokens {
        Tokens::new(&[7; 32], SESSION)
    }

    fn mint(tokens: &Tokens, session: SessionId) -> String {
        tokens.mint(&Principal::admin("default".into()), session, NOW.plus_ms(5_000)).unwrap()
    }

    fn valid() -> (SessionId, String) {
        let session = SessionId::new();
        (session, mint(&tokens(), session))
    }

    fn part(value: &Value) -> String {
        URL_SAFE_NO_PAD.encode(value.to_string())
    }

    #[test]
    fn a_token_names_its_session_and_tenant_and_stays_the_same() {
        let (session, token) = valid();
        assert_eq!(mint(&tokens(), session), token);
        let principal = tokens().verify(&token, NOW).unwrap();
        assert_eq!(principal.grant, Grant::Session(session));
        assert_eq!(&*principal.tenant, "default");
    }

    #[test]
    fn a_token_ends_with_its_session() {
        let (_, token) = valid();
        assert!(tokens().verify(&token, NOW.plus_ms(4_999)).is_ok());
        assert!(tokens().verify(&token, NOW.plus_ms(5_000)).is_err());
    }

    #[test]
    fn a_token_carries_its_tenant_and_key_whatever_they_hold() {
        let (tokens, key) = (tokens(), KeyId::new());
        for tenant in ["", "a", "a \"b\"\\", "ä\n", &"long".repeat(100)] {
            for key in [None, Some(key)] {
                let (maker, session) = (Principal { key, ..Principal::admin(tenant.into()) }, SessionId::new());
                let read = tokens.verify(&tokens.mint(&maker, session, NOW.plus_ms(4_001)).unwrap(), NOW).unwrap();
                assert_eq!((read.grant, &*read.tenant, read.key), (Grant::Session(session), tenant, key));
                assert_eq!(read.expires_at, Some(NOW.plus_ms(5_000)));
            }
        }
    }

    #[test]
    fn forged_tokens_are_refused() {
        let (session, token) = valid();
        let claims = json!({"iss": ISSUER, "aud": SESSION, "sub": session, "tenant": "default", "exp": 9_999_999});
        let parts: Vec<&str> = token.split('.').collect();
        let none = part(&json!({"alg": "none", "typ": "JWT"}));
        let hs512 = part(&json!({"alg": "HS512", "typ": "JWT"}));
        for forged in [
            format!("{none}.{}.", part(&claims)),
            format!("{none}.{}.{}", parts[1], parts[2]),
            format!("{hs512}.{}.{}", parts[1], parts[2]),
            format!("{}.{}.{}", parts[0], part(&claims), parts[2]),
            format!("{}.{}.", parts[0], parts[1]),
            mint(&Tokens::new(&[8; 32], SESSION), session),
            mint(&Tokens::new(&[7; 32], PAGE), session),
            format!("{token}A"),
            "a".repeat(TOKEN_BYTES_MAX + 1),
            String::new(),
            "..".to_owned(),
        ] {
            assert!(matches!(tokens().verify(&forged, NOW), Err(AuthError::Refused)), "{forged}");
        }
    }

    #[test]
    fn a_token_of_the_right_key_but_for_another_use_is_refused() {
        hs256::install();
        let session = SessionId::new();
        for claims in [
            json!({"iss": "other", "aud": SESSION, "sub": session, "tenant": "default", "exp": 9_999_999}),
            json!({"iss": ISSUER, "aud": "other", "sub": session, "tenant": "default", "exp": 9_999_999}),
            json!({"iss": ISSUER, "aud": SESSION, "sub": session, "tenant": "default"}),
            json!({"iss": ISSUER, "aud": SESSION, "sub": session, "tenant": "default", "exp": 9_999_999, "scope": "admin"}),
        ] {
            let header = Header::new(Algorithm::HS256);
            let token = jsonwebtoken::encode(&header, &claims, &EncodingKey::from_secret(&[7; 32])).unwrap();
            assert!(tokens().verify(&token, NOW).is_err(), "{claims}");
        }
    }
}
