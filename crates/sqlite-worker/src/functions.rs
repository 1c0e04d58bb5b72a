//! Functions of SQL that a session has in place of SQLite's own: those that draw from its seed, those that remember across a rewind,
//! and those whose single call would take the product of two lengths, which nothing could end.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use parking_lot::Mutex;
use rusqlite::Connection;

use crate::limits::Meter;
use crate::raw::{ArgumentType, Call, Fault, Function, FunctionResult, define};

/// State that functions of a session share.
#[derive(Debug, Default)]
pub struct State {
    /// Seed of the random numbers of this step.
    base: AtomicU64,
    /// Number of values drawn.
    drawn: AtomicU64,
    /// SQLite looks at the clock where a program jumps; a long row of calls does not.
    meter: Arc<Meter>,
    /// Rows that were changed before the connection was opened, less those that opening it changed.
    changed_before: AtomicI64,
    /// Result of `changes()` where SQLite's own count was lost.
    changes: Mutex<Option<u64>>,
}

impl State {
    /// For a connection that this meter watches.
    #[must_use]
    pub fn new(meter: Arc<Meter>) -> Arc<Self> {
        Arc::new(Self { meter, ..Self::default() })
    }

    /// Begins a step: random numbers follow from the seed and the step alone.
    pub fn begin_step(&self, seed: u64, seq: u64) {
        self.base.store(mix(seed ^ mix(seq)), Ordering::Relaxed);
        self.drawn.store(0, Ordering::Relaxed);
    }

    /// Sets the number to add to the rows that the connection has changed.
    pub fn set_changed_before(&self, rows: i64) {
        self.changed_before.store(rows, Ordering::Relaxed);
    }

    /// The number to add.
    #[must_use]
    pub fn changed_before(&self) -> i64 {
        self.changed_before.load(Ordering::Relaxed)
    }

    /// Sets the result of `changes()` until rows are changed again; `None` for SQLite's own count.
    pub fn set_changes(&self, rows: Option<u64>) {
        *self.changes.lock() = rows;
    }

    /// The result that was set.
    #[must_use]
    pub fn changes(&self) -> Option<u64> {
        *self.changes.lock()
    }

    fn draw(&self) -> u64 {
        let step = self.drawn.fetch_add(1, Ordering::Relaxed).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mix(self.base.load(Ordering::Relaxed).wrapping_add(step))
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Gives a connection its functions.
///
/// # Errors
/// SQLite's, when there is no memory.
pub fn install(connection: &Connection, state: &Arc<State>) -> Result<(), Fault> {
    let drawn = |name, arguments, body| Function { name, arguments, deterministic: false, body };
    let fixed = |name, arguments, body| Function { name, arguments, deterministic: true, body };
    for function in [
        drawn(c"random", 0, |_, state: &State| FunctionResult::Integer(state.draw().cast_signed())),
        drawn(c"randomblob", 1, random_blob),
        drawn(c"changes", 0, |call, state| {
            FunctionResult::Integer(state.changes().map_or_else(|| call.changes(), u64::cast_signed))
        }),
        drawn(c"total_changes", 0, |call, state| {
            FunctionResult::Integer(call.total_changes() + state.changed_before())
        }),
        fixed(c"instr", 2, instr),
        fixed(c"replace", 3, replace),
        fixed(c"trim", 1, |call, state| trim(call, state, true, true)),
        fixed(c"trim", 2, |call, state| trim(call, state, true, true)),
        fixed(c"ltrim", 1, |call, state| trim(call, state, true, false)),
        fixed(c"ltrim", 2, |call, state| trim(call, state, true, false)),
        fixed(c"rtrim", 1, |call, state| trim(call, state, false, true)),
        fixed(c"rtrim", 2, |call, state| trim(call, state, false, true)),
        fixed(c"unhex", 2, unhex),
    ] {
        define(connection, &function, state)?;
    }
    Ok(())
}

fn random_blob(call: &Call<'_>, state: &State) -> FunctionResult {
    if state.meter.over() {
        return FunctionResult::Interrupted;
    }
    let len = usize::try_from(call.integer(0)).unwrap_or(1).max(1);
    if len > call.longest() {
        return FunctionResult::TooLarge;
    }
    let mut bytes = vec![0; len];
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&state.draw().to_le_bytes()[..chunk.len()]);
    }
    FunctionResult::Blob(bytes)
}

