//! Things fall, and a basket that follows the pointer catches them.

use std::collections::BTreeMap;

use palestra_widgets::Draw;
use serde::{Deserialize, Serialize};

use crate::grid::Grid;
use crate::input::ACTION_MS;
use crate::rules::{Drawn, Rules, after};
use crate::scene::{BLUE, GREEN, INK, PALE, Scene};
use crate::{Input, Outcome, Progress, Step};

/// Its skill, as one sentence.
pub(crate) const ABOUT: &str = "Catches falling things with a slow basket, by the pointer.";

/// Columns and rows.
const GRID: Grid = Grid::new(9, 8);
/// Actions of the longest solution that is looked for.
const ACTIONS_MAX: usize = 400;

/// A basket under falling things.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Catch {
    things: Vec<Thing>,
    /// Column of the basket's middle.
    basket: usize,
    /// Column to which it is on its way.
    target: usize,
    /// Columns that it covers on each side of its middle.
    half: usize,
    caught: u32,
    missed: u32,
    goal: u32,
    misses_max: u32,
    ticks: u32,
    tick_ms: u32,
    has_begun: bool,
    has_caught_stone: bool,
}

/// A thing that falls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Thing {
    column: usize,
    /// Tick at which it reaches the basket's row.
    lands: u32,
    /// True for a stone, which must not be caught.
    stone: bool,
}

impl Catch {
    /// Cells of things that are on the board.
    fn falling(&self) -> BTreeMap<usize, Thing> {
        let last = GRID.rows - 1;
        let place = |thing: &Thing| {
            let above = usize::try_from(thing.lands.checked_sub(self.ticks)?).ok()?;
            let row = last.checked_sub(above).filter(|_| above > 0)?;
            Some((row * GRID.columns + thing.column, *thing))
        };
        self.things.iter().filter_map(place).collect()
    }

    fn covers(&self, column: usize) -> bool {
        self.basket.abs_diff(column) <= self.half
    }

    fn tick(&mut self) {
        self.ticks += 1;
        self.basket = match self.basket.cmp(&self.target) {
            std::cmp::Ordering::Less => self.basket + 1,
            std::cmp::Ordering::Equal => self.basket,
            std::cmp::Ordering::Greater => self.basket - 1,
        };
        let landed: Vec<Thing> = self.things.iter().copied().filter(|thing| thing.lands == self.ticks).collect();
        for thing in landed {
            match (self.covers(thing.column), thing.stone) {
                (true, true) => self.has_caught_stone = true,
                (true, false) => self.caught += 1,
                (false, true) => {}
                (false, false) => self.missed += 1,
            }
        }
    }

    /// The step that leads the pointer to a column.
    fn point(column: usize) -> Step {
        let (x, y) = GRID.middle((GRID.rows - 1) * GRID.columns + column);
        Step::Move(x, y)
    }

    fn title(&self) -> String {
        format!("Caught: {} of {}. Missed: {}, at most {}", self.caught, self.goal, self.missed, self.misses_max)
    }
}

impl Rules for Catch {
    fn take(&mut self, input: &Input) -> bool {
        match input {
            Input::Tick if self.has_begun => {
                self.tick();
                true
            }
            Input::Move { x, y } if GRID.cell_at((*x, *y)).is_some() => {
                let column = GRID.column_at(*x).unwrap_or(self.target);
                let changes = !self.has_begun || column != self.target;
                (self.target, self.has_begun) = (column, true);
                changes
            }
            _ => false,
        }
    }

    fn outcome(&self) -> Outcome {
        if self.has_caught_stone || self.missed > self.misses_max {
            Outcome::Lost
        } else if self.caught >= self.goal {
            Outcome::Won
        } else {
            Outcome::Open
        }
    }

    fn progress(&self) -> Progress {
        Progress { done: self.caught.min(self.goal), goal: self.goal }
    }

    fn tick_ms(&self) -> Option<u32> {
        self.has_begun.then_some(self.tick_ms)
    }

    fn follows_pointer(&self) -> bool {
        true
    }

