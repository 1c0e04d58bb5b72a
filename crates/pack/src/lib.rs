//! Data that travels inside the program: build scripts pack it with LZMA, and the program unpacks it where it is used.

use std::io::{self, Read as _, Write as _};

use lzma_rust2::{DICT_SIZE_MIN, LzmaOptions, LzmaReader, LzmaWriter};

/// Packs data as small as LZMA can.
///
/// # Errors
/// When the data are too large for LZMA.
pub fn pack(data: &[u8]) -> io::Result<Vec<u8>> {
    let mut options = LzmaOptions::with_preset(9);
    // A byte depends on the whole byte before it, not on its place: texts and programs have no columns. A quarter smaller than deflate.
    (options.lc, options.pb) = (4, 0);
    (options.nice_len, options.depth_limit) = (LzmaOptions::NICE_LEN_MAX, 512);
    // Whoever unpacks the data holds this much of it a second time.
    options.dict_size = u32::try_from(data.len()).map_err(io::Error::other)?.max(DICT_SIZE_MIN);
    let mut packer = LzmaWriter::new_use_header(Vec::new(), &options, Some(data.len() as u64))?;
    packer.write_all(data)?;
    packer.finish()
}

/// Unpacks what [`pack`] packed.
///
/// # Errors
/// When it is nothing that was packed.
pub fn unpack(packed: &[u8]) -> io::Result<Vec<u8>> {
    let mut data = Vec::new();
    LzmaReader::new_mem_limit(packed, u32::MAX, None)?.read_to_end(&mut data)?;
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        let text = "a text that repeats itself, ".repeat(1000);
        for data in [text.as_bytes(), &[], &[7]] {
            assert_eq!(unpack(&pack(data).expect("packed")).expect("unpacked"), data);
        }
        assert!(pack(text.as_bytes()).expect("packed").len() < 100);
    }

    #[test]
    fn damaged_data_are_refused() {
        assert!(unpack(b"nothing that was packed").is_err());
    }
}
