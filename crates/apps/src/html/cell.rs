//! Values as people read them: amounts with their sign, dates with the name of the month, states with a tone.

use std::sync::Arc;

use serde::Serialize;

use crate::app::theme::Looks;
use crate::kinds::Type;
use crate::run::World;
use crate::screen::{Element, Facts, of_row};
use crate::value::{RowKey, Value};

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// Words of states that went well, went wrong, or wait for something.
const GOOD: [&str; 20] = [
    "active",
    "open",
    "delivered",
    "paid",
    "approved",
    "yes",
    "booked",
    "solved",
    "published",
    "accepted",
    "refunded",
    "allow",
    "connected",
    "shipped",
    "received",
    "ok",
    "scheduled",
    "in",
    "incoming",
    "completed",
];
const BAD: [&str; 16] = [
    "cancelled",
    "failed",
    "refused",
    "blocked",
    "overdue",
    "rejected",
    "urgent",
    "expired",
    "no",
    "deny",
    "missed",
    "recalled",
    "lost",
    "closed",
    "late",
    "gone",
];
const WAITING: [&str; 14] = [
    "pending",
    "waiting",
    "placed",
    "submitted",
    "draft",
    "frozen",
    "high",
    "delayed",
    "requested",
    "packed",
    "new",
    "ask",
    "away",
    "processed",
];
/// Texts that are longer take a block of their own.
const SHORT_CHARACTERS: usize = 90;

/// Reads values of a world for pages of an app.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) world: &'a World,
    pub(super) looks: &'a Looks,
    /// Beginning of every address.
    pub(super) base: &'a str,
}

impl Reader<'_> {
    fn link_to(&self, row: RowKey) -> Option<String> {
        of_row(self.world, row).map(|address| format!("{}{address}", self.base))
    }
}

/// A value with its label.
#[derive(Debug, Serialize)]
pub(super) struct Cell {
    pub(super) key: Arc<str>,
    pub(super) label: String,
    pub(super) text: String,
    /// The kind of value.
    pub(super) kind: &'static str,
    /// A date or time as machines read it.
    pub(super) iso: Option<String>,
    /// The tone of its badge.
    tone: Option<&'static str>,
    /// The screen of the row that it names.
    href: Option<String>,
    /// The id of the row that it names.
    pub(super) id: Option<String>,
    /// The word of an enum, or `true` and `false`.
    word: Option<String>,
    empty: bool,
    long: bool,
    /// True for amounts below nothing.
    negative: bool,
}

/// The word of a kind of value.
pub(super) fn word(kind: &Type) -> &'static str {
    match kind.present() {
        Type::Bool => "bool",
        Type::Int => "int",
        Type::Date => "date",
        Type::Instant => "instant",
        Type::Duration => "duration",
        Type::Money(_) => "money",
        Type::Decimal(_) => "decimal",
        Type::Enum(_) => "enum",
        Type::Row(_) => "ref",
        Type::List(_) => "list",
        _ => "text",
    }
}

/// The values of an element: its own, or those of a row that it refers to.
pub(super) fn cell(reader: &Reader<'_>, element: &Element) -> Vec<Cell> {
    let shown = element.value.clone().unwrap_or_default();
    match element.facts.as_deref() {
        Some(Facts::Value { key, value, kind }) => vec![of(reader, Arc::clone(key), &shown, value, kind)],
        Some(Facts::Inner { key, cells }) => {
            let inner = cells.iter().filter_map(|inner| match inner.facts.as_deref() {
                Some(Facts::Value { key: below, value, kind }) => {
                    let key: Arc<str> = format!("{key}.{below}").into();
                    Some(of(reader, key, inner.value.as_deref().unwrap_or_default(), value, kind))
                }
                _ => None,
            });
            inner.collect()
        }
        _ => {
            let key: Arc<str> = element.name.to_lowercase().replace(' ', "_").into();
            vec![plain(reader.looks.label(&key), key, shown)]
        }
    }
}

fn plain(label: String, key: Arc<str>, text: String) -> Cell {
    Cell {
        key,
        label,
        empty: text.is_empty(),
        long: text.chars().count() > SHORT_CHARACTERS || text.contains('\n'),
        text,
        kind: "text",
        iso: None,
        tone: None,
        href: None,
        id: None,
        word: None,
        negative: false,
    }
}

fn of(reader: &Reader<'_>, key: Arc<str>, shown: &str, value: &Value, kind: &Type) -> Cell {
    let looks = reader.looks;
    let label = looks.label(key.rsplit('.').next().unwrap_or(&key));
    let mut cell = plain(label, key, shown.to_owned());
    cell.kind = word(kind);
    match (value, kind.present()) {
        (Value::Null, _) => {
            cell.text = String::new();
            cell.empty = true;
        }
        (Value::Bool(yes), _) => {
            cell.word = Some(yes.to_string());
            cell.text = if *yes { "Yes" } else { "No" }.to_owned();
            cell.tone = Some(if *yes { "info" } else { "calm" });
        }
        (_, Type::Money(currency)) => {
            cell.negative = shown.starts_with('-');
            cell.text = money(shown, currency);
        }
        (_, Type::Date | Type::Instant) => {
            cell.text = date(shown);
            cell.iso = Some(shown.replacen(' ', "T", 1));
        }
        (Value::Text(word), Type::Enum(_)) => {
            cell.text = looks.label(word);
            cell.word = Some(word.to_string());
            cell.tone = Some(looks.tones.get(word).copied().unwrap_or_else(|| tone(word)));
        }
        (Value::Row(row), _) => {
            let id = reader.world.data().id(*row).map(ToString::to_string).unwrap_or_default();
            cell.text = shown.strip_suffix(&format!(" ({id})")).unwrap_or(shown).to_owned();
            cell.href = reader.link_to(*row);
            cell.id = Some(id);
        }
        _ => {}
    }
    cell
}

fn tone(word: &str) -> &'static str {
    match word {
        word if GOOD.contains(&word) => "good",
        word if BAD.contains(&word) => "bad",
        word if WAITING.contains(&word) => "warn",
        _ => "calm",
    }
}

/// `12.50 EUR` as `€12.50`.
fn money(shown: &str, currency: &str) -> String {
    let amount = shown.strip_suffix(currency).unwrap_or(shown).trim();
    let (sign, amount) = amount.strip_prefix('-').map_or(("", amount), |amount| ("-", amount));
    match currency {
        "EUR" => format!("{sign}€{amount}"),
        "USD" => format!("{sign}${amount}"),
        "GBP" => format!("{sign}£{amount}"),
        other => format!("{sign}{amount} {other}"),
    }
}

/// `2031-05-05T09:00` as `5 May 2031, 09:00`; what is no date stays as it is.
pub(super) fn date(shown: &str) -> String {
    let (day, time) = shown.split_once(['T', ' ']).unwrap_or((shown, ""));
    let parts: Vec<&str> = day.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return shown.to_owned() };
    let month = month.parse::<usize>().ok().and_then(|month| MONTHS.get(month.checked_sub(1)?));
    let (Some(month), Ok(day)) = (month, day.parse::<u8>()) else { return shown.to_owned() };
    let time = time.get(..5).unwrap_or(time);
    if time.is_empty() { format!("{day} {month} {year}") } else { format!("{day} {month} {year}, {time}") }
}

/// The name of a group of rows: a day, or a word.
pub(super) fn heading(looks: &Looks, name: &str) -> String {
    let shown = date(name);
    if shown == name { looks.label(name) } else { shown }
}
