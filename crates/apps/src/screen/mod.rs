//! The graphical surface of an app: what an actor sees of its screens as a tree of elements, and what it can do there.

mod build;
mod command;
mod open_screen;
pub mod pilot;
mod text;
mod tree;
mod viewer;

pub use tree::{AriaRole, Choice, Element, Scrolled, Tree};
pub use viewer::{
    ActionOutcome, Called, DRAFT_CHARACTERS_MAX, DRAFTS_MAX, Direction, GuiAction, ROUTE_DEPTH_MAX, Viewer,
};
