//! Texts: copying, changing, sorting, marking.

mod capital_letters;
mod copy_text;
mod fill_template;
mod letter_boxes;
mod mark_words;
mod replace_word;
mod sort_lines;
mod tags_input;

use crate::Widget;

/// The widgets of this category.
pub(crate) fn widgets() -> Vec<Widget> {
    vec![
        copy_text::WIDGET,
        letter_boxes::WIDGET,
        fill_template::WIDGET,
        capital_letters::WIDGET,
        replace_word::WIDGET,
        sort_lines::WIDGET,
        mark_words::WIDGET,
        tags_input::WIDGET,
    ]
}
