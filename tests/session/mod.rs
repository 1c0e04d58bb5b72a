//! The session engine without HTTP.

mod faults;
mod from;
mod heavy;
mod model;
mod opening;
mod place;
mod world;
