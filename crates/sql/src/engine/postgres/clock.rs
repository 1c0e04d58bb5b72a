//! Virtual time and seeded randomness: what SQL takes for now is said by the server, and the same steps give the same values again.
//!
//! PostgreSQL's own clock cannot be set. Where a statement asks for it, by a keyword or a function, it is made to ask functions in
//! the schema `palestra` instead, which read a setting of the connection.

use std::collections::BTreeMap;

use crate::script::{Sort, Token, lex};
use crate::value::Dialect;

/// The setting that holds the virtual now.
pub(super) const NOW_SETTING: &str = "palestra.now";

/// The schema `palestra`. Everybody may use what is in it and nobody but the administrator may change it.
pub(super) const SCHEMA: &[&str] = &[
    "CREATE SCHEMA palestra",
    "CREATE FUNCTION palestra.now() RETURNS timestamptz STABLE LANGUAGE sql \
     AS $$ SELECT pg_catalog.current_setting('palestra.now')::pg_catalog.timestamptz $$",
    "CREATE FUNCTION palestra.statement_timestamp() RETURNS timestamptz STABLE LANGUAGE sql AS $$ SELECT palestra.now() $$",
    "CREATE FUNCTION palestra.transaction_timestamp() RETURNS timestamptz STABLE LANGUAGE sql AS $$ SELECT palestra.now() $$",
    "CREATE FUNCTION palestra.clock_timestamp() RETURNS timestamptz STABLE LANGUAGE sql AS $$ SELECT palestra.now() $$",
    "CREATE FUNCTION palestra.\"current_timestamp\"() RETURNS timestamptz STABLE LANGUAGE sql AS $$ SELECT palestra.now() $$",
    "CREATE FUNCTION palestra.\"localtimestamp\"() RETURNS timestamp STABLE LANGUAGE sql AS $$ SELECT palestra.now()::timestamp $$",
    "CREATE FUNCTION palestra.\"current_date\"() RETURNS date STABLE LANGUAGE sql AS $$ SELECT palestra.now()::date $$",
    "CREATE FUNCTION palestra.\"current_time\"() RETURNS timetz STABLE LANGUAGE sql AS $$ SELECT palestra.now()::timetz $$",
    "CREATE FUNCTION palestra.\"localtime\"() RETURNS time STABLE LANGUAGE sql AS $$ SELECT palestra.now()::time $$",
    "CREATE FUNCTION palestra.round_to(digits int) RETURNS timestamptz STABLE LANGUAGE sql \
     AS $$ SELECT pg_catalog.to_timestamp(pg_catalog.round(extract(epoch FROM palestra.now())::numeric, digits)::float8) $$",
    "CREATE FUNCTION palestra.\"current_timestamp\"(int) RETURNS timestamptz STABLE LANGUAGE sql AS $$ SELECT palestra.round_to($1) $$",
    "CREATE FUNCTION palestra.\"localtimestamp\"(int) RETURNS timestamp STABLE LANGUAGE sql \
     AS $$ SELECT palestra.round_to($1)::timestamp $$",
    "CREATE FUNCTION palestra.\"current_time\"(int) RETURNS timetz STABLE LANGUAGE sql AS $$ SELECT palestra.round_to($1)::timetz $$",
    "CREATE FUNCTION palestra.\"localtime\"(int) RETURNS time STABLE LANGUAGE sql AS $$ SELECT palestra.round_to($1)::time $$",
    "CREATE FUNCTION palestra.timeofday() RETURNS text STABLE LANGUAGE sql \
     AS $$ SELECT pg_catalog.to_char(palestra.now(), 'Dy Mon DD HH24:MI:SS.US YYYY TZ') $$",
    "CREATE FUNCTION palestra.age(timestamptz) RETURNS interval STABLE LANGUAGE sql \
     AS $$ SELECT pg_catalog.age(palestra.now()::date::timestamptz, $1) $$",
    "CREATE FUNCTION palestra.age(timestamp) RETURNS interval STABLE LANGUAGE sql \
     AS $$ SELECT pg_catalog.age(palestra.now()::date::timestamp, $1) $$",
    "CREATE FUNCTION palestra.age(timestamptz, timestamptz) RETURNS interval IMMUTABLE LANGUAGE sql AS $$ SELECT pg_catalog.age($1, $2) $$",
    "CREATE FUNCTION palestra.age(timestamp, timestamp) RETURNS interval IMMUTABLE LANGUAGE sql AS $$ SELECT pg_catalog.age($1, $2) $$",
    // Version 4 of RFC 9562 from the connection's seeded generator.
    "CREATE FUNCTION palestra.gen_random_uuid() RETURNS uuid VOLATILE LANGUAGE sql \
     AS $$ SELECT overlay(overlay(pg_catalog.md5(pg_catalog.random()::text || pg_catalog.random()::text) placing '4' from 13) \
     placing pg_catalog.substr('89ab', 1 + pg_catalog.floor(pg_catalog.random() * 4)::int, 1) from 17)::uuid $$",
    "GRANT USAGE ON SCHEMA palestra TO PUBLIC",
];

