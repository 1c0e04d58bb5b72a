//! One connection to a PostgreSQL server, speaking its protocol (version 3): batches of statements in one round trip, results in
//! text form up to a number of rows and bytes, and the exact words of every answer.
//!
//! A client library gives values in binary form, hides command tags and holds whatever the server sends; here a result must be cut
//! off, in the middle of a row if need be, and shown as the server's own client would.

mod answer;
mod login;

use std::net::IpAddr;
use std::path::PathBuf;

use bytes::{Buf, BytesMut};
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::{DATA_ROW_TAG, Header, Message};
use postgres_protocol::message::frontend;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

pub(super) use answer::{Answer, Bounds, Field, Reply, ServerError};

/// Bytes that are read at once.
const READ: usize = 16 << 10;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// A socket's file.
    Unix(PathBuf),
    /// A host, by name or number, and its port.
    Tcp(String, u16),
}

/// As whom, and to which database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password: Option<String>,
    pub(super) database: String,
    /// `application_name`, by which a connection is found in `pg_stat_activity`.
    pub(super) application: String,
}

/// Errors of a connection or a statement.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    /// The server's own words. The connection can be used on.
    #[error("{0}")]
    Server(Box<ServerError>),
    /// The connection is of no more use.
    #[error("{0}")]
    Broken(String),
}

impl From<std::io::Error> for WireError {
    fn from(error: std::io::Error) -> Self {
        Self::Broken(error.to_string())
    }
}

/// A statement of a batch.
#[derive(Debug, Clone, Default)]
pub(super) struct BatchStatement<'a> {
    pub(super) sql: &'a str,
    /// In text form; `None` is NULL. The server finds out their types.
    pub(super) parameters: &'a [Option<String>],
    pub(super) bounds: Bounds,
    /// True if the server only says whether it understands it, and the types of its parameters.
    pub(super) parse_only: bool,
}

