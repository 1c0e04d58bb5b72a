//! Control groups: what bounds the memory, the processes and the processor time of a whole sandbox, and finds all of its processes.
//! Every server has a folder `palestra/<server>` in each hierarchy, and every sandbox one below it.

mod memory;
mod v1;
mod v2;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::incarnation::Incarnation;
use crate::isolation::Isolation;
use crate::profile::Profile;

/// The folder of all servers.
const ALL: &str = "palestra";
/// Processes of the back end that count with those of a sandbox: bubblewrap and the agent's threads.
const OWN_PROCESSES: u64 = 8;
/// Longest wait for killed processes to be gone.
const KILL_MAX: Duration = Duration::from_secs(10);
/// Interval of the polls for it: control groups of the first version tell nobody.
const KILL_POLL: Duration = Duration::from_millis(2);

/// The control groups of this server.
#[derive(Debug)]
pub(crate) struct Cgroups {
    kind: Kind,
    incarnation: Incarnation,
}

#[derive(Debug)]
enum Kind {
    V1(v1::Hierarchies),
    V2(v2::Tree),
    /// Reason why there are none.
    None(String),
}

/// The control groups of one sandbox. Nothing is removed when this is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    folders: Vec<PathBuf>,
    /// The file of each folder into which a process writes itself.
    joins: &'static str,
}

/// Limits in force for a sandbox here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Bounded {
    pub(crate) memory: bool,
    pub(crate) processes: bool,
    pub(crate) cpu: bool,
}

impl Cgroups {
    /// Finds out by making the folders of this server.
    pub(crate) fn find(incarnation: Incarnation) -> Self {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let server = Path::new(ALL).join(incarnation.to_string());
        let kind = match v1::Hierarchies::find(&mounts, &server) {
            Ok(found) => Kind::V1(found),
            Err(first) => match v2::Tree::find(&mounts, &own, &server) {
                Ok(found) => Kind::V2(found),
                Err(second) => Kind::None(format!("version 1: {first}; version 2: {second}")),
            },
        };
        Self { kind, incarnation }
    }

    /// The limits in force.
    pub(crate) fn bounded(&self) -> Bounded {
        match &self.kind {
            Kind::V1(hierarchies) => hierarchies.bounded(),
            Kind::V2(tree) => tree.bounded(),
            Kind::None(_) => Bounded::default(),
        }
    }

    /// Says so.
    pub(crate) fn describe(&self, isolation: &mut Isolation) {
        let Bounded { memory, processes, cpu } = self.bounded();
        let by = match &self.kind {
            Kind::V1(_) => "control group, version 1".to_owned(),
            Kind::V2(_) => "control group, version 2".to_owned(),
            Kind::None(why) => format!("no control group can be written ({why})"),
        };
        let lines = [
            ("memory", memory, "a limit on the data of each process"),
            ("processes", processes, "a limit on the processes of each user"),
            ("cpu", cpu, "nothing"),
        ];
        for (line, bounded, instead) in lines {
            if bounded {
                isolation.enforced(line, by.clone());
            } else {
                isolation.lacking(line, format!("{instead}: {by}"));
            }
        }
    }

    /// Makes the groups of a sandbox.
    ///
    /// # Errors
    /// When a limit cannot be set; then nothing is left.
    pub(crate) fn make(&self, id: &str, profile: &Profile) -> io::Result<Group> {
        let (wanted, joins) = match &self.kind {
            Kind::V1(hierarchies) => (hierarchies.settings(profile), v1::JOINS),
            Kind::V2(tree) => (tree.settings(profile), v2::JOINS),
            Kind::None(_) => (Vec::new(), v2::JOINS),
        };
        let mut group = Group { folders: Vec::new(), joins };
        for (server, files) in wanted {
            let folder = server.join(id);
            let made = std::fs::create_dir(&folder).and_then(|()| {
                group.folders.push(folder.clone());
                files.iter().try_for_each(|setting| setting.write(&folder))
            });
            if let Err(error) = made {
                group.remove();
                return Err(io::Error::new(error.kind(), format!("{}: {error}", folder.display())));
            }
        }
        Ok(group)
    }

