//! Profiles of the workspace: `dist` inherits from `release`, also the levels of the packages that `release` optimises little.

use std::collections::BTreeSet;
use std::fs;

use super::{assert_none, root};

/// Packages for which a profile sets a level of optimisation, among `levels`.
fn packages(manifest: &str, profile: &str, levels: &[&str]) -> BTreeSet<String> {
    let head = format!("[profile.{profile}.package]");
    let section = manifest.lines().skip_while(|line| *line != head).skip(1).take_while(|line| !line.starts_with('['));
    let set = section.filter_map(|line| line.split_once(".opt-level = "));
    set.filter(|(_, level)| levels.contains(level)).map(|(package, _)| package.to_owned()).collect()
}

#[test]
fn every_package_that_release_optimises_little_has_a_level_of_its_own_in_dist() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let little = packages(&manifest, "release", &["1"]);
    let own = packages(&manifest, "dist", &["3", "\"s\"", "\"z\""]);
    assert!(little.contains("sqlparser") && own.contains("tokio"), "the lists are found: {little:?} {own:?}");
    let missing: Vec<String> = little.difference(&own).cloned().collect();
    assert_none(&missing, "profile.dist.package in Cargo.toml names every package of profile.release.package");
}
