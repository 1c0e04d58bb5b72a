//! Files on their way in and out: what stands in place of a file, what is swapped while it is looked at, and archives that want out.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::time::{Duration, Instant};

use palestra_sandbox::SandboxError;
use palestra_sandbox::sandbox::Bounds;
use palestra_sandbox::wire::{FailureCode, User};

use crate::archives;
use crate::arena::{Arena, HostileSandbox};

crate::on_every_back_end! {
    odd_files, sparse_file, archive_of_odd_files, swapped_files, growing_file, hostile_archives, hostile_archives_as_changes, uploads_over_links,
}

const AGENT: User = User { uid: 1000, gid: 1000 };
const SOON: Duration = Duration::from_secs(5);
const BOUNDS: Bounds = Bounds { bytes_max: 16 << 20, entries_max: 2_000 };

fn refusal<T: std::fmt::Debug>(result: Result<T, SandboxError>) -> FailureCode {
    match result {
        Err(SandboxError::Refused { code, .. }) => code,
        other => panic!("it was not refused: {other:?}"),
    }
}

async fn odd_files(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    assert!(sandbox.run("odd_files", &["/home/agent/odd"]).await.success());
    for name in ["pipe", "socket", "link", "loop", "folder", "null", "proc", "way/passwd"] {
        let begun = Instant::now();
        let code = refusal(sandbox.sandbox.read(&format!("/home/agent/odd/{name}"), 1 << 20).await);
        assert_eq!(code, FailureCode::WrongKind, "{name}");
        assert!(begun.elapsed() < SOON, "{name} took {:?}", begun.elapsed());
    }
    for path in ["/dev/zero", "/dev/random", "/proc/kmsg", "/dev/tty", "/proc/1/mem", "/proc/self/mem"] {
        let begun = Instant::now();
        let result = sandbox.sandbox.read(path, 1 << 20).await;
        assert!(result.as_ref().map_or(true, Vec::is_empty), "{path}: {result:?}");
        assert!(begun.elapsed() < SOON, "{path} took {:?}", begun.elapsed());
    }
    for path in ["relative", "", "/home/agent/../agent/odd/inner", "/home/agent/odd/inner\0x"] {
        let result = sandbox.sandbox.read(path, 1 << 20).await;
        assert!(matches!(result, Err(SandboxError::Refused { .. })), "{path:?}: {result:?}");
    }
    sandbox.still_works().await;
}

async fn sparse_file(arena: &Arena) {
    let mut profile = Arena::profile();
    profile.file_bytes.value = 20 << 30;
    let sandbox = arena.sandbox_under(profile).await;
    let output = sandbox.run("odd_files", &["/home/agent/odd"]).await;
    let size: u64 = output.text().trim().strip_prefix("sparse ").and_then(|size| size.parse().ok()).expect("a size");
    assert!(size > 1 << 30, "the file is no trouble: {size}");
    let path = "/home/agent/odd/sparse".to_owned();
    let (memory, _) = crate::census::memory();
    let begun = Instant::now();
    assert_eq!(refusal(sandbox.sandbox.read(&path, 16 << 20).await), FailureCode::TooLarge);
    assert_eq!(refusal(sandbox.sandbox.pack(std::slice::from_ref(&path), BOUNDS).await), FailureCode::TooLarge);
    assert_eq!(refusal(sandbox.sandbox.delta(BOUNDS, &[]).await), FailureCode::TooLarge);
    assert!(begun.elapsed() < SOON, "it took {:?}", begun.elapsed());
    let (after, _) = crate::census::memory();
    assert!(after < memory + (64 << 20), "the server grew from {memory} to {after} bytes");
    sandbox.still_works().await;
}

