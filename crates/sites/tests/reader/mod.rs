//! A reader of rendered pages, which knows nothing of the facts that they were made from: it reads headings, properties, tables, lists
//! and paragraphs, and answers questions by their words.

mod documentation;
mod encyclopaedia;
mod forum;
mod map;
mod news;

use std::collections::{BTreeMap, BTreeSet};

use palestra_sites::Kind;
use scraper::{ElementRef, Html, Selector};

/// The answer where a page that should state something does not.
pub(crate) const NOT_STATED: &str = "(not stated)";

/// One page as it was read.
#[derive(Default)]
pub(crate) struct Read {
    pub(crate) address: String,
    /// The first heading, without the number of the page.
    pub(crate) title: String,
    properties: BTreeMap<String, String>,
    /// Rows of tables, by column.
    pub(crate) rows: Vec<BTreeMap<String, String>>,
    /// Paragraphs and items, by the heading above them; an empty one for those above all headings.
    pub(crate) texts: BTreeMap<String, Vec<String>>,
    /// Names above the heading, which lead to the page.
    pub(crate) trail: Vec<String>,
    /// Words of each contained article.
    pub(crate) articles: Vec<String>,
}

fn selector(rule: &str) -> Selector {
    Selector::parse(rule).expect("a selector")
}

pub(crate) fn words(element: ElementRef<'_>) -> String {
    element.text().collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Read {
    pub(crate) fn page(address: &str, html: &str) -> Self {
        let document = Html::parse_document(html);
        let main = document.select(&selector("main")).next().expect("a main part");
        let mut read = Self { address: address.to_owned(), ..Self::default() };
        read.trail = document.select(&selector("nav.trail li")).map(words).collect();
        let mut heading = String::new();
        let mut columns: Vec<String> = Vec::new();
        for element in main.select(&selector("h1, h2, h3, p, ul > li, dl > div, thead tr, tbody tr, article")) {
            let inside =
                |rule: &str| element.ancestors().filter_map(ElementRef::wrap).any(|above| above.value().name() == rule);
            let cells = |rule: &str| element.select(&selector(rule)).map(words).collect::<Vec<String>>();
            match element.value().name() {
                "h1" => read.title = words(element).split(" – page ").next().unwrap_or_default().to_owned(),
                _ if inside("nav") || inside("article") => {}
                "h2" | "h3" => heading = words(element),
                "article" => read.articles.push(words(element)),
                "div" => drop(read.properties.insert(cells("dt").concat(), cells("dd").concat())),
                "tr" if inside("thead") => columns = cells("th"),
                "tr" => read.rows.push(columns.iter().cloned().zip(cells("th, td")).collect()),
                _ => read.texts.entry(heading.clone()).or_default().push(words(element)),
            }
        }
        read
    }

    /// All paragraphs and items.
    pub(crate) fn all_texts(&self) -> impl Iterator<Item = &String> {
        self.texts.values().flatten()
    }
}

/// Pages of a site that were read.
pub(crate) struct Reader {
    kind: Kind,
    pub(crate) pages: Vec<Read>,
}

impl Reader {
    pub(crate) const fn new(kind: Kind, pages: Vec<Read>) -> Self {
        Self { kind, pages }
    }

    /// The answer to a question, as the pages have it; none where these pages do not tell.
    pub(crate) fn answer(&self, question: &str) -> Option<String> {
        match self.kind {
            Kind::Encyclopaedia => encyclopaedia::answer(self, question),
            Kind::Forum => forum::answer(self, question),
            Kind::Map => map::answer(self, question),
            Kind::Documentation => documentation::answer(self, question),
            Kind::News => news::answer(self, question),
        }
    }

    /// Pages of this title whose address begins like this.
    pub(crate) fn titled<'r>(&'r self, prefix: &'r str, title: &'r str) -> impl Iterator<Item = &'r Read> {
        self.pages.iter().filter(move |read| read.title == title && read.address.starts_with(prefix))
    }

    /// A property of something, from its own page or from a table that lists it. Pages that say different things fail the test.
    pub(crate) fn value(&self, subject: &str, property: &str) -> Option<String> {
        let own =
            self.pages.iter().filter(|read| read.title == subject).filter_map(|read| read.properties.get(property));
        let rows = self.pages.iter().flat_map(|read| &read.rows);
        let listed = rows.filter(|row| row.values().any(|cell| cell == subject) && first(row) == Some(subject));
        let found: BTreeSet<&String> = own.chain(listed.filter_map(|row| row.get(property))).collect();
        assert!(found.len() < 2, "{property} of {subject}: {found:?}");
        found.into_iter().next().cloned()
    }

    /// A property that the own page of something states or leaves out; none where that page was not read.
    pub(crate) fn stated(&self, prefix: &str, subject: &str, property: &str) -> Option<String> {
        let read = self.titled(prefix, subject).next()?;
        Some(read.properties.get(property).cloned().unwrap_or_else(|| NOT_STATED.to_owned()))
    }

    /// Items under a heading of a page; none where it was not read.
    pub(crate) fn items(&self, prefix: &str, subject: &str, heading: &str) -> Option<Vec<String>> {
        let read = self.titled(prefix, subject).next()?;
        Some(read.texts.get(heading).cloned().unwrap_or_default())
    }

    /// A column of the tables of a page; none where it was not read.
    pub(crate) fn column(&self, prefix: &str, subject: &str, column: &str) -> Option<Vec<String>> {
        let mut pages = self.titled(prefix, subject).peekable();
        pages.peek()?;
        Some(pages.flat_map(|read| &read.rows).filter_map(|row| row.get(column).cloned()).collect())
    }
}

/// The cell of a row that names it.
fn first(row: &BTreeMap<String, String>) -> Option<&str> {
    let names = ["Place", "River", "Region", "Thread", "Member", "Road", "Function", "Version", "Article"];
    names.iter().find_map(|name| row.get(*name).map(String::as_str))
}

/// The words at the places `{}` of a pattern; none where it does not fit.
pub(crate) fn asked<'q, const COUNT: usize>(pattern: &str, question: &'q str) -> Option<[&'q str; COUNT]> {
    let mut parts = pattern.split("{}");
    let mut rest = question.strip_prefix(parts.next()?)?;
    let mut found = Vec::new();
    for part in parts {
        let at = if part.is_empty() { rest.len() } else { rest.find(part)? };
        found.push(&rest[..at]);
        rest = &rest[at + part.len()..];
    }
    if rest.is_empty() { found.try_into().ok() } else { None }
}

/// The number at the beginning or in the whole of a text.
pub(crate) fn number(text: &str) -> i64 {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no number: {text:?}"))
}

/// A day as a number that sorts.
pub(crate) fn day(text: &str) -> i64 {
    let parts: Vec<&str> = text.split(' ').collect();
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = months.iter().position(|month| parts[1].starts_with(month)).expect("a month");
    number(parts[2]) * 400 + i64::try_from(month).expect("small") * 32 + number(parts[0])
}

/// The one with the largest key. Two of them fail the test.
pub(crate) fn best<T: Clone, K: Ord>(all: &[T], key: impl Fn(&T) -> Option<K>) -> Option<T> {
    let mut keyed = all.iter().map(|one| Some((key(one)?, one))).collect::<Option<Vec<(K, &T)>>>()?;
    keyed.sort_by(|(one, _), (other, _)| other.cmp(one));
    assert!(keyed.len() < 2 || keyed[0].0 != keyed[1].0, "two are first");
    keyed.first().map(|(_, one)| (*one).clone())
}
