//! Dates and times.

mod clock_face;
mod date_range;
mod free_slot;
mod month_picker;
mod repeat_days;
mod time_spin;
mod typed_date;
mod week_picker;

use crate::Widget;

/// The widgets of this category.
pub(crate) fn widgets() -> Vec<Widget> {
    vec![
        month_picker::WIDGET,
        typed_date::WIDGET,
        date_range::WIDGET,
        time_spin::WIDGET,
        clock_face::WIDGET,
        week_picker::WIDGET,
        free_slot::WIDGET,
        repeat_days::WIDGET,
    ]
}
