//! Bodies of several parts (`multipart/form-data`, RFC 7578), read part by part: of what comes, no more is held than a piece.
//!
//! Not by `multer`, which takes in everything that is ready before it hands on a piece, bounds neither what stands before the first
//! part nor the head of a part, and reads neither `filename*` nor escaped names.

use std::io;

use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use futures::StreamExt;
use futures::stream::BoxStream;
use memchr::memmem;
use palestra_protocol::problem::Code;
use percent_encoding::percent_decode_str;
use tokio_util::bytes::{Buf, Bytes, BytesMut};

use super::problem::Failure;
use palestra_jobs::ByteStream;

/// Longest boundary, RFC 2046.
const BOUNDARY_BYTES_MAX: usize = 70;
/// Longest head of a part.
const HEAD_BYTES_MAX: usize = 8 * 1024;
/// Most of what may stand before the first part.
const PREAMBLE_BYTES_MAX: usize = 8 * 1024;
const LINE_END: &[u8] = b"\r\n";
const HEAD_END: &[u8] = b"\r\n\r\n";
const LONG_HEAD: &str = "the head of a part is too long: shorten the file's name";
/// Encodings of a part that change nothing.
const PLAIN_ENCODINGS: [&str; 3] = ["binary", "8bit", "7bit"];
/// Escapes in the names of forms, and their characters.
const ESCAPES: [(&str, &str); 5] = [("%22", "\""), ("%0D", "\r"), ("%0d", "\r"), ("%0A", "\n"), ("%0a", "\n")];
/// The mark behind the delimiter of the last part.
const LAST: &[u8] = b"--";

/// A part: what stands in its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) file_name: Option<String>,
}

/// Where reading stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before or in a part.
    Inside,
    /// Right behind a delimiter.
    Between,
    /// Behind the last part.
    End,
}

/// A body of several parts.
pub(super) struct Multipart {
    pieces: ByteStream,
    buffer: BytesMut,
    /// A line's end, two dashes and the boundary.
    delimiter: Vec<u8>,
    place: Place,
    begun: bool,
    broken: Option<&'static str>,
}

impl Multipart {
    /// Begins to read a body whose pieces come one by one.
    ///
    /// # Errors
    /// When the headers announce another form.
    pub(super) fn begin(headers: &HeaderMap, pieces: ByteStream) -> Result<Self, Failure> {
        let boundary = headers.get(CONTENT_TYPE).and_then(|value| boundary(value.to_str().ok()?));
        let boundary = boundary.ok_or_else(|| {
            let words = "the body is no form: send the file as `multipart/form-data` with a boundary";
            Failure::new(Code::UnsupportedMediaType, words)
        })?;
        let delimiter = [LINE_END, LAST, boundary.as_bytes()].concat();
        // The first delimiter needs no line before it.
        Ok(Self { pieces, buffer: LINE_END.into(), delimiter, place: Place::Inside, begun: false, broken: None })
    }

