//! Record of the requests of pages: a log of them, and which documents were read.

use std::collections::BTreeMap;

use palestra_browser::{Answer, Request};
use serde_json::{Value, json};

use crate::browsed::Log;

/// Requests of pages, in order. The documents that were read are known beyond what the log keeps.
#[derive(Clone, Default)]
pub(super) struct Record {
    log: Log,
    /// Number of the request that first read a document, counted from 0, by its path.
    read: BTreeMap<String, u64>,
}

impl Record {
    /// Adds a request at a time of the page's clock, in milliseconds since 1970.
    pub(super) fn add(&mut self, request: &Request, answer: &Answer, at_ms: i64) {
        let good = matches!(answer, Answer::Response { status: 200, .. });
        if good && request.is_document && request.method == "GET" {
            self.read.entry(request.url.path().to_owned()).or_insert(self.log.count());
        }
        self.log.add(request, answer, at_ms);
    }

    /// Paths of documents that were read, each with the number of the entry that read it first, counted from 0.
    pub(super) fn read(&self) -> Value {
        json!(self.read)
    }

    /// The log as HAR 1.2.
    pub(super) fn har(&self) -> Value {
        self.log.har()
    }
}
