//! Documents in documents, and elements with a shadow tree of their own.

mod code_copy;
mod fold_tabs;
mod frame_offers;
mod framed_form;
mod nested_frames;
mod remote_frame;
mod shadow_rating;
mod shadow_stepper;

use crate::{Draw, Widget, text};

/// The widgets of this category.
pub(crate) fn widgets() -> Vec<Widget> {
    vec![
        code_copy::WIDGET,
        fold_tabs::WIDGET,
        frame_offers::WIDGET,
        framed_form::WIDGET,
        nested_frames::WIDGET,
        remote_frame::WIDGET,
        shadow_rating::WIDGET,
        shadow_stepper::WIDGET,
    ]
}

/// Markup of a frame.
fn frame(title: &str, number: usize, height: i64) -> String {
    format!(
        "<iframe title=\"{}\" src=\"/frame/{number}\" \
         style=\"width:100%;height:{height}px;border:1px solid var(--line);border-radius:8px;margin-bottom:8px\"></iframe>",
        text(title)
    )
}

/// A code of two letters and four digits.
fn code(draw: &mut Draw) -> String {
    let letters: Vec<char> = "ABCDEFGHJKLMNPRSTUVWXYZ".chars().collect();
    format!("{}{}{}", draw.pick(&letters), draw.pick(&letters), draw.number(1_000..=9_999))
}
