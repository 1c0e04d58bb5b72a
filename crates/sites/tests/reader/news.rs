//! Answers from the pages of a newspaper.

use std::collections::{BTreeMap, BTreeSet};

use super::{NOT_STATED, Reader, asked, best, day, number};

pub(super) fn answer(read: &Reader, question: &str) -> Option<String> {
    if let Some([title]) = asked("Who wrote the article “{}”?", question) {
        return author(read, title);
    }
    if let Some([title]) = asked("On which date did the article “{}” appear?", question) {
        return date(read, title);
    }
    if let Some([title]) = asked("In which section did the article “{}” appear?", question) {
        return section(read, title);
    }
    let counts = "How many visitors came to the event of the article “{}”? If the paper corrected the number, the correction counts.";
    if let Some([title]) = asked(counts, question) {
        return visitors(read, title).map(|count| count.to_string());
    }
    if let Some([name, month]) = asked("How many articles appeared in the section {} in {}?", question) {
        let titles: BTreeSet<String> = listed(read)
            .into_iter()
            .filter(|title| section(read, title).as_deref() == Some(name))
            .filter(|title| date(read, title).is_some_and(|date| date.ends_with(month)))
            .collect();
        return Some(titles.len().to_string());
    }
    if let Some([title]) = asked("What did the event of the article “{}” cost, in euros?", question) {
        return cost(read, title);
    }
    if let Some(titles) = asked::<3>("Which of the articles “{}”, “{}” and “{}” appeared last?", question) {
        return best(&titles.map(str::to_owned), |title| Some(day(&date(read, title)?)));
    }
    if let Some([place]) = asked("Who wrote the first article with news from {}?", question) {
        return author(read, &best(&from(read, place)?, |title| Some(-day(&date(read, title)?)))?);
    }
    let most = "Which article with news from {} is about the event with the most visitors? Where the paper corrected a number, the correction counts.";
    if let Some([place]) = asked(most, question) {
        return fullest(read, place);
    }
    let total = "How many visitors did the events in all articles with news from {} have together? Where the paper corrected a number, the correction counts.";
    if let Some([place]) = asked(total, question) {
        let all: Vec<i64> = from(read, place)?.iter().map(|title| visitors(read, title)).collect::<Option<_>>()?;
        return Some(all.iter().sum::<i64>().to_string());
    }
    if let Some([name]) = asked("Which author wrote the most articles in the section {}?", question) {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for title in listed(read).into_iter().filter(|title| section(read, title).as_deref() == Some(name)) {
            *counts.entry(author(read, &title)?).or_default() += 1;
        }
        let counts: Vec<(String, usize)> = counts.into_iter().collect();
        return best(&counts, |(_, count)| Some(*count)).map(|(name, _)| name);
    }
    let [place] = asked(
        "What did the event with the most visitors of all articles with news from {} cost, in euros? Where the paper corrected a number of visitors, the correction counts.",
        question,
    )?;
    cost(read, &fullest(read, place)?)
}

/// Headlines in tables and of articles.
fn listed(read: &Reader) -> BTreeSet<String> {
    let rows = read.pages.iter().flat_map(|page| &page.rows).filter_map(|row| row.get("Article").cloned());
    let own = read.pages.iter().filter(|page| page.address.starts_with("/articles/")).map(|page| page.title.clone());
    rows.chain(own).collect()
}

fn byline(read: &Reader, title: &str) -> Option<(String, String)> {
    let page = read.titled("/articles/", title).next()?;
    let line = page.all_texts().find_map(|words| words.strip_prefix("By "))?;
    line.split_once(" on ").map(|(author, date)| (author.to_owned(), date.to_owned()))
}

fn author(read: &Reader, title: &str) -> Option<String> {
    let pages = read.pages.iter().filter_map(|page| Some((page.title.strip_prefix("Articles by ")?, page)));
    let mut by =
        pages.filter(|(_, page)| page.rows.iter().any(|row| row["Article"] == title)).map(|(name, _)| name.to_owned());
    byline(read, title).map(|(author, _)| author).or_else(|| by.next())
}

fn date(read: &Reader, title: &str) -> Option<String> {
    read.value(title, "Date").or_else(|| byline(read, title).map(|(_, date)| date))
}

/// From the archive, from the list of a section, or from the trail of the article: its list stands above it.
fn section(read: &Reader, title: &str) -> Option<String> {
    let lists = read.pages.iter().filter(|page| page.address.starts_with("/sections/"));
    let listed =
        lists.filter(|page| page.rows.iter().any(|row| row["Article"] == title)).map(|page| page.title.clone()).next();
    let trail = || read.titled("/articles/", title).next().and_then(|page| page.trail.last().cloned());
    read.value(title, "Section").or(listed).or_else(trail)
}

fn visitors(read: &Reader, title: &str) -> Option<i64> {
    let sentence = format!("the article {title} had a wrong number of visitors. There were ");
    let corrected =
        read.pages.iter().filter(|page| page.address.starts_with("/corrections/")).flat_map(|page| page.all_texts());
    let corrected = corrected.filter_map(|words| words.split_once(&sentence)).map(|(_, rest)| number(rest)).next();
    let printed = || {
        let page = read.titled("/articles/", title).next()?;
        if page.all_texts().any(|words| words.starts_with("The number of visitors was corrected")) {
            return None;
        }
        let words = page.all_texts().find_map(|words| words.split_once(" drew "))?.1;
        words.split_once(" visitors").map(|(count, _)| number(count))
    };
    corrected.or_else(printed)
}

fn cost(read: &Reader, title: &str) -> Option<String> {
    let page = read.titled("/articles/", title).next()?;
    let stated = page.all_texts().find_map(|words| words.strip_prefix("It cost ")?.split_once(" euros"));
    Some(stated.map_or_else(|| NOT_STATED.to_owned(), |(cost, _)| cost.to_owned()))
}

fn from(read: &Reader, place: &str) -> Option<Vec<String>> {
    read.column("/topics/", &format!("News from {place}"), "Article")
}

fn fullest(read: &Reader, place: &str) -> Option<String> {
    best(&from(read, place)?, |title| visitors(read, title))
}