    /// Says which of this server's groups is gone, if one is.
    pub(crate) fn fault(&self) -> Option<String> {
        let servers = match &self.kind {
            Kind::V1(hierarchies) => hierarchies.servers(),
            Kind::V2(tree) => vec![tree.server()],
            Kind::None(_) => Vec::new(),
        };
        let gone = servers.iter().find(|server| !server.is_dir());
        gone.map(|server| format!("the control group {} of this server is gone: restart it", server.display()))
    }

    /// Ends what servers left that no longer run, and removes their groups. Answers how many sandboxes that were.
    pub(crate) fn sweep(&self) -> u64 {
        let tops: Vec<PathBuf> = match &self.kind {
            Kind::V1(hierarchies) => hierarchies.tops(),
            Kind::V2(tree) => vec![tree.top()],
            Kind::None(_) => Vec::new(),
        };
        let mut ended = std::collections::BTreeSet::new();
        for server in tops.iter().flat_map(|top| folders(top)) {
            let left = server.file_name().and_then(|name| name.to_str()).and_then(Incarnation::parse);
            if !left.is_some_and(|left| left.ended(&self.incarnation)) {
                continue;
            }
            for sandbox in folders(&server) {
                let group = Group { folders: vec![sandbox.clone()], joins: v2::JOINS };
                group.kill();
                group.remove();
                ended.insert(sandbox.file_name().map(ToOwned::to_owned));
            }
            remove(&server);
        }
        ended.len() as u64
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        let servers = match &self.kind {
            Kind::V1(hierarchies) => hierarchies.servers(),
            Kind::V2(tree) => vec![tree.server()],
            Kind::None(_) => Vec::new(),
        };
        servers.iter().for_each(|server| remove(server));
    }
}

impl Group {
    /// The files into which a process writes itself.
    pub(crate) fn files(&self) -> Vec<String> {
        self.folders.iter().map(|folder| folder.join(self.joins).display().to_string()).collect()
    }

    /// Kills all processes, and waits for their end.
    pub(crate) fn kill(&self) {
        let until = Instant::now() + KILL_MAX;
        for folder in &self.folders {
            let file = folder.join("cgroup.procs");
            loop {
                let processes = std::fs::read_to_string(&file).unwrap_or_default();
                let mut processes =
                    processes.lines().filter_map(|line| line.parse().ok()).filter(|id| *id > 0).peekable();
                if processes.peek().is_none() || Instant::now() > until {
                    break;
                }
                for process in processes {
                    let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
                }
                std::thread::sleep(KILL_POLL);
            }
        }
    }

    /// Evidence that the kernel ended processes because the memory of the group had reached its limit; `None` where that is nothing.
    pub(crate) fn ran_out_of_memory(&self) -> Option<String> {
        memory::ran_out(&self.folders)
    }

    /// Removes the folders; there must be no process in them.
    pub(crate) fn remove(&self) {
        self.folders.iter().for_each(|folder| remove(folder));
    }
}

/// One limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    file: &'static str,
    value: String,
    /// True if a kernel may lack the file.
    optional: bool,
}

impl Setting {
    fn needed(file: &'static str, value: impl Into<String>) -> Self {
        Self { file, value: value.into(), optional: false }
    }

    fn optional(file: &'static str, value: impl Into<String>) -> Self {
        Self { file, value: value.into(), optional: true }
    }

    fn write(&self, folder: &Path) -> io::Result<()> {
        let path = folder.join(self.file);
        if self.optional && !path.exists() {
            return Ok(());
        }
        std::fs::write(&path, &self.value)
            .map_err(|error| io::Error::new(error.kind(), format!("{} in {}: {error}", self.value, self.file)))
    }
}

/// A folder for each server, in which the sandboxes of the profile are bounded by the files.
type Settings = Vec<(PathBuf, Vec<Setting>)>;

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// The kernel lets go of a group a little later than of its last process.
fn remove(folder: &Path) {
    let until = Instant::now() + KILL_MAX;
    while let Err(error) = std::fs::remove_dir(folder) {
        if error.kind() != io::ErrorKind::ResourceBusy || Instant::now() > until {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(folder = %folder.display(), %error, "a control group cannot be removed");
            }
            return;
        }
        std::thread::sleep(KILL_POLL);
    }
}

#[cfg(test)]
mod tests;
