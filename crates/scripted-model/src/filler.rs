//! Huge answers: a mark in an ordinary answer stands for as much text as is wanted, which is made while it is sent.

use std::iter;

use axum::body::Bytes;

/// Stands for the text.
pub(crate) const MARK: &str = "@@filler@@";
/// Bytes of the text in one delta of a stream.
const DELTA_BYTES: u64 = 4096;
/// Bytes that are made at once.
const PIECE_BYTES: u64 = 64 << 10;

/// The answer in pieces. The first part that has the mark is a delta where there are several parts, and repeated in small ones.
pub(crate) fn fill(parts: Vec<String>, bytes: u64) -> impl Iterator<Item = Bytes> + Send + 'static {
    let first = if parts.len() > 1 { parts.iter().position(|part| part.contains(MARK)) } else { None };
    let mut pieces: Vec<(String, u64, u64)> = Vec::new();
    for (index, part) in parts.into_iter().enumerate() {
        if Some(index) == first {
            pieces.push((part.clone(), DELTA_BYTES, bytes / DELTA_BYTES));
            pieces.push((part, bytes % DELTA_BYTES, 1));
        } else {
            pieces.push((part, bytes, 1));
        }
    }
    pieces.into_iter().flat_map(|(part, bytes, times)| (0..times).flat_map(move |_| expand(&part, bytes)))
}

/// A part with `bytes` of text in the place of each mark.
fn expand(part: &str, bytes: u64) -> impl Iterator<Item = Bytes> + use<> {
    let texts: Vec<Bytes> = part.split(MARK).map(|text| Bytes::copy_from_slice(text.as_bytes())).collect();
    texts.into_iter().enumerate().flat_map(move |(index, text)| {
        let filler = (0..if index == 0 { 0 } else { bytes.div_ceil(PIECE_BYTES) }).map(move |piece| {
            let length = PIECE_BYTES.min(bytes - piece * PIECE_BYTES);
            Bytes::from(vec![b'x'; usize::try_from(length).unwrap_or_default()])
        });
        filler.chain(iter::once(text)).filter(|piece| !piece.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_has_its_length_in_deltas_and_where_it_stands_whole() {
        let whole: Vec<u8> = fill(vec![format!("{{\"text\":\"{MARK}\"}}")], 200_000).flatten().collect();
        assert_eq!(whole.iter().filter(|byte| **byte == b'x').count(), 200_001);
        assert!(whole.ends_with(b"xx\"}"));
        let parts = ["begin\n".to_owned(), format!("delta {MARK}\n"), format!("done {MARK}\n")].to_vec();
        let sent = String::from_utf8(fill(parts, 10_000).flatten().collect()).unwrap();
        let lines: Vec<&str> = sent.lines().collect();
        let lengths: Vec<usize> = lines.iter().map(|line| line.matches('x').count()).collect();
        assert_eq!(lengths, [0, 4096, 4096, 10_000 % 4096, 10_000]);
    }
}
