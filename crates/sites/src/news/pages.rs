//! Pages of the newspaper.

use std::collections::BTreeSet;

use palestra_widgets::MONTHS;

use super::{Article, Correction, Paper};
use crate::markup::{day, grouped, link, text};
use crate::names::slug;
use crate::page::{Draft, paged};
use crate::{Kind, Site};

/// Headlines of one page of a section.
const EACH: usize = 8;
/// Headlines of the first page.
const LATEST: usize = 4;

pub(super) fn article_at(headline: &str) -> String {
    format!("/articles/{}", slug(headline))
}

pub(super) fn section_at(name: &str) -> String {
    format!("/sections/{}", slug(name))
}

pub(super) fn author_at(name: &str) -> String {
    format!("/authors/{}", slug(name))
}

pub(super) fn topic_at(place: &str) -> String {
    format!("/topics/{}", slug(place))
}

pub(super) fn month_at((year, month): (i16, i8)) -> String {
    format!("/archive/{year}-{month:02}")
}

fn correction_at(headline: &str) -> String {
    format!("/corrections/{}", slug(headline))
}

/// `March 2031`.
pub(super) fn month_name((year, month): (i16, i8)) -> String {
    format!("{} {year}", MONTHS[usize::try_from(month - 1).unwrap_or_default()])
}

pub(super) fn month_of(article: &Article) -> (i16, i8) {
    (article.date.year(), article.date.month())
}

pub(super) fn site(paper: &Paper) -> Site {
    let mut pages = vec![home(paper), corrections(paper)];
    pages.extend((0..paper.sections.len()).flat_map(|section| section_pages(paper, section)));
    pages.extend(paper.articles.iter().map(|article| article_page(paper, article)));
    pages.extend(
        paper.articles.iter().filter_map(|article| Some(correction_page(article, article.correction.as_ref()?))),
    );
    pages.extend(archive(paper));
    let lists = [
        ("/authors", "Authors", paper.authors.iter().map(|name| (author_at(name), (*name).to_owned())).collect()),
        (
            "/topics",
            "Places in the news",
            paper.places.iter().map(|name| (topic_at(name), name.clone())).collect::<Vec<_>>(),
        ),
    ];
    pages.extend(lists.into_iter().map(|(at, title, items)| index(at, title, &items)));
    for (number, name) in paper.authors.iter().enumerate() {
        let articles: Vec<&Article> = paper.articles.iter().filter(|article| article.author == number).collect();
        pages.push(headlines((author_at(name), format!("Articles by {name}")), ("/authors", "Authors"), &articles));
    }
    for (number, name) in paper.places.iter().enumerate() {
        let articles: Vec<&Article> = paper.articles.iter().filter(|article| article.place == number).collect();
        let head = (topic_at(name), format!("News from {name}"));
        pages.push(headlines(head, ("/topics", "Places in the news"), &articles));
    }
    let sections: Vec<(String, &str)> = paper.sections.iter().map(|name| (section_at(name), *name)).collect();
    let mut sections: Vec<(&str, &str)> = sections.iter().map(|(at, name)| (at.as_str(), *name)).collect();
    sections.extend([
        ("/archive", "Archive"),
        ("/topics", "Places"),
        ("/authors", "Authors"),
        ("/corrections", "Corrections"),
    ]);
    Site::new(Kind::News, "The Valley Courier", &sections, pages)
}

fn article_link(article: &Article) -> String {
    link(&article_at(&article.headline), &article.headline)
}

fn home(paper: &Paper) -> Draft {
    let mut draft = Draft::new("/", "Latest news");
    for article in paper.articles.iter().take(LATEST) {
        draft.main.push_str(&format!(
            "<article><h2>{}</h2>\n<p>News from {}.</p></article>\n",
            article_link(article),
            link(&topic_at(&paper.places[article.place]), &paper.places[article.place])
        ));
    }
    draft
}

/// A page of links.
fn index(at: &str, title: &str, items: &[(String, String)]) -> Draft {
    let mut draft = Draft::new(at, title).under("/", "Latest news");
    draft.list(&items.iter().map(|(at, name)| link(at, name)).collect::<Vec<_>>());
    draft
}

