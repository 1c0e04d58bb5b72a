//! `puzzle/shortest_path`: find a shortest path in a directed graph with weights.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::facts::{Category, Facts};
use crate::numbers::read_numbers;
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal, Requirement};

/// Some node is far from the start, and the way of the fewest edges there is not the shortest.
static FAR: Requirement = Requirement::new(
    "far",
    "some node is far from the start, and the way of the fewest edges there is not the shortest",
    0.35,
);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShortestPath;

/// An edge: from, to, and its length.
type Edge = (usize, usize, u32);

/// A problem. Nodes are numbered from 1.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    nodes: usize,
    /// At most one in each direction between two nodes, in order.
    edges: Vec<Edge>,
    from: usize,
    to: usize,
}

impl Question for ShortestPath {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "shortest_path",
            version: 1,
            category: Category::Graph,
            tags: &["planning"],
            multi_turn: false,
            description: "Find a shortest path between two nodes of a directed graph whose edges have lengths.",
            rule: "Any path along the edges is right whose length is the least; a path with the fewest edges never is.",
            scale: "From 8 nodes and 20 edges to 32 nodes and 160 edges, with greater lengths and longer paths.",
            effort: "Settles the nearest nodes one after another (Dijkstra); edges looked at.",
            floor: 0.02,
            heavy: false,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let nodes = usize::try_from(scale(difficulty, 8, 32))?;
        let degree = scale(difficulty, 25, 50);
        let length_max = scale(difficulty, 9, 60);
        let hops_min = usize::try_from(scale(difficulty, 3, 5))?;
        let wanted = nodes * usize::try_from(degree)? / 10;
        let mut pairs: Vec<(usize, usize)> = (1..=nodes)
            .flat_map(|from| (1..=nodes).map(move |to| (from, to)))
            .filter(|(from, to)| from != to)
            .collect();
        let (chosen, _) = pairs.partial_shuffle(rng, wanted);
        let mut edges: Vec<Edge> =
            chosen.iter().map(|(from, to)| (*from, *to, rng.random_range(1..=length_max))).collect();
        edges.sort_unstable();
        let from = rng.random_range(1..=nodes);
        let (short, straight) = (Search::by_length(&edges, nodes, from), Search::by_edges(&edges, nodes, from));
        let far = |to: &usize| {
            let (Some(short), Some(straight)) = (short.path(*to), straight.path(*to)) else { return false };
            short.len() > hops_min && length(&edges, &straight) > length(&edges, &short)
        };
        let targets: Vec<usize> = (1..=nodes).filter(far).collect();
        draws.note("nodes", nodes);
        let to = *targets.get(rng.random_range(0..targets.len().max(1))).ok_or(&FAR)?;
        draws.note("hops", short.path(to).map_or(0, |path| path.len() - 1));
        Ok(Instance { nodes, edges, from, to })
    }

    fn content(&self, Instance { edges, from, to, .. }: &Instance) -> Value {
        // One text: this is asked for in every attempt, and is dear as a tree of numbers.
        Value::String(format!("{from} {to} {edges:?}"))
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!(instance)
    }

    fn prompt(&self, instance: &Instance) -> String {
        let Instance { nodes, edges, from, to } = instance;
        let edges: Vec<String> = edges.iter().map(|(from, to, length)| format!("{from} -> {to} ({length})")).collect();
        format!(
            "A directed graph has the nodes 1 to {nodes} and these edges, each with its length in brackets. An edge can be used in \
             its direction only.\n\
             {}\n\
             Find a path from {from} to {to} whose total length is as small as possible. Answer with its nodes in order, from \
             {from} to {to}, such as: 91 -> 95 -> 93",
            edges.join("\n")
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        let Some(nodes) = read_numbers(answer) else { return Mark::wrong("it is no list of nodes") };
        if nodes.first() != Some(&instance.from) || nodes.last() != Some(&instance.to) {
            return Mark::wrong(format!("it does not lead from {} to {}", instance.from, instance.to));
        }
        let Some(length) = length(&instance.edges, &nodes) else { return Mark::wrong("it does not follow the edges") };
        let least = search(instance).distances[instance.to];
        if least == Some(length) {
            Mark::right(format!("its length is {length}, the least"))
        } else {
            Mark::wrong(format!("its length is {length}, and the least is {}", least.unwrap_or_default()))
        }
    }

    fn solution(&self, instance: &Instance) -> String {
        write(&search(instance).path(instance.to).unwrap_or_default())
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        let mut between: Vec<usize> =
            (1..=instance.nodes).filter(|node| ![instance.from, instance.to].contains(node)).collect();
        between.shuffle(rng);
        between.truncate(rng.random_range(1..=5));
        write(&[&[instance.from], &between[..], &[instance.to]].concat())
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        let mut nodes = search(instance).path(instance.to).unwrap_or_default();
        let inner = rng.random_range(1..nodes.len() - 1);
        match rng.random_range(0..4) {
            // Problems are made so that no path of the fewest edges is a shortest one.
            0 => {
                let straight = Search::by_edges(&instance.edges, instance.nodes, instance.from);
                nodes = straight.path(instance.to).unwrap_or_default();
            }
            // Stops before the end.
            1 => nodes.truncate(nodes.len() - 1),
            // Stays at a node, which no edge does.
            2 => nodes.insert(inner, nodes[inner]),
            // The other way round.
            _ => nodes.reverse(),
        }
        write(&nodes)
    }

    fn effort(&self, instance: &Instance) -> f64 {
        f64::from(search(instance).looked_at)
    }
}

