//! Where a node stands in a document: the places of its ancestors among their siblings, from the outside.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A step into the document of a frame.
const INTO_FRAME: u32 = u32::MAX;
/// A step into a shadow root; the next ones count down from it.
const INTO_SHADOW: u32 = u32::MAX - 1;

/// Where a node stands, from the document of the page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Path(Vec<u32>);

impl Path {
    /// The document of the frame that a node holds.
    pub(crate) fn within(&self) -> Self {
        self.step(INTO_FRAME)
    }

    /// The document that a node belongs to.
    pub(crate) fn document(&self) -> Self {
        let end = self.0.iter().rposition(|step| *step == INTO_FRAME).map_or(0, |last| last + 1);
        Self(self.0[..end].to_vec())
    }

    fn step(&self, step: u32) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }
}

/// The frame that a node holds; `None` where it holds none.
pub(crate) fn held_frame(node: &Value) -> Option<&str> {
    let document = node.get("contentDocument")?;
    document["frameId"].as_str().or_else(|| node["frameId"].as_str())
}

/// Visits the nodes below a document as the browser tells it, with frames and shadow roots.
pub(crate) fn walk(root: &Value, visit: &mut dyn FnMut(&Path, &Value)) {
    let mut waiting = vec![(Path::default(), root)];
    while let Some((path, node)) = waiting.pop() {
        visit(&path, node);
        let below = |side: &str| node[side].as_array().into_iter().flatten();
        waiting.extend((0..).zip(below("children")).map(|(at, child)| (path.step(at), child)));
        waiting.extend((0..).zip(below("shadowRoots")).map(|(at, child)| (path.step(INTO_SHADOW - at), child)));
        if let Some(document) = node.get("contentDocument") {
            waiting.push((path.within(), document));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nodes_of_frames_and_shadow_roots_are_visited_with_their_documents() {
        let root = json!({"n": 0, "children": [
            {"n": 1, "shadowRoots": [{"n": 2, "children": [{"n": 3}]}]},
            {"n": 4, "contentDocument": {"n": 5, "children": [{"n": 6}]}},
        ]});
        let mut seen = Vec::new();
        walk(&root, &mut |path, node| seen.push((node["n"].as_u64(), path.clone())));
        seen.sort();
        assert_eq!(seen.len(), 7);
        let paths: std::collections::BTreeSet<&Path> = seen.iter().map(|(_, path)| path).collect();
        assert_eq!(paths.len(), 7, "each stands elsewhere");
        let holder = &seen[4].1;
        assert_eq!(seen[6].1.document(), holder.within());
        assert_eq!(seen[3].1.document(), Path::default());
    }
}
