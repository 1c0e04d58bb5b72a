//! The frame of a page: contents, search, style.

use std::fmt::Write as _;

use pulldown_cmark_escape::escape_html;

use super::{CONTENTS, FIRST, PAGES, PATH, address_of};

const STYLE: &str = include_str!("style.css");

/// A whole page. `file` is its path in the project, which the contents mark; `query` stands in the field of the search.
pub(super) fn page(title: &str, file: &str, html: &str, query: &str) -> String {
    let mut page = String::from("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
    let _ = escape_html(&mut page, title);
    let _ = write!(
        page,
        "{}</title><meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head><body><nav>\
         <form action=\"{PATH}\"><input type=\"search\" name=\"search\" maxlength=\"200\" placeholder=\"Search\" \
         aria-label=\"Search the guides\" value=\"",
        if file == FIRST { "" } else { " · Palestra" }
    );
    let _ = escape_html(&mut page, query);
    page.push_str("\"></form>");
    for (group, guides) in CONTENTS {
        let _ = write!(page, "<p>{group}</p><ul>");
        for guide in *guides {
            let path = if *guide == "README" { FIRST.to_owned() } else { format!("docs/{guide}.md") };
            let mark = if path == file { " aria-current=\"page\"" } else { "" };
            let address = address_of(&path).unwrap_or_default();
            let _ = write!(page, "<li><a href=\"{address}\"{mark}>");
            let _ = escape_html(&mut page, PAGES.get(path.as_str()).map_or(*guide, |page| page.title.as_str()));
            page.push_str("</a></li>");
        }
        page.push_str("</ul>");
    }
    let _ =
        write!(page, "<p><a href=\"/docs/\">Every operation of the API</a></p></nav><main>{html}</main></body></html>");
    page
}
