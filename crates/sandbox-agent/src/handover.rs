//! Messages between a driver's side and the agent over a socket when a program is to be started: 4 bytes length (little endian) with
//! three descriptors, then an [`Ask`] as JSON; then a byte for each signal. The agent gives one [`Answer`] as JSON when all is over.
//! Whoever hangs up before ends the program.

use serde::{Deserialize, Serialize};

/// The name of the program that asks, beside the socket.
pub(crate) const PROGRAM: &str = "program";
/// The name of the socket.
pub(crate) const SOCKET: &str = "socket";
/// Descriptors that go with an [`Ask`]: the standard streams.
pub(crate) const STREAMS: usize = 3;
/// Longest [`Ask`]. The kernel takes no more for arguments and environment of most programs.
pub(crate) const ASK_BYTES_MAX: usize = 2 << 20;

/// A program to be started.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ask {
    /// Program and arguments.
    pub(crate) argv: Vec<String>,
    /// The environment of whoever asks.
    pub(crate) env: Vec<(String, String)>,
    /// Where it starts; the usual folder where left out.
    pub(crate) folder: Option<String>,
}

/// Outcome of the request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// It returned.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// It was not started; why.
    Refused(String),
}
