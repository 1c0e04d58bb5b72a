//! The way of pages to real hosts: this process asks for them, and only for those that the operator names. The browser itself reaches
//! nothing.

mod address;
mod host;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Response, redirect};
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::timeout;

use crate::site::{Answer, Request};
use address::is_public;
pub use host::Host;

/// Longest time for a connection.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Longest time for an answer: that of a page to come to rest.
const ANSWER_MAX: Duration = Duration::from_secs(15);
/// Most bytes of an answer.
const BODY_BYTES_MAX: usize = 32 << 20;
/// Answers that are waited for at once, of all sessions.
const AT_ONCE: usize = 64;
/// Headers that belong to one connection (RFC 9110, section 7.6.1), and those that the client writes itself.
const OF_A_CONNECTION: [&str; 11] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "content-length",
    "host",
];
/// Headers of an answer that would tell the browser of ways to a host that it does not have.
const OF_OTHER_WAYS: [&str; 2] = ["alt-svc", "strict-transport-security"];

/// Real hosts that the pages of a server may reach. Cheap to clone.
///
/// A name is looked up once for each connection, and a connection is made only to the addresses that were looked at: those of the public
/// internet, or the one that the operator wrote for the name. Redirects are led through the browser, so that each is looked at anew. No
/// proxy of the environment and no credentials of this process are used.
#[derive(Clone)]
pub struct Upstream(Arc<Inner>);

struct Inner {
    hosts: Vec<Host>,
    client: OnceCell<Client>,
    turns: Semaphore,
}

/// A request that led to no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unanswered {
    /// No connection came about: the host is down, has no address, or none that may be reached.
    Unreachable(String),
    /// The host did not answer in time, or with more than is taken.
    Failed(String),
}

impl Upstream {
    /// The way to these hosts.
    #[must_use]
    pub fn new(hosts: Vec<Host>) -> Self {
        Self(Arc::new(Inner { hosts, client: OnceCell::new(), turns: Semaphore::new(AT_ONCE) }))
    }

    /// True if every address of a host may be reached.
    #[must_use]
    pub fn admits(&self, host: &Host) -> bool {
        self.0.hosts.iter().any(|admitted| admitted.covers(host))
    }

    /// Sends a request of a page to its host.
    ///
    /// # Errors
    /// [`Unanswered`], in words that a page can show.
    pub async fn fetch(&self, request: &Request) -> Result<Answer, Unanswered> {
        let name = request.url.host_str().unwrap_or_default();
        // An address that was written for a name with a port is for that port alone, though a pattern has the others too.
        let written = written(&self.0.hosts, name);
        if !self.0.hosts.iter().any(|host| host.has(&request.url) && host.address() == written) {
            return Ok(Answer::Blocked);
        }
        let late = || Unanswered::Failed(format!("{name} did not answer within {} s", ANSWER_MAX.as_secs()));
        timeout(ANSWER_MAX, self.ask(request)).await.map_err(|_| late())?
    }

    async fn ask(&self, request: &Request) -> Result<Answer, Unanswered> {
        let name = request.url.host_str().unwrap_or_default();
        let failed = |why: String| Unanswered::Failed(format!("{name} gave no answer: {why}"));
        let client = self.0.client.get_or_try_init(|| async { client(&self.0.hosts) }).await.map_err(failed)?;
        let method = Method::from_bytes(request.method.as_bytes()).map_err(|error| failed(error.to_string()))?;
        let _turn = self.0.turns.acquire().await.map_err(|error| failed(error.to_string()))?;
        let asked = client.request(method, request.url.clone()).headers(headers(request)).body(request.body.clone());
        let response = asked.send().await.map_err(|error| {
            let why = innermost(&error);
            if error.is_connect() {
                Unanswered::Unreachable(format!("{name} cannot be reached: {why}"))
            } else {
                failed(why)
            }
        })?;
        answer(response).await.map_err(failed)
    }
}

fn client(hosts: &[Host]) -> Result<Client, String> {
    // An error means that the program has chosen its provider of cryptography already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT_MAX)
        .dns_resolver(Arc::new(Looked { hosts: hosts.to_vec() }))
        .build()
        .map_err(|error| error.to_string())
}

/// The headers of a request that go to the host. Answers come as they are, since the browser takes them uncompressed.
fn headers(request: &Request) -> HeaderMap {
    let kept =
        request.headers.iter().filter(|(name, _)| !OF_A_CONNECTION.contains(&name.to_ascii_lowercase().as_str()));
    let kept = kept.filter_map(|(name, value)| {
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(value).ok()?))
    });
    let mut headers: HeaderMap = kept.collect();
    headers.insert(reqwest::header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers
}

/// The answer of a host.
///
/// # Errors
/// In words, when it breaks off or cannot be taken.
async fn answer(mut response: Response) -> Result<Answer, String> {
    let status = response.status().as_u16();
    let encoding = response.headers().get(reqwest::header::CONTENT_ENCODING);
    if let Some(encoding) = encoding.filter(|encoding| *encoding != "identity") {
        return Err(format!(
            "the body is encoded as {encoding:?}, which was not asked for: let the host send it plain"
        ));
    }
    let headers = response
        .headers()
        .iter()
        .filter(|(name, _)| !OF_A_CONNECTION.contains(&name.as_str()) && !OF_OTHER_WAYS.contains(&name.as_str()));
    let headers = headers
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(|error| innermost(&error))? {
        if body.len() + part.len() > BODY_BYTES_MAX {
            return Err(format!("the body has more than {BODY_BYTES_MAX} bytes: ask for less at once"));
        }
        body.extend_from_slice(&part);
    }
    Ok(Answer::Response { status, headers, body })
}

/// The cause of a failure, without what it happened to.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// The address that the operator wrote for a name.
fn written(hosts: &[Host], name: &str) -> Option<IpAddr> {
    hosts.iter().filter(|host| host.is_named(name)).find_map(Host::address)
}

/// Looks up names, and leaves out addresses that may not be reached.
struct Looked {
    hosts: Vec<Host>,
}

impl Resolve for Looked {
    fn resolve(&self, name: Name) -> Resolving {
        let written = written(&self.hosts, name.as_str());
        Box::pin(async move {
            if let Some(address) = written {
                return Ok(Box::new(std::iter::once(SocketAddr::new(address, 0))) as Addrs);
            }
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let public: Vec<SocketAddr> = found.into_iter().filter(|found| is_public(found.ip())).collect();
            if public.is_empty() {
                let name = name.as_str();
                return Err(format!(
                    "{name} has no address on the public internet: where it is meant, start the server with --browser-hosts {name}=ADDRESS"
                )
                .into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_that_is_written_for_one_port_opens_no_other() {
        let hosts = ["*.wild.test", "here.wild.test:1=127.0.0.1"].map(|host| host.parse().unwrap());
        let upstream = Upstream::new(hosts.to_vec());
        let asked = async |url: &str| {
            let (method, url) = ("GET".to_owned(), url.parse().unwrap());
            upstream.fetch(&Request { method, url, headers: Vec::new(), body: Vec::new(), is_document: true }).await
        };
        for url in ["http://here.wild.test/", "https://here.wild.test/", "http://other.test/", "http://127.0.0.1:1/"] {
            assert_eq!(asked(url).await, Ok(Answer::Blocked), "{url}");
        }
        // Nobody listens there, and no name service was asked.
        let refused = asked("http://here.wild.test:1/").await.unwrap_err();
        assert!(matches!(&refused, Unanswered::Unreachable(why) if why.contains("refused")), "{refused:?}");
    }
}
