//! Sites: what answers the requests of pages.

use async_trait::async_trait;
use url::Url;

/// Answers every request of the pages of one context, one after the other but for those that wait.
#[async_trait]
pub trait Site: Send + Sync {
    /// The answer to a request.
    async fn answer(&self, request: Request) -> Answer;

    /// True if the answer has to be waited for: others are answered meanwhile, in whatever order.
    fn waits(&self, _request: &Request) -> bool {
        false
    }
}

/// A request of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `POST`, ...
    pub method: String,
    /// Its address, without a fragment.
    pub url: Url,
    /// Its headers, as the browser wrote them.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
    /// True if a page asks for a document to show, in a tab or in a frame.
    pub is_document: bool,
}

impl Request {
    /// The value of a header, whatever the case of its name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A response.
    Response {
        /// Status code.
        status: u16,
        /// Headers.
        headers: Vec<(String, String)>,
        /// Body.
        body: Vec<u8>,
    },
    /// The address may not be reached: the browser shows that it was blocked.
    Blocked,
}

/// Fields of a form that was posted as `application/x-www-form-urlencoded`.
#[must_use]
pub fn form_fields(body: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(body.as_bytes()).into_owned().collect()
}

impl Answer {
    /// A page.
    #[must_use]
    pub fn html(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::text(status, "text/html; charset=utf-8", body)
    }

    /// A body of some type.
    #[must_use]
    pub fn text(status: u16, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type".to_owned(), media_type.to_owned())];
        Self::Response { status, headers, body: body.into() }
    }

    /// Leads to another address, which the browser asks for by GET.
    #[must_use]
    pub fn see_other(location: &str) -> Self {
        let headers = vec![("location".to_owned(), location.to_owned())];
        Self::Response { status: 303, headers, body: Vec::new() }
    }
}
