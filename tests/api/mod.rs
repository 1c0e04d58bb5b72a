//! The API over real sockets, one module per part of it.

mod stream_cut;
