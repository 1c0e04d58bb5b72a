//! Reads SQL into syntax trees, whoever wrote it.
//!
//! A tree is as deep as the longest chain of operators in its text, and whatever walks, prints or drops it recurses as deep. The
//! parser bounds how deep its own recursion goes, which such chains do not need: `1 + 1 + ...` is read in a loop. So the levels are
//! counted before anything is parsed, and a tree lives only within a call that was given the stack for them.

use sqlparser::ast::{Expr, Query, Statement};
use sqlparser::dialect::{Dialect as Grammar, PostgreSqlDialect, SQLiteDialect};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use crate::value::Dialect;

/// Bytes of a text that is read: more than an action may hold.
pub(crate) const BYTES_MAX: usize = 512 << 10;
/// Levels of a tree: as many as SQLite allows an expression.
pub(crate) const LEVELS_MAX: usize = 1_000;
/// Levels of a reference, whose tree is copied and walked through for each way of changing it.
pub(crate) const REFERENCE_LEVELS_MAX: usize = 250;
/// Stack for whatever does not depend on the levels.
const STACK_BASE: usize = 256 << 10;
/// Stack for each level, some times over what changing a query takes that recurses deepest: 60 KiB without optimisation. What is not
/// used costs nothing. The library makes more stack for its own walks where little is left, which is not enough for who is called back.
const STACK_OF_LEVEL: usize = if cfg!(debug_assertions) { 256 << 10 } else { 64 << 10 };

/// Reason why a text is not read. That does not mean that an engine would not run it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("the SQL is too long to be read: it must have at most {BYTES_MAX} bytes, and has {0}")]
    Long(usize),
    #[error(
        "the SQL is nested too deeply to be read: operators and brackets must make at most {most} levels, and make {levels}"
    )]
    Deep { levels: usize, most: usize },
    #[error("{0}")]
    Syntax(String),
}

/// Checks whether a reference is within the bounds for reading, whatever it says.
///
/// # Errors
/// [`Unreadable::Long`] and [`Unreadable::Deep`]; [`Unreadable::Syntax`] where it does not even fall into tokens.
pub(crate) fn check_reference(sql: &str, dialect: Dialect) -> Result<(), Unreadable> {
    tokens(sql, grammar(dialect), REFERENCE_LEVELS_MAX).map(|_| ())
}

/// Applies `look` to the statements of a text.
///
/// # Errors
/// Where it cannot be read.
pub(crate) fn statements<T>(
    sql: &str,
    dialect: Dialect,
    look: impl FnOnce(Vec<Statement>) -> T,
) -> Result<T, Unreadable> {
    within(sql, dialect, LEVELS_MAX, look)
}

/// Applies `look` to the query of a reference; `None` where it is anything else than one query, or cannot be read.
pub(crate) fn reference<T>(sql: &str, dialect: Dialect, look: impl FnOnce(Query) -> T) -> Option<T> {
    let look = |statements: Vec<Statement>| match <[Statement; 1]>::try_from(statements) {
        Ok([Statement::Query(query)]) => Some(look(*query)),
        _ => None,
    };
    within(sql, dialect, REFERENCE_LEVELS_MAX, look).ok().flatten()
}

fn within<T>(
    sql: &str,
    dialect: Dialect,
    levels_max: usize,
    look: impl FnOnce(Vec<Statement>) -> T,
) -> Result<T, Unreadable> {
    let grammar = grammar(dialect);
    let (tokens, levels) = tokens(sql, grammar, levels_max)?;
    let stack = STACK_BASE + levels * STACK_OF_LEVEL;
    stacker::maybe_grow(stack, stack, || {
        let parsed = Parser::new(grammar).with_tokens_with_locations(tokens).parse_statements();
        parsed.map(look).map_err(|error| Unreadable::Syntax(error.to_string()))
    })
}

/// The expression that a text is, for whoever has the stack for it: who was given a tree and puts this in its place.
///
/// # Errors
/// Where it cannot be read.
pub(crate) fn expression(text: &str, dialect: Dialect) -> Result<Expr, Unreadable> {
    let grammar = grammar(dialect);
    let (tokens, _) = tokens(text, grammar, LEVELS_MAX)?;
    let parsed = Parser::new(grammar).with_tokens_with_locations(tokens).parse_expr();
    parsed.map_err(|error| Unreadable::Syntax(error.to_string()))
}

fn grammar(dialect: Dialect) -> &'static dyn Grammar {
    match dialect {
        Dialect::Sqlite => &SQLiteDialect {},
        Dialect::Postgres => &PostgreSqlDialect {},
    }
}

