//! The source of an episode's hidden values: flags, PINs, places of reports. None of them can be found by somebody who knows or
//! chooses the session's seed.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Bytes of a key.
const KEY_BYTES: usize = 32;

/// Source of the hidden values of an episode. Its text form never shows the key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    /// A key that nobody but the server knows, made for one episode and shared by what goes on from it: forks and restored snapshots.
    Key([u8; KEY_BYTES]),
    /// The session's seed, for episodes that began before there were keys: they are judged as they were played.
    Seed(u64),
}

impl Secrets {
    /// A key from the system's generator.
    ///
    /// # Panics
    /// Where the system gives no randomness: no secret may be made without.
    #[must_use]
    pub fn fresh() -> Self {
        let mut key = [0; KEY_BYTES];
        #[expect(clippy::expect_used, reason = "a server without randomness must not make secrets")]
        getrandom::fill(&mut key).expect("the system gives randomness");
        Self::Key(key)
    }

    /// A value for one `purpose`: HMAC-SHA-256 of purpose and `parts`, each with its length, under the key. `before` is what followed
    /// from the seed, where there is no key.
    #[must_use]
    pub fn derive(&self, purpose: &str, parts: &[&[u8]], before: impl FnOnce(u64) -> [u8; 32]) -> [u8; 32] {
        let key = match self {
            Self::Key(key) => key,
            Self::Seed(seed) => return before(*seed),
        };
        #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
        let mut hmac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of every length");
        for part in std::iter::once(purpose.as_bytes()).chain(parts.iter().copied()) {
            hmac.update(&(part.len() as u64).to_le_bytes());
            hmac.update(part);
        }
        hmac.finalize().into_bytes().into()
    }

    /// The key in hexadecimal digits, to be stored; `None` where there is no key.
    #[must_use]
    pub fn stored(&self) -> Option<String> {
        match self {
            Self::Key(key) => Some(hex::encode(key)),
            Self::Seed(_) => None,
        }
    }

    /// Secrets stored with an episode: the key, or, where there is none, the episode's seed.
    ///
    /// # Errors
    /// When the text is no key. The error does not repeat it.
    pub fn of_stored(stored: Option<&str>, seed: u64) -> Result<Self, String> {
        let Some(stored) = stored else { return Ok(Self::Seed(seed)) };
        let mut key = [0; KEY_BYTES];
        hex::decode_to_slice(stored, &mut key)
            .map_err(|_| format!("the secret must be {} hexadecimal digits", 2 * KEY_BYTES))?;
        Ok(Self::Key(key))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(_) => formatter.write_str("Key(..)"),
            Self::Seed(seed) => formatter.debug_tuple("Seed").field(seed).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_back_from_the_store_and_is_never_shown() {
        let made = Secrets::fresh();
        let stored = made.stored().expect("a key");
        assert_eq!(Secrets::of_stored(Some(&stored), 7), Ok(made));
        assert_eq!(Secrets::of_stored(None, 7), Ok(Secrets::Seed(7)));
        assert_eq!(Secrets::Seed(7).stored(), None);
        let error = Secrets::of_stored(Some(&stored[1..]), 7).expect_err("63 digits");
        assert!(!error.contains(&stored[1..]), "{error}");
        assert_eq!(format!("{made:?}"), "Key(..)");
    }

    #[test]
    fn keys_purposes_and_parts_give_unlike_values() {
        let derive = |secrets: Secrets, purpose, parts: &[&[u8]]| secrets.derive(purpose, parts, |_| [7; 32]);
        let (one, other) = (Secrets::fresh(), Secrets::fresh());
        assert_eq!(derive(one, "a", &[b"b"]), derive(one, "a", &[b"b"]));
        let values = [
            derive(one, "a", &[b"b"]),
            derive(other, "a", &[b"b"]),
            derive(one, "b", &[b"b"]),
            derive(one, "a", &[b"", b"b"]),
            derive(one, "ab", &[]),
            derive(Secrets::Seed(7), "a", &[b"b"]),
        ];
        for (place, value) in values.iter().enumerate() {
            assert!(!values[..place].contains(value), "{place}");
        }
        assert_eq!(values[5], [7; 32]);
    }
}
