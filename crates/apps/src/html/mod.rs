//! The same screens as web pages: every screen at an address of its own, in the looks of its app. A request of a browser stands
//! for actions on the screen, and a page is a pure function of the viewer and the world.

mod cell;
mod danger;
mod endless;
mod form;
mod model;
mod month;
mod page;
mod request;
mod suggest;
mod trial;

/// A value that templates can take apart.
fn value<T: serde::Serialize>(value: T) -> minijinja::Value {
    minijinja::Value::from(minijinja::value::Serde(value))
}

pub use form::{FIELDS_MAX, NotActions, actions, ending};
pub use page::{CheckLine, Ended, Frame, Score, TaskBar, page, themed_page};
pub use request::{Method, PageRequest, PageResponse, Plan, fields, plan, respond};
pub use trial::faulty_pages;
