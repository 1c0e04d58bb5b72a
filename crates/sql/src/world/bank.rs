//! A bank: customers with accounts, transfers that are booked twice, holds and limits; balances follow from what is booked.

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
    Maker { name: "bank", settings: &[("customers", 20, 60, 300), ("transfers", 50, 400, 4_000)], make };

/// The day on which the bank's history begins.
const OPENING: Date = date(2024, 7, 1);

const RULES: &[Rule] = &[
    Rule::Forbid {
        name: "transfer_needs_open_accounts",
        table: "transfers",
        on: &["INSERT"],
        when: "(SELECT status FROM accounts WHERE id = NEW.from_account) <> 'open'
            OR (SELECT status FROM accounts WHERE id = NEW.to_account) <> 'open'",
        says: "both accounts of a transfer must be open",
    },
    Rule::Forbid {
        name: "savings_pay_the_owner_alone",
        table: "transfers",
        on: &["INSERT"],
        when: "(SELECT kind FROM accounts WHERE id = NEW.from_account) = 'savings'
            AND (SELECT customer_id FROM accounts WHERE id = NEW.from_account)
                <> (SELECT customer_id FROM accounts WHERE id = NEW.to_account)",
        says: "from savings money goes to accounts of the same customer only",
    },
    Rule::Forbid {
        name: "transfer_needs_cover",
        table: "transfers",
        on: &["INSERT"],
        when: "NEW.amount_cents > (SELECT balance_cents + overdraft_cents FROM accounts WHERE id = NEW.from_account)
            - (SELECT COALESCE(SUM(amount_cents), 0) FROM holds WHERE account_id = NEW.from_account AND released_on IS NULL)",
        says: "the account does not have that much free of holds",
    },
    Rule::Forbid {
        name: "transfers_have_a_daily_limit",
        table: "transfers",
        on: &["INSERT"],
        when: "NEW.amount_cents + (SELECT COALESCE(SUM(amount_cents), 0) FROM transfers
                WHERE from_account = NEW.from_account AND made_on = NEW.made_on)
            > (SELECT daily_limit_cents FROM accounts WHERE id = NEW.from_account)",
        says: "the daily limit of the account would be exceeded",
    },
    Rule::After {
        name: "transfer_is_booked",
        table: "transfers",
        on: "INSERT",
        when: "1 = 1",
        act: "INSERT INTO entries (account_id, transfer_id, amount_cents, booked_on)
                VALUES (NEW.from_account, NEW.id, -NEW.amount_cents, NEW.made_on);
            INSERT INTO entries (account_id, transfer_id, amount_cents, booked_on)
                VALUES (NEW.to_account, NEW.id, NEW.amount_cents, NEW.made_on);",
    },
    Rule::Forbid {
        name: "entries_belong_to_transfers",
        table: "entries",
        on: &["INSERT"],
        when: "NOT EXISTS (SELECT 1 FROM transfers t WHERE t.id = NEW.transfer_id
            AND ((t.from_account = NEW.account_id AND NEW.amount_cents = -t.amount_cents)
              OR (t.to_account = NEW.account_id AND NEW.amount_cents = t.amount_cents)))",
        says: "only transfers are booked",
    },
    Rule::After {
        name: "entry_moves_the_balance",
        table: "entries",
        on: "INSERT",
        when: "1 = 1",
        act: "UPDATE accounts SET balance_cents = balance_cents + NEW.amount_cents WHERE id = NEW.account_id;",
    },
    Rule::Forbid {
        name: "balances_follow_entries",
        table: "accounts",
        on: &["UPDATE"],
        when: "NEW.balance_cents <> (SELECT COALESCE(SUM(amount_cents), 0) FROM entries WHERE account_id = NEW.id)",
        says: "a balance changes by transfers only",
    },
    Rule::Forbid {
        name: "new_accounts_are_empty",
        table: "accounts",
        on: &["INSERT"],
        when: "NEW.balance_cents <> 0 OR NEW.status <> 'open'
            OR (SELECT verified_on FROM customers WHERE id = NEW.customer_id) IS NULL",
        says: "accounts are opened empty, for verified customers",
    },
    Rule::Forbid {
        name: "closed_accounts_are_settled",
        table: "accounts",
        on: &["UPDATE"],
        when: "NEW.status = 'closed' AND OLD.status <> 'closed' AND (NEW.balance_cents <> 0
            OR EXISTS (SELECT 1 FROM holds WHERE account_id = NEW.id AND released_on IS NULL))",
        says: "an account is closed when it is empty and nothing is held on it",
    },
    Rule::Forbid {
        name: "owners_and_limits_stay",
        table: "accounts",
        on: &["UPDATE"],
        when: "NEW.customer_id <> OLD.customer_id OR NEW.kind <> OLD.kind OR NEW.overdraft_cents > OLD.overdraft_cents
            OR NEW.daily_limit_cents > OLD.daily_limit_cents",
        says: "owner and kind of an account stay, and its limits are not raised here",
    },
    Rule::Forbid {
        name: "court_holds_are_not_released",
        table: "holds",
        on: &["UPDATE"],
        when: "OLD.reason = 'court order' OR NEW.account_id <> OLD.account_id OR NEW.amount_cents <> OLD.amount_cents
            OR NEW.reason <> OLD.reason OR OLD.released_on IS NOT NULL",
        says: "holds are only released, and those of a court not even that",
    },
    Rule::Steps { table: "accounts", column: "status", steps: &[("open", "frozen"), ("open", "closed")] },
    Rule::Stay { table: "accounts" },
    Rule::Stay { table: "holds" },
    Rule::Keep { table: "transfers" },
    Rule::Keep { table: "entries" },
];

