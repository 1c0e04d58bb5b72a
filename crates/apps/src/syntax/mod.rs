//! The surface of definitions: files become nodes that know their places, and a strict reader takes them apart.
//!
//! [`files::join`] turns the files of a definition into one [`node::Node`]; [`read::read`] walks over it and collects
//! every fault on the way.

mod cursor;
pub mod files;
mod nearest;
pub mod node;
pub mod read;
mod scalar;
pub mod source;
pub mod yaml;

#[cfg(test)]
mod tests;

pub use nearest::nearest;

/// Faults that are reported at once: whoever has more sees these first.
pub const MAX_FAULTS: usize = 100;

/// Characters of somebody's text that a message or a path repeats.
const SHOWN_CHARACTERS: usize = 40;

/// Text as messages show it: on one line, without control characters, and cut where it is long.
fn shown(text: &str) -> String {
    let mut shown = String::new();
    for (index, character) in text.chars().enumerate() {
        if index == SHOWN_CHARACTERS {
            shown.push('…');
            break;
        }
        if character.is_control() { shown.extend(character.escape_default()) } else { shown.push(character) }
    }
    shown
}
