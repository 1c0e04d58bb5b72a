//! The server: routes, the key, and answers with their faults.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use futures::{StreamExt as _, stream};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket, lookup_host};
use tokio::time::sleep;

use crate::answer::{Answer, CREATED};
use crate::conversation::{Piece, Request};
use crate::dialect::{Chat, Dialect, Gemini, Messages, Refusal, Responses};
use crate::filler;
use crate::log::{Entry, Log};
use crate::script::{Faults, Reply, Rule, Script};

/// Bytes of a request: images come in it.
const REQUEST_BYTES_MAX: usize = 256 << 20;
/// Connections that wait to be accepted; the system may allow fewer.
const WAITING_MAX: u32 = 8192;
/// Time in which answers may go on when the server stops.
const DRAIN: Duration = Duration::from_secs(2);
/// Time in which all that was sent before a cut leaves.
const CUT_AFTER: Duration = Duration::from_millis(20);
/// The header that names the version of the weights.
const POLICY_VERSION: &str = "x-policy-version";
/// The header of the log that counts what it dropped.
const DROPPED: &str = "x-dropped-calls";
/// The form of events of a stream.
const EVENT_STREAM: &str = "text/event-stream; charset=utf-8";
/// The form of JSON.
const JSON: &str = "application/json";
/// Characters of a message in an error.
const EXCERPT: usize = 80;

/// Settings of a server.
#[derive(Debug, Clone)]
pub struct Options {
    /// The key that callers must have; without one, anybody may call.
    pub key: Option<String>,
    /// Keeps the calls for `GET /log`.
    pub log: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { key: None, log: true }
    }
}

struct Server {
    script: Script,
    options: Options,
    log: Log,
}

type Shared = State<Arc<Server>>;

/// Listens on an address, as `127.0.0.1:0`, with room for many connections that begin at once.
///
/// # Errors
/// When the address is none, or taken.
pub async fn listen(address: &str) -> io::Result<TcpListener> {
    let address = lookup_host(address).await?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING_MAX)
}

/// Answers on `listener` until `shutdown` ends.
///
/// # Errors
/// When the listener fails.
pub async fn serve(
    listener: TcpListener,
    script: Script,
    options: Options,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    // Small parts leave at once.
    let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
    let (stop, mut stopped) = tokio::sync::watch::channel(());
    let asked = async move {
        shutdown.await;
        drop(stop);
    };
    let served = axum::serve(listener, router(script, options)).with_graceful_shutdown(asked);
    let deadline = async {
        // Ends by an error, when the sender is gone.
        let _ = stopped.changed().await;
        sleep(DRAIN).await;
    };
    tokio::select! {
        served = served.into_future() => served,
        // Some answers never end.
        () = deadline => Ok(()),
    }
}

/// All that the server answers.
pub fn router(script: Script, options: Options) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/responses", post(responses))
        .route("/v1/messages", post(messages))
        // Google's packages ask under one version or the other.
        .route("/v1beta/models/{operation}", post(generate))
        .route("/v1/models/{operation}", post(generate))
        .route("/v1/models", get(models))
        .route("/log", get(read_log).delete(clear_log))
        .route("/health", get(async || Json(json!({"status": "healthy"}))))
        .fallback(unknown)
        .layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX))
        .with_state(Arc::new(Server { script, options, log: Log::default() }))
}

async fn chat(State(server): Shared, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    server.answer(&Chat, &uri, bearer(&headers), &body).await
}

async fn responses(State(server): Shared, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    server.answer(&Responses, &uri, bearer(&headers), &body).await
}

async fn messages(State(server): Shared, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    // A client with a token in the place of a key sends it as OpenAI's do.
    server.answer(&Messages, &uri, header(&headers, "x-api-key").or(bearer(&headers)), &body).await
}

/// Parameters of Gemini's operations.
#[derive(Deserialize)]
struct GeminiQuery {
    #[serde(default)]
    alt: Option<String>,
    #[serde(default)]
    key: Option<String>,
}

