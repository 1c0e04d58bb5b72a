//! Pages of the forum.

use super::{Forum, Member, Reply, Thread};
use crate::markup::{day, link, text};
use crate::names::slug;
use crate::page::{Draft, paged};
use crate::{Kind, Site};

/// Threads of one page of a board.
const THREADS_EACH: usize = 10;
/// Replies of one page of a thread.
const REPLIES_EACH: usize = 5;
/// Members of one page of their list.
const MEMBERS_EACH: usize = 8;

pub(super) fn thread_at(title: &str) -> String {
    format!("/threads/{}", slug(title))
}

pub(super) fn member_at(name: &str) -> String {
    format!("/members/{}", slug(name))
}

pub(super) fn tag_at(name: &str) -> String {
    format!("/tags/{name}")
}

/// The property of a thread that one reply is.
pub(super) fn reply(place: usize) -> String {
    format!("reply {}", place + 1)
}

fn board_at(name: &str) -> String {
    format!("/boards/{}", slug(name))
}

pub(super) fn site(forum: &Forum) -> Site {
    let mut pages = vec![home(forum), tags(forum)];
    pages.extend((0..forum.boards.len()).flat_map(|board| board_pages(forum, board)));
    pages.extend(forum.threads.iter().flat_map(|thread| thread_pages(forum, thread)));
    pages.extend(members(forum));
    pages.extend((0..forum.members.len()).map(|member| member_page(forum, member)));
    pages.extend(forum.tags.iter().map(|tag| tag_page(forum, tag)));
    let sections = [("/", "Boards"), ("/members", "Members"), ("/tags", "Tags")];
    Site::new(Kind::Forum, "Tinkerers' Forum", &sections, pages)
}

fn thread_link(thread: &Thread) -> String {
    link(&thread_at(&thread.title), &thread.title)
}

fn member_link(member: &Member) -> String {
    link(&member_at(member.name), member.name)
}

fn home(forum: &Forum) -> Draft {
    let mut draft = Draft::new("/", "Boards");
    draft.paragraph("Ask, answer, and vote for what helped.");
    let rows: Vec<Vec<String>> = (forum.boards.iter().enumerate())
        .map(|(board, name)| {
            let threads = forum.threads.iter().filter(|thread| thread.board == board);
            vec![link(&board_at(name), name), threads.count().to_string()]
        })
        .collect();
    draft.table("All boards", &["Board", "Threads"], &rows);
    draft
}

fn board_pages(forum: &Forum, board: usize) -> Vec<Draft> {
    let name = forum.boards[board];
    let mut threads: Vec<&Thread> = forum.threads.iter().filter(|thread| thread.board == board).collect();
    threads.sort_by(|one, other| other.started.cmp(&one.started).then(one.title.cmp(&other.title)));
    paged((&board_at(name), name), (&threads, THREADS_EACH), &[("/", "Boards")], |draft, part| {
        let rows = part.iter().map(|thread| {
            draft.states(&thread_at(&thread.title), &["starter"]);
            let starter = member_link(&forum.members[thread.starter]);
            vec![thread_link(thread), starter, thread.replies.len().to_string()]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        draft.table("The latest threads first", &["Thread", "Started by", "Replies"], &rows);
    })
}

fn thread_pages(forum: &Forum, thread: &Thread) -> Vec<Draft> {
    let at = thread_at(&thread.title);
    let board = forum.boards[thread.board];
    let numbered: Vec<(usize, &Reply)> = thread.replies.iter().enumerate().collect();
    let trail = [("/", "Boards"), (&*board_at(board), board)];
    paged((&at, &thread.title), (&numbered, REPLIES_EACH), &trail, |draft, part| {
        draft.states(&at, &["starter", "started", "answered", "tags"]);
        opening(forum, thread, draft);
        for (place, reply) in part {
            write_reply(forum, thread, (*place, reply), draft);
        }
    })
}

fn opening(forum: &Forum, thread: &Thread, draft: &mut Draft) {
    let starter = &forum.members[thread.starter];
    let tags: Vec<String> = thread.tags.iter().map(|tag| link(&tag_at(tag), tag)).collect();
    let answered = if thread.accepted.is_some() { "yes" } else { "no" };
    draft.properties(&[
        ("Started by", member_link(starter)),
        ("Started on", day(thread.started)),
        ("Tags", tags.join(", ")),
        ("Replies", thread.replies.len().to_string()),
        ("Answer accepted", answered.to_owned()),
    ]);
}

fn write_reply(forum: &Forum, thread: &Thread, (place, written): (usize, &Reply), draft: &mut Draft) {
    draft.states(&thread_at(&thread.title), &[&reply(place)]);
    let accepted = thread.accepted == Some(place);
    let (class, mark) =
        if accepted { ("post accepted", "<p><strong>Accepted answer</strong></p>") } else { ("post", "") };
    draft.main.push_str(&format!(
        "<article class=\"{class}\"><h2>Reply {}</h2>{mark}<p>by {} on {}</p>\n<p>{}</p>\n<p class=\"votes\">{} votes</p></article>\n",
        place + 1,
        member_link(forum.author(written)),
        day(written.written),
        text(SAYINGS[(place + thread.title.len()) % SAYINGS.len()]),
        written.votes,
    ));
}

const SAYINGS: [&str; 6] = [
    "Take your time with it, and begin where nobody looks.",
    "I tried that last winter, and it still holds.",
    "Warm water first; then a soft brush.",
    "Ask for an old one at a market before you buy new.",
    "It depends on the wood, but I would not worry.",
    "Do the underside as well, or it will not last.",
];

fn members(forum: &Forum) -> Vec<Draft> {
    let mut sorted: Vec<&Member> = forum.members.iter().collect();
    sorted.sort_by_key(|member| member.name);
    paged(("/members", "Members"), (&sorted, MEMBERS_EACH), &[("/", "Boards")], |draft, part| {
        let rows = part.iter().map(|member| {
            draft.states(&member_at(member.name), &["joined"]);
            vec![member_link(member), day(member.joined)]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        draft.table("All members", &["Member", "Joined"], &rows);
    })
}

fn member_page(forum: &Forum, number: usize) -> Draft {
    let member = &forum.members[number];
    let at = member_at(member.name);
    let mut draft = Draft::new(at.clone(), member.name).under("/members", "Members");
    draft.states(&at, &["whole", "joined"]);
    let mut properties = vec![("Joined", day(member.joined))];
    properties.extend(member.town.as_ref().map(|town| ("Home town", text(town))));
    draft.properties(&properties);
    draft.heading("Threads started");
    let started: Vec<String> =
        forum.threads.iter().filter(|thread| thread.starter == number).map(thread_link).collect();
    match started.is_empty() {
        true => draft.paragraph("None so far."),
        false => draft.list(&started),
    }
    draft
}

fn tags(forum: &Forum) -> Draft {
    let mut draft = Draft::new("/tags", "Tags").under("/", "Boards");
    draft.list(&forum.tags.iter().map(|tag| link(&tag_at(tag), tag)).collect::<Vec<_>>());
    draft
}

fn tag_page(forum: &Forum, tag: &str) -> Draft {
    let at = tag_at(tag);
    let mut draft = Draft::new(at.clone(), format!("Threads with the tag {tag}")).under("/tags", "Tags");
    draft.states(&at, &["threads"]);
    let threads: Vec<String> = forum.tagged(tag).map(thread_link).collect();
    match threads.is_empty() {
        true => draft.paragraph("No thread has this tag."),
        false => draft.list(&threads),
    }
    draft
}
