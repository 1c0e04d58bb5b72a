//! Census of the host, from outside of every sandbox: processes, mounts, loop devices, control groups, containers, files and
//! descriptors.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Processes whose process namespace has this number, as `readlink /proc/self/ns/pid` gives it inside.
pub(crate) fn processes_in(namespace: &str) -> usize {
    let wanted = Path::new(namespace);
    each_process().filter(|path| std::fs::read_link(path.join("ns/pid")).is_ok_and(|link| link == wanted)).count()
}

fn each_process() -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir("/proc").expect("/proc").filter_map(Result::ok).map(|entry| entry.path());
    entries.filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Everything on the host that belongs to sandboxes of these ids, or lies in this folder without being a file.
pub(crate) fn left(folder: &Path, ids: &[String], docker: Option<&Path>) -> Vec<String> {
    let folder = folder.to_string_lossy();
    let mut found = BTreeSet::new();
    for process in each_process().chain([PathBuf::from("/proc/self")]) {
        let mounts = std::fs::read_to_string(process.join("mountinfo")).unwrap_or_default();
        let ours = mounts.lines().filter(|line| line.contains(&*folder));
        found.extend(ours.map(|line| format!("a mount in {}: {line}", process.display())));
        let command = std::fs::read(process.join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        let own = process.file_name().is_some_and(|name| name.to_string_lossy() == std::process::id().to_string());
        if !own && (command.contains(&*folder) || ids.iter().any(|id| command.contains(id))) {
            found.insert(format!("a process: {command}"));
        }
    }
    for device in std::fs::read_dir("/sys/block").into_iter().flatten().filter_map(Result::ok) {
        let backing = std::fs::read_to_string(device.path().join("loop/backing_file")).unwrap_or_default();
        if backing.contains(&*folder) {
            found.insert(format!("a loop device: {} of {backing}", device.path().display()));
        }
    }
    groups(Path::new("/sys/fs/cgroup"), ids, 6, &mut found);
    if let Some(socket) = docker {
        let containers = containers(socket);
        found.extend(
            ids.iter().filter(|id| containers.contains(&format!("\"{id}\""))).map(|id| format!("a container of {id}")),
        );
    }
    found.into_iter().collect()
}

/// The same, once what is being taken down had time to go; what is still there after five seconds stays.
pub(crate) async fn left_after_all(folder: &Path, ids: &[String], docker: Option<&Path>) -> Vec<String> {
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        let found = left(folder, ids, docker);
        if found.is_empty() || Instant::now() > end {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn groups(folder: &Path, ids: &[String], depth: usize, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        if ids.iter().any(|id| name.contains(id)) {
            found.insert(format!("a control group: {}", entry.path().display()));
        }
        if depth > 0 {
            groups(&entry.path(), ids, depth - 1, found);
        }
    }
}

/// All containers of an engine, as it answers.
fn containers(socket: &Path) -> String {
    let mut stream = UnixStream::connect(socket).expect("the engine");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
    stream.write_all(b"GET /containers/json?all=1 HTTP/1.0\r\nHost: engine\r\n\r\n").expect("asked");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("answered");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.starts_with("HTTP/1.0 200") || answer.starts_with("HTTP/1.1 200"), "{answer}");
    answer
}

/// Files below a folder, links not followed.
pub(crate) fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
            found.insert(entry.path());
        }
    }
    found
}

/// Bytes on the disk that the files below a folder take.
pub(crate) fn bytes_on_disk(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    files(folder).iter().filter_map(|path| path.symlink_metadata().ok()).map(|entry| entry.blocks() * 512).sum()
}

/// Open descriptors of this process.
pub(crate) fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("descriptors").count()
}

/// Most bytes of memory that this process ever held, and holds now.
pub(crate) fn memory() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).expect("a line");
        line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok()).expect("a number") * 1024
    };
    (line("VmHWM:"), line("VmRSS:"))
}
