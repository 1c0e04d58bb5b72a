//! Dragging: by the browser's own drag and drop, or by events of the pointer.

mod calendar_drop;
mod kanban_board;
mod match_pairs;
mod mouse_sliders;
mod reorder_list;
mod resize_box;
mod sort_bins;
mod tile_swap;

use crate::Widget;

/// The widgets of this category.
pub(crate) fn widgets() -> Vec<Widget> {
    vec![
        calendar_drop::WIDGET,
        kanban_board::WIDGET,
        match_pairs::WIDGET,
        mouse_sliders::WIDGET,
        reorder_list::WIDGET,
        resize_box::WIDGET,
        sort_bins::WIDGET,
        tile_swap::WIDGET,
    ]
}
