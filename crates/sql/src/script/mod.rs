//! SQL text as a list of statements: where each one begins and ends, and what it is called. Nothing is checked; what an engine
//! would refuse is left for it to refuse.

mod lex;

pub use lex::{Sort, Token, lex};

use crate::value::Dialect;

/// An identifier in double quotes, as both dialects read it whatever it holds.
#[must_use]
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A statement of a script, without the semicolon that ends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement<'a> {
    /// From its first token to its last.
    pub text: &'a str,
    /// Bytes of the script before it.
    pub start: usize,
    /// Characters of the script before it.
    pub start_chars: usize,
    /// Its tokens; their places count from the beginning of `text`.
    pub tokens: Vec<Token>,
}

/// The statements of a script. Empty ones are left out; a semicolon in a string, a comment, a dollar quote, parentheses (PostgreSQL)
/// or the body of a trigger or function ends none.
#[must_use]
pub fn split(sql: &str, dialect: Dialect) -> Vec<Statement<'_>> {
    let mut statements = Vec::new();
    let mut chars = Chars { sql, byte: 0, count: 0 };
    let mut current: Vec<Token> = Vec::new();
    let mut depth = Depth::default();
    for token in lex(sql, dialect) {
        let ends = token.text(sql) == ";" && token.sort == Sort::Symbol && !depth.holds(sql, &current, dialect);
        if ends {
            depth = Depth::default();
            finish(sql, &mut current, &mut chars, &mut statements);
        } else {
            depth.follow(sql, token, &current, dialect);
            current.push(token);
        }
    }
    finish(sql, &mut current, &mut chars, &mut statements);
    statements
}

fn finish<'a>(sql: &'a str, current: &mut Vec<Token>, chars: &mut Chars<'_>, statements: &mut Vec<Statement<'a>>) {
    let mut tokens = std::mem::take(current);
    let (Some(first), Some(last)) = (tokens.first().copied(), tokens.last().copied()) else { return };
    for token in &mut tokens {
        token.start -= first.start;
        token.end -= first.start;
    }
    let start_chars = chars.before(first.start);
    statements.push(Statement { text: &sql[first.start..last.end], start: first.start, start_chars, tokens });
}

/// Counts characters forward, so that a long script is gone through once.
struct Chars<'a> {
    sql: &'a str,
    byte: usize,
    count: usize,
}

impl Chars<'_> {
    fn before(&mut self, byte: usize) -> usize {
        self.count += self.sql[self.byte..byte].chars().count();
        self.byte = byte;
        self.count
    }
}

/// SQL without what makes no difference: white space, comments, the case of what is not quoted (in SQLite of any name), quotes around
/// plain names, a semicolon at the end.
#[must_use]
pub fn plain(sql: &str, dialect: Dialect) -> String {
    let word = |token: &Token| match token.sort {
        Sort::Word => token.text(sql).to_lowercase(),
        Sort::Name => {
            let name = token.unquoted(sql);
            let letters = |letter: char| {
                letter == '_' || letter.is_alphanumeric() && (dialect == Dialect::Sqlite || !letter.is_uppercase())
            };
            let simple = !name.is_empty() && name.chars().all(letters);
            if simple { name.to_lowercase() } else { token.text(sql).to_owned() }
        }
        _ => token.text(sql).to_owned(),
    };
    let words: Vec<String> = lex(sql, dialect).iter().map(word).collect();
    words.join(" ").trim_end_matches([' ', ';']).to_owned()
}

/// Open constructs of a statement, within which a semicolon does not end it.
#[derive(Debug, Default)]
struct Depth {
    parentheses: usize,
    /// PostgreSQL: `BEGIN ATOMIC` and the `CASE`s in it.
    bodies: usize,
    /// SQLite: the `BEGIN` of a trigger was seen.
    trigger: bool,
}

impl Depth {
    fn follow(&mut self, sql: &str, token: Token, before: &[Token], dialect: Dialect) {
        let text = token.text(sql);
        match token.sort {
            Sort::Symbol if text == "(" => self.parentheses += 1,
            Sort::Symbol if text == ")" => self.parentheses = self.parentheses.saturating_sub(1),
            Sort::Word if dialect == Dialect::Sqlite => {
                self.trigger |=
                    text.eq_ignore_ascii_case("begin") && creates(sql, before, dialect, &["CREATE TRIGGER"]);
            }
            Sort::Word if text.eq_ignore_ascii_case("begin") => {
                let routines = ["CREATE FUNCTION", "CREATE PROCEDURE"];
                self.bodies += usize::from(creates(sql, before, dialect, &routines));
            }
            Sort::Word if self.bodies > 0 && text.eq_ignore_ascii_case("case") => self.bodies += 1,
            Sort::Word if self.bodies > 0 && text.eq_ignore_ascii_case("end") => self.bodies -= 1,
            _ => {}
        }
    }

