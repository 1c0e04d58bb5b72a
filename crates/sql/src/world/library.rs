//! A public library: members with tiers, books and their copies, loans, reservations in queues, and fines.

use std::collections::BTreeMap;

use jiff::civil::{Date, date};

use super::draw::{Draw, later};
use super::layout::Need::{May, Must};
use super::rules::{self, Rule};
use super::words::{self, CITIES};
use super::{Fact, Maker, Settings, World};
use crate::dataset::Sort::{Integer, Text};
use crate::dataset::{Dataset, Sort, Table};
use crate::row;
use crate::value::Value;

pub(super) const MAKER: Maker =
    Maker { name: "library", settings: &[("members", 20, 60, 400), ("loans", 60, 450, 5_000)], make };

/// The last day that the world knows; loans that are due before it are overdue.
const TODAY: Date = date(2024, 12, 31);

const RULES: &[Rule] = &[
    Rule::Forbid {
        name: "only_available_copies_are_lent",
        table: "loans",
        on: &["INSERT"],
        when: "NEW.returned_on IS NOT NULL OR (SELECT status FROM copies WHERE id = NEW.copy_id) <> 'available'",
        says: "the copy is not available",
    },
    Rule::Forbid {
        name: "only_active_members_borrow",
        table: "loans",
        on: &["INSERT"],
        when: "(SELECT status FROM members WHERE id = NEW.member_id) <> 'active'",
        says: "the member is not active",
    },
    Rule::Forbid {
        name: "tiers_bound_loans",
        table: "loans",
        on: &["INSERT"],
        when: "(SELECT COUNT(*) FROM loans WHERE member_id = NEW.member_id AND returned_on IS NULL)
            >= (SELECT t.loans_max FROM tiers t JOIN members m ON m.tier = t.name WHERE m.id = NEW.member_id)",
        says: "the member has as many loans as the tier allows",
    },
    Rule::Forbid {
        name: "fines_block_loans",
        table: "loans",
        on: &["INSERT"],
        when: "(SELECT COALESCE(SUM(amount_cents), 0) FROM fines WHERE member_id = NEW.member_id AND paid_on IS NULL) > 500",
        says: "the member owes more than 5.00 in fines",
    },
    Rule::Forbid {
        name: "queues_come_first",
        table: "loans",
        on: &["INSERT"],
        when: "EXISTS (SELECT 1 FROM reservations r JOIN copies c ON c.book_id = r.book_id
            WHERE c.id = NEW.copy_id AND r.state = 'waiting' AND r.member_id <> NEW.member_id
            AND r.made_on < COALESCE((SELECT MIN(own.made_on) FROM reservations own WHERE own.book_id = r.book_id
                AND own.member_id = NEW.member_id AND own.state = 'waiting'), NEW.loaned_on))",
        says: "somebody else has waited longer for this book",
    },
    Rule::After {
        name: "lending_takes_the_copy",
        table: "loans",
        on: "INSERT",
        when: "1 = 1",
        act: "UPDATE copies SET status = 'loaned' WHERE id = NEW.copy_id;
            UPDATE reservations SET state = 'fulfilled' WHERE state = 'waiting' AND member_id = NEW.member_id
                AND book_id = (SELECT book_id FROM copies WHERE id = NEW.copy_id);",
    },
    Rule::Forbid {
        name: "loans_only_come_back_or_grow",
        table: "loans",
        on: &["UPDATE"],
        when: "NEW.copy_id <> OLD.copy_id OR NEW.member_id <> OLD.member_id OR NEW.loaned_on <> OLD.loaned_on
            OR OLD.returned_on IS NOT NULL OR NEW.returned_on < OLD.loaned_on OR NEW.due_on < OLD.due_on",
        says: "a loan is returned or extended, and nothing else",
    },
    Rule::Forbid {
        name: "awaited_books_are_not_extended",
        table: "loans",
        on: &["UPDATE"],
        when: "NEW.due_on > OLD.due_on AND EXISTS (SELECT 1 FROM reservations r JOIN copies c ON c.book_id = r.book_id
            WHERE c.id = NEW.copy_id AND r.state = 'waiting')",
        says: "somebody is waiting for this book",
    },
    Rule::After {
        name: "returning_frees_the_copy",
        table: "loans",
        on: "UPDATE",
        when: "OLD.returned_on IS NULL AND NEW.returned_on IS NOT NULL",
        act: "UPDATE copies SET status = 'available' WHERE id = NEW.copy_id;",
    },
    Rule::Forbid {
        name: "copies_out_have_a_loan",
        table: "copies",
        on: &["UPDATE"],
        when: "(NEW.status = 'available' AND EXISTS (SELECT 1 FROM loans WHERE copy_id = NEW.id AND returned_on IS NULL))
            OR (NEW.status = 'loaned' AND NOT EXISTS (SELECT 1 FROM loans WHERE copy_id = NEW.id AND returned_on IS NULL))
            OR NEW.book_id <> OLD.book_id",
        says: "whether a copy is out follows from its loans",
    },
    Rule::Steps {
        table: "copies",
        column: "status",
        steps: &[("available", "loaned"), ("loaned", "available"), ("loaned", "lost"), ("available", "repair"), ("repair", "available")],
    },
    Rule::Steps { table: "reservations", column: "state", steps: &[("waiting", "fulfilled"), ("waiting", "cancelled")] },
    Rule::Forbid {
        name: "fines_are_only_paid",
        table: "fines",
        on: &["UPDATE"],
        when: "NEW.amount_cents <> OLD.amount_cents OR NEW.member_id <> OLD.member_id OR OLD.paid_on IS NOT NULL",
        says: "a fine is paid, and nothing else",
    },
    Rule::Forbid {
        name: "places_in_queues_stay",
        table: "reservations",
        on: &["UPDATE"],
        when: "NEW.member_id <> OLD.member_id OR NEW.book_id <> OLD.book_id OR NEW.made_on <> OLD.made_on",
        says: "a place in a queue is not moved",
    },
    Rule::Stay { table: "loans" },
    Rule::Stay { table: "copies" },
    Rule::Stay { table: "fines" },
    Rule::Stay { table: "reservations" },
];