async fn generate(
    State(server): Shared,
    Path(operation): Path<String>,
    Query(query): Query<GeminiQuery>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let (model, method) = operation.rsplit_once(':').unwrap_or((&operation, ""));
    let stream = method == "streamGenerateContent";
    let events = query.alt.as_deref() == Some("sse");
    let dialect = Gemini { model: model.to_owned(), stream, events };
    if !stream && method != "generateContent" {
        let message = format!("the operation `{method}` is not served: use generateContent or streamGenerateContent");
        return refuse(&dialect, &Refusal { status: 404, message, retry_after: None });
    }
    let key = header(&headers, "x-goog-api-key").or(query.key.as_deref());
    server.answer(&dialect, &uri, key, &body).await
}

async fn models(State(server): Shared, headers: HeaderMap) -> Response {
    if let Err(refusal) = server.admit(bearer(&headers).or(header(&headers, "x-api-key"))) {
        return refuse(&Chat, &refusal);
    }
    let model = |id: &str| json!({"id": id, "object": "model", "created": CREATED, "owned_by": "palestra"});
    let models: Vec<Value> = server.script.models().into_iter().map(model).collect();
    Json(json!({"object": "list", "data": models})).into_response()
}

async fn unknown(uri: Uri) -> Response {
    let message = format!("the path {} is not served: use one that docs/scripted-model.md lists", uri.path());
    refuse(&Chat, &Refusal { status: 404, message, retry_after: None })
}

/// The calls, one a line; a first line counts those that were dropped, where there are any.
async fn read_log(State(server): Shared, headers: HeaderMap) -> Response {
    if let Err(refusal) = server.admit(bearer(&headers)) {
        return refuse(&Chat, &refusal);
    }
    let (calls, dropped) = server.log.read();
    let head = if dropped > 0 { format!("{}\n", json!({"dropped": dropped})) } else { String::new() };
    let lines = calls.into_iter().map(|call| serde_json::to_string(&*call).map(|line| line + "\n"));
    let body = Body::from_stream(stream::iter(std::iter::once(Ok(head)).chain(lines)));
    let mut response = ([(CONTENT_TYPE, "application/jsonl")], body).into_response();
    response.headers_mut().insert(DROPPED, HeaderValue::from(dropped));
    response
}

