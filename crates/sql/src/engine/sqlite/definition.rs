//! Facts that SQLite keeps only in the text of a definition.

use std::collections::BTreeMap;

use crate::engine::SchemaDetailKind;
use crate::script::{self, Sort, Token, lex};
use crate::value::Dialect;

/// The expressions of the CHECK constraints of a CREATE TABLE, as they were written.
pub(super) fn checks(sql: &str) -> Vec<String> {
    let tokens = tokens(sql);
    let after = |at: usize| parenthesised(sql, &tokens[at + 1..]).map(|inner| written(sql, inner));
    (0..tokens.len()).filter(|at| is_word(sql, tokens[*at], "CHECK")).filter_map(after).collect()
}

/// Columns or expressions of a CREATE INDEX, and its condition, as they were written.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct IndexParts {
    pub(super) columns: Vec<String>,
    pub(super) condition: Option<String>,
}

/// Parts of a CREATE INDEX.
pub(super) fn index_parts(sql: &str) -> IndexParts {
    let tokens = tokens(sql);
    let Some(open) = tokens.iter().position(|token| is_symbol(sql, *token, "(")) else { return IndexParts::default() };
    let Some(inner) = parenthesised(sql, &tokens[open..]) else { return IndexParts::default() };
    let rest = &tokens[open + inner.len() + 2..];
    let condition = rest.iter().position(|token| is_word(sql, *token, "WHERE")).map(|at| written(sql, &rest[at + 1..]));
    IndexParts { columns: split_at_commas(sql, inner).map(|term| expression_of_term(sql, term)).collect(), condition }
}

