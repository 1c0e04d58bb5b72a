//! Results of the programs where nothing contains them, within bounds: a wall that is never touched would prove nothing.

use std::process::Command;

use crate::programs::{self, Tries};

/// Runs a program in namespaces where it is uid 0 with every capability and without a filter; `None` where this machine does not let it.
fn set_free(name: &str, arguments: &[&str]) -> Option<Tries> {
    if !programs::can_build() {
        palestra_test_support::not_tried("gcc");
        return None;
    }
    let flags = [
        "--user",
        "--map-root-user",
        "--mount",
        "--pid",
        "--fork",
        "--mount-proc",
        "--net",
        "--ipc",
        "--uts",
        "--cgroup",
        "--kill-child",
    ];
    let possible = Command::new("unshare").args(flags).arg("true").output().is_ok_and(|output| output.status.success());
    if !possible {
        palestra_test_support::not_tried("user namespaces");
        return None;
    }
    let output =
        Command::new("unshare").args(flags).arg(programs::built(name)).args(arguments).output().expect("unshare");
    Some(Tries::of(&String::from_utf8_lossy(&output.stdout)))
}

#[track_caller]
fn gets(name: &str, arguments: &[&str], wanted: &[&str]) {
    let Some(tries) = set_free(name, arguments) else { return };
    for one in wanted {
        assert!(tries.escaped().contains(one), "{name} does not get {one}: {:?}", tries.met);
    }
}

#[test]
fn namespaces_can_be_made_where_no_filter_is() {
    gets(
        "namespaces",
        &[],
        &[
            "unshare_user",
            "clone_user",
            "clone3_user",
            "unshare_mount",
            "setns_mount",
            "sethostname",
            "clone_user_high_bits",
        ],
    );
}

#[test]
fn mounts_can_be_made_where_capabilities_are() {
    gets("mounts", &[], &["mount_tmpfs", "mount_proc", "mount_bind", "umount_proc", "chroot", "fsopen"]);
}

#[test]
fn parts_of_the_kernel_answer_where_no_filter_is() {
    gets("kernel_interfaces", &[], &["keyctl", "add_key", "personality"]);
}

#[test]
fn raw_sockets_are_given_where_capabilities_are() {
    gets("network", &["1", "nobody"], &["raise_device", "raw_icmp", "packet", "netlink_uevent"]);
}

#[test]
fn markers_of_overlays_and_capabilities_are_taken_where_no_overlay_is() {
    gets("gain", &[], &["capabilities", "bounding_set", "no_new_privileges"]);
    gets("nameless_program", &[], &["filter", "unshare"]);
}

#[test]
fn ten_thousand_files_can_be_open_where_the_limit_is_wide() {
    gets("open_files", &[], &["setrlimit_file_size"]);
}
