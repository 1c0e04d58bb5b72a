//! The session engine without HTTP.

mod faults;
mod model;
mod world;
