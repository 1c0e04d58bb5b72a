//! The two generations of the protocol. The older one begins with `initialize`, and names the revision that was agreed on in a
//! header from then on. Since 2026-07-28 there is no beginning: each request names its revision in `_meta` and in a header, and
//! repeats its method and its object in headers, by which proxies may route. They have to agree, or a proxy could be deceived.

use axum::http::{HeaderMap, HeaderName};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::ErrorData;
use rmcp::model::{ProtocolVersion, RequestMetaObject};
use serde::Deserialize;

use super::super::json_rpc::told_back;
use super::message::Request;

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Headers of the protocol, which browsers have to be allowed to send.
pub(in crate::http) const HEADERS: [HeaderName; 3] = [VERSION, METHOD, NAME];

/// The marks around the Base64 of a value that no header can hold.
const WRAPPED: (&str, &str) = ("=?base64?", "?=");

/// The way in which client and server agree on a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Generation {
    /// By `initialize`: 2024-11-05 to 2025-11-25.
    Handshake,
    /// In every request: 2026-07-28.
    Stateless,
}

impl Generation {
    /// The generation of a request.
    ///
    /// # Errors
    /// When its revision is unknown, or what it says about itself does not agree.
    pub(super) fn of(request: &Request, headers: &HeaderMap) -> Result<Self, ErrorData> {
        if request.method == "initialize" {
            return Ok(Self::Handshake);
        }
        let meta = meta(request)?;
        let Some(header) = only(headers, &VERSION)? else {
            // Revisions before 2025-06-18 knew no such header.
            return match meta.protocol_version() {
                None => Ok(Self::Handshake),
                Some(_) => Err(mismatch("the header mcp-protocol-version is missing")),
            };
        };
        if meta.protocol_version().is_some_and(|version| version.as_str() != header) {
            return Err(mismatch("mcp-protocol-version is not what `_meta` says"));
        }
        let Some(version) = ProtocolVersion::KNOWN_VERSIONS.iter().find(|version| version.as_str() == header) else {
            return Err(unsupported(header));
        };
        if version.has_initialize() {
            return Ok(Self::Handshake);
        }
        match meta.missing_required_keys(version).as_slice() {
            [] => agree(request, headers).map(|()| Self::Stateless),
            missing => {
                let words = format!("Invalid params: `_meta` lacks {}, or has it in another form", missing.join(", "));
                Err(ErrorData::invalid_params(words, None))
            }
        }
    }
}

fn meta(request: &Request) -> Result<RequestMetaObject, ErrorData> {
    let Some(meta) = request.params.get("_meta") else { return Ok(RequestMetaObject::new()) };
    RequestMetaObject::deserialize(meta)
        .map_err(|_| ErrorData::invalid_params("Invalid params: `_meta` is no object", None))
}

/// Tells whether the headers by which proxies route say what the request says.
fn agree(request: &Request, headers: &HeaderMap) -> Result<(), ErrorData> {
    if only(headers, &METHOD)? != Some(&request.method) {
        return Err(mismatch("mcp-method is not the method of the request"));
    }
    let object = match request.method.as_str() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return Ok(()),
    };
    // One that is missing or no text is a fault of the parameters, and told by who reads them.
    let Some(object) = request.params.get(object).and_then(|object| object.as_str()) else { return Ok(()) };
    match only(headers, &NAME)?.and_then(unwrapped) {
        Some(name) if name == object => Ok(()),
        _ => Err(mismatch("mcp-name is not the name in the request")),
    }
}

/// A header that may stand there once at most.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ErrorData> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| mismatch(&format!("{name} is no text"))),
        (Some(_), Some(_)) => Err(mismatch(&format!("{name} is there twice"))),
    }
}

/// A header's value as it was before it was wrapped; none where it was wrapped wrongly.
fn unwrapped(value: &str) -> Option<String> {
    match value.strip_prefix(WRAPPED.0).and_then(|rest| rest.strip_suffix(WRAPPED.1)) {
        None => Some(value.to_owned()),
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
    }
}

fn mismatch(words: &str) -> ErrorData {
    ErrorData::header_mismatch(format!("Header mismatch: {words}"), None)
}