const GENRES: [&str; 6] = ["crime", "fantasy", "history", "poetry", "science", "travel"];
const OPENINGS: [&str; 10] = [
    "The Long",
    "A Quiet",
    "The Last",
    "Under the",
    "Beyond the",
    "The Glass",
    "Winter",
    "A Short",
    "The Second",
    "Lost",
];
const ENDINGS: [&str; 8] = ["Harbour", "Garden", "Letter", "Mountain", "Signal", "Orchard", "Night", "Compass"];

fn make(draw: &mut Draw, settings: &Settings) -> World {
    let mut tiers = Table::of("tiers", &[("name", Text, Must), ("loans_max", Integer, Must), ("days", Integer, Must)])
        .key(&["name"]);
    tiers.rows = vec![row!["basic", 3, 14], row!["plus", 6, 21], row!["staff", 10, 42]];
    let mut branches = Table::of("branches", &[("id", Integer, Must), ("name", Text, Must), ("city", Text, Must)]);
    for (id, (city, _)) in (1..).zip(&CITIES[..4]) {
        branches.rows.push(row![id, format!("{city} Library"), city]);
    }
    let mut members = Table::of(
        "members",
        &[
            ("id", Integer, Must),
            ("name", Text, Must),
            ("tier", Text, Must),
            ("status", Text, Must),
            ("joined_on", Sort::Date, Must),
            ("born_on", Sort::Date, May),
            ("city", Text, May),
        ],
    )
    .check("status IN ('active', 'suspended', 'left')");
    members.foreign_keys.push(crate::dataset::ForeignKey {
        columns: vec!["tier".to_owned()],
        table: "tiers".to_owned(),
        references: vec!["name".to_owned()],
        ..Default::default()
    });
    let count = settings["members"];
    for (id, name) in (1..=count).zip(words::people(draw, count as usize)) {
        let tier = *draw.pick_weighted(&[("basic", 6), ("plus", 3), ("staff", 1)]);
        let status = *draw.pick_weighted(&[("active", 85), ("suspended", 9), ("left", 6)]);
        let joined = draw.day(date(2020, 1, 1), 1_400);
        let born = (!draw.chance(10)).then(|| draw.day(date(1940, 1, 1), 25_000));
        let city = (!draw.chance(10)).then(|| draw.pick_skewed(&CITIES).0);
        members.rows.push(row![id, name, tier, status, joined, born, city]);
    }
    let (authors, books, copies) = shelves(draw);
    let mut desk = Desk::of(&members, &copies);
    desk.lend(draw, settings["loans"]);
    desk.queue(draw, books.rows.len() as i64);
    let facts = desk.facts();
    let mut copies = copies;
    for (copy, status) in copies.rows.iter_mut().zip(&desk.statuses) {
        copy[3] = Value::from(*status);
    }
    let tables = vec![tiers, branches, members, authors, books, copies, desk.loans, desk.reservations, desk.fines];
    let after = rules::compile(RULES, &tables);
    World { dataset: Dataset { tables, after }, facts }
}

