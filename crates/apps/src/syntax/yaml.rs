//! YAML, less all that makes it treacherous: no anchors, tags or merge keys, no key twice, one document, and bounds.
//!
//! Reader of the part of YAML that means the same to every reader of YAML 1.2. JSON is part of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span};

use crate::fault::{Fault, Faults, Position};

use super::cursor::Cursor;
use super::node::{Content, Key, Node, Style};
use super::{MAX_FAULTS, scalar, shown};

/// Bytes of one file.
pub const MAX_FILE_BYTES: usize = 4 << 20;
/// Lists and maps inside each other.
pub const MAX_DEPTH: usize = 32;
/// Values in one file: scalars, lists and maps.
pub const MAX_NODES: usize = 200_000;
/// Commas and opening brackets in one file, those in text included: the parser holds a collection in brackets in memory as
/// a whole before it tells of its first value.
pub const MAX_BRACKETS: usize = 300_000;
/// Bytes of one key or scalar.
pub const MAX_SCALAR_BYTES: usize = 64 << 10;

/// The root of a file; null when the file holds nothing.
///
/// # Errors
/// Every fault up to the first from which there is no going on, and at most [`MAX_FAULTS`].
pub fn parse(file_name: &str, text: &str) -> Result<Node, Faults> {
    let mut builder = Builder {
        file: Arc::from(file_name),
        faults: Faults::new(),
        open: Vec::new(),
        root: None,
        documents: 0,
        nodes: 0,
    };
    if let Err(fatal) = builder.read(text) {
        builder.faults.push(fatal);
    }
    if !builder.faults.is_empty() {
        return Err(builder.faults);
    }
    let position = builder.place(1, 0);
    Ok(builder.root.unwrap_or(Node { position, value: Content::Null, style: Style::STRUCTURE }))
}

/// Puts nodes together from what the parser meets. An `Err` is a fault from which there is no going on.
struct Builder {
    file: Arc<str>,
    faults: Faults,
    /// The lists and maps that are not closed yet, the root first.
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    nodes: usize,
}

struct Open {
    position: Position,
    collection: Collection,
}

enum Collection {
    List(Vec<Node>),
    Map {
        entries: Vec<(Key, Node)>,
        names: BTreeSet<Arc<str>>,
        /// The key whose value comes next.
        key: Option<Key>,
    },
}

