//! Archives that go in and out, honest and hostile.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use palestra_sandbox_agent::wire::{Event, FailureCode, PATHS_BYTES_MAX, Request, User};
use tar::{EntryType, Header};

use crate::files::folder;
use crate::harness::{Agent, Ids, USER, kinds};

/// One entry of an archive, however strange.
fn entry(name: &str, kind: EntryType, target: &str, content: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_mtime(1_000_000_000);
    header.set_uid(7);
    header.set_gid(8);
    header.set_size(content.len() as u64);
    sealed(header, content)
}

fn sealed(mut header: Header, content: &[u8]) -> Vec<u8> {
    header.set_cksum();
    let padding = vec![0; content.len().next_multiple_of(512) - content.len()];
    [header.as_bytes().as_slice(), content, &padding].concat()
}

fn file(name: &str, content: &str) -> Vec<u8> {
    entry(name, EntryType::Regular, "", content.as_bytes())
}

fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
    [entries.concat(), vec![0; 1024]].concat()
}

/// Extended attributes of the next entry.
fn attributes(lines: &[(&str, &str)]) -> Vec<u8> {
    let line = |(name, value): &(&str, &str)| {
        let rest = name.len() + value.len() + 3;
        let length = (rest + 1..).find(|length| length - rest == length.to_string().len()).expect("a length");
        format!("{length} {name}={value}\n")
    };
    let content: String = lines.iter().map(line).collect();
    entry("attributes", EntryType::XHeader, "", content.as_bytes())
}

fn unpack(folder: &Path) -> Request {
    let folder = folder.display().to_string();
    Request::Unpack { folder, user: Some(USER), bytes_max: 1 << 20, entries_max: 100 }
}

/// All that lies below a folder, links not followed.
fn below(folder: &Path) -> Vec<String> {
    let output =
        Command::new("find").arg(folder).args(["-mindepth", "1", "-printf", "%P %y %l\n"]).output().expect("find");
    let mut lines: Vec<String> =
        String::from_utf8_lossy(&output.stdout).lines().map(|line| line.trim_end().to_owned()).collect();
    lines.sort();
    lines
}

#[test]
fn packed_files_unpack_the_same() {
    for ids in kinds() {
        let (mut agent, from, to) = (Agent::new(ids), folder(), folder());
        let long = format!("{}/{}", "long".repeat(40), "name".repeat(50));
        let target = "../target/".repeat(30);
        let line = format!(
            "cd {} && mkdir -p a/b {} && echo one > a/one && chmod 4751 a/one && touch -d 2001-02-03T04:05:06Z a/one && ln -s {target} a/link \
             && ln -s one a/b/short && head -c 100000 /dev/urandom > a/b/random && : > a/empty && echo long > {long} && mkfifo a/pipe \
             && printf x > \"$(printf 'a/bad\\377name')\" && chmod 750 a/b",
            from.path().display(),
            Path::new(&long).parent().expect("a folder").display(),
        );
        agent.sh(&line);
        let source = format!("{}/a", from.path().display());
        let paths = vec![source.clone(), format!("{}/{long}", from.path().display()), "/no/such/place".to_owned()];
        let packed = agent.done(&Request::Pack { paths, bytes_max: 1 << 20, entries_max: 100 }, None);
        let Event::Packed { entries, left_out } = packed.event else { panic!("{:?}", packed.event) };
        assert_eq!((entries, left_out), (9, vec![format!("{source}/pipe")]));
        agent.done(&unpack(to.path()), Some(&packed.output));
        let inside = to.path().join(from.path().strip_prefix("/").expect("absolute"));
        agent.sh(&format!("rm {}/a/pipe", from.path().display()));
        assert_eq!(below(&inside), below(from.path()));
        let same =
            Command::new("diff").args(["-r", "--no-dereference"]).arg(from.path()).arg(&inside).status().expect("diff");
        assert!(same.success());
        let (one, other) = (fs::metadata(from.path().join("a/one")), fs::metadata(inside.join("a/one")));
        let (one, other) = (one.expect("the file"), other.expect("the file"));
        assert_eq!((one.mode(), one.mtime(), one.uid()), (other.mode(), other.mtime(), other.uid()));
        assert_eq!(fs::metadata(inside.join("a/b")).expect("the folder").mode() & 0o777, 0o750);

        // Others read it too.
        let file = to.path().join("archive.tar");
        fs::write(&file, &packed.output).expect("the archive");
        let listed = Command::new("tar").arg("-tf").arg(&file).output().expect("tar");
        assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
        assert_eq!(String::from_utf8_lossy(&listed.stdout).lines().count(), 9);
    }
}