    /// The fault in the form of the body that ended its reading.
    pub(super) const fn broken(&self) -> Option<&'static str> {
        self.broken
    }

    /// The next part; what is left of the one before is passed over.
    ///
    /// # Errors
    /// When the body has another form, or breaks off.
    pub(super) async fn part(&mut self) -> io::Result<Option<Part>> {
        let mut passed = 0;
        while let Some(chunk) = self.chunk().await? {
            passed += chunk.len();
            if !self.begun && passed > PREAMBLE_BYTES_MAX {
                return Err(self
                    .malformed("no part begins with the boundary that was announced: announce the one that is used"));
            }
        }
        self.begun = true;
        if self.place == Place::End || self.starts_with(LAST).await? {
            self.place = Place::End;
            return Ok(None);
        }
        let head = loop {
            // The line's end of the delimiter counts, so that an empty head is one too.
            if let Some(end) = memmem::find(&self.buffer, HEAD_END) {
                if end > HEAD_BYTES_MAX {
                    return Err(self.malformed(LONG_HEAD));
                }
                break self.buffer.split_to(end + HEAD_END.len());
            }
            if self.buffer.len() > HEAD_BYTES_MAX + HEAD_END.len() {
                return Err(self.malformed(LONG_HEAD));
            }
            self.more().await?;
        };
        self.place = Place::Inside;
        // A part may be empty: its end is then the delimiter alone.
        let mut rest = BytesMut::from(LINE_END);
        rest.extend_from_slice(&self.buffer);
        self.buffer = rest;
        let head = std::str::from_utf8(&head).ok();
        if head.is_some_and(is_encoded) {
            return Err(self.malformed("a part is encoded: send it as it is, without `Content-Transfer-Encoding`"));
        }
        let part = head.and_then(read_head);
        let part =
            part.ok_or_else(|| self.malformed("a part has no `Content-Disposition: form-data` with a name: add it"))?;
        // The line's end that was put there is no part of the content.
        let delimiter = self.delimiter.clone();
        if !self.starts_with(&delimiter).await? {
            self.buffer.advance(LINE_END.len());
        }
        Ok(Some(part))
    }

    /// The next piece of the part's content; none at its end.
    ///
    /// # Errors
    /// When the body breaks off.
    pub(super) async fn chunk(&mut self) -> io::Result<Option<Bytes>> {
        while self.place == Place::Inside {
            match memmem::find(&self.buffer, &self.delimiter) {
                Some(0) => {
                    self.buffer.advance(self.delimiter.len());
                    self.place = Place::Between;
                }
                Some(end) => return Ok(Some(self.buffer.split_to(end).freeze())),
                None => {
                    // The end of what is there may be the beginning of a delimiter.
                    let sure = self.buffer.len().saturating_sub(self.delimiter.len() - 1);
                    if sure > 0 {
                        return Ok(Some(self.buffer.split_to(sure).freeze()));
                    }
                    self.more().await?;
                }
            }
        }
        Ok(None)
    }

    /// The content of the part as text of at most so many bytes; none where it is longer or no text.
    ///
    /// # Errors
    /// When the body breaks off.
    pub(super) async fn text(&mut self, bytes_max: usize) -> io::Result<Option<String>> {
        let mut text = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if text.len() + chunk.len() > bytes_max {
                return Ok(None);
            }
            text.extend_from_slice(&chunk);
        }
        Ok(String::from_utf8(text).ok())
    }

    /// The content of the part, piece by piece.
    pub(super) fn content(&mut self) -> BoxStream<'_, io::Result<Bytes>> {
        futures::stream::unfold((self, false), |(parts, over)| async move {
            if over {
                return None;
            }
            match parts.chunk().await {
                Ok(chunk) => chunk.map(|chunk| (Ok(chunk), (parts, false))),
                Err(error) => Some((Err(error), (parts, true))),
            }
        })
        .boxed()
    }

    async fn starts_with(&mut self, expected: &[u8]) -> io::Result<bool> {
        while self.buffer.len() < expected.len() && expected.starts_with(&self.buffer) {
            self.more().await?;
        }
        Ok(self.buffer.starts_with(expected))
    }

    /// Takes the next piece in.
    async fn more(&mut self) -> io::Result<()> {
        match self.pieces.next().await {
            Some(piece) => {
                self.buffer.extend_from_slice(&piece?);
                Ok(())
            }
            None => Err(self.malformed("the body ends before its last part does: send it again")),
        }
    }

    fn malformed(&mut self, words: &'static str) -> io::Error {
        self.broken = Some(words);
        io::Error::new(io::ErrorKind::InvalidData, words)
    }
}

/// The boundary that a content type announces.
fn boundary(content_type: &str) -> Option<&str> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let found = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"'))
    });
    found.filter(|boundary| (1..=BOUNDARY_BYTES_MAX).contains(&boundary.len()))
}

