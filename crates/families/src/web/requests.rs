//! Requests of pages: which belong to a host, and which its own pages sent.

use palestra_browser::Request;

/// True for a request to a host over HTTP, at its usual port.
pub(super) fn is_to(host: &str, request: &Request) -> bool {
    request.url.scheme() == "http" && request.url.host_str() == Some(host) && request.url.port().is_none()
}

/// True for a request that a page of the host itself sent.
pub(super) fn is_from_own_page(host: &str, request: &Request) -> bool {
    request.header("origin") == Some(format!("http://{host}").as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(url: &str, origin: Option<&str>) -> Request {
        Request {
            method: "POST".to_owned(),
            url: url.parse().expect("an address"),
            headers: origin.map(|origin| ("Origin".to_owned(), origin.to_owned())).into_iter().collect(),
            body: Vec::new(),
            is_document: false,
        }
    }

    #[test]
    fn only_the_host_and_its_own_pages_are_meant() {
        for (url, is) in [
            ("http://game.test/input", true),
            ("http://game.test:80/input", true),
            ("https://game.test/input", false),
            ("http://game.test:81/input", false),
            ("http://a.game.test/input", false),
        ] {
            assert_eq!(is_to("game.test", &request(url, None)), is, "{url}");
        }
        for (origin, is) in [
            (Some("http://game.test"), true),
            (Some("http://game.test.evil"), false),
            (Some("https://game.test"), false),
            (Some("null"), false),
            (None, false),
        ] {
            assert_eq!(is_from_own_page("game.test", &request("http://game.test/", origin)), is, "{origin:?}");
        }
    }
}
