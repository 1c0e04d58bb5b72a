//! Dates and times.

mod month_picker;

use crate::Widget;

/// The widgets of this category.
pub(crate) fn widgets() -> Vec<Widget> {
    vec![month_picker::WIDGET]
}
