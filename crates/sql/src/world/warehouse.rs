//! A warehouse: bins of several kinds, items, stock that follows from moves, and shipments to be packed.

use std::collections::BTreeMap;

use jiff::civil::date;

use super::draw::{Draw, later};
use super::layout::Need::{May, Must};
use super::rules::{self, Rule};
use super::words::CITIES;
use super::{Fact, Maker, Settings, World};
use crate::dataset::Sort::{Integer, Text};
use crate::dataset::{Dataset, Sort, Table};
use crate::row;
use crate::value::Value;

pub(super) const MAKER: Maker =
    Maker { name: "warehouse", settings: &[("items", 20, 45, 300), ("shipments", 20, 80, 800)], make };

const RULES: &[Rule] = &[
    Rule::Forbid {
        name: "moves_need_stock",
        table: "moves",
        on: &["INSERT"],
        when: "NEW.from_bin IS NULL OR COALESCE((SELECT quantity FROM stock WHERE bin_id = NEW.from_bin AND item_id = NEW.item_id), 0)
            < NEW.quantity",
        says: "there is not that much in the bin",
    },
    Rule::Forbid {
        name: "bins_take_their_kind",
        table: "moves",
        on: &["INSERT"],
        when: "(SELECT kind FROM bins WHERE id = NEW.to_bin) <> (SELECT kind FROM items WHERE id = NEW.item_id)
            OR (SELECT locked FROM bins WHERE id = NEW.to_bin) = 1 OR (SELECT locked FROM bins WHERE id = NEW.from_bin) = 1",
        says: "the bin is locked or not of the kind that the item needs",
    },
    Rule::Forbid {
        name: "bins_have_a_capacity",
        table: "moves",
        on: &["INSERT"],
        when: "NEW.quantity * (SELECT volume FROM items WHERE id = NEW.item_id)
            + (SELECT COALESCE(SUM(s.quantity * i.volume), 0) FROM stock s JOIN items i ON i.id = s.item_id WHERE s.bin_id = NEW.to_bin)
            > (SELECT capacity FROM bins WHERE id = NEW.to_bin)",
        says: "the bin would be too full",
    },
    Rule::After {
        name: "moves_change_stock",
        table: "moves",
        on: "INSERT",
        when: "1 = 1",
        act: "INSERT INTO stock (bin_id, item_id, quantity) SELECT NEW.to_bin, NEW.item_id, 0
                WHERE NOT EXISTS (SELECT 1 FROM stock WHERE bin_id = NEW.to_bin AND item_id = NEW.item_id);
            UPDATE stock SET quantity = quantity - NEW.quantity WHERE bin_id = NEW.from_bin AND item_id = NEW.item_id;
            UPDATE stock SET quantity = quantity + NEW.quantity WHERE bin_id = NEW.to_bin AND item_id = NEW.item_id;",
    },
    Rule::Forbid {
        name: "stock_follows_moves",
        table: "stock",
        on: &["INSERT", "UPDATE"],
        when: "NEW.quantity <> 0 AND NEW.quantity
            <> (SELECT COALESCE(SUM(quantity), 0) FROM moves WHERE to_bin = NEW.bin_id AND item_id = NEW.item_id)
             - (SELECT COALESCE(SUM(quantity), 0) FROM moves WHERE from_bin = NEW.bin_id AND item_id = NEW.item_id)
             - (SELECT COALESCE(SUM(quantity), 0) FROM picks WHERE bin_id = NEW.bin_id AND item_id = NEW.item_id)",
        says: "stock changes by moves and picks only",
    },
    Rule::Forbid {
        name: "emptied_stock_was_moved",
        table: "stock",
        on: &["UPDATE"],
        when: "NEW.quantity = 0 AND OLD.quantity <> 0 AND 0
            <> (SELECT COALESCE(SUM(quantity), 0) FROM moves WHERE to_bin = NEW.bin_id AND item_id = NEW.item_id)
             - (SELECT COALESCE(SUM(quantity), 0) FROM moves WHERE from_bin = NEW.bin_id AND item_id = NEW.item_id)
             - (SELECT COALESCE(SUM(quantity), 0) FROM picks WHERE bin_id = NEW.bin_id AND item_id = NEW.item_id)",
        says: "stock changes by moves and picks only",
    },
    Rule::Forbid {
        name: "picks_need_stock",
        table: "picks",
        on: &["INSERT"],
        when: "COALESCE((SELECT quantity FROM stock WHERE bin_id = NEW.bin_id AND item_id = NEW.item_id), 0) < NEW.quantity
            OR (SELECT locked FROM bins WHERE id = NEW.bin_id) = 1
            OR (SELECT status FROM shipments WHERE id = NEW.shipment_id) <> 'open'",
        says: "picking takes an open shipment and enough stock in a bin that is not locked",
    },
    Rule::Forbid {
        name: "picks_follow_the_order",
        table: "picks",
        on: &["INSERT"],
        when: "NEW.quantity + (SELECT COALESCE(SUM(quantity), 0) FROM picks WHERE shipment_id = NEW.shipment_id AND item_id = NEW.item_id)
            > COALESCE((SELECT quantity FROM shipment_lines WHERE shipment_id = NEW.shipment_id AND item_id = NEW.item_id), 0)",
        says: "more was picked than was ordered",
    },
    Rule::After {
        name: "picks_take_stock",
        table: "picks",
        on: "INSERT",
        when: "1 = 1",
        act: "UPDATE stock SET quantity = quantity - NEW.quantity WHERE bin_id = NEW.bin_id AND item_id = NEW.item_id;",
    },
    Rule::Forbid {
        name: "shipments_leave_complete",
        table: "shipments",
        on: &["UPDATE"],
        when: "NEW.status = 'packed' AND EXISTS (SELECT 1 FROM shipment_lines l WHERE l.shipment_id = NEW.id AND l.quantity <>
            (SELECT COALESCE(SUM(p.quantity), 0) FROM picks p WHERE p.shipment_id = NEW.id AND p.item_id = l.item_id))",
        says: "a shipment is packed when every line was picked",
    },
    Rule::Steps { table: "shipments", column: "status", steps: &[("open", "packed"), ("packed", "sent"), ("open", "cancelled")] },
    Rule::Keep { table: "moves" },
    Rule::Keep { table: "picks" },
    Rule::Keep { table: "items" },
    Rule::Keep { table: "shipment_lines" },
    Rule::Keep { table: "bins" },
    Rule::Stay { table: "stock" },
    Rule::Stay { table: "shipments" },
];