/// The value of a field in the head of a part.
fn field<'a>(head: &'a str, wanted: &str) -> Option<&'a str> {
    head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case(wanted).then(|| value.trim())
    })
}

/// Tells whether the content of a part is other than it stands there.
fn is_encoded(head: &str) -> bool {
    let plain = |encoding: &str| PLAIN_ENCODINGS.iter().any(|plain| encoding.eq_ignore_ascii_case(plain));
    field(head, "content-transfer-encoding").is_some_and(|encoding| !plain(encoding))
}

/// Reads the head of a part.
fn read_head(head: &str) -> Option<Part> {
    let disposition = field(head, "content-disposition")?;
    let mut rest = disposition.strip_prefix("form-data")?;
    let (mut name, mut file_name, mut extended) = (None, None, None);
    while let Some(parameter) = rest.trim_start().strip_prefix(';') {
        let (key, value) = parameter.split_once('=')?;
        let (value, behind) = read_value(value)?;
        match key.trim().to_ascii_lowercase().as_str() {
            "name" => name = Some(unescaped(value)),
            "filename" => file_name = Some(unescaped(value)),
            "filename*" => extended = read_extended(&value),
            _ => {}
        }
        rest = behind;
    }
    Some(Part { name: name?, file_name: extended.or(file_name) })
}

/// A name with what forms escape undone.
fn unescaped(name: String) -> String {
    ESCAPES.iter().fold(name, |name, (escape, meant)| name.replace(escape, meant))
}

/// A parameter's value, in quotes or bare, and what follows it. A backslash escapes quotes and itself, and else stands for itself.
fn read_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(';').unwrap_or(text.len());
        return Some((text[..end].trim().to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => {
                let escaped = characters.next_if(|(_, next)| matches!(next, '"' | '\\'));
                value.push(escaped.map_or('\\', |(_, next)| next));
            }
            other => value.push(other),
        }
    }
    None
}

