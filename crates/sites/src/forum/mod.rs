//! A forum: boards, threads with replies and votes, and members.

mod pages;
mod questions;

use jiff::civil::Date;
use palestra_widgets::Draw;

use crate::names::later;
use crate::question::{Row, World};
use crate::{Site, names};

const BOARDS: [&str; 4] = ["Repairs", "Garden", "Workshop", "Travel"];
const TAGS: [&str; 6] = ["advice", "beginner", "cheap", "history", "materials", "tools"];
const DEEDS: [&str; 6] = ["Mending", "Painting", "Cleaning", "Storing", "Choosing", "Selling"];
/// Most replies by one thread at each level.
const REPLIES_MAX: [i64; 4] = [3, 6, 9, 13];

/// Facts of a forum.
pub(crate) struct Forum {
    boards: Vec<&'static str>,
    tags: Vec<&'static str>,
    members: Vec<Member>,
    threads: Vec<Thread>,
}

struct Member {
    name: &'static str,
    joined: Date,
    /// Not stated by every member.
    town: Option<String>,
}

struct Thread {
    title: String,
    board: usize,
    starter: usize,
    started: Date,
    tags: Vec<&'static str>,
    replies: Vec<Reply>,
    /// Place of the reply that the starter accepted.
    accepted: Option<usize>,
}

struct Reply {
    author: usize,
    written: Date,
    votes: i64,
}

impl Forum {
    fn author(&self, reply: &Reply) -> &Member {
        &self.members[reply.author]
    }

    fn tagged(&self, tag: &str) -> impl Iterator<Item = &Thread> {
        self.threads.iter().filter(move |thread| thread.tags.contains(&tag))
    }
}

impl World for Forum {
    fn draw(draw: &mut Draw) -> Self {
        let level = draw.level;
        let (threads, members) = (level.of([6, 12, 18, 26]), level.of([6, 10, 14, 20]));
        let boards = draw.some(level.of([2, 2, 3, 4]), &BOARDS);
        let tags = draw.some(level.of([3, 4, 5, 6]), &TAGS);
        let towns = names::places(draw, members);
        let joined = names::numbers(draw, members, 0..=3_600);
        let named = draw.names(members).into_iter().zip(towns).zip(joined);
        let members: Vec<Member> = named
            .map(|((name, town), days)| {
                let joined = later(jiff::civil::date(2020, 1, 1), days);
                Member { name, joined, town: (!draw.once_in(2)).then_some(town) }
            })
            .collect();
        let goods = draw.goods(threads);
        let threads = goods.into_iter().map(|thing| draw_thread(draw, &thing, boards.len(), &tags, members.len()));
        let threads = threads.collect();
        Self { boards, tags, members, threads }
    }

    fn rows() -> Vec<Row<Self>> {
        questions::rows()
    }

    fn site(&self) -> Site {
        pages::site(self)
    }
}

fn draw_thread(draw: &mut Draw, thing: &str, boards: usize, tags: &[&'static str], members: usize) -> Thread {
    let started = draw.day();
    let count = draw.number(1..=draw.level.of(REPLIES_MAX));
    let mut written = started;
    let votes = names::numbers(draw, usize::try_from(count).unwrap_or_default(), 0..=60);
    let replies: Vec<Reply> = votes
        .into_iter()
        .map(|votes| {
            written = later(written, draw.number(0..=3));
            Reply { author: draw.place(members), written, votes }
        })
        .collect();
    let accepted = (!draw.once_in(3)).then(|| draw.place(replies.len()));
    let deed = draw.pick(&DEEDS);
    let of = usize::try_from(draw.number(1..=2)).unwrap_or(1);
    Thread {
        title: format!("{deed} a {thing}"),
        board: draw.place(boards),
        starter: draw.place(members),
        started,
        tags: draw.some(of, tags),
        replies,
        accepted,
    }
}
