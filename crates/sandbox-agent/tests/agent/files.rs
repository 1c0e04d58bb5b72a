//! Single files.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use palestra_sandbox_agent::wire::{EntryKind, Event, FailureCode, Request};

use crate::harness::{Agent, Ids, USER, kinds};

pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("its mode");
    folder
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

fn write(path: &str) -> Request {
    Request::Write { path: path.to_owned(), mode: 0o640, user: USER }
}

fn read(path: &str, bytes_max: u64) -> Request {
    Request::Read { path: path.to_owned(), bytes_max }
}

#[test]
fn a_file_is_written_with_its_folders_and_read_again() {
    for ids in kinds() {
        let (mut agent, folder) = (Agent::new(ids), folder());
        let file = path(folder.path(), "new/folders/file");
        let content: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
        agent.done(&write(&file), Some(&content));
        assert_eq!(agent.done(&read(&file, content.len() as u64), None).output, content);
        let metadata = fs::metadata(&file).expect("the file");
        assert_eq!(metadata.mode() & 0o7777, 0o640);
        if ids == Ids::Many {
            assert_eq!((metadata.uid(), metadata.gid()), (1_000, 1_000));
            assert_eq!(fs::metadata(folder.path().join("new")).expect("the folder").uid(), 1_000);
        }
        agent.done(&write(&file), Some(b"short"));
        assert_eq!(agent.done(&read(&file, 5), None).output, b"short");
        assert_eq!(agent.refused(&read(&file, 4), None), FailureCode::TooLarge);
        assert_eq!(fs::read_dir(folder.path().join("new/folders")).expect("the folder").count(), 1);
    }
}

#[test]
fn links_lead_nowhere() {
    let (mut agent, folder, outside) = (Agent::new(kinds()[0]), folder(), folder());
    fs::write(outside.path().join("secret"), "kept").expect("a file");
    symlink(outside.path(), folder.path().join("way")).expect("a link");
    symlink(outside.path().join("secret"), folder.path().join("end")).expect("a link");
    for name in ["way/secret", "end", "way/new"] {
        let path = path(folder.path(), name);
        assert_eq!(agent.refused(&write(&path), Some(b"changed")), FailureCode::WrongKind, "{name}");
        assert_eq!(agent.refused(&read(&path, 100), None), FailureCode::WrongKind, "{name}");
    }
    assert_eq!(fs::read_to_string(outside.path().join("secret")).expect("the file"), "kept");
    assert_eq!(fs::read_dir(outside.path()).expect("the folder").count(), 1);
    let stat =
        |agent: &mut Agent, name: &str| match agent.ask(&Request::Stat { path: path(folder.path(), name) }, None).event
        {
            Event::Found { entry } => entry,
            other => panic!("{other:?}"),
        };
    assert_eq!(stat(&mut agent, "end").map(|entry| entry.kind), Some(EntryKind::Link));
    assert_eq!(stat(&mut agent, "way/secret"), None);
    assert_eq!(stat(&mut agent, "nothing"), None);
}

#[test]
fn non_files_are_refused_without_waiting() {
    let (mut agent, folder) = (Agent::new(kinds()[0]), folder());
    let name = |name: &str| path(folder.path(), name);
    agent.sh(&format!("cd {} && mkfifo pipe && mkdir folder", folder.path().display()));
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).expect("a socket");
    for path in
        [name("pipe"), name("folder"), name("socket"), "/dev/zero".to_owned(), "/dev/ptmx".to_owned(), "/".to_owned()]
    {
        assert_eq!(agent.refused(&read(&path, 100), None), FailureCode::WrongKind, "{path}");
    }
    assert_eq!(agent.refused(&write(&name("folder")), Some(b"")), FailureCode::WrongKind);
    assert_eq!(agent.refused(&read(&name("nothing"), 100), None), FailureCode::NotFound);
    for path in ["relative", "", "/tmp/../etc/passwd", "/tmp/zero\0byte"] {
        assert_eq!(agent.refused(&read(path, 100), None), FailureCode::Invalid, "{path:?}");
    }
    // What stands in the way of a new file is replaced, if it is neither a folder nor a link.
    agent.done(&write(&name("pipe")), Some(b"a file now"));
    assert_eq!(agent.done(&read(&name("pipe"), 100), None).output, b"a file now");
}

#[test]
fn the_kernels_own_files_are_no_data() {
    let mut agent = Agent::new(kinds()[0]);
    for path in ["/proc/1/mem", "/proc/1/environ", "/proc/sys/kernel/hostname", "/sys/kernel/mm/ksm/run"] {
        assert_eq!(agent.refused(&read(path, 1 << 20), None), FailureCode::WrongKind, "{path}");
        assert_eq!(agent.refused(&write(path), Some(b"1")), FailureCode::WrongKind, "{path}");
    }
}

#[test]
fn a_sparse_giant_is_refused_at_once() {
    let (mut agent, folder) = (Agent::new(kinds()[0]), folder());
    let file = path(folder.path(), "giant");
    agent.sh(&format!("truncate -s 10G {file}"));
    assert_eq!(agent.refused(&read(&file, 1 << 30), None), FailureCode::TooLarge);
    let pack = Request::Pack { paths: vec![folder.path().display().to_string()], bytes_max: 1 << 30, entries_max: 100 };
    assert_eq!(agent.refused(&pack, None), FailureCode::TooLarge);
}

#[test]
fn a_file_that_is_swapped_all_the_time_is_read_within_bounds() {
    let (mut agent, folder) = (Agent::new(kinds()[0]), folder());
    let at = folder.path().display();
    let line = format!(
        "cd {at}; echo small > a; truncate -s 1M b; mkfifo c; ln -s /etc/passwd d; echo on; \
         while :; do for name in a b c d; do ln -f $name new 2>/dev/null || cp -P $name new; mv -f new it; done; done"
    );
    let stream = agent.open(&Request::Exec(crate::harness::shell(&line)), Some(&[]));
    agent.wait_for(stream, "on");
    let it = path(folder.path(), "it");
    let (mut reads, mut seen, mut refused) = (0, 0, 0);
    // Long enough to have met both.
    let until = Instant::now() + Duration::from_secs(30);
    while (reads < 300 || seen == 0 || refused == 0) && Instant::now() < until {
        reads += 1;
        let answer = agent.ask(&read(&it, 100), None);
        match answer.event {
            Event::Done => {
                assert_eq!(answer.output, b"small\n");
                seen += 1;
            }
            Event::Failed { code, .. } => {
                let expected = [FailureCode::TooLarge, FailureCode::WrongKind, FailureCode::NotFound];
                assert!(expected.contains(&code), "{code:?}");
                refused += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(seen > 0 && refused > 0, "{reads} reads: {seen} of the small file, {refused} refused");
}
