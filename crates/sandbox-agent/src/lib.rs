//! Protocol between the server and the program inside a sandbox. The program itself is `main.rs`.

pub mod plan;
pub mod staging;
pub mod watch;
pub mod wire;