async fn clear_log(State(server): Shared, headers: HeaderMap) -> Response {
    match server.admit(bearer(&headers)) {
        Ok(()) => {
            server.log.clear();
            StatusCode::NO_CONTENT.into_response()
        }
        Err(refusal) => refuse(&Chat, &refusal),
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    header(headers, "authorization")?.strip_prefix("Bearer ")
}

impl Server {
    fn admit(&self, key: Option<&str>) -> Result<(), Refusal> {
        match self.options.key.as_deref() {
            Some(wanted) if key != Some(wanted) => {
                let message = "the key is not that of this server: send the one that it was started with".to_owned();
                Err(Refusal { status: 401, message, retry_after: None })
            }
            _ => Ok(()),
        }
    }

    async fn answer(&self, dialect: &dyn Dialect, uri: &Uri, key: Option<&str>, body: &[u8]) -> Response {
        match self.perform(dialect, uri.path(), key, body).await {
            Ok(response) => response,
            Err(refusal) => refuse(dialect, &refusal),
        }
    }

    async fn perform(
        &self,
        dialect: &dyn Dialect,
        path: &str,
        key: Option<&str>,
        body: &[u8],
    ) -> Result<Response, Refusal> {
        self.admit(key)?;
        let mut request = dialect.read(body)?;
        let (rule, reply) = self.script.answer(&request).ok_or_else(|| unanswered(&request))?;
        if rule.faults.bytes.is_some() {
            // The tokens of a huge text are counted, not listed.
            (request.wants.token_ids, request.wants.logprobs) = (false, false);
        }
        if !dialect.can_write(&reply.message) {
            let message = "the script's `arguments` are no JSON object, which this dialect cannot send: correct them";
            return Err(Refusal { status: 500, message: message.to_owned(), retry_after: None });
        }
        if rule.faults.delay_ms > 0 {
            sleep(Duration::from_millis(rule.faults.delay_ms)).await;
        }
        let mut response = self.reply(dialect, path, &request, rule, reply).await?;
        if let Some(version) = self.script.policy_version.as_deref().and_then(|text| HeaderValue::from_str(text).ok()) {
            response.headers_mut().insert(POLICY_VERSION, version);
        }
        Ok(response)
    }

    async fn reply(
        &self,
        dialect: &dyn Dialect,
        path: &str,
        request: &Request,
        rule: &Rule,
        mut reply: Reply,
    ) -> Result<Response, Refusal> {
        let faults = rule.faults;
        if faults.bytes.is_some() {
            reply.message.content = vec![Piece::text(filler::MARK)];
        }
        let answer = Answer::new(request, rule, reply);
        if let Some(status) = faults.status {
            self.note(path, answer, Some("status"));
            let message = format!("the script answers {status} here: repeat the request, or change its rule");
            return Err(Refusal { status, message, retry_after: faults.retry_after });
        }
        if faults.hang && faults.cut_after_chunks.is_none() {
            self.note(path, answer, Some("hang"));
            return pending().await;
        }
        let kind = if request.stream && request.wants.events { EVENT_STREAM } else { JSON };
        let body = body(dialect, &answer, faults);
        let fault = if faults.bytes.is_some() { Some("bytes") } else { faults.cut_after_chunks.map(|_| "cut") };
        self.note(path, answer, fault);
        Ok(([(CONTENT_TYPE, kind)], body).into_response())
    }

    /// Keeps a call in the log. Of one that fails before its answer, nothing was produced; a huge text is not kept.
    fn note(&self, path: &str, answer: Answer<'_>, fault: Option<&'static str>) {
        if !self.options.log {
            return;
        }
        let nothing = !matches!(fault, None | Some("cut"));
        let text = if nothing { String::new() } else { answer.reply.message.text() };
        self.log.add(Entry {
            number: 0,
            path: path.to_owned(),
            model: answer.request.model.clone(),
            prompt_token_ids: answer.prompt,
            completion_token_ids: if nothing { Vec::new() } else { answer.completion },
            logprobs: if nothing { Vec::new() } else { answer.logprobs },
            text,
            fault,
        });
    }
}

/// No rule fits.
fn unanswered(request: &Request) -> Refusal {
    let last = request.messages.last().map(crate::conversation::Message::text).unwrap_or_default();
    let last: String = last.chars().take(EXCERPT).collect();
    Refusal::bad(format!(
        "no rule of the script fits this request, whose last message is `{last}`: add a rule without conditions at the end"
    ))
}

fn refuse(dialect: &dyn Dialect, refusal: &Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Json(dialect.refuse(refusal))).into_response();
    if let Some(seconds) = refusal.retry_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// The body of an answer, which may be huge, slow or cut.
fn body(dialect: &dyn Dialect, answer: &Answer<'_>, faults: Faults) -> Body {
    let mut parts = if answer.request.stream { dialect.parts(answer) } else { vec![dialect.whole(answer).to_string()] };
    if let Some(bytes) = faults.bytes {
        return Body::from_stream(stream::iter(filler::fill(parts, bytes).map(Ok::<_, Infallible>)));
    }
    if let Some(count) = faults.cut_after_chunks {
        if answer.request.stream {
            parts.truncate(count);
        } else if let [whole] = parts.as_mut_slice() {
            // Nobody takes the half for the whole.
            whole.truncate(whole.floor_char_boundary(whole.len() / 2));
        }
        let end = stream::once(async move {
            if faults.hang {
                pending::<()>().await;
            }
            // What was sent leaves first.
            sleep(CUT_AFTER).await;
            Err(io::Error::other("the script cuts the answer here"))
        });
        return Body::from_stream(paced(parts, faults).map(Ok).chain(end));
    }
    match <[String; 1]>::try_from(parts) {
        Ok([whole]) => whole.into(),
        Err(parts) => Body::from_stream(paced(parts, faults).map(Ok::<_, Infallible>)),
    }
}

/// The parts of an answer, each after its delay.
fn paced(parts: Vec<String>, faults: Faults) -> impl stream::Stream<Item = String> + Send {
    let delay = Duration::from_millis(faults.chunk_delay_ms);
    stream::iter(parts).then(move |part| async move {
        if !delay.is_zero() {
            sleep(delay).await;
        }
        part
    })
}
