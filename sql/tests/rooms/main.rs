//! Rooms and judges on the real engines.

mod engines;
mod judging;
mod playing;
