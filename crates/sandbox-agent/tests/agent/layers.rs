//! Tests of the differences from the image, on an overlay as both back ends mount it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use palestra_sandbox_agent::wire::{Change, ChangeKind, Event, Exec, FailureCode, Request, User};

use crate::archives::long_paths;
use crate::files::folder;
use crate::harness::{Agent, Ids, command, kinds, program, shell};

/// Mounts the overlay and what a command needs, then becomes the agent.
const MOUNT: &str = r#"set -e
image=$1 upper=$2 agent=$3
mount -t tmpfs tmpfs $upper
mkdir $upper/upper $upper/work $upper/merged
mount -t overlay overlay -o userxattr,lowerdir=$image,upperdir=$upper/upper,workdir=$upper/work $upper/merged
mount --rbind /usr $upper/merged/usr
mount --rbind /dev $upper/merged/dev
mount -t proc proc $upper/merged/proc
touch $upper/merged/.palestra/agent
mount --bind $agent $upper/merged/.palestra/agent
exec 3<$upper/upper 4<$image
exec chroot $upper/merged /.palestra/agent serve --upper-fd 3 --lower-fd 4"#;

/// An image with something to change in it.
fn image() -> tempfile::TempDir {
    let image = folder();
    let at = |name: &str| image.path().join(name);
    for name in ["usr", "dev", "proc", "sys", ".palestra", "tmp", "d/sub", "gone/sub", "again", "turns", "kept"] {
        fs::create_dir_all(at(name)).expect("a folder");
    }
    for name in ["bin", "lib", "lib64"] {
        symlink(format!("usr/{name}"), at(name)).expect("a link");
    }
    for name in [
        "d/one",
        "d/two",
        "d/sub/three",
        "gone/file",
        "gone/sub/file",
        "again/old",
        "again/both",
        "turns/file",
        "plain",
        "kept/file",
        "mode",
    ] {
        fs::write(at(name), name).expect("a file");
    }
    for name in ["", "tmp", "d", "d/sub", "gone", "again", "turns", "kept", "plain", "mode", "d/one"] {
        fs::set_permissions(at(name), fs::Permissions::from_mode(0o777)).expect("a mode");
    }
    image
}

/// Changes of a test to the image.
const CHANGE: &str = "cd / && echo more >> d/one && rm d/two && echo new > d/sub/new && mkdir d/made && echo x > d/made/x \
    && rm -r gone && rm -r again && mkdir again && echo other > again/both && echo fresh > again/fresh \
    && rm -r turns && echo file > turns && rm plain && mkdir plain && echo in > plain/in && chmod 700 mode && chmod 750 kept \
    && ln -s nowhere tmp/link && mv d/sub/three d/sub/moved && rm -f tmp/passing";

fn sandbox(ids: Ids, image: &Path) -> (Agent, tempfile::TempDir) {
    let upper = folder();
    let paths = [image, upper.path()].map(|path| path.display().to_string());
    let command = command(ids, &["sh", "-c", MOUNT, "sh", &paths[0], &paths[1], program()]);
    (Agent::set_up(command, ids, Vec::new()), upper)
}

fn as_owner(line: &str) -> Exec {
    Exec { user: User { uid: 0, gid: 0 }, ..shell(line) }
}

/// Runs as the owner of the image, who may change all of it.
fn change(agent: &mut Agent, line: &str) {
    let (exited, _, error) = agent.run(as_owner(line), &[]);
    assert_eq!(exited.code, Some(0), "{}", String::from_utf8_lossy(&error));
}

fn changes(agent: &mut Agent) -> Vec<Change> {
    let answer = agent.done(&Request::Changes { entries_max: 1_000 }, None);
    serde_json::from_slice(&answer.output).expect("changes")
}

fn summary(changes: &[Change]) -> Vec<(ChangeKind, &str)> {
    changes.iter().map(|change| (change.change, change.path.as_str())).collect()
}

#[test]
fn changes_are_told_one_by_one() {
    use ChangeKind::{Added, Deleted, Modified};
    for ids in kinds() {
        let image = image();
        let (mut agent, _upper) = sandbox(ids, image.path());
        assert_eq!(changes(&mut agent), []);
        change(&mut agent, CHANGE);
        let found = changes(&mut agent);
        let expected = [
            (Modified, "/again"),
            (Modified, "/again/both"),
            (Added, "/again/fresh"),
            (Deleted, "/again/old"),
            (Added, "/d/made"),
            (Added, "/d/made/x"),
            (Modified, "/d/one"),
            (Added, "/d/sub/moved"),
            (Added, "/d/sub/new"),
            (Deleted, "/d/sub/three"),
            (Deleted, "/d/two"),
            (Deleted, "/gone"),
            (Modified, "/kept"),
            (Modified, "/mode"),
            (Modified, "/plain"),
            (Added, "/plain/in"),
            (Added, "/tmp/link"),
            (Modified, "/turns"),
        ];
        assert_eq!(summary(&found), expected);
        let mode = found.iter().find(|change| change.path == "/mode").and_then(|change| change.entry.clone());
        assert_eq!(mode.map(|entry| (entry.mode, entry.size)), Some((0o700, 4)));
        assert_eq!(agent.refused(&Request::Changes { entries_max: 17 }, None), FailureCode::TooLarge);
    }
}

