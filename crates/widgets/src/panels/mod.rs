//! Panels: parts of a page that come and go, and what lies over it.

mod carousel;
mod cookie_banner;
mod delete_dialog;
mod hover_tips;
mod native_dialogs;
mod split_pane;
mod tab_panels;
mod undo_notices;

use crate::Widget;

/// The widgets of this category.
pub(crate) fn widgets() -> Vec<Widget> {
    vec![
        carousel::WIDGET,
        cookie_banner::WIDGET,
        delete_dialog::WIDGET,
        native_dialogs::WIDGET,
        split_pane::WIDGET,
        hover_tips::WIDGET,
        tab_panels::WIDGET,
        undo_notices::WIDGET,
    ]
}
