//! Paths through a graph: the token sequences that a trainer learns from.

use palestra_protocol::id::CallId;
use serde::{Deserialize, Serialize};

use super::{Graph, Node};

/// One token sequence, from a root to a node that no other continues.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Path {
    /// The calls on it, from the root on.
    pub calls: Vec<CallId>,
    /// Tokens as the engine saw and sampled them.
    pub token_ids: Vec<u32>,
    /// Loss mask, as long as `token_ids`: 1 where the token is sampled, verifiable, and trained in no earlier path.
    pub mask: Vec<u8>,
    /// Log-probabilities, as long as `token_ids`, 0 where the mask is; null where one of a trained token is unknown.
    pub logprobs: Option<Vec<f32>>,
}

impl Path {
    /// The number of trained tokens.
    #[must_use]
    pub fn trained(&self) -> usize {
        self.mask.iter().filter(|mask| **mask == 1).count()
    }

    /// The number of tokens before the first trained one: the prompt, for trainers that part a sequence in two.
    #[must_use]
    pub fn prompt_len(&self) -> usize {
        self.mask.iter().position(|mask| *mask == 1).unwrap_or(self.mask.len())
    }

    fn push(&mut self, node: &Node, trained: bool) {
        let context = node.context_token_ids.len();
        let completion = node.completion_token_ids.len();
        self.calls.push(node.call);
        self.token_ids.extend(&node.context_token_ids);
        self.token_ids.extend(&node.completion_token_ids);
        self.mask.resize(self.mask.len() + context, 0);
        self.mask.resize(self.mask.len() + completion, u8::from(trained));
        match (&mut self.logprobs, &node.logprobs) {
            (Some(all), Some(logprobs)) if trained => {
                all.resize(all.len() + context, 0.0);
                all.extend(logprobs);
            }
            (all, None) if trained => *all = None,
            (Some(all), _) => all.resize(all.len() + context + completion, 0.0),
            (None, _) => {}
        }
    }
}

/// The paths of a graph, each made when it is asked for.
#[derive(Debug)]
pub struct Paths<'a> {
    graph: &'a Graph,
    parents: Vec<Option<usize>>,
    is_parent: Vec<bool>,
    trained: Vec<bool>,
    next: usize,
}

impl<'a> Paths<'a> {
    pub(super) fn of(graph: &'a Graph) -> Self {
        let parents = graph.parents();
        let mut is_parent = vec![false; graph.nodes.len()];
        for parent in parents.iter().flatten() {
            is_parent[*parent] = true;
        }
        Self { graph, parents, is_parent, trained: vec![false; graph.nodes.len()], next: 0 }
    }
}

impl Iterator for Paths<'_> {
    type Item = Path;

    fn next(&mut self) -> Option<Path> {
        let leaf = (self.next..self.graph.nodes.len()).find(|place| !self.is_parent[*place])?;
        self.next = leaf + 1;
        let mut places: Vec<usize> = std::iter::successors(Some(leaf), |place| self.parents[*place]).collect();
        places.reverse();
        let mut path = Path { logprobs: Some(Vec::new()), ..Path::default() };
        for place in places {
            let node = &self.graph.nodes[place];
            path.push(node, node.trainable && !self.trained[place]);
            self.trained[place] = true;
        }
        Some(path)
    }
}
