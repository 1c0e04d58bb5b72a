//! Questions about a forum.

use std::collections::BTreeSet;

use palestra_widgets::{Draw, Level};

use super::pages::{member_at, reply, tag_at, thread_at};
use super::{Forum, Member, Reply, Thread};
use crate::names::{largest, one};
use crate::question::Row;
use crate::{Answer, Fact, Question};

const VOTES: &[&str] = &["votes", "vote"];

pub(super) fn rows() -> Vec<Row<Forum>> {
    vec![
        Row { name: "forum-starter", level: Level::One, ask: starter },
        Row { name: "forum-started-on", level: Level::One, ask: started_on },
        Row { name: "forum-joined", level: Level::One, ask: joined },
        Row { name: "forum-accepted-votes", level: Level::Two, ask: accepted_votes },
        Row { name: "forum-starter-joined", level: Level::Two, ask: starter_joined },
        Row { name: "forum-home-town", level: Level::Two, ask: home_town },
        Row { name: "forum-most-votes", level: Level::Three, ask: most_votes },
        Row { name: "forum-who-replied", level: Level::Three, ask: who_replied },
        Row { name: "forum-answered-with-tag", level: Level::Three, ask: answered_with_tag },
        Row { name: "forum-first-to-join", level: Level::Four, ask: first_to_join },
        Row { name: "forum-votes-with-tag", level: Level::Four, ask: votes_with_tag },
        Row { name: "forum-best-home-town", level: Level::Four, ask: best_home_town },
    ]
}

fn of_thread(thread: &Thread, property: &str) -> Fact {
    Fact::of(&thread_at(&thread.title), property)
}

fn of_member(member: &Member, property: &str) -> Fact {
    Fact::of(&member_at(member.name), property)
}

fn replies_of(thread: &Thread) -> impl Iterator<Item = Fact> {
    (0..thread.replies.len()).map(|place| of_thread(thread, &reply(place)))
}

/// A thread with at least so many replies.
fn long_thread<'a>(forum: &'a Forum, draw: &mut Draw, least: usize) -> Option<&'a Thread> {
    let long: Vec<&Thread> = forum.threads.iter().filter(|thread| thread.replies.len() >= least).collect();
    one(draw, &long).copied()
}

fn starter(forum: &Forum, draw: &mut Draw) -> Option<Question> {
    let thread = one(draw, &forum.threads)?;
    let text = format!("Who started the thread “{}”?", thread.title);
    let answer = Answer::text(forum.members[thread.starter].name);
    Some(Question::new(text, answer, vec![of_thread(thread, "starter")]))
}

fn started_on(forum: &Forum, draw: &mut Draw) -> Option<Question> {
    let thread = one(draw, &forum.threads)?;
    let text = format!("On which date was the thread “{}” started?", thread.title);
    Some(Question::new(text, Answer::Date(thread.started), vec![of_thread(thread, "started")]))
}

fn joined(forum: &Forum, draw: &mut Draw) -> Option<Question> {
    let member = one(draw, &forum.members)?;
    let text = format!("On which date did the member {} join?", member.name);
    Some(Question::new(text, Answer::Date(member.joined), vec![of_member(member, "joined")]))
}

fn accepted_votes(forum: &Forum, draw: &mut Draw) -> Option<Question> {
    let thread = long_thread(forum, draw, 2)?;
    let place = thread.accepted?;
    let text = format!("How many votes has the accepted answer in the thread “{}”?", thread.title);
    let answer = Answer::number(thread.replies[place].votes, VOTES);
    Some(Question::new(text, answer, vec![of_thread(thread, &reply(place))]))
}

fn starter_joined(forum: &Forum, draw: &mut Draw) -> Option<Question> {
    let thread = one(draw, &forum.threads)?;
    let member = &forum.members[thread.starter];
    let text = format!("On which date did the member who started the thread “{}” join?", thread.title);
    let facts = vec![of_thread(thread, "starter"), of_member(member, "joined")];
    Some(Question::new(text, Answer::Date(member.joined), facts))
}