impl Builder {
    fn read(&mut self, text: &str) -> Result<(), Fault> {
        if text.len() > MAX_FILE_BYTES {
            return Err(
                self.fault(self.place(1, 0), format!("the file has more than {MAX_FILE_BYTES} bytes: split it"))
            );
        }
        if text.bytes().filter(|byte| matches!(byte, b'[' | b'{' | b',')).count() > MAX_BRACKETS {
            let message = format!("the file has more than {MAX_BRACKETS} commas and opening brackets: split it");
            return Err(self.fault(self.place(1, 0), message));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        self.refuse_unprintable(text)?;
        self.refuse_directives(text)?;
        let mut cursor = Cursor::new(text);
        for event in Parser::new_from_str(text) {
            match event {
                Ok((event, span)) => self.take(event, span, &mut cursor)?,
                Err(error) => {
                    return Err(
                        self.fault(self.at(*error.marker()), format!("this is not YAML, correct it: {}", error.info()))
                    );
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, event: Event<'_>, span: Span, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let position = self.at(span.start);
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(self.fault(
                        position,
                        "a file holds one document: move the other one to a file of its own".to_owned(),
                    ));
                }
                Ok(())
            }
            Event::Alias(_) => {
                self.report(position.clone(), "aliases are not supported: write the value out".to_owned())?;
                self.add(Node { position, value: Content::Null, style: Style::STRUCTURE })
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_properties(&position, anchor, tag.is_some())?;
                let written = cursor.seek(span.start.line(), span.start.col());
                self.scalar(position, &text, style, written)
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse_properties(&position, anchor, tag.is_some())?;
                self.open(position, Collection::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_properties(&position, anchor, tag.is_some())?;
                let map = Collection::Map { entries: Vec::new(), names: BTreeSet::new(), key: None };
                self.open(position, map)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    fn open(&mut self, position: Position, collection: Collection) -> Result<(), Fault> {
        if matches!(self.open.last(), Some(Open { collection: Collection::Map { key: None, .. }, .. })) {
            return Err(self.fault(position, "a key must be text, and this is a list or a map".to_owned()));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(
                self.fault(position, format!("lists and maps are nested more than {MAX_DEPTH} deep: simplify them"))
            );
        }
        self.open.push(Open { position, collection });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Fault> {
        let Some(Open { position, collection }) = self.open.pop() else { return Ok(()) };
        let value = match collection {
            Collection::List(elements) => Content::List(elements),
            Collection::Map { entries, .. } => Content::Map(entries),
        };
        self.add(Node { position, value, style: Style::STRUCTURE })
    }

    fn scalar(&mut self, position: Position, text: &str, style: ScalarStyle, written: &str) -> Result<(), Fault> {
        if text.len() > MAX_SCALAR_BYTES {
            return Err(self.fault(position, format!("the text has more than {MAX_SCALAR_BYTES} bytes: shorten it")));
        }
        if text.chars().any(is_unprintable) {
            self.report(position.clone(), "the text holds a control character: remove it".to_owned())?;
        }
        let is_plain = style == ScalarStyle::Plain;
        if let Some(Open { collection: Collection::Map { names, key: key @ None, .. }, .. }) = self.open.last_mut() {
            let text: Arc<str> = Arc::from(text);
            let is_new = names.insert(text.clone());
            *key = Some(Key { text: text.clone(), position: position.clone() });
            if is_plain && let Err(message) = scalar::plain_key(&text) {
                return self.report(position, message);
            }
            return if is_new { Ok(()) } else { self.report_repetition(position, &text) };
        }
        if is_plain && is_cut_at_comma(text, written) {
            let message = format!("`{}` ends at the comma: inside brackets, quote what holds one", shown(text));
            self.report(position.clone(), message)?;
        }
        let value = if is_plain { scalar::plain(text) } else { Ok(Content::Text(Arc::from(text))) };
        let value = match value {
            Ok(value) => value,
            Err(message) => {
                self.report(position.clone(), message)?;
                Content::Null
            }
        };
        let inset = if matches!(value, Content::Text(_)) { inset(text, style, written) } else { None };
        self.add(Node { position, value, style: Style { quoted: !is_plain, inset } })
    }

    /// Puts a finished node where it belongs.
    fn add(&mut self, node: Node) -> Result<(), Fault> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(self.fault(node.position, format!("the file has more than {MAX_NODES} values: split it")));
        }
        match self.open.last_mut().map(|open| &mut open.collection) {
            None => self.root = Some(node),
            Some(Collection::List(elements)) => elements.push(node),
            Some(Collection::Map { entries, key, .. }) => match key.take() {
                Some(key) => entries.push((key, node)),
                // An alias in the place of a key, which is reported: its value takes the next turn.
                None => *key = Some(Key { text: Arc::from(""), position: node.position }),
            },
        }
        Ok(())
    }

    fn report_repetition(&mut self, position: Position, name: &str) -> Result<(), Fault> {
        let first = match self.open.last().map(|open| &open.collection) {
            Some(Collection::Map { entries, .. }) => entries.iter().find(|(key, _)| &*key.text == name),
            _ => None,
        };
        let first = first.map_or_else(String::new, |(key, _)| format!(" (the first is at {})", key.position));
        self.report(position, format!("the key `{}` stands here twice: leave one out{first}", shown(name)))
    }

    fn refuse_properties(&mut self, position: &Position, anchor: usize, has_tag: bool) -> Result<(), Fault> {
        if anchor != 0 {
            self.report(
                position.clone(),
                "anchors are not supported: write the value out where it is used".to_owned(),
            )?;
        }
        if has_tag {
            self.report(position.clone(), "tags are not supported: quote what is text".to_owned())?;
        }
        Ok(())
    }

    fn refuse_unprintable(&self, text: &str) -> Result<(), Fault> {
        let found = Cursor::new(text).find(|c| is_unprintable(c) || c == '\u{feff}');
        let Some((line, column, character)) = found else { return Ok(()) };
        let message = format!("the file holds the control character {}: remove it", character.escape_unicode());
        Err(self.fault(self.place(line, column), message))
    }

    /// The parser accepts any version and skips directives that it does not know.
    fn refuse_directives(&self, text: &str) -> Result<(), Fault> {
        let prologue = text.lines().enumerate().take_while(|(_, line)| {
            let content = line.trim_start();
            content.is_empty() || content.starts_with('#') || line.starts_with('%')
        });
        for (index, line) in prologue.filter(|(_, line)| line.starts_with('%')) {
            let mut words = line.split_whitespace().take_while(|word| !word.starts_with('#'));
            if (words.next(), words.next(), words.next()) != (Some("%YAML"), Some("1.2"), None) {
                return Err(self
                    .fault(self.place(index + 1, 0), "the only directive is `%YAML 1.2`: remove this one".to_owned()));
            }
        }
        Ok(())
    }

    /// Notes a fault and goes on, unless there are too many.
    fn report(&mut self, position: Position, message: String) -> Result<(), Fault> {
        let fault = self.fault(position, message);
        if self.faults.len() + 1 >= MAX_FAULTS {
            return Err(fault);
        }
        self.faults.push(fault);
        Ok(())
    }

    fn fault(&self, position: Position, message: String) -> Fault {
        Fault { position, path: self.path(), message }
    }

    /// Where in the structure the builder stands.
    fn path(&self) -> String {
        let mut path = String::new();
        for Open { collection, .. } in &self.open {
            match collection {
                Collection::List(elements) => path.push_str(&format!("[{}]", elements.len())),
                Collection::Map { key: Some(key), .. } => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(&shown(&key.text));
                }
                Collection::Map { .. } => {}
            }
        }
        path
    }

    fn at(&self, marker: Marker) -> Position {
        self.place(marker.line(), marker.col())
    }

    /// A position from a line counted from 1 and a column counted from 0.
    fn place(&self, line: usize, column: usize) -> Position {
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Position { file: self.file.clone(), line: narrow(line), column: narrow(column + 1) }
    }
}

/// See [`Style::inset`]; `written` is the file from the scalar on.
fn inset(text: &str, style: ScalarStyle, written: &str) -> Option<u32> {
    let quote = match style {
        ScalarStyle::Plain => return written.starts_with(text).then_some(0),
        ScalarStyle::SingleQuoted => '\'',
        ScalarStyle::DoubleQuoted => '"',
        ScalarStyle::Literal | ScalarStyle::Folded => return None,
    };
    written.strip_prefix(quote)?.strip_prefix(text)?.starts_with(quote).then_some(1)
}

/// True if a plain scalar inside brackets lost the rest of its arguments: `{price: int(1, 9)}` holds a price of `int(1` and
/// a key `9)`.
fn is_cut_at_comma(text: &str, written: &str) -> bool {
    text.matches('(').count() > text.matches(')').count()
        && written.strip_prefix(text).is_some_and(|rest| rest.trim_start().starts_with(','))
}

/// Control characters but for tabs and ends of lines, and what is no character at all.
fn is_unprintable(character: char) -> bool {
    match character {
        '\t' | '\n' | '\r' => false,
        '\u{fffe}' | '\u{ffff}' => true,
        other => other.is_control(),
    }
}
