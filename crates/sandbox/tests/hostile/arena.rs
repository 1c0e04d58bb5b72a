//! Arena in which hostile programs meet a back end: sandboxes under the shipped profile with small limits, a neighbour that must not notice, and
//! the count of what is left at the end.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use palestra_sandbox::image::Image;
use palestra_sandbox::wire::User;
use palestra_sandbox::{Backend, Command, Output, Profile, Sandbox, Start};

use crate::programs::{self, Tries};
use crate::{census, engines};

/// Longest time that a neighbour may take for a command that does nothing, on a machine that hostile programs load.
const NEIGHBOUR_MAX: Duration = Duration::from_secs(3);
/// Memory of each sandbox.
pub(crate) const MEMORY: u64 = 256 << 20;
/// Disk of each sandbox.
pub(crate) const DISK: u64 = 96 << 20;
/// Inodes of that disk.
pub(crate) const INODES: u64 = 4_096;
/// Processes of each sandbox.
pub(crate) const PROCESSES: u64 = 64;
/// Output of each command that is kept.
pub(crate) const OUTPUT: u64 = 64 << 10;

/// The back end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Namespaces of this machine.
    Local,
    /// Containers of an engine.
    Docker,
}

/// A back end and what was started on it.
pub(crate) struct Arena {
    pub(crate) kind: Kind,
    backend: Arc<dyn Backend>,
    image: Arc<Image>,
    /// Where the back end keeps its files.
    pub(crate) folder: PathBuf,
    docker: Option<PathBuf>,
    started: Mutex<Vec<(String, Arc<Sandbox>)>>,
    count: AtomicU64,
    _folder: tempfile::TempDir,
}

/// Runs the body of a test against a back end, then counts what is left.
pub(crate) async fn on(kind: Kind, body: impl AsyncFn(&Arena)) {
    if !programs::can_build() {
        palestra_test_support::not_tried("gcc");
        return;
    }
    let folder = tempfile::Builder::new().prefix("palestra-hostile-").tempdir().expect("a folder");
    let Some(engine) = engines::engine(kind, folder.path()).await else { return };
    let path = folder.path().canonicalize().expect("a folder");
    let arena = Arena {
        kind,
        backend: engine.backend,
        image: engine.image,
        folder: path,
        docker: engine.socket,
        started: Mutex::default(),
        count: AtomicU64::new(0),
        _folder: folder,
    };
    // What a back end makes once (templates, skeletons) is there after the first start.
    arena.close_after(async |arena| drop(arena.sandbox().await)).await;
    let (files, descriptors) = (census::files(&arena.folder), census::descriptors());
    arena.close_after(body).await;
    let more: Vec<_> = census::files(&arena.folder).difference(&files).cloned().collect();
    assert!(more.is_empty(), "files are left: {more:?}");
    let now = census::descriptors();
    assert!(now <= descriptors + 2, "{now} descriptors are open, {descriptors} were");
}

impl Arena {
    async fn close_after(&self, body: impl AsyncFn(&Self)) {
        body(self).await;
        let started = std::mem::take(&mut *self.started.lock().expect("the list"));
        let ids: Vec<String> = started.iter().map(|(id, _)| id.clone()).collect();
        for (_, sandbox) in &started {
            sandbox.destroy(true).await;
        }
        drop(started);
        let left = census::left_after_all(&self.folder, &ids, self.docker.as_deref()).await;
        assert!(left.is_empty(), "left behind: {left:#?}");
    }

    /// The shipped profile for terminals with limits that a test reaches within seconds.
    pub(crate) fn profile() -> Profile {
        let profiles = palestra_sandbox::shipped::profiles().expect("profiles");
        let mut profile = Profile::clone(&profiles["terminal"]);
        profile.memory_bytes.value = MEMORY;
        profile.disk_bytes.value = DISK;
        profile.disk_inodes.value = INODES;
        profile.processes.value = PROCESSES;
        profile.output_bytes.value = OUTPUT;
        profile.open_files.value = 256;
        profile.file_bytes.value = 64 << 20;
        profile.cpu_thousandths.value = 1_000;
        profile.command_ms.value = 60_000;
        profile
    }

    /// A sandbox under [`Arena::profile`].
    pub(crate) async fn sandbox(&self) -> HostileSandbox {
        self.sandbox_under(Self::profile()).await
    }

    /// A sandbox under another profile.
    pub(crate) async fn sandbox_under(&self, profile: Profile) -> HostileSandbox {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let id = format!("hostile-{}-{number}", std::process::id());
        let user = profile.user.value;
        let start = Start { id: id.clone(), image: Arc::clone(&self.image), profile: Arc::new(profile), disk: None };
        let sandbox = Arc::new(self.backend.start(start).await.expect("a sandbox"));
        self.started.lock().expect("the list").push((id, Arc::clone(&sandbox)));
        let namespace = sandbox.exec(&Command::new(["readlink", "/proc/self/ns/pid"])).await.expect("runs");
        assert!(namespace.success(), "{namespace:?}");
        HostileSandbox { sandbox, user, namespace: namespace.text().trim().to_owned() }
    }

