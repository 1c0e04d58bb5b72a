//! Whole documents around the bodies of widgets.

use serde_json::Value;

use crate::{Task, text};

const STYLE: &str = include_str!("frame/page.css");
const SCRIPT: &str = include_str!("frame/page.js");

/// The page of a task.
#[must_use]
pub fn document(task: &Task) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n\
         <style>{STYLE}{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n{}\n</main>\n\
         <script type=\"application/json\" id=\"data\">{}</script>\n<script>{SCRIPT}\n{}\n</script>\n</body>\n</html>\n",
        text(task.title),
        task.style,
        text(task.title),
        task.body,
        json(&task.data),
        task.script,
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

/// JSON that can stand in a script element.
fn json(data: &Value) -> String {
    data.to_string().replace('<', "\\u003c")
}
