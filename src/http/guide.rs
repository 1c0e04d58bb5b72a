//! `/docs/guide`: the guides, and the search in them.

use axum::Router;
use axum::extract::Path;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use palestra_guide::{Answer, PATH};
use palestra_protocol::problem::Code;
use serde::Deserialize;

use super::extract::Query;
use super::problem::Failure;
use crate::app::App;

/// Most characters of a query.
const QUERY_CHARACTERS_MAX: usize = 200;
/// Pages have a style of their own and pictures from here, and nothing else.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; form-action 'self'; base-uri 'none'";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    search: Option<String>,
}

/// The pages. They need no credential, as the API document needs none.
pub(super) fn pages() -> Router<App> {
    Router::new().route(PATH, get(first)).route(&format!("{PATH}/{{*page}}"), get(page))
}

async fn first(Query(Search { search }): Query<Search>) -> Result<Response, Failure> {
    match search {
        Some(query) if query.chars().count() > QUERY_CHARACTERS_MAX => {
            Err(Failure::new(Code::Malformed, format!("search must be at most {QUERY_CHARACTERS_MAX} characters")))
        }
        Some(query) => Ok(respond(Answer::Page(palestra_guide::search(&query)))),
        None => find(""),
    }
}

async fn page(Path(page): Path<String>) -> Result<Response, Failure> {
    find(&page)
}

fn find(path: &str) -> Result<Response, Failure> {
    let missing = || Failure::new(Code::NotFound, format!("there is no such guide: choose one that {PATH} lists"));
    palestra_guide::answer(path).map(respond).ok_or_else(missing)
}

fn respond(answer: Answer) -> Response {
    let policy = (CONTENT_SECURITY_POLICY, POLICY);
    match answer {
        Answer::Page(html) => ([policy, (CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response(),
        Answer::Picture(media, bytes) => ([policy, (CONTENT_TYPE, media)], bytes).into_response(),
    }
}
