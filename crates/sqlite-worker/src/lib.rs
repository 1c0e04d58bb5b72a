//! The process in which SQLite runs statements that nobody trusts.

pub mod codes;
pub mod confine;
pub mod functions;
pub mod guard;
pub mod heap;
pub mod limits;
pub mod machine;
pub mod outgoing;
pub mod pages;
pub mod pool;
pub mod raw;
pub mod run;
pub mod serve;
pub mod session;
pub mod template;
pub mod wire;
pub mod words;
