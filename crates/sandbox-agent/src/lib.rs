//! What the server and the program inside a sandbox say to each other. The program itself is `main.rs`.

pub mod plan;
pub mod staging;
pub mod watch;
pub mod wire;
