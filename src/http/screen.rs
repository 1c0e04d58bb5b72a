//! `/v1/sessions/{id}/page/{token}`: the screens of a session for browsers, each at an address of its own behind it. The path is the credential: it is made when the
//! session is opened, nobody can guess it, and it acts in this one session as the acting side does. There is nothing that
//! another site could make a browser do here without knowing the path, and the path is told to no other site.

use std::sync::Arc;

use axum::Form;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{FromRequest, RawPathParams, Request, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use palestra_environment::PageRequest;
use palestra_protocol::action::Action;
use palestra_protocol::id::SessionId;
use palestra_protocol::problem::Code;
use palestra_protocol::step::Step;

use super::body;
use super::caller::{Onlooker, admit_page};
use super::envelope::Written;
use super::extract::media_type;
use super::gate::Gate;
use super::perform::{ToolForm, perform};
use super::problem::Failure;
use crate::app::App;
use palestra_auth::{Grant, Principal};
use palestra_session::{Answer, Command, Screen};

/// Style sheets, scripts and pictures of the page alone, nothing from elsewhere, no connection, no frame around it, and forms
/// that lead nowhere else. The looks of an app are its tenant's: its scripts run in an origin of their own, so that they reach
/// nothing that belongs to the server.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; \
                      frame-ancestors 'none'; base-uri 'none'; sandbox allow-forms allow-scripts";
const HTML: &str = "text/html; charset=utf-8";
/// The page where nothing can be done any more.
const OVER: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Session over</title></head>\
                    <body><main><h1>This session is over</h1><p>Nothing can be done here any more.</p></main></body></html>";

/// Lets requests through whose path is that of a session's page. A wrong one is as good as none.
pub(super) async fn guard_by_page(
    State(gate): State<Gate>,
    parameters: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
    next: Next,
) -> Response {
    let Ok(parameters) = parameters else { return Failure::not_found("page").into_response() };
    let parameter = |wanted| parameters.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value);
    let session = parameter("id").and_then(|id| id.parse::<SessionId>().ok());
    match admit_page(gate.app(), parameter("token").unwrap_or_default()).await {
        Ok(principal) if session.is_some_and(|id| acts_in(&principal, id)) => {
            gate.let_in(principal, request, next).await
        }
        Ok(_) => Failure::not_found("page").into_response(),
        Err(failure) if failure.code() == Code::Unauthorized => Failure::not_found("page").into_response(),
        Err(failure) => failure.into_response(),
    }
}

fn acts_in(principal: &Arc<Principal>, session: SessionId) -> bool {
    principal.grant == Grant::Session(session)
}

/// Show a screen of a session as a page: its address stands behind this path, and to go to another one is a turn.
#[utoipa::path(get, path = "/v1/sessions/{id}/page/{token}", tag = "sessions", security(()),
    params(("id" = SessionId, Path), ("token" = String, Path, description = "The rest of the path that opening the session answered as `page`.")),
    responses((status = 200, description = "The screen, or that the episode is over.", body = String, content_type = "text/html")))]
pub(super) async fn show_page(
    State(app): State<App>,
    Onlooker { principal, session }: Onlooker,
    request: Request,
) -> Result<Response, Failure> {
    answer(&app, &principal, session, request.uri(), None).await
}

/// Do what a form of the page asks for: a turn of the session.
#[utoipa::path(post, path = "/v1/sessions/{id}/page/{token}", tag = "sessions", security(()),
    params(("id" = SessionId, Path), ("token" = String, Path, description = "The rest of the path that opening the session answered as `page`.")),
    request_body(content = String, content_type = "application/x-www-form-urlencoded", description = "The fields of a form of the page."),
    responses((status = 303, description = "It was done: the page shows what came of it.",
               headers(("location" = String, description = "The page.")))))]
pub(super) async fn act_on_page(
    State(app): State<App>,
    Onlooker { principal, session }: Onlooker,
    request: Request,
) -> Result<Response, Failure> {
    let uri = request.uri().clone();
    let fields = fields(request).await?;
    answer(&app, &principal, session, &uri, Some(&fields)).await
}

/// The base of the addresses of screens, and the address.
fn split(path: &str) -> Option<(&str, &str)> {
    let (before, behind) = path.split_once("/page/")?;
    let token = behind.split('/').next().unwrap_or_default().len();
    let base = before.len() + "/page/".len() + token;
    Some((&path[..base], if path.len() == base { "/" } else { &path[base..] }))
}

