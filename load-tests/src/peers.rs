//! Other servers, from their released packages, where `load-tests/peers/prepare` has installed them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::Server;

/// The folder with the programs of the peers.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// The Python that has the peers; `None` where they are not installed.
pub(crate) fn python() -> Option<PathBuf> {
    Some(folder().join(".venv/bin/python")).filter(|python| python.is_file())
}

/// A program of the peers.
pub(crate) fn program(name: &str) -> PathBuf {
    folder().join(name)
}

/// Peers.
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
        let Some(python) = python() else { return Ok(None) };
        Server::start(Command::new(python).current_dir(folder()).arg(self.program())).map(Some)
    }
}
