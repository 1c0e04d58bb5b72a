//! Hosts that pages may reach, as they are written: `docs.example.org`, `*.example.org`, `shop.test:7770=127.0.0.1`, `[::1]:8080`.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use url::{Host as UrlHost, Url};

/// A host, or all hosts below a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    name: Name,
    /// The port; that of the scheme where none is written.
    port: Option<u16>,
    /// The address that it has whatever the name service says.
    address: Option<IpAddr>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    /// A name or an address.
    One(String),
    /// Everything that ends with this, which begins with a dot.
    Below(String),
}

impl Host {
    /// True if an address on the web belongs to it.
    #[must_use]
    pub fn has(&self, url: &Url) -> bool {
        let Some(host) = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https")) else { return false };
        let is_port = match self.port {
            None => url.port().is_none(),
            Some(port) => url.port_or_known_default() == Some(port),
        };
        is_port && self.name.has(host)
    }

    /// True if every address of the other belongs to it.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let is_name = match (&self.name, &other.name) {
            (name, Name::One(other)) => name.has(other),
            (Name::Below(suffix), Name::Below(other)) => other.ends_with(suffix.as_str()),
            (Name::One(_), Name::Below(_)) => false,
        };
        is_name && self.port == other.port
    }

    /// The address that is written for its name.
    #[must_use]
    pub const fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// True if both are the same name with another address, or only one of them has one.
    #[must_use]
    pub fn contradicts(&self, other: &Self) -> bool {
        matches!((&self.name, &other.name), (Name::One(own), Name::One(others)) if own == others)
            && self.address != other.address
    }

    /// True if this is the name, and no pattern.
    pub(super) fn is_named(&self, name: &str) -> bool {
        matches!(&self.name, Name::One(own) if own == name)
    }
}

impl Name {
    fn has(&self, host: &str) -> bool {
        match self {
            Self::One(name) => name == host,
            Self::Below(suffix) => host.len() > suffix.len() && host.ends_with(suffix.as_str()),
        }
    }
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            format!(
                "{text:?} is no host ({why}): write one as docs.example.org, *.example.org, shop.test:8080 or shop.test:8080=127.0.0.1"
            )
        };
        let (place, address) = match text.split_once('=') {
            Some((place, address)) => {
                let address = address.parse().map_err(|_| wrong("what follows = is no IP address"))?;
                (place, Some(address))
            }
            None => (text, None),
        };
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                let port = port.parse().ok().filter(|port| *port > 0);
                (host, Some(port.ok_or_else(|| wrong("the port is none"))?))
            }
            _ => (place, None),
        };
        let (star, bare) = host.strip_prefix("*.").map_or((false, host), |bare| (true, bare));
        let url = Url::parse(&format!("http://{bare}/")).map_err(|error| wrong(&error.to_string()))?;
        if url.host_str() != Some(bare) || bare.contains('*') {
            return Err(wrong(
                "it must be a name in small letters, without a path or a user, and a star stands at its beginning",
            ));
        }
        let is_address = !matches!(url.host(), Some(UrlHost::Domain(_)));
        if star && (is_address || address.is_some()) {
            return Err(wrong("a star goes with names, and with no address of their own"));
        }
        if is_address && address.is_some() {
            return Err(wrong("an address has no other address"));
        }
        let name = if star { Name::Below(format!(".{bare}")) } else { Name::One(bare.to_owned()) };
        Ok(Self { name, port, address })
    }
}

impl fmt::Display for Host {
    /// Writes it without the address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Name::One(name) => f.write_str(name)?,
            Name::Below(suffix) => write!(f, "*{suffix}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> Host {
        text.parse().unwrap()
    }

    #[test]
    fn a_host_has_its_own_addresses_and_no_others() {
        for (written, address, is_one) in [
            ("a.org", "https://a.org/b?c", true),
            ("a.org", "http://a.org/", true),
            ("a.org", "http://a.org:8080/", false),
            ("a.org", "http://b.a.org/", false),
            ("a.org", "http://a.org.evil.test/", false),
            ("a.org", "ftp://a.org/", false),
            ("a.org:443", "https://a.org/", true),
            ("a.org:443", "http://a.org/", false),
            ("*.a.org", "https://b.a.org/", true),
            ("*.a.org", "https://c.b.a.org/", true),
            ("*.a.org", "https://a.org/", false),
            ("*.a.org", "https://evila.org/", false),
            ("127.0.0.1:80", "http://127.0.0.1/", true),
            ("127.0.0.1:80", "http://2130706433/", true),
            ("127.0.0.1:81", "http://127.0.0.1/", false),
            ("[::1]:8080", "http://[::1]:8080/", true),
            ("a.test:7770=127.0.0.1", "http://a.test:7770/", true),
        ] {
            assert_eq!(host(written).has(&Url::parse(address).unwrap()), is_one, "{written} {address}");
        }
    }

    #[test]
    fn a_pattern_covers_what_lies_below_it() {
        for (pattern, other, is_covered) in [
            ("*.a.org", "b.a.org", true),
            ("*.a.org", "*.b.a.org", true),
            ("*.a.org", "*.a.org", true),
            ("*.b.a.org", "*.a.org", false),
            ("*.a.org", "a.org", false),
            ("a.org", "*.a.org", false),
            ("a.org:80", "a.org", false),
            ("a.test=127.0.0.1", "a.test", true),
        ] {
            assert_eq!(host(pattern).covers(&host(other)), is_covered, "{pattern} {other}");
        }
    }

    #[test]
    fn a_name_has_one_address() {
        for (one, other, contradicts) in [
            ("a.test:1=127.0.0.1", "a.test:2=127.0.0.2", true),
            ("a.test:1=127.0.0.1", "a.test:2", true),
            ("a.test:1=127.0.0.1", "a.test:2=127.0.0.1", false),
            ("a.test", "a.test:2", false),
            ("*.test", "a.test=127.0.0.1", false),
        ] {
            assert_eq!(host(one).contradicts(&host(other)), contradicts, "{one} {other}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused_in_words() {
        for text in [
            "",
            "*",
            "*.",
            "A.org",
            "a.org/b",
            "u@a.org",
            "a.org:0",
            "a.org:x",
            "a.org:99999",
            "a.org=",
            "a.org=b.org",
            "*.a.org=127.0.0.1",
            "*.127.0.0.1",
            "127.0.0.1=127.0.0.2",
            "a b.org",
            "http://a.org",
            "*.*.org",
            "2130706433",
        ] {
            let refused = text.parse::<Host>().unwrap_err();
            assert!(refused.contains("is no host") && refused.contains("write one as"), "{text}: {refused}");
        }
        for text in ["a.org", "*.a.org:81", "[::1]:8080"] {
            assert_eq!(host(text).to_string(), text);
        }
        assert_eq!(host("a.test:1=::1").to_string(), "a.test:1");
    }
}
