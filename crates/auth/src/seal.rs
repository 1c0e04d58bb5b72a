//! Secrets of others, such as keys of upstreams, sealed before they are stored: a stolen database opens none.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use super::secret::{RootSecret, random_bytes};

/// A sealed secret cannot be opened: another root secret sealed it, or something else, or it was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the stored secret cannot be opened: it was sealed under another root secret (`PALESTRA_SECRET`): put it again"
)]
pub struct SealError;

/// Seals and opens secrets, each for a purpose of its own.
pub struct Seals(LessSafeKey);

impl Seals {
    /// Of the root secret.
    pub(super) fn new(root: &RootSecret) -> Self {
        #[expect(clippy::expect_used, reason = "the key has the length of the cipher")]
        let key = UnboundKey::new(&CHACHA20_POLY1305, &root.derive("sealed secrets")).expect("a key of 32 bytes");
        Self(LessSafeKey::new(key))
    }

    /// A secret, sealed: a random nonce, the ciphertext and its tag. `purpose` says what it is for and is needed to open it.
    #[must_use]
    pub fn seal(&self, purpose: &str, secret: &str) -> Vec<u8> {
        let nonce: [u8; NONCE_LEN] = random_bytes();
        let mut sealed = secret.as_bytes().to_vec();
        #[expect(clippy::expect_used, reason = "a secret is far below the bound of the cipher")]
        self.0
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(purpose.as_bytes()), &mut sealed)
            .expect("a secret of some kilobytes is sealed");
        [&nonce[..], &sealed].concat()
    }

    /// The secret that was sealed for this purpose.
    ///
    /// # Errors
    /// When it was not sealed by this root secret for this purpose.
    pub fn open(&self, purpose: &str, sealed: &[u8]) -> Result<String, SealError> {
        let (nonce, text) = sealed.split_first_chunk::<NONCE_LEN>().ok_or(SealError)?;
        let mut text = text.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self.0.open_in_place(nonce, Aad::from(purpose.as_bytes()), &mut text).map_err(|_| SealError)?;
        std::str::from_utf8(opened).map(str::to_owned).map_err(|_| SealError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_is_opened_by_the_same_root_for_the_same_purpose_alone() {
        let seals = Seals::new(&RootSecret::from_text("root"));
        let sealed = seals.seal("upstream a of t", "sk-secret");
        assert_eq!(seals.open("upstream a of t", &sealed).unwrap(), "sk-secret");
        assert!(!sealed.windows(9).any(|bytes| bytes == b"sk-secret"));
        assert_eq!(seals.open("upstream b of t", &sealed), Err(SealError));
        assert_eq!(Seals::new(&RootSecret::from_text("other")).open("upstream a of t", &sealed), Err(SealError));
        let mut changed = sealed;
        *changed.last_mut().unwrap() ^= 1;
        assert_eq!(seals.open("upstream a of t", &changed), Err(SealError));
        assert_eq!(seals.open("upstream a of t", b"short"), Err(SealError));
        assert_ne!(seals.seal("x", "sk-secret"), seals.seal("x", "sk-secret"));
    }
}
