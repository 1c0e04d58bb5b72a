//! Rooms and judges on the real engines.

mod cuts;
mod engines;
mod judging;
mod playing;
#[path = "../shared/private.rs"]
mod private;