fn make(draw: &mut Draw, settings: &Settings) -> World {
    let mut branches = Table::of("branches", &[("id", Integer, Must), ("name", Text, Must), ("city", Text, Must)]);
    for (id, (city, _)) in (1..).zip(&CITIES[..5]) {
        branches.rows.push(row![id, format!("{city} Central"), city]);
    }
    let mut customers = Table::of(
        "customers",
        &[
            ("id", Integer, Must),
            ("name", Text, Must),
            ("branch_id", Integer, Must),
            ("verified_on", Sort::Date, May),
            ("phone", Text, May),
        ],
    )
    .refers("branch_id", "branches");
    let count = settings["customers"];
    for (id, name) in (1..=count).zip(words::people(draw, count as usize)) {
        let verified = (!draw.chance(15)).then(|| draw.day(date(2022, 1, 1), 700));
        let phone = draw.chance(80).then(|| format!("555-{:04}", draw.below(10_000)));
        customers.rows.push(row![id, name, draw.between(1, 4), verified, phone]);
    }
    let mut ledger = Ledger::open(draw, count);
    ledger.trade(draw, settings["transfers"]);
    ledger.hold(draw);
    let facts = ledger.facts();
    let tables = vec![branches, customers, ledger.accounts, ledger.transfers, ledger.entries, ledger.holds];
    let after = rules::compile(RULES, &tables);
    World { dataset: Dataset { tables, after }, facts }
}

/// An account while the world is made.
#[derive(Debug, Clone)]
struct Account {
    id: i64,
    customer: i64,
    kind: &'static str,
    status: &'static str,
    balance: i64,
    overdraft: i64,
    limit: i64,
    opened: Date,
    held: i64,
}

struct Ledger {
    book: Vec<Account>,
    accounts: Table,
    transfers: Table,
    entries: Table,
    holds: Table,
}

