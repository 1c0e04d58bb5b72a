//! Small pages of everyday use.

mod calculator;
mod chat;
mod mail_list;
mod media_player;
mod seat_map;
mod shopping_amounts;
mod shortcut_editor;
mod to_do;

use crate::Widget;

/// The widgets of this category.
pub(crate) fn widgets() -> Vec<Widget> {
    vec![
        calculator::WIDGET,
        chat::WIDGET,
        mail_list::WIDGET,
        media_player::WIDGET,
        seat_map::WIDGET,
        shopping_amounts::WIDGET,
        shortcut_editor::WIDGET,
        to_do::WIDGET,
    ]
}