impl<'a> BatchStatement<'a> {
    /// A statement of our own, whose result is small.
    pub(super) fn plain(sql: &'a str) -> Self {
        Self { sql, ..Self::default() }
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Sync + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Sync + Unpin> Stream for S {}

/// A connection.
pub(super) struct Wire {
    stream: Box<dyn Stream>,
    input: BytesMut,
    address: Address,
    process: i32,
    secret: i32,
    /// A batch was sent and not all of its answers were read: what comes next would be taken for something else.
    in_flight: bool,
}

/// Handle that cancels the query of a connection.
#[derive(Debug, Clone)]
pub(super) struct CancelHandle {
    address: Address,
    process: i32,
    secret: i32,
}

impl CancelHandle {
    /// Asks the server to cancel what the connection runs now. Nothing happens when it runs nothing.
    pub(super) async fn interrupt(&self) -> std::io::Result<()> {
        let mut stream = open(&self.address).await?;
        let mut bytes = BytesMut::new();
        frontend::cancel_request(self.process, self.secret, &mut bytes);
        stream.write_all(&bytes).await?;
        // The server closes the connection when it has passed the request on.
        let _ = stream.read(&mut [0; 1]).await?;
        Ok(())
    }

    /// The server's process.
    pub(super) const fn process(&self) -> i32 {
        self.process
    }
}

async fn open(address: &Address) -> std::io::Result<Box<dyn Stream>> {
    Ok(match address {
        Address::Unix(socket) => Box::new(UnixStream::connect(socket).await?),
        Address::Tcp(host, port) => {
            let stream = match host.parse::<IpAddr>() {
                Ok(number) => TcpStream::connect((number, *port)).await?,
                Err(_) => TcpStream::connect((host.as_str(), *port)).await?,
            };
            stream.set_nodelay(true)?;
            Box::new(stream)
        }
    })
}

impl Wire {
    /// Connects and logs in.
    pub(super) async fn connect(address: &Address, login: &Login) -> Result<Self, WireError> {
        let stream = open(address).await?;
        let mut wire =
            Self { stream, input: BytesMut::new(), address: address.clone(), process: 0, secret: 0, in_flight: true };
        login::log_in(&mut wire, login).await?;
        wire.in_flight = false;
        Ok(wire)
    }

    /// Handle that cancels its query.
    pub(super) fn cancel_handle(&self) -> CancelHandle {
        CancelHandle { address: self.address.clone(), process: self.process, secret: self.secret }
    }

    /// Runs statements one after the other in one round trip, up to the first that fails. Outside a transaction block they are one
    /// transaction.
    ///
    /// When the caller stops waiting, the connection is of no more use.
    pub(super) async fn batch(&mut self, batch: &[BatchStatement<'_>]) -> Result<Answer, WireError> {
        if self.in_flight {
            return Err(WireError::Broken("an earlier answer was not waited for".to_owned()));
        }
        let bytes = encode(batch)?;
        self.in_flight = true;
        // The server may answer the first statements before it has read the last, so both directions go on at the same time.
        let Self { stream, input, .. } = self;
        let (mut reader, mut writer) = tokio::io::split(stream);
        let send = async {
            writer.write_all(&bytes).await?;
            writer.flush().await
        };
        let (sent, answer) = tokio::join!(send, answer::read(&mut reader, input, batch));
        let answer = answer?;
        sent?;
        self.in_flight = false;
        Ok(answer)
    }

    /// Runs one statement and gives its rows.
    pub(super) async fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, WireError> {
        let bounds = Bounds { rows_max: usize::MAX, ..Bounds::default() };
        let answer = self.batch(&[BatchStatement { bounds, ..BatchStatement::plain(sql) }]).await?;
        let replies = answer.all()?;
        Ok(replies.into_iter().next().map(|reply| reply.rows).unwrap_or_default())
    }

    /// Runs statements, each of which is a batch of its own, up to the first that fails.
    pub(super) async fn run(&mut self, statements: &[&str]) -> Result<(), WireError> {
        for sql in statements {
            self.batch(&[BatchStatement::plain(sql)]).await?.all()?;
        }
        Ok(())
    }
}

fn encode(batch: &[BatchStatement<'_>]) -> std::io::Result<BytesMut> {
    let mut bytes = BytesMut::new();
    for batch_statement in batch {
        frontend::parse("", batch_statement.sql, [], &mut bytes)?;
        if batch_statement.parse_only {
            frontend::describe(b'S', "", &mut bytes)?;
            frontend::close(b'P', "", &mut bytes)?;
            continue;
        }
        let value = |value: &Option<String>, bytes: &mut BytesMut| match value {
            None => Ok(IsNull::Yes),
            Some(text) => {
                bytes.extend_from_slice(text.as_bytes());
                Ok(IsNull::No)
            }
        };
        frontend::bind("", "", [], batch_statement.parameters, value, [], &mut bytes).map_err(|error| match error {
            frontend::BindError::Conversion(error) => std::io::Error::other(error),
            frontend::BindError::Serialization(error) => error,
        })?;
        frontend::describe(b'P', "", &mut bytes)?;
        // One row more than is wanted tells whether there are more.
        let wanted = batch_statement.bounds.rows_max.checked_add(1).filter(|_| !batch_statement.bounds.to_end);
        let rows = wanted.and_then(|rows| i32::try_from(rows).ok()).unwrap_or(0);
        frontend::execute("", rows, &mut bytes)?;
        frontend::close(b'P', "", &mut bytes)?;
    }
    frontend::sync(&mut bytes);
    Ok(bytes)
}

/// Message from a server.
enum Received {
    Message(Message),
    /// A row that was too large and was thrown away.
    HugeRow,
}

/// The next message. A row of more than `row_max` bytes is thrown away while it comes in.
async fn receive<R: AsyncRead + Unpin>(
    stream: &mut R,
    input: &mut BytesMut,
    row_max: usize,
) -> Result<Received, WireError> {
    loop {
        if let Some(header) = Header::parse(input)? {
            let bytes = usize::try_from(header.len()).unwrap_or(0) + 1;
            if header.tag() == DATA_ROW_TAG && bytes > row_max {
                discard(stream, input, bytes).await?;
                return Ok(Received::HugeRow);
            }
            if let Some(message) = Message::parse(input)? {
                return Ok(Received::Message(message));
            }
        }
        input.reserve(READ);
        if stream.read_buf(input).await? == 0 {
            return Err(WireError::Broken("the server closed the connection".to_owned()));
        }
    }
}

async fn discard<R: AsyncRead + Unpin>(stream: &mut R, input: &mut BytesMut, bytes: usize) -> Result<(), WireError> {
    let mut left = bytes;
    loop {
        let here = left.min(input.len());
        input.advance(here);
        left -= here;
        if left == 0 {
            return Ok(());
        }
        input.reserve(READ);
        if stream.read_buf(input).await? == 0 {
            return Err(WireError::Broken("the server closed the connection".to_owned()));
        }
    }
}