async fn archive_of_odd_files(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    assert!(sandbox.run("odd_files", &["/home/agent/odd"]).await.success());
    sandbox.shell("rm /home/agent/odd/sparse").await;
    // Folders in folders without end are refused, not followed.
    let deep = sandbox.sandbox.pack(&["/home/agent/odd".to_owned()], BOUNDS).await;
    assert_eq!(refusal(deep), FailureCode::TooLarge);
    sandbox.shell("rm -r /home/agent/odd/deep").await;
    let begun = Instant::now();
    let (bytes, left_out) = sandbox.sandbox.pack(&["/home/agent/odd".to_owned()], BOUNDS).await.expect("packed");
    assert!(begun.elapsed() < SOON, "it took {:?}", begun.elapsed());
    let mut archive = tar::Archive::new(bytes.as_slice());
    let mut kinds = BTreeMap::new();
    for entry in archive.entries().expect("entries") {
        let mut entry = entry.expect("an entry");
        let path = entry.path().expect("a path").into_owned();
        assert!(
            path.is_relative()
                && path
                    .components()
                    .all(|part| matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir))
        );
        let mut body = Vec::new();
        entry.read_to_end(&mut body).expect("a body");
        assert!(!String::from_utf8_lossy(&body).contains("root:"), "{} holds what a link leads to", path.display());
        kinds.insert(
            path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            entry.header().entry_type(),
        );
    }
    for name in ["link", "loop", "null", "proc", "way"] {
        assert_eq!(kinds.get(name), Some(&tar::EntryType::Symlink), "{name}");
    }
    assert!(!kinds.contains_key("pipe") && !kinds.contains_key("socket"), "{kinds:?}");
    assert!(left_out.iter().any(|path| path.ends_with("odd/pipe")), "{left_out:?}");
    assert!(left_out.iter().any(|path| path.ends_with("odd/socket")), "{left_out:?}");
    // It is whole: another sandbox takes it.
    let other = arena.sandbox().await;
    other.sandbox.unpack("/home/agent/taken", Some(AGENT), &bytes, BOUNDS).await.expect("unpacked");
    other.shell("test -L $(find /home/agent/taken -name loop)").await;
}

async fn swapped_files(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    assert!(sandbox.run("swap", &["/home/agent/swap"]).await.success());
    let passwd = sandbox.shell("cat /etc/passwd; ls -la /etc").await;
    let (mut good, mut refused) = (0, 0);
    let begun = Instant::now();
    for turn in 0..400 {
        let path = if turn % 2 == 0 { "/home/agent/swap/subject" } else { "/home/agent/swap/way/passwd" };
        let asked = Instant::now();
        match sandbox.sandbox.read(path, 1 << 20).await {
            Ok(bytes) => {
                assert!(bytes == b"good", "{path} gave {:?}", String::from_utf8_lossy(&bytes));
                good += 1;
            }
            Err(SandboxError::Refused { .. }) => refused += 1,
            Err(other) => panic!("{other}"),
        }
        assert!(asked.elapsed() < SOON, "a read took {:?}", asked.elapsed());
    }
    assert!(good > 0 && refused > 0, "nothing was swapped: {good} good, {refused} refused");
    for turn in 0..100 {
        // Written with every right that the agent has, into a folder that may be a link to /etc at this moment.
        let _ = sandbox.sandbox.write(&format!("/home/agent/swap/way/new-{}", turn % 10), 0o644, AGENT, b"new").await;
        let _ = sandbox.sandbox.write("/home/agent/swap/way/passwd", 0o644, AGENT, b"good").await;
        let archive = archives::Hostile::default().file(b"way/unpacked", b"new").file(b"way/passwd", b"good").end();
        let _ = sandbox.sandbox.unpack("/home/agent/swap", Some(AGENT), &archive, BOUNDS).await;
    }
    eprintln!("400 reads and 300 writes against swaps in {:?}: {good} good, {refused} refused", begun.elapsed());
    sandbox.sandbox.kill().await.expect("killed");
    assert_eq!(sandbox.shell("cat /etc/passwd; ls -la /etc").await, passwd, "what a link leads to was changed");
}

