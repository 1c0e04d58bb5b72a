//! Ids of rows as people see them: a counter behind a seeded permutation, so that they look real, are unique, and can be
//! reproduced.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

/// Longest id, in bytes.
pub const ID_BYTES_MAX: usize = 128;

/// Form of the ids of a table: `#W{7}` is `#W` and seven digits. Without braces it is one fixed id, for a single row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdPattern {
    before: Arc<str>,
    digits: u32,
    after: Arc<str>,
}

/// Key of the permutation of a table's ids: the seed of the data and the table's name, so that a further table leaves
/// the ids of the others as they are.
#[must_use]
pub fn id_key(seed: u64, table: &str) -> u64 {
    let mut hasher = Sha256::new_with_prefix(seed.to_be_bytes());
    hasher.update(table);
    let digest: [u8; 32] = hasher.finalize().into();
    digest.iter().take(8).fold(0, |key, byte| (key << 8) | u64::from(*byte))
}

/// True if text may be an id: not empty, not too long, without control characters, and not like a directive (`$replace`).
#[must_use]
pub fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= ID_BYTES_MAX && !text.starts_with('$') && !text.chars().any(char::is_control)
}

impl IdPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// When the braces don't hold one digit from 1 to 9, there are several pairs, or the rest can't be part of an id.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is no pattern of ids: expected text with {{1}} to {{9}} once, such as \"W{{7}}\"");
        let (before, digits, after) = match text.split_once('{') {
            None => (text, 0, ""),
            Some((before, rest)) => {
                let (digits, after) = rest.split_once('}').ok_or_else(wrong)?;
                let digits = match digits.as_bytes() {
                    [digit @ b'1'..=b'9'] => u32::from(digit - b'0'),
                    _ => return Err(wrong()),
                };
                (before, digits, after)
            }
        };
        let rest = format!("{before}{after}");
        if rest.contains(['{', '}']) || !is_id(&format!("{before}0{after}")) || text.is_empty() {
            return Err(wrong());
        }
        Ok(Self { before: before.into(), digits, after: after.into() })
    }

    /// True if there is but one id.
    #[must_use]
    pub const fn is_fixed(&self) -> bool {
        self.digits == 0
    }

    /// Number of ids.
    #[must_use]
    pub const fn capacity(&self) -> u32 {
        10_u32.pow(self.digits)
    }

    /// The id of a counter; none from [`IdPattern::capacity`] on.
    #[must_use]
    pub fn show(&self, counter: u32, key: u64) -> Option<Arc<str>> {
        if counter >= self.capacity() {
            return None;
        }
        if self.is_fixed() {
            return Some(Arc::clone(&self.before));
        }
        let place = Permutation::new(self.capacity(), key).forward(counter);
        Some(format!("{}{place:0width$}{}", self.before, self.after, width = self.digits as usize).into())
    }

    /// The counter of an id; none for text that the pattern doesn't give.
    #[must_use]
    pub fn counter(&self, id: &str, key: u64) -> Option<u32> {
        let digits = id.strip_prefix(&*self.before)?.strip_suffix(&*self.after)?;
        if digits.len() != self.digits as usize || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        if self.is_fixed() {
            return Some(0);
        }
        Some(Permutation::new(self.capacity(), key).backward(digits.parse().ok()?))
    }
}

/// Its spelling in a definition.
impl fmt::Display for IdPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_fixed() {
            return f.write_str(&self.before);
        }
        write!(f, "{}{{{}}}{}", self.before, self.digits, self.after)
    }
}

/// A keyed permutation of `0..length`: a Feistel network over the next power of four, walked until it falls in the range
/// (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002).
struct Permutation {
    length: u64,
    half_bits: u32,
    key: u64,
}

const ROUNDS: u64 = 4;

impl Permutation {
    fn new(length: u32, key: u64) -> Self {
        let bits = u32::BITS - length.saturating_sub(1).leading_zeros();
        Self { length: length.into(), half_bits: bits.div_ceil(2).max(1), key }
    }

