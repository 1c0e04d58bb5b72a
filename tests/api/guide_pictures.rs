//! The pictures of `docs/browser.md`: taken here, so that they show what the server shows.

use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::browser::with_browsers;

/// Name of each picture, its environment, seed and whether it has marks.
const PICTURES: [(&str, &str, u64, bool); 4] = [
    ("shop", "app/shop", 3, true),
    ("widget", "web/widgets", 12, false),
    ("game", "web/games", 4, false),
    ("site", "web/sites", 2, false),
];

/// Most by which the bytes of a picture may differ from those in the guide, in percent: more is another page. Fonts and versions of
/// Chromium make some difference too.
const DIFFERENCE_MAX: usize = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guide_shows_pages_as_they_are() {
    let Some(server) = with_browsers().await else { return };
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/pictures");
    let update = std::env::var_os("UPDATE_PICTURES").is_some();
    let mut faults = Vec::new();
    for (name, environment, seed, marks) in PICTURES {
        let mut config = json!({"screenshot": {"format": "webp", "scale": 0.5, "marks": marks}});
        if environment.starts_with("app/") {
            config["surface"] = json!("browser");
        }
        let body = json!({"environment": environment, "task": {"split": "train", "seed": seed}, "config": config,
            "record": "none"});
        let session = server.post("/v1/sessions", &body).await.ok();
        let block = &session["observation"]["content"][0];
        let bytes = STANDARD.decode(block["data"].as_str().expect("a picture")).expect("base64");
        let file = folder.join(format!("{name}.webp"));
        if update {
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(&file, &bytes).expect("a file");
        }
        let shown = fs::read(&file).map_or(0, |shown| shown.len());
        if shown.abs_diff(bytes.len()) * 100 > DIFFERENCE_MAX * bytes.len() {
            faults.push(format!("{name}: {shown} bytes in the guide, {} now", bytes.len()));
        }
    }
    server.stop().await;
    assert!(faults.is_empty(), "{}\nLook at them, and write them anew with UPDATE_PICTURES=1", faults.join("\n"));
}