impl Ledger {
    fn open(draw: &mut Draw, customers: i64) -> Self {
        let accounts = Table::of(
            "accounts",
            &[
                ("id", Integer, Must),
                ("customer_id", Integer, Must),
                ("kind", Text, Must),
                ("status", Text, Must),
                ("balance_cents", Integer, Must),
                ("overdraft_cents", Integer, Must),
                ("daily_limit_cents", Integer, Must),
                ("opened_on", Sort::Date, Must),
            ],
        )
        .refers("customer_id", "customers")
        .check("balance_cents >= -overdraft_cents")
        .check("kind IN ('current', 'savings', 'joint')")
        .check("status IN ('open', 'frozen', 'closed')");
        let transfers = Table::of(
            "transfers",
            &[
                ("id", Integer, Must),
                ("from_account", Integer, Must),
                ("to_account", Integer, Must),
                ("amount_cents", Integer, Must),
                ("made_on", Sort::Date, Must),
                ("note", Text, May),
            ],
        )
        .refers("from_account", "accounts")
        .refers("to_account", "accounts")
        .check("amount_cents > 0")
        .check("from_account <> to_account");
        let entries = Table::of(
            "entries",
            &[
                ("account_id", Integer, Must),
                ("transfer_id", Integer, Must),
                ("amount_cents", Integer, Must),
                ("booked_on", Sort::Date, Must),
            ],
        )
        .key(&["account_id", "transfer_id"])
        .refers("account_id", "accounts")
        .refers("transfer_id", "transfers");
        let holds = Table::of(
            "holds",
            &[
                ("id", Integer, Must),
                ("account_id", Integer, Must),
                ("amount_cents", Integer, Must),
                ("reason", Text, Must),
                ("placed_on", Sort::Date, Must),
                ("released_on", Sort::Date, May),
            ],
        )
        .refers("account_id", "accounts")
        .check("amount_cents > 0");
        // The first account is the bank's own: cash comes from it.
        let opened = date(2022, 1, 1);
        let own = Account {
            id: 1,
            customer: 1,
            kind: "joint",
            status: "open",
            balance: 0,
            overdraft: i64::from(i32::MAX),
            limit: i64::from(i32::MAX),
            opened,
            held: 0,
        };
        let mut book = vec![own];
        for customer in 2..=customers {
            for kind in ["current", "savings", "joint"].into_iter().take(*draw.pick_weighted(&[(1, 4), (2, 5), (3, 1)]))
            {
                let status = *draw.pick_weighted(&[("open", 88), ("frozen", 8), ("closed", 4)]);
                let overdraft = if kind == "current" { 10_000 * draw.between(0, 10) } else { 0 };
                let limit = 50_000 * draw.between(1, 6);
                let id = book.len() as i64 + 1;
                let opened = draw.day(date(2022, 1, 1), 700);
                book.push(Account { id, customer, kind, status, balance: 0, overdraft, limit, opened, held: 0 });
            }
        }
        Self { book, accounts, transfers, entries, holds }
    }

    fn book(&mut self, from: usize, to: usize, amount: i64, day: Date, note: Option<&str>) {
        let id = self.transfers.rows.len() as i64 + 1;
        let (payer, payee) = (self.book[from].id, self.book[to].id);
        self.transfers.rows.push(row![id, payer, payee, amount, day, note]);
        self.entries.rows.push(row![payer, id, -amount, day]);
        self.entries.rows.push(row![payee, id, amount, day]);
        self.book[from].balance -= amount;
        self.book[to].balance += amount;
    }

    fn trade(&mut self, draw: &mut Draw, count: i64) {
        for account in 1..self.book.len() {
            if self.book[account].status != "closed" {
                self.book(0, account, 100 * draw.between(300, 6_000), OPENING, Some("cash"));
            }
        }
        let mut days: Vec<i64> = (0..count).map(|_| draw.between(1, 180)).collect();
        days.sort_unstable();
        let alive: Vec<usize> = (1..self.book.len()).filter(|place| self.book[*place].status != "closed").collect();
        for day in days {
            let (from, to) = (*draw.pick_skewed(&alive), *draw.pick(&alive));
            let amount = 100 * draw.between(1, 300);
            let payer = &self.book[from];
            let own = payer.kind == "savings" && payer.customer != self.book[to].customer;
            if from != to && !own && payer.balance + payer.overdraft >= amount && payer.limit >= amount * 3 {
                let note = draw.chance(70).then(|| *draw.pick(&["rent", "gift", "invoice", "refund", "dinner"]));
                self.book(from, to, amount, later(OPENING, day), note);
            }
        }
    }

