//! A log of the requests of pages in the form of HAR 1.2 (<http://www.softwareishard.com/blog/har-12-spec/>).

use palestra_browser::{Answer, Request};
use serde_json::{Value, json};

/// Requests that the log keeps; later ones are counted.
const ENTRIES_MAX: usize = 300;
/// Characters of an address that the log keeps.
const ADDRESS_CHARACTERS_MAX: usize = 500;

/// Requests of pages, in order.
#[derive(Clone, Default)]
pub(crate) struct Log {
    entries: Vec<Entry>,
    left_out: u64,
}

/// A request and its answer.
#[derive(Clone)]
struct Entry {
    at_ms: i64,
    method: String,
    address: String,
    query: Vec<(String, String)>,
    request_bytes: usize,
    /// Status, media type and bytes; none where the address was blocked.
    answer: Option<(u16, String, usize)>,
    redirect: String,
}

impl Log {
    /// Adds a request at a time of the page's clock, in milliseconds since 1970.
    pub(crate) fn add(&mut self, request: &Request, answer: &Answer, at_ms: i64) {
        if self.entries.len() < ENTRIES_MAX {
            self.entries.push(Entry::of(request, answer, at_ms));
        } else {
            self.left_out += 1;
        }
    }

    /// Requests so far, those that were left out included.
    pub(crate) fn count(&self) -> u64 {
        self.entries.len() as u64 + self.left_out
    }

    /// The log as HAR 1.2. All was answered at once by the page's clock, which stands still meanwhile.
    pub(crate) fn har(&self) -> Value {
        let comment = match self.left_out {
            0 => String::new(),
            more => format!("{more} later requests were left out"),
        };
        json!({"log": {
            "version": "1.2",
            "creator": {"name": "palestra", "version": env!("CARGO_PKG_VERSION")},
            "entries": self.entries.iter().map(Entry::har).collect::<Vec<_>>(),
            "comment": comment,
        }})
    }
}

impl Entry {
    fn of(request: &Request, answer: &Answer, at_ms: i64) -> Self {
        let cut = |text: &str| text.chars().take(ADDRESS_CHARACTERS_MAX).collect::<String>();
        let header = |headers: &[(String, String)], wanted: &str| {
            headers.iter().find(|(name, _)| name == wanted).map_or_else(String::new, |(_, value)| value.clone())
        };
        let (answer, redirect) = match answer {
            Answer::Response { status, headers, body } => {
                let media = header(headers, "content-type");
                (Some((*status, media, body.len())), header(headers, "location"))
            }
            Answer::Blocked => (None, String::new()),
        };
        let address = cut(request.url.as_str());
        let whole = address.len() == request.url.as_str().len();
        let query = request.url.query_pairs().filter(|_| whole);
        Self {
            at_ms,
            method: cut(&request.method),
            query: query.map(|(name, value)| (name.into_owned(), value.into_owned())).collect(),
            address,
            request_bytes: request.body.len(),
            answer,
            redirect,
        }
    }

    fn har(&self) -> Value {
        let begun = jiff::Timestamp::from_millisecond(self.at_ms).unwrap_or_default();
        let query = self.query.iter().map(|(name, value)| json!({"name": name, "value": value}));
        let (status, media, bytes) = self.answer.clone().unwrap_or_default();
        json!({
            "startedDateTime": begun.to_string(),
            "time": 0,
            "request": {
                "method": self.method,
                "url": self.address,
                "httpVersion": "HTTP/1.1",
                "cookies": [],
                "headers": [],
                "queryString": query.collect::<Vec<_>>(),
                "headersSize": -1,
                "bodySize": self.request_bytes,
            },
            "response": {
                "status": status,
                "statusText": reason(status),
                "httpVersion": "HTTP/1.1",
                "cookies": [],
                "headers": [],
                "content": {"size": bytes, "mimeType": media},
                "redirectURL": self.redirect,
                "headersSize": -1,
                "bodySize": bytes,
            },
            "cache": {},
            "timings": {"send": 0, "wait": 0, "receive": 0},
        })
    }
}

/// Words of a status; for 0, which stands for no answer, that the address was blocked.
const fn reason(status: u16) -> &'static str {
    match status {
        0 => "Blocked",
        200 => "OK",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_with_their_answers_and_later_ones_are_counted() {
        let request = |url: &str| Request {
            method: "GET".to_owned(),
            url: url.parse().expect("an address"),
            headers: Vec::new(),
            body: Vec::new(),
            is_document: true,
        };
        let mut log = Log::default();
        log.add(&request("http://site.test/a?q=b%20c"), &Answer::html(200, "abc"), 1_935_738_000_500);
        log.add(&request("http://other.test/"), &Answer::Blocked, 1_935_738_000_500);
        (0..ENTRIES_MAX)
            .for_each(|_| log.add(&request("http://site.test/"), &Answer::html(200, ""), 1_935_738_001_000));
        let har = log.har();
        let entries = har["log"]["entries"].as_array().expect("entries");
        assert_eq!(entries.len(), ENTRIES_MAX);
        assert_eq!(har["log"]["comment"], "2 later requests were left out");
        assert_eq!(entries[0]["startedDateTime"], "2031-05-05T09:00:00.5Z");
        assert_eq!(entries[0]["request"]["queryString"], json!([{"name": "q", "value": "b c"}]));
        assert_eq!(entries[0]["response"]["content"], json!({"size": 3, "mimeType": "text/html; charset=utf-8"}));
        assert_eq!(
            (&entries[1]["response"]["status"], &entries[1]["response"]["statusText"]),
            (&json!(0), &json!("Blocked"))
        );
    }
}
