//! Drawing on a canvas.

mod bar_drag;
mod cell_paint;
mod dot_order;
mod lasso;
mod line_between;
mod point_plot;
mod shape_click;
mod trace_path;

use crate::Widget;

/// The widgets of this category.
pub(crate) fn widgets() -> Vec<Widget> {
    vec![
        bar_drag::WIDGET,
        cell_paint::WIDGET,
        dot_order::WIDGET,
        lasso::WIDGET,
        line_between::WIDGET,
        point_plot::WIDGET,
        shape_click::WIDGET,
        trace_path::WIDGET,
    ]
}
