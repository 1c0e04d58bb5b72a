//! Answers: JSON-RPC, with the status that each generation of the protocol wants.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use rmcp::ErrorData;
use rmcp::model::{ErrorCode, RequestId, ServerJsonRpcMessage, ServerResult};

use super::super::super::answer::Body;
use super::super::super::envelope::Written;
use super::generation::Generation;
use super::message::Unreadable;

/// The answer to a request.
pub(super) fn reply(generation: Generation, id: RequestId, outcome: Result<ServerResult, ErrorData>) -> Response {
    match outcome {
        Ok(mut result) => {
            match generation {
                Generation::Handshake => result.strip_result_type_for_legacy_peer(),
                Generation::Stateless => result.fill_missing_cache_hints(),
            }
            Body(ServerJsonRpcMessage::response(result, id)).into_response()
        }
        Err(error) => {
            let status = match (generation, error.code) {
                // Older clients take every other status for the end of the connection.
                (Generation::Handshake, _) => StatusCode::OK,
                (Generation::Stateless, ErrorCode::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
                (Generation::Stateless, ErrorCode::INVALID_PARAMS) => StatusCode::BAD_REQUEST,
                (Generation::Stateless, _) => StatusCode::OK,
            };
            error_response(status, Some(id), error)
        }
    }
}

/// The answer to what is no message.
pub(super) fn unreadable(Unreadable { id, error }: Unreadable) -> Response {
    error_response(StatusCode::BAD_REQUEST, id, error)
}

/// The answer to a request whose generation cannot be told.
pub(super) fn misdirected(id: RequestId, error: ErrorData) -> Response {
    error_response(StatusCode::BAD_REQUEST, Some(id), error)
}

fn error_response(status: StatusCode, id: Option<RequestId>, error: ErrorData) -> Response {
    let mut response = (status, Body(ServerJsonRpcMessage::error(error, id))).into_response();
    response.extensions_mut().insert(Written);
    response
}
