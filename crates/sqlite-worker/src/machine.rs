//! Available memory.

use std::path::Path;

/// Where control groups of version 2 lie.
const GROUPS: &str = "/sys/fs/cgroup";

/// Bytes that this process may use together with all others: the machine's, or what its control group or one above it may have, where
/// that is less. Those of a small machine where nothing says.
#[must_use]
pub fn memory_bytes() -> u64 {
    memory_by(|path| std::fs::read_to_string(path).ok())
}

fn memory_by(read: impl Fn(&Path) -> Option<String>) -> u64 {
    const SMALL: u64 = 4 << 30;
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| in_all(&text));
    let group = read(Path::new("/proc/self/cgroup")).and_then(|text| group_max(&text, &read));
    machine.into_iter().chain(group).min().unwrap_or(SMALL)
}

/// Total memory by `/proc/meminfo`.
fn in_all(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok()?.checked_mul(1024)
}

/// The least that a group on the way up from the one that `/proc/self/cgroup` names may have; `None` where none has a bound.
fn group_max(membership: &str, read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let own = membership.lines().find_map(|line| line.strip_prefix("0::/"))?;
    // Seen from within a container, a group may lie above what can be seen.
    let own = own.trim_start_matches("../");
    let root = Path::new(GROUPS);
    let groups = root.join(own);
    let bounds = groups.ancestors().take_while(|group| group.starts_with(root));
    bounds.filter_map(|group| read(&group.join("memory.max"))?.trim().parse().ok()).min()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    const MEMINFO: &str = "MemTotal:        8000000 kB\nMemFree:          100 kB\n";

    fn memory_of(files: &[(&str, &str)]) -> u64 {
        let files: HashMap<&Path, &str> = files.iter().map(|(path, text)| (Path::new(*path), *text)).collect();
        memory_by(|path| files.get(path).map(|text| (*text).to_owned()))
    }

    #[test]
    fn the_narrowest_bound_counts_wherever_it_is_on_the_way_up() {
        let machine = ("/proc/meminfo", MEMINFO);
        assert_eq!(memory_of(&[machine]), 8_000_000 << 10, "version 1, or no groups at all");
        let own = ("/proc/self/cgroup", "1:cpu:/elsewhere\n0::/a/b\n");
        let b = ("/sys/fs/cgroup/a/b/memory.max", "3000000000\n");
        let a = ("/sys/fs/cgroup/a/memory.max", "2000000000\n");
        let elsewhere = ("/sys/fs/cgroup/c/memory.max", "1\n");
        assert_eq!(memory_of(&[machine, own, b, elsewhere]), 3_000_000_000);
        assert_eq!(memory_of(&[machine, own, b, a]), 2_000_000_000);
        assert_eq!(memory_of(&[machine, own, ("/sys/fs/cgroup/a/b/memory.max", "max\n"), a]), 2_000_000_000);
        assert_eq!(memory_of(&[machine, own, ("/sys/fs/cgroup/a/memory.max", "max\n")]), 8_000_000 << 10);
        assert_eq!(memory_of(&[machine, own, ("/sys/fs/cgroup/a/memory.max", "99000000000\n")]), 8_000_000 << 10);
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_root() {
        let root = ("/sys/fs/cgroup/memory.max", "1000000000\n");
        for own in ["0::/\n", "0::/../..\n", "0::/../a\n"] {
            assert_eq!(
                memory_of(&[("/proc/meminfo", MEMINFO), ("/proc/self/cgroup", own), root]),
                1_000_000_000,
                "{own}"
            );
        }
    }

    #[test]
    fn nothing_said_is_a_small_machine() {
        assert_eq!(memory_of(&[]), 4 << 30);
        assert!(memory_bytes() > 0);
    }
}
