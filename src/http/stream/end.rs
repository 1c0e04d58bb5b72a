//! Why a socket ends, and what its peer is told then.

use std::borrow::Cow;
use std::fmt::Display;

use super::super::frame_bound::frame_bytes_max;

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
    /// A frame has more than this many bytes.
    TooLarge(usize),
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
            Self::TooLarge(_) => "too_large",
            Self::Broken => "broken",
        }
    }

    /// Close code (RFC 6455, section 7.4) and reason; nothing where nobody would read it.
    pub(super) fn farewell(self) -> Option<(u16, Cow<'static, str>)> {
        let (code, reason) = match self {
            Self::Gone => return None,
            Self::Stopped => (1001, "the server is shutting down"),
            Self::Refused => (1008, "the credential was revoked or has expired"),
            Self::Slow => (1008, "answers are not read fast enough"),
            Self::Silent => (1008, "pings are not answered"),
            Self::Binary => (1003, "frames are JSON text"),
            Self::TooLarge(bytes_max) => {
                return Some((1009, format!("a frame must have at most {bytes_max} bytes").into()));
            }
            Self::Broken => (1002, "the frame cannot be read"),
        };
        Some((code, reason.into()))
    }
}

/// The meaning of a failed read.
pub(super) fn unreadable(error: &impl Display) -> End {
    frame_bytes_max(error).map_or(End::Broken, End::TooLarge)
}
