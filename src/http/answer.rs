//! Answers of success: JSON bodies, and what commands came to with the status that fits.

use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use palestra_protocol::session::Created;
use serde::Serialize;

use super::problem::internal;
use crate::session::Answer;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Room for a body at first: enough for most.
const BODY_BYTES: usize = 1_024;

/// A JSON body.
pub(super) struct Body<T>(pub(super) T);

impl<T: Serialize> IntoResponse for Body<T> {
    fn into_response(self) -> Response {
        let mut bytes = Vec::with_capacity(BODY_BYTES);
        match serde_json::to_writer(&mut bytes, &self.0) {
            Ok(()) => ([(CONTENT_TYPE, JSON)], bytes).into_response(),
            Err(error) => internal(&error).into_response(),
        }
    }
}

/// What a command came to, with status and `Location`.
pub(super) struct Answered(pub(super) Answer);

impl IntoResponse for Answered {
    fn into_response(self) -> Response {
        let (status, location) = match &self.0 {
            Answer::Created(Created::One(opened)) => (StatusCode::CREATED, Some(format!("/v1/sessions/{}", opened.id))),
            Answer::Created(Created::Many(_)) | Answer::Forked(_) | Answer::Snapshot(_) => (StatusCode::CREATED, None),
            Answer::Pending { episode } => (StatusCode::ACCEPTED, Some(format!("/v1/episodes/{episode}/verdicts"))),
            Answer::Opened(_) | Answer::Stepped(_) | Answer::Finished(_) | Answer::Verdict(_) | Answer::Closed(_) => {
                (StatusCode::OK, None)
            }
        };
        let mut response = (status, Body(self.0)).into_response();
        if let Some(location) = location.and_then(|location| HeaderValue::from_str(&location).ok()) {
            response.headers_mut().insert(LOCATION, location);
        }
        response
    }
}