    fn hold(&mut self, draw: &mut Draw) {
        for place in 1..self.book.len() {
            if self.book[place].status == "open" && self.book[place].balance > 20_000 && draw.chance(35) {
                let amount = 100 * draw.between(20, 100);
                let reason = *draw.pick_weighted(&[("card payment", 6), ("deposit", 3), ("court order", 2)]);
                let placed = draw.day(later(OPENING, 150), 30);
                let released = (reason != "court order" && draw.chance(40)).then(|| later(placed, 3));
                if released.is_none() {
                    self.book[place].held += amount;
                }
                let id = self.holds.rows.len() as i64 + 1;
                self.holds.rows.push(row![id, self.book[place].id, amount, reason, placed, released]);
            }
        }
        for account in &self.book {
            self.accounts.rows.push(row![
                account.id,
                account.customer,
                account.kind,
                account.status,
                account.balance,
                account.overdraft,
                account.limit,
                account.opened
            ]);
        }
    }

    /// Pairs of accounts with which something can be done under the rules, and something cannot.
    fn facts(&self) -> std::collections::BTreeMap<String, Vec<Fact>> {
        let court = |account: &Account| {
            self.holds
                .rows
                .iter()
                .any(|row| row[1] == Value::Integer(account.id) && row[3] == Value::from("court order"))
        };
        let pair = |from: &Account, to: &Account| {
            Fact::from([
                ("from_id".to_owned(), Value::Integer(from.id)),
                ("to_id".to_owned(), Value::Integer(to.id)),
                ("customer_id".to_owned(), Value::Integer(from.customer)),
                ("balance".to_owned(), Value::Integer(from.balance)),
                ("limit".to_owned(), Value::Integer(from.limit)),
                ("free".to_owned(), Value::Integer(from.balance + from.overdraft - from.held)),
            ])
        };
        let pairs = |holds: &dyn Fn(&Account, &Account) -> bool| {
            let all = self.book[1..].iter().flat_map(|from| self.book[1..].iter().map(move |to| (from, to)));
            all.filter(|(from, to)| from.id != to.id && holds(from, to))
                .map(|(from, to)| pair(from, to))
                .collect::<Vec<_>>()
        };
        let open = |from: &Account, to: &Account| from.status == "open" && to.status == "open";
        let own = |from: &Account, to: &Account| from.customer == to.customer;
        let free = |from: &Account| from.balance + from.overdraft - from.held;
        [
            // An account to be closed into another one of the same customer, with a hold that can be released.
            (
                "closable",
                pairs(&|from, to| {
                    open(from, to)
                        && own(from, to)
                        && from.held > 0
                        && !court(from)
                        && from.overdraft == 0
                        && (1..=from.limit).contains(&from.balance)
                }),
            ),
            (
                "unclosable",
                pairs(&|from, to| open(from, to) && own(from, to) && court(from) && from.balance <= from.limit),
            ),
            // Savings that must go through an account of their owner to reach somebody else.
            (
                "detour",
                self.book[1..]
                    .iter()
                    .flat_map(|savings| self.book[1..].iter().map(move |current| (savings, current)))
                    .filter(|(savings, current)| {
                        open(savings, current)
                            && own(savings, current)
                            && savings.kind == "savings"
                            && current.kind == "current"
                            && free(savings) >= 20_000
                            && current.balance < 30_000_000
                    })
                    .filter_map(|(savings, current)| {
                        let payee = self.book[1..].iter().find(|other| {
                            other.status == "open"
                                && other.customer != savings.customer
                                && other.id % 3 == savings.id % 3
                        })?;
                        let mut fact = pair(savings, current);
                        fact.insert("payee_id".to_owned(), Value::Integer(payee.id));
                        Some(fact)
                    })
                    .collect(),
            ),
            // More than the daily limit, so that it takes two days.
            (
                "large",
                pairs(&|from, to| {
                    open(from, to) && !own(from, to) && from.kind == "current" && free(from) >= from.limit + 20_000
                }),
            ),
            (
                "frozen",
                pairs(&|from, to| {
                    from.status == "frozen"
                        && to.status == "open"
                        && !own(from, to)
                        && free(from) > 20_000
                        && from.kind == "current"
                }),
            ),
            (
                "short",
                pairs(&|from, to| {
                    open(from, to)
                        && from.kind == "current"
                        && from.held > 5_000
                        && free(from) > 0
                        && free(from) + from.held <= from.limit
                }),
            ),
        ]
        .into_iter()
        .map(|(sort, facts)| (sort.to_owned(), facts))
        .collect()
    }
}
