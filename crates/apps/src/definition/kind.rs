//! Types as they are written: `opt ref member null`, `list 1..20 {item: ref item, count: int 1..9}`.

use std::sync::Arc;

use super::Name;
use crate::syntax::nearest;
use crate::syntax::node::Key;
use crate::syntax::read::{At, MAX_IDENTIFIER, check_identifier};

/// Least and most as they are written, each of which may be left out.
pub type WrittenBounds = (Option<Arc<str>>, Option<Arc<str>>);

/// A type as it is written, with bounds.
#[derive(Debug, Clone)]
pub struct KindDefinition {
    /// The type.
    pub kind: Kind,
    /// True if null is allowed.
    pub opt: bool,
    /// Least and most, as written: of the value, or of the length of text and lists.
    pub bounds: Option<WrittenBounds>,
    /// Its position.
    pub name: Name,
}

/// Type.
#[derive(Debug, Clone)]
pub enum Kind {
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `text`
    Text,
    /// `date`
    Date,
    /// `instant`
    Instant,
    /// `duration`
    Duration,
    /// `money EUR`
    Money(Arc<str>),
    /// `dec 2`
    Decimal(u8),
    /// `enum low high`
    Enum(Vec<Arc<str>>),
    /// `ref table`
    Ref(Name),
    /// `list TYPE`
    List(Box<KindDefinition>),
    /// `{name: TYPE}`, as elements of lists of parameters alone
    Record(Vec<(Name, KindDefinition)>),
}

/// Parts of a type with flags: the type, and the words behind it.
pub(super) struct TypeAndFlags {
    pub(super) kind: KindDefinition,
    pub(super) flags: Vec<Arc<str>>,
    pub(super) default: Option<Arc<str>>,
}

impl Name {
    /// The name of a map's entry.
    pub(super) fn of_key(key: &Key, at: &At<'_>) -> Self {
        Self { text: Arc::clone(&key.text), position: key.position.clone(), path: Arc::clone(at.path()) }
    }

    /// A name that stands at a place.
    pub(super) fn read(at: &At<'_>) -> Option<Self> {
        Some(Self::at(at.text_within(MAX_IDENTIFIER)?, at))
    }

    /// A place by the name `text`.
    pub(super) fn at(text: Arc<str>, at: &At<'_>) -> Self {
        Self { text, position: at.position().clone(), path: Arc::clone(at.path()) }
    }
}

impl KindDefinition {
    /// Reads a type with bounds and nothing behind it.
    pub(super) fn read(at: &At<'_>) -> Option<Self> {
        let spelled = spelled(at)?;
        if let Some(flag) = spelled.flags.first() {
            at.fault(format!("`{flag}` has no meaning here: remove it"));
            return None;
        }
        if spelled.default.is_some() {
            at.fault("there is no default here");
            return None;
        }
        Some(spelled.kind)
    }
}

/// Reads `[opt] TYPE [bounds] [flags] [= default]`.
pub(super) fn spelled(at: &At<'_>) -> Option<TypeAndFlags> {
    let text = at.text_within(500)?;
    let (head, default) = match split_default(&text) {
        None => (&*text, None),
        Some((head, default)) => (head, Some(Arc::from(default.trim()))),
    };
    let mut words = match tokens(head) {
        Ok(words) => words.into_iter().peekable(),
        Err(message) => {
            at.fault(message);
            return None;
        }
    };
    let name = Name::at(Arc::clone(&text), at);
    match kind(&mut words, &name) {
        Ok(kind) => Some(TypeAndFlags { kind, flags: words.map(Arc::from).collect(), default }),
        Err(message) => {
            at.fault(message);
            None
        }
    }
}

/// Splits at the first `=` outside braces.
fn split_default(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_u32;
    for (index, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '=' if depth == 0 => return Some((&text[..index], &text[index + 1..])),
            _ => {}
        }
    }
    None
}

/// Words, with `{...}` as one of them.
fn tokens(text: &str) -> Result<Vec<&str>, String> {
    let mut words = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = if rest.starts_with('{') {
            rest.rfind('}').map(|index| index + 1).ok_or_else(|| "a brace is not closed: add `}`".to_owned())?
        } else {
            rest.find(|letter: char| letter.is_whitespace() || letter == '{').unwrap_or(rest.len())
        };
        words.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    Ok(words)
}

type Words<'t> = std::iter::Peekable<std::vec::IntoIter<&'t str>>;

/// Flags behind a column's type.
pub(super) const FLAGS: [&str; 7] = ["unique", "index", "volatile", "secret", "restrict", "cascade", "null"];

