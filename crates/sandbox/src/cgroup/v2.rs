//! Control groups of the second version: one hierarchy, of which a part must have been handed to this server.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{ALL, Bounded, Setting, Settings};
use crate::profile::Profile;

const PERIOD_US: u64 = 100_000;
pub(super) const JOINS: &str = "cgroup.procs";
const CONTROLLERS: [&str; 3] = ["memory", "pids", "cpu"];

/// The part of the hierarchy that this server can write.
#[derive(Debug)]
pub(super) struct Tree {
    base: PathBuf,
    /// `palestra/<server>`.
    server: PathBuf,
    controllers: BTreeSet<String>,
}

impl Tree {
    /// Finds the server's own group, or else the whole hierarchy, and makes this server's folder in it.
    ///
    /// # Errors
    /// In words, where neither can be written or neither holds a controller.
    pub(super) fn find(mounts: &str, own: &str, server: &Path) -> Result<Self, String> {
        let mount = mounts.lines().find_map(mounted).ok_or("it is not mounted")?;
        let own = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
        let own = mount.join(own.trim_start_matches('/'));
        let mut refused = String::new();
        for base in [own, mount] {
            match Self::within(&base, server) {
                Ok(tree) => return Ok(tree),
                Err(why) => refused = why,
            }
        }
        Err(refused)
    }

    fn within(base: &Path, server: &Path) -> Result<Self, String> {
        let said = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
        let file = base.join("cgroup.controllers");
        let there = std::fs::read_to_string(&file).map_err(|error| said(&file, error))?;
        let wanted: Vec<&str> =
            CONTROLLERS.into_iter().filter(|name| there.split_whitespace().any(|other| other == *name)).collect();
        if wanted.is_empty() {
            return Err(format!("{} hands on neither memory nor pids nor cpu", base.display()));
        }
        let folder = base.join(server);
        std::fs::create_dir_all(&folder).map_err(|error| said(&folder, error))?;
        for level in [base, &base.join(ALL), &folder] {
            hand_on(level, &wanted)?;
        }
        let controllers = wanted.into_iter().map(ToOwned::to_owned).collect();
        Ok(Self { base: base.to_path_buf(), server: server.to_path_buf(), controllers })
    }

    pub(super) fn bounded(&self) -> Bounded {
        let has = |name: &str| self.controllers.contains(name);
        Bounded { memory: has("memory"), processes: has("pids"), cpu: has("cpu") }
    }

    pub(super) fn settings(&self, profile: &Profile) -> Settings {
        let bounded = self.bounded();
        let mut files = Vec::new();
        if bounded.memory {
            files.push(Setting::needed("memory.max", profile.memory_bytes.value.to_string()));
            files.push(Setting::optional("memory.swap.max", "0"));
        }
        if bounded.processes {
            files.push(Setting::needed("pids.max", (profile.processes.value + super::OWN_PROCESSES).to_string()));
        }
        if bounded.cpu {
            let quota = profile.cpu_thousandths.value * PERIOD_US / 1_000;
            files.push(Setting::needed("cpu.max", format!("{quota} {PERIOD_US}")));
        }
        vec![(self.server(), files)]
    }

    /// The folder of all servers.
    pub(super) fn top(&self) -> PathBuf {
        self.base.join(ALL)
    }

    /// The folder of this server.
    pub(super) fn server(&self) -> PathBuf {
        self.base.join(&self.server)
    }
}

/// Gives the groups below `folder` their controllers. A group that holds processes cannot, so its processes step aside first.
fn hand_on(folder: &Path, controllers: &[&str]) -> Result<(), String> {
    let file = folder.join("cgroup.subtree_control");
    let words = controllers.iter().map(|name| format!("+{name}")).collect::<Vec<_>>().join(" ");
    let enabled = std::fs::write(&file, &words).or_else(|first| {
        if first.raw_os_error() != Some(nix::libc::EBUSY) {
            return Err(first);
        }
        let build_folder = folder.join("server");
        std::fs::create_dir_all(&build_folder)?;
        for process in std::fs::read_to_string(folder.join("cgroup.procs"))?.lines() {
            std::fs::write(build_folder.join("cgroup.procs"), process)?;
        }
        std::fs::write(&file, &words)
    });
    enabled.map_err(|error| format!("{}: {error}", file.display()))
}

fn mounted(line: &str) -> Option<PathBuf> {
    let (before, after) = line.split_once(" - ")?;
    after.starts_with("cgroup2 ").then(|| before.split(' ').nth(4).map(PathBuf::from)).flatten()
}
