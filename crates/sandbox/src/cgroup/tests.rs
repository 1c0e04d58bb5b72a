//! Finding and bounding, over folders that look like the kernel's.

use std::path::Path;

use super::*;

fn mounts(folder: &Path, kinds: &[(&str, &str, &str)]) -> String {
    let line = |(name, kind, options): &(&str, &str, &str)| {
        format!("31 30 0:27 / {}/{name} rw,nosuid - {kind} {kind} rw,{options}\n", folder.display())
    };
    kinds.iter().map(line).collect()
}

fn terminal() -> std::sync::Arc<Profile> {
    std::sync::Arc::clone(&crate::shipped::profiles().expect("profiles")["terminal"])
}

#[test]
fn hierarchies_of_the_first_version_that_are_mounted_together_are_one_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["memory", "both"] {
        std::fs::create_dir(folder.path().join(name)).expect("made");
    }
    let mounts = mounts(folder.path(), &[("memory", "cgroup", "memory"), ("both", "cgroup", "cpu,pids")]);
    let found = v1::Hierarchies::find(&mounts, Path::new("palestra/1-2-3-4")).expect("found");
    assert_eq!(found.bounded(), Bounded { memory: true, processes: true, cpu: true });
    let settings = found.settings(&terminal());
    assert_eq!(settings.len(), 2);
    let (both, files) = &settings[1];
    assert_eq!(*both, folder.path().join("both/palestra/1-2-3-4"));
    assert!(files.contains(&Setting::needed("pids.max", "520")));
    assert!(files.contains(&Setting::needed("cpu.cfs_quota_us", "200000")));
}

#[test]
fn where_no_hierarchy_can_be_written_it_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Path::new("palestra/1-2-3-4");
    assert_eq!(v1::Hierarchies::find("", server).expect_err("none"), "none is mounted");
    // A file stands where the hierarchy should be.
    std::fs::write(folder.path().join("memory"), "").expect("written");
    let mounts = mounts(folder.path(), &[("memory", "cgroup", "memory"), ("unified", "cgroup2", "x")]);
    assert!(v1::Hierarchies::find(&mounts, server).expect_err("none").contains("memory"));
    assert!(v2::Tree::find(&mounts, "0::/own\n", server).expect_err("none").contains("cgroup.controllers"));
}

#[test]
fn the_second_version_is_used_in_the_own_group_with_the_controllers_that_are_handed_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("unified/slice/own");
    std::fs::create_dir_all(&own).expect("made");
    std::fs::write(own.join("cgroup.controllers"), "cpuset memory pids\n").expect("written");
    let mounts = mounts(folder.path(), &[("unified", "cgroup2", "nsdelegate")]);
    let tree = v2::Tree::find(&mounts, "0::/slice/own\n", Path::new("palestra/1-2-3-4")).expect("found");
    assert_eq!(tree.bounded(), Bounded { memory: true, processes: true, cpu: false });
    assert_eq!(tree.server(), own.join("palestra/1-2-3-4"));
    for level in [own.clone(), own.join("palestra"), tree.server()] {
        let words = std::fs::read_to_string(level.join("cgroup.subtree_control")).expect("written");
        assert_eq!(words, "+memory +pids");
    }
    let settings = tree.settings(&terminal());
    let expected = vec![
        Setting::needed("memory.max", "2147483648"),
        Setting::optional("memory.swap.max", "0"),
        Setting::needed("pids.max", "520"),
    ];
    assert_eq!(settings, [(tree.server(), expected)]);
}
