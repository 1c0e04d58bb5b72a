//! Client of a Palestra server: every REST call as a method of [`Client`], and [`stream::Stream`] for pipelined stepping that
//! survives lost connections.
//!
//! Types of requests and answers are those of `palestra_protocol`, which server and client share.

#![warn(missing_docs)]

mod address;
mod batch;
mod download;
mod environments;
mod episodes;
mod error;
mod events;
mod files;
mod jobs;
mod keys;
mod lease;
mod policies;
mod runs;
mod sessions;
pub mod stream;
mod tls;
mod transport;
mod worker;

pub use download::Downloaded;
pub use environments::{ActionQuery, Submission, TaskQuery};
pub use episodes::EpisodeQuery;
pub use error::ClientError;
pub use files::FileQuery;
pub use jobs::JobQuery;
pub use lease::{HeldLease, LeaseError, Leases};
pub use policies::PolicyQuery;
pub use runs::RunQuery;
pub use sessions::{SessionQuery, Verified};
pub use transport::Client;
