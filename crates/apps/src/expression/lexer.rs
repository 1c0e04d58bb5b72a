//! Cuts a source into tokens.

use super::Wrong;
use super::syntax::Literal;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Name(String),
    /// Without a sign, so that the smallest number can be written.
    Int(u64),
    /// Digits without the point, and how many of them stand behind it.
    Decimal(u64, u8),
    Text(Literal),
    /// An operator or a bracket.
    Symbol(&'static str),
    End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// In characters from the start of the source.
    pub(super) offset: usize,
    pub(super) kind: Kind,
}

impl Token {
    /// Name in a message.
    pub(super) fn describe(&self) -> String {
        match &self.kind {
            Kind::Name(name) => format!("`{name}`"),
            Kind::Int(number) => format!("`{number}`"),
            Kind::Decimal(..) => "a number".to_owned(),
            Kind::Text(_) => "a text".to_owned(),
            Kind::Symbol(symbol) => format!("`{symbol}`"),
            Kind::End => "the end".to_owned(),
        }
    }
}

/// Longer ones first, so that `<=` is not read as `<`.
const SYMBOLS: [&str; 27] = [
    "&&", "||", "==", "!=", "<=", ">=", "??", "?.", "?", ":", "<", ">", "!", "+", "-", "*", "/", "%", "(", ")", "[",
    "]", "{", "}", ",", ".", "=",
];

/// The tokens of a source, with [`Kind::End`] last.
pub(super) fn tokens(source: &str) -> Result<Vec<Token>, Wrong> {
    let letters: Vec<char> = source.chars().collect();
    let mut lexer = Lexer { letters: &letters, at: 0 };
    let mut tokens = Vec::new();
    loop {
        while lexer.peek().is_some_and(char::is_whitespace) {
            lexer.at += 1;
        }
        let offset = lexer.at;
        let Some(letter) = lexer.peek() else {
            tokens.push(Token { offset, kind: Kind::End });
            return Ok(tokens);
        };
        let kind = match letter {
            'a'..='z' | 'A'..='Z' | '_' => {
                Kind::Name(lexer.take_while(|letter| letter.is_ascii_alphanumeric() || letter == '_'))
            }
            '0'..='9' => lexer.number()?,
            '\'' | '"' => Kind::Text(lexer.text(letter)?),
            _ => Kind::Symbol(lexer.symbol()?),
        };
        tokens.push(Token { offset, kind });
    }
}

struct Lexer<'a> {
    letters: &'a [char],
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let from = self.at;
        while self.peek().is_some_and(&wanted) {
            self.at += 1;
        }
        self.letters[from..self.at].iter().collect()
    }

    fn number(&mut self) -> Result<Kind, Wrong> {
        let offset = self.at;
        let too_long =
            || Wrong { offset, message: "this number needs more than 64 bits: use a smaller one".to_owned() };
        let whole = self.take_while(|letter| letter.is_ascii_digit());
        let point = self.peek() == Some('.') && self.letters.get(self.at + 1).is_some_and(char::is_ascii_digit);
        let kind = if point {
            self.at += 1;
            let part = self.take_while(|letter| letter.is_ascii_digit());
            let scale = u8::try_from(part.len()).map_err(|_| too_long())?;
            Kind::Decimal(format!("{whole}{part}").parse().map_err(|_| too_long())?, scale)
        } else {
            Kind::Int(whole.parse().map_err(|_| too_long())?)
        };
        if let Some(letter) = self.peek().filter(|letter| letter.is_alphabetic() || *letter == '_') {
            let message = format!("`{letter}` cannot follow a number directly: put an operator between them");
            return Err(Wrong { offset: self.at, message });
        }
        Ok(kind)
    }

    fn text(&mut self, quote: char) -> Result<Literal, Wrong> {
        let start = self.at;
        self.at += 1;
        let (mut text, mut escaped) = (String::new(), false);
        loop {
            let offset = self.at;
            let Some(letter) = self.peek() else {
                return Err(Wrong { offset: start, message: format!("this text has no closing {quote}: add it") });
            };
            self.at += 1;
            if letter == quote {
                return Ok(Literal { text, escaped });
            }
            if letter != '\\' {
                text.push(letter);
                continue;
            }
            escaped = true;
            text.push(match self.peek() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some(same @ ('\\' | '\'' | '"')) => same,
                _ => {
                    return Err(Wrong {
                        offset,
                        message: r#"after a backslash one of n t r \ ' " is expected"#.to_owned(),
                    });
                }
            });
            self.at += 1;
        }
    }

    fn symbol(&mut self) -> Result<&'static str, Wrong> {
        let rest = &self.letters[self.at..];
        let symbol = SYMBOLS.into_iter().find(|symbol| {
            symbol.chars().count() <= rest.len() && symbol.chars().zip(rest).all(|(left, right)| left == *right)
        });
        let advice = match (symbol, rest.first().copied()) {
            (Some("="), _) => "`=` assigns nothing here: compare with `==`".to_owned(),
            (Some(symbol), _) => {
                self.at += symbol.len();
                return Ok(symbol);
            }
            (None, Some(letter @ ('&' | '|'))) => format!("`{letter}` means nothing here: write `{letter}{letter}`"),
            (None, Some('$')) => "`${...}` belongs into a template: write tpl('...')".to_owned(),
            (None, Some(letter)) => format!("`{}` means nothing here: remove it, or quote text", letter.escape_debug()),
            (None, None) => "the expression ends here: write the rest of it".to_owned(),
        };
        Err(Wrong { offset: self.at, message: advice })
    }
}
