//! A newspaper: articles with dates, sections, authors and corrections.

mod pages;
mod questions;

use jiff::civil::Date;
use palestra_widgets::Draw;

use crate::names::later;
use crate::question::{Row, World};
use crate::{Site, names};

const SECTIONS: [&str; 4] = ["Culture", "Markets", "Sport", "Town life"];
const EVENTS: [&str; 12] = [
    "Boat race",
    "Book fair",
    "Brass concert",
    "Chess tournament",
    "Flower show",
    "Glass exhibition",
    "Harvest market",
    "Kite day",
    "Lantern festival",
    "Open-air play",
    "Relay run",
    "Winter market",
];

/// Facts of a newspaper.
pub(crate) struct Paper {
    sections: Vec<&'static str>,
    authors: Vec<&'static str>,
    places: Vec<String>,
    articles: Vec<Article>,
}

struct Article {
    headline: String,
    event: &'static str,
    section: usize,
    author: usize,
    place: usize,
    date: Date,
    /// Visitors, as the article has them.
    visitors: i64,
    /// Costs in euros; not stated of every event.
    cost: Option<i64>,
    correction: Option<Correction>,
}

/// A correction of the number of visitors.
struct Correction {
    date: Date,
    visitors: i64,
}

impl Article {
    /// Visitors as they are known now.
    fn corrected(&self) -> i64 {
        self.correction.as_ref().map_or(self.visitors, |correction| correction.visitors)
    }
}

impl World for Paper {
    fn draw(draw: &mut Draw) -> Self {
        let level = draw.level;
        let places = names::places(draw, level.of([3, 4, 5, 6]));
        let events = level.of([4, 5, 7, 8]);
        let events = draw.some(events, &EVENTS);
        let sections = draw.some(level.of([2, 3, 3, 4]), &SECTIONS);
        let authors = draw.names(level.of([3, 4, 6, 7]));
        let all: Vec<(&str, usize)> =
            events.iter().flat_map(|event| (0..places.len()).map(move |place| (*event, place))).collect();
        let chosen = draw.some(level.of([8, 16, 26, 40]), &all);
        let days = names::numbers(draw, chosen.len(), 0..=level.of([60, 90, 120, 150]));
        let articles = chosen.into_iter().zip(days).map(|((event, place), day)| {
            let who = (draw.place(sections.len()), draw.place(authors.len()));
            draw_article(draw, (event, place, &places[place]), who, day)
        });
        let mut articles: Vec<Article> = articles.collect();
        articles.sort_by_key(|article| std::cmp::Reverse(article.date));
        Self { sections, authors, places, articles }
    }

    fn rows() -> Vec<Row<Self>> {
        questions::rows()
    }

    fn site(&self) -> Site {
        pages::site(self)
    }
}

fn draw_article(
    draw: &mut Draw,
    (event, place, name): (&'static str, usize, &str),
    (section, author): (usize, usize),
    day: i64,
) -> Article {
    let date = later(jiff::civil::date(2030, 11, 12), day);
    let correction = draw
        .once_in(3)
        .then(|| Correction { date: later(date, draw.number(1..=20)), visitors: draw.number(40..=9_800) });
    Article {
        headline: format!("{event} fills {name}"),
        event,
        section,
        author,
        place,
        date,
        visitors: draw.number(40..=9_800),
        cost: (!draw.once_in(2)).then(|| draw.number(12..=900) * 100),
        correction,
    }
}
