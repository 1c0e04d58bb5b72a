//! Tables.

mod cell_edit;
mod column_chooser;
mod row_filter;
mod row_select;
mod table_join;
mod table_pages;
mod table_sort;
mod table_totals;

use crate::Widget;

/// The widgets of this category.
pub(crate) fn widgets() -> Vec<Widget> {
    vec![
        cell_edit::WIDGET,
        column_chooser::WIDGET,
        row_filter::WIDGET,
        row_select::WIDGET,
        table_join::WIDGET,
        table_pages::WIDGET,
        table_sort::WIDGET,
        table_totals::WIDGET,
    ]
}