/// Words that are the time without parentheses.
const KEYWORDS: [&str; 5] = ["CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "LOCALTIME", "LOCALTIMESTAMP"];

/// Functions that have a stand-in in the schema.
const FUNCTIONS: [&str; 7] =
    ["now", "clock_timestamp", "statement_timestamp", "transaction_timestamp", "timeofday", "gen_random_uuid", "age"];

/// Words after which a name with parentheses is no call.
const NO_CALL_AFTER: [&str; 9] = ["INTO", "TABLE", "EXISTS", "REFERENCES", "WITH", "VIEW", "UPDATE", "ONLY", "TYPE"];

/// A statement as it is sent, and what was changed in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rewritten {
    pub(super) sql: String,
    /// Of each replaced piece: where it begins and ends in what is sent and where the original ends, in characters.
    edits: Vec<Edit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Edit {
    start: usize,
    end: usize,
    original_start: usize,
    original_end: usize,
}

impl Rewritten {
    /// Where a place of what is sent is in the original: characters before it.
    pub(super) fn original(&self, position: usize) -> usize {
        match self.edits.iter().rev().find(|edit| edit.start <= position) {
            None => position,
            Some(edit) if position < edit.end => edit.original_start,
            Some(edit) => position - edit.end + edit.original_end,
        }
    }
}

/// A statement that asks for the virtual now where it asked for the time. `bodies` tells whether strings in dollar quotes are code.
pub(super) fn rewrite(sql: &str, tokens: &[Token], bodies: bool) -> Rewritten {
    replace(sql, tokens, |index| replacement(sql, tokens, index, bodies))
}

/// As [`rewrite`], with other strings in place of some, by their tokens.
pub(super) fn rewrite_with(sql: &str, tokens: &[Token], literals: &BTreeMap<usize, String>) -> Rewritten {
    replace(sql, tokens, |index| match literals.get(&index) {
        Some(literal) => Some((tokens[index].start, literal.clone())),
        None => replacement(sql, tokens, index, false),
    })
}

/// A statement in which something stands in for some tokens, from which byte on.
fn replace(sql: &str, tokens: &[Token], replacement: impl Fn(usize) -> Option<(usize, String)>) -> Rewritten {
    let mut out = Rewritten { sql: String::with_capacity(sql.len()), edits: Vec::new() };
    let (mut copied, mut sent_chars, mut original_chars) = (0, 0, 0);
    for (index, token) in tokens.iter().enumerate() {
        let Some((start, replacement)) = replacement(index) else { continue };
        let kept = &sql[copied..start];
        let removed = sql[start..token.end].chars().count();
        sent_chars += kept.chars().count();
        original_chars += kept.chars().count();
        let end = sent_chars + replacement.chars().count();
        let edit =
            Edit { start: sent_chars, end, original_start: original_chars, original_end: original_chars + removed };
        out.edits.push(edit);
        (sent_chars, original_chars) = (end, edit.original_end);
        out.sql.push_str(kept);
        out.sql.push_str(&replacement);
        copied = token.end;
    }
    out.sql.push_str(&sql[copied..]);
    out
}

/// Replacement of a token, and the byte from which it applies.
fn replacement(sql: &str, tokens: &[Token], index: usize, bodies: bool) -> Option<(usize, String)> {
    let token = tokens[index];
    let text = |at: Option<usize>| at.and_then(|at| tokens.get(at)).map_or("", |token| token.text(sql));
    let (before, called) = (text(index.checked_sub(1)), text(Some(index + 1)) == "(");
    match token.sort {
        Sort::Text if bodies && token.text(sql).starts_with('$') => {
            let quoted = token.text(sql);
            let tag = quoted[1..].find('$')? + 2;
            let body = quoted.get(tag..quoted.len().checked_sub(tag)?)?;
            let inner = rewrite(body, &lex(body, Dialect::Postgres), true);
            (!inner.edits.is_empty()).then(|| (token.start, format!("{0}{1}{0}", &quoted[..tag], inner.sql)))
        }
        Sort::Word if KEYWORDS.contains(&&*token.text(sql).to_ascii_uppercase()) => {
            if before == "." || before.eq_ignore_ascii_case("as") {
                return None;
            }
            let call = if called { "" } else { "()" };
            Some((token.start, format!("palestra.\"{}\"{call}", token.text(sql).to_ascii_lowercase())))
        }
        Sort::Word | Sort::Name if called => {
            let name = token.name(sql)?;
            if !FUNCTIONS.contains(&&*name) {
                return None;
            }
            let qualified = before == ".";
            let schema = index.checked_sub(2).and_then(|at| tokens.get(at));
            let start = match schema.filter(|_| qualified) {
                Some(schema) if schema.name(sql).as_deref() == Some("pg_catalog") => schema.start,
                _ if qualified => return None,
                _ if NO_CALL_AFTER.iter().any(|word| before.eq_ignore_ascii_case(word)) => return None,
                _ => token.start,
            };
            Some((start, format!("palestra.{name}")))
        }
        _ => None,
    }
}

/// A moment as the setting holds it.
pub(super) fn moment(now_ms: i64) -> String {
    match jiff::Timestamp::from_millisecond(now_ms) {
        Ok(time) => time.to_string(),
        Err(_) => "1970-01-01T00:00:00Z".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(sql: &str) -> Rewritten {
        rewrite(sql, &lex(sql, Dialect::Postgres), true)
    }

    #[test]
    fn the_time_is_asked_of_our_own_functions() {
        let cases = [
            ("select now(), CURRENT_DATE", "select palestra.now(), palestra.\"current_date\"()"),
            ("select current_timestamp(3)", "select palestra.\"current_timestamp\"(3)"),
            ("select pg_catalog.now ()", "select palestra.now ()"),
            ("select \"now\"()", "select palestra.now()"),
            ("select 1 as current_date, t.current_time", "select 1 as current_date, t.current_time"),
            ("select 'now()', now, \"current_date\" -- now()", "select 'now()', now, \"current_date\" -- now()"),
            ("insert into age (a) values (1)", "insert into age (a) values (1)"),
            (
                "create function f() as $a$ begin return now(); end $a$",
                "create function f() as $a$ begin return palestra.now(); end $a$",
            ),
        ];
        for (sql, expected) in cases {
            assert_eq!(sent(sql).sql, expected);
        }
    }

    #[test]
    fn places_are_mapped_back() {
        let sql = "select 'ä', now(), current_date, wrong";
        let rewritten = sent(sql);
        let wrong = rewritten.sql.chars().count() - 5;
        assert_eq!(rewritten.original(wrong), sql.chars().count() - 5);
        assert_eq!(rewritten.original(0), 0);
        assert_eq!(rewritten.original(14), 12, "inside a replaced name: where the name begins");
    }
}
