//! Profiles of the workspace: `dist` inherits from `release`, also the packages that `release` optimises little.

use std::collections::BTreeSet;
use std::fs;

use super::{assert_none, root};

/// Packages that a profile sets to a level of optimisation.
fn packages(manifest: &str, profile: &str, level: u8) -> BTreeSet<String> {
    let (head, line_end) = (format!("[profile.{profile}.package]"), format!(".opt-level = {level}"));
    let section = manifest.lines().skip_while(|line| *line != head).skip(1).take_while(|line| !line.starts_with('['));
    section.filter_map(|line| line.strip_suffix(&line_end)).map(str::to_owned).collect()
}

#[test]
fn what_release_optimises_little_is_optimised_in_full_for_dist() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (little, full) = (packages(&manifest, "release", 1), packages(&manifest, "dist", 3));
    assert!(little.contains("sqlparser"), "the lists are found: {little:?}");
    let missing: Vec<String> = little.symmetric_difference(&full).cloned().collect();
    assert_none(&missing, "the lists of profile.release.package and profile.dist.package in Cargo.toml are alike");
}
