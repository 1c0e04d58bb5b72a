//! Sandboxes: places where untrusted programs run. A [`Backend`] starts them, an agent of ours inside carries out what is asked
//! for, and everything that comes back is treated as hostile. Nothing here knows environments, HTTP or the store.

pub mod allowance;
pub mod backend;
pub mod blob;
mod cgroup;
pub mod command;
pub mod docker;
pub mod embedded;
pub mod ending;
pub mod error;
pub mod handle;
mod ids;
pub mod image;
mod incarnation;
pub mod isolation;
pub mod link;
pub mod local;
pub mod pool;
pub mod profile;
pub mod sandbox;
pub mod seccomp;
pub mod shipped;

pub use allowance::{Allowance, Demand, NetworkAllowance};
pub use backend::{Backend, Start};
pub use command::{Command, Output};
pub use docker::Docker;
pub use ending::{Ending, OwnLimit};
pub use error::SandboxError;
pub use local::Local;
pub use palestra_sandbox_agent::{watch, wire};
pub use pool::{SandboxSpec, Sandboxes};
pub use profile::Profile;
pub use sandbox::Sandbox;
