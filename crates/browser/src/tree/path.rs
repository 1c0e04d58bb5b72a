//! Where a node stands in a document: the places of its ancestors among their siblings, from the outside.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Longest path; Chromium's parser of HTML nests elements 512 deep in a document.
const DEPTH_MAX: usize = 600;
/// A step into the document of a frame.
const INTO_FRAME: u32 = u32::MAX;
/// A step into a shadow root; the next ones count down from it.
const INTO_SHADOW: u32 = u32::MAX - 1;

/// Where a node stands, from the document of the page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Path(Vec<u32>);

impl Path {
    /// Steps from the document of the page.
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    /// The document of the frame that a node holds.
    pub(crate) fn within(&self) -> Self {
        let mut steps = self.0.clone();
        steps.push(INTO_FRAME);
        Self(steps)
    }

    /// The document that a node belongs to.
    pub(crate) fn document(&self) -> Self {
        let end = self.0.iter().rposition(|step| *step == INTO_FRAME).map_or(0, |last| last + 1);
        Self(self.0[..end].to_vec())
    }
}

/// The frame that a node holds; `None` where it holds none.
pub(crate) fn held_frame(node: &Value) -> Option<&str> {
    let document = node.get("contentDocument")?;
    document["frameId"].as_str().or_else(|| node["frameId"].as_str())
}

/// Visits the nodes of a document, with those of frames and shadow roots, as the browser tells them in one list: each below the one that
/// it names, and behind its own children. Those deeper than a parser nests them are left out.
pub(crate) fn walk(nodes: &[Value], visit: &mut dyn FnMut(&Path, &Value)) {
    let Some(root) = nodes.last().map(|node| node["parentId"].as_i64()) else { return };
    let mut children: HashMap<Option<i64>, Vec<&Value>> = HashMap::new();
    for node in nodes {
        children.entry(node["parentId"].as_i64()).or_default().push(node);
    }
    let below = |node| (0..).zip(children.get(&node).into_iter().flatten().copied());
    // Each with the length of its path, and the last step of it.
    let mut waiting: Vec<(usize, u32, &Value)> = below(root).map(|(at, child)| (1, at, child)).collect();
    let mut path = Path::default();
    while let Some((length, step, node)) = waiting.pop() {
        path.0.truncate(length - 1);
        path.0.push(step);
        visit(&path, node);
        if length >= DEPTH_MAX {
            continue;
        }
        let deeper = length + 1;
        waiting.extend(below(node["nodeId"].as_i64()).map(|(at, child)| (deeper, at, child)));
        let shadows = (0..).zip(node["shadowRoots"].as_array().into_iter().flatten());
        waiting.extend(shadows.map(|(at, child)| (deeper, INTO_SHADOW - at, child)));
        if let Some(document) = node.get("contentDocument") {
            waiting.push((deeper, INTO_FRAME, document));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nodes_of_frames_and_shadow_roots_are_visited_with_their_documents() {
        let nodes = json!([
            {"nodeId": 4, "parentId": 3},
            {"nodeId": 2, "parentId": 1, "shadowRoots": [{"nodeId": 3}]},
            {"nodeId": 7, "parentId": 6},
            {"nodeId": 5, "parentId": 1, "contentDocument": {"nodeId": 6}},
        ]);
        let mut seen = Vec::new();
        walk(nodes.as_array().expect("a list"), &mut |path, node| seen.push((node["nodeId"].as_u64(), path.clone())));
        seen.sort();
        let found: Vec<_> = seen.iter().filter_map(|(node, _)| *node).collect();
        assert_eq!(found, [2, 3, 4, 5, 6, 7]);
        let paths: std::collections::BTreeSet<&Path> = seen.iter().map(|(_, path)| path).collect();
        assert_eq!(paths.len(), 6, "each stands elsewhere");
        let holder = &seen[3].1;
        assert_eq!(seen[5].1.document(), holder.within());
        assert_eq!(seen[2].1.document(), Path::default());
    }

    #[test]
    fn a_document_that_is_too_deep_is_visited_as_far_as_paths_go() {
        let nodes: Vec<Value> = (1..10_000).rev().map(|node| json!({"nodeId": node + 1, "parentId": node})).collect();
        let mut longest = 0;
        walk(&nodes, &mut |path, _| longest = longest.max(path.0.len()));
        assert_eq!(longest, DEPTH_MAX);
        walk(&[], &mut |_, _| unreachable!("there is no node"));
    }
}
