//! Prepares a container from inside, then goes on as `serve`.

use std::ffi::OsString;

/// Returns when the server hung up.
///
/// # Errors
/// In words.
pub(crate) fn run(_arguments: &[OsString]) -> Result<(), String> {
    Err("this build cannot stage".to_owned())
}
