//! The answers of recordings, found by request.

use std::collections::{BTreeSet, HashMap, HashSet};

use url::Url;

use super::{Exchange, digest_of_body};
use crate::web::own::address::{plain, sorted};

/// All recorded answers of an environment.
#[derive(Debug, Default)]
pub(in crate::web::own) struct Library {
    exchanges: Vec<Exchange>,
    /// Places in the list, by method and address.
    exact: HashMap<(String, String), Vec<usize>>,
    /// The same, whatever the order of the query.
    loose: HashMap<(String, String), Vec<usize>>,
    hosts: BTreeSet<String>,
}

impl Library {
    /// Answers in the order of their recording.
    pub(in crate::web::own) fn new(exchanges: Vec<Exchange>) -> Self {
        let mut library = Self::default();
        for (place, exchange) in exchanges.iter().enumerate() {
            let Ok(url) = Url::parse(&exchange.address) else { continue };
            library.hosts.extend(url.host_str().map(str::to_owned));
            for (by, address) in [(&mut library.exact, plain(&url)), (&mut library.loose, sorted(&url))] {
                by.entry((exchange.method.clone(), address)).or_default().push(place);
            }
        }
        Self { exchanges, ..library }
    }

    /// True if something of a host was recorded.
    pub(in crate::web::own) fn has_host(&self, host: &str) -> bool {
        self.hosts.contains(host)
    }

    /// The answer to a request: the first that was recorded of its method, its address and its body. The order of a query is left out
    /// where this leaves one answer. A request whose body was not recorded answers any body.
    pub(in crate::web::own) fn find(&self, method: &str, url: &Url, body: &[u8]) -> Option<&Exchange> {
        let method = if method == "HEAD" { "GET" } else { method };
        let digest = digest_of_body(body);
        let fits = |place: &&usize| {
            let recorded = &self.exchanges[**place].body;
            recorded.is_none() && (method != "GET" || digest.is_none()) || *recorded == digest
        };
        let known = |by: &HashMap<(String, String), Vec<usize>>, address: String| -> Vec<usize> {
            let places = by.get(&(method.to_owned(), address)).into_iter().flatten();
            places.filter(fits).copied().collect()
        };
        let exact = known(&self.exact, plain(url));
        let of_body = |place: &&usize| self.exchanges[**place].body == digest;
        if let Some(place) = exact.iter().find(of_body).or_else(|| exact.first()) {
            return self.exchanges.get(*place);
        }
        match known(&self.loose, sorted(url)).as_slice() {
            [one] => self.exchanges.get(*one),
            _ => None,
        }
    }
}

/// The number of answers to a request that was answered otherwise before.
pub(in crate::web::own) fn repeats(exchanges: &[Exchange]) -> usize {
    let (mut asked, mut answered) = (HashSet::new(), HashSet::new());
    let mut repeats = 0;
    for Exchange { method, address, body, status, content, .. } in exchanges {
        let request = (method, address, body);
        let is_first = asked.insert(request);
        let is_new = answered.insert((request, status, &content.0));
        repeats += usize::from(is_new && !is_first);
    }
    repeats
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::own::packed::Packed;

    fn exchange(method: &str, address: &str, body: Option<&str>, content: &str) -> Exchange {
        Exchange {
            method: method.to_owned(),
            address: address.to_owned(),
            body: body.and_then(|body| digest_of_body(body.as_bytes())),
            status: 200,
            headers: Vec::new(),
            content: Packed(content.into()),
        }
    }

    fn found<'l>(library: &'l Library, method: &str, url: &str, body: &str) -> Option<&'l str> {
        let found = library.find(method, &Url::parse(url).unwrap(), body.as_bytes())?;
        std::str::from_utf8(&found.content.0).ok()
    }

    #[test]
    fn a_request_is_found_by_method_address_and_body() {
        let library = Library::new(vec![
            exchange("GET", "http://a.test/?q=1&p=2", None, "one"),
            exchange("POST", "http://a.test/order", Some("qty=1"), "first"),
            exchange("POST", "http://a.test/order", Some("qty=2"), "second"),
            exchange("POST", "https://b.test/any", None, "any"),
        ]);
        for (method, url, body, content) in [
            ("GET", "http://a.test/?q=1&p=2#x", "", Some("one")),
            ("HEAD", "http://a.test/?q=1&p=2", "", Some("one")),
            ("GET", "http://a.test/?p=2&q=1", "", Some("one")),
            ("GET", "http://a.test/?p=2", "", None),
            ("POST", "http://a.test/?q=1&p=2", "", None),
            ("POST", "http://a.test/order", "qty=2", Some("second")),
            ("POST", "http://a.test/order", "qty=3", None),
            ("POST", "http://a.test/order", "", None),
            ("POST", "https://b.test/any", "x", Some("any")),
            ("GET", "http://b.test/any", "", None),
        ] {
            assert_eq!(found(&library, method, url, body), content, "{method} {url} {body}");
        }
        assert!(library.has_host("b.test") && !library.has_host("c.test"));
        assert_eq!(repeats(&library.exchanges), 0);
    }

    #[test]
    fn the_first_of_two_recordings_answers_and_the_others_are_counted() {
        let library = Library::new(vec![
            exchange("GET", "http://a.test/", None, "before"),
            exchange("GET", "http://a.test/", None, "before"),
            exchange("GET", "http://a.test/", None, "after"),
        ]);
        assert_eq!((found(&library, "GET", "http://a.test/", ""), repeats(&library.exchanges)), (Some("before"), 1));
    }

    #[test]
    fn the_order_of_a_query_counts_where_two_answers_differ_by_it() {
        let library = Library::new(vec![
            exchange("GET", "http://a.test/?a=1&b=2&c=3", None, "one"),
            exchange("GET", "http://a.test/?b=2&a=1&c=3", None, "two"),
        ]);
        assert_eq!(found(&library, "GET", "http://a.test/?b=2&a=1&c=3", ""), Some("two"));
        assert_eq!(found(&library, "GET", "http://a.test/?c=3&a=1&b=2", ""), None);
    }
}
