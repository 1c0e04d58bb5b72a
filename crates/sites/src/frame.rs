//! Documents of pages: their header, footer and styles.

use crate::fact::Kind;
use crate::markup::{link, text};
use crate::page::Draft;

/// The address of the search.
pub(crate) const SEARCH: &str = "/search";
/// The address of the style sheet.
pub(crate) const STYLE_SHEET: &str = "/site.css";
/// The style of all sites.
const STYLE: &str = include_str!("frame/site.css");

/// The style sheet of a site.
pub(crate) fn style(kind: Kind) -> String {
    let own = match kind {
        Kind::Encyclopaedia => include_str!("frame/encyclopaedia.css"),
        Kind::Forum => include_str!("frame/forum.css"),
        Kind::Map => include_str!("frame/map.css"),
        Kind::Documentation => include_str!("frame/documentation.css"),
        Kind::News => include_str!("frame/news.css"),
    };
    format!("{STYLE}{own}")
}

/// Header and footer of all pages of a site.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    name: String,
    header: String,
}

impl Frame {
    /// The frame of a site with links to its sections.
    pub(crate) fn new(name: &str, sections: &[(&str, &str)]) -> Self {
        let sections: String =
            sections.iter().map(|(address, name)| format!("<li>{}</li>", link(address, name))).collect();
        let header = format!(
            "<header class=\"top\">\n<p class=\"name\">{}</p>\n<nav aria-label=\"Sections\"><ul>{sections}</ul></nav>\n\
             <form role=\"search\" action=\"{SEARCH}\" method=\"get\"><label for=\"q\">Search titles</label>\n\
             <input type=\"search\" id=\"q\" name=\"q\"><button>Search</button></form>\n</header>\n",
            link("/", name),
        );
        Self { name: name.to_owned(), header }
    }

    /// The whole document of a page.
    pub(crate) fn document(&self, draft: &Draft) -> String {
        let trail: String =
            draft.trail.iter().map(|(address, name)| format!("<li>{}</li>", link(address, name))).collect();
        let trail = match trail.is_empty() {
            true => trail,
            false => format!("<nav class=\"trail\" aria-label=\"You are here\"><ol>{trail}</ol></nav>\n"),
        };
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title} – {name}</title>\n\
             <link rel=\"stylesheet\" href=\"{STYLE_SHEET}\">\n</head>\n<body>\n{header}<main>\n{trail}<h1>{title}</h1>\n{main}</main>\n\
             <footer><p>{name}. Everything here is made up.</p></footer>\n</body>\n</html>\n",
            title = text(&draft.title),
            name = text(&self.name),
            header = self.header,
            main = draft.main,
        )
    }
}