    fn scene(&self) -> Scene {
        let mut scene = Scene::titled(self.title());
        (0..GRID.cells()).for_each(|cell| GRID.fill(&mut scene, cell, PALE));
        for (cell, thing) in self.falling() {
            let (x, y) = GRID.middle(cell);
            if thing.stone {
                scene.rectangle((x - 18, y - 18), (36, 36), INK);
            } else {
                scene.disc((x, y), 20, GREEN);
            }
        }
        for column in (0..GRID.columns).filter(|column| self.covers(*column)) {
            let (x, y) = GRID.middle((GRID.rows - 1) * GRID.columns + column);
            scene.rectangle((x - 31, y - 8), (62, 36), BLUE);
        }
        scene
    }

    fn words(&self) -> Vec<String> {
        let falling = self.falling();
        let state = if self.has_begun { "Time passes" } else { "The game waits for the pointer" };
        let (basket, target) = (self.basket + 1, self.target + 1);
        let width = 2 * self.half + 1;
        let mut words = vec![
            format!("{}. {state}, one step every {} milliseconds.", self.title(), self.tick_ms),
            format!(
                "The middle of the basket is at column {basket} of row {}, on its way to column {target}; it is {width} columns wide.",
                GRID.rows
            ),
            GRID.places_in_words(),
        ];
        // What falls lies below what comes later, so the first to land is told first.
        words.extend(falling.iter().rev().map(|(cell, thing)| {
            let (row, column) = (GRID.row(*cell), GRID.column(*cell));
            let kind = if thing.stone { "A stone" } else { "A ball" };
            format!("{kind} in row {}, column {}: {} steps above the basket.", row + 1, column + 1, GRID.rows - 1 - row)
        }));
        words
    }

    /// Looks at all places that the basket can reach, action by action.
    fn solution(&self) -> Option<Vec<Step>> {
        let mut layer: BTreeMap<(usize, u32), (Self, Vec<Step>)> = BTreeMap::new();
        layer.insert((self.basket, self.missed), (self.clone(), Vec::new()));
        for _ in 0..ACTIONS_MAX {
            let mut next: BTreeMap<(usize, u32), (Self, Vec<Step>)> = BTreeMap::new();
            for (board, steps) in layer.values() {
                for column in 0..GRID.columns {
                    let step = Self::point(column);
                    let Some(after) = after(board, &step) else { continue };
                    let steps: Vec<Step> = steps.iter().cloned().chain([step]).collect();
                    if after.outcome() == Outcome::Won {
                        return Some(steps);
                    }
                    next.entry((after.basket, after.missed)).or_insert((after, steps));
                }
            }
            layer = next;
        }
        None
    }

    fn is_of(&self, start: &Self) -> bool {
        let Self { basket, target, caught, missed, ticks, has_begun, has_caught_stone, .. } = *self;
        let same = Self { basket, target, caught, missed, ticks, has_begun, has_caught_stone, ..start.clone() };
        *self == same && self.basket.max(self.target) < GRID.columns
    }
}

/// Settings of a level.
#[derive(Clone, Copy)]
struct Plan {
    half: usize,
    goal: u32,
    misses_max: u32,
    /// Steps between two balls: from, to.
    gap: (u32, u32),
    /// One in so many balls has a stone beside its time; 0 for none.
    stone_in: u32,
    tick_ms: u32,
}

/// Things that fall so that a basket that is always on its way catches every ball and no stone.
fn things(draw: &mut Draw, plan: &Plan, begin: usize) -> Vec<Thing> {
    let mut things = Vec::new();
    let (mut at, mut lands) = (begin, u32::try_from(GRID.rows).unwrap_or_default() - 1);
    for _ in 0..plan.goal + plan.misses_max {
        let gap = u32::try_from(draw.number(i64::from(plan.gap.0)..=i64::from(plan.gap.1))).unwrap_or(plan.gap.0);
        lands += gap;
        // Where several steps pass with one action, its first one may be needed to stay.
        let reach = usize::try_from((gap + 1).saturating_sub(ACTION_MS / plan.tick_ms)).unwrap_or_default();
        let columns: Vec<usize> =
            (plan.half..GRID.columns - plan.half).filter(|column| column.abs_diff(at) <= reach).collect();
        let far: Vec<usize> = columns.iter().copied().filter(|column| column.abs_diff(at) >= reach.min(3)).collect();
        at = draw.pick(if far.is_empty() { &columns } else { &far });
        things.push(Thing { column: at, lands, stone: false });
        if plan.stone_in > 0 && draw.once_in(plan.stone_in) {
            let beside: Vec<usize> = (0..GRID.columns).filter(|column| column.abs_diff(at) > plan.half).collect();
            things.push(Thing { column: draw.pick(&beside), lands, stone: true });
        }
    }
    things
}

