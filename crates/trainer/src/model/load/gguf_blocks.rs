//! Packed number formats of GGUF, and their unpacking, <https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h>.

use half::{bf16, f16};

/// Values of one quantised block.
const BLOCK_VALUES: usize = 32;
/// Bytes of an f16 scale or minimum.
const SCALE_BYTES: usize = 2;

/// Packed format of a tensor's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// 32-bit floats.
    F32,
    /// 16-bit floats.
    F16,
    /// Brain floats.
    Bf16,
    /// 32 values in 18 bytes: f16 scale d, then 4 bits each; x = d (q - 8).
    Q4_0,
    /// 32 values in 20 bytes: f16 scale d, f16 minimum m, then 4 bits each; x = d q + m.
    Q4_1,
    /// 32 values in 34 bytes: f16 scale d, then 8 signed bits each; x = d q.
    Q8_0,
}

impl BlockKind {
    /// The kind with this code in the file.
    pub const fn of_code(code: u32) -> Option<Self> {
        Some(match code {
            0 => Self::F32,
            1 => Self::F16,
            2 => Self::Q4_0,
            3 => Self::Q4_1,
            8 => Self::Q8_0,
            30 => Self::Bf16,
            _ => return None,
        })
    }

    /// Values of one block.
    pub const fn values(self) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::Bf16 => 1,
            Self::Q4_0 | Self::Q4_1 | Self::Q8_0 => BLOCK_VALUES,
        }
    }

    /// Bytes of one block.
    pub const fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::Q4_0 => SCALE_BYTES + BLOCK_VALUES / 2,
            Self::Q4_1 => 2 * SCALE_BYTES + BLOCK_VALUES / 2,
            Self::Q8_0 => SCALE_BYTES + BLOCK_VALUES,
        }
    }
}

/// Unpacks whole blocks; bytes after the last whole block are left out.
pub(super) fn dequantise(kind: BlockKind, packed: &[u8]) -> Vec<f32> {
    let mut values = Vec::with_capacity(packed.len() / kind.bytes() * kind.values());
    match kind {
        BlockKind::F32 => values.extend(packed.as_chunks().0.iter().map(|at| f32::from_le_bytes(*at))),
        BlockKind::F16 => values.extend(packed.as_chunks().0.iter().map(|at| f16::from_le_bytes(*at).to_f32())),
        BlockKind::Bf16 => values.extend(packed.as_chunks().0.iter().map(|at| bf16::from_le_bytes(*at).to_f32())),
        BlockKind::Q4_0 => {
            for [low, high, quants @ ..] in packed.as_chunks::<18>().0 {
                let scale = f16::from_le_bytes([*low, *high]).to_f32();
                let value = |nibble: u8| (f32::from(nibble) - 8.0) * scale;
                values.extend(quants.iter().map(|byte| value(byte & 0x0f)));
                values.extend(quants.iter().map(|byte| value(byte >> 4)));
            }
        }
        BlockKind::Q4_1 => {
            for [scale_low, scale_high, minimum_low, minimum_high, quants @ ..] in packed.as_chunks::<20>().0 {
                let scale = f16::from_le_bytes([*scale_low, *scale_high]).to_f32();
                let minimum = f16::from_le_bytes([*minimum_low, *minimum_high]).to_f32();
                let value = |nibble: u8| f32::from(nibble) * scale + minimum;
                values.extend(quants.iter().map(|byte| value(byte & 0x0f)));
                values.extend(quants.iter().map(|byte| value(byte >> 4)));
            }
        }
        BlockKind::Q8_0 => {
            for [low, high, quants @ ..] in packed.as_chunks::<34>().0 {
                let scale = f16::from_le_bytes([*low, *high]).to_f32();
                values.extend(quants.iter().map(|byte| f32::from(byte.cast_signed()) * scale));
            }
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::{BlockKind, dequantise};

    #[test]
    fn four_bit_blocks_hold_low_nibbles_first() {
        let mut block = half::f16::from_f32(0.5).to_le_bytes().to_vec();
        block.extend((0..16).map(|at| at | ((15 - at) << 4)));
        let values = dequantise(BlockKind::Q4_0, &block);
        let expected: Vec<f32> =
            (0..16).map(|q| (q as f32 - 8.0) / 2.0).chain((0..16).map(|q| (15 - q) as f32 / 2.0 - 4.0)).collect();
        assert_eq!(values, expected);
    }

    #[test]
    fn blocks_with_a_minimum_add_it() {
        let mut block = half::f16::from_f32(0.25).to_le_bytes().to_vec();
        block.extend(half::f16::from_f32(-1.0).to_le_bytes());
        block.extend([0x20; 16]);
        let values = dequantise(BlockKind::Q4_1, &block);
        assert_eq!(values[..16], [-1.0; 16]);
        assert_eq!(values[16..], [-0.5; 16]);
    }

    #[test]
    fn eight_bit_blocks_are_signed() {
        let mut block = half::f16::from_f32(2.0).to_le_bytes().to_vec();
        block.extend((0..32_i8).map(|at| (at - 16).cast_unsigned()));
        let expected: Vec<f32> = (0..32_i16).map(|at| f32::from(at - 16) * 2.0).collect();
        assert_eq!(dequantise(BlockKind::Q8_0, &block), expected);
    }

    #[test]
    fn plain_floats_are_read_as_they_are() {
        assert_eq!(dequantise(BlockKind::F32, &1.25_f32.to_le_bytes()), [1.25]);
        assert_eq!(dequantise(BlockKind::F16, &half::f16::from_f32(-3.5).to_le_bytes()), [-3.5]);
        assert_eq!(dequantise(BlockKind::Bf16, &half::bf16::from_f32(96.0).to_le_bytes()), [96.0]);
    }
}