#[test]
fn a_delta_makes_the_same_of_another_sandbox() {
    for ids in kinds() {
        let image = image();
        let (mut one, _upper) = sandbox(ids, image.path());
        let (mut other, _upper) = sandbox(ids, image.path());
        change(&mut one, CHANGE);
        // What stands there already must not matter.
        change(
            &mut other,
            "mkdir /again/mine && echo x > /again/mine/x && mkdir /mode.d /turns/deep && rm /d/one && mkdir /d/one && rmdir /mode.d",
        );
        let delta = Request::Delta { bytes_max: 1 << 20, entries_max: 100, except: Vec::new() };
        let packed = one.done(&delta, None);
        other.done(&Request::Apply, Some(&packed.output));
        assert_eq!(changes(&mut one), changes(&mut other));
        // Whole seconds, as archives count them.
        let list = "cd / && find . \\( -path ./proc -o -path ./dev -o -path ./usr -o -path ./.palestra \\) -prune -o -type f \
                    -exec stat -c '%n %a %u %g %Y' {} + -exec md5sum {} +";
        let listed = [&mut one, &mut other].map(|agent| {
            let (exited, output, _) = agent.run(as_owner(list), &[]);
            assert_eq!(exited.code, Some(0));
            let mut lines: Vec<String> = String::from_utf8_lossy(&output).lines().map(str::to_owned).collect();
            lines.sort();
            lines
        });
        assert!(listed[0].len() > 10, "{listed:?}");
        assert_eq!(listed[0], listed[1]);
    }
}

#[test]
fn a_delta_is_bounded_and_leaves_out_what_it_cannot_say() {
    let image = image();
    let (mut agent, _upper) = sandbox(kinds()[0], image.path());
    change(
        &mut agent,
        "cd /tmp && mkfifo pipe && echo x > .wh.passwd && echo x > .wh..wh..opq && mkdir secret && echo x > secret/x && echo y > y",
    );
    let delta =
        |bytes_max, entries_max| Request::Delta { bytes_max, entries_max, except: vec!["/tmp/secret".to_owned()] };
    let packed = agent.done(&delta(100, 100), None);
    let names: Vec<String> = tar::Archive::new(packed.output.as_slice())
        .entries()
        .expect("an archive")
        .map(|entry| entry.expect("an entry").path().expect("a name").display().to_string())
        .collect();
    assert_eq!(names, ["tmp", "tmp/y"]);
    let Event::Packed { entries, left_out } = packed.event else { panic!("{:?}", packed.event) };
    assert_eq!(
        (entries, left_out),
        (2, ["/tmp/.wh..wh..opq", "/tmp/.wh.passwd", "/tmp/pipe"].map(str::to_owned).to_vec())
    );
    assert_eq!(agent.refused(&delta(1, 100), None), FailureCode::TooLarge);
    assert_eq!(agent.refused(&delta(100, 1), None), FailureCode::TooLarge);
}

#[test]
fn changes_that_lie_too_deep_are_refused() {
    let image = image();
    let (mut agent, _upper) = sandbox(kinds()[0], image.path());
    change(&mut agent, "cd /tmp && for i in $(seq 250); do mkdir d && cd -P d || exit 1; done");
    assert_eq!(changes(&mut agent).len(), 250);
    change(
        &mut agent,
        "cd /tmp && for i in $(seq 250); do cd -P d; done; for i in $(seq 10); do mkdir d && cd -P d || exit 1; done",
    );
    assert_eq!(agent.refused(&Request::Changes { entries_max: 1_000 }, None), FailureCode::TooLarge);
}

#[test]
fn paths_of_changes_have_a_bound_together() {
    let image = image();
    let (mut agent, _upper) = sandbox(kinds()[0], image.path());
    change(&mut agent, &format!("cd /tmp && {}", long_paths()));
    assert_eq!(agent.refused(&Request::Changes { entries_max: 200_000 }, None), FailureCode::TooLarge);
    let delta = Request::Delta { bytes_max: 256 << 20, entries_max: 200_000, except: Vec::new() };
    assert_eq!(agent.refused(&delta, None), FailureCode::TooLarge);
}

#[test]
fn a_sandbox_without_an_overlay_has_no_changes_to_tell() {
    let mut agent = Agent::new(kinds()[0]);
    assert_eq!(agent.refused(&Request::Changes { entries_max: 10 }, None), FailureCode::Invalid);
}

#[test]
fn a_full_disk_is_told_and_passes() {
    let image = image();
    let upper = folder();
    let small = MOUNT.replace("mount -t tmpfs tmpfs", "mount -t tmpfs -o size=1M,nr_inodes=100 tmpfs");
    let paths = [image.path(), upper.path()].map(|path| path.display().to_string());
    let command = command(kinds()[0], &["sh", "-c", &small, "sh", &paths[0], &paths[1], program()]);
    let mut agent = Agent::set_up(command, kinds()[0], Vec::new());
    let user = crate::harness::USER;
    let write = |name: &str| Request::Write { path: format!("/tmp/{name}"), mode: 0o644, user };
    assert_eq!(agent.refused(&write("big"), Some(&vec![b'x'; 2 << 20])), FailureCode::Exhausted);
    let Event::Stats(stats) = agent.ask(&Request::Stats, None).event else { panic!("no figures") };
    assert_eq!((stats.disk_bytes, stats.inodes), (1 << 20, 100));
    assert!(stats.disk_used_bytes < 1 << 19, "nothing is left of the file: {stats:?}");
    agent.run(shell("cd /tmp && for i in $(seq 200); do : > file$i; done"), &[]);
    assert_eq!(agent.refused(&write("one-more"), Some(b"x")), FailureCode::Exhausted);
    agent.sh("rm /tmp/file*");
    agent.done(&write("one-more"), Some(b"x"));
}