/// Options of a CREATE TABLE that SQLite shows nowhere else: collations, what happens on conflicts, references that wait for the end
/// of a transaction, how rows are kept and numbered.
pub(super) fn options(sql: &str) -> Vec<(SchemaDetailKind, String)> {
    let words = tokens(sql);
    let mut found: BTreeMap<(SchemaDetailKind, String), usize> = BTreeMap::new();
    let mut depth = 0_usize;
    for (at, token) in words.iter().enumerate() {
        match token.text(sql) {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is = |word: &str| is_word(sql, *token, word);
        let follows = |word: &str| words.get(at + 1).is_some_and(|next| is_word(sql, *next, word));
        let next = || words.get(at + 1).map(|next| next.text(sql).to_lowercase()).unwrap_or_default();
        let option = if is("KEY") && follows("DESC") {
            // Such a key of a column is no name of the row: it takes NULL and texts, and numbers nothing.
            "has a key that descends".to_owned()
        } else if is("COLLATE") {
            format!("collates {}", next())
        } else if is("CONFLICT") {
            format!("on conflict {}", next())
        } else if is("INITIALLY") {
            format!("initially {}", next())
        } else if depth == 0 && is("WITHOUT") && follows("ROWID") {
            "has no rowid".to_owned()
        } else if depth == 0 && is("STRICT") {
            "is strict".to_owned()
        } else if depth == 0 && is("VIRTUAL") {
            "is virtual".to_owned()
        } else if is("AUTOINCREMENT") {
            *found.entry((SchemaDetailKind::Numbered, "numbers its rows".to_owned())).or_default() += 1;
            continue;
        } else {
            continue;
        };
        *found.entry((SchemaDetailKind::Other, option)).or_default() += 1;
    }
    found.into_iter().map(|((sort, words), count)| (sort, format!("{words} ({count} times)"))).collect()
}

/// Words of which the condition and the body of a trigger that only refuses are made, beside columns of `NEW` and `OLD`: nothing that
/// reads a table, the time or chance.
const REFUSING: [&str; 27] = [
    "FOR", "EACH", "ROW", "WHEN", "BEGIN", "END", "SELECT", "WHERE", "RAISE", "ABORT", "NEW", "OLD", "AND", "OR",
    "NOT", "NULL", "IS", "ISNULL", "NOTNULL", "BETWEEN", "IN", "CASE", "THEN", "ELSE", "COALESCE", "IFNULL", "NULLIF",
];

/// True if a CREATE TRIGGER can only refuse, by the row alone that changes: its body is made of SELECT alone, which changes nothing, and
/// raises errors and no pretence. What could be read in two ways does not.
pub(super) fn only_refuses(sql: &str) -> bool {
    let tokens = tokens(sql);
    let is = |at: usize, word: &str| is_word(sql, tokens[at], word);
    let positions = |word: &'static str| (0..tokens.len()).filter(move |at| is(*at, word)).collect::<Vec<_>>();
    let [begin] = positions("BEGIN")[..] else { return false };
    let Some(on) = positions("ON").into_iter().find(|at| *at < begin) else { return false };
    let ends = tokens.last().is_some_and(|last| is_word(sql, *last, "END"));
    // The table's name stands first.
    let known = |at: usize| match tokens[at].sort {
        Sort::Word | Sort::Name => {
            let of_row = at >= 2 && is_symbol(sql, tokens[at - 1], ".") && (is(at - 2, "NEW") || is(at - 2, "OLD"));
            of_row || REFUSING.iter().any(|word| is(at, word))
        }
        // After these, what looks like a string is the name of a column or a table.
        Sort::Text => !is_symbol(sql, tokens[at - 1], ".") && !is(at - 1, "IN"),
        Sort::Number | Sort::Symbol => true,
        Sort::Parameter => false,
    };
    if !ends || !(on + 2..tokens.len()).all(known) {
        return false;
    }
    let body = &tokens[begin + 1..tokens.len() - 1];
    let statements = body.split(|token| is_symbol(sql, *token, ";")).filter(|tokens| !tokens.is_empty());
    let mut statements = statements.peekable();
    let raises = |statement: &[Token]| statement.iter().any(|token| is_word(sql, *token, "RAISE"));
    statements.peek().is_some() && statements.all(|statement| is_word(sql, statement[0], "SELECT") && raises(statement))
}

/// A definition without what makes no difference: white space, comments, the case of what is not quoted.
pub(super) fn plain(sql: &str) -> String {
    script::plain(sql, Dialect::Sqlite)
}

/// An indexed term without its order.
fn expression_of_term(sql: &str, term: &[Token]) -> String {
    let ordered = term.last().is_some_and(|last| is_word(sql, *last, "ASC") || is_word(sql, *last, "DESC"));
    written(sql, &term[..term.len() - usize::from(ordered)])
}

fn split_at_commas<'a>(sql: &'a str, tokens: &'a [Token]) -> impl Iterator<Item = &'a [Token]> {
    let mut depth = 0_usize;
    tokens.split(move |token| {
        match token.text(sql) {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && is_symbol(sql, *token, ",")
    })
}

/// Tokens between the parenthesis with which they begin and the one that closes it.
fn parenthesised<'a>(sql: &str, tokens: &'a [Token]) -> Option<&'a [Token]> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.text(sql) {
            "(" => depth += 1,
            ")" if depth == 1 => return Some(&tokens[1..at]),
            ")" => depth = depth.checked_sub(1)?,
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

fn tokens(sql: &str) -> Vec<Token> {
    lex(sql, Dialect::Sqlite)
}

fn is_word(sql: &str, token: Token, word: &str) -> bool {
    token.sort == Sort::Word && token.text(sql).eq_ignore_ascii_case(word)
}

fn is_symbol(sql: &str, token: Token, symbol: &str) -> bool {
    token.sort == Sort::Symbol && token.text(sql) == symbol
}

fn written(sql: &str, tokens: &[Token]) -> String {
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => sql[first.start..last.end].to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_found_wherever_they_stand() {
        let sql = "CREATE TABLE t (a INTEGER CHECK (a > 0 AND (a < 10)), \"check\" TEXT DEFAULT 'CHECK (x)' -- CHECK (no)\n, \
                   CONSTRAINT c CHECK(length(\"check\") <> ')' ) )";
        assert_eq!(checks(sql), ["a > 0 AND (a < 10)", "length(\"check\") <> ')'"]);
        assert_eq!(checks("CREATE TABLE t (a)"), Vec::<String>::new());
    }

    #[test]
    fn options_of_a_table_are_found_and_counted() {
        let sql = "CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT, b TEXT COLLATE NOCASE UNIQUE ON CONFLICT REPLACE, \
                   c TEXT COLLATE nocase, \"strict\" TEXT DEFAULT 'COLLATE x') STRICT";
        let words: Vec<String> = options(sql).into_iter().map(|(_, words)| words).collect();
        assert_eq!(
            words,
            [
                "numbers its rows (1 times)",
                "collates nocase (2 times)",
                "is strict (1 times)",
                "on conflict replace (1 times)"
            ]
        );
        assert_eq!(plain("CREATE  TRIGGER x -- why\n BEGIN Select 1; END"), "create trigger x begin select 1 ; end");
    }

    /// A comment may hold an apostrophe, and SQLite ends one that begins with hyphens at no carriage return.
    #[test]
    fn comments_hide_nothing() {
        let sql = "CREATE TABLE t (a INTEGER CHECK (a > 0 /* ' */ AND b < 5 /* ' */), b -- \r ' CHECK (no)\n, CHECK (b > 1)) /* never closed";
        assert_eq!(checks(sql), ["a > 0 /* ' */ AND b < 5", "b > 1"]);
        assert_eq!(plain("a /* ' */ AND -- \r '\n b"), "a and b");
    }

    #[test]
    fn a_trigger_that_changes_or_pretends_does_not_only_refuse() {
        let of =
            |body: &str| only_refuses(&format!("CREATE TRIGGER x BEFORE INSERT ON t WHEN NEW.a > 1 BEGIN {body} END"));
        assert!(of("SELECT raise(ABORT, 'no');"));
        assert!(of("SELECT RAISE(ABORT, 'no') WHERE NEW.b > 1; -- END\n select raise(abort, 'no; END');"));
        // These leave half of a statement done, or undo what was done before it.
        assert!(!of("SELECT RAISE(FAIL, 'no');") && !of("SELECT RAISE(ROLLBACK, 'no');"));
        assert!(!of("SELECT RAISE(IGNORE);"));
        assert!(!of("DELETE FROM t; SELECT RAISE(ABORT, 'no');"));
        assert!(!of("SELECT 1;"));
        assert!(of("SELECT CASE WHEN NEW.a < NEW.\"b\" THEN RAISE(ABORT, 'no') END;"));
        // What it does depends on other rows, on the time, on chance, or on the number of the row.
        assert!(!of("SELECT RAISE(ABORT, 'no') WHERE EXISTS (SELECT 1 FROM t);"));
        assert!(!of("SELECT RAISE(ABORT, 'no') WHERE CURRENT_DATE > '2026';"));
        assert!(!of("SELECT RAISE(ABORT, 'no') WHERE random() > 0;"));
        assert!(!of("SELECT RAISE(ABORT, 'no') WHERE 't'.'a' > 0;"));
        assert!(!of("SELECT RAISE(ABORT, 'no') WHERE NEW.a IN 't';"));
        assert!(!of(""));
        // A name that looks like a body, and comments in it.
        assert!(!only_refuses(
            "CREATE TRIGGER \"x BEGIN SELECT RAISE(ABORT, 1); --\" BEFORE INSERT ON t BEGIN DELETE FROM t; END"
        ));
        assert!(!only_refuses("CREATE TRIGGER begin BEFORE INSERT ON t BEGIN SELECT RAISE(ABORT, 1); END"));
    }

    #[test]
    fn an_index_has_terms_and_perhaps_a_condition() {
        let parts = index_parts(
            "CREATE UNIQUE INDEX i ON t (a, lower(b) DESC, coalesce(c, 'x,y')) WHERE a > 1 AND b IN (1, 2)",
        );
        assert_eq!(parts.columns, ["a", "lower(b)", "coalesce(c, 'x,y')"]);
        assert_eq!(parts.condition.as_deref(), Some("a > 1 AND b IN (1, 2)"));
        assert_eq!(index_parts("CREATE INDEX i ON t(a)").condition, None);
    }
}
