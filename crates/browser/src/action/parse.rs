//! Actions as BrowserGym writes them: one call in the syntax of Python, with literals for arguments.

use serde_json::{Map, Number, Value};

use super::Action;
use super::tools::parameters;

/// Longest text of an action, in bytes.
const TEXT_BYTES_MAX: usize = 100_000;
/// Deepest list in a list.
const DEPTH_MAX: usize = 8;

/// A text is no action.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SyntaxError(String);

/// Reads one action, such as `click('a51')`. Comments and white space around it are passed over.
///
/// # Errors
/// In words, with the place.
pub fn parse(text: &str) -> Result<Action, SyntaxError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(SyntaxError(format!("the action is longer than {TEXT_BYTES_MAX} bytes: write a shorter one")));
    }
    let mut reader = Reader { text, at: 0 };
    reader.skip_space();
    let name = reader.word()?;
    let Some(names) = parameters(name) else {
        return Err(SyntaxError(format!("there is no action {name}: use one of those that the tools name")));
    };
    let arguments = reader.arguments(name, names)?;
    reader.skip_space();
    if reader.at < text.len() {
        return Err(reader.wrong("one action at a time"));
    }
    Action::of_call(name, &arguments).map_err(SyntaxError)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn wrong(&self, wanted: &str) -> SyntaxError {
        let found: String = self.rest().chars().take(20).collect();
        SyntaxError(format!(
            "character {}: {wanted}, but there stands {found:?}; write one call such as click('a51')",
            self.text[..self.at].chars().count() + 1
        ))
    }

    fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn take(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn word(&mut self) -> Result<&'t str, SyntaxError> {
        let rest = self.rest();
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len());
        if end == 0 || rest.starts_with(|letter: char| letter.is_ascii_digit()) {
            return Err(self.wrong("the name of an action belongs here"));
        }
        self.at += end;
        Ok(&rest[..end])
    }

    /// Arguments by place and by name, in parentheses.
    fn arguments(&mut self, action: &str, names: &[&str]) -> Result<Map<String, Value>, SyntaxError> {
        let mut arguments = Map::new();
        let mut by_name = false;
        if !self.take("(") {
            return Err(self.wrong("an opening parenthesis belongs here"));
        }
        while !self.take(")") {
            let (name, value) = match self.name_before_equals() {
                Some(name) => {
                    by_name = true;
                    (name, self.value(0)?)
                }
                None if by_name => return Err(self.wrong("arguments by place come before those by name")),
                None => {
                    let place = arguments.len();
                    let name = names.get(place).copied();
                    let value = self.value(0)?;
                    let most = names.len();
                    (name.ok_or_else(|| SyntaxError(format!("{action} takes at most {most} arguments")))?, value)
                }
            };
            if !names.contains(&name) {
                return Err(SyntaxError(format!("{action} has no argument {name}: use {}", names.join(", "))));
            }
            if arguments.insert(name.to_owned(), value).is_some() {
                return Err(SyntaxError(format!("{action} was given {name} twice: give it once")));
            }
            if !self.take(",") && !self.rest().starts_with(')') {
                return Err(self.wrong("a comma or a closing parenthesis belongs here"));
            }
        }
        // None stands for what is left out.
        arguments.retain(|_, value| !value.is_null());
        Ok(arguments)
    }

    fn name_before_equals(&mut self) -> Option<&'t str> {
        self.skip_space();
        let start = self.at;
        let name = self.word().ok();
        if name.is_some() && self.take("=") {
            return name;
        }
        self.at = start;
        None
    }

    fn value(&mut self, depth: usize) -> Result<Value, SyntaxError> {
        self.skip_space();
        let first = self.rest().chars().next();
        match first {
            _ if depth > DEPTH_MAX => Err(self.wrong("lists are too deep here")),
            Some('\'' | '"') => self.strings().map(Value::String),
            Some('[') => self.list('[', ']', depth),
            Some('(') => self.list('(', ')', depth),
            Some('-' | '+' | '.' | '0'..='9') => self.number(),
            _ => match self.word() {
                Ok("True") => Ok(Value::Bool(true)),
                Ok("False") => Ok(Value::Bool(false)),
                Ok("None") => Ok(Value::Null),
                _ => Err(self.wrong("a text in quotes, a number, a list, True, False or None belongs here")),
            },
        }
    }

    fn list(&mut self, open: char, close: char, depth: usize) -> Result<Value, SyntaxError> {
        self.at += open.len_utf8();
        let mut items = Vec::new();
        while !self.take(&close.to_string()) {
            items.push(self.value(depth + 1)?);
            if !self.take(",") && !self.rest().starts_with(close) {
                return Err(self.wrong("a comma or the end of the list belongs here"));
            }
        }
        Ok(Value::Array(items))
    }

    fn number(&mut self) -> Result<Value, SyntaxError> {
        let rest = self.rest();
        let is_part = |letter: char| letter.is_ascii_digit() || "+-.eE_".contains(letter);
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let digits = rest[..end].replace('_', "");
        let digits = digits.strip_prefix('+').unwrap_or(&digits);
        let whole = digits.parse::<i64>().ok().map(Number::from);
        let number = whole.or_else(|| digits.parse::<f64>().ok().and_then(Number::from_f64));
        let number = number.ok_or_else(|| self.wrong("a number belongs here"))?;
        self.at += end;
        Ok(Value::Number(number))
    }

    /// Texts that follow each other are one.
    fn strings(&mut self) -> Result<String, SyntaxError> {
        let mut text = String::new();
        while self.rest().starts_with(['\'', '"']) {
            self.string(&mut text)?;
            self.skip_space();
        }
        Ok(text)
    }

    fn string(&mut self, text: &mut String) -> Result<(), SyntaxError> {
        let start = self.at;
        let quote = if self.rest().starts_with('"') { "\"" } else { "'" };
        let long = quote.repeat(3);
        let end = if self.rest().starts_with(&long) { long.as_str() } else { quote };
        self.at += end.len();
        loop {
            if self.rest().starts_with(end) {
                self.at += end.len();
                return Ok(());
            }
            let letter = self.rest().chars().next();
            match letter {
                Some('\\') => self.escape(text)?,
                Some('\n') if end.len() == 1 => return Err(self.wrong("the text must end before the line does")),
                Some(letter) => {
                    text.push(letter);
                    self.at += letter.len_utf8();
                }
                None => {
                    self.at = start;
                    return Err(self.wrong("the text has no end"));
                }
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), SyntaxError> {
        let letter = self.rest().chars().nth(1);
        let plain = match letter {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('0') => '\0',
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('v') => '\u{b}',
            Some(letter @ ('\\' | '\'' | '"')) => letter,
            Some('\n') => {
                self.at += 2;
                return Ok(());
            }
            Some('x') => return self.numbered(text, 2),
            Some('u') => return self.numbered(text, 4),
            Some('U') => return self.numbered(text, 8),
            // Python leaves what it does not know as it is.
            Some(_) => {
                text.push('\\');
                self.at += 1;
                return Ok(());
            }
            None => return Err(self.wrong("a letter belongs behind the backslash")),
        };
        text.push(plain);
        self.at += 2;
        Ok(())
    }

    fn numbered(&mut self, text: &mut String, digits: usize) -> Result<(), SyntaxError> {
        let number = self.rest().get(2..2 + digits).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let letter = number.and_then(char::from_u32);
        text.push(letter.ok_or_else(|| self.wrong("the number of a letter belongs here"))?);
        self.at += 2 + digits;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::{Button, Modifier, OneOrMore};

    #[test]
    fn calls_are_read_as_python_reads_them() {
        let text = |text: &str| text.to_owned();
        for (call, action) in [
            (
                "click('48', button=\"middle\", modifiers=[\"Shift\"])",
                Action::Click { bid: text("48"), button: Button::Middle, modifiers: vec![Modifier::Shift] },
            ),
            (
                "# first\n  fill( 'a12' , \"with \\\"quotes\\\"\\n\" , True, ) # last",
                Action::Fill { bid: text("a12"), value: text("with \"quotes\"\n"), enable_autocomplete_menu: true },
            ),
            (
                "select_option('c48', [\"red\", 'gre' 'en',])",
                Action::SelectOption { bid: text("c48"), options: OneOrMore::More(vec![text("red"), text("green")]) },
            ),
            ("scroll(-50.2, -100.5)", Action::Scroll { delta_x: -50.2, delta_y: -100.5 }),
            ("noop()", Action::Noop { wait_ms: 1_000.0 }),
            ("noop(500)", Action::Noop { wait_ms: 500.0 }),
            ("go_back()", Action::GoBack {}),
            ("tab_focus(index=2)", Action::TabFocus { index: 2 }),
            ("send_msg_to_user('''two\nlines\\u00e9\\d''')", Action::SendMsgToUser { text: text("two\nlinesé\\d") }),
            ("dialog_accept(None)", Action::DialogAccept { text: None }),
        ] {
            assert_eq!(parse(call), Ok(action), "{call}");
        }
    }

    #[test]
    fn what_is_no_action_is_told_with_its_place() {
        for (call, why) in [
            ("", "name of an action"),
            ("fly('a')", "no action fly"),
            ("click", "opening parenthesis"),
            ("click('1'", "comma or a closing parenthesis"),
            ("click('1)", "no end"),
            ("click(bid='1', '2')", "before those by name"),
            ("click('1', 'left', [], 'x')", "at most 3"),
            ("click('1', bid='2')", "twice"),
            ("click('1', key='2')", "no argument key"),
            ("click(1)", "click: invalid type"),
            ("click()", "missing field `bid`"),
            ("click('1') click('2')", "one action at a time"),
            ("__import__('os').system('id')", "no action __import__"),
            ("click(open('x'))", "True, False or None"),
            ("scroll(1, nan)", "belongs here"),
            ("select_option('1', [[[[[[[[[[['x']]]]]]]]]]])", "too deep"),
        ] {
            let told = parse(call).expect_err(call).to_string();
            assert!(told.contains(why), "{call}: {told}");
        }
    }
}