#[test]
fn archives_of_other_programs_unpack() {
    let (mut agent, from) = (Agent::new(kinds()[0]), folder());
    let (long_folder, long_name) = ("d".repeat(60), "f".repeat(90));
    let at = from.path().display();
    let line = format!(
        "cd {at} && mkdir {long_folder} && echo x > {long_folder}/{long_name} && echo deep > one && ln one hard && ln -s hard soft"
    );
    agent.sh(&line);
    for format in ["gnu", "pax", "posix", "ustar", "oldgnu"] {
        let to = folder();
        let packed = Command::new("tar")
            .arg(format!("--format={format}"))
            .arg("-c")
            .arg("-C")
            .arg(from.path())
            .arg(".")
            .output();
        agent.done(&unpack(to.path()), Some(&packed.expect("tar").stdout));
        assert_eq!(below(to.path()), below(from.path()), "{format}");
        assert_eq!(fs::read_to_string(to.path().join("soft")).expect("the file"), "deep\n");
    }
}

#[test]
fn no_entry_leaves_its_folder() {
    let link = |name: &str, target: &str| entry(name, EntryType::Symlink, target, b"");
    let hard = |name: &str, target: &str| entry(name, EntryType::Link, target, b"");
    let outside = folder();
    fs::write(outside.path().join("secret"), "kept").expect("a file");
    let out = outside.path().display().to_string();
    let secret = format!("{out}/secret");
    let hostile: Vec<(&str, Vec<Vec<u8>>, FailureCode)> = vec![
        ("upwards", vec![file("../escaped", "x")], FailureCode::Invalid),
        ("upwards inside", vec![file("a/../../escaped", "x")], FailureCode::Invalid),
        ("through a link", vec![link("way", &out), file("way/escaped", "x")], FailureCode::WrongKind),
        ("through a relative link", vec![link("way", ".."), file("way/escaped", "x")], FailureCode::WrongKind),
        (
            "a folder over a link",
            vec![link("way", &out), entry("way", EntryType::Directory, "", b"")],
            FailureCode::WrongKind,
        ),
        ("a hard link out", vec![hard("name", "../../etc/passwd")], FailureCode::Invalid),
        ("an absolute hard link", vec![hard("name", &secret)], FailureCode::NotFound),
        ("a hard link to a link", vec![link("way", &secret), hard("name", "way")], FailureCode::Invalid),
        ("a hard link through a link", vec![link("way", &out), hard("name", "way/secret")], FailureCode::WrongKind),
        ("a device", vec![entry("device", EntryType::Char, "", b"")], FailureCode::WrongKind),
        ("a disk", vec![entry("device", EntryType::Block, "", b"")], FailureCode::WrongKind),
        ("a pipe", vec![entry("pipe", EntryType::Fifo, "", b"")], FailureCode::WrongKind),
        (
            "a long name upwards",
            vec![entry("long", EntryType::GNULongName, "", b"../escaped\0"), file("short", "x")],
            FailureCode::Invalid,
        ),
        ("an attribute upwards", vec![attributes(&[("path", "../escaped")]), file("short", "x")], FailureCode::Invalid),
        ("a second size", vec![attributes(&[("size", "1")]), file("short", "xyz")], FailureCode::Invalid),
        ("a sparse file", vec![attributes(&[("GNU.sparse.major", "1")]), file("short", "xyz")], FailureCode::Invalid),
        ("an old sparse file", vec![entry("sparse", EntryType::GNUSparse, "", b"xyz")], FailureCode::Invalid),
        (
            "broken attributes",
            vec![entry("x", EntryType::XHeader, "", b"999 path=x\n"), file("short", "x")],
            FailureCode::Invalid,
        ),
        (
            "attributes without end",
            vec![entry("x", EntryType::XHeader, "", b"1 1 1 1 1"), file("short", "x")],
            FailureCode::Invalid,
        ),
        (
            "a name beyond bounds",
            vec![entry("long", EntryType::GNULongName, "", &vec![b'a'; 70_000]), file("short", "x")],
            FailureCode::Invalid,
        ),
        ("no checksum", vec![vec![b'x'; 512]], FailureCode::Invalid),
        ("a file over a folder", vec![file("f/g", "x"), file("f", "x")], FailureCode::WrongKind),
        ("a file as a folder", vec![file("f", "x"), file("f/g", "x")], FailureCode::WrongKind),
        ("too many bytes", vec![entry("big", EntryType::Regular, "", &vec![0; (1 << 20) + 1])], FailureCode::TooLarge),
        ("too many entries", (0..101).map(|number| file(&number.to_string(), "")).collect(), FailureCode::TooLarge),
    ];
    for ids in kinds() {
        let mut agent = Agent::new(ids);
        for (what, entries, code) in &hostile {
            let (root, inner) = (folder(), "inner");
            let answer = agent.ask(&unpack(&root.path().join(inner)), Some(&archive(entries)));
            let Event::Failed { code: found, detail } = answer.event else { panic!("{what}: {answer:?}") };
            assert_eq!(found, *code, "{what}: {detail}");
            assert_eq!(fs::read_dir(root.path()).expect("the folder").count(), 1, "{what}");
        }
        assert_eq!(below(outside.path()), ["secret f"]);
        assert_eq!(fs::read_to_string(outside.path().join("secret")).expect("the file"), "kept");
    }
}