fn kind(words: &mut Words<'_>, name: &Name) -> Result<KindDefinition, String> {
    let opt = words.next_if_eq(&"opt").is_some();
    let word = words.next().ok_or("a type is missing: write one, such as int")?;
    let mut early = None;
    let kind = match word {
        "bool" => Kind::Bool,
        "int" => Kind::Int,
        "text" => Kind::Text,
        "date" => Kind::Date,
        "instant" => Kind::Instant,
        "duration" => Kind::Duration,
        "money" => {
            let currency = words.next().filter(|code| code.len() == 3 && code.bytes().all(|b| b.is_ascii_uppercase()));
            Kind::Money(currency.ok_or("money takes a currency of three letters: `money EUR`")?.into())
        }
        "dec" => {
            let scale = words.next().and_then(|digits| digits.parse().ok()).filter(|scale| (1..=9).contains(scale));
            Kind::Decimal(scale.ok_or("dec takes 1 to 9 digits behind the point: `dec 2`")?)
        }
        "enum" => {
            let mut values: Vec<Arc<str>> = Vec::new();
            while let Some(value) = words.next_if(|word| !FLAGS.contains(word)) {
                if values.iter().any(|known| **known == *value) {
                    return Err(format!("the word `{value}` stands twice in the enum: leave one out"));
                }
                values.push(value.into());
            }
            if values.is_empty() {
                return Err("an enum takes words: `enum low high`".to_owned());
            }
            Kind::Enum(values)
        }
        "ref" => {
            let table = words.next().ok_or("ref takes a table: `ref member`")?;
            Kind::Ref(Name { text: table.into(), ..name.clone() })
        }
        "list" => {
            early = bounds(words)?;
            Kind::List(Box::new(element(words, name)?))
        }
        other => {
            let known =
                ["bool", "int", "text", "date", "instant", "duration", "money", "dec", "enum", "ref", "list", "opt"];
            return Err(match nearest(other, known) {
                Some(near) => format!("`{other}` is no type; did you mean `{near}`?"),
                None => format!("`{other}` is no type: write one of {}", known.join(", ")),
            });
        }
    };
    let bounds = if early.is_some() { early } else { bounds(words)? };
    Ok(KindDefinition { kind, opt, bounds, name: name.clone() })
}

/// Type of a list's elements: a type, or a record in braces.
fn element(words: &mut Words<'_>, name: &Name) -> Result<KindDefinition, String> {
    let Some(record) = words.next_if(|word| word.starts_with('{')) else {
        let mut element = kind(words, name)?;
        // Bounds behind the element's type are those of the element, as in `list 1..5 int 1..9`.
        if matches!(element.kind, Kind::List(_)) || element.opt {
            return Err("the elements of a list cannot be `opt` or lists: use a plain type or a record".to_owned());
        }
        element.name = name.clone();
        return Ok(element);
    };
    let inner = record.trim_start_matches('{').trim_end_matches('}');
    let mut fields: Vec<(Name, KindDefinition)> = Vec::new();
    for part in inner.split(',').filter(|part| !part.trim().is_empty()) {
        let (field, spelled) = part.split_once(':').ok_or("a field is written `name: type`")?;
        check_identifier(field.trim(), &[])?;
        if fields.iter().any(|(known, _)| *known.text == *field.trim()) {
            return Err(format!("the field `{}` stands twice: leave one out", field.trim()));
        }
        let mut inner = tokens(spelled)?.into_iter().peekable();
        let read = kind(&mut inner, name)?;
        if let Some(rest) = inner.next() {
            return Err(format!("`{rest}` has no meaning here: remove it"));
        }
        fields.push((Name { text: field.trim().into(), ..name.clone() }, read));
    }
    if fields.is_empty() {
        return Err("a record has at least one field".to_owned());
    }
    Ok(KindDefinition { kind: Kind::Record(fields), opt: false, bounds: None, name: name.clone() })
}

fn bounds(words: &mut Words<'_>) -> Result<Option<WrittenBounds>, String> {
    let Some(range) = words.next_if(|word| word.contains("..")) else { return Ok(None) };
    let (low, high) = range.split_once("..").unwrap_or((range, ""));
    let end = |text: &str| (!text.is_empty()).then(|| Arc::from(text));
    if low.is_empty() && high.is_empty() {
        return Err("`..` has no bounds: write `1..20`, `1..` or `..20`".to_owned());
    }
    Ok(Some((end(low), end(high))))
}
