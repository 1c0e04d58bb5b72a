//! Removals that may change what judges. What is made or changed is seen when the tests load it; what is gone leaves nothing to be
//! seen, so a removal below the folders of the system costs trust by its path.

const SYSTEM: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc"];

/// Whether the removal of a path may change what judges.
pub(super) fn is_due(path: &str) -> bool {
    SYSTEM.iter().any(|system| path == *system || path.strip_prefix(system).is_some_and(|rest| rest.starts_with('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removals_from_the_system_are_doubted() {
        for path in ["/usr/bin/python3", "/etc", "/lib/x.so"] {
            assert!(is_due(path), "{path}");
        }
        for path in ["/app/main.py", "/usrlocal", "/home/agent/etc/x"] {
            assert!(!is_due(path), "{path}");
        }
    }
}
