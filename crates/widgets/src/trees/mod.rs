//! Trees: things in things, and menus in menus.

mod accordion;
mod breadcrumb;
mod context_menu;
mod file_browser;
mod menu_bar;
mod nested_checks;
mod organisation;
mod tree_open;

use crate::Widget;

/// The widgets of this category.
pub(crate) fn widgets() -> Vec<Widget> {
    vec![
        accordion::WIDGET,
        breadcrumb::WIDGET,
        context_menu::WIDGET,
        file_browser::WIDGET,
        menu_bar::WIDGET,
        nested_checks::WIDGET,
        organisation::WIDGET,
        tree_open::WIDGET,
    ]
}
