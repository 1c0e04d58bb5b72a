//! Answers from the pages of a map.

use std::collections::{BTreeMap, BTreeSet};

use super::{Reader, asked, best, number};

/// Ends and kilometres of roads, by name.
type Roads = BTreeMap<String, (BTreeSet<String>, i64)>;

pub(super) fn answer(read: &Reader, question: &str) -> Option<String> {
    let roads = roads(read);
    if let Some([sight, day]) = asked("At what time does the {} open on {}?", question) {
        return hours(read, sight, day)?.map(|(opens, _)| opens);
    }
    if let Some([place]) = asked("How many roads lead out of {}?", question) {
        return Some(neighbours(&roads, place).len().to_string());
    }
    if let Some([from, to, middle]) =
        asked("How many kilometres is the way by road from {} to {} by way of {}?", question)
    {
        let out = neighbours(&roads, middle);
        return Some((out.get(from)? + out.get(to)?).to_string());
    }
    if let Some([place]) = asked("To which place does the shortest road out of {} lead?", question) {
        return nearest(&roads, place);
    }
    let fee = "What is the entrance fee of the {} in the place to which the shortest road out of {} leads, in euros?";
    if let Some([sort, place]) = asked(fee, question) {
        return read.stated("/visit/", &format!("{} {sort}", nearest(&roads, place)?), "Entrance fee");
    }
    if let Some([sight]) = asked("What is the entrance fee of the {}, in euros?", question) {
        return read.stated("/visit/", sight, "Entrance fee");
    }
    if let Some([place, day, time]) = asked("How many of the things to visit in {} are open on {} at {}?", question) {
        return open(read, &read.items("/places/", place, "Things to visit")?, (day, time));
    }
    if let Some([place, day]) = asked("Which of the things to visit in {} closes last on {}?", question) {
        return closes_last(read, &read.items("/places/", place, "Things to visit")?, day);
    }
    if let Some([from, to]) = asked("How many kilometres is the shortest way by road from {} to {}?", question) {
        return shortest(&roads, from, to);
    }
    if let Some([place, sort, day]) =
        asked("Roads lead from {} to other places. Which of these has the {} that closes last on {}?", question)
    {
        let last = closes_last(read, &next_door(read, &roads, (place, sort))?, day)?;
        return last.strip_suffix(&format!(" {sort}")).map(str::to_owned);
    }
    if let Some([place, sort, day, time]) =
        asked("Roads lead from {} to other places. In how many of these is a {} open on {} at {}?", question)
    {
        return open(read, &next_door(read, &roads, (place, sort))?, (day, time));
    }
    let [road] = asked("How long is {}, in kilometres?", question)?;
    roads.get(road).map(|(_, length)| length.to_string())
}

/// Roads from tables of places, from the list of all, and from their own pages.
fn roads(read: &Reader) -> Roads {
    let mut roads = Roads::new();
    for page in &read.pages {
        for row in page.rows.iter().filter(|row| row.contains_key("Road")) {
            let from = row.get("From").unwrap_or(&page.title);
            roads.insert(row["Road"].clone(), ([from.clone(), row["To"].clone()].into(), number(&row["Length"])));
        }
        if page.address.starts_with("/roads/road") {
            let [from, to, length] =
                ["From", "To", "Length"].map(|name| read.stated("/roads/", &page.title, name).expect("its page"));
            roads.insert(page.title.clone(), ([from, to].into(), number(&length)));
        }
    }
    roads
}

fn neighbours(roads: &Roads, place: &str) -> BTreeMap<String, i64> {
    let out = roads.values().filter(|(ends, _)| ends.contains(place));
    out.map(|(ends, length)| (ends.iter().find(|end| *end != place).expect("another end").clone(), *length)).collect()
}

fn nearest(roads: &Roads, place: &str) -> Option<String> {
    let out: Vec<(String, i64)> = neighbours(roads, place).into_iter().collect();
    best(&out, |(_, length)| Some(-length)).map(|(name, _)| name)
}

/// Shortest way by relaxing every road until nothing changes.
fn shortest(roads: &Roads, from: &str, to: &str) -> Option<String> {
    let mut far: BTreeMap<&str, i64> = BTreeMap::from([(from, 0)]);
    loop {
        let before = far.clone();
        for (ends, length) in roads.values() {
            let [one, other] = ends.iter().map(String::as_str).collect::<Vec<_>>().try_into().expect("two ends");
            for (start, end) in [(one, other), (other, one)] {
                let Some(begun) = far.get(start).copied() else { continue };
                let best = far.entry(end).or_insert(i64::MAX);
                *best = (*best).min(begun + length);
            }
        }
        if far == before {
            return far.get(to).map(i64::to_string);
        }
    }
}

/// Opening and closing on a day; none within where it is closed, and none at all where the page was not read.
fn hours(read: &Reader, sight: &str, day: &str) -> Option<Option<(String, String)>> {
    let page = read.titled("/visit/", sight).next()?;
    let row = page.rows.iter().find(|row| row["Day"] == day).expect("a day");
    Some((row["Opens"] != "closed").then(|| (row["Opens"].clone(), row["Closes"].clone())))
}

fn open(read: &Reader, sights: &[String], (day, time): (&str, &str)) -> Option<String> {
    let is_open = |sight: &String| {
        let hours = hours(read, sight, day)?;
        Some(hours.is_some_and(|(opens, closes)| *opens <= *time && *time < *closes))
    };
    let open: Vec<bool> = sights.iter().map(is_open).collect::<Option<_>>()?;
    Some(open.iter().filter(|open| **open).count().to_string())
}

fn closes_last(read: &Reader, sights: &[String], day: &str) -> Option<String> {
    let closing = |sight: &String| Some(hours(read, sight, day)?.map(|(_, closes)| closes));
    let known: Vec<Option<String>> = sights.iter().map(closing).collect::<Option<_>>()?;
    let open: Vec<(String, String)> =
        sights.iter().zip(known).filter_map(|(sight, closes)| Some((sight.clone(), closes?))).collect();
    best(&open, |(_, closes)| Some(closes.clone())).map(|(sight, _)| sight)
}

/// Things of a sort in the places to which roads lead; none where not all of these were read.
fn next_door(read: &Reader, roads: &Roads, (place, sort): (&str, &str)) -> Option<Vec<String>> {
    let lists = neighbours(roads, place).into_keys().map(|other| read.items("/places/", &other, "Things to visit"));
    let all: Vec<Vec<String>> = lists.collect::<Option<_>>()?;
    Some(all.into_iter().flatten().filter(|sight| sight.ends_with(&format!(" {sort}"))).collect())
}