/// Half of the members do not state their town.
fn town_of(member: &Member) -> Answer {
    member.town.as_ref().map_or(Answer::NotStated, Answer::text)
}

fn home_town(forum: &Forum, draw: &mut Draw) -> Option<Question> {
    let member = one(draw, &forum.members)?;
    let text = format!("What is the home town of the member {}?", member.name);
    Some(Question::new(text, town_of(member), vec![of_member(member, "whole")]))
}

/// The reply of a thread that has most votes.
fn best(thread: &Thread) -> Option<&Reply> {
    let place = largest(thread.replies.iter().map(|reply| reply.votes).enumerate())?;
    thread.replies.get(place)
}

fn most_votes(forum: &Forum, draw: &mut Draw) -> Option<Question> {
    let thread = long_thread(forum, draw, 5)?;
    let author = forum.author(best(thread)?);
    let text = format!("Who wrote the reply with the most votes in the thread “{}”?", thread.title);
    Some(Question::new(text, Answer::text(author.name), replies_of(thread).collect()))
}

fn who_replied(forum: &Forum, draw: &mut Draw) -> Option<Question> {
    let thread = long_thread(forum, draw, 6)?;
    let authors: BTreeSet<usize> = thread.replies.iter().map(|reply| reply.author).collect();
    let text = format!("How many different members replied in the thread “{}”?", thread.title);
    Some(Question::new(text, Answer::count(authors.len()), replies_of(thread).collect()))
}

fn answered_with_tag(forum: &Forum, draw: &mut Draw) -> Option<Question> {
    let tag = *one(draw, &forum.tags)?;
    let threads: Vec<&Thread> = forum.tagged(tag).collect();
    if threads.len() < 3 {
        return None;
    }
    let count = threads.iter().filter(|thread| thread.accepted.is_some()).count();
    let text = format!("How many threads with the tag {tag} have an accepted answer?");
    let mut facts = vec![Fact::of(&tag_at(tag), "threads")];
    facts.extend(threads.iter().map(|thread| of_thread(thread, "answered")));
    Some(Question::new(text, Answer::count(count), facts))
}

fn first_to_join(forum: &Forum, draw: &mut Draw) -> Option<Question> {
    let thread = long_thread(forum, draw, 6)?;
    let authors: BTreeSet<usize> = thread.replies.iter().map(|reply| reply.author).collect();
    let earliest = authors.iter().min_by_key(|author| forum.members[**author].joined)?;
    let text = format!("Which of the members who replied in the thread “{}” joined first?", thread.title);
    let joined = authors.iter().map(|author| of_member(&forum.members[*author], "joined"));
    let facts = replies_of(thread).chain(joined).collect();
    Some(Question::new(text, Answer::text(forum.members[*earliest].name), facts))
}

fn votes_with_tag(forum: &Forum, draw: &mut Draw) -> Option<Question> {
    let tag = *one(draw, &forum.tags)?;
    let threads: Vec<&Thread> = forum.tagged(tag).collect();
    if !(3..=8).contains(&threads.len()) {
        return None;
    }
    let replies: Vec<&Reply> = threads.iter().flat_map(|thread| &thread.replies).collect();
    let author = one(draw, &replies)?.author;
    let votes = replies.iter().filter(|reply| reply.author == author).map(|reply| reply.votes).sum();
    let name = forum.members[author].name;
    let text = format!("How many votes do the replies of {name} in threads with the tag {tag} have together?");
    let mut facts = vec![Fact::of(&tag_at(tag), "threads")];
    facts.extend(threads.iter().flat_map(|thread| replies_of(thread)));
    Some(Question::new(text, Answer::number(votes, VOTES), facts))
}

fn best_home_town(forum: &Forum, draw: &mut Draw) -> Option<Question> {
    let thread = long_thread(forum, draw, 6)?;
    let author = forum.author(best(thread)?);
    let text = format!(
        "What is the home town of the member who wrote the reply with the most votes in the thread “{}”?",
        thread.title
    );
    let facts = replies_of(thread).chain([of_member(author, "whole")]).collect();
    Some(Question::new(text, town_of(author), facts))
}