const KINDS: [&str; 3] = ["normal", "cold", "hazard"];

fn make(draw: &mut Draw, settings: &Settings) -> World {
    let mut bins = Table::of(
        "bins",
        &[
            ("id", Integer, Must),
            ("code", Text, Must),
            ("kind", Text, Must),
            ("capacity", Integer, Must),
            ("locked", Integer, Must),
        ],
    )
    .distinct(&["code"]);
    for id in 1..=30 {
        let kind = KINDS[[0, 0, 0, 1, 2][(id - 1) as usize % 5]];
        let code = format!("{}{:02}", ["A", "B", "C"][(id - 1) as usize / 10], (id - 1) % 10 + 1);
        bins.rows.push(row![id, code, kind, 40 * draw.between(3, 12), i64::from(draw.chance(10))]);
    }
    let mut items = Table::of(
        "items",
        &[
            ("id", Integer, Must),
            ("sku", Text, Must),
            ("kind", Text, Must),
            ("volume", Integer, Must),
            ("reorder_at", Integer, May),
        ],
    )
    .distinct(&["sku"])
    .check("volume > 0");
    let count = settings["items"];
    for id in 1..=count {
        let kind = KINDS[[0, 0, 0, 1, 2][(id - 1) as usize % 5]];
        let sku = format!("{}-{:03}", ["KX", "LM", "PT"][draw.below(3)], id * 7 % 1_000);
        items.rows.push(row![id, sku, kind, draw.between(1, 6), (!draw.chance(20)).then(|| draw.between(2, 20))]);
    }
    let mut floor = Floor::of(&bins, &items);
    floor.fill(draw);
    let (shipments, lines, picks) = floor.ship(draw, settings["shipments"]);
    let facts = floor.facts(&shipments, &lines);
    let moves = std::mem::take(&mut floor.moves);
    let mut stock =
        Table::of("stock", &[("bin_id", Integer, Must), ("item_id", Integer, Must), ("quantity", Integer, Must)])
            .key(&["bin_id", "item_id"])
            .refers("bin_id", "bins")
            .refers("item_id", "items")
            .check("quantity >= 0");
    stock.rows = floor.stock.iter().map(|((bin, item), quantity)| row![*bin, *item, *quantity]).collect();
    let tables = vec![bins, items, moves, stock, shipments, lines, picks];
    let after = rules::compile(RULES, &tables);
    World { dataset: Dataset { tables, after }, facts }
}

