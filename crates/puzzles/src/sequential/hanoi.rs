//! `puzzle/hanoi`: move disks between pegs from any arrangement to any other.

mod towers;

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::towers::{Move, Towers};
use crate::facts::{Category, Facts};
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal, Requirement};

/// Moves of a shortest solution up to which there are four pegs; with three, arrangements so near are too few.
const FOUR_PEGS_MOVES_MAX: u32 = 8;

/// So many that there are many arrangements even where few of them have to be moved.
const DISKS: u32 = 10;

/// Some arrangement is as many moves away as wanted.
static FAR: Requirement = Requirement::new("far", "some arrangement is as many moves away as wanted", 0.02);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hanoi;

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    pegs: u8,
    /// The peg of each disk, from 1, the smallest disk first.
    start: Vec<u8>,
    goal: Vec<u8>,
    moves_max: usize,
    /// A shortest solution.
    moves: Vec<Move>,
}

impl Question for Hanoi {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "hanoi",
            version: 1,
            category: Category::Sequential,
            tags: &["planning"],
            multi_turn: false,
            description: "Move ten disks on three or four pegs from one arrangement to another, never a larger disk onto a smaller one.",
            rule: "Every move is legal, there are not too many, and the last one leaves the arrangement that was asked for; any such moves are right.",
            scale: "Shortest solutions from 5 to 100 moves, three pegs, and fewer moves to spare.",
            effort: "Searches breadth first for a shortest solution; distances from the beginning gone through.",
            floor: 0.02,
            heavy: true,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let distance = scale(difficulty.powi(2), 5, 100);
        let pegs = if distance <= FOUR_PEGS_MOVES_MAX { 4 } else { 3 };
        let towers = Towers { pegs, disks: DISKS };
        let start = rng.random_range(0..towers.arrangements());
        let found = towers.distances(start, distance, None);
        draws.note("pegs", pegs);
        draws.note("moves", distance);
        let goal = *found.farthest(distance).and_then(|far| far.choose(rng)).ok_or(&FAR)?;
        let moves = found.moves(&towers, goal);
        let spare = moves.len() * usize::try_from(scale(difficulty, 60, 0))? / 100;
        Ok(Instance {
            pegs,
            start: towers.pegs_of(start),
            goal: towers.pegs_of(goal),
            moves_max: moves.len() + spare,
            moves,
        })
    }

    fn content(&self, instance: &Instance) -> Value {
        // The way back is the same problem, and so is one whose pegs have other numbers.
        let ways = [(&instance.start, &instance.goal), (&instance.goal, &instance.start)];
        let renumbered = ways.map(|(from, to)| {
            let mut order: Vec<u8> = Vec::new();
            let mut number = |peg: &u8| {
                order.iter().position(|known| known == peg).unwrap_or_else(|| {
                    order.push(*peg);
                    order.len() - 1
                })
            };
            from.iter().chain(to).map(&mut number).collect::<Vec<usize>>()
        });
        json!([instance.pegs, renumbered.iter().min()])
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({
            "pegs": instance.pegs, "start": instance.start, "goal": instance.goal, "moves_max": instance.moves_max
        })
    }

    fn prompt(&self, instance: &Instance) -> String {
        let Instance { pegs, start, goal, moves_max, .. } = instance;
        format!(
            "There are {pegs} pegs, 1 to {pegs}, and {} disks, 1 to {}; a disk with a larger number is larger. A move takes the \
             uppermost disk of a peg and puts it onto another peg, which must be empty or have a larger disk uppermost.\n\
             The beginning, each peg from bottom to top:\n{}\n\
             The arrangement to reach:\n{}\n\
             Reach it in at most {moves_max} moves. The answer is the moves in order, separated by commas, each as the peg that a \
             disk is taken from and the peg that it is put onto, such as: 1>3, 2>1",
            start.len(),
            start.len(),
            draw(*pegs, start),
            draw(*pegs, goal)
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        let Some(moves) = read(answer) else { return Mark::wrong("it is not a list of moves") };
        if moves.len() > instance.moves_max {
            return Mark::wrong(format!("{} moves are more than {}", moves.len(), instance.moves_max));
        }
        let mut stands = instance.start.clone();
        for (at, Move(from, to)) in moves.iter().enumerate() {
            let disk = stands.iter().position(|peg| peg == from);
            let below = stands.iter().position(|peg| peg == to);
            let legal = (1..=instance.pegs).contains(to) && from != to && below.is_none_or(|below| disk < Some(below));
            match disk.filter(|_| legal) {
                Some(disk) => stands[disk] = *to,
                None => return Mark::wrong(format!("move {}, {from}>{to}, is not possible", at + 1)),
            }
        }
        if stands == instance.goal {
            Mark::right(format!("reached in {} moves", moves.len()))
        } else {
            Mark::wrong("the moves end in another arrangement")
        }
    }

    fn solution(&self, instance: &Instance) -> String {
        write(&instance.moves)
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        let mut stands = instance.start.clone();
        let mut made = Vec::new();
        for _ in 0..instance.moves_max {
            let disk = |peg: u8| stands.iter().position(|other| *other == peg).unwrap_or(usize::MAX);
            let pairs = (1..=instance.pegs).flat_map(|from| (1..=instance.pegs).map(move |to| Move(from, to)));
            let legal: Vec<Move> = pairs.filter(|Move(from, to)| disk(*from) < disk(*to)).collect();
            let Some(Move(from, to)) = legal.choose(rng).copied() else { break };
            if let Some(peg) = stands.iter_mut().find(|peg| **peg == from) {
                *peg = to;
            }
            made.push(Move(from, to));
        }
        write(&made)
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        let mut moves = instance.moves.clone();
        if rng.random() {
            // The beginning of a shortest solution does not yet arrive.
            moves.truncate(rng.random_range(1..moves.len()));
        } else {
            // One more move leads away again, or is not possible.
            let from = rng.random_range(1..=instance.pegs);
            moves.push(Move(from, from % instance.pegs + 1));
        }
        write(&moves)
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let towers = Towers { pegs: instance.pegs, disks: u32::try_from(instance.start.len()).unwrap_or(0) };
        let (start, goal) = (towers.number_of(&instance.start), towers.number_of(&instance.goal));
        f64::from(towers.distances(start, u32::MAX, Some(goal)).layers())
    }
}

