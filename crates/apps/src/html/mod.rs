//! The same screens as web pages: semantic markup without scripts, where every form post stands for actions on the screen.

mod form;
mod page;

pub use form::{FIELDS_MAX, NotActions, actions};
pub use page::{STYLE, page};
