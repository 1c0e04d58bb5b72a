//! Questions about a newspaper.

use std::collections::BTreeMap;

use palestra_widgets::{Draw, Level};

use super::pages::{article_at, author_at, month_at, month_name, month_of, topic_at};
use super::{Article, Paper};
use crate::answer::EUROS;
use crate::names::{largest, one};
use crate::question::Row;
use crate::{Answer, Fact, Question};

const VISITORS: &[&str] = &["visitors", "people"];

pub(super) fn rows() -> Vec<Row<Paper>> {
    vec![
        Row { name: "news-author", level: Level::One, ask: author },
        Row { name: "news-date", level: Level::One, ask: date },
        Row { name: "news-section", level: Level::One, ask: section },
        Row { name: "news-visitors", level: Level::Two, ask: visitors },
        Row { name: "news-count-in-month", level: Level::Two, ask: count_in_month },
        Row { name: "news-cost", level: Level::Two, ask: cost },
        Row { name: "news-last-of-three", level: Level::Three, ask: last_of_three },
        Row { name: "news-first-from-place", level: Level::Three, ask: first_from_place },
        Row { name: "news-most-visitors", level: Level::Three, ask: most_visitors },
        Row { name: "news-total-from-place", level: Level::Four, ask: total_from_place },
        Row { name: "news-most-in-section", level: Level::Four, ask: most_in_section },
        Row { name: "news-most-visitors-cost", level: Level::Four, ask: most_visitors_cost },
    ]
}

fn of(article: &Article, property: &str) -> Fact {
    Fact::of(&article_at(&article.headline), property)
}

fn author(paper: &Paper, draw: &mut Draw) -> Option<Question> {
    let article = one(draw, &paper.articles)?;
    let text = format!("Who wrote the article “{}”?", article.headline);
    Some(Question::new(text, Answer::text(paper.authors[article.author]), vec![of(article, "author")]))
}

fn date(paper: &Paper, draw: &mut Draw) -> Option<Question> {
    let article = one(draw, &paper.articles)?;
    let text = format!("On which date did the article “{}” appear?", article.headline);
    Some(Question::new(text, Answer::Date(article.date), vec![of(article, "date")]))
}

fn section(paper: &Paper, draw: &mut Draw) -> Option<Question> {
    let article = one(draw, &paper.articles)?;
    let text = format!("In which section did the article “{}” appear?", article.headline);
    Some(Question::new(text, Answer::text(paper.sections[article.section]), vec![of(article, "section")]))
}

fn visitors(paper: &Paper, draw: &mut Draw) -> Option<Question> {
    let article = one(draw, &paper.articles)?;
    let text = format!(
        "How many visitors came to the event of the article “{}”? If the paper corrected the number, the correction counts.",
        article.headline
    );
    Some(Question::new(text, Answer::number(article.corrected(), VISITORS), vec![of(article, "visitors")]))
}

fn count_in_month(paper: &Paper, draw: &mut Draw) -> Option<Question> {
    let sample = one(draw, &paper.articles)?;
    let (month, section) = (month_of(sample), sample.section);
    let count = paper.articles.iter().filter(|one| one.section == section && month_of(one) == month).count();
    let name = paper.sections[section];
    let text = format!("How many articles appeared in the section {name} in {}?", month_name(month));
    let each = paper.articles.iter().filter(|one| one.section == section);
    let each = each.flat_map(|one| [of(one, "section"), of(one, "date")]);
    let question = Question::new(text, Answer::count(count), vec![Fact::of(&month_at(month), "articles")]);
    Some(question.or(each.collect()))
}

/// Half of the articles do not state a cost.
fn cost_of(article: &Article) -> Answer {
    article.cost.map_or(Answer::NotStated, |cost| Answer::number(cost, EUROS))
}

fn cost(paper: &Paper, draw: &mut Draw) -> Option<Question> {
    let article = one(draw, &paper.articles)?;
    let text = format!("What did the event of the article “{}” cost, in euros?", article.headline);
    Some(Question::new(text, cost_of(article), vec![of(article, "whole")]))
}