/// Where the second is in the first, from 1: in bytes where both are blobs, else in characters.
fn instr(call: &Call<'_>, state: &State) -> FunctionResult {
    if state.meter.over() {
        return FunctionResult::Interrupted;
    }
    if call.sort(0) == ArgumentType::Null || call.sort(1) == ArgumentType::Null {
        return FunctionResult::Null;
    }
    let blobs = call.sort(0) == ArgumentType::Blob && call.sort(1) == ArgumentType::Blob;
    let (text, part) = if blobs { (call.blob(0), call.blob(1)) } else { (call.text(0), call.text(1)) };
    let Some(at) = Search::of(&part).find(&text, 0) else { return FunctionResult::Integer(0) };
    let before = if blobs { at } else { text[..at].iter().filter(|byte| !is_continuation(**byte)).count() };
    FunctionResult::Integer(i64::try_from(before + 1).unwrap_or(i64::MAX))
}

fn replace(call: &Call<'_>, state: &State) -> FunctionResult {
    if state.meter.over() {
        return FunctionResult::Interrupted;
    }
    if (0..3).any(|index| call.sort(index) == ArgumentType::Null) {
        return FunctionResult::Null;
    }
    let (text, part, with) = (call.text(0), call.text(1), call.text(2));
    // As SQLite: a pattern that is empty, or begins with a zero byte, is nowhere.
    if part.first().is_none_or(|first| *first == 0) {
        return FunctionResult::Text(text);
    }
    let search = Search::of(&part);
    let (mut result, mut from) = (Vec::new(), 0);
    while let Some(at) = search.find(&text, from) {
        result.extend_from_slice(&text[from..at]);
        result.extend_from_slice(&with);
        from = at + part.len();
        if result.len() > call.longest() {
            return FunctionResult::TooLarge;
        }
    }
    result.extend_from_slice(&text[from..]);
    if result.len() > call.longest() { FunctionResult::TooLarge } else { FunctionResult::Text(result) }
}

/// Takes spaces, or the characters of the second argument, off the ends.
fn trim(call: &Call<'_>, state: &State, left: bool, right: bool) -> FunctionResult {
    if state.meter.over() {
        return FunctionResult::Interrupted;
    }
    if (0..call.len()).any(|index| call.sort(index) == ArgumentType::Null) {
        return FunctionResult::Null;
    }
    let text = call.text(0);
    let mut set = if call.len() == 2 { call.text(1) } else { b" ".to_vec() };
    end_at_zero(&mut set);
    let set = Set::of(&set);
    let (mut from, mut to) = (0, text.len());
    if left {
        from = characters(&text).take_while(|character| set.contains(character)).map(<[u8]>::len).sum();
    }
    if right {
        // From the end, the shortest character of the set that fits there: a character has at most four bytes.
        while let Some(len) = (1..=4.min(to - from)).find(|len| set.contains(&text[to - len..to])) {
            to -= len;
        }
    }
    FunctionResult::Text(text[from..to].to_vec())
}

/// Bytes of pairs of digits, between which characters of the second argument may stand; NULL for anything else.
fn unhex(call: &Call<'_>, state: &State) -> FunctionResult {
    if state.meter.over() {
        return FunctionResult::Interrupted;
    }
    if (0..2).any(|index| call.sort(index) == ArgumentType::Null) {
        return FunctionResult::Null;
    }
    let (mut text, passed) = (call.text(0), call.text(1));
    end_at_zero(&mut text);
    let passed = Set::of(&passed);
    let digit = |character: &[u8]| match character {
        [byte] => char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()),
        _ => None,
    };
    let mut characters = characters(&text);
    let mut bytes = Vec::new();
    while let Some(character) = characters.next() {
        match digit(character) {
            Some(high) => match characters.next().and_then(digit) {
                Some(low) => bytes.push(high << 4 | low),
                None => return FunctionResult::Null,
            },
            None if passed.contains(character) => {}
            None => return FunctionResult::Null,
        }
    }
    FunctionResult::Blob(bytes)
}

