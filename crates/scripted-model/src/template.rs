//! Texts into which parts of the request are inserted: `{last}`, `{1}`, `{name}`.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

/// `{{name}}`, which stands for `{name}`, and `{name}`.
static PLACE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{\{(\w+)\}\}|\{(\w+)\}").expect("a constant that tests read"));
/// The name that stands for the text of the last message.
const LAST: &str = "last";

/// The groups that the conditions of a rule have.
pub(crate) struct Groups {
    names: Vec<String>,
}

/// A text and the places in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Last,
    Number(usize),
    Name(String),
}

/// JSON whose texts are templates.
#[derive(Debug, PartialEq)]
pub(crate) enum JsonTemplate {
    Text(Template),
    List(Vec<JsonTemplate>),
    Object(Vec<(String, JsonTemplate)>),
    Other(Value),
}

impl Groups {
    pub(crate) fn of(conditions: [&Option<Regex>; 2]) -> Self {
        let mut names = vec![LAST.to_owned()];
        for regex in conditions.into_iter().flatten() {
            names.extend((0..regex.captures_len()).map(|number| number.to_string()));
            names.extend(regex.capture_names().flatten().map(str::to_owned));
        }
        Self { names }
    }
}

impl Template {
    /// Reads a text; refuses places that no condition fills.
    pub(crate) fn read(text: &str, groups: &Groups) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut end = 0;
        for place in PLACE.captures_iter(text) {
            let whole = place.get_match();
            parts.push(Part::Text(text[end..whole.start()].to_owned()));
            end = whole.end();
            let Some(name) = place.get(2).map(|name| name.as_str()) else {
                parts.push(Part::Text(format!("{{{}}}", &place[1])));
                continue;
            };
            if !groups.names.iter().any(|known| known == name) {
                return Err(format!(
                    "`{{{name}}}` is no group of `last` or `any`: add the group, or write {{{{{name}}}}} for the text itself"
                ));
            }
            parts.push(match name.parse() {
                Ok(number) => Part::Number(number),
                Err(_) if name == LAST => Part::Last,
                Err(_) => Part::Name(name.to_owned()),
            });
        }
        parts.push(Part::Text(text[end..].to_owned()));
        Ok(Self { parts })
    }

    /// The text with what was found inserted; of `found`, the first that has a group counts.
    pub(crate) fn fill(&self, last: &str, found: &[Option<Captures<'_>>]) -> String {
        let group =
            |find: &dyn Fn(&Captures<'_>) -> Option<String>| found.iter().flatten().find_map(find).unwrap_or_default();
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Last => last.to_owned(),
            Part::Number(number) => group(&|found| found.get(*number).map(|group| group.as_str().to_owned())),
            Part::Name(name) => group(&|found| found.name(name).map(|group| group.as_str().to_owned())),
        };
        self.parts.iter().map(part).collect()
    }
}

impl JsonTemplate {
    pub(crate) fn read(value: Value, groups: &Groups) -> Result<Self, String> {
        Ok(match value {
            Value::String(text) => Self::Text(Template::read(&text, groups)?),
            Value::Array(items) => {
                Self::List(items.into_iter().map(|item| Self::read(item, groups)).collect::<Result<_, _>>()?)
            }
            Value::Object(members) => {
                let members = members.into_iter().map(|(key, value)| Ok((key, Self::read(value, groups)?)));
                Self::Object(members.collect::<Result<_, String>>()?)
            }
            other => Self::Other(other),
        })
    }

    pub(crate) fn fill(&self, fill: &impl Fn(&Template) -> String) -> Value {
        match self {
            Self::Text(template) => fill(template).into(),
            Self::List(items) => items.iter().map(|item| item.fill(fill)).collect(),
            Self::Object(members) => {
                let members = members.iter().map(|(key, value)| (key.clone(), value.fill(fill)));
                members.collect::<Map<_, _>>().into()
            }
            Self::Other(value) => value.clone(),
        }
    }
}