pub(crate) fn draw(draw: &mut Draw) -> Drawn<Catch> {
    let plan = draw.level.of([
        Plan { half: 1, goal: 3, misses_max: 2, gap: (4, 6), stone_in: 0, tick_ms: 500 },
        Plan { half: 1, goal: 6, misses_max: 2, gap: (3, 5), stone_in: 4, tick_ms: 500 },
        Plan { half: 0, goal: 9, misses_max: 2, gap: (3, 5), stone_in: 3, tick_ms: 250 },
        Plan { half: 0, goal: 14, misses_max: 1, gap: (2, 4), stone_in: 2, tick_ms: 250 },
    ]);
    let begin = plan.half + draw.place(GRID.columns - 2 * plan.half);
    let things = things(draw, &plan, begin);
    let Plan { goal, misses_max, tick_ms, .. } = plan;
    let board = Catch {
        things,
        basket: begin,
        target: begin,
        half: plan.half,
        caught: 0,
        missed: 0,
        goal,
        misses_max,
        ticks: 0,
        tick_ms,
        has_begun: false,
        has_caught_stone: false,
    };
    Drawn {
        instruction: format!(
            "Catch {goal} of the round balls that fall, and miss at most {misses_max}. The basket in the lowest row moves towards the column \
             of the pointer, by one column with each step of time, and balls fall by one row. A step comes every {tick_ms} milliseconds of \
             the page's time, from the first movement of the pointer over the board on. That time stands still between your actions, and \
             passes by 500 milliseconds with each; noop(wait_ms) lets that much pass. A square stone in the basket loses the game."
        ),
        title: "Catching",
        board,
    }
}

#[cfg(test)]
mod tests {
    use palestra_widgets::Level;

    use super::*;

    fn board(things: &[Thing]) -> Catch {
        let board = draw(&mut Draw::new(Level::Three, 1)).board;
        Catch { things: things.to_vec(), basket: 4, target: 4, goal: 2, misses_max: 0, ..board }
    }

    fn point(board: &mut Catch, column: usize) -> bool {
        let input = Catch::point(column).input().expect("an input");
        board.take(&input)
    }

    #[test]
    fn the_basket_moves_one_column_a_step_from_the_first_movement_on() {
        let mut catch = board(&[]);
        assert!(!catch.take(&Input::Tick) && catch.tick_ms().is_none());
        assert!(!catch.take(&Input::Move { x: -1, y: 5 }), "beside the board");
        assert!(point(&mut catch, 7) && !point(&mut catch, 7));
        let seen: Vec<usize> = (0..5).map(|_| (catch.take(&Input::Tick), catch.basket).1).collect();
        assert_eq!(seen, [5, 6, 7, 7, 7]);
    }

    #[test]
    fn balls_are_caught_or_missed_and_a_stone_loses() {
        let ball = |column, lands| Thing { column, lands, stone: false };
        let mut catch = board(&[ball(4, 1), ball(5, 2)]);
        point(&mut catch, 4);
        catch.take(&Input::Tick);
        assert_eq!((catch.caught, catch.outcome()), (1, Outcome::Open));
        catch.take(&Input::Tick);
        assert_eq!((catch.missed, catch.outcome()), (1, Outcome::Lost));

        let mut catch = board(&[Thing { column: 4, lands: 1, stone: true }]);
        point(&mut catch, 4);
        catch.take(&Input::Tick);
        assert_eq!(catch.outcome(), Outcome::Lost);
    }

    #[test]
    fn what_falls_is_seen_above_the_basket_only() {
        let thing = |lands| Thing { column: 0, lands, stone: false };
        let catch = board(&[thing(0), thing(1), thing(7), thing(8)]);
        assert_eq!(catch.falling().keys().copied().collect::<Vec<_>>(), [0, 6 * 9]);
    }
}
