//! The agent, as part of this program.

use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};

const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/agent.lzma"));

/// The agent: a static program.
static AGENT: LazyLock<Vec<u8>> = LazyLock::new(|| palestra_pack::unpack(PACKED).expect("the build packed it"));

/// Writes the agent to `folder`, named by its digest, so that one that is running is never overwritten; answers where it is.
///
/// # Errors
/// When the disk refuses.
pub fn place(folder: &Path) -> io::Result<PathBuf> {
    let digest = hex::encode(Sha256::digest(&*AGENT));
    let path = folder.join(format!("agent-{}", &digest[..16]));
    let there = std::fs::read(&path).is_ok_and(|bytes| bytes == *AGENT);
    if !there {
        std::fs::create_dir_all(folder)?;
        let mut draft = tempfile::NamedTempFile::new_in(folder)?;
        draft.write_all(&AGENT)?;
        draft.as_file().set_permissions(std::fs::Permissions::from_mode(0o755))?;
        // Closed before it is moved: a program that is open for writing cannot be run.
        draft.into_temp_path().persist(&path)?;
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_is_placed_and_a_damaged_one_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = place(folder.path()).expect("placed");
        std::fs::write(&path, "damaged").expect("written");
        assert_eq!(place(folder.path()).expect("placed"), path);
        let usage = std::process::Command::new(&path).arg("nonsense").output().expect("runs");
        assert_eq!(usage.status.code(), Some(2), "{usage:?}");
    }

    #[test]
    fn the_agent_needs_no_loader() {
        const INTERPRETER: u32 = 3;
        let word = |at: usize, bytes: usize| {
            let word = AGENT[at..at + bytes].iter().rev().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
            usize::try_from(word).expect("an offset")
        };
        assert_eq!(&AGENT[..5], b"\x7fELF\x02");
        let (table, size, count) = (word(32, 8), word(54, 2), word(56, 2));
        let kinds: Vec<u32> =
            (0..count).map(|row| u32::try_from(word(table + row * size, 4)).expect("a kind")).collect();
        assert!(kinds.contains(&1), "{kinds:?}");
        assert!(!kinds.contains(&INTERPRETER), "the agent is not static");
    }
}
