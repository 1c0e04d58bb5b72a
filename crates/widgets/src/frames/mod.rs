//! Documents in documents, and elements with a shadow tree of their own.

mod code_copy;
mod fold_tabs;
mod frame_offers;
mod framed_form;
mod nested_frames;
mod remote_frame;
mod shadow_rating;
mod shadow_stepper;

use serde_json::Value;

use crate::{Widget, text};

/// The widgets of this category.
pub(crate) fn widgets() -> Vec<Widget> {
    vec![
        code_copy::WIDGET,
        fold_tabs::WIDGET,
        frame_offers::WIDGET,
        framed_form::WIDGET,
        nested_frames::WIDGET,
        remote_frame::WIDGET,
        shadow_rating::WIDGET,
        shadow_stepper::WIDGET,
    ]
}

/// A document for a frame; its script has `data` and `$`.
fn document(title: &str, data: &Value, body: &str, script: &str) -> String {
    let style = include_str!("../frame/page.css");
    let data = data.to_string().replace('<', "\\u003c");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n\
         <style>{style}main{{padding:8px 12px}}h2{{font-size:1rem;margin:0 0 4px}}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n\
         <script>\"use strict\";\nconst data = {data};\nconst $ = (selector) => document.querySelector(selector);\n{script}\n\
         </script>\n</body>\n</html>\n",
        text(title)
    )
}

/// Markup of a frame.
fn frame(title: &str, number: usize, height: i64) -> String {
    format!(
        "<iframe title=\"{}\" src=\"/frame/{number}\" \
         style=\"width:100%;height:{height}px;border:1px solid var(--line);border-radius:8px;margin-bottom:8px\"></iframe>",
        text(title)
    )
}

/// A code of two letters and four digits.
fn code(draw: &mut crate::Draw) -> String {
    let letters: Vec<char> = "ABCDEFGHJKLMNPRSTUVWXYZ".chars().collect();
    format!("{}{}{}", draw.pick(&letters), draw.pick(&letters), draw.number(1_000..=9_999))
}
