//! Two metrics per request, by route and never by path, so that ids make no new series.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;

use axum::http::Method;
use metrics::{Counter, Histogram};
use parking_lot::RwLock;

use crate::telemetry::{HTTP_REQUESTS, HTTP_SECONDS};

/// The series of one route, by method and status.
type Series = Vec<((&'static str, u16), (Counter, Histogram))>;

/// Every series that was counted into so far. There are no more than routes times methods times statuses; looking one up by
/// its labels costs as much as a small step.
static SERIES: LazyLock<RwLock<HashMap<String, Series>>> = LazyLock::new(RwLock::default);

/// Counts a request that was answered.
pub(super) fn record(method: &'static str, route: &str, status: u16, elapsed: Duration) {
    let count = |series: &Series| {
        let known = series.iter().find(|(labels, _)| *labels == (method, status));
        known.is_some_and(|(_, (requests, seconds))| {
            requests.increment(1);
            seconds.record(elapsed.as_secs_f64());
            true
        })
    };
    let counted = SERIES.read().get(route).is_some_and(count);
    if !counted {
        let code = status.to_string();
        let requests =
            metrics::counter!(HTTP_REQUESTS, "method" => method, "route" => route.to_owned(), "status" => code);
        let seconds = metrics::histogram!(HTTP_SECONDS, "method" => method, "route" => route.to_owned());
        let mut all = SERIES.write();
        let series = all.entry(route.to_owned()).or_default();
        series.push(((method, status), (requests, seconds)));
        count(series);
    }
}

/// Methods that callers make up must not make up series.
pub(super) fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
