//! Other servers, from their released packages, where `load-tests/peers/prepare` has installed them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::Server;

/// The folder with the programs of the peers.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// Which peers there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// OpenEnv's own server with one worker.
    OpenEnv,
    /// FastAPI without anything on top.
    FastApi,
}

impl Peer {
    const fn program(self) -> &'static str {
        match self {
            Self::OpenEnv => "openenv_counter.py",
            Self::FastApi => "fastapi_counter.py",
        }
    }

    /// Starts it; `None` where its packages are not installed.
    ///
    /// # Errors
    /// When it is installed and does not start.
    pub(crate) fn start(self) -> anyhow::Result<Option<Server>> {
        let python = folder().join(".venv/bin/python");
        if !python.is_file() {
            return Ok(None);
        }
        Server::start(Command::new(python).current_dir(folder()).arg(self.program())).map(Some)
    }
}
