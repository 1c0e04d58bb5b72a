//! The point that a session is opened from, as a request names it.

use palestra_protocol::session::StartPoint;

/// The help text for a request that names no point.
pub(super) const POINT: &str = "give `snapshot`, or `episode` and `seq`";

/// The field and the fault of a malformed point.
pub(super) fn malformed(from: &StartPoint) -> Option<(&'static str, &'static str)> {
    match from {
        StartPoint { snapshot: Some(_), episode: None, seq: None } => None,
        StartPoint { snapshot: None, episode: Some(_), seq: Some(_) } => None,
        StartPoint { snapshot: None, episode: Some(_), seq: None } => {
            Some(("from.seq", "say after which step of the episode to begin; 0 is its beginning"))
        }
        StartPoint { .. } => Some(("from", POINT)),
    }
}
