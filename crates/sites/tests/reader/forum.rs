//! Answers from the pages of a forum.

use std::collections::BTreeSet;

use super::{Reader, asked, best, day, number};

/// A reply: its author, its votes, and whether it was accepted.
#[derive(Clone)]
struct Reply(String, i64, bool);

pub(super) fn answer(read: &Reader, question: &str) -> Option<String> {
    if let Some([title]) = asked("Who started the thread “{}”?", question) {
        return read.value(title, "Started by");
    }
    if let Some([title]) = asked("On which date was the thread “{}” started?", question) {
        return read.value(title, "Started on");
    }
    if let Some([title]) = asked("On which date did the member who started the thread “{}” join?", question) {
        return read.value(&read.value(title, "Started by")?, "Joined");
    }
    if let Some([name]) = asked("On which date did the member {} join?", question) {
        return read.value(name, "Joined");
    }
    if let Some([title]) = asked("How many votes has the accepted answer in the thread “{}”?", question) {
        let seen: Vec<Reply> = replies(read, title).into_iter().filter(|reply| reply.2).collect();
        assert!(seen.len() < 2, "two accepted answers");
        return seen.first().map(|reply| reply.1.to_string());
    }
    let best_town = "What is the home town of the member who wrote the reply with the most votes in the thread “{}”?";
    if let Some([title]) = asked(best_town, question) {
        return read.stated("/members/", &top(read, title)?, "Home town");
    }
    if let Some([name]) = asked("What is the home town of the member {}?", question) {
        return read.stated("/members/", name, "Home town");
    }
    if let Some([title]) = asked("Who wrote the reply with the most votes in the thread “{}”?", question) {
        return top(read, title);
    }
    if let Some([title]) = asked("How many different members replied in the thread “{}”?", question) {
        return Some(authors(read, title)?.len().to_string());
    }
    if let Some([tag]) = asked("How many threads with the tag {} have an accepted answer?", question) {
        let answered =
            tagged(read, tag)?.iter().map(|title| read.value(title, "Answer accepted")).collect::<Option<Vec<_>>>()?;
        return Some(answered.iter().filter(|answered| *answered == "yes").count().to_string());
    }
    if let Some([title]) = asked("Which of the members who replied in the thread “{}” joined first?", question) {
        return best(&authors(read, title)?, |name| Some(-day(&read.value(name, "Joined")?)));
    }
    if let Some([name, tag]) =
        asked("How many votes do the replies of {} in threads with the tag {} have together?", question)
    {
        let mut votes = 0;
        for title in tagged(read, tag)? {
            votes +=
                all_replies(read, &title)?.iter().filter(|reply| reply.0 == name).map(|reply| reply.1).sum::<i64>();
        }
        return Some(votes.to_string());
    }
    None
}

fn replies(read: &Reader, title: &str) -> Vec<Reply> {
    let posts = read.titled("/threads/", title).flat_map(|page| &page.articles);
    let read_post = |post: &String| {
        let (_, rest) = post.split_once(" by ").or_else(|| post.split_once("by ")).expect("an author");
        let (author, rest) = rest.split_once(" on ").expect("a date");
        let votes = rest.split(' ').rev().nth(1).expect("votes");
        Reply(author.to_owned(), number(votes), post.contains("Accepted answer"))
    };
    posts.map(read_post).collect()
}

/// The replies of a thread; none where not all of them were read.
fn all_replies(read: &Reader, title: &str) -> Option<Vec<Reply>> {
    let seen = replies(read, title);
    (read.value(title, "Replies")? == seen.len().to_string()).then_some(seen)
}

fn authors(read: &Reader, title: &str) -> Option<Vec<String>> {
    let names: BTreeSet<String> = all_replies(read, title)?.into_iter().map(|reply| reply.0).collect();
    Some(names.into_iter().collect())
}

fn top(read: &Reader, title: &str) -> Option<String> {
    Some(best(&all_replies(read, title)?, |reply| Some(reply.1))?.0)
}

fn tagged(read: &Reader, tag: &str) -> Option<Vec<String>> {
    read.items("/tags/", &format!("Threads with the tag {tag}"), "")
}
