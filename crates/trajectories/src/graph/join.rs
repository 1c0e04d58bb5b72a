//! Joining of calls. Hashes of token prefixes find the parent of a call; an exact comparison confirms it.

use std::collections::{BTreeSet, HashMap};

use palestra_protocol::id::CallId;
use palestra_protocol::model_call::ModelCall;

use super::{Counts, Graph, Node, Omitted, Reason, StepReward};
use crate::Rollout;

/// Hash of a token sequence that grows at its end. It decides nothing: equal hashes are compared token by token.
#[derive(Clone, Copy)]
struct PrefixHash(u64);

impl PrefixHash {
    const EMPTY: Self = Self(0x9e37_79b9_7f4a_7c15);
    const MULTIPLIER: u64 = 0xa076_1d64_78bd_642f;

    fn extend(self, tokens: &[u32]) -> Self {
        tokens.iter().fold(self, |Self(state), token| {
            let product = u128::from(state ^ u64::from(*token)) * u128::from(Self::MULTIPLIER);
            #[expect(clippy::cast_possible_truncation, reason = "both halves of the product are mixed")]
            Self((product >> 64) as u64 ^ product as u64)
        })
    }
}

/// The tokens of a call that is in the graph.
#[derive(Clone, Copy)]
struct Tokens<'a> {
    prompt: &'a [u32],
    completion: &'a [u32],
}

impl Tokens<'_> {
    const fn len(self) -> usize {
        self.prompt.len() + self.completion.len()
    }

    /// True if a call with `prompt` continues this one. An equal prompt is a retry, which does not.
    fn precedes(self, prompt: &[u32]) -> bool {
        self.prompt.len() < prompt.len()
            && prompt.strip_prefix(self.prompt).is_some_and(|rest| rest.starts_with(self.completion))
    }
}

/// Where earlier calls end, by length and hash.
#[derive(Default)]
struct Ends<'a> {
    calls: Vec<Tokens<'a>>,
    lengths: BTreeSet<usize>,
    by_hash: HashMap<(usize, u64), Vec<usize>>,
}

impl<'a> Ends<'a> {
    /// Adds a call and returns its parent: the earlier call with the longest exact prefix, of equal ones the last.
    fn push(&mut self, call: Tokens<'a>) -> Option<usize> {
        let mut hash = PrefixHash::EMPTY;
        let mut hashed = 0;
        let mut candidates = Vec::new();
        for &length in self.lengths.range(..=call.prompt.len()) {
            hash = hash.extend(&call.prompt[hashed..length]);
            hashed = length;
            candidates.extend(self.by_hash.get(&(length, hash.0)));
        }
        let parent = candidates
            .into_iter()
            .rev()
            .find_map(|same| same.iter().rev().copied().find(|&earlier| self.calls[earlier].precedes(call.prompt)));
        let end = hash.extend(&call.prompt[hashed..]).extend(call.completion);
        self.lengths.insert(call.len());
        self.by_hash.entry((call.len(), end.0)).or_default().push(self.calls.len());
        self.calls.push(call);
        parent
    }
}

/// Rewards of the steps by the last call that began before them; those before every call are dropped, and counted.
fn rewards(rollout: &Rollout, calls: &[&ModelCall]) -> (Vec<Vec<StepReward>>, u64) {
    let mut rewards = vec![Vec::new(); calls.len()];
    let mut before = 0;
    for step in &rollout.trajectory.steps {
        let reward = StepReward { seq: step.seq, reward: step.answer.reward };
        match calls.partition_point(|call| call.seq < step.seq).checked_sub(1) {
            Some(call) => rewards[call].push(reward),
            None => before += 1,
        }
    }
    (rewards, before)
}

/// Calls in the order in which they began, each once.
pub(crate) fn in_order(rollout: &Rollout) -> Vec<&ModelCall> {
    let mut calls: Vec<&ModelCall> = rollout.calls.iter().collect();
    calls.sort_by_key(|call| call.id);
    calls.dedup_by_key(|call| call.id);
    calls
}

pub(super) fn join(rollout: &Rollout) -> Graph {
    let calls = in_order(rollout);
    let (rewards, steps_before_calls) = rewards(rollout, &calls);
    let mut ends = Ends::default();
    let mut graph = Graph {
        nodes: Vec::new(),
        omitted: Vec::new(),
        counts: Counts { calls: calls.len() as u64, steps_before_calls, ..Counts::default() },
    };
    for (call, rewards) in calls.into_iter().zip(rewards) {
        let (Some(prompt), Some(completion), None) =
            (&call.tokens.prompt_token_ids, &call.tokens.completion_token_ids, Reason::of_omission(call))
        else {
            let reason = Reason::of_omission(call).unwrap_or(Reason::NoTokenIds);
            graph.omitted.push(Omitted { call: call.id, reason, rewards });
            continue;
        };
        let parent = ends.push(Tokens { prompt, completion });
        let shared = parent.map_or(0, |parent| ends.calls[parent].len());
        let logprobs = call.tokens.logprobs.as_deref();
        let reasons = Reason::of_node(completion, logprobs, call.finish_reason.as_deref());
        graph.nodes.push(Node {
            call: call.id,
            parent: parent.map(|parent| graph.nodes[parent].call),
            seq: call.seq,
            context_token_ids: prompt[shared..].to_vec(),
            completion_token_ids: completion.clone(),
            logprobs: logprobs
                .filter(|_| {
                    !reasons.iter().any(|reason| matches!(reason, Reason::MisalignedLogprobs | Reason::InvalidLogprobs))
                })
                .map(<[f32]>::to_vec),
            rewards,
            policy_version: call.policy_version.clone(),
            trainable: !reasons.iter().any(|reason| reason.masks()),
            reasons,
        });
    }
    count(&mut graph);
    graph
}

fn count(graph: &mut Graph) {
    let paths_through = graph.paths_through();
    let counts = &mut graph.counts;
    counts.nodes = graph.nodes.len() as u64;
    counts.branches = graph.nodes.iter().filter(|node| node.parent.is_none()).count() as u64;
    counts.joined = counts.nodes - counts.branches;
    for (node, (paths, is_leaf)) in graph.nodes.iter().zip(paths_through) {
        let tokens = node.completion_token_ids.len() as u64;
        counts.paths += u64::from(is_leaf);
        if node.trainable {
            counts.tokens_trained += tokens;
            counts.tokens_shared += tokens * (paths - 1);
        } else {
            counts.tokens_masked += tokens;
        }
    }
    let reasons = graph.nodes.iter().flat_map(|node| node.reasons.iter().copied());
    for reason in reasons.chain(graph.omitted.iter().map(|omitted| omitted.reason)) {
        *counts.reasons.entry(reason).or_default() += 1;
    }
}

impl Graph {
    /// The place of each node's parent, always before the node's own.
    pub(super) fn parents(&self) -> Vec<Option<usize>> {
        let mut places: HashMap<CallId, usize> = HashMap::new();
        self.nodes
            .iter()
            .enumerate()
            .map(|(place, node)| {
                let parent = node.parent.and_then(|parent| places.get(&parent).copied());
                places.insert(node.call, place);
                parent
            })
            .collect()
    }

    /// The number of paths that each node is on, and true for the end of a path.
    fn paths_through(&self) -> Vec<(u64, bool)> {
        let mut through = vec![(0, false); self.nodes.len()];
        for (place, parent) in self.parents().into_iter().enumerate().rev() {
            if through[place].0 == 0 {
                through[place] = (1, true);
            }
            if let Some(parent) = parent {
                through[parent].0 += through[place].0;
            }
        }
        through
    }
}