/// Some functions of SQLite take a zero byte for the end.
fn end_at_zero(text: &mut Vec<u8>) {
    text.truncate(text.iter().position(|byte| *byte == 0).unwrap_or(text.len()));
}

/// Characters: most have one byte.
struct Set<'a> {
    short: [bool; 256],
    long: HashSet<&'a [u8]>,
}

impl<'a> Set<'a> {
    fn of(text: &'a [u8]) -> Self {
        let mut set = Self { short: [false; 256], long: HashSet::new() };
        for character in characters(text) {
            match character {
                [byte] => set.short[usize::from(*byte)] = true,
                long => drop(set.long.insert(long)),
            }
        }
        set
    }

    fn contains(&self, character: &[u8]) -> bool {
        match character {
            [byte] => self.short[usize::from(*byte)],
            long => !self.long.is_empty() && self.long.contains(long),
        }
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// Characters as SQLite counts them: a byte, and bytes that go on after one from 0xC0.
fn characters(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.first()?;
        let more = if *first < 0xc0 { 0 } else { rest[1..].iter().take_while(|byte| is_continuation(**byte)).count() };
        let (character, after) = rest.split_at(1 + more);
        rest = after;
        Some(character)
    })
}

/// Search in time proportional to the text (Knuth, Morris and Pratt, 1977).
struct Search<'a> {
    part: &'a [u8],
    /// For each place: how long the longest beginning is that also ends there.
    borders: Vec<usize>,
}

impl<'a> Search<'a> {
    fn of(part: &'a [u8]) -> Self {
        let mut borders = vec![0; part.len()];
        let mut matched = 0;
        for place in 1..part.len() {
            while matched > 0 && part[place] != part[matched] {
                matched = borders[matched - 1];
            }
            matched += usize::from(part[place] == part[matched]);
            borders[place] = matched;
        }
        Self { part, borders }
    }

    fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        if self.part.is_empty() {
            return Some(from);
        }
        let mut matched = 0;
        for (place, byte) in text.iter().enumerate().skip(from) {
            while matched > 0 && *byte != self.part[matched] {
                matched = self.borders[matched - 1];
            }
            matched += usize::from(*byte == self.part[matched]);
            if matched == self.part.len() {
                return Some(place + 1 - matched);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw;
    use crate::wire::Value;

    /// Results of plain SQLite and of SQLite with these functions.
    fn both(sql: &str) -> [Value; 2] {
        raw::initialise();
        [false, true].map(|ours| {
            let connection = Connection::open_in_memory().expect("memory");
            if ours {
                install(&connection, &Arc::default()).expect("functions");
            }
            let text = raw::text(sql).expect("no zero byte");
            let (statement, _) = raw::Statement::compile(&connection, &text, 0).expect(sql);
            let mut statement = statement.expect("a statement");
            statement.step().expect(sql);
            statement.value(0)
        })
    }

    #[test]
    fn they_give_what_those_of_sqlite_give() {
        let values = [
            "NULL",
            "''",
            "'a'",
            "'aab aab'",
            "'ääb'",
            "'ä'",
            "' a '",
            "x''",
            "x'0061'",
            "x'ff61'",
            "12",
            "1.50",
            "'1 2-3'",
        ];
        for first in values {
            for second in values {
                for call in [
                    format!("instr({first}, {second})"),
                    format!("trim({first}, {second})"),
                    format!("ltrim({first}, {second})"),
                    format!("rtrim({first}, {second})"),
                    format!("trim({first})"),
                    format!("unhex({first}, {second})"),
                    format!("replace({first}, {second}, 'xyz')"),
                    format!("replace({first}, 'a', {second})"),
                ] {
                    let [theirs, ours] = both(&format!("SELECT quote({call}) || typeof({call})"));
                    assert_eq!(theirs, ours, "{call}");
                }
            }
        }
    }

    #[test]
    fn random_numbers_follow_from_the_seed_and_the_step() {
        let draw = |seed, seq| {
            let state = State::default();
            state.begin_step(seed, seq);
            (state.draw(), state.draw())
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        let distinct: HashSet<_> = [draw(1, 2), draw(2, 1), draw(1, 3), draw(2, 2), draw(3, 3)].into();
        assert_eq!(distinct.len(), 5);
        assert!(distinct.iter().all(|(first, second)| first != second));
    }
}
