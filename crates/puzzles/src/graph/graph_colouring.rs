//! `puzzle/graph_colouring`: colour the nodes of a graph so that no edge joins two of the same colour.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::facts::{Category, Facts};
use crate::numbers::read_numbers;
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal};

/// Colours that the reference solver tries before it gives up.
const TRIED_MAX: u32 = 5_000;

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct GraphColouring;

/// A problem. Nodes and colours are numbered from 1.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    nodes: usize,
    colours: usize,
    /// Each with the lower node first, in order.
    edges: Vec<(usize, usize)>,
    /// The colours of the nodes in order.
    painted: Vec<usize>,
}

impl Question for GraphColouring {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "graph_colouring",
            version: 1,
            category: Category::Graph,
            tags: &["constraints"],
            multi_turn: false,
            description: "Colour the nodes of a graph with 3 or 4 colours so that no edge joins two nodes of the same colour.",
            rule: "Any colouring of all nodes is right in which the two nodes of every edge differ.",
            scale: "From 9 to 36 nodes, and more edges per node, up to where random graphs cease to be colourable.",
            effort: "Colours a node with the fewest colours left, going back at a dead end; colours tried, of 5,000 at most.",
            floor: 0.02,
            heavy: false,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let nodes = usize::try_from(scale(difficulty, 9, 36))?;
        let colours = rng.random_range(3..=4);
        // Edges per ten nodes. Beyond 23 of 3 colours and 43 of 4 most random graphs cannot be coloured.
        let dense = if colours == 3 { scale(difficulty, 15, 23) } else { scale(difficulty, 22, 42) };
        let wanted = nodes * usize::try_from(dense)? / 10;
        draws.note("colours", colours);
        draws.note("nodes", nodes);
        let mut painted: Vec<usize> = (0..nodes).map(|node| node % colours + 1).collect();
        painted.shuffle(rng);
        let pairs = (1..=nodes).flat_map(|low| (low + 1..=nodes).map(move |high| (low, high)));
        let mut pairs: Vec<(usize, usize)> =
            pairs.filter(|(low, high)| painted[low - 1] != painted[high - 1]).collect();
        let (chosen, _) = pairs.partial_shuffle(rng, wanted);
        let mut edges = chosen.to_vec();
        edges.sort_unstable();
        Ok(Instance { nodes, colours, edges, painted })
    }

    fn content(&self, Instance { colours, edges, .. }: &Instance) -> Value {
        // One text: this is asked for in every attempt, and is dear as a tree of numbers.
        Value::String(format!("{colours} {edges:?}"))
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({"nodes": instance.nodes, "colours": instance.colours, "edges": instance.edges})
    }

    fn prompt(&self, instance: &Instance) -> String {
        let Instance { nodes, colours, edges, .. } = instance;
        let edges: Vec<String> = edges.iter().map(|(low, high)| format!("{low}-{high}")).collect();
        format!(
            "A graph has the nodes 1 to {nodes} and these edges:\n\
             {}\n\
             Give every node one of the colours 1 to {colours}, so that no edge joins two nodes of the same colour. Answer with \
             all {nodes} nodes and their colours, such as: 1:2 2:3 3:2 4:1 and so on.",
            edges.join(" ")
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        let Instance { nodes, colours, edges, .. } = instance;
        let numbers = read_numbers(answer).filter(|numbers| numbers.len() == nodes * 2);
        let Some(numbers) = numbers else { return Mark::wrong(format!("it is not {nodes} nodes with a colour each")) };
        let mut painted = vec![None; *nodes];
        for pair in numbers.chunks(2) {
            let (node, colour) = (pair[0], pair[1]);
            let place = node.checked_sub(1).and_then(|index| painted.get_mut(index));
            match place {
                Some(place) if place.is_none() && (1..=*colours).contains(&colour) => *place = Some(colour),
                _ => return Mark::wrong(format!("{node}:{colour} is no node with a colour, or the node came before")),
            }
        }
        match edges.iter().find(|(low, high)| painted[low - 1] == painted[high - 1]) {
            None => Mark::right("no edge joins two nodes of the same colour"),
            Some((low, high)) => Mark::wrong(format!("nodes {low} and {high} have the same colour and an edge")),
        }
    }

    fn solution(&self, instance: &Instance) -> String {
        write(&instance.painted)
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        write(&(0..instance.nodes).map(|_| rng.random_range(1..=instance.colours)).collect::<Vec<_>>())
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // One node takes the colour of a neighbour.
        let mut painted = instance.painted.clone();
        let (low, high) = instance.edges[rng.random_range(0..instance.edges.len())];
        let (node, neighbour) = if rng.random_bool(0.5) { (low, high) } else { (high, low) };
        painted[node - 1] = painted[neighbour - 1];
        write(&painted)
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let mut neighbours = vec![Vec::new(); instance.nodes];
        for (low, high) in &instance.edges {
            neighbours[low - 1].push(high - 1);
            neighbours[high - 1].push(low - 1);
        }
        let mut tried = 0;
        colour(&neighbours, instance.colours, &mut vec![0; instance.nodes], &mut tried);
        f64::from(tried)
    }
}

