//! HAR 1.2: recordings of a browser's developer tools, as one JSON document.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::{Exchange, Recording, address, digest_of_body, is_replayed, kept};
use crate::web::own::packed::Packed;

#[derive(Deserialize)]
struct Har {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    request: Asked,
    response: Answered,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    method: String,
    url: String,
    post_data: Option<PostData>,
}

#[derive(Deserialize)]
struct PostData {
    #[serde(default)]
    text: String,
    #[serde(default)]
    params: Vec<Field>,
}

#[derive(Deserialize)]
struct Answered {
    status: i64,
    #[serde(default)]
    headers: Vec<Field>,
    content: Content,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    size: i64,
    text: Option<String>,
    encoding: Option<String>,
}

#[derive(Deserialize)]
struct Field {
    name: String,
    #[serde(default)]
    value: String,
}

/// Reads a HAR file.
///
/// # Errors
/// In words, what is wrong with it.
pub(super) fn read(bytes: &[u8], recording: &mut Recording) -> Result<(), String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let har: Har = serde_json::from_slice(bytes)
        .map_err(|error| format!("the file is no HAR 1.2 document: export it again from the browser ({error})"))?;
    for (number, Entry { request, response }) in har.log.entries.into_iter().enumerate() {
        let place = |why: &str| format!("entry {number} ({}): {why}", request.url);
        let Some(address) = address(&request.url) else {
            recording.leave_out("addresses that are none of the web");
            continue;
        };
        let Some(status) = u16::try_from(response.status).ok().filter(|status| is_replayed(*status)) else {
            recording.leave_out("requests without an answer of their own");
            continue;
        };
        let content = match body(&response.content) {
            Ok(Some(content)) => content,
            Ok(None) => {
                recording.leave_out("answers without a body");
                continue;
            }
            Err(why) => return Err(place(&why)),
        };
        let headers = response.headers.into_iter().map(|field| (field.name, field.value));
        recording.add(Exchange {
            body: request.post_data.as_ref().and_then(|data| digest_of_body(&sent(data))),
            method: request.method.to_ascii_uppercase(),
            address,
            status,
            headers: kept(headers),
            content: Packed(content),
        })?;
    }
    Ok(())
}

/// The body of an answer; none where it was not recorded.
fn body(content: &Content) -> Result<Option<Vec<u8>>, String> {
    match (&content.text, content.encoding.as_deref()) {
        (None, _) => Ok((content.size <= 0).then(Vec::new)),
        (Some(text), Some("base64")) => {
            let decoded = STANDARD.decode(text.trim());
            decoded.map(Some).map_err(|_| "a body is no base64: record it again".to_owned())
        }
        (Some(text), None | Some("")) => Ok(Some(text.clone().into_bytes())),
        (Some(_), Some(other)) => Err(format!("a body is encoded as {other:?}: record it as text or base64")),
    }
}

/// The body of a request: its text, or the fields of a form.
fn sent(data: &PostData) -> Vec<u8> {
    if !data.text.is_empty() {
        return data.text.clone().into_bytes();
    }
    let pairs = data.params.iter().map(|field| (&field.name, &field.value));
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish().into_bytes()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn entry(method: &str, url: &str, status: i64, content: &Value) -> Value {
        json!({
            "request": {"method": method, "url": url, "headers": []},
            "response": {"status": status, "headers": [
                {"name": "Content-Type", "value": "text/html"}, {"name": "Content-Encoding", "value": "br"},
                {"name": ":status", "value": "200"},
            ], "content": content},
            "timings": {},
        })
    }

    fn recording(entries: &[Value]) -> Result<Recording, String> {
        let har = json!({"log": {"version": "1.2", "entries": entries}}).to_string();
        let mut recording = Recording::default();
        super::super::read("a.har", har.as_bytes(), &mut recording).map(|()| recording)
    }

    #[test]
    fn bodies_are_read_as_text_and_as_base64() {
        let read = recording(&[
            entry("get", "https://a.test/?q=1#top", 200, &json!({"size": 2, "text": "hi"})),
            entry("GET", "https://a.test/p.png", 200, &json!({"text": "AAEC", "encoding": "base64"})),
            entry("GET", "https://a.test/old", 301, &json!({"size": 0})),
        ])
        .unwrap();
        let [page, picture, moved] = read.exchanges.as_slice() else { panic!("{read:?}") };
        assert_eq!((page.method.as_str(), page.address.as_str()), ("GET", "https://a.test/?q=1"));
        assert_eq!(page.headers, [("Content-Type".to_owned(), "text/html".to_owned())], "what is decoded says so");
        assert_eq!((page.content.0.as_slice(), picture.content.0.as_slice()), (&b"hi"[..], &[0, 1, 2][..]));
        assert_eq!((moved.status, moved.content.0.len()), (301, 0));
    }

    #[test]
    fn forms_are_known_by_the_digest_of_what_was_sent() {
        let with = |data: Value| {
            let mut entry = entry("POST", "https://a.test/order", 200, &json!({"text": "ok"}));
            entry["request"]["postData"] = data;
            recording(&[entry]).unwrap().exchanges.remove(0).body
        };
        let text = with(json!({"mimeType": "application/x-www-form-urlencoded", "text": "a=1&b=x+y"}));
        assert_eq!(text, digest_of_body(b"a=1&b=x+y"));
        let fields = [json!({"name": "a", "value": "1"}), json!({"name": "b", "value": "x y"})];
        assert_eq!(with(json!({"mimeType": "application/x-www-form-urlencoded", "params": fields})), text);
        assert_eq!(with(json!({"mimeType": "text/plain", "text": ""})), None);
    }

    #[test]
    fn answers_without_a_body_are_counted_and_none_at_all_is_a_fault() {
        let whole = entry("GET", "https://a.test/", 200, &json!({"size": 2, "text": "hi"}));
        let without = entry("GET", "https://a.test/b", 200, &json!({"size": 900}));
        let odd = [
            without.clone(),
            entry("GET", "data:text/plain,a", 200, &json!({"text": "a"})),
            entry("GET", "https://a.test/c", 0, &json!({"size": 0})),
            entry("GET", "https://a.test/d", 304, &json!({"size": 0})),
            whole,
        ];
        let read = recording(&odd).unwrap();
        assert_eq!(read.exchanges.len(), 1);
        assert_eq!(read.left_out["answers without a body"], 1);
        assert_eq!(read.left_out["addresses that are none of the web"], 1);
        assert_eq!(read.left_out["requests without an answer of their own"], 2);
        let error = recording(&[without]).unwrap_err();
        assert_eq!(
            error,
            "the recording has no answer that can be replayed (1 answers without a body): record it with the bodies of answers"
        );
    }

    #[test]
    fn what_is_no_har_is_refused_with_the_place() {
        for broken in ["", "[]", "{\"log\": {}}", "{\"log\": {\"entries\": [{\"request\": {}}]}}"] {
            let found = read(broken.as_bytes(), &mut Recording::default()).unwrap_err();
            assert!(found.starts_with("the file is no HAR 1.2 document"), "{broken}");
        }
        let odd = entry("GET", "https://a.test/", 200, &json!({"text": "hi", "encoding": "quoted-printable"}));
        let error = recording(&[odd]).unwrap_err();
        assert!(error.starts_with("entry 0 (https://a.test/): a body is encoded"), "{error}");
        let odd = entry("GET", "https://a.test/", 200, &json!({"text": "!", "encoding": "base64"}));
        assert!(recording(&[odd]).unwrap_err().contains("is no base64"));
    }
}
