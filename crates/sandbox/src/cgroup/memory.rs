//! The memory of a control group that ran out: what the kernel counted in files that nothing inside can write.

use std::path::{Path, PathBuf};

/// Distance from its limit that a group may have kept whose next request did not fit.
const SHORT_BYTES_MAX: u64 = 1 << 20;

/// Evidence that the kernel acted because the group had reached its limit; `None` where it did nothing, or nothing is counted.
pub(super) fn ran_out(folders: &[PathBuf]) -> Option<String> {
    let told = |killed: u64, reached: u64| {
        (killed > 0 && reached > 0)
            .then(|| format!("the kernel ended {killed} of its processes, whose memory had reached its limit"))
    };
    folders.iter().find_map(|folder| {
        // Version 2 counts how often the group itself was out of memory; version 1 keeps the most that it held.
        let events = folder.join("memory.events");
        match counted(&events, "oom_kill") {
            Some(killed) => told(killed, counted(&events, "oom")?),
            None => {
                let killed = counted(&folder.join("memory.oom_control"), "oom_kill")?;
                let (most, limit) = ("memory.max_usage_in_bytes", "memory.limit_in_bytes");
                let (most, limit) = (number(&folder.join(most))?, number(&folder.join(limit))?);
                told(killed, u64::from(most.saturating_add(SHORT_BYTES_MAX) >= limit))
            }
        }
    })
}

fn counted(file: &Path, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

fn number(file: &Path) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_group_that_met_its_own_limit_ran_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let group = folder.path().to_path_buf();
        let write = |name: &str, text: &str| std::fs::write(group.join(name), text).expect("written");
        assert_eq!(ran_out(std::slice::from_ref(&group)), None);
        write("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
        write("memory.limit_in_bytes", "67108864\n");
        write("memory.max_usage_in_bytes", "50000000\n");
        assert_eq!(ran_out(std::slice::from_ref(&group)), None, "the machine was out of memory, not the group");
        write("memory.max_usage_in_bytes", "67100000\n");
        assert!(ran_out(std::slice::from_ref(&group)).is_some_and(|fact| fact.contains("ended 2")));
        write("memory.events", "low 0\nhigh 0\nmax 9\noom 0\noom_kill 1\noom_group_kill 0\n");
        assert_eq!(ran_out(std::slice::from_ref(&group)), None);
        write("memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\noom_group_kill 0\n");
        assert!(ran_out(std::slice::from_ref(&group)).is_some_and(|fact| fact.contains("ended 1")));
    }
}
