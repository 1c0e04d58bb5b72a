//! Pages in the making, and their links.

use std::collections::BTreeSet;

use crate::fact::Fact;
use crate::markup::{self, text};

/// A link of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The address that it leads to.
    pub address: String,
    /// Its name, as the accessibility tree has it.
    pub name: String,
}

/// A page in the making: markup of its main part, and the facts that it states.
pub(crate) struct Draft {
    pub(crate) address: String,
    pub(crate) title: String,
    pub(crate) trail: Vec<(String, String)>,
    pub(crate) main: String,
    pub(crate) states: BTreeSet<Fact>,
}

impl Draft {
    pub(crate) fn new(address: impl Into<String>, title: impl Into<String>) -> Self {
        let (address, title) = (address.into(), title.into());
        Self { address, title, trail: Vec::new(), main: String::new(), states: BTreeSet::new() }
    }

    /// A page that stands under another one in the trail above its heading.
    pub(crate) fn under(mut self, address: &str, name: &str) -> Self {
        self.trail.push((address.to_owned(), name.to_owned()));
        self
    }

    /// Says that the page states this; called beside the markup that does.
    pub(crate) fn states(&mut self, subject: &str, properties: &[&str]) {
        self.states.extend(properties.iter().map(|property| Fact::of(subject, property)));
    }

    pub(crate) fn heading(&mut self, words: &str) {
        self.main.push_str(&format!("<h2>{}</h2>\n", text(words)));
    }

    /// A paragraph of markup.
    pub(crate) fn paragraph(&mut self, markup: &str) {
        self.main.push_str(&format!("<p>{markup}</p>\n"));
    }

    /// A list of markup.
    pub(crate) fn list(&mut self, items: &[String]) {
        let items: String = items.iter().map(|item| format!("<li>{item}</li>\n")).collect();
        self.main.push_str(&format!("<ul>\n{items}</ul>\n"));
    }

    /// A table; cells are markup, and the first of a row is its heading.
    pub(crate) fn table(&mut self, caption: &str, columns: &[&str], rows: &[Vec<String>]) {
        let head: String = columns.iter().map(|column| format!("<th scope=\"col\">{}</th>", text(column))).collect();
        let body: String = rows.iter().map(|row| markup::row(row)).collect();
        self.main.push_str(&format!(
            "<div class=\"wide\"><table>\n<caption>{}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n",
            text(caption)
        ));
    }

    /// The box of properties beside the text; values are markup.
    pub(crate) fn properties(&mut self, properties: &[(&str, String)]) {
        let rows: String = properties
            .iter()
            .map(|(name, value)| format!("<div><dt>{}</dt><dd>{value}</dd></div>\n", text(name)))
            .collect();
        self.main.push_str(&format!("<dl class=\"box\">\n{rows}</dl>\n"));
    }
}

/// Pages of a long list, each with links to the others. `fill` writes the part of one.
pub(crate) fn paged<T>(
    (address, title): (&str, &str),
    (items, each): (&[T], usize),
    trail: &[(&str, &str)],
    mut fill: impl FnMut(&mut Draft, &[T]),
) -> Vec<Draft> {
    let chunks: Vec<&[T]> = if items.is_empty() { vec![items] } else { items.chunks(each).collect() };
    let count = chunks.len();
    let filled = chunks.into_iter().enumerate().map(|(place, part)| {
        let name = if place == 0 { title.to_owned() } else { format!("{title} – page {}", place + 1) };
        let mut draft =
            trail.iter().fold(Draft::new(numbered(address, place), name), |draft, (at, name)| draft.under(at, name));
        fill(&mut draft, part);
        draft.main.push_str(&pager(address, place, count));
        draft
    });
    filled.collect()
}

fn numbered(address: &str, place: usize) -> String {
    if place == 0 { address.to_owned() } else { format!("{address}/page/{}", place + 1) }
}

fn pager(address: &str, place: usize, count: usize) -> String {
    if count < 2 {
        return String::new();
    }
    let link = |place: usize, name: &str| format!("<li>{}</li>", markup::link(&numbered(address, place), name));
    let numbers = (0..count).map(|other| match other == place {
        true => format!("<li><span aria-current=\"page\">{}</span></li>", other + 1),
        false => link(other, &format!("Page {}", other + 1)),
    });
    let before = (place > 0).then(|| link(place - 1, "Previous page"));
    let after = (place + 1 < count).then(|| link(place + 1, "Next page"));
    let items: String = before.into_iter().chain(numbers).chain(after).collect();
    format!("<nav class=\"pager\" aria-label=\"Pages\"><ul>{items}</ul></nav>\n")
}

/// Links of a document of ours, in order.
pub(crate) fn links(html: &str) -> Vec<Link> {
    let anchors = html.split("<a ").skip(1);
    anchors
        .filter_map(|anchor| {
            let (head, rest) = anchor.split_once('>')?;
            let inner = rest.split_once("</a>")?.0;
            let attribute =
                |name: &str| head.split_once(&format!("{name}=\""))?.1.split_once('"').map(|(value, _)| value);
            let name = attribute("aria-label").map_or_else(|| without_tags(inner), str::to_owned);
            Some(Link { address: unescaped(attribute("href")?), name: unescaped(&name) })
        })
        .collect()
}

fn without_tags(markup: &str) -> String {
    let mut parts = markup.split('<');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('>').map_or("", |(_, after)| after))
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&")
}
