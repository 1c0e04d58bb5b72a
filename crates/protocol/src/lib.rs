//! Wire types of Palestra: what travels over HTTP and the stream, as plain data.
//!
//! No IO, no async and no web framework lives here, so the server, the client and the trainer agree on every byte by
//! depending on the same types.

#![warn(missing_docs)]

pub mod action;
pub mod environment;
pub mod episode;
pub mod file;
pub mod hosts;
pub mod id;
pub mod job;
pub mod job_event;
pub mod key;
pub mod list;
pub mod model_call;
pub mod name;
pub mod observation;
pub mod problem;
pub mod run;
pub mod session;
pub mod shared;
pub mod spec;
pub mod step;
pub mod stream;
pub mod time;
pub mod upstream;
pub mod verdict;
pub mod visible;
pub mod worker;
