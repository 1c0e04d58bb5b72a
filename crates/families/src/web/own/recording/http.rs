//! HTTP/1 messages as WARC files hold them (RFC 9112).

use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use crate::web::own::packed::{BYTES_MAX, unzipped};

/// Bytes of the head of a message.
const HEAD_BYTES_MAX: usize = 256 << 10;

/// A message: its first line, its headers, and its body as it is meant.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) first: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Message {
    /// The value of a header, whatever the case of its name.
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The status code of an answer.
    pub(super) fn status(&self) -> Option<u16> {
        self.first.strip_prefix("HTTP/")?.split(' ').nth(1)?.parse().ok()
    }

    /// Method of a request.
    pub(super) fn method(&self) -> Option<&str> {
        self.first.split(' ').next().filter(|method| !method.is_empty())
    }
}

/// Lines of a head up to the first empty one, and what follows it.
pub(super) fn head(bytes: &[u8]) -> Option<(Vec<String>, &[u8])> {
    let mut lines = Vec::new();
    let mut rest = bytes;
    loop {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
        rest = &rest[end + 1..];
        if line.is_empty() {
            return Some((lines, rest));
        }
        if bytes.len() - rest.len() > HEAD_BYTES_MAX {
            return None;
        }
        lines.push(String::from_utf8_lossy(line).into_owned());
    }
}

/// Names and values of header lines; a line that begins with a space goes on with the one before.
pub(super) fn fields(lines: &[String]) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in lines {
        match (line.starts_with([' ', '\t']), fields.last_mut(), line.split_once(':')) {
            (true, Some((_, value)), _) => {
                value.push(' ');
                value.push_str(line.trim());
            }
            (_, _, Some((name, value))) => fields.push((name.trim().to_owned(), value.trim().to_owned())),
            _ => {}
        }
    }
    fields
}

/// Reads a message, without what its body was wrapped in on the way.
///
/// # Errors
/// In words, what is wrong with it; [`Unread::Encoding`] where this program has no decoder for its body.
pub(super) fn message(bytes: &[u8]) -> Result<Message, Unread> {
    let broken = |why: &str| Unread::Broken(format!("it is no HTTP message ({why})"));
    let (lines, rest) = head(bytes).ok_or_else(|| broken("its head does not end"))?;
    let (first, lines) = lines.split_first().ok_or_else(|| broken("it has no first line"))?;
    let mut message = Message { first: first.clone(), headers: fields(lines), body: Vec::new() };
    let is = |header: Option<&str>, word: &str| header.is_some_and(|value| value.to_ascii_lowercase().contains(word));
    let chunked = is(message.header("transfer-encoding"), "chunked").then(|| whole(rest)).flatten();
    // Many writers keep the header, and store the body as it was before it was cut.
    let body = chunked.unwrap_or_else(|| rest.to_vec());
    let codings = message.header("content-encoding").unwrap_or_default().to_ascii_lowercase();
    let codings = codings.split(',').map(str::trim).filter(|coding| !matches!(*coding, "" | "identity"));
    message.body = codings.rev().try_fold(body, decoded)?;
    if message.body.len() > BYTES_MAX {
        return Err(Unread::Broken(format!("its body has more than {BYTES_MAX} bytes")));
    }
    Ok(message)
}

/// A message that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// Its body is encoded in a way that is not known here.
    Encoding,
    /// It is broken.
    Broken(String),
}

fn decoded(body: Vec<u8>, coding: &str) -> Result<Vec<u8>, Unread> {
    let unzipped = match coding {
        "gzip" | "x-gzip" if body.starts_with(&[0x1f, 0x8b]) => unzipped(MultiGzDecoder::new(body.as_slice())),
        // The body was stored as it is meant.
        "gzip" | "x-gzip" => Ok(body),
        "deflate" if body.first().is_some_and(|first| first & 0x0f == 8) => unzipped(ZlibDecoder::new(body.as_slice())),
        "deflate" => unzipped(DeflateDecoder::new(body.as_slice())),
        _ => return Err(Unread::Encoding),
    };
    unzipped.map_err(Unread::Broken)
}

/// The body of chunks; none where it is not cut into chunks.
fn whole(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let line = std::str::from_utf8(&bytes[..end]).ok()?;
        let size = usize::from_str_radix(line.trim().split(';').next()?.trim(), 16).ok()?;
        bytes = &bytes[end + 1..];
        if size == 0 {
            return Some(whole);
        }
        whole.extend_from_slice(bytes.get(..size)?);
        bytes = bytes.get(size..)?;
        bytes = bytes.strip_prefix(b"\r\n").or_else(|| bytes.strip_prefix(b"\n"))?;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder};

    use super::*;

    fn answer(headers: &str, body: &[u8]) -> Vec<u8> {
        [format!("HTTP/1.1 200 OK\r\n{headers}\r\n").as_bytes(), body].concat()
    }

    #[test]
    fn bodies_are_read_as_they_are_meant() {
        let mut zipped = GzEncoder::new(Vec::new(), Compression::fast());
        zipped.write_all(b"hello").unwrap();
        let zipped = zipped.finish().unwrap();
        let mut deflated = DeflateEncoder::new(Vec::new(), Compression::fast());
        deflated.write_all(b"hello").unwrap();
        let mut cut = format!("{:x};a=b\r\n", zipped.len()).into_bytes();
        cut.extend_from_slice(&zipped);
        cut.extend_from_slice(b"\r\n0\r\n\r\n");
        for (headers, body) in [
            ("A: b\r\n", b"hello".to_vec()),
            ("Content-Encoding: GZIP\r\n", zipped.clone()),
            ("Content-Encoding: gzip\r\n", b"hello".to_vec()),
            ("Content-Encoding: deflate\r\n", deflated.finish().unwrap()),
            ("Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n", cut),
            ("Transfer-Encoding: chunked\r\n", b"hello".to_vec()),
            ("Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\n0\r\n\r\n".to_vec()),
        ] {
            let read = message(&answer(headers, &body)).unwrap();
            assert_eq!((read.status(), read.body.as_slice()), (Some(200), &b"hello"[..]), "{headers}");
        }
    }

    #[test]
    fn bombs_broken_and_unknown_encodings_are_told_apart() {
        let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
        bomb.write_all(&vec![0; BYTES_MAX + 1]).unwrap();
        let bomb = answer("Content-Encoding: gzip\r\n", &bomb.finish().unwrap());
        let Err(Unread::Broken(why)) = message(&bomb) else { panic!("a bomb was read") };
        assert!(why.contains("more than"), "{why}");
        let cut = answer("Content-Encoding: gzip\r\n", &[0x1f, 0x8b, 8, 0, 0]);
        assert!(matches!(message(&cut), Err(Unread::Broken(_))));
        assert_eq!(message(&answer("Content-Encoding: br\r\n", b"x")), Err(Unread::Encoding));
        assert!(matches!(message(b"HTTP/1.1 200 OK\r\nA: b\r\n"), Err(Unread::Broken(_))));
        assert!(matches!(message(b"\r\n"), Err(Unread::Broken(_))));
    }

    #[test]
    fn a_head_has_a_bound_and_its_lines_may_be_folded() {
        let long = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(HEAD_BYTES_MAX / 5));
        assert!(matches!(message(long.as_bytes()), Err(Unread::Broken(_))));
        let lines = ["A: b".to_owned(), "  c".to_owned(), "nonsense".to_owned()];
        assert_eq!(fields(&lines), [("A".to_owned(), "b c".to_owned())]);
    }
}
