//! Screens, pages, and what actors do there.

mod fixture;
mod looks;
