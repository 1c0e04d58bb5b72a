//! The search: sections in which every word of a query stands.

use std::fmt::Write as _;

use pulldown_cmark_escape::escape_html;

use super::PAGES;

/// Words of a query that are looked for.
const WORDS_MAX: usize = 8;
/// Sections that are shown.
const HITS_MAX: usize = 20;
/// Characters before and after the first word in an excerpt.
const EXCERPT_CHARACTERS: usize = 80;
/// A word in a heading counts as much as this many in the text.
const HEADING_WEIGHT: usize = 20;

/// The text below a heading, up to the next one.
#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) heading: String,
    pub(super) anchor: String,
    text: String,
    /// Text and heading in lower case.
    lower: (String, String),
    address: String,
    page: String,
}

impl Section {
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// The same, as a section of a page.
    pub(super) fn on(self, address: &str, page: &str) -> Self {
        let text = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let lower = (text.to_lowercase(), self.heading.to_lowercase());
        Self { text, lower, address: format!("{address}#{}", self.anchor), page: page.to_owned(), ..self }
    }

    /// The number of times that the words stand here; `None` where one of them does not.
    fn weigh(&self, words: &[String]) -> Option<usize> {
        let (text, heading) = &self.lower;
        words
            .iter()
            .map(|word| text.matches(word.as_str()).count() + HEADING_WEIGHT * heading.matches(word.as_str()).count())
            .try_fold(0, |sum, count| (count > 0).then_some(sum + count))
    }
}

/// Found sections, as HTML.
pub(super) fn html(query: &str) -> String {
    let words: Vec<String> = query.split_whitespace().take(WORDS_MAX).map(str::to_lowercase).collect();
    let sections = PAGES.values().flat_map(|page| &page.sections).filter(|_| !words.is_empty());
    let mut found: Vec<(usize, &Section)> =
        sections.filter_map(|section| Some((section.weigh(&words)?, section))).collect();
    found.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    if found.is_empty() {
        return "<h1>Nothing found</h1><p>No section of the guides has all these words. Try fewer of them.</p>"
            .to_owned();
    }
    let mut html = format!("<h1>{} sections</h1>", found.len());
    for (_, section) in found.iter().take(HITS_MAX) {
        let _ = write!(html, "<h3><a href=\"{}\">", section.address);
        let _ = escape_html(&mut html, &section.page);
        if section.heading != section.page {
            html.push_str(" › ");
            let _ = escape_html(&mut html, &section.heading);
        }
        html.push_str("</a></h3><p>");
        excerpt(&mut html, section, &words);
        html.push_str("</p>");
    }
    html
}

/// The text around the first word, with every word marked.
fn excerpt(html: &mut String, section: &Section, words: &[String]) {
    let letters: Vec<char> = section.text.chars().collect();
    let lower: Vec<char> = letters.iter().map(|letter| letter.to_lowercase().next().unwrap_or(*letter)).collect();
    let at = |place: usize| {
        let fits = |word: &&String| {
            let word: Vec<char> = word.chars().collect();
            lower.get(place..place + word.len()) == Some(word.as_slice())
        };
        words.iter().filter(fits).map(|word| word.chars().count()).max()
    };
    let first = (0..letters.len()).find(|place| at(*place).is_some()).unwrap_or(0);
    let mut place = first.saturating_sub(EXCERPT_CHARACTERS);
    let end = (first + EXCERPT_CHARACTERS).min(letters.len());
    if place > 0 {
        html.push('…');
    }
    while place < end {
        let length = at(place);
        let next = place + length.unwrap_or(1);
        let piece: String = letters.get(place..next).into_iter().flatten().collect();
        html.push_str(if length.is_some() { "<mark>" } else { "" });
        let _ = escape_html(&mut *html, &piece);
        html.push_str(if length.is_some() { "</mark>" } else { "" });
        place = next;
    }
    if end < letters.len() {
        html.push('…');
    }
}
