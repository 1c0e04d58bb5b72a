//! One binary of integration tests; its tree mirrors the URLs.
#![cfg(test)]
#![allow(unreachable_pub, reason = "nothing in a test binary is reachable from outside")]

mod api;
mod session;
mod support;