    /// True if a semicolon now is a part of the statement.
    fn holds(&self, sql: &str, before: &[Token], dialect: Dialect) -> bool {
        match dialect {
            Dialect::Postgres => self.parentheses > 0 || self.bodies > 0,
            Dialect::Sqlite if self.trigger => {
                let mut last = before.iter().rev().map(|token| token.text(sql));
                let ended =
                    last.next().is_some_and(|text| text.eq_ignore_ascii_case("end")) && last.next() == Some(";");
                !ended
            }
            Dialect::Sqlite => false,
        }
    }
}

/// Words between `CREATE` and what is created.
const MODIFIERS: [&str; 13] = [
    "OR",
    "REPLACE",
    "TEMP",
    "TEMPORARY",
    "GLOBAL",
    "LOCAL",
    "UNLOGGED",
    "UNIQUE",
    "RECURSIVE",
    "VIRTUAL",
    "CONSTRAINT",
    "TRUSTED",
    "PROCEDURAL",
];

impl Statement<'_> {
    /// Keyword of the statement, in capitals: `SELECT`, `CREATE TABLE`, `ALTER TABLE`, `DROP MATERIALIZED VIEW`. A statement
    /// that begins with `WITH` has the name of its main part; one in parentheses that of what is in them.
    #[must_use]
    pub fn name(&self, dialect: Dialect) -> String {
        name_of(self.text, &self.tokens, dialect)
    }

    /// The words that are not quoted, in capitals.
    pub fn words(&self) -> impl Iterator<Item = String> + '_ {
        self.tokens.iter().filter_map(|token| token.word(self.text))
    }
}

/// Tokens at the beginning of `CREATE` that may say what is created.
const CREATE_TOKENS_MAX: usize = 12;

/// True if a statement that begins like this creates one of these. Looks at a few tokens only, since every word may ask.
fn creates(sql: &str, tokens: &[Token], dialect: Dialect, what: &[&str]) -> bool {
    let creates = tokens.first().is_some_and(|first| first.text(sql).eq_ignore_ascii_case("create"));
    let beginning = &tokens[..tokens.len().min(CREATE_TOKENS_MAX)];
    creates && what.contains(&&*name_of(sql, beginning, dialect))
}

fn name_of(sql: &str, tokens: &[Token], dialect: Dialect) -> String {
    let skipped = tokens.iter().position(|token| token.text(sql) != "(").unwrap_or(tokens.len());
    let tokens = &tokens[skipped..];
    let Some(first) = tokens.first().and_then(|token| token.word(sql)) else { return String::new() };
    let second = || tokens.get(1).and_then(|token| token.word(sql)).unwrap_or_default();
    match &*first {
        "WITH" => main_verb(sql, tokens).unwrap_or(first),
        "CREATE" | "ALTER" | "DROP" => {
            let mut words = tokens[1..].iter().map_while(|token| token.word(sql));
            let modifier = |word: &String| first == "CREATE" && MODIFIERS.contains(&&**word);
            let what = words.by_ref().find(|word| !modifier(word)).unwrap_or_default();
            let two_words = matches!(
                &*what,
                "MATERIALIZED" | "FOREIGN" | "EVENT" | "ACCESS" | "TEXT" | "OPERATOR" | "DEFAULT" | "USER" | "LARGE"
            );
            let more = words.next().filter(|_| two_words && dialect == Dialect::Postgres);
            [Some(first), Some(what), more].into_iter().flatten().collect::<Vec<_>>().join(" ").trim_end().to_owned()
        }
        "SET" if matches!(&*second(), "CONSTRAINTS" | "TRANSACTION" | "ROLE" | "SESSION" | "LOCAL") => {
            format!("SET {}", second())
        }
        "START" | "PREPARE" if second() == "TRANSACTION" => format!("{first} TRANSACTION"),
        _ => first,
    }
}

/// The verb after the common table expressions of `WITH`.
fn main_verb(sql: &str, tokens: &[Token]) -> Option<String> {
    let mut depth = 0_usize;
    let outside = tokens.iter().filter(|token| {
        match token.text(sql) {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    });
    let verb = |word: &String| {
        matches!(&**word, "SELECT" | "VALUES" | "TABLE" | "INSERT" | "UPDATE" | "DELETE" | "MERGE" | "REPLACE")
    };
    outside.filter_map(|token| token.word(sql)).find(verb)
}

#[cfg(test)]
mod tests;
