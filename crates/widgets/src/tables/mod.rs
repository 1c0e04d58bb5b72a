//! Tables.

mod cell_edit;
mod column_chooser;
mod row_filter;

use crate::Widget;

/// The widgets of this category.
pub(crate) fn widgets() -> Vec<Widget> {
    vec![
        cell_edit::WIDGET,
        column_chooser::WIDGET,
        row_filter::WIDGET,
    ]
}
