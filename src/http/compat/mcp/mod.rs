//! The Model Context Protocol: a session's tools for its clients, at `/v1/sessions/{id}/mcp`. docs/mcp.md says what holds.
//!
//! Messages are of the types of `rmcp`; its service is not used. That one has an answer of its own, which is no problem document
//! and no JSON-RPC, for whatever it cannot read; it runs every request in a task that no shutdown waits for and whose failures
//! cannot name the request; and what it can keep between requests, by a session id in a header, is not needed where the session
//! is the one in the path. What is left to do is small: one request, one answer.

mod call;
mod generation;
mod message;
mod method;
mod reply;
mod seat;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use palestra_protocol::id::SessionId;
use palestra_protocol::problem::Problem;

use super::super::caller::Onlooker;
use super::super::extract::JsonText;
use super::super::problem::Failure;
use crate::app::App;
use generation::Generation;
pub(in crate::http) use generation::HEADERS;
use message::Message;
use method::answer;
use seat::Seat;

/// Speak MCP with a session: one JSON-RPC request, answered as JSON.
///
/// Both generations of the protocol are spoken: the one that names its revision in every request (2026-07-28) and the one that begins with
/// `initialize` (2024-11-05 to 2025-11-25). `tools/call` takes a turn of the session. Answers hold neither rewards nor verdicts, whoever asks.
#[utoipa::path(post, path = "/v1/sessions/{id}/mcp", tag = "mcp", params(("id" = SessionId, Path)),
    request_body(content = Value, example = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})),
    responses((status = 200, description = "The answer, or the error.", body = Value),
              (status = 202, description = "It was a notification, which is not answered."),
              (status = 400, description = "An error of JSON-RPC, or a problem.",
               content((Value = "application/json"), (Problem = "application/problem+json"))),
              (status = 404, description = "There is no such method, as an error of JSON-RPC, or no such session, as a problem.",
               content((Value = "application/json"), (Problem = "application/problem+json")))))]
pub(in crate::http) async fn speak_mcp(
    State(app): State<App>,
    Onlooker { principal, session }: Onlooker,
    headers: HeaderMap,
    JsonText(body): JsonText,
) -> Result<Response, Failure> {
    let session = app.sessions().get(&principal.tenant, session).await?;
    let request = match message::read(&body) {
        Ok(Message::Request(request)) => request,
        Ok(Message::Notification) => return Ok(StatusCode::ACCEPTED.into_response()),
        Err(unreadable) => return Ok(reply::unreadable(unreadable)),
    };
    let generation = match Generation::of(&request, &headers) {
        Ok(generation) => generation,
        Err(error) => return Ok(reply::misdirected(request.id, error)),
    };
    let (id, seat) = (request.id.clone(), Seat { app: &app, principal: &principal, session: &session });
    Ok(reply::reply(generation, id, answer(&seat, generation, request).await?))
}