fn write(painted: &[usize]) -> String {
    let pairs = painted.iter().enumerate().map(|(index, colour)| format!("{}:{colour}", index + 1));
    pairs.collect::<Vec<_>>().join(" ")
}

/// Colours a node with the fewest colours left, and among these one with the most neighbours, and so on until all are or
/// [`TRIED_MAX`] is reached (Brélaz, "New methods to color the vertices of a graph", 1979). No colour is 0.
fn colour(neighbours: &[Vec<usize>], colours: usize, painted: &mut [usize], tried: &mut u32) -> bool {
    let free =
        |painted: &[usize], node: usize, colour: usize| neighbours[node].iter().all(|other| painted[*other] != colour);
    let open = (0..painted.len()).filter(|node| painted[*node] == 0);
    let next = open.min_by_key(|node| {
        let left = (1..=colours).filter(|colour| free(painted, *node, *colour)).count();
        (left, std::cmp::Reverse(neighbours[*node].len()))
    });
    let Some(node) = next else { return true };
    // Colours that no node has yet are all the same: one of them is enough.
    let fresh = painted.iter().max().map_or(1, |highest| highest + 1);
    for candidate in 1..=fresh.min(colours) {
        if *tried >= TRIED_MAX {
            return false;
        }
        *tried += 1;
        if free(painted, node, candidate) {
            painted[node] = candidate;
            if colour(neighbours, colours, painted, tried) {
                return true;
            }
            painted[node] = 0;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of five nodes.
    fn instance() -> Instance {
        let edges = vec![(1, 2), (1, 5), (2, 3), (3, 4), (4, 5)];
        Instance { nodes: 5, colours: 3, edges, painted: vec![1, 2, 1, 2, 3] }
    }

    #[test]
    fn every_proper_colouring_is_right_and_no_other() {
        let all =
            (0..3_usize.pow(5)).map(|number| (0..5).map(|node| number / 3_usize.pow(node) % 3 + 1).collect::<Vec<_>>());
        let right = all.filter(|painted| GraphColouring.check(&instance(), &write(painted)).score == 1.0).count();
        // A ring of n nodes has (k - 1)^n + (-1)^n (k - 1) colourings with k colours.
        assert_eq!(right, 30);
    }

    #[test]
    fn pairs_come_in_any_order_and_notation() {
        for answer in [
            "1:1 2:2 3:1 4:2 5:3",
            "5:3, 4:2, 3:1, 2:2, 1:1",
            "{\"1\": 1, \"2\": 2, \"3\": 1, \"4\": 2, \"5\": 3}",
            "1=1\n2=2\n3=1\n4=2\n5=3",
        ] {
            assert_eq!(GraphColouring.check(&instance(), answer).score, 1.0, "{answer}");
        }
        for answer in [
            "",
            "1 2 1 2 3",
            "1:1 2:2 3:1 4:2",
            "1:1 2:2 3:1 4:2 4:2",
            "1:1 2:2 3:1 4:2 6:3",
            "0:1 2:2 3:1 4:2 5:3",
            "1:1 2:2 3:1 4:2 5:4",
            "1:1 2:2 3:1 4:2 5:0",
            "1:1 2:2 3:1 4:2 5:3 5:3",
            "1:1 2:2 3:1 4:2 5:-3",
            "1:red",
        ] {
            assert_eq!(GraphColouring.check(&instance(), answer).score, 0.0, "{answer}");
        }
    }
}
