//! Tokens of SQL, as far as two dialects' servers agree on where one ends.

use crate::value::Dialect;

/// A token. Comments and white space are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// Kind of token.
    pub sort: Sort,
    /// Bytes before it.
    pub start: usize,
    /// Bytes up to its end.
    pub end: usize,
}

/// Kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// A keyword or a name that is not quoted.
    Word,
    /// A quoted name: `"a"`, and in SQLite `` `a` `` and `[a]`.
    Name,
    /// A string, with its prefix or dollar quotes.
    Text,
    /// A number.
    Number,
    /// `$1`, `?`, `?1`, `:a`, `@a`, `$a`.
    Parameter,
    /// Any other character.
    Symbol,
}

impl Token {
    /// Its text in the SQL from which it comes.
    #[must_use]
    pub fn text<'a>(&self, sql: &'a str) -> &'a str {
        &sql[self.start..self.end]
    }

    /// An unquoted word in capitals.
    #[must_use]
    pub fn word(&self, sql: &str) -> Option<String> {
        (self.sort == Sort::Word).then(|| self.text(sql).to_ascii_uppercase())
    }

    /// Name as PostgreSQL folds it: an unquoted word in lower case, a quoted name without its quotes.
    #[must_use]
    pub fn name(&self, sql: &str) -> Option<String> {
        match self.sort {
            Sort::Word => Some(self.text(sql).to_lowercase()),
            Sort::Name => {
                let text = self.text(sql);
                let inner = text.strip_prefix('"')?;
                Some(inner.strip_suffix('"').unwrap_or(inner).replace("\"\"", "\""))
            }
            _ => None,
        }
    }

    /// Its text without the quotes of either dialect around a name or a string.
    #[must_use]
    pub fn unquoted(&self, sql: &str) -> String {
        let text = self.text(sql);
        let (quote, inner) = match text.chars().next() {
            Some('[') => (']', &text[1..]),
            Some(quote @ ('"' | '`' | '\'')) if matches!(self.sort, Sort::Name | Sort::Text) => (quote, &text[1..]),
            _ => return text.to_owned(),
        };
        let inner = inner.strip_suffix(quote).unwrap_or(inner);
        if quote == ']' { inner.to_owned() } else { inner.replace(&format!("{quote}{quote}"), &quote.to_string()) }
    }
}

/// The tokens of a text. What is never closed reaches to the end.
#[must_use]
pub fn lex(sql: &str, dialect: Dialect) -> Vec<Token> {
    let mut lexer = Lexer { sql: sql.as_bytes(), at: 0, dialect };
    let mut tokens = Vec::new();
    while lexer.skip_blank() {
        let start = lexer.at;
        let sort = lexer.token();
        tokens.push(Token { sort, start, end: lexer.at });
    }
    tokens
}

struct Lexer<'a> {
    sql: &'a [u8],
    at: usize,
    dialect: Dialect,
}

const fn begins_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

