//! Sites: pages by address, and the search over them.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::fact::{Fact, Kind};
use crate::frame::{Frame, SEARCH, STYLE_SHEET, style};
use crate::markup;
use crate::page::{Draft, Link, links};

/// Results of a search that are shown.
const RESULTS_MAX: usize = 20;
/// Words of a query that count.
const WORDS_MAX: usize = 10;
/// Characters of a query that are repeated.
const QUERY_CHARACTERS_MAX: usize = 100;

/// One page as it is sent.
#[derive(Debug, Clone)]
pub struct Page {
    /// The title.
    pub title: String,
    /// The whole document.
    pub html: String,
    /// Statements that it makes.
    pub states: BTreeSet<Fact>,
    /// Its links, in order.
    pub links: Vec<Link>,
}

/// A rendered site.
#[derive(Debug, Clone)]
pub struct Site {
    /// The sort.
    pub kind: Kind,
    /// The name in its header.
    pub name: String,
    /// Pages by address.
    pub pages: BTreeMap<String, Page>,
    frame: Frame,
}

impl Site {
    pub(crate) fn new(kind: Kind, name: &str, sections: &[(&str, &str)], drafts: Vec<Draft>) -> Self {
        let frame = Frame::new(name, sections);
        let pages = drafts.into_iter().map(|draft| {
            let html = frame.document(&draft);
            let links = links(&html);
            (draft.address, Page { title: draft.title, html, states: draft.states, links })
        });
        Self { kind, name: name.to_owned(), pages: pages.collect(), frame }
    }

    /// Media type and body of what lies at an address; none where there is nothing. `query` is that of a search.
    #[must_use]
    pub fn get(&self, path: &str, query: &str) -> Option<(&'static str, String)> {
        let html = "text/html; charset=utf-8";
        match path {
            STYLE_SHEET => Some(("text/css; charset=utf-8", style(self.kind))),
            SEARCH => Some((html, self.search(query))),
            path => self.pages.get(path).map(|page| (html, page.html.clone())),
        }
    }

    /// The page that says that there is no such page.
    #[must_use]
    pub fn missing(&self) -> String {
        let mut draft = Draft::new("", "Page not found");
        draft.paragraph("There is no page at this address. The search and the list of sections lead on.");
        self.frame.document(&draft)
    }

    /// Titles that hold every word of a query.
    fn search(&self, query: &str) -> String {
        let words: Vec<String> = query.to_lowercase().split_whitespace().take(WORDS_MAX).map(str::to_owned).collect();
        let fits = |page: &&Page| {
            let title = page.title.to_lowercase();
            !words.is_empty() && words.iter().all(|word| title.contains(word.as_str()))
        };
        let found = self.pages.iter().filter(|(_, page)| fits(page));
        let mut found: Vec<String> = found.map(|(address, page)| markup::link(address, &page.title)).collect();
        let asked: String = query.chars().take(QUERY_CHARACTERS_MAX).collect();
        let mut draft = Draft::new(SEARCH, "Search results");
        draft.paragraph(&format!("Titles with all words of “{}”: {}.", markup::text(&asked), found.len()));
        if found.len() > RESULTS_MAX {
            draft.paragraph(&format!("These are the first {RESULTS_MAX}. More words find fewer."));
            found.truncate(RESULTS_MAX);
        }
        draft.list(&found);
        self.frame.document(&draft)
    }
}
