//! WARC 1.0 and 1.1 (ISO 28500): recordings of crawlers and proxies, plain or with gzip per record.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read as _;

use flate2::bufread::MultiGzDecoder;

use super::http::{Message, Unread, fields, head, message};
use super::{Exchange, Recording, address, digest_of_body, is_replayed, kept};
use crate::web::own::packed::Packed;

/// Bytes of a recording once it is uncompressed.
const BYTES_MAX: u64 = 256 << 20;
/// The first bytes of gzip (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A record.
struct Record<'a> {
    fields: Vec<(String, String)>,
    block: &'a [u8],
}

impl Record<'_> {
    fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The address of its target, which some writers put in brackets.
    fn target(&self) -> Option<String> {
        let target = self.field("WARC-Target-URI")?;
        address(target.trim_start_matches('<').trim_end_matches('>'))
    }

    fn is_http(&self) -> bool {
        self.field("Content-Type").is_some_and(|media| media.to_ascii_lowercase().starts_with("application/http"))
    }
}

/// Reads a WARC file.
///
/// # Errors
/// In words, what is wrong with it.
pub(super) fn read(bytes: &[u8], recording: &mut Recording) -> Result<(), String> {
    let bytes = if bytes.starts_with(&GZIP) { Cow::Owned(uncompressed(bytes)?) } else { Cow::Borrowed(bytes) };
    // Blocks of requests by the record that they belong to, or else by their own name.
    let mut requests: HashMap<String, &[u8]> = HashMap::new();
    each(&bytes, |_, record| {
        let name = record.field("WARC-Concurrent-To").or_else(|| record.field("WARC-Record-ID"));
        if let Some(name) = name.filter(|_| record.field("WARC-Type") == Some("request")) {
            requests.insert(name.to_owned(), record.block);
        }
        Ok(())
    })?;
    each(&bytes, |number, record| {
        let names = [record.field("WARC-Record-ID"), record.field("WARC-Concurrent-To")];
        let asked = names.into_iter().flatten().find_map(|name| requests.get(name));
        take(recording, number, &record, asked.and_then(|block| message(block).ok()).as_ref())
    })
}

fn uncompressed(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut plain = Vec::new();
    let read = MultiGzDecoder::new(bytes).take(BYTES_MAX + 1).read_to_end(&mut plain);
    read.map_err(|error| format!("the file cannot be uncompressed: record it again, or copy it whole ({error})"))?;
    if plain.len() as u64 > BYTES_MAX {
        return Err(format!("the file has more than {BYTES_MAX} bytes once it is uncompressed: split it"));
    }
    Ok(plain)
}

/// Adds the answer in a record to a recording.
fn take(
    recording: &mut Recording,
    number: usize,
    record: &Record<'_>,
    asked: Option<&Message<'_>>,
) -> Result<(), String> {
    let kind = record.field("WARC-Type").unwrap_or_default();
    match kind {
        "response" | "resource" => {}
        "revisit" => return counted(recording, "records that name an earlier answer"),
        _ => return Ok(()),
    }
    let Some(address) = record.target() else {
        return counted(recording, "addresses that are none of the web");
    };
    let (status, headers, content) = if kind == "resource" {
        let media = record.field("Content-Type").unwrap_or("application/octet-stream");
        (200, vec![("content-type".to_owned(), media.to_owned())], record.block.to_vec())
    } else if !record.is_http() {
        return counted(recording, "answers of other protocols");
    } else {
        let broken = |why: String| format!("record {number}: {address}: {why}: record it again");
        let answer = message(record.block).map_err(broken)?;
        let Some(status) = answer.status().filter(|status| is_replayed(*status)) else {
            return counted(recording, "requests without an answer of their own");
        };
        match answer.body() {
            Ok(body) => (status, answer.headers, body),
            Err(Unread::Encoding) => return counted(recording, "answers in an encoding that is not read, such as br"),
            Err(Unread::Broken(why)) => return Err(broken(why)),
        }
    };
    recording.add(Exchange {
        method: asked.and_then(Message::method).unwrap_or("GET").to_ascii_uppercase(),
        body: asked.and_then(|asked| digest_of_body(&asked.sent())),
        address,
        status,
        headers: kept(headers.into_iter()),
        content: Packed(content),
    })
}

fn counted(recording: &mut Recording, reason: &'static str) -> Result<(), String> {
    recording.leave_out(reason);
    Ok(())
}

/// Takes the records of a file one after the other, by their number from 0, so that only one of their heads is held at a time.
fn each<'a>(bytes: &'a [u8], mut take: impl FnMut(usize, Record<'a>) -> Result<(), String>) -> Result<(), String> {
    let mut rest = trimmed(bytes);
    let mut number = 0;
    while !rest.is_empty() {
        let broken = |why: &str| format!("record {number}: {why}: record it again, or copy it whole");
        let (lines, block) = head(rest).ok_or_else(|| broken("its head does not end, or is too long"))?;
        let (version, lines) = lines.split_first().ok_or_else(|| broken("it has no version"))?;
        if !matches!(version.trim(), "WARC/1.0" | "WARC/1.1") {
            return Err(broken("it does not begin with WARC/1.0 or WARC/1.1"));
        }
        let fields = fields(lines);
        let length = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("Content-Length"));
        let length = length.and_then(|(_, length)| length.parse::<usize>().ok());
        let length = length.ok_or_else(|| broken("it has no Content-Length"))?;
        let (block, after) = block.split_at_checked(length).ok_or_else(|| broken("the file ends before it does"))?;
        take(number, Record { fields, block })?;
        rest = trimmed(after);
        number += 1;
    }
    if number == 0 { Err("the file is empty: record it again".to_owned()) } else { Ok(()) }
}

