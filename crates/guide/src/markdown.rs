//! Markdown as HTML: headings get the ids that links name, links lead to pages or are text, and sections are kept for the search.

use std::collections::HashMap;

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use super::search::Section;
use super::{Page, address_of};

/// Renders the file at `path`.
pub(super) fn page(path: &str, text: &str) -> Page {
    let mut events: Vec<Event> =
        Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH).collect();
    let sections = name_headings(&mut events);
    lead_links(path, &mut events);
    let mut html = String::new();
    html::push_html(&mut html, events.into_iter());
    let title = sections.first().map_or_else(|| path.to_owned(), |section| section.heading.clone());
    let page = address_of(path).unwrap_or_default();
    let sections = sections.into_iter().map(|section| section.on(&page, &title)).collect();
    Page { title, html, sections }
}

/// Gives ids to headings, as code hosts do, and answers the text below each.
fn name_headings(events: &mut [Event]) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut taken: HashMap<String, usize> = HashMap::new();
    let mut heading: Option<(usize, HeadingLevel)> = None;
    for place in 0..events.len() {
        match events.get(place) {
            Some(Event::Start(Tag::Heading { level, .. })) => {
                heading = Some((place, *level));
                sections.push(Section::default());
            }
            Some(Event::End(TagEnd::Heading(_))) => {
                let (Some((start, level)), Some(section)) = (heading.take(), sections.last_mut()) else { continue };
                let name = slug(&section.heading);
                let count = taken.entry(name.clone()).or_insert(0);
                section.anchor = if *count == 0 { name } else { format!("{name}-{count}") };
                *count += 1;
                let id = Some(CowStr::from(section.anchor.clone()));
                if let Some(event) = events.get_mut(start) {
                    *event = Event::Start(Tag::Heading { level, id, classes: Vec::new(), attrs: Vec::new() });
                }
            }
            Some(Event::Text(text) | Event::Code(text)) => {
                let Some(section) = sections.last_mut() else { continue };
                if heading.is_some() { section.heading.push_str(text) } else { section.push(text) }
            }
            Some(Event::SoftBreak | Event::HardBreak | Event::End(_)) => {
                if let Some(section) = sections.last_mut() {
                    section.push(" ");
                }
            }
            _ => {}
        }
    }
    sections
}

/// The id of a heading: lower case, without punctuation, with hyphens for spaces.
fn slug(heading: &str) -> String {
    let letters = heading.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    letters.map(|letter| if letter == ' ' { '-' } else { letter }).flat_map(char::to_lowercase).collect()
}

/// Leads links between files to their pages. What is no page, such as a source file, becomes its text.
fn lead_links(path: &str, events: &mut [Event]) {
    let mut removed = false;
    for event in events {
        match event {
            Event::Start(Tag::Link { dest_url: target, .. }) => match led(path, target) {
                Some(address) => *target = address.into(),
                None => {
                    removed = true;
                    *event = Event::Text(CowStr::Borrowed(""));
                }
            },
            Event::End(TagEnd::Link) if removed => {
                removed = false;
                *event = Event::Text(CowStr::Borrowed(""));
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                if let Some(address) = led(path, dest_url) {
                    *dest_url = address.into();
                }
            }
            _ => {}
        }
    }
}

/// The address that a link in the file at `path` leads to.
fn led(path: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with('#') {
        return Some(target.to_owned());
    }
    let (file, heading) = target.split_once('#').map_or((target, None), |(file, heading)| (file, Some(heading)));
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in file.split('/').filter(|part| !part.is_empty()) {
        if part == ".." {
            parts.pop()?;
        } else {
            parts.push(part);
        }
    }
    let address = address_of(&parts.join("/"))?;
    Some(heading.map_or_else(|| address.clone(), |heading| format!("{address}#{heading}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_and_sources_are_text() {
        assert_eq!(led("docs/jobs.md", "training.md#loss").as_deref(), Some("/docs/guide/training#loss"));
        assert_eq!(led("docs/puzzles/maze.md", "../puzzles.md").as_deref(), Some("/docs/guide/puzzles"));
        assert_eq!(led("README.md", "docs/jobs.md").as_deref(), Some("/docs/guide/jobs"));
        assert_eq!(led("docs/jobs.md", "../README.md").as_deref(), Some("/docs/guide"));
        assert_eq!(led("docs/jobs.md", "../src/main.rs"), None);
        assert_eq!(led("docs/jobs.md", "../../outside.md"), None);
        let page =
            page("docs/x.md", "# A & b\n[source](../src/main.rs) and [out](https://example.org)\n## A & b\n## A b");
        assert!(page.html.contains("source and <a href=\"https://example.org\">out</a>"), "{}", page.html);
        let anchors: Vec<&str> = page.sections.iter().map(|section| section.anchor.as_str()).collect();
        assert_eq!(anchors, ["a--b", "a--b-1", "a-b"]);
    }
}
