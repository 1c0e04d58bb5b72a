//! Findings of a check of an environment.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::stats::summary::Summary;

/// Failures that are kept at all.
const FAILURES_MAX: usize = 10_000;

/// Findings so far.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) splits: BTreeMap<String, BTreeMap<String, Summary>>,
    pub(super) failures: Vec<Value>,
    pub(super) failed: u64,
    pub(super) skipped: Vec<Value>,
}

impl Findings {
    /// Notes a check that failed.
    pub(super) fn fail(&mut self, split: &str, check: &str, detail: impl Into<String>) {
        self.failed += 1;
        if self.failures.len() < FAILURES_MAX {
            self.failures.push(json!({"split": split, "check": check, "detail": detail.into()}));
        }
    }

    /// Notes a check that cannot be tried.
    pub(super) fn skip(&mut self, check: &str, why: impl Into<String>) {
        self.skipped.push(json!({"check": check, "why": why.into()}));
    }
}