/// Bytes without the empty lines in front.
fn trimmed(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n'));
    &bytes[start.unwrap_or(bytes.len())..]
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn read(bytes: &[u8]) -> Result<Recording, String> {
        let mut recording = Recording::default();
        super::read(bytes, &mut recording).map(|()| recording)
    }

    fn record(kind: &str, target: &str, more: &str, block: &str) -> String {
        let media = if kind == "resource" { "image/png" } else { "application/http;msgtype=x" };
        let target = if target.is_empty() { String::new() } else { format!("WARC-Target-URI: {target}\r\n") };
        let length = block.len();
        format!(
            "WARC/1.1\r\nWARC-Type: {kind}\r\n{target}{more}Content-Type: {media}\r\nContent-Length: {length}\r\n\r\n{block}\r\n\r\n"
        )
    }

    fn zipped(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    /// A page, the answer to a form with its request, a picture, and what holds no answer.
    fn sample() -> Vec<String> {
        let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<p>page";
        let form = "POST /order HTTP/1.1\r\nHost: a.test\r\n\r\nqty=2";
        vec![
            record("warcinfo", "", "", "software: x"),
            record("response", "http://a.test/", "WARC-Record-ID: <urn:1>\r\n", page),
            record("request", "http://a.test/order", "WARC-Concurrent-To: <urn:2>\r\n", form),
            record("response", "<http://a.test/order>", "WARC-Record-ID: <urn:2>\r\n", "HTTP/1.1 201 Made\r\n\r\nok"),
            record("resource", "https://b.test/p.png", "", "png"),
            record("revisit", "http://a.test/", "", "HTTP/1.1 200 OK\r\n\r\n"),
            record("response", "dns:a.test", "", "1.2.3.4"),
            record("response", "http://a.test/br", "", "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\nx"),
        ]
    }

    #[test]
    fn records_are_read_plain_and_zipped_one_by_one() {
        let plain = sample().concat().into_bytes();
        let by_record: Vec<u8> = sample().iter().flat_map(|record| zipped(record)).collect();
        for bytes in [plain, by_record] {
            let Recording { exchanges, left_out, .. } = read(&bytes).unwrap();
            let found: Vec<(&str, &str, u16)> = exchanges
                .iter()
                .map(|exchange| (exchange.method.as_str(), exchange.address.as_str(), exchange.status))
                .collect();
            let expected = [
                ("GET", "http://a.test/", 200),
                ("POST", "http://a.test/order", 201),
                ("GET", "https://b.test/p.png", 200),
            ];
            assert_eq!(found, expected);
            assert_eq!(exchanges[0].headers, [("Content-Type".to_owned(), "text/html".to_owned())]);
            assert_eq!(exchanges[1].body, digest_of_body(b"qty=2"));
            assert_eq!(exchanges[2].content.0, b"png");
            assert_eq!(left_out.values().sum::<usize>(), 3, "{left_out:?}");
        }
    }

    #[test]
    fn a_file_that_was_cut_off_is_refused_with_the_record() {
        let plain = sample().concat();
        let (last, _) = plain.char_indices().nth(plain.len() - 20).unwrap();
        let error = read(&plain.as_bytes()[..last]).unwrap_err();
        assert!(error.starts_with("record 7: ") && error.contains("copy it whole"), "{error}");
        let by_record: Vec<u8> = sample().iter().flat_map(|record| zipped(record)).collect();
        let error = read(&by_record[..by_record.len() - 4]).unwrap_err();
        assert!(error.starts_with("the file cannot be uncompressed"), "{error}");
    }

    #[test]
    fn what_is_no_warc_and_a_bomb_are_refused() {
        for (broken, words) in [
            ("", "is empty"),
            ("hello\r\n\r\n", "does not begin with WARC/1.0"),
            ("WARC/0.9\r\nContent-Length: 0\r\n\r\n", "does not begin with WARC/1.0"),
            ("WARC/1.0\r\nWARC-Type: response\r\n\r\n", "no Content-Length"),
            ("WARC/1.0\r\nContent-Length: 99999999999999999999\r\n\r\n", "no Content-Length"),
            ("WARC/1.0\r\nContent-Length: 9\r\n\r\nab", "ends before it does"),
        ] {
            let error = read(broken.as_bytes()).unwrap_err();
            assert!(error.contains(words), "{broken:?}: {error}");
        }
        let broken = record("response", "http://a.test/", "", "HTTP/1.1 200 OK\r\n");
        assert!(read(broken.as_bytes()).unwrap_err().contains("http://a.test/: it is no HTTP message"));
        let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
        let part = vec![0; 1 << 20];
        (0..=BYTES_MAX >> 20).for_each(|_| bomb.write_all(&part).unwrap());
        let error = read(&bomb.finish().unwrap()).unwrap_err();
        assert!(error.contains("once it is uncompressed"), "{error}");
    }
}