/// Headlines with dates.
fn headlines((at, title): (String, String), trail: (&str, &str), articles: &[&Article]) -> Draft {
    let mut draft = Draft::new(at.clone(), title).under(trail.0, trail.1);
    draft.states(&at, &["articles"]);
    list(&mut draft, articles);
    draft
}

fn list(draft: &mut Draft, articles: &[&Article]) {
    if articles.is_empty() {
        return draft.paragraph("There is no article yet.");
    }
    let rows = articles.iter().map(|article| {
        draft.states(&article_at(&article.headline), &["date"]);
        vec![article_link(article), day(article.date)]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    draft.table("The latest first", &["Article", "Date"], &rows);
}

fn section_pages(paper: &Paper, section: usize) -> Vec<Draft> {
    let name = paper.sections[section];
    let at = section_at(name);
    let articles: Vec<&Article> = paper.articles.iter().filter(|article| article.section == section).collect();
    paged((&at, name), (&articles, EACH), &[("/", "Latest news")], |draft, part| {
        for article in part {
            draft.states(&article_at(&article.headline), &["section"]);
        }
        list(draft, part);
    })
}

fn article_page(paper: &Paper, article: &Article) -> Draft {
    let at = article_at(&article.headline);
    let section = paper.sections[article.section];
    let author = paper.authors[article.author];
    let place = &paper.places[article.place];
    let mut draft = Draft::new(at.clone(), article.headline.clone()).under(&section_at(section), section);
    draft.states(&at, &["whole", "author", "date", "section"]);
    draft.main.push_str(&format!(
        "<p class=\"byline\">By {} on {}</p>\n",
        link(&author_at(author), author),
        day(article.date)
    ));
    draft.paragraph(&format!(
        "The {} drew {} visitors to {}, under a sky that did not quite keep its promise.",
        article.event.to_lowercase(),
        grouped(article.visitors),
        link(&topic_at(place), place),
    ));
    draft.paragraph(&match article.cost {
        Some(cost) => format!("It cost {} euros, most of them from last year's lottery.", grouped(cost)),
        None => "Next year it will be longer, if the weather agrees.".to_owned(),
    });
    match &article.correction {
        Some(correction) => draft.main.push_str(&format!(
            "<p class=\"note\">The number of visitors was corrected on {}: {}.</p>\n",
            day(correction.date),
            link(&correction_at(&article.headline), "read the correction")
        )),
        // What was printed holds, as there is no correction.
        None => draft.states(&at, &["visitors"]),
    }
    draft
}

fn corrections(paper: &Paper) -> Draft {
    let mut draft = Draft::new("/corrections", "Corrections").under("/", "Latest news");
    draft.states("/corrections", &["list"]);
    let corrected = paper.articles.iter().filter(|article| article.correction.is_some());
    let items: Vec<String> = corrected
        .map(|article| link(&correction_at(&article.headline), &format!("Correction of “{}”", article.headline)))
        .collect();
    match items.is_empty() {
        true => draft.paragraph("Nothing had to be corrected."),
        false => draft.list(&items),
    }
    draft
}

fn correction_page(article: &Article, correction: &Correction) -> Draft {
    let title = format!("Correction of “{}”", article.headline);
    let mut draft = Draft::new(correction_at(&article.headline), title).under("/corrections", "Corrections");
    draft.states(&article_at(&article.headline), &["visitors"]);
    draft.paragraph(&format!(
        "{}: the article {} had a wrong number of visitors. There were {} visitors.",
        day(correction.date),
        article_link(article),
        grouped(correction.visitors)
    ));
    draft
}

fn archive(paper: &Paper) -> Vec<Draft> {
    let months: BTreeSet<(i16, i8)> = paper.articles.iter().map(month_of).collect();
    let items: Vec<(String, String)> = months.iter().map(|month| (month_at(*month), month_name(*month))).collect();
    let mut pages = vec![index("/archive", "Archive", &items)];
    for month in months {
        let mut draft = Draft::new(month_at(month), month_name(month)).under("/archive", "Archive");
        draft.states(&month_at(month), &["articles"]);
        let articles = paper.articles.iter().filter(|article| month_of(article) == month);
        let rows = articles.map(|article| {
            draft.states(&article_at(&article.headline), &["date", "section"]);
            vec![article_link(article), day(article.date), text(paper.sections[article.section])]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        draft.table("The latest first", &["Article", "Date", "Section"], &rows);
        pages.push(draft);
    }
    pages
}