/// Answers a look at an address, or a form that was sent there. Turns are taken one after the other up to the first that is
/// refused, and lead to the present address.
async fn answer(
    app: &App,
    principal: &Arc<Principal>,
    session: SessionId,
    uri: &Uri,
    form: Option<&[(String, String)]>,
) -> Result<Response, Failure> {
    let (base, path) = split(uri.path()).ok_or_else(|| Failure::not_found("page"))?;
    let query = uri.query().unwrap_or_default();
    let request = PageRequest { base, post: form.is_some(), path, query, form: form.unwrap_or_default() };
    let shown = app.sessions().screen(&principal.tenant, session, &request).await.map_err(Failure::from);
    match shown {
        Ok(Screen::Page(page)) => Ok(html(StatusCode::OK, page)),
        Ok(Screen::Asset(media, text)) => Ok(asset(media, text)),
        Ok(Screen::Turns(actions)) => {
            match take_turns(app, principal, session, actions).await {
                // The page itself says that it is over.
                Err(failure) if !is_over(&failure) => return Err(failure),
                _ => {}
            }
            let address = app.sessions().page_address(&principal.tenant, session).await.ok().flatten();
            let target = HeaderValue::try_from(format!("{base}{}", address.unwrap_or_else(|| "/".to_owned())));
            let target = target.map_err(|_| Failure::not_found("page"))?;
            Ok((StatusCode::SEE_OTHER, [(LOCATION, target), private()]).into_response())
        }
        Ok(Screen::Over) if form.is_none() => Ok(html(StatusCode::OK, OVER)),
        Ok(Screen::Over) => {
            let target = HeaderValue::try_from(base).map_err(|_| Failure::not_found("page"))?;
            Ok((StatusCode::SEE_OTHER, [(LOCATION, target), private()]).into_response())
        }
        Err(failure) if is_over(&failure) => Ok(html(StatusCode::GONE, OVER)),
        Err(failure) => Err(failure),
    }
}

async fn take_turns(
    app: &App,
    principal: &Arc<Principal>,
    session: SessionId,
    actions: Vec<Action>,
) -> Result<(), Failure> {
    for action in actions {
        let step = Step { seq: None, action, episode: None, observe: None, meta: None };
        let command = Command::Step { session, step: Box::new(step) };
        if let Answer::Stepped(stepped) = perform(app, principal, command, ToolForm::default()).await? {
            let refused = stepped.observation.data.get("error").is_some_and(|error| !error.is_null());
            if refused || stepped.terminated || stepped.truncated {
                break;
            }
        }
    }
    Ok(())
}

async fn fields(request: Request) -> Result<Vec<(String, String)>, Failure> {
    if media_type(request.headers()).as_deref() != Some("application/x-www-form-urlencoded") {
        return Err(Failure::new(
            Code::UnsupportedMediaType,
            "the body is no form: send `application/x-www-form-urlencoded`",
        ));
    }
    let headers = request.headers().clone();
    let mut form = Request::new(Body::from(body::read(request).await?));
    *form.method_mut() = Method::POST;
    *form.headers_mut() = headers;
    let form = Form::<Vec<(String, String)>>::from_request(form, &()).await;
    form.map(|Form(fields)| fields)
        .map_err(|_| Failure::new(Code::Malformed, "the form cannot be read: reload the page"))
}

fn is_over(failure: &Failure) -> bool {
    matches!(failure.code(), Code::EpisodeOver | Code::SessionOver | Code::SessionLost)
}

fn asset(media: &'static str, text: String) -> Response {
    let headers: [(HeaderName, HeaderValue); 2] = [
        (CONTENT_TYPE, HeaderValue::from_static(media)),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    let mut response = (StatusCode::OK, headers, text).into_response();
    response.extensions_mut().insert(Written);
    response
}

fn html(status: StatusCode, page: impl Into<Body>) -> Response {
    let headers: [(HeaderName, HeaderValue); 3] = [
        (CONTENT_TYPE, HeaderValue::from_static(HTML)),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        private(),
    ];
    let mut response = (status, headers, page.into()).into_response();
    response.extensions_mut().insert(Written);
    response
}

/// The path must not be told to others.
const fn private() -> (HeaderName, HeaderValue) {
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer"))
}
