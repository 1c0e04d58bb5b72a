//! Whole documents around the bodies of widgets.

use serde_json::Value;

use crate::{Task, text};

const STYLE: &str = include_str!("frame/page.css");
const SCRIPT: &str = include_str!("frame/page.js");

/// The page of a task.
#[must_use]
pub fn document(task: &Task) -> String {
    page_of(task.title, task.style, &task.body, &task.data, task.script)
}

/// A page of a title, rules of style, the markup of its main part, and a script. The script has `data`, `$`, `el` and `send`.
#[must_use]
pub fn page_of(title: &str, style: &str, body: &str, data: &Value, script: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{}</title>\n<style>{STYLE}{style}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n{body}\n</main>\n\
         <script type=\"application/json\" id=\"data\">{}</script>\n<script>{SCRIPT}\n{script}\n</script>\n</body>\n</html>\n",
        text(title),
        text(title),
        json(data),
    )
}

/// The page that follows once a state was sent.
#[must_use]
pub fn sent() -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Sent</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>Sent</h1>\n<p role=\"status\">Your entry was sent.</p>\n\
         </main>\n</body>\n</html>\n"
    )
}

/// A document for a frame; its script has `data` and `$`.
pub(crate) fn framed(title: &str, data: &Value, body: &str, script: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n\
         <style>{STYLE}main{{padding:8px 12px}}h2{{font-size:1rem;margin:0 0 4px}}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n\
         <script>\"use strict\";\nconst data = {};\nconst $ = (selector) => document.querySelector(selector);\n{script}\n\
         </script>\n</body>\n</html>\n",
        text(title),
        json(data),
    )
}

/// JSON that can stand in a script element.
fn json(data: &Value) -> String {
    data.to_string().replace('<', "\\u003c")
}
