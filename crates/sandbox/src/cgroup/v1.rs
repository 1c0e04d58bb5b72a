//! Control groups of the first version: one hierarchy for each kind of limit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{ALL, Bounded, Setting, Settings};
use crate::profile::Profile;

const PERIOD_US: u64 = 100_000;
/// One part in so many of the memory is what may be in flight on connections, beside it.
const CONNECTIONS: u64 = 8;
/// A process of one thread that moves itself as a thread waits for nobody; as a process it would wait for all processors.
pub(super) const JOINS: &str = "tasks";

/// The hierarchies that this server can write.
#[derive(Debug)]
pub(super) struct Hierarchies {
    memory: Option<PathBuf>,
    pids: Option<PathBuf>,
    cpu: Option<PathBuf>,
    /// `palestra/<server>`.
    server: PathBuf,
}

impl Hierarchies {
    /// Finds them among the mounts, and makes this server's folders.
    ///
    /// # Errors
    /// In words, where none can be written.
    pub(super) fn find(mounts: &str, server: &Path) -> Result<Self, String> {
        let mut refused = "none is mounted".to_owned();
        let mut find = |controller: &str| {
            let mount = mounts.lines().find_map(|line| mounted(line, controller))?;
            match std::fs::create_dir_all(mount.join(server)) {
                Ok(()) => Some(mount),
                Err(error) => {
                    refused = format!("{}: {error}", mount.display());
                    None
                }
            }
        };
        let found = Self { memory: find("memory"), pids: find("pids"), cpu: find("cpu"), server: server.to_path_buf() };
        if found.bounded() == Bounded::default() { Err(refused) } else { Ok(found) }
    }

    pub(super) fn bounded(&self) -> Bounded {
        Bounded { memory: self.memory.is_some(), processes: self.pids.is_some(), cpu: self.cpu.is_some() }
    }

    pub(super) fn settings(&self, profile: &Profile) -> Settings {
        let memory = profile.memory_bytes.value.to_string();
        let connections = (profile.memory_bytes.value / CONNECTIONS).to_string();
        let limits = [
            (
                &self.memory,
                vec![
                    Setting::needed("memory.limit_in_bytes", memory.clone()),
                    // Memory and swap together, where swap is counted at all: no swap.
                    Setting::optional("memory.memsw.limit_in_bytes", memory),
                    // What connections have in flight counts apart from the rest in this version, and not at all without a limit.
                    Setting::optional("memory.kmem.tcp.limit_in_bytes", connections),
                ],
            ),
            (
                &self.pids,
                vec![Setting::needed("pids.max", (profile.processes.value + super::OWN_PROCESSES).to_string())],
            ),
            (
                &self.cpu,
                vec![
                    Setting::needed("cpu.cfs_period_us", PERIOD_US.to_string()),
                    Setting::needed(
                        "cpu.cfs_quota_us",
                        (profile.cpu_thousandths.value * PERIOD_US / 1_000).to_string(),
                    ),
                ],
            ),
        ];
        // Hierarchies that are mounted together are one folder.
        let mut settings: Settings = Vec::new();
        for (mount, files) in limits {
            let Some(folder) = mount.as_ref().map(|mount| mount.join(&self.server)) else { continue };
            match settings.iter_mut().find(|(other, _)| *other == folder) {
                Some((_, more)) => more.extend(files),
                None => settings.push((folder, files)),
            }
        }
        settings
    }

    /// The folders of all servers.
    pub(super) fn tops(&self) -> Vec<PathBuf> {
        self.mounts().map(|mount| mount.join(ALL)).collect()
    }

    /// The folders of this server.
    pub(super) fn servers(&self) -> Vec<PathBuf> {
        self.mounts().map(|mount| mount.join(&self.server)).collect()
    }

    fn mounts(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.memory, &self.pids, &self.cpu].into_iter().flatten().collect::<BTreeSet<_>>().into_iter()
    }
}

/// Where a line of `/proc/self/mountinfo` says that a controller is mounted.
fn mounted(line: &str, controller: &str) -> Option<PathBuf> {
    let (before, after) = line.split_once(" - ")?;
    let mut after = after.split(' ');
    let kind = after.next()?;
    let options = after.nth(1)?;
    let holds = kind == "cgroup" && options.split(',').any(|option| option == controller);
    holds.then(|| before.split(' ').nth(4).map(PathBuf::from)).flatten()
}