fn shelves(draw: &mut Draw) -> (Table, Table, Table) {
    let mut authors = Table::of("authors", &[("id", Integer, Must), ("name", Text, Must), ("born_year", Integer, May)]);
    for (id, name) in (1..).zip(words::people(draw, 22)) {
        authors.rows.push(row![id, name, draw.chance(75).then(|| draw.between(1890, 1990))]);
    }
    let mut books = Table::of(
        "books",
        &[
            ("id", Integer, Must),
            ("title", Text, Must),
            ("author_id", Integer, May),
            ("genre", Text, May),
            ("year", Integer, Must),
            ("pages", Integer, May),
        ],
    )
    .refers("author_id", "authors");
    let titles: Vec<String> =
        OPENINGS.iter().flat_map(|one| ENDINGS.iter().map(move |other| format!("{one} {other}"))).collect();
    for (id, title) in (1..).zip(draw.sample(&titles, 55)) {
        // The last authors have no book here.
        let author = (!draw.chance(8)).then(|| draw.between(1, 19));
        let genre = (!draw.chance(8)).then(|| *draw.pick(&GENRES));
        let pages = (!draw.chance(12)).then(|| 20 * draw.between(5, 45));
        books.rows.push(row![id, title, author, genre, draw.between(1930, 2024), pages]);
    }
    let mut copies = Table::of(
        "copies",
        &[
            ("id", Integer, Must),
            ("book_id", Integer, Must),
            ("branch_id", Integer, Must),
            ("status", Text, Must),
            ("bought_on", Sort::Date, Must),
        ],
    )
    .refers("book_id", "books")
    .refers("branch_id", "branches")
    .check("status IN ('available', 'loaned', 'repair', 'lost')");
    for book in 1..=books.rows.len() as i64 {
        for _ in 0..*draw.pick_weighted(&[(0, 1), (1, 5), (2, 4), (3, 2), (5, 1)]) {
            let status = *draw.pick_weighted(&[("available", 92), ("repair", 5), ("lost", 3)]);
            let id = copies.rows.len() as i64 + 1;
            copies.rows.push(row![id, book, draw.between(1, 4), status, draw.day(date(2018, 1, 1), 2_000)]);
        }
    }
    (authors, books, copies)
}

/// The lending desk while the world is made.
struct Desk {
    /// Of each copy, from 1 on: its book.
    books: Vec<i64>,
    statuses: Vec<&'static str>,
    /// Of each member: loans that may still be out, and whether they may borrow.
    room: Vec<i64>,
    active: Vec<bool>,
    loans: Table,
    reservations: Table,
    fines: Table,
}

fn whole(value: &Value) -> i64 {
    if let Value::Integer(number) = value { *number } else { 0 }
}

impl Desk {
    fn of(members: &Table, copies: &Table) -> Self {
        let tier = |row: &Vec<Value>| match &row[2] {
            Value::Text(name) if name == "basic" => 3,
            Value::Text(name) if name == "plus" => 6,
            _ => 10,
        };
        let status = |row: &Vec<Value>| match &row[3] {
            Value::Text(name) if name == "repair" => "repair",
            Value::Text(name) if name == "lost" => "lost",
            _ => "available",
        };
        let loans = Table::of(
            "loans",
            &[
                ("id", Integer, Must),
                ("copy_id", Integer, Must),
                ("member_id", Integer, Must),
                ("loaned_on", Sort::Date, Must),
                ("due_on", Sort::Date, Must),
                ("returned_on", Sort::Date, May),
            ],
        )
        .refers("copy_id", "copies")
        .refers("member_id", "members")
        .check("due_on >= loaned_on");
        let reservations = Table::of(
            "reservations",
            &[
                ("id", Integer, Must),
                ("book_id", Integer, Must),
                ("member_id", Integer, Must),
                ("made_on", Sort::Date, Must),
                ("state", Text, Must),
            ],
        )
        .refers("book_id", "books")
        .refers("member_id", "members")
        .check("state IN ('waiting', 'fulfilled', 'cancelled')");
        let fines = Table::of(
            "fines",
            &[
                ("id", Integer, Must),
                ("member_id", Integer, Must),
                ("loan_id", Integer, May),
                ("amount_cents", Integer, Must),
                ("paid_on", Sort::Date, May),
            ],
        )
        .refers("member_id", "members")
        .refers("loan_id", "loans")
        .check("amount_cents > 0");
        Self {
            books: copies.rows.iter().map(|row| whole(&row[1])).collect(),
            statuses: copies.rows.iter().map(status).collect(),
            room: members.rows.iter().map(tier).collect(),
            active: members.rows.iter().map(|row| row[3] == Value::from("active")).collect(),
            loans,
            reservations,
            fines,
        }
    }

