//! Positioned nodes: what a definition file says, and where.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::fault::Position;

use super::shown;

/// A value of a definition file with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Where it begins: at the opening quote, bracket or first character.
    pub position: Position,
    /// Content.
    pub value: Content,
    pub(super) style: Style,
}

/// Content of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// `null`, `~` or nothing at all.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A decimal whole number.
    Int(i64),
    /// Every other scalar, a plain `1.50` included.
    Text(Arc<str>),
    /// Nodes in their order.
    List(Vec<Node>),
    /// Entries in their order; no two keys are the same.
    Map(Vec<(Key, Node)>),
}

/// The key of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Its text; a plain number stands for its digits.
    pub text: Arc<str>,
    /// Where it begins.
    pub position: Position,
}

/// Style of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Style {
    /// In quotes, or as a block of text.
    pub(super) quoted: bool,
    /// Number of characters behind the position at which the text begins; `None` when its characters are not those of
    /// the file one by one: several lines, escapes, or no text.
    pub(super) inset: Option<u32>,
}

impl Style {
    /// Of a list, a map or nothing.
    pub(super) const STRUCTURE: Self = Self { quoted: false, inset: None };
}

impl Node {
    /// The node of a JSON value, all of which stands at one place. A number that is not whole is plain text, as in a file.
    #[must_use]
    pub fn of_json(json: &Json, position: &Position) -> Self {
        let of = |json: &Json| Self::of_json(json, position);
        let value = match json {
            Json::Null => Content::Null,
            Json::Bool(value) => Content::Bool(*value),
            Json::Number(number) => match number.as_i64() {
                Some(number) => Content::Int(number),
                None => Content::Text(number.to_string().into()),
            },
            Json::String(text) => Content::Text(text.as_str().into()),
            Json::Array(elements) => Content::List(elements.iter().map(of).collect()),
            Json::Object(members) => {
                let key = |name: &str| Key { text: name.into(), position: position.clone() };
                Content::Map(members.iter().map(|(name, json)| (key(name), of(json))).collect())
            }
        };
        Self { position: position.clone(), value, style: Style { quoted: json.is_string(), inset: None } }
    }

    /// True if this is text in quotes or in a block, and not a plain scalar: `"1.50"` and not `1.50`.
    #[must_use]
    pub const fn is_quoted(&self) -> bool {
        self.style.quoted
    }

    /// The entries of a map.
    #[must_use]
    pub fn as_map(&self) -> Option<&[(Key, Self)]> {
        match &self.value {
            Content::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The elements of a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Self]> {
        match &self.value {
            Content::List(elements) => Some(elements),
            _ => None,
        }
    }

    /// Text, plain or quoted.
    #[must_use]
    pub fn as_text(&self) -> Option<&Arc<str>> {
        match &self.value {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The entry of a map by its key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_map()?.iter().find(|(name, _)| &*name.text == key).map(|(_, node)| node)
    }
}

impl Content {
    /// Description in the words of a message: `the number 5`.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Null => "nothing".to_owned(),
            Self::Bool(value) => format!("`{value}`"),
            Self::Int(value) => format!("the number {value}"),
            Self::Text(text) => format!("the text `{}`", shown(text)),
            Self::List(_) => "a list".to_owned(),
            Self::Map(_) => "a map".to_owned(),
        }
    }
}
