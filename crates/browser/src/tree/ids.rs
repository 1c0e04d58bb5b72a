//! Ids of elements: numbers within their frame, behind the letters of the frame. An element keeps its id while it lives.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::path::{Path, held_frame, walk};

/// Steps of all paths that are kept of one page, which may nest many elements deep.
const STEPS_MAX: usize = 4 << 20;

/// Ids by where their elements stand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptIds {
    elements: Vec<(Path, String)>,
    /// By document: elements and frames that were counted.
    counts: Vec<(Path, u64, u64)>,
}

/// Ids of the elements of a tab.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    /// The document that they belong to.
    document: String,
    frames: HashMap<String, FrameIds>,
    elements: HashMap<String, Element>,
}

#[derive(Debug, Default)]
struct FrameIds {
    elements: u64,
    frames: u64,
    by_backend: HashMap<i64, String>,
}

/// An element of a page, as the browser knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Element {
    /// Its number in the browser.
    pub(crate) backend: i64,
    /// The frame that it is in.
    pub(crate) frame: String,
}

impl Ids {
    /// Forgets all of another document.
    pub(crate) fn begin(&mut self, document: &str) {
        if self.document != document {
            *self = Self { document: document.to_owned(), ..Self::default() };
        }
    }

    /// The id of an element of a frame, whose ids begin with `prefix`.
    pub(crate) fn of(&mut self, frame: &str, prefix: &str, backend: i64, is_frame: bool) -> String {
        let ids = self.frames.entry(frame.to_owned()).or_default();
        if let Some(id) = ids.by_backend.get(&backend) {
            return id.clone();
        }
        let count = if is_frame { &mut ids.frames } else { &mut ids.elements };
        let own = if is_frame { letters(*count) } else { count.to_string() };
        *count += 1;
        let id = format!("{prefix}{own}");
        ids.by_backend.insert(backend, id.clone());
        self.elements.insert(id.clone(), Element { backend, frame: frame.to_owned() });
        id
    }

    /// Keeps them by where their elements stand in a document.
    pub(crate) fn keep(&self, nodes: &[Value]) -> KeptIds {
        let mut kept = KeptIds::default();
        let mut frames: HashMap<&str, Path> = HashMap::new();
        let mut steps = 0;
        walk(nodes, &mut |path, node| {
            if let Some(backend) = node["backendNodeId"].as_i64()
                && let Some((id, element)) = self.by_backend(backend)
            {
                steps += path.len();
                if steps <= STEPS_MAX {
                    kept.elements.push((path.clone(), id.clone()));
                }
                // The frame of an element is known by its nearest document around it.
                frames.entry(element.frame.as_str()).or_insert_with(|| path.document());
            }
        });
        for (frame, path) in frames {
            if let Some(ids) = self.frames.get(frame) {
                kept.counts.push((path, ids.elements, ids.frames));
            }
        }
        kept.counts.sort();
        kept
    }

    fn by_backend(&self, backend: i64) -> Option<(&String, &Element)> {
        let id = self.frames.values().find_map(|frame| frame.by_backend.get(&backend))?;
        self.elements.get_key_value(id)
    }

    /// Gives those that were kept to the elements that stand where theirs stood; `main` is the frame of the page itself.
    pub(crate) fn go_on_from(&mut self, kept: &KeptIds, nodes: &[Value], main: &str, document: &str) {
        *self = Self { document: document.to_owned(), ..Self::default() };
        let ids: HashMap<&Path, &String> = kept.elements.iter().map(|(path, id)| (path, id)).collect();
        let mut frames = HashMap::from([(Path::default(), main.to_owned())]);
        let mut found = Vec::new();
        walk(nodes, &mut |path, node| {
            frames.extend(held_frame(node).map(|frame| (path.within(), frame.to_owned())));
            if let (Some(id), Some(backend)) = (ids.get(path), node["backendNodeId"].as_i64()) {
                found.push((path.document(), (*id).clone(), backend));
            }
        });
        for (document, id, backend) in found {
            let Some(frame) = frames.get(&document) else { continue };
            self.frames.entry(frame.clone()).or_default().by_backend.insert(backend, id.clone());
            self.elements.insert(id, Element { backend, frame: frame.clone() });
        }
        for (document, elements, inner) in &kept.counts {
            if let Some(frame) = frames.get(document) {
                let ids = self.frames.entry(frame.clone()).or_default();
                (ids.elements, ids.frames) = (*elements, *inner);
            }
        }
    }

    /// The element of an id.
    pub(crate) fn element(&self, id: &str) -> Option<&Element> {
        self.elements.get(id)
    }
}

/// `a` to `z`, then `aA`, `aB`: all but the first letter are capitals, so that ids of frames in frames can be read back.
fn letters(mut number: u64) -> String {
    let mut digits = vec![number % 26];
    while number >= 26 {
        number = number / 26 - 1;
        digits.push(number % 26);
    }
    let capitals = digits.len() - 1;
    let letter = |(place, digit): (usize, &u64)| {
        let first = if place < capitals { b'A' } else { b'a' };
        char::from(first + u8::try_from(*digit).unwrap_or_default())
    };
    digits.iter().enumerate().map(letter).rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_keep_their_ids_and_frames_prefix_those_of_theirs() {
        let mut ids = Ids::default();
        ids.begin("d1");
        assert_eq!(ids.of("main", "", 70, false), "0");
        assert_eq!(ids.of("main", "", 71, true), "a");
        assert_eq!(ids.of("inner", "a", 70, false), "a0");
        assert_eq!(ids.of("main", "", 72, false), "1");
        assert_eq!(ids.of("main", "", 70, false), "0");
        assert_eq!(ids.element("a0"), Some(&Element { backend: 70, frame: "inner".to_owned() }));
        ids.begin("d1");
        assert!(ids.element("1").is_some());
        ids.begin("d2");
        assert!(ids.element("1").is_none());
    }

    #[test]
    fn frames_are_counted_in_letters() {
        let words: Vec<String> = [0, 1, 25, 26, 27, 51, 52, 701, 702].map(letters).into();
        assert_eq!(words, ["a", "b", "z", "aA", "aB", "aZ", "bA", "zZ", "aAA"]);
    }
}