/// A name in the form of RFC 5987: `utf-8''n%C3%A4me`.
fn read_extended(text: &str) -> Option<String> {
    let (charset, rest) = text.split_once('\'')?;
    let (_, name) = rest.split_once('\'')?;
    let name = charset.eq_ignore_ascii_case("utf-8").then(|| percent_decode_str(name).decode_utf8())?;
    name.ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(pieces: Vec<Vec<u8>>) -> Multipart {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, "multipart/form-data; boundary=\"xyz\"".parse().unwrap());
        let pieces = futures::stream::iter(pieces.into_iter().map(|piece| Ok(Bytes::from(piece)))).boxed();
        Multipart::begin(&headers, pieces).unwrap()
    }

    async fn read(mut parts: Multipart) -> io::Result<Vec<(Part, Vec<u8>)>> {
        let mut found = Vec::new();
        while let Some(part) = parts.part().await? {
            let mut content = Vec::new();
            while let Some(chunk) = parts.chunk().await? {
                content.extend_from_slice(&chunk);
            }
            found.push((part, content));
        }
        Ok(found)
    }

    fn part(name: &str, file_name: Option<&str>) -> Part {
        Part { name: name.to_owned(), file_name: file_name.map(str::to_owned) }
    }

    const BODY: &str = "--xyz\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nfine-tune\r\n--xyz\r\n\
        content-disposition: form-data; name=\"file\"; filename=\"a \\\"b\\\".jsonl\"\r\nContent-Type: text/plain\r\n\r\n\
        one\r\n--xy\r\n\r\n--xyz\r\nContent-Disposition: form-data; name=empty\r\n\r\n\r\n--xyz--\r\n";

    #[tokio::test]
    async fn parts_are_the_same_however_the_body_is_cut() {
        let expected = vec![
            (part("purpose", None), b"fine-tune".to_vec()),
            (part("file", Some("a \"b\".jsonl")), b"one\r\n--xy\r\n".to_vec()),
            (part("empty", None), Vec::new()),
        ];
        for size in [1, 2, 3, 7, 64, BODY.len()] {
            let pieces = BODY.as_bytes().chunks(size).map(<[u8]>::to_vec).collect();
            assert_eq!(read(begin(pieces)).await.unwrap(), expected, "{size}");
        }
    }

    #[tokio::test]
    async fn a_part_that_is_not_read_is_passed_over() {
        let mut parts = begin(vec![BODY.as_bytes().to_vec()]);
        let mut names = Vec::new();
        while let Some(part) = parts.part().await.unwrap() {
            names.push(part.name);
        }
        assert_eq!(names, ["purpose", "file", "empty"]);
        assert!(parts.part().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn what_has_another_form_is_told() {
        let long = format!("--xyz\r\nX: {}", "a".repeat(HEAD_BYTES_MAX));
        let whole = format!("{long}\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n--xyz--");
        for body in [
            "",
            "nothing",
            &"x".repeat(PREAMBLE_BYTES_MAX + 100),
            "--xyz",
            "--xyz\r\n",
            "--xyz\r\nContent-Type: text/plain\r\n\r\nno name\r\n--xyz--",
            "--xyz\r\nContent-Disposition: form-data; name=\"a\r\n\r\n\r\n--xyz--",
            &BODY[..BODY.len() - 20],
            &long,
            &whole,
            "--xyz\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64\r\n\r\nAAAA\r\n--xyz--",
        ] {
            let mut parts = begin(vec![body.as_bytes().to_vec()]);
            let error = loop {
                match parts.part().await {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("{body:.80} has an end"),
                    Err(error) => break error,
                }
            };
            assert_eq!((error.kind(), parts.broken().is_some()), (io::ErrorKind::InvalidData, true), "{body:.80}");
        }
    }

    #[test]
    fn a_boundary_comes_from_the_content_type() {
        for (text, expected) in [
            ("multipart/form-data; boundary=abc", Some("abc")),
            ("Multipart/Form-Data; charset=utf-8; Boundary=\"a b\"", Some("a b")),
            ("multipart/form-data", None),
            ("multipart/form-data; boundary=", None),
            ("multipart/mixed; boundary=abc", None),
            ("application/json", None),
        ] {
            assert_eq!(boundary(text), expected, "{text}");
        }
    }

    #[test]
    fn a_name_beyond_ascii_comes_in_either_form() {
        for head in [
            "Content-Disposition: form-data; name=\"file\"; filename=\"ä.jsonl\"",
            "Content-Disposition: form-data; name=\"file\"; filename*=utf-8''%C3%A4.jsonl",
            "Content-Disposition: form-data; name=\"file\"; filename=\"a.jsonl\"; filename*=UTF-8''%c3%a4.jsonl",
        ] {
            assert_eq!(read_head(head), Some(part("file", Some("ä.jsonl"))), "{head}");
        }
        assert_eq!(read_head("Content-Disposition: attachment; name=\"file\""), None);
    }

    #[test]
    fn a_name_comes_as_forms_and_programs_escape_it() {
        for (written, meant) in [
            ("a%22b%22.jsonl", "a\"b\".jsonl"),
            ("a%0D%0Ab", "a\r\nb"),
            ("a%20b", "a%20b"),
            ("a\\\"b", "a\"b"),
            ("a\\\\b", "a\\b"),
            ("C:\\Users\\x.jsonl", "C:\\Users\\x.jsonl"),
        ] {
            let head = format!("Content-Disposition: form-data; name=\"file\"; filename=\"{written}\"");
            assert_eq!(read_head(&head), Some(part("file", Some(meant))), "{written}");
        }
    }

    #[test]
    fn a_part_comes_as_it_is() {
        let encoded = |name: &str| is_encoded(&format!("X: y\r\nContent-Transfer-Encoding: {name}\r\n\r\n"));
        assert!(!encoded("binary") && !encoded("8BIT") && !encoded("7bit"));
        assert!(encoded("base64") && encoded("quoted-printable"));
    }
}
