//! A small HTTP/1.1 client over one kept connection: the generator shares its processors with the server, so it must be cheap.

use std::net::SocketAddr;

use anyhow::{Context, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Bytes that are read at once.
const READ_BYTES: usize = 16 << 10;
/// Bytes of an answer.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// One connection.
pub(crate) struct Connection {
    address: SocketAddr,
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

/// Answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    pub(crate) body: &'a [u8],
}

impl Answer<'_> {
    /// Fails with the body where the answer is no success.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn ok(&self) -> anyhow::Result<&[u8]> {
        ensure!(
            (200..300).contains(&self.status),
            "answered {}: {:.500}",
            self.status,
            String::from_utf8_lossy(self.body)
        );
        Ok(self.body)
    }
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// When nobody listens.
    pub(crate) async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = connect(address).await?;
        Ok(Self { address, stream, request: Vec::new(), answer: Vec::new() })
    }

    /// Connects anew.
    ///
    /// # Errors
    /// When nobody listens any more.
    pub(crate) async fn reopen(&mut self) -> anyhow::Result<()> {
        self.stream = connect(self.address).await?;
        Ok(())
    }

    /// Sends a request whose head was prepared by [`head`], and reads the answer.
    ///
    /// # Errors
    /// When the connection ends or the answer is no HTTP with a stated length.
    pub(crate) async fn call(&mut self, head: &str, body: &str) -> anyhow::Result<Answer<'_>> {
        self.request.clear();
        self.request.extend_from_slice(head.as_bytes());
        self.request.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
        self.request.extend_from_slice(body.as_bytes());
        self.stream.write_all(&self.request).await?;
        self.answer.clear();
        loop {
            self.answer.reserve(READ_BYTES);
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                bail!("the connection ended within an answer");
            }
            if let Some(parts) = parse(&self.answer)? {
                let body = self.answer.get(parts.body).context("an answer past its end")?;
                return Ok(Answer { status: parts.status, body });
            }
        }
    }
}

/// A connection that sends what it has at once.
pub(crate) async fn connect(address: SocketAddr) -> anyhow::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// The head of a request up to its length, with a credential where there is one.
pub(crate) fn head(method: &str, path: &str, bearer: Option<&str>) -> String {
    let credential = bearer.map(|bearer| format!("authorization: Bearer {bearer}\r\n")).unwrap_or_default();
    format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{credential}content-type: application/json\r\n")
}

struct Parts {
    status: u16,
    body: std::ops::Range<usize>,
}

/// Where the parts of an answer are; `None` while it is incomplete.
fn parse(bytes: &[u8]) -> anyhow::Result<Option<Parts>> {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        ensure!(bytes.len() <= READ_BYTES, "the head of an answer does not end");
        return Ok(None);
    };
    let head = std::str::from_utf8(&bytes[..end]).context("the head of an answer is no text")?;
    let status = head.get(9..12).and_then(|status| status.parse().ok()).context("an answer without a status")?;
    let length = head
        .split("\r\n")
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map(|(_, length)| length.trim().parse::<usize>());
    let length = match length {
        Some(length) => length.context("the length of an answer is no number")?,
        None if status == 204 => 0,
        None => bail!("an answer without a length"),
    };
    ensure!(length <= ANSWER_BYTES_MAX, "an answer of {length} bytes");
    let body = end + 4..end + 4 + length;
    Ok((bytes.len() >= body.end).then_some(Parts { status, body }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(u16, &str)> {
        let parts = parse(text.as_bytes()).expect("HTTP")?;
        Some((parts.status, &text[parts.body]))
    }

    #[test]
    fn an_answer_is_read_once_it_is_complete() {
        let text = "HTTP/1.1 201 Created\r\nContent-Length: 3\r\nx: y\r\n\r\nabc";
        assert_eq!(read(text), Some((201, "abc")));
        for cut in 0..text.len() {
            assert_eq!(read(&text[..cut]), None, "{cut}");
        }
        assert_eq!(read("HTTP/1.1 204 No Content\r\n\r\n"), Some((204, "")));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for text in [
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n",
            "nonsense\r\n\r\n",
            "HTTP/1.1 2\u{e9}0\r\ncontent-length: 0\r\n\r\n",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse(&[b'x'; READ_BYTES + 1]).is_err());
    }

    #[test]
    fn a_head_names_the_credential_only_where_there_is_one() {
        assert!(head("POST", "/x", Some("abc")).contains("\r\nauthorization: Bearer abc\r\n"));
        assert!(!head("POST", "/x", None).contains("authorization"));
    }
}
