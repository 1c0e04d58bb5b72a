//! The graphical surface of an app: what an actor sees of its screens as a tree of elements, and what it can do there.

mod address;
mod build;
mod command;
mod open_screen;
pub mod pilot;
mod sheet;
mod text;
mod tree;
mod viewer;

pub(crate) use address::{ASSETS, pairs, query};
pub(crate) use build::plain;
pub(crate) use sheet::{Sheet, of_row, screen_of};
pub(crate) use tree::Facts;
pub use tree::{AriaRole, Choice, Element, Scrolled, Tree};
pub use viewer::{
    ActionOutcome, Called, DRAFT_CHARACTERS_MAX, DRAFTS_MAX, Direction, GuiAction, ROUTE_DEPTH_MAX, Viewer,
};
