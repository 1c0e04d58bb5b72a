//! The bound that a frame of a socket broke.

use std::fmt::Display;

/// Bytes that a frame may have, where it could not be read for its size. The library tells so by its words alone.
pub(super) fn frame_bytes_max(error: &impl Display) -> Option<usize> {
    let error = error.to_string();
    let (_, sizes) = error.split_once("too long: ")?;
    sizes.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_size_is_a_bound() {
        let bound = frame_bytes_max(&"Space limit exceeded: Message too long: 2001 > 2000");
        assert_eq!((bound, frame_bytes_max(&"Connection reset without closing handshake")), (Some(2_000), None));
    }
}
