//! Tests over a real port.

mod stream_cut;
