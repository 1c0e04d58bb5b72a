//! Randomness of a session: a seed until the first number is drawn, which in most environments never happens.

use std::convert::Infallible;

use rand::rand_core::TryRng;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::task::seed_of;

/// A generator that is made when it is first used, as its state takes ten times the room of its seed. The numbers are those of
/// [`ChaCha8Rng`] from the same seed.
#[derive(Debug, Clone)]
pub struct Randomness {
    seed: [u8; 32],
    generator: Option<Box<ChaCha8Rng>>,
}

impl Randomness {
    /// Randomness that follows from the digest of `words`.
    #[must_use]
    pub fn seeded(words: &[&[u8]]) -> Self {
        Self { seed: seed_of(words), generator: None }
    }

    fn generator(&mut self) -> &mut ChaCha8Rng {
        self.generator.get_or_insert_with(|| Box::new(ChaCha8Rng::from_seed(self.seed)))
    }
}

impl TryRng for Randomness {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.generator().next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.generator().next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.generator().fill_bytes(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::seeded;

    #[test]
    fn the_numbers_are_those_of_the_generator_also_after_a_copy() {
        let (mut lazy, mut generator) = (Randomness::seeded(&[b"a"]), seeded(&[b"a"]));
        let mut untouched = lazy.clone();
        for _ in 0..100 {
            assert_eq!(lazy.next_u64(), generator.next_u64());
        }
        let mut copy = lazy.clone();
        assert_eq!((copy.next_u32(), lazy.next_u32()), (generator.clone().next_u32(), generator.next_u32()));
        assert_eq!(untouched.next_u64(), seeded(&[b"a"]).next_u64());
    }
}
