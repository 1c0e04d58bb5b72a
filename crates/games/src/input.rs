//! Inputs of pages, and steps of solutions.

use serde::{Deserialize, Serialize};

use crate::canvas::{LEFT, TOP};

/// Time that passes with every action of the browser, in milliseconds.
pub(crate) const ACTION_MS: u32 = 500;

/// An input that a page passes on. Places are pixels from the upper left corner of the canvas.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Input {
    /// A key, by its name.
    Key(String),
    /// A click.
    Click {
        /// Pixels from the left.
        x: i64,
        /// Pixels from the top.
        y: i64,
        /// The mouse's button.
        button: Button,
    },
    /// The left button was pressed at one place and let go at another.
    Drag {
        /// Where it was pressed: x, y.
        from: (i64, i64),
        /// Where it was let go: x, y.
        to: (i64, i64),
    },
    /// The pointer moved.
    Move {
        /// Pixels from the left.
        x: i64,
        /// Pixels from the top.
        y: i64,
    },
    /// Time of the page passed.
    Tick,
}

/// A button of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Button {
    /// The one of the index finger.
    Left,
    /// The one that opens menus.
    Right,
}

/// A direction of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Direction {
    Up,
    Down,
    Left,
    Right,
}

impl Direction {
    pub(crate) const ALL: [Self; 4] = [Self::Up, Self::Down, Self::Left, Self::Right];

    pub(crate) const fn opposite(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }

    const fn arrow(self) -> &'static str {
        match self {
            Self::Up => "ArrowUp",
            Self::Down => "ArrowDown",
            Self::Left => "ArrowLeft",
            Self::Right => "ArrowRight",
        }
    }

    /// The step of a key of this direction.
    pub(crate) const fn step(self) -> Step {
        Step::Key(self.arrow())
    }
}

impl Input {
    /// The direction of an arrow key, or of one of the keys w, a, s and d.
    pub(crate) fn direction(&self) -> Option<Direction> {
        let Self::Key(key) = self else { return None };
        Direction::ALL.into_iter().zip(["w", "s", "a", "d"]).find_map(|(direction, letter)| {
            (key == direction.arrow() || key.eq_ignore_ascii_case(letter)).then_some(direction)
        })
    }
}

/// A step of a solution: one action of the browser. Places are as in [`Input`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Presses a key.
    Key(&'static str),
    /// Clicks.
    Click(i64, i64),
    /// Drags from one place to another.
    Drag((i64, i64), (i64, i64)),
    /// Moves the pointer.
    Move(i64, i64),
    /// Lets so many milliseconds of the page's clock pass.
    Wait(u32),
}

impl Step {
    /// The action, as BrowserGym writes it.
    #[must_use]
    pub fn action(&self) -> String {
        match self {
            Self::Key(key) => format!("keyboard_press('{key}')"),
            Self::Click(x, y) => format!("mouse_click({}, {})", LEFT + x, TOP + y),
            Self::Drag((from_x, from_y), (to_x, to_y)) => {
                format!("mouse_drag_and_drop({}, {}, {}, {})", LEFT + from_x, TOP + from_y, LEFT + to_x, TOP + to_y)
            }
            Self::Move(x, y) => format!("mouse_move({}, {})", LEFT + x, TOP + y),
            Self::Wait(milliseconds) => format!("noop({milliseconds})"),
        }
    }

    /// The input that the page passes on for it; `None` where only time passes.
    #[must_use]
    pub fn input(&self) -> Option<Input> {
        Some(match *self {
            Self::Key(key) => Input::Key(key.to_owned()),
            Self::Click(x, y) => Input::Click { x, y, button: Button::Left },
            Self::Drag(from, to) => Input::Drag { from, to },
            Self::Move(x, y) => Input::Move { x, y },
            Self::Wait(_) => return None,
        })
    }

    /// Milliseconds of the page's clock that pass with it.
    #[must_use]
    pub const fn milliseconds(&self) -> u32 {
        match self {
            Self::Wait(milliseconds) => *milliseconds,
            _ => ACTION_MS,
        }
    }
}
