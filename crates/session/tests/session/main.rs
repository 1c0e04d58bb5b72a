//! The session engine without HTTP.
#![cfg(test)]
#![allow(unreachable_pub, reason = "nothing in a test binary is reachable from outside")]

mod faults;
mod from;
mod heavy;
mod judging;
mod lifetime;
mod model;
mod opening;
mod place;
mod repeats;
mod steps;
mod world;