#[test]
fn a_size_that_is_a_lie_is_no_bomb() {
    let (mut agent, to) = (Agent::new(kinds()[0]), folder());
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..3].copy_from_slice(b"big");
    header.set_mode(0o644);
    header.set_entry_type(EntryType::Regular);
    header.set_size(10 << 30);
    let bomb = sealed(header.clone(), b"");
    assert_eq!(agent.refused(&unpack(to.path()), Some(&bomb)), FailureCode::TooLarge);
    header.set_size(1_000);
    assert_eq!(agent.refused(&unpack(to.path()), Some(&sealed(header.clone(), b"short"))), FailureCode::Invalid);
    header.set_entry_type(EntryType::GNULongName);
    header.set_size(10 << 30);
    assert_eq!(agent.refused(&unpack(to.path()), Some(&sealed(header, b""))), FailureCode::Invalid);
}

#[test]
fn absolute_names_land_inside_and_what_is_there_is_replaced() {
    let (mut agent, to) = (Agent::new(kinds()[0]), folder());
    let entries = [
        file("/etc/passwd", "inside"),
        entry("link", EntryType::Symlink, "/etc", b""),
        file("link", "a file now"),
        entry("etc/again", EntryType::Link, "/etc/passwd", b""),
        entry("./", EntryType::Directory, "", b""),
    ];
    agent.done(&unpack(to.path()), Some(&archive(&entries)));
    assert_eq!(below(to.path()), ["etc d", "etc/again f", "etc/passwd f", "link f"]);
    assert_eq!(fs::read_to_string(to.path().join("etc/again")).expect("the file"), "inside");
    assert_eq!(fs::metadata(to.path()).expect("the folder").permissions().mode() & 0o777, 0o777, "left as it was");
}

#[test]
fn owners_are_those_of_the_archive_where_none_is_named() {
    if !kinds().contains(&Ids::Many) {
        palestra_test_support::not_tried("a range of user ids");
        return;
    }
    let (mut agent, to) = (Agent::new(Ids::Many), folder());
    let folder = to.path().display().to_string();
    let as_said = Request::Unpack { folder: folder.clone(), user: None, bytes_max: 100, entries_max: 10 };
    agent.done(&as_said, Some(&archive(&[file("a/said", "x")])));
    let user = Some(User { uid: 55, gid: 66 });
    agent.done(
        &Request::Unpack { folder, user, bytes_max: 100, entries_max: 10 },
        Some(&archive(&[file("b/named", "x")])),
    );
    for (name, uid, gid) in [("a", 7, 8), ("a/said", 7, 8), ("b", 55, 66), ("b/named", 55, 66)] {
        let metadata = fs::metadata(to.path().join(name)).expect("it is there");
        assert_eq!((metadata.uid(), metadata.gid()), (uid, gid), "{name}");
    }
}