    fn lend(&mut self, draw: &mut Draw, count: i64) {
        let copies = self.books.len();
        // Of each copy: from when on it is free.
        let mut free = vec![date(2024, 1, 1); copies];
        let members: Vec<usize> = (0..self.room.len() * 9 / 10).collect();
        for _ in 0..count {
            let (copy, member) = (draw.below(copies), *draw.pick_skewed(&members));
            let loaned = later(free[copy], draw.between(0, 25));
            if loaned >= TODAY || self.statuses[copy] != "available" {
                continue;
            }
            let due = later(loaned, 14);
            let back = later(loaned, draw.between(2, 24));
            let id = self.loans.rows.len() as i64 + 1;
            let returned = (back <= TODAY && !draw.chance(4)).then_some(back);
            if returned.is_none() && (self.room[member] == 0 || !self.active[member]) {
                continue;
            }
            self.loans.rows.push(row![id, copy as i64 + 1, member as i64 + 1, loaned, due, returned]);
            if let Some(back) = returned {
                free[copy] = later(back, 1);
                if back > due && draw.chance(80) {
                    let paid = later(back, draw.between(0, 30));
                    self.fine(draw, member, Some(id), paid);
                }
            } else {
                self.statuses[copy] = "loaned";
                self.room[member] -= 1;
            }
        }
        for _ in 0..6 {
            let member = draw.below(self.room.len());
            self.fine(draw, member, None, TODAY);
        }
    }

    fn fine(&mut self, draw: &mut Draw, member: usize, loan: Option<i64>, day: Date) {
        let paid = draw.chance(65).then_some(day);
        let id = self.fines.rows.len() as i64 + 1;
        self.fines.rows.push(row![id, member as i64 + 1, loan, 50 * draw.between(1, 30), paid]);
    }

    fn queue(&mut self, draw: &mut Draw, books: i64) {
        let mut taken = std::collections::BTreeSet::new();
        for day in 0..60 {
            let (book, member) = (draw.between(1, books), draw.below(self.room.len()) as i64 + 1);
            if self.active[member as usize - 1] && taken.insert((book, member)) {
                let state = *draw.pick_weighted(&[("waiting", 5), ("fulfilled", 3), ("cancelled", 2)]);
                let id = self.reservations.rows.len() as i64 + 1;
                // No two on one day, so that queues have an order.
                self.reservations.rows.push(row![id, book, member, later(date(2024, 10, 1), day), state]);
            }
        }
    }

    fn facts(&self) -> BTreeMap<String, Vec<Fact>> {
        let owed = |member: i64| -> i64 {
            self.fines
                .rows
                .iter()
                .filter(|row| row[1] == Value::Integer(member) && row[4] == Value::Null)
                .map(|row| whole(&row[3]))
                .sum()
        };
        let awaited = |book: i64| {
            let waiting = self
                .reservations
                .rows
                .iter()
                .filter(move |row| row[1] == Value::Integer(book) && row[4] == Value::from("waiting"));
            waiting.map(|row| whole(&row[2])).collect::<Vec<_>>()
        };
        let able = |member: i64| self.active[member as usize - 1] && self.room[member as usize - 1] > 0;
        let fact = |fields: &[(&str, i64)]| -> Fact {
            fields.iter().map(|(name, number)| ((*name).to_owned(), Value::Integer(*number))).collect()
        };
        let members = 1..=self.room.len() as i64;
        let copies: Vec<i64> = (1..=self.books.len() as i64).collect();
        let status = |copy: i64| self.statuses[copy as usize - 1];
        let book = |copy: i64| self.books[copy as usize - 1];
        let mut facts: BTreeMap<String, Vec<Fact>> = BTreeMap::new();
        // A book that nobody waits for with one available copy, and a member who must pay first.
        let quiet = |copy: &i64| {
            let mine = book(*copy);
            status(*copy) == "available"
                && awaited(mine).is_empty()
                && copies.iter().filter(|other| book(**other) == mine && status(**other) == "available").count() == 1
        };
        for member in members.filter(|member| able(*member) && owed(*member) > 500) {
            for copy in copies.iter().filter(|copy| quiet(copy)) {
                facts.entry("indebted".to_owned()).or_default().push(fact(&[
                    ("member_id", member),
                    ("copy_id", *copy),
                    ("book_id", book(*copy)),
                ]));
            }
        }
        for row in self.loans.rows.iter().filter(|row| row[5] == Value::Null) {
            let (loan, copy, borrower) = (whole(&row[0]), whole(&row[1]), whole(&row[2]));
            let queue = awaited(book(copy));
            let others = copies
                .iter()
                .any(|other| *other != copy && book(*other) == book(copy) && status(*other) == "available");
            let base = [("loan_id", loan), ("copy_id", copy), ("book_id", book(copy)), ("borrower_id", borrower)];
            if let [first, ..] = queue.as_slice()
                && !others
                && *first != borrower
                && able(*first)
                && owed(*first) <= 500
            {
                let mut fields = base.to_vec();
                fields.push(("first_id", *first));
                facts.entry("awaited".to_owned()).or_default().push(fact(&fields));
            }
            let sort = if queue.is_empty() { "extendable" } else { "not_extendable" };
            facts.entry(sort.to_owned()).or_default().push(fact(&base));
        }
        facts
    }
}