fn write(nodes: &[usize]) -> String {
    nodes.iter().map(usize::to_string).collect::<Vec<_>>().join(" -> ")
}

/// The length of a path; `None` when it does not follow the edges.
fn length(edges: &[Edge], nodes: &[usize]) -> Option<u64> {
    nodes.windows(2).try_fold(0, |sum, step| {
        let edge = edges.binary_search_by_key(&(step[0], step[1]), |(from, to, _)| (*from, *to)).ok()?;
        Some(sum + u64::from(edges[edge].2))
    })
}

fn search(instance: &Instance) -> Search {
    Search::by_length(&instance.edges, instance.nodes, instance.from)
}

/// The nearest ways from one node to all others (Dijkstra, "A note on two problems in connexion with graphs", 1959).
struct Search {
    /// To each node; `None` where no way leads.
    distances: Vec<Option<u64>>,
    /// The node before each on the way to it; 0 for the first.
    before: Vec<usize>,
    /// Edges looked at.
    looked_at: u32,
}

impl Search {
    /// The shortest ways.
    fn by_length(edges: &[Edge], nodes: usize, from: usize) -> Self {
        Self::run(edges, nodes, from, u64::from)
    }

    /// The shortest of the ways with the fewest edges.
    fn by_edges(edges: &[Edge], nodes: usize, from: usize) -> Self {
        Self::run(edges, nodes, from, |length| (1 << 40) + u64::from(length))
    }

    fn run(edges: &[Edge], nodes: usize, from: usize, cost: impl Fn(u32) -> u64) -> Self {
        let mut search = Self { distances: vec![None; nodes + 1], before: vec![0; nodes + 1], looked_at: 0 };
        let mut settled = vec![false; nodes + 1];
        search.distances[from] = Some(0);
        let open = |search: &Self, settled: &[bool]| {
            let open = (1..=nodes).filter(|node| !settled[*node]);
            open.filter_map(|node| Some((search.distances[node]?, node))).min()
        };
        while let Some((distance, node)) = open(&search, &settled) {
            settled[node] = true;
            let start = edges.partition_point(|(from, ..)| *from < node);
            for (_, to, length) in edges[start..].iter().take_while(|(from, ..)| *from == node) {
                search.looked_at += 1;
                let through = distance + cost(*length);
                if search.distances[*to].is_none_or(|known| through < known) {
                    search.distances[*to] = Some(through);
                    search.before[*to] = node;
                }
            }
        }
        search
    }

    /// The nodes on the way to one; `None` where no way leads.
    fn path(&self, to: usize) -> Option<Vec<usize>> {
        self.distances[to]?;
        let mut nodes: Vec<usize> =
            std::iter::successors(Some(to), |node| Some(self.before[*node]).filter(|node| *node > 0)).collect();
        nodes.reverse();
        Some(nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_environment::task::seeded;

    /// Two shortest paths of length 4, 1-2-4 and 1-3-4, and an edge of length 5.
    fn instance() -> Instance {
        let edges = vec![(1, 2, 1), (1, 3, 2), (1, 4, 5), (2, 4, 3), (3, 4, 2), (4, 1, 1)];
        Instance { nodes: 4, edges, from: 1, to: 4 }
    }

    #[test]
    fn every_shortest_path_is_right_and_nothing_else() {
        for answer in ["1 -> 2 -> 4", "1 3 4", "[1, 2, 4]", "1,3,4", "1→3→4"] {
            assert_eq!(ShortestPath.check(&instance(), answer).score, 1.0, "{answer}");
        }
        let long = "1 2 4 ".repeat(1000);
        for answer in [
            "",
            "1",
            "4",
            "1 4",
            "4 2 1",
            "2 4",
            "1 2",
            "1 2 3 4",
            "1 1 2 4",
            "1 2 4 4",
            "1 2 4 1 2 4",
            "1 9 4",
            "1 0 4",
            "1 -2 4",
            "4 (the length)",
            &long,
        ] {
            assert_eq!(ShortestPath.check(&instance(), answer).score, 0.0, "{answer}");
        }
    }

    /// Least length by going along all paths that visit no node twice.
    fn least(instance: &Instance, visited: &mut Vec<usize>) -> Option<u64> {
        let node = *visited.last()?;
        if node == instance.to {
            return length(&instance.edges, visited);
        }
        let mut best = None;
        for (_, to, _) in instance.edges.iter().filter(|(from, ..)| *from == node) {
            if !visited.contains(to) {
                visited.push(*to);
                best = [best, least(instance, visited)].into_iter().flatten().min();
                visited.pop();
            }
        }
        best
    }

    #[test]
    fn the_least_length_is_that_of_trying_all_paths() {
        let mut rng = seeded(&[b"paths"]);
        let instances: Vec<Instance> =
            (0..200).filter_map(|_| ShortestPath.generate(&mut rng, 0.0, &mut Draws::default()).ok()).collect();
        assert!(instances.len() > 10, "{}", instances.len());
        for instance in instances {
            assert_eq!(search(&instance).distances[instance.to], least(&instance, &mut vec![instance.from]));
        }
    }
}
