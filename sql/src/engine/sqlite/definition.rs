//! What SQLite keeps of a definition in no other form than the statement that was written.

use sqlparser::dialect::SQLiteDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

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
    fn an_index_has_terms_and_perhaps_a_condition() {
        let parts = index_parts(
            "CREATE UNIQUE INDEX i ON t (a, lower(b) DESC, coalesce(c, 'x,y')) WHERE a > 1 AND b IN (1, 2)",
        );
        assert_eq!(parts.columns, ["a", "lower(b)", "coalesce(c, 'x,y')"]);
        assert_eq!(parts.condition.as_deref(), Some("a > 1 AND b IN (1, 2)"));
        assert_eq!(index_parts("CREATE INDEX i ON t(a)").condition, None);
    }
}
