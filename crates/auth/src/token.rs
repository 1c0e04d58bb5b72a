//! Session tokens: JWTs (HS256) that let their bearer act in one session only. Tokens of pages have another audience, so that a token
//! from a path is refused in a header.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use palestra_protocol::id::{KeyId, SessionId};
use palestra_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::{AuthError, Grant, Principal, hs256, secret};

const ISSUER: &str = "palestra";
/// The audience of tokens in headers.
pub(super) const SESSION: &str = "palestra/session";
/// The audience of tokens in paths of pages.
pub(super) const PAGE: &str = "palestra/page";
/// Longest credential that is parsed, in bytes.
const TOKEN_BYTES_MAX: usize = 2_048;

/// The encoded header of every token: `{"typ":"JWT","alg":"HS256"}`.
const HEADER: &str = "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.";
/// The beginning of the last claim.
const SUBJECT: &str = r#""sub":""#;
/// Bytes of one group of Base64.
const BASE64_GROUP: usize = 3;
/// Characters after the shared claims: the encoded rest of the last claim, a dot and the signature.
const REST_CHARS: usize = 51 + 1 + 43;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    #[serde(rename = "iss")]
    _iss: String,
    #[serde(rename = "aud")]
    _aud: String,
    sub: SessionId,
    tenant: String,
    #[serde(default)]
    key: Option<KeyId>,
    exp: u64,
}

/// The claims that the tokens of one minter share.
#[derive(Serialize)]
struct SharedClaims<'a> {
    iss: &'static str,
    aud: &'static str,
    tenant: &'a str,
    /// The key that made the token and whose revocation revokes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<KeyId>,
    /// Seconds since 1970.
    exp: u64,
}

/// Signs and verifies session tokens.
pub(super) struct Tokens {
    /// Initialised with the key.
    signing: Hmac<Sha256>,
    verifying: DecodingKey,
    validation: Validation,
    audience: &'static str,
}

/// Makes tokens that differ only in their session: the shared part is encoded and hashed once.
pub struct Minter {
    prefix: String,
    /// Initialised with the key and the prefix.
    signing: Hmac<Sha256>,
    /// Seconds since 1970.
    exp: u64,
}

impl Minter {
    /// True when its tokens expire at this time.
    #[must_use]
    pub fn serves(&self, expires_at: Timestamp) -> bool {
        self.exp == seconds(expires_at)
    }

    /// The token of a session.
    #[must_use]
    pub fn mint(&self, session: SessionId) -> String {
        let mut token = String::with_capacity(self.prefix.len() + REST_CHARS);
        token.push_str(&self.prefix);
        URL_SAFE_NO_PAD.encode_string(format!(r#"{session}"}}"#), &mut token);
        let mut signing = self.signing.clone();
        signing.update(&token.as_bytes()[self.prefix.len()..]);
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signing.finalize().into_bytes(), &mut token);
        token
    }
}

/// Seconds since 1970, rounded up.
fn seconds(at: Timestamp) -> u64 {
    u64::try_from(at.milliseconds()).unwrap_or(0).div_ceil(1_000)
}

impl Tokens {
    pub(super) fn new(key: &[u8; 32], audience: &'static str) -> Self {
        hs256::install();
        // The algorithm is fixed: a token that names another one is refused.
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_issuer(&[ISSUER]);
        validation.set_audience(&[audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        // Expiry is checked below, with the server's clock.
        validation.validate_exp = false;
        Self { signing: secret::hmac(key), verifying: DecodingKey::from_secret(key), validation, audience }
    }

    /// Makes the tokens of `maker` that are valid until `expires_at`, rounded up to a second.
    pub(super) fn minter(&self, maker: &Principal, expires_at: Timestamp) -> Option<Minter> {
        let exp = seconds(expires_at);
        let claims = SharedClaims { iss: ISSUER, aud: self.audience, tenant: &maker.tenant, key: maker.key, exp };
        let mut text = match serde_json::to_string(&claims) {
            Ok(text) => text,
            Err(error) => {
                tracing::error!(%error, "the claims of session tokens could not be encoded");
                return None;
            }
        };
        text.pop();
        text.push(',');
        // White space to a full group, so that the rest can be encoded separately.
        while !(text.len() + SUBJECT.len()).is_multiple_of(BASE64_GROUP) {
            text.push(' ');
        }
        text.push_str(SUBJECT);
        let mut prefix = HEADER.to_owned();
        URL_SAFE_NO_PAD.encode_string(text, &mut prefix);
        let mut signing = self.signing.clone();
        signing.update(prefix.as_bytes());
        Some(Minter { prefix, signing, exp })
    }

    pub(super) fn verify(&self, token: &str, now: Timestamp) -> Result<Principal, AuthError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(AuthError::Refused);
        }
        let claims = jsonwebtoken::decode::<Claims>(token, &self.verifying, &self.validation)
            .map_err(|_| AuthError::Refused)?
            .claims;
        let expires_at =
            Timestamp::from_milliseconds(i64::try_from(claims.exp.saturating_mul(1_000)).unwrap_or(i64::MAX));
        if expires_at <= now {
            return Err(AuthError::Refused);
        }
        Ok(Principal {
            tenant: Arc::from(claims.tenant),
            grant: Grant::Session(claims.sub),
            expires_at: Some(expires_at),
            key: claims.key,
        })
    }
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{EncodingKey, Header};
    use serde_json::{Value, json};

