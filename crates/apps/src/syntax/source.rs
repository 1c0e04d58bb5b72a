//! Expressions and templates as a definition spells them, with their places.

use std::sync::Arc;

use crate::fault::{Fault, Position};

/// The text of an expression or a template, not yet understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The text itself, without the quotes around it.
    pub text: Arc<str>,
    /// Where it begins in its file: at the opening quote if there is one.
    pub position: Position,
    /// Its path in the definition.
    pub path: Arc<str>,
    /// As for nodes: characters from the position to the text, where the two run alike.
    pub(super) inset: Option<u32>,
}

impl Source {
    /// Text of which only the beginning has a place in a file.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>, position: Position, path: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), position, path: path.into(), inset: None }
    }

    /// The place of a character of the text, counted from 0. Where the text runs over several lines or holds escapes, its
    /// beginning.
    #[must_use]
    pub fn position_of(&self, offset: usize) -> Position {
        let mut position = self.position.clone();
        if let Some(inset) = self.inset {
            let offset = offset.min(self.text.chars().count());
            position.column = position.column.saturating_add(inset).saturating_add(u32::try_from(offset).unwrap_or(0));
        }
        position
    }

    /// A fault at a character of the text, counted from 0; see [`Self::position_of`].
    #[must_use]
    pub fn fault(&self, offset: usize, message: impl Into<String>) -> Fault {
        Fault { position: self.position_of(offset), path: self.path.to_string(), message: message.into() }
    }
}