async fn growing_file(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    assert!(sandbox.run("grow", &["/home/agent/grow/file"]).await.exited.code == Some(2));
    sandbox.shell("mkdir /home/agent/grow").await;
    assert!(sandbox.run("grow", &["/home/agent/grow/file"]).await.success());
    for _ in 0..60 {
        if let Ok(bytes) = sandbox.sandbox.read("/home/agent/grow/file", 1 << 20).await {
            assert!(bytes.len() <= 1 << 20);
        }
        match sandbox.sandbox.pack(&["/home/agent/grow".to_owned()], BOUNDS).await {
            Ok((bytes, _)) => {
                let mut archive = tar::Archive::new(bytes.as_slice());
                for entry in archive.entries().expect("entries") {
                    std::io::copy(&mut entry.expect("an entry"), &mut std::io::sink()).expect("a body");
                }
            }
            Err(SandboxError::Refused { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    sandbox.still_works().await;
}

/// State outside the folder that archives are unpacked in.
async fn outside(sandbox: &HostileSandbox) -> String {
    let line = "cat /etc/passwd; find / -maxdepth 1 -printf '%p %m\\n' | sort; find /etc /tmp -maxdepth 1 -printf '%p %u %m %s %T@\\n' | sort; \
                find / -xdev -name 'escaped*' -not -path '/home/agent/in-*' 2>/dev/null; true";
    sandbox.shell(line).await
}

async fn hostile_archives(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    let before = outside(&sandbox).await;
    for (name, archive) in archives::all() {
        for user in [Some(AGENT), None] {
            let folder = format!("/home/agent/in-{name}-{}", user.is_some());
            let begun = Instant::now();
            let result = sandbox.sandbox.unpack(&format!("{folder}/side"), user, &archive, BOUNDS).await;
            assert!(begun.elapsed() < SOON, "{name} took {:?}", begun.elapsed());
            match result {
                Ok(()) | Err(SandboxError::Refused { .. }) => {}
                Err(other) => panic!("{name}: {other}"),
            }
            assert_eq!(outside(&sandbox).await, before, "{name} got out");
            let odd = format!("find {folder} \\( -type b -o -type c -o -type p -o -type s \\) -o -size +20000k; true");
            assert_eq!(sandbox.shell(&odd).await, "", "{name} made what is no file");
            let beside = sandbox.shell(&format!("ls -A {folder}; true")).await;
            assert!(beside.is_empty() || beside == "side\n", "{name} left the folder: {beside}");
        }
    }
    // A thousand entries too many, and a byte too many.
    let many = (0..3_000)
        .fold(archives::Hostile::default(), |archive, number| archive.file(format!("f{number}").as_bytes(), b""))
        .end();
    assert_eq!(
        refusal(sandbox.sandbox.unpack("/home/agent/in", Some(AGENT), &many, BOUNDS).await),
        FailureCode::TooLarge
    );
    let large = archives::Hostile::default().file(b"large", &vec![b'x'; (16 << 20) + 1]).end();
    assert_eq!(
        refusal(sandbox.sandbox.unpack("/home/agent/in", Some(AGENT), &large, BOUNDS).await),
        FailureCode::TooLarge
    );
    sandbox.still_works().await;
}

/// A change that somebody tampered with may say anything about the sandbox's files, and nothing beyond.
async fn hostile_archives_as_changes(arena: &Arena) {
    for (name, archive) in archives::all() {
        if ![
            "up",
            "absolute",
            "through_link",
            "device",
            "hard_link_up",
            "claims_more",
            "noise",
            "extended_size",
            "sparse_of_ten_gigabytes",
        ]
        .contains(&name)
        {
            continue;
        }
        let sandbox = arena.sandbox().await;
        let begun = Instant::now();
        match sandbox.sandbox.apply(&archive).await {
            Ok(()) | Err(SandboxError::Refused { .. }) => {}
            Err(other) => panic!("{name}: {other}"),
        }
        assert!(begun.elapsed() < SOON, "{name} took {:?}", begun.elapsed());
        assert_eq!(
            sandbox.shell("find / -xdev \\( -type b -o -type c \\)  2>/dev/null; true").await,
            "",
            "{name} made a device"
        );
        sandbox.still_works().await;
        sandbox.sandbox.destroy(true).await;
    }
}

async fn uploads_over_links(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    assert!(sandbox.run("odd_files", &["/home/agent/odd"]).await.success());
    let before = sandbox.shell("cat /etc/passwd; ls -lA /etc").await;
    for name in ["link", "loop", "null", "proc", "way/passwd", "way/new", "link/below", "pipe", "socket", "folder"] {
        let begun = Instant::now();
        let result = sandbox.sandbox.write(&format!("/home/agent/odd/{name}"), 0o644, AGENT, b"escaped").await;
        match result {
            // What is no link may be replaced.
            Ok(()) => assert!(["pipe", "socket"].contains(&name), "{name} was written"),
            Err(SandboxError::Refused { code, .. }) => assert_eq!(code, FailureCode::WrongKind, "{name}"),
            Err(other) => panic!("{name}: {other}"),
        }
        assert!(begun.elapsed() < SOON, "{name} took {:?}", begun.elapsed());
    }
    // A hard link to a file of somebody else cannot be made; one to an own file must not carry a write beyond it.
    sandbox.sandbox.write("/home/agent/odd/hard", 0o644, AGENT, b"new").await.expect("written");
    assert_eq!(sandbox.shell("cat /home/agent/odd/inner").await, "", "a write went through a second name");
    for path in
        ["relative", "/home/agent/../../etc/new", "/proc/self/mem", "/proc/sys/kernel/core_pattern", "/dev/null/x", "/"]
    {
        let result = sandbox.sandbox.write(path, 0o644, AGENT, b"escaped").await;
        assert!(matches!(result, Err(SandboxError::Refused { .. })), "{path}: {result:?}");
    }
    assert_eq!(sandbox.shell("cat /etc/passwd; ls -lA /etc").await, before, "what a link leads to was changed");
    sandbox.still_works().await;
}