#[test]
fn a_refused_archive_does_not_hold_up_what_follows() {
    let (mut agent, to) = (Agent::new(kinds()[0]), folder());
    let long = vec![b'x'; 5 << 20];
    let stream = agent.open(&unpack(to.path()), Some(&long));
    assert_eq!(agent.sh("echo on"), "on\n");
    assert!(matches!(agent.finish(stream).event, Event::Failed { code: FailureCode::Invalid, .. }));
}

#[test]
fn folders_that_lie_too_deep_are_refused() {
    let (mut agent, from) = (Agent::new(kinds()[0]), folder());
    agent.sh(&format!("cd {} && for i in $(seq 300); do mkdir d && cd -P d || exit 1; done", from.path().display()));
    let paths = vec![from.path().display().to_string()];
    assert_eq!(agent.refused(&Request::Pack { paths, bytes_max: 100, entries_max: 1000 }, None), FailureCode::TooLarge);
}

#[test]
fn a_link_on_the_way_leaves_the_other_paths_to_be_packed() {
    let (mut agent, from) = (Agent::new(kinds()[0]), folder());
    agent.sh(&format!("cd {} && ln -s /etc way && echo x > file && ln -s /etc/passwd end", from.path().display()));
    let at = |name: &str| from.path().join(name).display().to_string();
    let paths = vec![at("way/passwd"), "/proc/1/environ".to_owned(), at("end"), at("file")];
    let packed = agent.done(&Request::Pack { paths: paths.clone(), bytes_max: 100, entries_max: 10 }, None);
    let Event::Packed { entries, left_out } = packed.event else { panic!("{:?}", packed.event) };
    assert_eq!((entries, left_out.as_slice()), (2, &paths[..2]));
    let root = Request::Pack { paths: vec!["/".to_owned()], bytes_max: 100, entries_max: 10 };
    assert_eq!(agent.refused(&root, None), FailureCode::Invalid);
}

#[test]
fn paths_have_a_bound_together() {
    let (mut agent, from) = (Agent::new(kinds()[0]), folder());
    agent.sh(&format!("cd {} && {}", from.path().display(), long_paths()));
    let paths = vec![from.path().display().to_string()];
    let pack = Request::Pack { paths, bytes_max: 256 << 20, entries_max: 100_000 };
    assert_eq!(agent.refused(&pack, None), FailureCode::TooLarge);
}

/// Makes empty files below the working folder whose paths are longer than [`PATHS_BYTES_MAX`] together.
pub(crate) fn long_paths() -> String {
    const FOLDERS: usize = 8;
    const NAME_BYTES: usize = 250;
    let files = PATHS_BYTES_MAX as usize / (FOLDERS * (NAME_BYTES + 1)) + 1;
    let way = vec!["n".repeat(NAME_BYTES); FOLDERS - 1].join("/");
    format!("mkdir -p {way} && cd {way} && seq -f '%0{NAME_BYTES}.0f' {files} | xargs touch")
}

#[test]
fn headers_are_paid_from_the_bytes_of_contents() {
    let (mut agent, from) = (Agent::new(kinds()[0]), folder());
    // A head of 512 bytes and one for the name, which takes up 512 bytes itself; and the same for where it leads.
    let line = "for i in $(seq 100); do ln -s $(printf 't%.0s' $(seq 400)) $(printf 'n%.0s' $(seq 200))$i; done";
    agent.sh(&format!("cd {} && {line}", from.path().display()));
    let paths = vec![from.path().display().to_string()];
    let pack = |bytes_max| Request::Pack { paths: paths.clone(), bytes_max, entries_max: 101 };
    assert_eq!(agent.refused(&pack(1 << 10), None), FailureCode::TooLarge);
    agent.done(&pack(1 << 20), None);
}