/// The tokens of a text and the levels that its tree may have, within the bounds.
fn tokens(sql: &str, grammar: &dyn Grammar, levels_max: usize) -> Result<(Vec<TokenWithSpan>, usize), Unreadable> {
    if sql.len() > BYTES_MAX {
        return Err(Unreadable::Long(sql.len()));
    }
    let tokens = Tokenizer::new(grammar, sql).tokenize_with_location();
    let tokens = tokens.map_err(|error| Unreadable::Syntax(error.to_string()))?;
    let levels = levels(tokens.iter().map(|token| &token.token));
    if levels > levels_max { Err(Unreadable::Deep { levels, most: levels_max }) } else { Ok((tokens, levels)) }
}

/// Largest depth of the tree of these tokens. Every level takes a token that is neither a name nor a literal, and what stands side by
/// side (in a list, or around `AND` and `OR`, which bind more loosely than anything else in an expression) does not add up.
fn levels<'t>(tokens: impl Iterator<Item = &'t Token>) -> usize {
    let mut open = vec![Enclosed::new(Bracket::Text)];
    for token in tokens {
        let innermost = open.len() - 1;
        match (token, word(token)) {
            (Token::LParen | Token::LBracket | Token::LBrace, _) => {
                open[innermost].operators += 1;
                open.push(Enclosed::new(Bracket::Symbol));
            }
            (_, Some(Keyword::CASE)) => {
                open[innermost].operators += 1;
                open.push(Enclosed::new(Bracket::Case));
            }
            (Token::RParen | Token::RBracket | Token::RBrace, _) => {
                if let Some(opened) = open.iter().rposition(|enclosed| enclosed.bracket == Bracket::Symbol) {
                    close(&mut open, opened);
                }
            }
            (_, Some(Keyword::END)) if open[innermost].bracket == Bracket::Case => close(&mut open, innermost),
            (Token::Comma | Token::SemiColon, _) => open[innermost].next_item(),
            (_, Some(Keyword::WHEN | Keyword::THEN | Keyword::ELSE)) if open[innermost].bracket == Bracket::Case => {
                open[innermost].next_item();
            }
            (_, Some(Keyword::AND | Keyword::OR | Keyword::XOR)) => open[innermost].next_operand(),
            (_, Some(Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::MINUS)) => {
                open[innermost].sets += 1;
            }
            (_, Some(_)) => open[innermost].operators += 1,
            (Token::Word(_) | Token::Whitespace(_) | Token::Period | Token::EOF, None) => {}
            _ if is_literal(token) => {}
            _ => open[innermost].operators += 1,
        }
    }
    close(&mut open, 1);
    open[0].levels()
}

/// Closes what was opened, from the innermost to the one at this place.
fn close(open: &mut Vec<Enclosed>, place: usize) {
    while open.len() > place.max(1)
        && let Some(inner) = open.pop()
        && let Some(outer) = open.last_mut()
    {
        outer.within = outer.within.max(inner.levels());
    }
}

fn word(token: &Token) -> Option<Keyword> {
    match token {
        Token::Word(word) => Some(word.keyword).filter(|keyword| *keyword != Keyword::NoKeyword),
        _ => None,
    }
}

const fn is_literal(token: &Token) -> bool {
    matches!(
        token,
        Token::Number(..)
            | Token::Char(_)
            | Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::DollarQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::SingleQuotedByteStringLiteral(_)
            | Token::Placeholder(_)
    )
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bracket {
    /// Nothing: all of the text.
    Text,
    /// `(`, `[` or `{`.
    Symbol,
    /// `CASE`, which `END` closes.
    Case,
}

/// Counts between two brackets.
struct Enclosed {
    bracket: Bracket,
    /// `UNION` and its like, which tie lists together.
    sets: usize,
    /// `AND` and `OR` of the list's item.
    connectives: usize,
    /// Everything else in the operand.
    operators: usize,
    /// Levels of the deepest brackets in the operand.
    within: usize,
    /// Levels of the item's deepest operand before this one.
    operand: usize,
    /// Levels of the deepest item before this one.
    item: usize,
}

impl Enclosed {
    const fn new(bracket: Bracket) -> Self {
        Self { bracket, sets: 0, connectives: 0, operators: 0, within: 0, operand: 0, item: 0 }
    }

    fn next_operand(&mut self) {
        self.operand = self.operand.max(self.operators + self.within);
        (self.operators, self.within) = (0, 0);
        self.connectives += 1;
    }

    fn next_item(&mut self) {
        self.item = self.item.max(self.connectives + self.operand.max(self.operators + self.within));
        (self.connectives, self.operators, self.within, self.operand) = (0, 0, 0, 0);
    }

    fn levels(&self) -> usize {
        let last = self.connectives + self.operand.max(self.operators + self.within);
        self.sets + self.item.max(last)
    }
}

#[cfg(test)]
pub(crate) mod tests;
