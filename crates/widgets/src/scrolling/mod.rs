//! Pages and boxes that have to be scrolled.

mod gallery;
mod history_up;
mod infinite_list;
mod jump_links;
mod long_table;
mod scroll_place;
mod terms;
mod virtual_list;

use crate::{Draw, Widget, text};

/// The widgets of this category.
pub(crate) fn widgets() -> Vec<Widget> {
    vec![
        gallery::WIDGET,
        history_up::WIDGET,
        infinite_list::WIDGET,
        jump_links::WIDGET,
        long_table::WIDGET,
        scroll_place::WIDGET,
        terms::WIDGET,
        virtual_list::WIDGET,
    ]
}

/// Markup of a box of 728 by 480 at a fixed place, which can be scrolled, under a row of controls.
fn boxed(label: &str, controls: &str, inner: &str) -> String {
    format!(
        "<div class=\"row\" style=\"min-height:40px\">{controls}</div>\
         <div id=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"{}\" style=\"position:absolute;left:276px;top:120px;\
         width:728px;height:480px;overflow:auto;border:1px solid var(--line);border-radius:8px\">{inner}</div>",
        text(label)
    )
}

/// Turns the wheel over that box.
fn wheel(by: i64) -> String {
    format!("scroll_at(640, 360, 0, {by})")
}

/// So many different names such as `Ada's lantern`.
fn labels(draw: &mut Draw, count: usize) -> Vec<String> {
    let (names, things) = (draw.names(24), draw.things(24));
    let all: Vec<String> =
        names.iter().flat_map(|name| things.iter().map(move |thing| format!("{name}'s {thing}"))).collect();
    draw.some(count, &all)
}
