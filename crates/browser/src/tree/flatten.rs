//! Accessibility trees as text, one line a node, indented by depth. The rules of what is shown are those of BrowserGym's
//! `flatten_axtree_to_str` with its default arguments.

use super::{Node, Tree, repr};

/// Properties that are not shown.
const HIDDEN_PROPERTIES: [&str; 7] = ["editable", "readonly", "level", "settable", "multiline", "invalid", "focusable"];
/// Properties that are shown by their name alone, where they are true.
const FLAGS: [&str; 3] = ["required", "focused", "atomic"];
/// Most characters of a text; what follows is counted.
const CHARACTERS_MAX: usize = 200_000;

/// A tree as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flat {
    /// The lines.
    pub text: String,
    /// Nodes that the browser told.
    pub nodes: usize,
    /// Lines that are shown.
    pub lines: usize,
    /// Nodes that are not shown because the text would be too long.
    pub cut: usize,
}

/// A node that is still to be written.
struct Next<'t> {
    place: usize,
    depth: usize,
    parent_name: &'t str,
}

impl Tree {
    /// The tree as text.
    #[must_use]
    pub fn flatten(&self) -> Flat {
        let mut flat =
            Flat { text: String::new(), nodes: self.nodes.len() + self.left_out, lines: 0, cut: self.left_out };
        let mut waiting = vec![Next { place: 0, depth: 0, parent_name: "" }];
        let mut seen = vec![false; self.nodes.len()];
        while let Some(Next { place, depth, parent_name }) = waiting.pop() {
            let Some(node) = self.nodes.get(place) else { continue };
            // A tree that a page makes up must not be walked for ever.
            if std::mem::replace(&mut seen[place], true) {
                continue;
            }
            let mut deeper = depth;
            if let Some(line) = line(node, parent_name) {
                deeper += 1;
                if flat.text.len() + line.len() + depth > CHARACTERS_MAX {
                    flat.cut += 1;
                } else {
                    if flat.lines > 0 {
                        flat.text.push('\n');
                    }
                    flat.text.extend(std::iter::repeat_n('\t', depth));
                    flat.text.push_str(&line);
                    flat.lines += 1;
                }
            }
            let name = node.name.as_deref().unwrap_or_default();
            let children = node.children.iter().rev();
            waiting.extend(children.map(|child| Next { place: *child, depth: deeper, parent_name: name }));
        }
        flat
    }
}

/// The line of a node; `None` where it is not shown.
fn line(node: &Node, parent_name: &str) -> Option<String> {
    let name = node.name.as_deref()?;
    if node.role == "LineBreak" || node.role == "InlineTextBox" {
        return None;
    }
    let attributes: Vec<String> = node
        .properties
        .iter()
        .filter_map(|(name, value)| match name.as_str() {
            name if HIDDEN_PROPERTIES.contains(&name) => None,
            name if FLAGS.contains(&name) => is_true(value).then(|| name.to_owned()),
            name => Some(format!("{name}={}", repr::value(value))),
        })
        .collect();
    if node.role == "generic" && attributes.is_empty() {
        return None;
    }
    if node.role == "StaticText" && parent_name.contains(name) {
        return None;
    }
    let mut line = node.id.as_ref().map(|id| format!("[{id}] ")).unwrap_or_default();
    line.push_str(&node.role);
    if node.role != "generic" || !name.is_empty() {
        line.push(' ');
        line.push_str(&repr::text(name.trim()));
    }
    if let Some(value) = &node.value {
        line.push_str(&format!(" value={}", repr::value(value)));
    }
    for attribute in attributes {
        line.push_str(", ");
        line.push_str(&attribute);
    }
    Some(line)
}

fn is_true(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::Bool(value) => *value,
        serde_json::Value::String(value) => !value.is_empty(),
        serde_json::Value::Null => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tree::{FrameTree, Ids};

    fn node(id: &str, role: &str, name: &str, children: &[&str]) -> Value {
        let backend: i64 = id.parse().unwrap_or(0);
        json!({"nodeId": id, "role": {"value": role}, "name": {"value": name}, "childIds": children, "backendDOMNodeId": backend})
    }

    #[test]
    fn a_tree_is_written_with_ids_names_values_and_frames() {
        let mut field = node("3", "textbox", "Name", &[]);
        field["value"] = json!({"value": "Ada"});
        field["properties"] = json!([
            {"name": "editable", "value": {"value": "plaintext"}},
            {"name": "required", "value": {"value": true}},
            {"name": "focused", "value": {"value": true}},
            {"name": "checked", "value": {"value": "false"}}
        ]);
        let ignored = json!({"nodeId": "2", "role": {"value": "none"}, "ignored": true, "childIds": ["3", "4", "5"]});
        let page = [
            node("1", "RootWebArea", "Shop", &["2"]),
            ignored,
            field,
            node("4", "button", "Go on", &["6"]),
            node("5", "Iframe", "", &[]),
            node("6", "StaticText", "Go on", &[]),
        ];
        let frame = [node("1", "RootWebArea", "", &["2"]), node("2", "link", "it's", &[])];
        let frames = [
            FrameTree { frame: "m", owner: None, nodes: &page },
            FrameTree { frame: "f", owner: Some(5), nodes: &frame },
        ];
        let tree = Tree::of(&frames, &mut Ids::default());
        let flat = tree.flatten();
        let lines = [
            "RootWebArea 'Shop'",
            "\t[0] textbox 'Name' value='Ada', required, focused, checked='false'",
            "\t[1] button 'Go on'",
            "\t[a] Iframe ''",
            "\t\tRootWebArea ''",
            "\t\t\t[a0] link \"it's\"",
        ];
        assert_eq!(flat.text, lines.join("\n"));
        assert_eq!((flat.nodes, flat.lines, flat.cut), (8, 6, 0));
    }

    #[test]
    fn what_the_browser_makes_of_an_input_has_no_ids() {
        let page = [
            node("1", "RootWebArea", "", &["2", "5"]),
            node("2", "Date", "Day", &["3", "4"]),
            node("3", "spinbutton", "Month", &["7"]),
            node("4", "button", "Show date picker", &[]),
            node("5", "combobox", "Sort", &["6"]),
            node("6", "MenuListPopup", "", &["8"]),
            node("7", "StaticText", "mm", &[]),
            node("8", "option", "Name", &[]),
        ];
        let frames = [FrameTree { frame: "m", owner: None, nodes: &page }];
        let lines = [
            "RootWebArea ''",
            "\t[0] Date 'Day'",
            "\t\tspinbutton 'Month'",
            "\t\t\tStaticText 'mm'",
            "\t\tbutton 'Show date picker'",
            "\t[1] combobox 'Sort'",
            "\t\tMenuListPopup ''",
            "\t\t\t[2] option 'Name'",
        ];
        assert_eq!(Tree::of(&frames, &mut Ids::default()).flatten().text, lines.join("\n"));
    }

    #[test]
    fn a_deep_or_circular_tree_is_walked_once() {
        let count = 30_000;
        let mut nodes: Vec<Value> =
            (0..count).map(|at| node(&at.to_string(), "group", "g", &[(at + 1).to_string().as_str()])).collect();
        nodes[count - 1]["childIds"] = json!(["0"]);
        let frames = [FrameTree { frame: "m", owner: None, nodes: &nodes }];
        let flat = Tree::of(&frames, &mut Ids::default()).flatten();
        assert_eq!(flat.lines + flat.cut, count);
        assert!(flat.text.len() <= CHARACTERS_MAX && flat.cut > 0);
    }
}
