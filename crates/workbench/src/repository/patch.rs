//! Patches as `git diff` writes them.

/// Every path that a patch names, old and new ones, sorted. Paths in C quotes are left as they are quoted.
#[must_use]
pub(super) fn paths(patch: &str) -> Vec<String> {
    let mut found = std::collections::BTreeSet::new();
    for line in patch.lines() {
        if let Some((old, new)) = line.strip_prefix("diff --git a/").and_then(split) {
            found.insert(old.to_owned());
            found.insert(new.to_owned());
        }
    }
    found.into_iter().collect()
}

/// Parts `x b/x` at the place where both sides are alike, or else at the first ` b/`.
fn split(rest: &str) -> Option<(&str, &str)> {
    let same = rest.match_indices(" b/").map(|(at, mark)| (&rest[..at], &rest[at + mark.len()..]));
    same.clone().find(|(old, new)| old == new).or_else(|| same.clone().next())
}

#[cfg(test)]
mod tests {
    use super::paths;

    #[test]
    fn paths_with_spaces_and_renamed_ones_are_found() {
        let patch = "diff --git a/a b/c.py b/a b/c.py\n--- x\ndiff --git a/old.py b/new.py\nrename from old.py\n+diff --git a/no b/no\n";
        assert_eq!(paths(patch), ["a b/c.py", "new.py", "old.py"]);
        assert!(paths("--- a/x\n+++ b/x\n").is_empty());
    }
}
