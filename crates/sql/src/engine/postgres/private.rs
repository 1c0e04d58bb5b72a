//! A PostgreSQL server of our own: made in a folder, reached by a socket in it alone, and ended with this process, however it ends.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::{Gid, Pid, Uid, User, chown};
use parking_lot::Mutex;

use super::wire::Address;
use crate::engine::EngineError;

/// The file of the socket; the number is PostgreSQL's usual port.
const SOCKET: &str = ".s.PGSQL.5432";
/// Bytes of the longest path of a socket.
const SOCKET_PATH_MAX: usize = 107;
/// Time that a server may take to end before it is killed.
const END_MAX: Duration = Duration::from_secs(10);
/// Bytes of address space that each of the server's processes may take, its shared memory included.
const PROCESS_MEMORY_MAX: u64 = 1 << 30;

/// Settings of the server. Nothing in it outlives this process, so nothing is made durable.
const SETTINGS: [&str; 31] = [
    "listen_addresses=",
    "port=5432",
    "unix_socket_permissions=0700",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "wal_level=minimal",
    "max_wal_senders=0",
    "max_wal_size=1GB",
    "min_wal_size=80MB",
    "checkpoint_timeout=1d",
    // Statistics and visibility change when we say so, never by themselves: plans stay the same.
    "autovacuum=off",
    "track_counts=off",
    "track_activities=off",
    "jit=off",
    "max_parallel_workers_per_gather=0",
    "max_parallel_maintenance_workers=0",
    "max_parallel_workers=0",
    "max_worker_processes=0",
    "synchronize_seqscans=off",
    "max_locks_per_transaction=512",
    "max_connections=400",
    "superuser_reserved_connections=10",
    "max_prepared_transactions=0",
    "shared_buffers=128MB",
    "temp_file_limit=256MB",
    "huge_pages=off",
    "lc_messages=C",
    "log_min_messages=fatal",
    "log_min_error_statement=panic",
    "bgwriter_lru_maxpages=0",
];

/// A running server. It ends when this is dropped, or with this process.
#[derive(Debug)]
pub(super) struct PrivateServer {
    folder: PathBuf,
    keeper: Mutex<Option<ServerThread>>,
}

/// The thread that started the server and sees it end.
#[derive(Debug)]
struct ServerThread {
    /// The server's process, until it has ended: its number may be somebody else's then.
    process: Arc<Mutex<Option<Pid>>>,
    /// Nothing comes from it; it breaks off when the thread ends.
    ended: mpsc::Receiver<()>,
    thread: JoinHandle<()>,
}

impl ServerThread {
    /// Ends the server at once (SIGQUIT); its processes end with it.
    fn stop(self) {
        self.signal(Signal::SIGQUIT);
        if self.ended.recv_timeout(END_MAX) == Err(mpsc::RecvTimeoutError::Timeout) {
            self.signal(Signal::SIGKILL);
        }
        if self.thread.join().is_err() {
            tracing::warn!("the thread that kept the private PostgreSQL server panicked");
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(process) = *self.process.lock()
            && let Err(error) = kill(process, signal)
        {
            tracing::warn!(%error, "the private PostgreSQL server cannot be told to end");
        }
    }
}

impl PrivateServer {
    /// Makes a server in a folder, which must be empty, absent, or left by an earlier one that is gone or forgotten: its processes
    /// are ended then and its files removed. Takes a second; waits in the calling thread.
    pub(super) fn start(folder: &Path, binaries: Option<&Path>) -> Result<Self, EngineError> {
        let programs = find_programs(binaries)?;
        let owner = Owner::current()?;
        let folder = owner.claim(folder)?;
        end_stale(&folder)?;
        wipe(&folder)
            .map_err(|error| missing(format!("{} cannot be emptied, check its owner: {error}", folder.display())))?;
        let data = folder.join("data");
        let mut make = owner.command(&programs.join("initdb"), None);
        make.arg("--pgdata").arg(&data).args(["--username=palestra", "--auth=trust", "--encoding=UTF8"]);
        let made = make.args(["--no-locale", "--no-sync"]).output();
        let made = made.map_err(|error| missing(format!("initdb cannot be run, check its installation: {error}")))?;
        if !made.status.success() {
            return Err(missing(format!(
                "initdb failed, check its installation: {}",
                String::from_utf8_lossy(&made.stderr).trim()
            )));
        }
        let mut run = owner.command(&programs.join("postgres"), Some(Signal::SIGQUIT));
        run.arg("-D").arg(&data).arg("-c").arg(format!("unix_socket_directories={}", folder.display()));
        for setting in SETTINGS {
            run.arg("-c").arg(setting);
        }
        let log = fs::File::create(folder.join("log")).map_err(|error| missing(error.to_string()))?;
        run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let server = Self { folder, keeper: Mutex::new(Some(keep(run)?)) };
        server.wait_until_ready()?;
        Ok(server)
    }

