//! Numbers: sliders, steppers, sums.

mod coin_tray;
mod knobs;
mod mixer;
mod number_pad;
mod price_range;
mod split_percent;
mod star_ratings;
mod step_sliders;

use crate::Widget;

/// The widgets of this category.
pub(crate) fn widgets() -> Vec<Widget> {
    vec![
        step_sliders::WIDGET,
        price_range::WIDGET,
        knobs::WIDGET,
        star_ratings::WIDGET,
        split_percent::WIDGET,
        number_pad::WIDGET,
        coin_tray::WIDGET,
        mixer::WIDGET,
    ]
}