fn unsupported(requested: &str) -> ErrorData {
    let data = serde_json::json!({"requested": told_back(requested), "supported": ProtocolVersion::KNOWN_VERSIONS});
    ErrorData { data: Some(data), ..ErrorData::unsupported_protocol_version(ProtocolVersion::LATEST, &[]) }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ErrorCode, RequestId};
    use serde_json::{Value, json};

    use super::*;

    const MODERN: &str = "2026-07-28";

    fn request(method: &str, params: Value) -> Request {
        let Value::Object(params) = params else { panic!("an object") };
        Request { id: RequestId::Number(1), method: method.to_owned(), params }
    }

    fn headers(pairs: &[(&HeaderName, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().expect("a value"));
        }
        headers
    }

    fn envelope(version: &str) -> Value {
        json!({"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}})
    }

    /// The generation of a request, or the code that it is refused with.
    fn of(method: &str, params: Value, pairs: &[(&HeaderName, &str)]) -> Result<Generation, ErrorCode> {
        Generation::of(&request(method, params), &headers(pairs)).map_err(|error| error.code)
    }

    #[test]
    fn a_request_without_signs_or_of_an_old_revision_is_of_the_handshake() {
        for pairs in [&[][..], &[(&VERSION, "2025-11-25")], &[(&VERSION, "2024-11-05"), (&METHOD, "anything")]] {
            assert_eq!(of("tools/list", json!({}), pairs), Ok(Generation::Handshake), "{pairs:?}");
        }
        // What a probe left in the headers does not turn the handshake into something else.
        assert_eq!(of("initialize", json!({}), &[(&VERSION, MODERN)]), Ok(Generation::Handshake));
    }

    #[test]
    fn a_request_that_agrees_with_itself_is_stateless() {
        let meta = json!({"_meta": envelope(MODERN)});
        let list = [(&VERSION, MODERN), (&METHOD, "tools/list")];
        assert_eq!(of("tools/list", meta, &list), Ok(Generation::Stateless));
        for (name, header) in [("add", "add"), ("größer", "=?base64?Z3LDtsOfZXI=?="), ("=?base64?", "=?base64?")] {
            let params = json!({"_meta": envelope(MODERN), "name": name});
            let pairs = [(&VERSION, MODERN), (&METHOD, "tools/call"), (&NAME, header)];
            assert_eq!(of("tools/call", params, &pairs), Ok(Generation::Stateless), "{name}");
        }
    }

    #[test]
    fn headers_that_do_not_agree_with_the_request_are_refused() {
        let call = json!({"_meta": envelope(MODERN), "name": "add"});
        for pairs in [
            &[][..],
            &[(&VERSION, "2025-11-25")],
            &[(&VERSION, MODERN)],
            &[(&VERSION, MODERN), (&VERSION, MODERN), (&METHOD, "tools/call"), (&NAME, "add")],
            &[(&VERSION, MODERN), (&METHOD, "tools/list"), (&NAME, "add")],
            &[(&VERSION, MODERN), (&METHOD, "tools/call"), (&METHOD, "tools/list"), (&NAME, "add")],
            &[(&VERSION, MODERN), (&METHOD, "tools/call")],
            &[(&VERSION, MODERN), (&METHOD, "tools/call"), (&NAME, "sub")],
            &[(&VERSION, MODERN), (&METHOD, "tools/call"), (&NAME, "=?base64?%%%?=")],
            &[(&VERSION, MODERN), (&METHOD, "tools/call"), (&NAME, "=?base64?/w==?=")],
        ] {
            assert_eq!(of("tools/call", call.clone(), pairs), Err(ErrorCode::HEADER_MISMATCH), "{pairs:?}");
        }
    }

    #[test]
    fn a_revision_that_nobody_knows_is_told_the_known_ones() {
        let refused = Generation::of(
            &request("tools/list", json!({"_meta": envelope("2099-01-01")})),
            &headers(&[(&VERSION, "2099-01-01")]),
        );
        let error = refused.expect_err("refused");
        assert_eq!(error.code, ErrorCode::UNSUPPORTED_PROTOCOL_VERSION);
        let data = error.data.expect("data");
        assert_eq!(data["requested"], "2099-01-01");
        assert!(data["supported"].as_array().is_some_and(|known| known.contains(&json!(MODERN))), "{data}");
    }

    #[test]
    fn a_stateless_request_brings_its_envelope() {
        let version = [(&VERSION, MODERN), (&METHOD, "tools/list")];
        for params in [
            json!({}),
            json!({"_meta": 7}),
            json!({"_meta": {}}),
            json!({"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}}),
            json!({"_meta": {"io.modelcontextprotocol/protocolVersion": 7, "io.modelcontextprotocol/clientCapabilities": {}}}),
        ] {
            assert_eq!(of("tools/list", params.clone(), &version), Err(ErrorCode::INVALID_PARAMS), "{params}");
        }
    }
}
