//! Session tokens: JWTs (HS256) that let their bearer act in one session and nowhere else.

use std::sync::Arc;

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use palestra_protocol::id::{KeyId, SessionId};
use palestra_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{AuthError, Grant, Principal};

const ISSUER: &str = "palestra";
const AUDIENCE: &str = "palestra/session";
/// A credential longer than this is not looked at.
const TOKEN_BYTES_MAX: usize = 2_048;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    iss: String,
    aud: String,
    sub: SessionId,
    tenant: String,
    /// The key that made the token; it does not outlive it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<KeyId>,
    /// Seconds since 1970.
    exp: u64,
}

/// Signs and reads session tokens.
pub(super) struct Tokens {
    signing: EncodingKey,
    reading: DecodingKey,
    validation: Validation,
}

impl Tokens {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        // The algorithm is fixed here: what a token says of itself is compared with it, never followed.
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_issuer(&[ISSUER]);
        validation.set_audience(&[AUDIENCE]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        // Expiry is judged below, by the server's own clock.
        validation.validate_exp = false;
        Self { signing: EncodingKey::from_secret(key), reading: DecodingKey::from_secret(key), validation }
    }

    /// The token of a session, made for `maker`, valid until `expires_at` rounded up to a second.
    pub(super) fn mint(&self, maker: &Principal, session: SessionId, expires_at: Timestamp) -> Option<String> {
        let claims = Claims {
            iss: ISSUER.to_owned(),
            aud: AUDIENCE.to_owned(),
            sub: session,
            tenant: maker.tenant.to_string(),
            key: maker.key,
            exp: u64::try_from(expires_at.milliseconds()).unwrap_or(0).div_ceil(1_000),
        };
        match jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.signing) {
            Ok(token) => Some(token),
            Err(error) => {
                tracing::error!(%error, "a session token could not be signed");
                None
            }
        }
    }

    pub(super) fn verify(&self, token: &str, now: Timestamp) -> Result<Principal, AuthError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(AuthError::Refused);
        }
        let claims = jsonwebtoken::decode::<Claims>(token, &self.reading, &self.validation)
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
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::{Value, json};

    use super::*;

    const NOW: Timestamp = Timestamp::from_milliseconds(1_000_000);

    fn tokens() -> Tokens {
        Tokens::new(&[7; 32])
    }

    fn valid() -> (SessionId, String) {
        let session = SessionId::new();
        (session, tokens().mint(&Principal::admin("default".into()), session, NOW.plus_ms(5_000)).unwrap())
    }

    fn part(value: &Value) -> String {
        URL_SAFE_NO_PAD.encode(value.to_string())
    }

    #[test]
    fn a_token_names_its_session_and_tenant_and_stays_the_same() {
        let (session, token) = valid();
        assert_eq!(
            tokens().mint(&Principal::admin("default".into()), session, NOW.plus_ms(5_000)),
            Some(token.clone())
        );
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
    fn forged_tokens_are_refused() {
        let (session, token) = valid();
        let claims = json!({"iss": ISSUER, "aud": AUDIENCE, "sub": session, "tenant": "default", "exp": 9_999_999});
        let parts: Vec<&str> = token.split('.').collect();
        let none = part(&json!({"alg": "none", "typ": "JWT"}));
        let hs512 = part(&json!({"alg": "HS512", "typ": "JWT"}));
        for forged in [
            format!("{none}.{}.", part(&claims)),
            format!("{none}.{}.{}", parts[1], parts[2]),
            format!("{hs512}.{}.{}", parts[1], parts[2]),
            format!("{}.{}.{}", parts[0], part(&claims), parts[2]),
            format!("{}.{}.", parts[0], parts[1]),
            Tokens::new(&[8; 32]).mint(&Principal::admin("default".into()), session, NOW.plus_ms(5_000)).unwrap(),
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
            json!({"iss": "other", "aud": AUDIENCE, "sub": session, "tenant": "default", "exp": 9_999_999}),
            json!({"iss": ISSUER, "aud": "other", "sub": session, "tenant": "default", "exp": 9_999_999}),
            json!({"iss": ISSUER, "aud": AUDIENCE, "sub": session, "tenant": "default"}),
            json!({"iss": ISSUER, "aud": AUDIENCE, "sub": session, "tenant": "default", "exp": 9_999_999, "scope": "admin"}),
        ] {
            let header = Header::new(Algorithm::HS256);
            let token = jsonwebtoken::encode(&header, &claims, &EncodingKey::from_secret(&[7; 32])).unwrap();
            assert!(tokens().verify(&token, NOW).is_err(), "{claims}");
        }
    }
}
