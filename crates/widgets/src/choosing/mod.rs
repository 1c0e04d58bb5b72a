//! Choosing among things that are alike.

mod autocomplete;
mod check_by_rule;
mod colour_swatches;
mod drop_downs;
mod filter_chips;
mod list_box;
mod radio_groups;
mod two_lists;

use crate::Widget;

/// The widgets of this category.
pub(crate) fn widgets() -> Vec<Widget> {
    vec![
        autocomplete::WIDGET,
        list_box::WIDGET,
        radio_groups::WIDGET,
        check_by_rule::WIDGET,
        drop_downs::WIDGET,
        two_lists::WIDGET,
        colour_swatches::WIDGET,
        filter_chips::WIDGET,
    ]
}
