//! Why a socket ends, and what its peer is told then.

use std::fmt::Display;

/// Why a socket ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The peer left.
    Gone,
    /// The server stops.
    Stopped,
    /// The credential does not hold any more.
    Refused,
    /// The peer does not read.
    Slow,
    /// The peer shows no sign of life.
    Silent,
    /// A binary frame came.
    Binary,
    /// A frame is too large.
    TooLarge,
    /// The peer sent something else than a WebSocket.
    Broken,
}

impl End {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Stopped => "stopped",
            Self::Refused => "refused",
            Self::Slow => "slow",
            Self::Silent => "silent",
            Self::Binary => "binary",
            Self::TooLarge => "too_large",
            Self::Broken => "broken",
        }
    }

    /// Close code (RFC 6455, section 7.4) and reason; nothing where nobody would read it.
    pub(super) const fn farewell(self) -> Option<(u16, &'static str)> {
        match self {
            Self::Gone => None,
            Self::Stopped => Some((1001, "the server is shutting down")),
            Self::Refused => Some((1008, "the credential was revoked or has expired")),
            Self::Slow => Some((1008, "answers are not read fast enough")),
            Self::Silent => Some((1008, "pings are not answered")),
            Self::Binary => Some((1003, "frames are JSON text")),
            Self::TooLarge => Some((1009, "the frame is larger than this server reads")),
            Self::Broken => Some((1002, "the frame cannot be read")),
        }
    }
}

/// The meaning of a failed read. The library tells the size limit by its words alone.
pub(super) fn unreadable(error: &impl Display) -> End {
    if error.to_string().contains("too long") { End::TooLarge } else { End::Broken }
}
