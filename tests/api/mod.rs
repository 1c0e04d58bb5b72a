//! Calls over a real port, by URL.

mod batch;
mod environments;
mod episodes;
mod events;
mod keys;
mod runs;
mod serve;
mod sessions;
mod stream;
