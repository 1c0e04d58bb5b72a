//! Logging in: trust, passwords, MD5 and SCRAM.

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;
use tokio::io::AsyncWriteExt;

use super::{Login, Received, ServerError, Wire, WireError, receive};

/// Settings that every connection begins with. Whatever the cluster's own are, results read the same.
const SETTINGS: [(&str, &str); 5] = [
    ("client_encoding", "UTF8"),
    ("DateStyle", "ISO, MDY"),
    ("TimeZone", "UTC"),
    ("IntervalStyle", "postgres"),
    ("extra_float_digits", "1"),
];

pub(super) async fn log_in(wire: &mut Wire, login: &Login) -> Result<(), WireError> {
    let named = [("user", &*login.user), ("database", &*login.database), ("application_name", &*login.application)];
    let mut bytes = BytesMut::new();
    frontend::startup_message(named.into_iter().chain(SETTINGS), &mut bytes)?;
    loop {
        wire.stream.write_all(&bytes).await?;
        bytes.clear();
        match message(wire).await? {
            Message::AuthenticationOk => break,
            Message::AuthenticationCleartextPassword => {
                frontend::password_message(password(login)?.as_bytes(), &mut bytes)?;
            }
            Message::AuthenticationMd5Password(body) => {
                let hash = md5_hash(login.user.as_bytes(), password(login)?.as_bytes(), body.salt());
                frontend::password_message(hash.as_bytes(), &mut bytes)?;
            }
            Message::AuthenticationSasl(body) => {
                scram(wire, &body, password(login)?).await?;
            }
            _ => return Err(WireError::Broken("the server asks for a login that is not spoken here".to_owned())),
        }
    }
    loop {
        match message(wire).await? {
            Message::BackendKeyData(body) => {
                wire.process = body.process_id();
                wire.secret = body.secret_key();
            }
            Message::ReadyForQuery(_) => return Ok(()),
            _ => {}
        }
    }
}

fn password(login: &Login) -> Result<&str, WireError> {
    let missing =
        || WireError::Broken(format!("the server wants a password for {:?}, and the URL has none", login.user));
    login.password.as_deref().ok_or_else(missing)
}

/// RFC 5802 without channel binding, up to the server's proof that it knows the password too.
async fn scram(wire: &mut Wire, body: &AuthenticationSaslBody, password: &str) -> Result<(), WireError> {
    let unknown = || WireError::Broken("the server asks for a login that is not spoken here".to_owned());
    let mut mechanisms = body.mechanisms();
    let mut known = false;
    while let Some(mechanism) = mechanisms.next()? {
        known |= mechanism == SCRAM_SHA_256;
    }
    if !known {
        return Err(unknown());
    }
    let mut scram = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
    let mut bytes = BytesMut::new();
    frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), &mut bytes)?;
    wire.stream.write_all(&bytes).await?;
    let Message::AuthenticationSaslContinue(body) = message(wire).await? else { return Err(unknown()) };
    scram.update(body.data())?;
    bytes.clear();
    frontend::sasl_response(scram.message(), &mut bytes)?;
    wire.stream.write_all(&bytes).await?;
    let Message::AuthenticationSaslFinal(body) = message(wire).await? else { return Err(unknown()) };
    scram.finish(body.data())?;
    Ok(())
}

/// The next message that is no notice; a refusal is an error.
async fn message(wire: &mut Wire) -> Result<Message, WireError> {
    let Wire { stream, input, .. } = wire;
    loop {
        match receive(stream, input, usize::MAX).await? {
            Received::Message(Message::ErrorResponse(body)) => {
                return Err(WireError::Server(Box::new(ServerError::read(&body)?)));
            }
            Received::Message(Message::NoticeResponse(_) | Message::ParameterStatus(_)) | Received::HugeRow => {}
            Received::Message(message) => return Ok(message),
        }
    }
}
