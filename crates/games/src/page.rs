//! The page of a game: a canvas, and a script that draws what it is given and passes on inputs.

use palestra_widgets::page_of;

use crate::View;
use crate::canvas::{HEIGHT, LEFT, TOP, WIDTH};

const SCRIPT: &str = include_str!("page/page.js");

/// The page of a board. It posts inputs as JSON to `/input`, and draws the [`View`] that is answered.
///
/// # Errors
/// When the view has no JSON form, which no view lacks.
pub fn document(title: &str, view: &View) -> Result<String, serde_json::Error> {
    let style = format!(
        "#board{{position:absolute;left:{LEFT}px;top:{TOP}px;box-shadow:0 0 0 1px var(--line);touch-action:none;user-select:none}}"
    );
    let body = format!(
        "<canvas id=\"board\" width=\"{WIDTH}\" height=\"{HEIGHT}\" tabindex=\"0\" aria-label=\"Board\"><div id=\"words\"></div></canvas>"
    );
    Ok(page_of(title, &style, &body, &serde_json::to_value(view)?, SCRIPT))
}
