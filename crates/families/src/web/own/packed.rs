//! Bytes in a stored definition: compressed, as text.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use palestra_environment::state::Digest;

/// Bytes of one file or answer.
pub(super) const BYTES_MAX: usize = 32 << 20;
/// Bytes of everything that the pages of an environment can ask for.
pub(super) const CONTENT_BYTES_MAX: usize = 64 << 20;

/// Bytes that are stored compressed.
#[derive(Clone, PartialEq, Eq, Default)]
pub(super) struct Packed(pub(super) Vec<u8>);

impl std::fmt::Debug for Packed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} bytes", self.0.len())
    }
}

impl Packed {
    /// `sha256:<hex>` of the bytes.
    pub(super) fn digest(&self) -> String {
        Digest::of(&self.0).to_string()
    }
}

impl Serialize for Packed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        let packed = encoder.write_all(&self.0).and_then(|()| encoder.finish()).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&STANDARD.encode(packed))
    }
}

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let packed = STANDARD.decode(text).map_err(serde::de::Error::custom)?;
        unzipped(ZlibDecoder::new(packed.as_slice())).map(Self).map_err(serde::de::Error::custom)
    }
}

/// Reads what a decoder gives, up to [`BYTES_MAX`].
///
/// # Errors
/// In words, when it is broken or more.
pub(super) fn unzipped(decoder: impl std::io::Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = decoder.take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("the bytes cannot be uncompressed, pack them again ({error})"))?;
    if bytes.len() > BYTES_MAX {
        return Err(format!("the content has more than {BYTES_MAX} bytes once it is uncompressed: split it"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_a_bomb_does_not() {
        let bytes = Packed((0..=255).collect());
        let stored = serde_json::to_string(&bytes).unwrap();
        assert_eq!(serde_json::from_str::<Packed>(&stored).unwrap(), bytes);
        let bomb = serde_json::to_string(&Packed(vec![0; BYTES_MAX + 1])).unwrap();
        assert!(bomb.len() < 100_000);
        assert!(serde_json::from_str::<Packed>(&bomb).unwrap_err().to_string().contains("more than"));
        assert!(serde_json::from_str::<Packed>("\"AAAA\"").is_err());
    }
}