    /// A sandbox that answers all the time, or says that it did not.
    pub(crate) async fn neighbour(&self) -> Neighbour {
        let sandbox = self.sandbox().await;
        let stop = Arc::new(AtomicBool::new(false));
        let mut task = tokio::task::JoinSet::new();
        task.spawn({
            let (sandbox, stop) = (Arc::clone(&sandbox.sandbox), Arc::clone(&stop));
            async move {
                let mut longest = Duration::ZERO;
                let mut answers = 0_u64;
                while !stop.load(Ordering::Relaxed) {
                    let begun = Instant::now();
                    let output = sandbox.exec(&Command::new(["true"])).await.expect("the neighbour answers");
                    assert!(output.success(), "{output:?}");
                    longest = longest.max(begun.elapsed());
                    answers += 1;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                (answers, longest)
            }
        });
        Neighbour { stop, task }
    }
}

/// A sandbox that does little and must not notice what others do.
pub(crate) struct Neighbour {
    stop: Arc<AtomicBool>,
    /// Interval of its answers, and the longest of them. Ends with this.
    task: tokio::task::JoinSet<(u64, Duration)>,
}

impl Neighbour {
    /// That it answered all the time.
    pub(crate) async fn was_not_disturbed(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let (answers, longest) = self.task.join_next().await.expect("a task").expect("the neighbour went on");
        eprintln!("the neighbour answered {answers} times within {longest:?}");
        assert!(answers > 0, "the neighbour was never asked");
        assert!(longest < NEIGHBOUR_MAX, "the neighbour took {longest:?}");
    }
}

/// A sandbox that holds hostile programs.
pub(crate) struct HostileSandbox {
    pub(crate) sandbox: Arc<Sandbox>,
    user: User,
    namespace: String,
}

impl HostileSandbox {
    /// Puts a program into it; answers where.
    pub(crate) async fn put(&self, name: &str) -> String {
        let bytes = std::fs::read(programs::built(name)).expect("the program");
        let path = format!("/tmp/{name}");
        self.sandbox.write(&path, 0o755, self.user, &bytes).await.expect("written");
        path
    }

    /// Runs a program to its end.
    pub(crate) async fn run(&self, name: &str, arguments: &[&str]) -> Output {
        let path = self.put(name).await;
        self.exec(&path, arguments).await
    }

    /// Runs a program that is there to its end.
    pub(crate) async fn exec(&self, path: &str, arguments: &[&str]) -> Output {
        self.sandbox.exec(&Self::command(path, arguments)).await.expect("the sandbox answers")
    }

    /// A command of a path and arguments.
    pub(crate) fn command(path: &str, arguments: &[&str]) -> Command {
        Command::new(std::iter::once(path).chain(arguments.iter().copied()))
    }

    /// Runs a program and reads what came of its tries.
    pub(crate) async fn tries(&self, name: &str, arguments: &[&str]) -> Tries {
        let output = self.run(name, arguments).await;
        Self::read_tries(&output)
    }

    /// Tries of a program that ran.
    pub(crate) fn read_tries(output: &Output) -> Tries {
        let tries = Tries::of(&output.text());
        let expected = i32::from(!tries.escaped().is_empty());
        assert_eq!(output.exited.code, Some(expected), "{output:?}");
        tries
    }

    /// Runs a line of shell that must succeed; answers what it printed.
    pub(crate) async fn shell(&self, line: &str) -> String {
        let output = self.sandbox.exec(&Command::shell(line)).await.expect("the sandbox answers");
        assert!(output.success(), "{line}: {output:?}");
        output.text()
    }

    /// Processes of it as the host counts them, the agent included.
    pub(crate) fn processes_outside(&self) -> usize {
        census::processes_in(&self.namespace)
    }

    /// That it still works.
    pub(crate) async fn still_works(&self) {
        assert_eq!(self.shell("echo works").await, "works\n");
    }

    /// Bytes of a file inside.
    pub(crate) async fn size(&self, path: &str) -> u64 {
        self.sandbox.stat(path).await.expect("the sandbox answers").unwrap_or_else(|| panic!("no {path}")).size
    }

    /// Waits until a file inside has grown beyond a size.
    pub(crate) async fn grows_beyond(&self, path: &str, size: u64) {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let entry = self.sandbox.stat(path).await.expect("the sandbox answers");
            if entry.is_some_and(|entry| entry.size > size) {
                return;
            }
            assert!(Instant::now() < end, "{path} does not grow");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
