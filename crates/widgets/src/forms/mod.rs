//! Forms of several fields.

mod address;
mod checkout;
mod editable_rows;
mod password_rules;
mod registration;
mod search_options;
mod survey_matrix;
mod wizard;

use crate::Widget;

/// The widgets of this category.
pub(crate) fn widgets() -> Vec<Widget> {
    vec![
        address::WIDGET,
        wizard::WIDGET,
        password_rules::WIDGET,
        editable_rows::WIDGET,
        survey_matrix::WIDGET,
        checkout::WIDGET,
        registration::WIDGET,
        search_options::WIDGET,
    ]
}
