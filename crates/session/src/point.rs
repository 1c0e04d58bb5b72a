//! The point that a session is opened from, as a request names it.

use palestra_protocol::session::StartPoint;

/// What names a point.
pub(super) const POINT: &str = "give `snapshot`, or `episode` and `seq`";

/// What is wrong with the form of a point.
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
