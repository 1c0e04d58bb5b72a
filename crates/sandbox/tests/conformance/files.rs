//! Files: in, out, and what changed.

use palestra_sandbox::sandbox::Bounds;
use palestra_sandbox::wire::{ChangeKind, EntryKind, FailureCode, User};

use crate::world::{World, shell};

const AGENT: User = User { uid: 1_000, gid: 1_000 };
const BOUNDS: Bounds = Bounds { bytes_max: 10 << 20, entries_max: 1_000 };

pub(crate) async fn files_are_written_and_read_as_bytes(world: &World) {
    let sandbox = world.terminal().await;
    let bytes: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let path = "/home/agent/new/folder/file";
    sandbox.write(path, 0o640, AGENT, &bytes).await.expect("written");
    assert_eq!(sandbox.read(path, 1 << 30).await.expect("read"), bytes);
    assert_eq!(shell(&sandbox, &format!("stat -c '%a %u %s' {path}")).await, "640 1000 4000000\n");
    let entry = sandbox.stat(path).await.expect("an answer").expect("an entry");
    assert_eq!((entry.kind, entry.size, entry.uid), (EntryKind::File, 4_000_000, 1_000));
    sandbox.write(path, 0o600, AGENT, b"").await.expect("replaced");
    assert_eq!(sandbox.read(path, 10).await.expect("read"), b"");
    assert_eq!(sandbox.stat("/no/such/file").await.expect("an answer"), None);
    let missing = sandbox.read("/no/such/file", 10).await.expect_err("nothing is there");
    assert!(missing.is(FailureCode::NotFound), "{missing:?}");
    sandbox.destroy(false).await;
}

pub(crate) async fn links_and_pipes_are_not_read_and_long_files_are_refused(world: &World) {
    let sandbox = world.terminal().await;
    shell(&sandbox, "cd; ln -s /etc/passwd link; ln -s /etc folder; mkfifo pipe; truncate -s 1G sparse").await;
    for path in ["link", "folder/passwd", "pipe"] {
        let refused = sandbox.read(&format!("/home/agent/{path}"), 1 << 20).await.expect_err(path);
        assert!(refused.is(FailureCode::WrongKind), "{path}: {refused:?}");
        let refused = sandbox.write(&format!("/home/agent/{path}"), 0o600, AGENT, b"x").await;
        assert!(path == "pipe" || refused.is_err_and(|error| error.is(FailureCode::WrongKind)), "{path} was written");
    }
    let refused = sandbox.read("/home/agent/sparse", 1 << 20).await.expect_err("too long");
    assert!(refused.is(FailureCode::TooLarge), "{refused:?}");
    shell(&sandbox, "grep -q root /etc/passwd").await;
    sandbox.destroy(false).await;
}

pub(crate) async fn packed_files_can_be_unpacked_elsewhere(world: &World) {
    let (one, other) = (world.terminal().await, world.terminal().await);
    shell(&one, "cd; mkdir -p tree/deep; echo text > tree/deep/file; ln -s deep/file tree/link; chmod 750 tree/deep")
        .await;
    shell(&one, "cd; mkfifo tree/pipe; echo run > tree/program; chmod 755 tree/program").await;
    let paths = ["/home/agent/tree".to_owned(), "/no/such".to_owned()];
    let (archive, left_out) = one.pack(&paths, BOUNDS).await.expect("packed");
    assert_eq!(left_out, ["/home/agent/tree/pipe"]);
    other.unpack("/", Some(AGENT), &archive, BOUNDS).await.expect("unpacked");
    let seen = shell(&other, "cd; cat tree/link; stat -c '%a %U' tree/deep tree/program; test ! -e tree/pipe").await;
    assert_eq!(seen, "text\n750 agent\n755 agent\n");
    let small = Bounds { bytes_max: 3, ..BOUNDS };
    let refused = one.pack(&paths, small).await.expect_err("too much");
    assert!(refused.is(FailureCode::TooLarge), "{refused:?}");
    one.destroy(false).await;
    other.destroy(false).await;
}

pub(crate) async fn an_archive_cannot_leave_its_folder(world: &World) {
    let sandbox = world.terminal().await;
    for name in ["../outside", "/home/agent/outside", "inside/../../outside", "link/outside"] {
        let mut archive = tar::Builder::new(Vec::new());
        let mut link = tar::Header::new_gnu();
        link.set_entry_type(tar::EntryType::Symlink);
        link.set_size(0);
        archive.append_link(&mut link, "link", "..").expect("packed");
        let mut header = tar::Header::new_gnu();
        header.as_gnu_mut().expect("a header").name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(4);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append(&header, b"evil".as_slice()).expect("packed");
        let bytes = archive.into_inner().expect("packed");
        // Refused or kept inside; in no case outside.
        let _ = sandbox.unpack("/home/agent/into", Some(AGENT), &bytes, BOUNDS).await;
        shell(&sandbox, "test ! -e /home/agent/outside && test ! -e /home/outside && test ! -e /outside").await;
    }
    sandbox.destroy(false).await;
}

pub(crate) async fn changes_name_what_was_added_modified_and_deleted(world: &World) {
    let sandbox = world.start(crate::world::profile("root")).await.expect("a sandbox");
    let before = sandbox.changes(100).await.expect("changes");
    shell(&sandbox, "echo x > /opt/new; echo more >> /etc/hosts; rm /etc/group; mkdir -p /srv/a/b; chmod 700 /srv")
        .await;
    let after = sandbox.changes(100).await.expect("changes");
    let of = |path: &str| after.iter().find(|change| change.path == path).map(|change| change.change);
    assert_eq!(of("/opt/new"), Some(ChangeKind::Added), "{after:?}");
    assert_eq!(of("/etc/hosts"), Some(ChangeKind::Modified), "{after:?}");
    assert_eq!(of("/etc/group"), Some(ChangeKind::Deleted), "{after:?}");
    assert_eq!(of("/srv/a/b"), Some(ChangeKind::Added), "{after:?}");
    assert_eq!(of("/srv"), Some(ChangeKind::Modified), "{after:?}");
    for hidden in ["/proc", "/dev", "/sys", "/.palestra"] {
        assert!(after.iter().all(|change| !change.path.starts_with(hidden)), "{after:?}");
    }
    assert!(before.iter().all(|change| !change.path.starts_with("/opt")), "{before:?}");
    assert!(after.is_sorted_by(|one, next| one.path < next.path), "{after:?}");
    let refused = sandbox.changes(2).await.expect_err("too many");
    assert!(refused.is(FailureCode::TooLarge), "{refused:?}");
    sandbox.destroy(false).await;
}

pub(crate) async fn the_change_of_a_sandbox_can_be_applied_to_another(world: &World) {
    let start = || async { world.start(crate::world::profile("root")).await.expect("a sandbox") };
    let (one, other) = (start().await, start().await);
    shell(&one, "echo mine > /opt/file; rm /etc/group; rm -r /var/spool; mkdir /var/spool; touch /var/spool/one").await;
    shell(&one, "mkdir /opt/left; echo no > /opt/left/file; ln -s file /opt/link; chmod 700 /opt/file").await;
    let (delta, left_out) = one.delta(BOUNDS, &["/opt/left".to_owned()]).await.expect("a delta");
    assert_eq!(left_out, Vec::<String>::new());
    other.apply(&delta).await.expect("applied");
    let seen = shell(
        &other,
        "cat /opt/link; stat -c %a /opt/file; ls /var/spool; test ! -e /etc/group && test ! -e /opt/left",
    )
    .await;
    assert_eq!(seen, "mine\n700\none\n");
    one.destroy(false).await;
    other.destroy(false).await;
}
