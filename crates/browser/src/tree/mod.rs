//! The accessibility tree of a page, with ids for its elements, as text in the form that BrowserGym made common.

mod flatten;
mod ids;
mod path;
mod repr;

use std::collections::{HashMap, HashSet};

use serde_json::Value;

pub use flatten::Flat;
pub(crate) use ids::{Ids, KeptIds};
pub(crate) use path::{Path, held_frame, walk};

/// Most nodes of one tree that are read; the others are counted.
const NODES_MAX: usize = 50_000;
/// Roles of nodes that stand for no element of their own.
const NO_ELEMENT: [&str; 6] =
    ["StaticText", "InlineTextBox", "LineBreak", "ListMarker", "MenuListPopup", "RootWebArea"];

/// Roles of inputs that the browser builds of parts: these are no elements of the page, and the input is filled as a whole.
const OF_PARTS: [&str; 3] = ["Date", "DateTime", "InputTime"];

/// An accessibility tree over all frames of a page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tree {
    /// The first is the root.
    pub nodes: Vec<Node>,
    /// Nodes that were not read.
    pub left_out: usize,
}

/// A node of an accessibility tree.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Node {
    /// Id of its element, with which actions name it.
    pub id: Option<String>,
    /// Role, as Chromium names it.
    pub role: String,
    /// Accessible name; `None` where the browser ignores the node.
    pub name: Option<String>,
    /// Value of an input.
    pub value: Option<Value>,
    /// Properties such as `checked` and `focused`, with their values.
    pub properties: Vec<(String, Value)>,
    /// Places of its children.
    pub children: Vec<usize>,
    /// The element, as the browser numbers it.
    pub(crate) backend: Option<i64>,
    /// The frame that it is in.
    pub(crate) frame: String,
}

/// The answer of the browser about one frame.
pub(crate) struct FrameTree<'a> {
    pub(crate) frame: &'a str,
    /// The element of the page around it that holds the frame; `None` for the page itself.
    pub(crate) owner: Option<i64>,
    pub(crate) nodes: &'a [Value],
}

impl Tree {
    /// Puts the trees of the frames of a page together, those of the page first, and gives ids to what has none yet.
    pub(crate) fn of(frames: &[FrameTree<'_>], ids: &mut Ids) -> Self {
        let mut tree = Self::default();
        let mut owners = HashMap::new();
        for frame in frames {
            tree.add(frame, ids, &mut owners);
        }
        tree
    }

    fn add(&mut self, frame: &FrameTree<'_>, ids: &mut Ids, owners: &mut HashMap<i64, usize>) {
        let first = self.nodes.len();
        let room = NODES_MAX.saturating_sub(first);
        self.left_out += frame.nodes.len().saturating_sub(room);
        let told = &frame.nodes[..frame.nodes.len().min(room)];
        let places: HashMap<&str, usize> =
            told.iter().enumerate().filter_map(|(at, node)| Some((node["nodeId"].as_str()?, first + at))).collect();
        let holder = frame.owner.and_then(|owner| owners.get(&owner).copied());
        let prefix = holder.and_then(|holder| self.nodes[holder].id.clone()).unwrap_or_default();
        // Nodes are told behind what they are in.
        let mut parts: HashSet<usize> = HashSet::new();
        for node in told {
            let mut read = Node::read(node, frame.frame);
            let children = node["childIds"].as_array().into_iter().flatten().filter_map(Value::as_str);
            read.children = children.filter_map(|child| places.get(child).copied()).collect();
            let is_part = parts.contains(&self.nodes.len());
            if is_part || OF_PARTS.contains(&read.role.as_str()) {
                parts.extend(&read.children);
            }
            if let Some(backend) = read.backend.filter(|_| !is_part && read.stands_for_an_element()) {
                read.id = Some(ids.of(frame.frame, &prefix, backend, read.role == "Iframe"));
                owners.insert(backend, self.nodes.len());
            }
            self.nodes.push(read);
        }
        if let Some(holder) = holder.filter(|_| !told.is_empty()) {
            self.nodes[holder].children.push(first);
        }
    }

    /// True if a node is another one, or lies in it.
    pub(crate) fn is_within(&self, place: usize, other: usize) -> bool {
        // A tree that a page makes up may go round.
        let mut seen = HashSet::new();
        let mut waiting = vec![other];
        while let Some(at) = waiting.pop() {
            if at == place {
                return true;
            }
            if seen.insert(at) {
                waiting.extend(&self.nodes[at].children);
            }
        }
        false
    }

    /// Nodes with a role and, where given, exactly this name.
    pub(crate) fn find<'t>(&'t self, role: &'t str, name: Option<&'t str>) -> impl Iterator<Item = &'t Node> {
        self.nodes.iter().filter(move |node| {
            let named = |wanted: &str| node.name.as_deref().is_some_and(|name| name.trim() == wanted);
            node.id.is_some() && node.role.eq_ignore_ascii_case(role) && name.is_none_or(named)
        })
    }
}

impl Node {
    fn read(node: &Value, frame: &str) -> Self {
        let text = |value: &Value| value["value"].as_str().map(str::to_owned);
        let properties = node["properties"].as_array().into_iter().flatten();
        let properties = properties.filter_map(|property| {
            let value = property["value"].get("value")?.clone();
            Some((property["name"].as_str()?.to_owned(), value))
        });
        Self {
            id: None,
            role: text(&node["role"]).unwrap_or_default(),
            name: node.get("name").map(|name| text(name).unwrap_or_default()),
            value: node.get("value").and_then(|value| value.get("value")).cloned(),
            properties: properties.collect(),
            children: Vec::new(),
            backend: node["backendDOMNodeId"].as_i64(),
            frame: frame.to_owned(),
        }
    }

    fn stands_for_an_element(&self) -> bool {
        self.name.is_some() && !NO_ELEMENT.contains(&self.role.as_str())
    }

    /// The value of a property that is true or false.
    #[must_use]
    pub fn is(&self, property: &str) -> bool {
        self.properties.iter().any(|(name, value)| name == property && *value == Value::Bool(true))
    }
}
