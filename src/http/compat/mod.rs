//! Mounts under which other people's clients work unchanged. Behind each of them are ordinary sessions.

pub(super) mod openenv;
