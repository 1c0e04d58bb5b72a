//! The files of one definition, joined into one map of sections.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::fault::{Fault, Faults, Position};

use super::node::{Content, Key, Node, Style};
use super::{MAX_FAULTS, shown, yaml};

/// The file that every definition has. It is read first, the others in the order of their names.
pub const MAIN_FILE: &str = "app.yaml";
/// Files of one definition.
pub const MAX_FILES: usize = 64;
/// Bytes of all files of a definition together.
pub const MAX_TOTAL_BYTES: usize = 8 << 20;

/// One map of the sections in all files. A section that is a map may be spread over files, each with entries of its own;
/// any other stands once.
///
/// # Errors
/// Every fault of every file; for what is written twice, at the second place, naming the first.
pub fn join(files: &BTreeMap<String, String>) -> Result<Node, Faults> {
    let start = Position { file: Arc::from(MAIN_FILE), line: 1, column: 1 };
    let refuse = |message: String| Err(vec![Fault { position: start.clone(), path: String::new(), message }]);
    let Some(main) = files.get_key_value(MAIN_FILE) else {
        return refuse(format!("the file `{MAIN_FILE}` is missing: add it"));
    };
    if files.len() > MAX_FILES {
        return refuse(format!("a definition has at most {MAX_FILES} files, and this one {}", files.len()));
    }
    if files.values().map(String::len).sum::<usize>() > MAX_TOTAL_BYTES {
        return refuse(format!("the files of a definition have at most {MAX_TOTAL_BYTES} bytes together"));
    }

    let mut sections = Sections::default();
    for (name, text) in std::iter::once(main).chain(files.iter().filter(|(name, _)| *name != MAIN_FILE)) {
        match yaml::parse(name, text) {
            Ok(node) => sections.add(node),
            Err(faults) => sections.faults.extend(faults),
        }
    }
    if sections.faults.is_empty() {
        Ok(Node { position: start, value: Content::Map(sections.entries), style: Style::STRUCTURE })
    } else {
        sections.faults.truncate(MAX_FAULTS);
        Err(sections.faults)
    }
}

#[derive(Default)]
struct Sections {
    entries: Vec<(Key, Node)>,
    /// Where a section stands among the entries.
    index: BTreeMap<Arc<str>, usize>,
    /// Where an entry of a spread section stands first. Kept for sections that are spread, which are few.
    spread: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Position>>,
    faults: Faults,
}

impl Sections {
    fn add(&mut self, root: Node) {
        let Content::Map(entries) = root.value else {
            let message = format!("a file must be a map of sections, and this is {}", root.value.describe());
            self.faults.push(Fault { position: root.position, path: String::new(), message });
            return;
        };
        for (key, node) in entries {
            if let Some(at) = self.index.get(&key.text) {
                self.merge(*at, key, node);
            } else {
                self.index.insert(key.text.clone(), self.entries.len());
                self.entries.push((key, node));
            }
        }
    }

    /// Adds the entries of a section that another file began.
    fn merge(&mut self, at: usize, key: Key, node: Node) {
        let Some((first, Node { value: section, .. })) = self.entries.get_mut(at) else { return };
        let (Content::Map(section), Content::Map(more)) = (section, node.value) else {
            let message = format!(
                "the section `{}` stands at {} too: leave one out (only a map may be spread over files)",
                shown(&key.text),
                first.position
            );
            self.faults.push(Fault { position: key.position, path: shown(&key.text), message });
            return;
        };
        let places = self
            .spread
            .entry(key.text.clone())
            .or_insert_with(|| section.iter().map(|(entry, _)| (entry.text.clone(), entry.position.clone())).collect());
        for (entry, node) in more {
            if let Some(first) = places.get(&entry.text) {
                let message = format!("`{}` stands at {first} too: leave one out", shown(&entry.text));
                let path = format!("{}.{}", shown(&key.text), shown(&entry.text));
                self.faults.push(Fault { position: entry.position, path, message });
            } else {
                places.insert(entry.text.clone(), entry.position.clone());
                section.push((entry, node));
            }
        }
    }
}
