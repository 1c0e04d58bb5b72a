//! Repositories in real sandboxes: what is shipped, what cheats, what is broken.

mod archives;
mod cheats;
mod patches;
mod place;
mod sessions;
mod verdicts;
