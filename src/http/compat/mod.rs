//! Mounts under which other people's clients work unchanged. Behind each of them are ordinary sessions and jobs.

mod json_rpc;
pub(super) mod mcp;
pub(super) mod openai;
pub(super) mod openenv;
mod played;