    fn forward(&self, position: u32) -> u32 {
        self.walk(position, |permutation, mut left, mut right| {
            for round in 0..ROUNDS {
                (left, right) = (right, left ^ permutation.mask(round, right));
            }
            (left, right)
        })
    }

    fn backward(&self, place: u32) -> u32 {
        self.walk(place, |permutation, mut left, mut right| {
            for round in (0..ROUNDS).rev() {
                (left, right) = (right ^ permutation.mask(round, left), left);
            }
            (left, right)
        })
    }

    fn walk(&self, from: u32, step: impl Fn(&Self, u64, u64) -> (u64, u64)) -> u32 {
        let mut place = u64::from(from);
        loop {
            let (left, right) = step(self, place >> self.half_bits, place & ((1 << self.half_bits) - 1));
            place = (left << self.half_bits) | right;
            // What is below the length came from 32 bits.
            if let Some(place) = u32::try_from(place).ok().filter(|_| place < self.length) {
                return place;
            }
        }
    }

    const fn mask(&self, round: u64, half: u64) -> u64 {
        mix(half ^ mix(self.key ^ (round << 56))) & ((1 << self.half_bits) - 1)
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn pattern(text: &str) -> IdPattern {
        IdPattern::parse(text).expect("a pattern")
    }

    #[test]
    fn ids_are_unique_and_lead_back_to_their_counter() {
        for text in ["{1}", "M{2}", "#W{4}-x"] {
            let (pattern, key) = (pattern(text), id_key(7, "order"));
            let ids: BTreeSet<Arc<str>> =
                (0..pattern.capacity()).map(|counter| pattern.show(counter, key).expect("an id")).collect();
            assert_eq!(ids.len(), pattern.capacity() as usize, "{text}");
            for counter in 0..pattern.capacity() {
                let id = pattern.show(counter, key).expect("an id");
                assert_eq!(pattern.counter(&id, key), Some(counter), "{id}");
            }
            assert_eq!(pattern.show(pattern.capacity(), key), None);
            assert_eq!(pattern.to_string(), text);
        }
    }

    #[test]
    fn nine_digits_work_at_both_ends() {
        let pattern = pattern("T{9}");
        for counter in [0, 1, 999_999_999] {
            let id = pattern.show(counter, 3).expect("an id");
            assert_eq!((id.len(), pattern.counter(&id, 3)), (10, Some(counter)), "{id}");
        }
    }

    #[test]
    fn seed_and_table_decide_the_ids() {
        let pattern = pattern("M{7}");
        let shown: BTreeSet<Arc<str>> = [id_key(1, "member"), id_key(2, "member"), id_key(1, "loan")]
            .map(|key| pattern.show(0, key).expect("an id"))
            .into();
        assert_eq!(shown.len(), 3);
        // Worked out apart, in another language.
        assert_eq!(pattern.show(0, id_key(1, "member")).as_deref(), Some("M8390474"), "ids are part of stored data");
    }

    #[test]
    fn other_text_has_no_counter() {
        for id in ["", "M", "M12", "M1234", "M12a", "N123", "M-12", "M123x"] {
            assert_eq!(pattern("M{3}").counter(id, 1), None, "{id}");
        }
        assert_eq!(pattern("settings").counter("settings", 1), Some(0));
        assert_eq!(
            (pattern("settings").show(0, 1).as_deref(), pattern("settings").show(1, 1)),
            (Some("settings"), None)
        );
    }

    #[test]
    fn patterns_that_make_no_sense_are_refused() {
        for text in ["", "M{", "M{}", "M{0}", "M{10}", "M{a}", "M{3}{3}", "M}3{", "${3}", "M\n{3}", "{3}}"] {
            assert!(IdPattern::parse(text).is_err(), "{text:?}");
        }
        assert!(IdPattern::parse(&format!("{}{{3}}", "x".repeat(ID_BYTES_MAX))).is_err());
    }
}
