//! Checks that the server evaluates itself: what files hold, taken as data, and what programs do when they run in a fresh sandbox.
//! What is expected never enters a sandbox.

pub mod archive;
mod driver;
pub mod form;
pub mod program;
pub mod text;

pub use archive::Artefacts;
pub use form::CheckForm;
