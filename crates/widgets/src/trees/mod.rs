//! Trees: things in things, and menus in menus.

mod accordion;
mod context_menu;
mod file_browser;
mod menu_bar;

use crate::Widget;

/// The widgets of this category.
pub(crate) fn widgets() -> Vec<Widget> {
    vec![
        accordion::WIDGET,
        context_menu::WIDGET,
        file_browser::WIDGET,
        menu_bar::WIDGET,
    ]
}