fn last_of_three(paper: &Paper, draw: &mut Draw) -> Option<Question> {
    let all: Vec<&Article> = paper.articles.iter().collect();
    let articles: [&Article; 3] = draw.some(3, &all).try_into().ok()?;
    let [first, second, third] = articles;
    let last = articles.into_iter().max_by_key(|article| article.date)?;
    let text = format!(
        "Which of the articles “{}”, “{}” and “{}” appeared last?",
        first.headline, second.headline, third.headline
    );
    let facts = articles.map(|article| of(article, "date")).to_vec();
    Some(Question::new(text, Answer::text(&last.headline), facts))
}

fn from_place(paper: &Paper, place: usize) -> impl Iterator<Item = (usize, &Article)> {
    paper.articles.iter().enumerate().filter(move |(_, article)| article.place == place)
}

fn first_from_place(paper: &Paper, draw: &mut Draw) -> Option<Question> {
    let place = draw.place(paper.places.len());
    let first = from_place(paper, place).map(|(_, article)| article).min_by_key(|article| article.date)?;
    let name = &paper.places[place];
    let text = format!("Who wrote the first article with news from {name}?");
    let facts = vec![Fact::of(&topic_at(name), "articles"), of(first, "date"), of(first, "author")];
    (from_place(paper, place).count() > 2)
        .then(|| Question::new(text, Answer::text(paper.authors[first.author]), facts))
}

/// The article of a place whose event had most visitors, and the facts that prove it.
fn fullest<'a>(paper: &'a Paper, draw: &mut Draw) -> Option<(&'a str, &'a Article, Vec<Fact>)> {
    let place = draw.place(paper.places.len());
    let winner = largest(from_place(paper, place).map(|(at, article)| (at, article.corrected())))?;
    if from_place(paper, place).count() < 3 {
        return None;
    }
    let name = &paper.places[place];
    Some((name, paper.articles.get(winner)?, numbers_from(paper, place)))
}

/// Visitors of all articles of a place, and that these are all.
fn numbers_from(paper: &Paper, place: usize) -> Vec<Fact> {
    let articles = from_place(paper, place).map(|(_, article)| of(article, "visitors"));
    [Fact::of(&topic_at(&paper.places[place]), "articles")].into_iter().chain(articles).collect()
}

fn most_visitors(paper: &Paper, draw: &mut Draw) -> Option<Question> {
    let (place, article, facts) = fullest(paper, draw)?;
    let text = format!(
        "Which article with news from {place} is about the event with the most visitors? \
         Where the paper corrected a number, the correction counts."
    );
    Some(Question::new(text, Answer::text(&article.headline), facts))
}

fn total_from_place(paper: &Paper, draw: &mut Draw) -> Option<Question> {
    let place = draw.place(paper.places.len());
    let total = from_place(paper, place).map(|(_, article)| article.corrected()).sum();
    if !(4..=8).contains(&from_place(paper, place).count()) {
        return None;
    }
    let text = format!(
        "How many visitors did the events in all articles with news from {} have together? \
         Where the paper corrected a number, the correction counts.",
        paper.places[place]
    );
    Some(Question::new(text, Answer::number(total, VISITORS), numbers_from(paper, place)))
}

fn most_in_section(paper: &Paper, draw: &mut Draw) -> Option<Question> {
    let section = draw.place(paper.sections.len());
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    let inside: Vec<&Article> = paper.articles.iter().filter(|article| article.section == section).collect();
    for article in &inside {
        *counts.entry(article.author).or_default() += 1;
    }
    let winner = largest(counts.into_iter())?;
    if inside.len() < 5 {
        return None;
    }
    let name = paper.sections[section];
    let text = format!("Which author wrote the most articles in the section {name}?");
    let written = inside.iter().flat_map(|article| [of(article, "section"), of(article, "author")]);
    let by_author = paper.authors.iter().map(|author| Fact::of(&author_at(author), "articles"));
    let sections = inside.iter().map(|article| of(article, "section"));
    let question = Question::new(text, Answer::text(paper.authors[winner]), written.collect());
    Some(question.or(by_author.chain(sections).collect()))
}

fn most_visitors_cost(paper: &Paper, draw: &mut Draw) -> Option<Question> {
    let (place, article, mut facts) = fullest(paper, draw)?;
    facts.push(of(article, "whole"));
    let text = format!(
        "What did the event with the most visitors of all articles with news from {place} cost, in euros? \
         Where the paper corrected a number of visitors, the correction counts."
    );
    Some(Question::new(text, cost_of(article), facts))
}