    /// Its address.
    pub(super) fn address(&self) -> Address {
        Address::Unix(self.folder.join(SOCKET))
    }

    /// True if its process is gone.
    pub(super) fn ended(&self) -> bool {
        self.keeper.lock().as_ref().is_none_or(|keeper| keeper.process.lock().is_none())
    }

    fn wait_until_ready(&self) -> Result<(), EngineError> {
        let began = Instant::now();
        loop {
            let status = fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap_or_default();
            if status.lines().nth(7).is_some_and(|line| line.trim() == "ready") {
                return Ok(());
            }
            if self.ended() || began.elapsed() > Duration::from_secs(60) {
                let mut log = String::new();
                let _ = fs::File::open(self.folder.join("log")).and_then(|mut file| file.read_to_string(&mut log));
                return Err(missing(format!(
                    "the private PostgreSQL server does not start, see its log: {}",
                    log.trim()
                )));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl PrivateServer {
    /// Ends it and removes its files; waits in the calling thread. Nothing happens the second time.
    pub(super) fn stop(&self) {
        let Some(keeper) = self.keeper.lock().take() else { return };
        keeper.stop();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Runs the server from a thread of its own, which waits for its end. The kernel ends the server when the thread that started it ends,
/// so this thread must be none that a runtime may give up.
fn keep(mut run: Command) -> Result<ServerThread, EngineError> {
    let (alive, ended) = mpsc::channel::<()>();
    let (started, start) = mpsc::channel();
    let process = Arc::new(Mutex::new(None));
    let known = Arc::clone(&process);
    let thread = std::thread::Builder::new().name("postgres".to_owned()).spawn(move || {
        let _alive = alive;
        let mut child = match run.spawn() {
            Ok(child) => child,
            Err(error) => {
                let _ = started.send(Err(error));
                return;
            }
        };
        let number = Pid::from_raw(child.id().cast_signed());
        *known.lock() = Some(number);
        let _ = started.send(Ok(()));
        // Its number stays its own until it is reaped, which nobody does while somebody may send it a signal.
        while waitid(Id::Pid(number), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) == Err(Errno::EINTR) {}
        *known.lock() = None;
        if let Err(error) = child.wait() {
            tracing::warn!(%error, "the private PostgreSQL server cannot be waited for");
        }
    });
    let thread = thread.map_err(|error| missing(error.to_string()))?;
    match start.recv() {
        Ok(Ok(())) => Ok(ServerThread { process, ended, thread }),
        Ok(Err(error)) => Err(missing(format!("postgres cannot be run, check its installation: {error}"))),
        Err(error) => Err(missing(error.to_string())),
    }
}

/// Ends a server that an earlier process left, and removes its files.
pub(super) fn sweep(folder: &Path) -> Result<(), EngineError> {
    // Who cannot run a server left none.
    let Ok(owner) = Owner::current() else { return Ok(()) };
    let slot = owner.slot(folder)?;
    if !owner.owns(&slot).unwrap_or(false) {
        return Ok(());
    }
    end_stale(&slot)?;
    fs::remove_dir_all(&slot)
        .map_err(|error| missing(format!("{} cannot be removed, check its owner: {error}", slot.display())))
}

/// Ends a server that an earlier process left in this folder, and processes that outlive their server.
fn end_stale(folder: &Path) -> Result<(), EngineError> {
    // The kernel knows it by this name.
    let Ok(data) = fs::canonicalize(folder.join("data")) else { return Ok(()) };
    let began = Instant::now();
    loop {
        let processes = serving(&data);
        let signal = if began.elapsed() > END_MAX { Signal::SIGKILL } else { Signal::SIGQUIT };
        for process in &processes {
            // One that ended since then needs no signal.
            let _ = kill(*process, signal);
        }
        match processes.first() {
            None => return Ok(()),
            Some(process) if began.elapsed() > 2 * END_MAX => {
                return Err(missing(format!("an earlier PostgreSQL server (process {process}) does not end: stop it")));
            }
            Some(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Processes of PostgreSQL that serve this data: the folder is the one in which each of them works.
fn serving(data: &Path) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let number = |entry: &fs::DirEntry| entry.file_name().to_str()?.parse().ok().map(Pid::from_raw);
    let works = |entry: &fs::DirEntry| fs::read_link(entry.path().join("cwd")).is_ok_and(|folder| folder == data);
    let serves = |entry: &fs::DirEntry| {
        fs::read_to_string(entry.path().join("comm")).is_ok_and(|name| name.trim_end() == "postgres")
    };
    processes.filter(|entry| works(entry) && serves(entry)).filter_map(|entry| number(&entry)).collect()
}

fn wipe(folder: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
    }
    Ok(())
}

/// Owner of the server process: ourselves, or where we are root another user, since PostgreSQL refuses to run as root.
struct Owner {
    user: Option<(Uid, Gid)>,
}

impl Owner {
    fn current() -> Result<Self, EngineError> {
        if !Uid::effective().is_root() {
            return Ok(Self { user: None });
        }
        for name in ["postgres", "nobody"] {
            if let Ok(Some(user)) = User::from_name(name) {
                return Ok(Self { user: Some((user.uid, user.gid)) });
            }
        }
        Err(missing(
            "PostgreSQL refuses to run as root, and there is no user `postgres` or `nobody`: make one".to_owned(),
        ))
    }

    /// Where the server of a folder is.
    fn slot(&self, folder: &Path) -> Result<PathBuf, EngineError> {
        let asked = std::path::absolute(folder).map_err(|error| missing(error.to_string()))?;
        if asked.as_os_str().len() + 1 + SOCKET.len() <= SOCKET_PATH_MAX && self.reaches(&asked) {
            return Ok(asked);
        }
        let name = crate::source::Source::script(asked.to_string_lossy()).digest;
        Ok(std::env::temp_dir().join(format!("palestra-postgres-{}", &name[..16])))
    }

    /// Checks whether a path is a folder of ours, and no link to one.
    fn owns(&self, slot: &Path) -> std::io::Result<bool> {
        let found = fs::symlink_metadata(slot)?;
        let owner = self.user.map_or(Uid::effective(), |(user, _)| user);
        Ok(found.is_dir() && (found.uid() == owner.as_raw() || found.uid() == Uid::effective().as_raw()))
    }

    /// The folder, made and ours alone. Where the owner cannot reach it, or its path is too long for a socket, another one of the same
    /// name for the same folder, below `/tmp`.
    fn claim(&self, folder: &Path) -> Result<PathBuf, EngineError> {
        let slot = self.slot(folder)?;
        let refused =
            |error: std::io::Error| missing(format!("{} cannot be used, check its owner: {error}", slot.display()));
        if let Some(parent) = slot.parent() {
            fs::create_dir_all(parent).map_err(refused)?;
        }
        match fs::DirBuilder::new().mode(0o700).create(&slot) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(refused(error)),
            _ => {}
        }
        if !self.owns(&slot).map_err(refused)? {
            return Err(missing(format!("{} belongs to somebody else: choose another folder", slot.display())));
        }
        if let Some((user, group)) = self.user {
            chown(&slot, Some(user), Some(group)).map_err(|error| refused(error.into()))?;
        }
        fs::set_permissions(&slot, fs::Permissions::from_mode(0o700)).map_err(refused)?;
        Ok(slot)
    }

    /// True if the owner can enter every folder above.
    fn reaches(&self, folder: &Path) -> bool {
        let Some((user, _)) = self.user else { return true };
        folder.ancestors().skip(1).all(|above| match fs::metadata(above) {
            Ok(found) => found.mode() & 0o001 != 0 || found.uid() == user.as_raw() && found.mode() & 0o100 != 0,
            // It is made with the usual rights when it is not there.
            Err(_) => true,
        })
    }

    /// A program run as the owner in a folder that the owner can enter; with a signal, one that gets it when we end and whose
    /// processes have bounded memory.
    fn command(&self, program: &Path, at_end: Option<Signal>) -> Command {
        let mut command = Command::new("setpriv");
        command.arg("--no-new-privs");
        if let Some((user, group)) = self.user {
            command.arg(format!("--reuid={user}")).arg(format!("--regid={group}")).arg("--clear-groups");
        }
        if let Some(signal) = at_end {
            let name = signal.as_str().trim_start_matches("SIG");
            command.arg(format!("--pdeathsig={name}")).args(["--", "prlimit"]);
            command.arg(format!("--as={PROCESS_MEMORY_MAX}:{PROCESS_MEMORY_MAX}")).arg("--core=0:0");
        }
        command.arg("--").arg(program).current_dir("/").env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C");
        command
    }
}

/// The folder of the newest installed version's programs.
pub(super) fn find_programs(binaries: Option<&Path>) -> Result<PathBuf, EngineError> {
    let complete = |folder: &PathBuf| folder.join("initdb").is_file() && folder.join("postgres").is_file();
    if let Some(folder) = binaries {
        let found = Some(folder.to_owned()).filter(complete);
        return found.ok_or_else(|| {
            missing(format!(
                "{} holds no initdb and postgres: install PostgreSQL's server programs, or name another folder",
                folder.display()
            ))
        });
    }
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let version = |path: &Path| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()).unwrap_or(0);
    let mut folders: Vec<PathBuf> = versions.map(|entry| entry.path()).collect();
    folders.sort_by_key(|path| std::cmp::Reverse(version(path)));
    let on_path =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>()).unwrap_or_default();
    let mut candidates = folders.into_iter().map(|folder| folder.join("bin")).chain(on_path);
    let none =
        || missing("PostgreSQL is not installed: apt-get install postgresql, or name a cluster by its URL".to_owned());
    candidates.find(complete).ok_or_else(none)
}

fn missing(words: String) -> EngineError {
    EngineError::Missing(words)
}
