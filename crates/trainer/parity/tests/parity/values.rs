//! Weights that are large enough to tell a wrong model from a right one, the same for both sides.

/// Pseudo-random numbers, splitmix64, <https://doi.org/10.1145/2714064.2660195>.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Uniform in [-1, 1).
    pub(crate) fn signed(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// Values of the tensor `name`: norms around 1, biases up to 0.5, matrices with a deviation of 1 / sqrt(inputs), an embedding
/// with one of 1 / sqrt 3.
pub(crate) fn values(seed: u64, name: &str, shape: &[usize]) -> Vec<f32> {
    let mut random = Random(name.bytes().fold(seed, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte))));
    let inputs = shape.last().copied().unwrap_or(1) as f64;
    let value = |x: f64| {
        if name.ends_with("norm.weight") {
            1.0 + 0.3 * x
        } else if name.ends_with(".bias") {
            0.5 * x
        } else if name.ends_with("embed_tokens.weight") {
            x
        } else {
            x * (3.0 / inputs).sqrt()
        }
    };
    (0..shape.iter().product()).map(|_| value(random.signed()) as f32).collect()
}