/// The warehouse while the world is made. Kinds are places in [`KINDS`].
struct Floor {
    /// Kind, capacity, whether it is locked.
    bins: Vec<(usize, i64, bool)>,
    /// Kind, volume.
    items: Vec<(usize, i64)>,
    stock: BTreeMap<(i64, i64), i64>,
    moves: Table,
}

fn whole(value: &Value) -> i64 {
    if let Value::Integer(number) = value { *number } else { 0 }
}

fn kind(value: &Value) -> usize {
    KINDS.iter().position(|kind| *value == Value::from(*kind)).unwrap_or(0)
}

impl Floor {
    fn of(bins: &Table, items: &Table) -> Self {
        let moves = Table::of(
            "moves",
            &[
                ("id", Integer, Must),
                ("item_id", Integer, Must),
                ("from_bin", Integer, May),
                ("to_bin", Integer, Must),
                ("quantity", Integer, Must),
                ("moved_on", Sort::Date, Must),
            ],
        )
        .refers("item_id", "items")
        .refers("from_bin", "bins")
        .refers("to_bin", "bins")
        .check("quantity > 0");
        Self {
            bins: bins.rows.iter().map(|row| (kind(&row[2]), whole(&row[3]), row[4] == Value::Integer(1))).collect(),
            items: items.rows.iter().map(|row| (kind(&row[2]), whole(&row[3]))).collect(),
            stock: BTreeMap::new(),
            moves,
        }
    }

    fn used(&self, bin: i64) -> i64 {
        self.stock
            .iter()
            .filter(|((place, _), _)| *place == bin)
            .map(|((_, item), quantity)| quantity * self.items[*item as usize - 1].1)
            .sum()
    }

    fn fits(&self, bin: i64, item: i64, quantity: i64) -> bool {
        let ((bin_kind, capacity, _), (item_kind, volume)) =
            (self.bins[bin as usize - 1], self.items[item as usize - 1]);
        bin_kind == item_kind && self.used(bin) + quantity * volume <= capacity
    }

    fn fill(&mut self, draw: &mut Draw) {
        // The last items never arrived.
        let items = self.items.len() as i64 * 9 / 10;
        for day in 0..260 {
            let (bin, item) = (draw.between(1, 30), draw.between(1, items));
            let quantity = draw.between(2, 25);
            let from = if draw.chance(30) {
                self.stock
                    .iter()
                    .find(|((_, known), held)| *known == item && **held > quantity)
                    .map(|((from, _), _)| *from)
            } else {
                None
            };
            if !self.fits(bin, item, quantity) || from == Some(bin) {
                continue;
            }
            if let Some(from) = from {
                *self.stock.entry((from, item)).or_default() -= quantity;
            }
            *self.stock.entry((bin, item)).or_default() += quantity;
            let id = self.moves.rows.len() as i64 + 1;
            self.moves.rows.push(row![id, item, from, bin, quantity, later(date(2024, 2, 1), day)]);
        }
    }

