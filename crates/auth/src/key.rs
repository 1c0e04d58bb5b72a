//! API keys: `pk_<id>_<secret>`. The server stores only an HMAC.

use hmac::{Hmac, Mac};
use palestra_protocol::id::KeyId;
use sha2::Sha256;
use uuid::Uuid;

/// The prefix of every key, so that leaked ones can be found.
const PREFIX: &str = "pk_";
/// Hexadecimal digits of the id.
const ID_DIGITS: usize = 32;
/// Random bytes of the secret part.
const SECRET_BYTES: usize = 32;

/// A key with its secret, as its owner holds it.
pub(super) struct KeySecret {
    id: KeyId,
    secret: [u8; SECRET_BYTES],
}

impl KeySecret {
    /// A new key.
    pub(super) fn generate() -> Self {
        Self { id: KeyId::new(), secret: super::secret::random_bytes() }
    }

    /// Reads a key; `None` when the text does not have the form of one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?;
        let (id, secret) = rest.split_once('_').filter(|(id, _)| id.len() == ID_DIGITS)?;
        let mut bytes = [0; SECRET_BYTES];
        hex::decode_to_slice(secret, &mut bytes).ok()?;
        Some(Self { id: Uuid::try_parse(id).ok()?.into(), secret: bytes })
    }

    pub(super) const fn id(&self) -> KeyId {
        self.id
    }

    /// The text that its owner sends.
    pub(super) fn reveal(&self) -> String {
        format!("{PREFIX}{}_{}", self.id.uuid().as_simple(), hex::encode(self.secret))
    }

    /// The stored form: HMAC-SHA-256 of id and secret with the server's pepper.
    pub(super) fn mac(&self, pepper: &[u8; 32]) -> [u8; 32] {
        self.hmac(pepper).finalize().into_bytes().into()
    }

    /// True when `mac` is the stored form of this key; runs in constant time.
    pub(super) fn matches(&self, mac: &[u8], pepper: &[u8; 32]) -> bool {
        self.hmac(pepper).verify_slice(mac).is_ok()
    }

    fn hmac(&self, pepper: &[u8; 32]) -> Hmac<Sha256> {
        let mut hmac = super::secret::hmac(pepper);
        hmac.update(self.id.uuid().as_bytes());
        hmac.update(&self.secret);
        hmac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_its_text_form() {
        let key = KeySecret::generate();
        let again = KeySecret::parse(&key.reveal()).unwrap();
        assert_eq!(again.id(), key.id());
        assert!(again.matches(&key.mac(&[1; 32]), &[1; 32]));
        assert!(!again.matches(&key.mac(&[1; 32]), &[2; 32]));
    }

    #[test]
    fn the_mac_binds_the_secret_to_the_id() {
        let key = KeySecret::generate();
        let other = KeySecret { id: KeyId::new(), secret: key.secret };
        assert!(!other.matches(&key.mac(&[1; 32]), &[1; 32]));
    }

    #[test]
    fn malformed_keys_are_refused() {
        let key = KeySecret::generate().reveal();
        for text in
            ["", "pk_", "pk__", &key[1..], &key[..key.len() - 1], &format!("{key}0"), &key.replace("pk_", "pk_-")]
        {
            assert!(KeySecret::parse(text).is_none(), "{text}");
        }
    }
}