    use super::*;

    const NOW: Timestamp = Timestamp::from_milliseconds(1_000_000);

    fn tokens() -> Tokens {
        Tokens::new(&[7; 32], SESSION)
    }

    fn minter(tokens: &Tokens) -> Minter {
        tokens.minter(&Principal::admin("default".into()), NOW.plus_ms(5_000)).unwrap()
    }

    fn valid() -> (SessionId, String) {
        let session = SessionId::new();
        (session, minter(&tokens()).mint(session))
    }

    fn part(value: &Value) -> String {
        URL_SAFE_NO_PAD.encode(value.to_string())
    }

    #[test]
    fn a_token_names_its_session_and_tenant_and_stays_the_same() {
        let (session, token) = valid();
        assert_eq!(minter(&tokens()).mint(session), token);
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
    fn tokens_of_one_minter_are_those_of_their_own_session() {
        let (tokens, key) = (tokens(), KeyId::new());
        // Of every length modulo three, and with what JSON escapes.
        for tenant in ["", "a", "ab", "abc", "a \"b\"\\", "ä\n", &"long".repeat(100)] {
            for key in [None, Some(key)] {
                let maker = Principal { key, ..Principal::admin(tenant.into()) };
                let minter = tokens.minter(&maker, NOW.plus_ms(4_001)).unwrap();
                for session in [SessionId::new(), SessionId::new()] {
                    let read = tokens.verify(&minter.mint(session), NOW).unwrap();
                    assert_eq!(read.grant, Grant::Session(session), "{tenant}");
                    assert_eq!((&*read.tenant, read.key), (tenant, key));
                    assert_eq!(read.expires_at, Some(NOW.plus_ms(5_000)));
                }
            }
        }
    }

    #[test]
    fn a_minter_serves_what_ends_in_its_second() {
        let minter = minter(&tokens());
        assert!(minter.serves(NOW.plus_ms(5_000)) && minter.serves(NOW.plus_ms(4_001)));
        assert!(!minter.serves(NOW.plus_ms(4_000)) && !minter.serves(NOW.plus_ms(5_001)));
    }

    #[test]
    fn a_token_is_signed_as_the_library_signs() {
        let (_, token) = valid();
        let parts: Vec<&str> = token.split('.').collect();
        assert_eq!(URL_SAFE_NO_PAD.decode(parts[0]).unwrap(), br#"{"typ":"JWT","alg":"HS256"}"#);
        let (message, key) = (format!("{}.{}", parts[0], parts[1]), EncodingKey::from_secret(&[7; 32]));
        assert_eq!(jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).unwrap(), parts[2]);
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
            minter(&Tokens::new(&[8; 32], SESSION)).mint(session),
            minter(&Tokens::new(&[7; 32], PAGE)).mint(session),
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
