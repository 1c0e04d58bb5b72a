//! Addresses of requests, and patterns that they fit.

use url::Url;

/// An address as recordings and patterns write it: without a fragment.
pub(super) fn plain(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    url.into()
}

/// The same address with its query in order, so that addresses with the same pairs are alike.
pub(super) fn sorted(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    let Some(query) = url.query() else { return url.into() };
    let mut pairs: Vec<&str> = query.split('&').collect();
    pairs.sort_unstable();
    let query = pairs.join("&");
    url.set_query(Some(&query));
    url.into()
}

/// True if an address fits a pattern, in which `*` stands for any run of characters. A pattern without a query fits any query.
pub(super) fn fits(pattern: &str, address: &str) -> bool {
    let address = if pattern.contains('?') { address } else { address.split('?').next().unwrap_or_default() };
    let mut parts = pattern.split('*');
    let Some(rest) = address.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    let mut rest = rest;
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything_and_a_query_counts_where_it_is_named() {
        for (pattern, address, is_fit) in [
            ("http://a.test/", "http://a.test/", true),
            ("http://a.test/", "http://a.test/b", false),
            ("http://a.test/b", "http://a.test/b?c=1", true),
            ("http://a.test/b?c=1", "http://a.test/b?c=1", true),
            ("http://a.test/b?c=1", "http://a.test/b", false),
            ("http://a.test/*", "http://a.test/b/c?d", true),
            ("http://*.test/b", "http://a.test/b", true),
            ("http://a.test/*/c/*.html", "http://a.test/b/c/d.html", true),
            ("http://a.test/*/c/*.html", "http://a.test/b/d.html", false),
            ("http://a.test/ab*ba", "http://a.test/aba", false),
            ("http://a.test/b?*", "http://a.test/b?c=1", true),
        ] {
            assert_eq!(fits(pattern, address), is_fit, "{pattern} {address}");
        }
    }

    #[test]
    fn the_order_of_a_query_is_left_out_and_its_repeats_are_not() {
        let of = |text: &str| sorted(&Url::parse(text).unwrap());
        assert_eq!(of("http://a.test/?b=1&a=2#c"), of("http://a.test/?a=2&b=1"));
        assert_ne!(of("http://a.test/?a=1&a=1"), of("http://a.test/?a=1"));
        assert_eq!(plain(&Url::parse("http://a.test/#c").unwrap()), "http://a.test/");
    }
}
