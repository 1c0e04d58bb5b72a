//! Reader of a server's answers to a batch of statements.

use std::fmt;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{DataRowBody, ErrorResponseBody, Message, RowDescriptionBody};
use tokio::io::AsyncRead;

use super::{BatchStatement, Received, WireError, receive};
use crate::engine::error_text;

/// Bounds of the part of a result that is kept.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Bounds {
    /// Rows; `usize::MAX` for all.
    pub(in super::super) rows_max: usize,
    /// Bytes of values.
    pub(in super::super) bytes_max: usize,
    /// True if the statement is run to its end even when no more rows are wanted, so that it has a command tag.
    pub(in super::super) to_end: bool,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { rows_max: usize::MAX, bytes_max: 64 << 20, to_end: false }
    }
}

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Field {
    pub(in super::super) name: String,
    /// The type's number in `pg_type`.
    pub(in super::super) type_oid: u32,
}

/// Reply to one statement.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Reply {
    /// The command tag; empty where more rows than wanted were there, so that the statement was not run to its end.
    pub(in super::super) tag: String,
    pub(in super::super) fields: Vec<Field>,
    /// The types of its parameters by their numbers in `pg_type`, where it was not run.
    pub(in super::super) parameter_types: Vec<u32>,
    /// Values in text form.
    pub(in super::super) rows: Vec<Vec<Option<String>>>,
    /// There are rows that are not in `rows`.
    pub(in super::super) truncated: bool,
    /// The first row that was left out is itself larger than the bytes that were asked for.
    pub(in super::super) huge_row: bool,
    /// Bytes of the values in `rows`.
    pub(in super::super) bytes: usize,
}

/// Answer to a batch: the replies of statements that succeeded, and why the next one did not.
#[derive(Debug, Default)]
pub(in super::super) struct Answer {
    pub(in super::super) replies: Vec<Reply>,
    pub(in super::super) error: Option<Box<ServerError>>,
}

impl Answer {
    /// The replies, where no statement failed.
    pub(in super::super) fn all(self) -> Result<Vec<Reply>, WireError> {
        match self.error {
            Some(error) => Err(WireError::Server(error)),
            None => Ok(self.replies),
        }
    }
}

/// An error in the server's words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in super::super) struct ServerError {
    pub(in super::super) code: String,
    pub(in super::super) message: String,
    pub(in super::super) detail: Option<String>,
    pub(in super::super) hint: Option<String>,
    /// Characters of the statement up to the place, from 1.
    pub(in super::super) position: Option<usize>,
    /// `FATAL` and `PANIC` end the connection.
    pub(in super::super) fatal: bool,
}

impl fmt::Display for ServerError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.message, self.code)?;
        if let Some(detail) = &self.detail {
            write!(out, ": {detail}")?;
        }
        Ok(())
    }
}

impl ServerError {
    pub(super) fn read(body: &ErrorResponseBody) -> std::io::Result<Self> {
        let mut error = Self::default();
        let mut fields = body.fields();
        while let Some(field) = fields.next()? {
            let text = error_text(String::from_utf8_lossy(field.value_bytes()).into_owned());
            match field.type_() {
                b'C' => error.code = text,
                b'M' => error.message = text,
                b'D' => error.detail = Some(text),
                b'H' => error.hint = Some(text),
                b'P' => error.position = text.parse().ok(),
                b'V' => error.fatal = text == "FATAL" || text == "PANIC",
                _ => {}
            }
        }
        Ok(error)
    }
}

/// Reads everything up to the end of the batch.
pub(super) async fn read<R: AsyncRead + Unpin>(
    stream: &mut R,
    input: &mut BytesMut,
    batch: &[BatchStatement<'_>],
) -> Result<Answer, WireError> {
    let mut answer = Answer::default();
    let mut reply = Reply::default();
    loop {
        let bounds =
            batch.get(answer.replies.len()).map_or_else(Bounds::default, |batch_statement| batch_statement.bounds);
        match receive(stream, input, bounds.bytes_max.saturating_add(1 << 16)).await? {
            Received::HugeRow => {
                reply.huge_row |= !reply.truncated;
                reply.truncated = true;
            }
            Received::Message(message) => match message {
                Message::ParameterDescription(body) => reply.parameter_types = body.parameters().collect()?,
                Message::RowDescription(body) => reply.fields = fields(&body)?,
                Message::DataRow(body) => add_row(&mut reply, &body, bounds)?,
                Message::CommandComplete(body) => reply.tag = body.tag()?.to_owned(),
                Message::PortalSuspended => reply.truncated = true,
                // The portal is closed after each statement, whether it came to its end or not.
                Message::CloseComplete => answer.replies.push(std::mem::take(&mut reply)),
                Message::ErrorResponse(body) => {
                    let error = ServerError::read(&body)?;
                    if error.fatal {
                        return Err(WireError::Broken(error.to_string()));
                    }
                    answer.error = Some(Box::new(error));
                }
                Message::ReadyForQuery(_) => return Ok(answer),
                Message::CopyInResponse(_) | Message::CopyOutResponse(_) | Message::CopyData(_) => {
                    return Err(WireError::Broken("the server began to copy".to_owned()));
                }
                _ => {}
            },
        }
    }
}

fn fields(body: &RowDescriptionBody) -> std::io::Result<Vec<Field>> {
    body.fields().map(|field| Ok(Field { name: field.name().to_owned(), type_oid: field.type_oid() })).collect()
}

fn add_row(reply: &mut Reply, body: &DataRowBody, bounds: Bounds) -> std::io::Result<()> {
    if reply.truncated || reply.rows.len() >= bounds.rows_max {
        reply.truncated = true;
        return Ok(());
    }
    let ranges: Vec<_> = body.ranges().collect()?;
    let bytes: usize = ranges.iter().flatten().map(ExactSizeIterator::len).sum();
    if reply.bytes.saturating_add(bytes) > bounds.bytes_max {
        reply.truncated = true;
        reply.huge_row = bytes > bounds.bytes_max;
        return Ok(());
    }
    reply.bytes += bytes;
    let text = |range: std::ops::Range<usize>| String::from_utf8_lossy(&body.buffer()[range]).into_owned();
    reply.rows.push(ranges.into_iter().map(|range| range.map(text)).collect());
    Ok(())
}