const fn continues_word(byte: u8) -> bool {
    begins_word(byte) || byte.is_ascii_digit() || byte == b'$'
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.sql.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn rest(&self) -> &[u8] {
        &self.sql[self.at.min(self.sql.len())..]
    }

    fn postgres(&self) -> bool {
        self.dialect == Dialect::Postgres
    }

    /// Goes to the next token; false at the end.
    fn skip_blank(&mut self) -> bool {
        while self.at < self.sql.len() {
            if self.peek(0).is_ascii_whitespace() || self.peek(0) == 0x0b {
                self.at += 1;
            } else if self.rest().starts_with(b"--") {
                // A carriage return alone ends such a comment in PostgreSQL, and none in SQLite.
                let postgres = self.postgres();
                self.skip_while(|byte| byte != b'\n' && !(postgres && byte == b'\r'));
            } else if self.rest().starts_with(b"/*") {
                self.skip_comment();
            } else {
                return true;
            }
        }
        false
    }

    fn skip_while(&mut self, keep: impl Fn(u8) -> bool) {
        while self.at < self.sql.len() && keep(self.sql[self.at]) {
            self.at += 1;
        }
    }

    /// Comments nest in PostgreSQL.
    fn skip_comment(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.sql.len() {
            if self.rest().starts_with(b"*/") {
                self.at += 2;
                depth -= 1;
                if depth == 0 {
                    return;
                }
            } else if self.rest().starts_with(b"/*") && (depth == 0 || self.postgres()) {
                self.at += 2;
                depth += 1;
            } else {
                self.at += 1;
            }
        }
    }

    fn token(&mut self) -> Sort {
        match self.peek(0) {
            b'\'' => self.quoted(b'\'', false, Sort::Text),
            b'"' => self.quoted(b'"', false, Sort::Name),
            b'`' if !self.postgres() => self.quoted(b'`', false, Sort::Name),
            b'[' if !self.postgres() => {
                self.skip_while(|byte| byte != b']');
                self.at = (self.at + 1).min(self.sql.len());
                Sort::Name
            }
            b'$' if self.postgres() => self.dollar(),
            b'?' if !self.postgres() => self.parameter(),
            b':' | b'@' | b'$' | b'#' if !self.postgres() && continues_word(self.peek(1)) => self.parameter(),
            byte if byte.is_ascii_digit() || byte == b'.' && self.peek(1).is_ascii_digit() => self.number(),
            byte if begins_word(byte) => self.word(),
            _ => {
                self.at += 1;
                Sort::Symbol
            }
        }
    }

    /// A string or name; a doubled quote is a quote.
    fn quoted(&mut self, quote: u8, backslashes: bool, sort: Sort) -> Sort {
        self.at += 1;
        while self.at < self.sql.len() {
            let byte = self.peek(0);
            if backslashes && byte == b'\\' || byte == quote && self.peek(1) == quote {
                self.at += 2;
            } else if byte == quote {
                self.at += 1;
                return sort;
            } else {
                self.at += 1;
            }
        }
        self.stop_at_boundary();
        sort
    }

    /// After an escape at the very end: back to the end of the text, and never into the middle of a character.
    fn stop_at_boundary(&mut self) {
        self.at = self.at.min(self.sql.len());
        while self.at < self.sql.len() && self.sql[self.at] & 0xc0 == 0x80 {
            self.at += 1;
        }
    }

    fn parameter(&mut self) -> Sort {
        self.at += 1;
        self.skip_while(|byte| continues_word(byte) || byte == b':');
        Sort::Parameter
    }

    /// `$1`, or a string between `$tag$` and `$tag$`.
    fn dollar(&mut self) -> Sort {
        if self.peek(1).is_ascii_digit() {
            self.at += 1;
            self.skip_while(|byte| byte.is_ascii_digit());
            return Sort::Parameter;
        }
        let rest = self.rest();
        let tag_bytes = rest[1..].iter().take_while(|byte| continues_word(**byte) && **byte != b'$').count() + 1;
        if rest.get(tag_bytes) != Some(&b'$') {
            self.at += 1;
            return Sort::Symbol;
        }
        let tag = rest[..=tag_bytes].to_vec();
        self.at += tag.len();
        let closing = self.rest().windows(tag.len()).position(|window| window == tag);
        self.at = closing.map_or(self.sql.len(), |bytes| self.at + bytes + tag.len());
        Sort::Text
    }

    fn number(&mut self) -> Sort {
        let hexadecimal = self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X');
        while self.at < self.sql.len() {
            let (byte, next) = (self.peek(0), self.peek(1));
            let exponent = !hexadecimal && matches!(byte, b'e' | b'E');
            if exponent && matches!(next, b'+' | b'-') && self.peek(2).is_ascii_digit() {
                self.at += 2;
            } else if byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.' && next != b'.' {
                self.at += 1;
            } else {
                break;
            }
        }
        Sort::Number
    }

    /// A word, or a string or name with a prefix.
    fn word(&mut self) -> Sort {
        let (first, second, third) = (self.peek(0).to_ascii_lowercase(), self.peek(1), self.peek(2));
        if second == b'\'' && (self.postgres() && matches!(first, b'e' | b'b' | b'n') || first == b'x') {
            self.at += 1;
            return self.quoted(b'\'', first == b'e', Sort::Text);
        }
        if self.postgres() && first == b'u' && second == b'&' && matches!(third, b'\'' | b'"') {
            self.at += 2;
            let sort = if third == b'"' { Sort::Name } else { Sort::Text };
            return self.quoted(third, false, sort);
        }
        self.skip_while(continues_word);
        Sort::Word
    }
}
