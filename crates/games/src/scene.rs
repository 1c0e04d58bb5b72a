//! Pictures of boards: shapes that a page draws one over the other.

use serde::Serialize;

/// A shape on the canvas, in pixels from its upper left corner. Colours are those of CSS.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A rectangle: left, top, width, height, colour.
    Box(i64, i64, i64, i64, &'static str),
    /// A disc: centre x, centre y, radius, colour.
    Disc(i64, i64, i64, &'static str),
    /// Words around a centre: words, centre x, centre y, size, colour.
    Words(String, i64, i64, i64, &'static str),
}

/// Colour of lines and words.
pub(crate) const INK: &str = "#1c2430";
/// Colour of what is empty.
pub(crate) const PALE: &str = "#e3e8ef";
/// Colour of what is closed, and of walls.
pub(crate) const DARK: &str = "#6b7686";
/// Colour of words on dark colours.
pub(crate) const WHITE: &str = "#ffffff";
pub(crate) const RED: &str = "#cf2f2f";
pub(crate) const BLUE: &str = "#2460cc";
pub(crate) const GREEN: &str = "#2b8a3e";
pub(crate) const ORANGE: &str = "#ee8a11";
pub(crate) const PURPLE: &str = "#8a3ab9";
pub(crate) const TEAL: &str = "#129a9a";

/// A picture of a board.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scene {
    pub(crate) shapes: Vec<Shape>,
}

impl Scene {
    /// An empty board under a line of words.
    pub(crate) fn titled(title: String) -> Self {
        Self { shapes: vec![Shape::Words(title, crate::canvas::WIDTH / 2, 18, 18, INK)] }
    }

    pub(crate) fn rectangle(&mut self, (left, top): (i64, i64), (width, height): (i64, i64), colour: &'static str) {
        self.shapes.push(Shape::Box(left, top, width, height, colour));
    }

    pub(crate) fn disc(&mut self, (x, y): (i64, i64), radius: i64, colour: &'static str) {
        self.shapes.push(Shape::Disc(x, y, radius, colour));
    }

    pub(crate) fn words(&mut self, words: impl Into<String>, (x, y): (i64, i64), size: i64, colour: &'static str) {
        self.shapes.push(Shape::Words(words.into(), x, y, size, colour));
    }
}
