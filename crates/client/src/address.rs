//! The address of a server, and the credential that is sent to it.

use reqwest::Url;
use reqwest::header::HeaderValue;

use crate::error::ClientError;

/// The header value of a credential.
pub(crate) fn bearer(key: &str) -> Result<HeaderValue, ClientError> {
    let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| {
        ClientError::Address("the key holds characters that no key has: check PALESTRA_API_KEY".to_owned())
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Parses a server address and refuses what is none.
pub(crate) fn parse_base(url: &str) -> Result<Url, ClientError> {
    let base = Url::parse(url).map_err(|error| {
        ClientError::Address(format!("{url:?} is no address, give one of the form http://host:port: {error}"))
    })?;
    if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
        return Err(ClientError::Address(format!("{url:?} is no address: give one of the form http://host:port")));
    }
    Ok(base)
}
