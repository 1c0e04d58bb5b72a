//! The API over real sockets, one module per part of it.

mod apps;
mod bad_input;
mod batch;
mod connections;
mod environments;
mod episodes;
mod events;
mod files;
mod fine_tuning;
mod flood;
mod hostile;
mod jobs;
mod keys;
mod light_work;
mod mcp;
mod openenv;
mod policies;
mod published_work;
mod runs;
mod serve;
mod sessions;
mod sql;
mod stream;
mod stream_cut;
mod work;
mod worker;
