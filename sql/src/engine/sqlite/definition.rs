//! What SQLite keeps of a definition in no other form than the statement that was written.

use std::collections::BTreeMap;

use sqlparser::dialect::SQLiteDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

use crate::engine::ParticularSort;

/// The expressions of the CHECK constraints of a CREATE TABLE, as they were written.
pub(super) fn checks(sql: &str) -> Vec<String> {
    let tokens = tokens(sql);
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        if is_word(&tokens[at], "CHECK")
            && let Some(inner) = parenthesised(&tokens[at + 1..])
        {
            found.push(written(inner));
        }
    }
    found
}

/// Columns or expressions of a CREATE INDEX, and its condition, as they were written.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct IndexParts {
    pub(super) columns: Vec<String>,
    pub(super) condition: Option<String>,
}

/// What a CREATE INDEX is made of.
pub(super) fn index_parts(sql: &str) -> IndexParts {
    let tokens = tokens(sql);
    let Some(open) = tokens.iter().position(|token| *token == Token::LParen) else { return IndexParts::default() };
    let Some(inner) = parenthesised(&tokens[open..]) else { return IndexParts::default() };
    let rest = &tokens[open + inner.len() + 2..];
    let condition = rest.iter().position(|token| is_word(token, "WHERE")).map(|at| written(&rest[at + 1..]));
    IndexParts { columns: split_at_commas(inner).map(expression_of_term).collect(), condition }
}

/// What a CREATE TABLE says that SQLite tells nowhere else: collations, what happens on conflicts, how rows are kept and numbered.
pub(super) fn options(sql: &str) -> Vec<(ParticularSort, String)> {
    let all = tokens(sql);
    let words: Vec<&Token> = all.iter().filter(|token| !matches!(token, Token::Whitespace(_))).collect();
    let mut found: BTreeMap<(ParticularSort, String), usize> = BTreeMap::new();
    let mut depth = 0_usize;
    for (at, token) in words.iter().enumerate() {
        match token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        let follows = |word: &str| words.get(at + 1).is_some_and(|next| is_word(next, word));
        let next = || words.get(at + 1).map(|next| next.to_string().to_lowercase()).unwrap_or_default();
        let option = if is_word(token, "COLLATE") {
            format!("collates {}", next())
        } else if is_word(token, "CONFLICT") {
            format!("on conflict {}", next())
        } else if depth == 0 && is_word(token, "WITHOUT") && follows("ROWID") {
            "has no rowid".to_owned()
        } else if depth == 0 && is_word(token, "STRICT") {
            "is strict".to_owned()
        } else if depth == 0 && is_word(token, "VIRTUAL") {
            "is virtual".to_owned()
        } else if is_word(token, "AUTOINCREMENT") {
            *found.entry((ParticularSort::Numbered, "numbers its rows".to_owned())).or_default() += 1;
            continue;
        } else {
            continue;
        };
        *found.entry((ParticularSort::Other, option)).or_default() += 1;
    }
    found.into_iter().map(|((sort, words), count)| (sort, format!("{words} ({count} times)"))).collect()
}

/// Whether a CREATE TRIGGER can only refuse: its body is made of SELECT alone, which changes nothing, and raises errors and no pretence.
/// What could be read in two ways does not.
pub(super) fn only_refuses(sql: &str) -> bool {
    let tokens: Vec<Token> =
        tokens(sql).into_iter().filter(|token| !matches!(token, Token::Whitespace(_) | Token::EOF)).collect();
    let count = |word: &str| tokens.iter().filter(|token| is_word(token, word)).count();
    let Some(begin) = tokens.iter().position(|token| is_word(token, "BEGIN")) else { return false };
    let ends = tokens.last().is_some_and(|last| is_word(last, "END"));
    if count("BEGIN") != 1 || count("END") != 1 || !ends || tokens.iter().any(|token| is_word(token, "IGNORE")) {
        return false;
    }
    let body = &tokens[begin + 1..tokens.len() - 1];
    let mut statements = body.split(|token| *token == Token::SemiColon).filter(|tokens| !tokens.is_empty()).peekable();
    let raises = |statement: &[Token]| statement.iter().any(|token| is_word(token, "RAISE"));
    statements.peek().is_some() && statements.all(|statement| is_word(&statement[0], "SELECT") && raises(statement))
}

/// A definition without what makes no difference: white space, comments, the case of what is not quoted.
pub(super) fn plain(sql: &str) -> String {
    let words = tokens(sql).into_iter().filter(|token| !matches!(token, Token::Whitespace(_)));
    let word = |token: Token| match token {
        Token::Word(word) if word.value.chars().all(|letter| letter.is_alphanumeric() || letter == '_') => {
            word.value.to_lowercase()
        }
        other => other.to_string(),
    };
    words.map(word).collect::<Vec<_>>().join(" ")
}

/// An indexed term without its order.
fn expression_of_term(term: &[Token]) -> String {
    let last = term.iter().rposition(|token| !matches!(token, Token::Whitespace(_)));
    let end = last.filter(|at| is_word(&term[*at], "ASC") || is_word(&term[*at], "DESC")).unwrap_or(term.len());
    written(&term[..end])
}

fn split_at_commas(tokens: &[Token]) -> impl Iterator<Item = &[Token]> {
    let mut depth = 0_usize;
    tokens.split(move |token| {
        match token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && *token == Token::Comma
    })
}

/// What stands between the parenthesis with which the tokens begin, but for white space, and the one that closes it.
fn parenthesised(tokens: &[Token]) -> Option<&[Token]> {
    let open = tokens.iter().position(|token| !matches!(token, Token::Whitespace(_)))?;
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 1 => return Some(&tokens[open + 1..at]),
            Token::RParen => depth -= 1,
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

fn tokens(sql: &str) -> Vec<Token> {
    Tokenizer::new(&SQLiteDialect {}, sql).with_unescape(false).tokenize().unwrap_or_default()
}

fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(found) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
}

fn written(tokens: &[Token]) -> String {
    tokens.iter().map(Token::to_string).collect::<String>().trim().to_owned()
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

    #[test]
    fn a_trigger_that_changes_or_pretends_does_not_only_refuse() {
        let of =
            |body: &str| only_refuses(&format!("CREATE TRIGGER x BEFORE INSERT ON t WHEN NEW.a > 1 BEGIN {body} END"));
        assert!(of("SELECT raise(ABORT, 'no');"));
        assert!(of("SELECT RAISE(FAIL, 'no') WHERE NEW.b > 1; -- END\n select raise(abort, 'no; END');"));
        assert!(!of("SELECT RAISE(IGNORE);"));
        assert!(!of("DELETE FROM t; SELECT RAISE(ABORT, 'no');"));
        assert!(!of("SELECT 1;"));
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
