//! The pages of an environment: folders of files by host, and recorded answers.

use std::collections::BTreeMap;

use palestra_browser::{Answer, Request};
use percent_encoding::percent_decode_str;
use url::Url;

use super::live::LiveHost;
use super::media::media_type;
use super::packed::Packed;
use super::recording::Library;

/// The file that stands for a folder.
const INDEX: &str = "index.html";
/// The file that a folder shows where there is no such page.
const MISSING: &str = "404.html";

/// Everything that pages can ask for.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// Files by path, by host.
    pub(super) sites: BTreeMap<String, BTreeMap<String, Packed>>,
    /// Recorded answers.
    pub(super) recorded: Library,
    /// Real hosts.
    pub(super) hosts: Vec<LiveHost>,
}

impl Content {
    /// The real host that a request goes to: one of which neither files nor recorded answers are there.
    pub(super) fn live_host(&self, url: &Url) -> Option<&LiveHost> {
        self.hosts.iter().find(|live| live.host.has(url)).filter(|_| !self.has_host(url))
    }

    /// True if something of a host is there.
    pub(super) fn has_host(&self, url: &Url) -> bool {
        url.host_str().is_some_and(|host| self.site(url).is_some() || self.recorded.has_host(host))
    }

    fn site(&self, url: &Url) -> Option<&BTreeMap<String, Packed>> {
        self.sites.get(url.host_str()?).filter(|_| url.port().is_none())
    }

    /// The answer to a request. A form that is sent to a page is answered by that page; a folder does nothing with it.
    pub(super) fn answer(&self, request: &Request) -> Answer {
        if !matches!(request.url.scheme(), "http" | "https") || !self.has_host(&request.url) {
            return Answer::Blocked;
        }
        let site = self.site(&request.url);
        let found = site.and_then(|files| file(files, &request.url));
        let answer = found.or_else(|| self.recorded_answer(request));
        let answer = answer.unwrap_or_else(|| match site.and_then(|files| files.get(MISSING)) {
            Some(page) => Answer::html(404, page.0.as_slice()),
            None => Answer::text(404, "text/plain; charset=utf-8", "there is no such page"),
        });
        if request.method == "HEAD" { without_body(answer) } else { answer }
    }

    fn recorded_answer(&self, request: &Request) -> Option<Answer> {
        let found = self.recorded.find(&request.method, &request.url, &request.body)?;
        Some(Answer::Response { status: found.status, headers: found.headers.clone(), body: found.content.0.clone() })
    }
}

/// The file of an address; a folder is known by the slash at its end, to which it leads. Files are looked up by their whole path, so
/// that no address leads anywhere else.
fn file(files: &BTreeMap<String, Packed>, url: &Url) -> Option<Answer> {
    let path = percent_decode_str(url.path()).decode_utf8().ok()?;
    let path = path.trim_start_matches('/');
    let name = if path.is_empty() || path.ends_with('/') { format!("{path}{INDEX}") } else { path.to_owned() };
    if let Some(file) = files.get(&name) {
        return Some(Answer::text(200, &media_type(&name), file.0.as_slice()));
    }
    files.contains_key(&format!("{name}/{INDEX}")).then(|| {
        let mut folder = url.clone();
        folder.set_path(&format!("{}/", url.path()));
        Answer::see_other(folder.as_str())
    })
}

fn without_body(answer: Answer) -> Answer {
    match answer {
        Answer::Response { status, headers, .. } => Answer::Response { status, headers, body: Vec::new() },
        Answer::Blocked => Answer::Blocked,
    }
}

#[cfg(test)]
mod tests {
    use super::super::recording::Exchange;
    use super::*;

    fn content(missing: bool) -> Content {
        let file = |path: &str| (path.to_owned(), Packed(path.as_bytes().to_vec()));
        let mut files: BTreeMap<String, Packed> =
            ["index.html", "style.css", "a b.html", "docs/index.html", "docs/ä.txt", "deep/er/x.png"]
                .into_iter()
                .map(file)
                .collect();
        if missing {
            files.extend([file("404.html")]);
        }
        let exchange = Exchange {
            method: "GET".to_owned(),
            address: "https://news.test/today".to_owned(),
            body: None,
            status: 200,
            headers: vec![("content-type".to_owned(), "text/html".to_owned())],
            content: Packed(b"news".to_vec()),
        };
        let beside = Exchange { address: "http://shop.test/recorded".to_owned(), ..exchange.clone() };
        Content {
            sites: BTreeMap::from([("shop.test".to_owned(), files)]),
            recorded: Library::new(vec![exchange, beside]),
            hosts: Vec::new(),
        }
    }

    fn asked(content: &Content, method: &str, url: &str) -> (u16, String, String) {
        let url = Url::parse(url).unwrap();
        let request =
            Request { method: method.to_owned(), url, headers: Vec::new(), body: Vec::new(), is_document: true };
        match content.answer(&request) {
            Answer::Response { status, headers, body } => {
                let first = headers.into_iter().next().map(|(_, value)| value).unwrap_or_default();
                (status, first, String::from_utf8(body).unwrap())
            }
            Answer::Blocked => (0, String::new(), String::new()),
        }
    }

    #[test]
    fn files_are_found_by_their_path_and_folders_by_their_index() {
        let content = content(false);
        for (url, status, media, body) in [
            ("http://shop.test/", 200, "text/html; charset=utf-8", "index.html"),
            ("https://shop.test/style.css?v=2", 200, "text/css; charset=utf-8", "style.css"),
            ("http://shop.test/a%20b.html", 200, "text/html; charset=utf-8", "a b.html"),
            ("http://shop.test/docs/", 200, "text/html; charset=utf-8", "docs/index.html"),
            ("http://shop.test/docs?x=1", 303, "http://shop.test/docs/?x=1", ""),
            ("http://shop.test/docs/%C3%A4.txt", 200, "text/plain; charset=utf-8", "docs/ä.txt"),
            ("http://shop.test/deep/er/x.png", 200, "image/png", "deep/er/x.png"),
            ("http://shop.test/recorded", 200, "text/html", "news"),
            ("https://news.test/today", 200, "text/html", "news"),
        ] {
            assert_eq!(asked(&content, "GET", url), (status, media.to_owned(), body.to_owned()), "{url}");
        }
        assert_eq!(asked(&content, "POST", "http://shop.test/").2, "index.html", "a form is answered by its page");
        assert_eq!(asked(&content, "HEAD", "http://shop.test/").2, "");
    }

    #[test]
    fn no_address_leads_out_of_a_folder_and_other_hosts_are_closed() {
        for missing in [false, true] {
            let content = content(missing);
            for path in
                ["../web.yaml", "%2e%2e/web.yaml", "docs/..%2f..%2fweb.yaml", "%2fetc/passwd", "%ff", "deep", "x"]
            {
                let (status, _, body) = asked(&content, "GET", &format!("http://shop.test/{path}"));
                assert_eq!((status, body == "404.html"), (404, missing), "{path}");
            }
            for url in ["http://other.test/", "ftp://shop.test/", "http://www.shop.test/"] {
                assert_eq!(asked(&content, "GET", url).0, 0, "{url}");
            }
            // Hosts that were recorded are open at every port.
            for url in ["https://news.test/tomorrow", "http://shop.test:8080/"] {
                assert_eq!(asked(&content, "GET", url).0, 404, "{url}");
            }
        }
    }
}
