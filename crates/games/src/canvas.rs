//! Place and size of the canvas in the window, in pixels.

/// Left edge of the canvas in the window.
pub(crate) const LEFT: i64 = 276;
/// Upper edge of the canvas in the window.
pub(crate) const TOP: i64 = 110;
/// Width of the canvas.
pub(crate) const WIDTH: i64 = 720;
/// Height of the canvas.
pub(crate) const HEIGHT: i64 = 560;
