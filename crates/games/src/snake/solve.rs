//! The shortest way to each apple, from which much of the board can still be reached.

use std::collections::{HashSet, VecDeque};

use super::Snake;
use crate::input::Direction;
use crate::rules::{Rules as _, after};
use crate::{Outcome, Step};

/// Ways to one apple that are looked at where the first leads into a trap.
const WAYS_MAX: usize = 6;
/// Apples whose ways are looked for in all, so that a search ends.
const SEARCHES_MAX: usize = 400;

/// Steps that reach the goal.
pub(super) fn solve(start: &Snake) -> Option<Vec<Step>> {
    let mut searches = 0;
    let mut steps = Vec::new();
    eat_all(start, &mut steps, &mut searches).then_some(steps)
}

/// Looks for ways to all apples that are left, each from the end of the one before.
fn eat_all(snake: &Snake, steps: &mut Vec<Step>, searches: &mut usize) -> bool {
    if snake.outcome() == Outcome::Won {
        return true;
    }
    *searches += 1;
    if *searches > SEARCHES_MAX {
        return false;
    }
    for (after, way) in ways(snake) {
        let before = steps.len();
        steps.extend(way);
        if eat_all(&after, steps, searches) {
            return true;
        }
        steps.truncate(before);
    }
    false
}

/// The shortest ways to the apple, those first that leave room.
fn ways(snake: &Snake) -> Vec<(Snake, Vec<Step>)> {
    let mut seen = HashSet::new();
    let mut waiting = VecDeque::from([(snake.clone(), Vec::new())]);
    let mut found: Vec<(Snake, Vec<Step>)> = Vec::new();
    while let Some((board, way)) = waiting.pop_front() {
        for step in steps(&board) {
            let Some(next) = after(&board, &step) else { continue };
            let way: Vec<Step> = way.iter().cloned().chain([step]).collect();
            if next.eaten > snake.eaten {
                found.push((next, way));
                if found.len() >= WAYS_MAX {
                    break;
                }
            } else if seen.insert((next.body[0], next.body.get(2).copied(), next.next)) {
                waiting.push_back((next, way));
            }
        }
        if found.len() >= WAYS_MAX {
            break;
        }
    }
    found.sort_by_key(|(board, way)| {
        (room(board) < board.body.len() + 2 && board.outcome() == Outcome::Open, way.len())
    });
    found
}

/// Steps that can be taken.
fn steps(board: &Snake) -> Vec<Step> {
    let turns = Direction::ALL.into_iter().filter(|direction| *direction != board.direction.opposite());
    let waits = board.has_begun.then_some(Step::Wait(board.tick_ms));
    waits.into_iter().chain(turns.map(Direction::step)).collect()
}

/// Cells that the head can reach.
fn room(board: &Snake) -> usize {
    let mut seen = HashSet::from([board.body[0]]);
    let mut waiting = vec![board.body[0]];
    while let Some(cell) = waiting.pop() {
        for next in Direction::ALL.into_iter().filter_map(|direction| board.grid().next(cell, direction)) {
            if !board.walls[next] && !board.body.contains(&next) && seen.insert(next) {
                waiting.push(next);
            }
        }
    }
    seen.len()
}
