//! The reference player: shoots where the clues say that a ship must be, or else most likely is.

use super::{Instance, Progress, Seen, all_sunk, counts, seen};
use crate::grid::square::Square;

/// Factor by which a square beside a hit that is not sunk is likelier.
const BESIDE_A_HIT: f64 = 20.0;

/// Conclusion of the player about a square.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Belief {
    Open,
    Water,
    /// A ship, whether it was shot at or not.
    Ship,
}

/// A line of the sea: how many ship squares it has, if that is told, and its squares.
struct Line {
    count: Option<usize>,
    squares: Vec<Square>,
}

/// The shots that it fires until the fleet is sunk, without a limit. It looks at the ships only through what shots show.
pub(super) fn shots(instance: &Instance) -> Vec<Square> {
    let mut progress = Progress { shots: Vec::new() };
    let lines = lines(instance);
    while !all_sunk(instance, &progress) {
        let beliefs = conclude(instance, &lines, &progress);
        let unshot = Square::all(instance.size).filter(|square| !progress.shots.contains(square));
        let best = unshot.map(|square| (chance(instance, &lines, &progress, &beliefs, square), square));
        let Some((_, square)) = best.max_by(|one, other| one.0.total_cmp(&other.0)) else { break };
        progress.shots.push(square);
    }
    progress.shots
}

/// Conclusions from the shots and the counts, by going through the lines until nothing new comes.
fn conclude(instance: &Instance, lines: &[Line], progress: &Progress) -> Vec<Belief> {
    let size = instance.size;
    let mut beliefs = vec![Belief::Open; size * size];
    for square in Square::all(size) {
        match seen(instance, &progress.shots, square) {
            Seen::Nothing => {}
            Seen::Water => beliefs[index(square, size)] = Belief::Water,
            Seen::Hit => beliefs[index(square, size)] = Belief::Ship,
            Seen::Sunk => {
                beliefs[index(square, size)] = Belief::Ship;
                // Nothing lies beside a sunk ship.
                drown(&mut beliefs, size, square.around(size));
            }
        }
    }
    loop {
        let before = beliefs.clone();
        for square in Square::all(size).filter(|square| before[index(*square, size)] == Belief::Ship) {
            let corners = square.around(size).filter(|other| other.row != square.row && other.column != square.column);
            drown(&mut beliefs, size, corners);
        }
        for Line { count, squares } in lines {
            let of = |belief| squares.iter().filter(|square| beliefs[index(**square, size)] == belief).count();
            let Some(missing) = count.map(|count| count.saturating_sub(of(Belief::Ship))) else { continue };
            let open = of(Belief::Open);
            let all = if missing == 0 { Belief::Water } else { Belief::Ship };
            if open > 0 && (missing == 0 || missing == open) {
                for square in squares.iter().filter(|square| before[index(**square, size)] == Belief::Open) {
                    if beliefs[index(*square, size)] == Belief::Open {
                        beliefs[index(*square, size)] = all;
                    }
                }
            }
        }
        if beliefs == before {
            return beliefs;
        }
    }
}

/// Likelihood of a ship at a square that was not shot at, on a scale of no meaning but its order.
fn chance(instance: &Instance, lines: &[Line], progress: &Progress, beliefs: &[Belief], square: Square) -> f64 {
    let size = instance.size;
    match beliefs[index(square, size)] {
        Belief::Ship => f64::INFINITY,
        Belief::Water => 0.0,
        Belief::Open => {
            let through = lines.iter().filter(|line| line.squares.contains(&square));
            let shares = through.map(|line| share(line, beliefs, size)).product::<f64>();
            let beside = square.beside(size).any(|other| seen(instance, &progress.shots, other) == Seen::Hit);
            if beside { BESIDE_A_HIT + shares } else { shares }
        }
    }
}

/// Share of the open squares of a line that holds ships; one in five without a count.
fn share(line: &Line, beliefs: &[Belief], size: usize) -> f64 {
    let of = |belief| line.squares.iter().filter(|square| beliefs[index(**square, size)] == belief).count();
    let part = |number: usize| u32::try_from(number).map_or(0.0, f64::from);
    let missing = line.count.map(|count| count.saturating_sub(of(Belief::Ship)));
    missing.map_or(0.2, |missing| part(missing) / part(of(Belief::Open)).max(1.0))
}

fn lines(instance: &Instance) -> Vec<Line> {
    let (rows, columns) = counts(instance);
    let line =
        |count, of: &dyn Fn(&Square) -> bool| Line { count, squares: Square::all(instance.size).filter(of).collect() };
    let rows = rows.into_iter().enumerate().map(|(row, count)| line(count, &|square| square.row == row));
    let columns = columns.into_iter().enumerate().map(|(column, count)| line(count, &|square| square.column == column));
    rows.chain(columns).collect()
}

fn drown(beliefs: &mut [Belief], size: usize, squares: impl Iterator<Item = Square>) {
    for square in squares {
        let belief = &mut beliefs[index(square, size)];
        if *belief == Belief::Open {
            *belief = Belief::Water;
        }
    }
}

const fn index(square: Square, size: usize) -> usize {
    square.row * size + square.column
}