/// One line for each peg.
fn draw(pegs: u8, stands: &[u8]) -> String {
    let line = |peg: u8| {
        let disks: Vec<String> =
            (1..=stands.len()).rev().filter(|disk| stands[disk - 1] == peg).map(|disk| disk.to_string()).collect();
        format!("peg {peg}: {}", if disks.is_empty() { "empty".to_owned() } else { disks.join(" ") })
    };
    (1..=pegs).map(line).collect::<Vec<_>>().join("\n")
}

fn write(moves: &[Move]) -> String {
    moves.iter().map(|Move(from, to)| format!("{from}>{to}")).collect::<Vec<_>>().join(", ")
}

/// Reads pairs of single digits, each pair with `>`, `->`, `→`, `-` or a space between; `None` when anything else is there.
fn read(answer: &str) -> Option<Vec<Move>> {
    let pegs: Option<Vec<u8>> = answer
        .split(|letter: char| letter.is_ascii_whitespace() || ",;()[]->→".contains(letter))
        .filter(|word| !word.is_empty())
        .map(|word| match word.as_bytes() {
            [digit @ b'0'..=b'9'] => Some(digit - b'0'),
            _ => None,
        })
        .collect();
    let pegs = pegs?;
    let (pairs, rest) = pegs.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[from, to]| Move(*from, *to)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_environment::task::seeded;

    fn instance() -> Instance {
        let moves = vec![Move(1, 2), Move(1, 3), Move(2, 3)];
        Instance { pegs: 3, start: vec![1, 1, 2], goal: vec![3, 3, 2], moves_max: 5, moves }
    }

    #[test]
    fn any_legal_moves_to_the_goal_are_right_and_others_are_not() {
        for answer in [
            "1>2, 1>3, 2>3",
            "1->2; 1->3; 2->3",
            "1 2\n1 3\n2 3",
            "[(1,2), (1,3), (2,3)]",
            "1-2 1-3 2-3",
            "1→2, 1→3, 2→3",
            "1>3, 3>2, 1>3, 2>3",
            "1>2, 2>1, 1>2, 1>3, 2>3",
        ] {
            assert_eq!(Hanoi.check(&instance(), answer).score, 1.0, "{answer}");
        }
        for answer in [
            "",
            "1>2, 1>3",
            "1>2, 1>2, 2>3",
            "1>3, 1>3",
            "1>2, 1>3, 2>3, 3>3",
            "1>2, 1>3, 2>3, 2>4",
            "1>2, 1>3, 2>3, 3>1",
            "1>2, 1>3, 2",
            "1>2, 2>1, 1>2, 2>1, 1>2, 1>3, 2>3",
            "1>2, 1>3, 2>33",
            "one",
            "１>２",
            "0>1",
            "3>1",
            "1>2, 1>3, 2>3 done",
            "1>2.1>3.2>3",
        ] {
            assert_eq!(Hanoi.check(&instance(), answer).score, 0.0, "{answer}");
        }
    }

    #[test]
    fn the_same_problem_in_other_numbers_or_backwards_has_the_same_content() {
        let of = |start: [u8; 3], goal: [u8; 3]| {
            Hanoi.content(&Instance { start: start.to_vec(), goal: goal.to_vec(), ..instance() })
        };
        let content = of([1, 1, 2], [3, 3, 2]);
        for other in [of([3, 3, 2], [1, 1, 2]), of([2, 2, 1], [3, 3, 1]), of([2, 2, 3], [1, 1, 3])] {
            assert_eq!(content, other);
        }
        for other in [of([1, 1, 2], [3, 3, 1]), of([1, 1, 2], [2, 2, 2]), of([1, 2, 2], [3, 3, 2])] {
            assert_ne!(content, other);
        }
    }

    #[test]
    fn made_problems_have_the_stated_shortest_solution() {
        let mut rng = seeded(&[b"hanoi"]);
        for difficulty in [0.0, 0.2, 0.5, 1.0] {
            let made = (0..50)
                .find_map(|_| Hanoi.generate(&mut rng, difficulty, &mut Draws::default()).ok())
                .expect("a problem");
            assert_eq!(Hanoi.check(&made, &write(&made.moves)).score, 1.0);
            assert_eq!(Hanoi.effort(&made) as usize, made.moves.len());
        }
    }
}
