//! Pictures that have to be looked at: no text and no name of an element says what they show.

mod chart_read;
mod count_shapes;
mod odd_one;
mod pattern_next;
mod picture_map;
mod read_clock;
mod size_order;
mod spot_difference;

use crate::Widget;

/// The widgets of this category.
pub(crate) fn widgets() -> Vec<Widget> {
    vec![
        chart_read::WIDGET,
        read_clock::WIDGET,
        count_shapes::WIDGET,
        odd_one::WIDGET,
        pattern_next::WIDGET,
        picture_map::WIDGET,
        size_order::WIDGET,
        spot_difference::WIDGET,
    ]
}

/// Markup of a field for text.
fn field(label: &str) -> String {
    format!("<label style=\"margin:0\">{label} <input class=\"answer\" size=\"7\"></label>")
}

/// Markup of a list to choose from, with nothing chosen.
fn choice(label: &str, options: &[String]) -> String {
    let options: String = options.iter().map(|option| format!("<option>{option}</option>")).collect();
    format!(
        "<label style=\"margin:0\">{label} <select class=\"answer\"><option value=\"\">choose</option>{options}</select></label>"
    )
}
