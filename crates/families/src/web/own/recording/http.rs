//! HTTP/1 messages as WARC files hold them (RFC 9112).

use std::borrow::Cow;

use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use crate::web::own::packed::{BYTES_MAX, unzipped};

/// Bytes of the head of a message.
const HEAD_BYTES_MAX: usize = 256 << 10;
/// Lines of the head of a message.
const HEAD_LINES_MAX: usize = 300;

/// A message. Its body is decoded once it is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message<'a> {
    first: String,
    pub(super) headers: Vec<(String, String)>,
    /// The body as it came through the network.
    wire: &'a [u8],
}

impl<'a> Message<'a> {
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

    fn header_has(&self, name: &str, word: &str) -> bool {
        self.header(name).is_some_and(|value| value.to_ascii_lowercase().contains(word))
    }

    /// The body as its sender gave it to the network, which may be compressed.
    pub(super) fn sent(&self) -> Cow<'a, [u8]> {
        let is_chunked = self.header_has("transfer-encoding", "chunked");
        // Many writers keep the header, and store the body as it was before it was cut.
        is_chunked.then(|| whole(self.wire)).flatten().map_or(Cow::Borrowed(self.wire), Cow::Owned)
    }

    /// The body, uncompressed.
    ///
    /// # Errors
    /// When it is broken or too long, or is encoded in a way that is not read here.
    pub(super) fn body(&self) -> Result<Vec<u8>, Unread> {
        let codings = self.header("content-encoding").unwrap_or_default().to_ascii_lowercase();
        let codings = codings.split(',').map(str::trim).filter(|coding| !matches!(*coding, "" | "identity"));
        let body = match codings.collect::<Vec<_>>().as_slice() {
            [] => self.sent().into_owned(),
            [coding] => decoded(self.sent(), coding)?,
            // Compressed twice: nobody sends that, and its size on the way would have no bound.
            _ => return Err(Unread::Encoding),
        };
        if body.len() > BYTES_MAX {
            return Err(Unread::Broken(format!("its body has more than {BYTES_MAX} bytes")));
        }
        Ok(body)
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
        if bytes.len() - rest.len() > HEAD_BYTES_MAX || lines.len() >= HEAD_LINES_MAX {
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

/// Reads a message.
///
/// # Errors
/// In words, what is wrong with its head.
pub(super) fn message(bytes: &[u8]) -> Result<Message<'_>, String> {
    let broken = |why: &str| format!("it is no HTTP message ({why})");
    let (lines, wire) = head(bytes).ok_or_else(|| broken("its head does not end, or is too long"))?;
    let (first, lines) = lines.split_first().ok_or_else(|| broken("it has no first line"))?;
    Ok(Message { first: first.clone(), headers: fields(lines), wire })
}

/// A body that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is encoded in a way that is not known here.
    Encoding,
    /// It is broken.
    Broken(String),
}

fn decoded(body: Cow<'_, [u8]>, coding: &str) -> Result<Vec<u8>, Unread> {
    let unzipped = match coding {
        "gzip" | "x-gzip" if body.starts_with(&[0x1f, 0x8b]) => unzipped(MultiGzDecoder::new(&*body)),
        // The body was stored uncompressed.
        "gzip" | "x-gzip" => Ok(body.into_owned()),
        "deflate" if body.first().is_some_and(|first| first & 0x0f == 8) => unzipped(ZlibDecoder::new(&*body)),
        "deflate" => unzipped(DeflateDecoder::new(&*body)),
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
            let bytes = answer(headers, &body);
            let read = message(&bytes).unwrap();
            assert_eq!((read.status(), read.body()), (Some(200), Ok(b"hello".to_vec())), "{headers}");
        }
    }

    #[test]
    fn bombs_broken_and_unknown_encodings_are_told_apart() {
        let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
        bomb.write_all(&vec![0; BYTES_MAX + 1]).unwrap();
        let bomb = answer("Content-Encoding: gzip\r\n", &bomb.finish().unwrap());
        let body = |bytes: &[u8]| message(bytes).unwrap().body();
        let Err(Unread::Broken(why)) = body(&bomb) else { panic!("a bomb was read") };
        assert!(why.contains("more than"), "{why}");
        let cut = answer("Content-Encoding: gzip\r\n", &[0x1f, 0x8b, 8, 0, 0]);
        assert!(matches!(body(&cut), Err(Unread::Broken(_))));
        for unknown in ["br", "gzip, br", "gzip, gzip"] {
            let bytes = answer(&format!("Content-Encoding: {unknown}\r\n"), b"x");
            assert_eq!(body(&bytes), Err(Unread::Encoding), "{unknown}");
        }
        assert!(message(b"HTTP/1.1 200 OK\r\nA: b\r\n").is_err());
        assert!(message(b"\r\n").is_err());
    }

    #[test]
    fn a_head_has_a_bound_and_its_lines_may_be_folded() {
        for lines in ["A: b\r\n".repeat(HEAD_LINES_MAX), format!("A: {}\r\n", "b".repeat(HEAD_BYTES_MAX))] {
            let long = format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
            assert!(message(long.as_bytes()).unwrap_err().contains("too long"));
        }
        assert!(message(format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(200)).as_bytes()).is_ok());
        let lines = ["A: b".to_owned(), "  c".to_owned(), "nonsense".to_owned()];
        assert_eq!(fields(&lines), [("A".to_owned(), "b c".to_owned())]);
    }
}
