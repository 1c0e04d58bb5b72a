//! `/v1/files`.

use palestra_protocol::file::FilePurpose;
use palestra_protocol::id::FileId;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::jobs::queue;
use super::worker::lease;
use crate::support::server::{ADMIN_KEY, Answer, TestServer, read};

/// A line that can be learnt from.
pub const LINE: &str =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"2 + 2?\"},{\"role\":\"assistant\",\"content\":\"4\"}]}\n";
const BOUNDARY: &str = "a-boundary";

/// A part of a body: its name, the name of its file, and its content.
pub type Part<'a> = (&'a str, Option<&'a str>, &'a [u8]);

/// A part of a body.
pub const fn part<'a>(name: &'a str, file_name: Option<&'a str>, content: &'a [u8]) -> Part<'a> {
    (name, file_name, content)
}

/// A body of several parts.
fn body(parts: &[Part<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, file_name, content) in parts {
        let file_name = file_name.map(|name| format!("; filename=\"{name}\"")).unwrap_or_default();
        let head = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"{file_name}\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    body
}

/// Uploads a body of these parts.
pub async fn send(server: &TestServer, parts: &[Part<'_>]) -> Answer {
    send_bytes(server, body(parts)).await
}

async fn send_bytes(server: &TestServer, bytes: Vec<u8>) -> Answer {
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    read(server.request(Method::POST, "/v1/files").header("content-type", kind).body(bytes)).await
}

/// Uploads a file that jobs learn from; answers its id.
pub async fn upload(server: &TestServer, content: &str) -> String {
    let parts = &[part("purpose", None, b"fine-tune"), part("file", Some("data.jsonl"), content.as_bytes())];
    send(server, parts).await.ok()["id"].as_str().unwrap().to_owned()
}

async fn listed(server: &TestServer, query: &str) -> Vec<Value> {
    server.get(&format!("/v1/files{query}")).await.ok()["data"].as_array().unwrap().clone()
}

/// A refusal as clients of OpenAI read it, which is a problem document as well.
#[track_caller]
pub fn assert_refused(answer: &Answer, status: u16, code: &str, parameter: Option<&str>) {
    assert_eq!((answer.status.as_u16(), answer.code()), (status, code), "{}", answer.body);
    let error = &answer.body["error"];
    assert_eq!((&error["code"], &error["param"]), (&json!(code), &json!(parameter)), "{}", answer.body);
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{}", answer.body);
    assert!(error["type"].as_str().is_some_and(|kind| kind.ends_with("_error")), "{}", answer.body);
}

#[tokio::test]
async fn what_is_uploaded_is_listed_and_read_back() {
    let server = TestServer::start().await;
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
    let made =
        send(&server, &[part("file", Some("a \u{fc}.jsonl"), &bytes), part("purpose", None, b"fine-tune")]).await.ok();
    assert_eq!((&made["object"], &made["filename"]), (&json!("file"), &json!("a \u{fc}.jsonl")));
    assert_eq!((&made["bytes"], &made["purpose"]), (&json!(bytes.len()), &json!("fine-tune")));
    assert!(made["created_at"].as_i64().is_some_and(|seconds| seconds > 1_700_000_000));
    let id = made["id"].as_str().unwrap();
    assert_eq!(server.get(&format!("/v1/files/{id}")).await.ok(), made);

    let response = server.request(Method::GET, &format!("/v1/files/{id}/content")).send().await.unwrap();
    let digest = format!("sha256:{}", hex::encode(Sha256::digest(&bytes)));
    assert_eq!(response.headers()["x-content-sha256"], digest);
    let kept_as = "attachment; filename=\"a _.jsonl\"; filename*=UTF-8''a%20%C3%BC.jsonl";
    assert_eq!(response.headers()["content-disposition"], kept_as);
    assert_eq!(response.bytes().await.unwrap(), bytes);
    let mut into = Vec::new();
    let client = server.client();
    let downloaded = client.download_file(id.parse().unwrap(), &mut into).await.unwrap();
    assert_eq!((into, downloaded.digest), (bytes, digest));

    let plain = send(&server, &[part("file", None, b"x"), part("purpose", None, b"user_data")]).await.ok();
    assert_eq!(plain["filename"], "upload");
    let list = server.get("/v1/files?limit=1").await.ok();
    assert_eq!((&list["object"], &list["has_more"], &list["data"][0]), (&json!("list"), &json!(true), &plain));
    let after = format!("?after={}", plain["id"].as_str().unwrap());
    assert_eq!(listed(&server, &after).await, std::slice::from_ref(&made));
    assert_eq!(listed(&server, "?order=asc").await, [made.clone(), plain.clone()]);
    assert_eq!(listed(&server, "?purpose=user_data").await, [plain]);

    let gone = server.delete(&format!("/v1/files/{id}")).await.ok();
    assert_eq!(gone, json!({"id": id, "object": "file", "deleted": true}));
    assert_refused(&server.get(&format!("/v1/files/{id}")).await, 404, "not_found", None);
    server.stop().await;
}

#[tokio::test]
async fn the_client_uploads_and_downloads_a_file() {
    let server = TestServer::start().await;
    let folder = tempfile::tempdir().unwrap();
    let client = server.client();
    for (name, content) in [("empty.jsonl", String::new()), ("two \"lines\".jsonl", LINE.repeat(20_000))] {
        let path = folder.path().join(name);
        std::fs::write(&path, &content).unwrap();
        let made = client.upload_file(&path, FilePurpose::FineTune).await.unwrap();
        assert_eq!((made.filename.as_str(), made.bytes), (name, content.len() as u64));
        let mut into = Vec::new();
        client.download_file(made.id, &mut into).await.unwrap();
        assert_eq!(into, content.as_bytes());
        assert_eq!(client.file(made.id).await.unwrap(), made);
        assert!(client.delete_file(made.id).await.unwrap().deleted);
    }
    assert!(client.files(&palestra_client::FileQuery::default()).await.unwrap().data.is_empty());
    assert!(client.upload_file(folder.path(), FilePurpose::FineTune).await.is_err(), "a folder is no file");
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_upload_is_refused_and_nothing_is_kept() {
    let server = TestServer::start_with(|config| {
        config.artifact_bytes_max = 1_000;
        config.artifact_quota_bytes = 2_000;
    })
    .await;
    let file = part("file", Some("a.jsonl"), b"{}");
    let purpose = part("purpose", None, b"fine-tune");
    let large = vec![b'x'; 1_001];
    let long = "n".repeat(256);
    let cases: Vec<(Vec<Part<'_>>, u16, &str, Option<&str>)> = vec![
        (vec![purpose], 400, "invalid", Some("file")),
        (vec![file], 400, "invalid", Some("purpose")),
        (vec![], 400, "invalid", Some("file")),
        (vec![file, file, purpose], 400, "invalid", Some("file")),
        (vec![file, purpose, purpose], 400, "invalid", Some("purpose")),
        (vec![file, part("purpose", None, b"fine-tune-results")], 400, "invalid", Some("purpose")),
        (vec![file, part("purpose", None, b"assistants")], 400, "invalid", Some("purpose")),
        (vec![file, part("purpose", None, b"\xff")], 400, "invalid", Some("purpose")),
        (vec![file, purpose, part("colour", None, b"red")], 400, "invalid", Some("colour")),
        (
            vec![file, purpose, part("expires_after[seconds]", None, b"3600")],
            400,
            "invalid",
            Some("expires_after[seconds]"),
        ),
        (vec![part("file", Some("../a"), b"{}"), purpose], 400, "invalid", Some("file")),
        (vec![part("file", Some("C:\\Users\\a.jsonl"), b"{}"), purpose], 400, "invalid", Some("file")),
        (vec![part("file", Some("a%0D%0Ab.jsonl"), b"{}"), purpose], 400, "invalid", Some("file")),
        (vec![part("file", Some(&long), b"{}"), purpose], 400, "invalid", Some("file")),
        (vec![part("file", Some("a.jsonl"), &large), purpose], 413, "too_large", None),
    ];
    for (parts, status, code, parameter) in cases {
        assert_refused(&send(&server, &parts).await, status, code, parameter);
    }
    assert_refused(&send_bytes(&server, b"nonsense".to_vec()).await, 400, "malformed", None);
    let whole = body(&[purpose, file]);
    assert_refused(&send_bytes(&server, whole[..whole.len() - 30].to_vec()).await, 400, "malformed", None);
    let json = read(server.request(Method::POST, "/v1/files").json(&json!({}))).await;
    assert_refused(&json, 415, "unsupported_media_type", None);
    assert!(listed(&server, "").await.is_empty());

    send(&server, &[part("file", Some("a"), &[1; 900]), purpose]).await.ok();
    send(&server, &[part("file", Some("b"), &[1; 900]), purpose]).await.ok();
    // Equal contents count once, so there is room for one more.
    send(&server, &[part("file", Some("c"), &[2; 900]), purpose]).await.ok();
    assert_refused(&send(&server, &[part("file", Some("d"), &[3; 900]), purpose]).await, 413, "quota_exceeded", None);
    assert_eq!(listed(&server, "").await.len(), 3);
    for (query, parameter) in [("?limit=0", Some("limit")), ("?limit=10001", Some("limit"))] {
        assert_refused(&server.get(&format!("/v1/files{query}")).await, 400, "invalid", parameter);
    }
    for query in ["?colour=red", "?after=job_1", "?order=random", "?purpose=assistants"] {
        assert_refused(&server.get(&format!("/v1/files{query}")).await, 400, "malformed", None);
    }
    server.stop().await;
}

#[tokio::test]
async fn an_upload_that_is_cut_leaves_nothing() {
    let server = TestServer::start().await;
    let mut socket = TcpStream::connect(server.address()).await.unwrap();
    let head = format!(
        "POST /v1/files HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {ADMIN_KEY}\r\n\
         content-type: multipart/form-data; boundary={BOUNDARY}\r\ncontent-length: 1000000\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let parts = &[part("purpose", None, b"fine-tune"), part("file", Some("a.jsonl"), &[7; 500_000])];
    let whole = body(parts);
    socket.write_all(&whole[..whole.len() - 100]).await.unwrap();
    socket.shutdown().await.unwrap();
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer).await;
    assert!(!String::from_utf8_lossy(&answer).contains("200 OK"), "{}", String::from_utf8_lossy(&answer));
    assert!(listed(&server, "").await.is_empty());
    server.stop().await;
}

#[tokio::test]
async fn strangers_find_nothing_and_errors_have_the_form_that_clients_read() {
    let server = TestServer::start().await;
    let id = upload(&server, LINE).await;
    let request = serde_json::from_value(json!({"name": "other", "scopes": ["admin"]})).unwrap();
    let stranger = server.app.auth().create_key("other", request).await.unwrap().secret;
    let ask = |method: Method, path: String, key: &str| {
        read(server.http.request(method, format!("{}{path}", server.url())).bearer_auth(key))
    };
    for (method, path) in [
        (Method::GET, format!("/v1/files/{id}")),
        (Method::GET, format!("/v1/files/{id}/content")),
        (Method::DELETE, format!("/v1/files/{id}")),
    ] {
        assert_refused(&ask(method.clone(), path.clone(), &stranger).await, 404, "not_found", None);
        assert_refused(&ask(method, path, "nobody").await, 401, "unauthorized", None);
    }
    assert_eq!(ask(Method::GET, "/v1/files".to_owned(), &stranger).await.ok()["data"], json!([]));
    let request = serde_json::from_value(json!({"name": "plays", "scopes": ["sessions"]})).unwrap();
    let player = server.app.auth().create_key("default", request).await.unwrap().secret;
    assert_refused(&ask(Method::GET, "/v1/files".to_owned(), &player).await, 403, "forbidden", None);
    assert_refused(&server.get("/v1/files/file-1").await, 404, "not_found", None);
    assert_refused(&server.get("/v1/files/nothing/here/at/all").await, 404, "not_found", None);
    let put = read(server.request(Method::PUT, &format!("/v1/files/{id}"))).await;
    assert_refused(&put, 405, "method_not_allowed", None);
    server.stop().await;
}

#[tokio::test]
async fn the_token_of_a_lease_reads_what_its_job_names_and_nothing_else() {
    let server = TestServer::start().await;
    let (named, other) = (upload(&server, LINE).await, upload(&server, "{}\n").await);
    let spec = json!({"policy": {"from": "builtin:tiny-transformer"}, "algorithm": {"name": "sft"},
        "data": {"file": named}, "steps": 1});
    let job = queue(&server, &json!({"kind": "train", "spec": spec})).await;
    let held = lease(&server, "trainer").await.unwrap();
    let token = held["token"].as_str().unwrap();
    let ask = |method: Method, path: String| {
        server.http.request(method, format!("{}{path}", server.url())).bearer_auth(token).send()
    };
    let content = ask(Method::GET, format!("/v1/files/{named}/content")).await.unwrap();
    assert_eq!(content.text().await.unwrap(), LINE);
    for (method, path, status) in [
        (Method::GET, format!("/v1/files/{named}"), 200),
        (Method::GET, format!("/v1/files/{other}"), 404),
        (Method::GET, format!("/v1/files/{other}/content"), 404),
        (Method::GET, format!("/v1/files/{}", FileId::new()), 404),
        (Method::GET, "/v1/files".to_owned(), 403),
        (Method::DELETE, format!("/v1/files/{named}"), 403),
        (Method::POST, "/v1/files".to_owned(), 403),
    ] {
        assert_eq!(ask(method.clone(), path.clone()).await.unwrap().status(), status, "{method} {path}");
    }
    let needed = server.delete(&format!("/v1/files/{named}")).await;
    assert_refused(&needed, 409, "job_over", None);
    assert!(needed.body["detail"].as_str().unwrap().contains(&job), "{}", needed.body);
    server.delete(&format!("/v1/files/{other}")).await.ok();
    server.stop().await;
}