    fn ship(&mut self, draw: &mut Draw, count: i64) -> (Table, Table, Table) {
        let mut shipments = Table::of(
            "shipments",
            &[
                ("id", Integer, Must),
                ("city", Text, May),
                ("status", Text, Must),
                ("ordered_on", Sort::Date, Must),
                ("sent_on", Sort::Date, May),
            ],
        )
        .check("status IN ('open', 'packed', 'sent', 'cancelled')");
        let mut lines = Table::of(
            "shipment_lines",
            &[("shipment_id", Integer, Must), ("item_id", Integer, Must), ("quantity", Integer, Must)],
        )
        .key(&["shipment_id", "item_id"])
        .refers("shipment_id", "shipments")
        .refers("item_id", "items")
        .check("quantity > 0");
        let mut picks = Table::of(
            "picks",
            &[
                ("id", Integer, Must),
                ("shipment_id", Integer, Must),
                ("item_id", Integer, Must),
                ("bin_id", Integer, Must),
                ("quantity", Integer, Must),
            ],
        )
        .refers("shipment_id", "shipments")
        .refers("item_id", "items")
        .refers("bin_id", "bins")
        .check("quantity > 0");
        let items: Vec<i64> = (1..=self.items.len() as i64).collect();
        for id in 1..=count {
            let status = *draw.pick_weighted(&[("sent", 5), ("open", 4), ("cancelled", 1), ("packed", 1)]);
            let ordered = later(date(2024, 11, 1), id * 50 / count);
            let sent = (status == "sent").then(|| later(ordered, draw.between(0, 6)));
            let city = (!draw.chance(10)).then(|| draw.pick_skewed(&CITIES).0);
            shipments.rows.push(row![id, city, status, ordered, sent]);
            let many = *draw.pick_weighted(&[(1, 3), (2, 4), (3, 2)]);
            for item in draw.sample(&items, many) {
                let quantity = draw.between(1, 4);
                let bin = self
                    .stock
                    .iter()
                    .find(|((_, known), held)| *known == item && **held >= quantity)
                    .map(|((bin, _), _)| *bin);
                let gone = matches!(status, "sent" | "packed");
                match bin {
                    Some(bin) if gone => {
                        *self.stock.entry((bin, item)).or_default() -= quantity;
                        picks.rows.push(row![picks.rows.len() as i64 + 1, id, item, bin, quantity]);
                    }
                    None if gone => continue,
                    _ => {}
                }
                lines.rows.push(row![id, item, quantity]);
            }
        }
        (shipments, lines, picks)
    }

    fn facts(&self, shipments: &Table, lines: &Table) -> BTreeMap<String, Vec<Fact>> {
        let mut facts: BTreeMap<String, Vec<Fact>> = BTreeMap::new();
        let fact = |fields: &[(&str, i64)]| -> Fact {
            fields.iter().map(|(name, number)| ((*name).to_owned(), Value::Integer(*number))).collect()
        };
        let locked = |bin: i64| self.bins[bin as usize - 1].2;
        for ((bin, item), quantity) in self.stock.iter().filter(|((bin, _), quantity)| **quantity > 0 && !locked(*bin))
        {
            // The first of the other bins that take all of it, where the first of its kind does not.
            let mut alike = (1..=30)
                .filter(|other| other != bin && self.bins[*other as usize - 1].0 == self.items[*item as usize - 1].0);
            let able = |other: &i64| !locked(*other) && self.fits(*other, *item, *quantity);
            if let Some(first) = alike.next()
                && !able(&first)
                && let Some(target) = alike.find(able)
            {
                facts.entry("crowded".to_owned()).or_default().push(fact(&[
                    ("item_id", *item),
                    ("from_bin", *bin),
                    ("to_bin", target),
                    ("first_bin", first),
                    ("quantity", *quantity),
                ]));
            }
        }
        for shipment in shipments.rows.iter().filter(|row| row[2] == Value::from("open")) {
            let mine: Vec<&Vec<Value>> = lines.rows.iter().filter(|row| row[0] == shipment[0]).collect();
            let single = |line: &&Vec<Value>| {
                let free = self.stock.iter().filter(|((bin, item), _)| *item == whole(&line[1]) && !locked(*bin));
                free.filter(|(_, held)| **held >= whole(&line[2])).count() == 1
            };
            let none = |line: &&Vec<Value>| {
                let free: i64 = self
                    .stock
                    .iter()
                    .filter(|((bin, item), _)| *item == whole(&line[1]) && !locked(*bin))
                    .map(|(_, held)| held)
                    .sum();
                free < whole(&line[2])
            };
            let sort = if mine.iter().all(single) && !mine.is_empty() {
                "packable"
            } else if mine.iter().any(none) {
                "not_packable"
            } else {
                continue;
            };
            facts.entry(sort.to_owned()).or_default().push(fact(&[("id", whole(&shipment[0]))]));
        }
        facts
    }
}
