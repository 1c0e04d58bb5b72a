//! A private PostgreSQL, started by `scripts/postgres`, and the processor time of all its processes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::process::cpu_of;

/// A running database; stopped and removed when dropped.
pub(crate) struct Postgres {
    folder: TempDir,
    url: String,
    postmaster: Pid,
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/postgres")
}

impl Postgres {
    /// Starts one; `None` with the reason where that is not possible, for instance because it is not installed.
    pub(crate) fn start() -> Result<Self, String> {
        Self::try_start().map_err(|error| format!("{error:#}"))
    }

    fn try_start() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("palestra-load-").tempdir()?;
        // PostgreSQL runs as an unprivileged user, who has to reach its folder.
        fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let place = folder.path().join("postgres");
        let started = Command::new(script()).arg("start").arg(&place).output()?;
        ensure!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr).trim());
        let output = String::from_utf8(started.stdout)?;
        let url = output.lines().last().context("PostgreSQL has no address")?.to_owned();
        let lock = fs::read_to_string(place.join("data/postmaster.pid"))?;
        let postmaster = lock.lines().next().and_then(|pid| pid.trim().parse().ok()).map(Pid::from_raw);
        Ok(Self { postmaster: postmaster.context("PostgreSQL has no process")?, folder, url })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Processor time of each of its processes.
    ///
    /// # Errors
    /// When it is gone.
    pub(crate) fn cpu(&self) -> anyhow::Result<Times> {
        let mut times = BTreeMap::from([(self.postmaster.as_raw(), cpu_of(self.postmaster)?)]);
        for entry in fs::read_dir("/proc")? {
            let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            // A process may end while this looks at it.
            let parent = fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|stat| parent(&stat));
            if parent == Some(self.postmaster.as_raw())
                && let Ok(time) = cpu_of(Pid::from_raw(pid))
            {
                times.insert(pid, time);
            }
        }
        Ok(Times(times))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The folder goes in any case.
        let _ = Command::new(script()).arg("stop").arg(self.folder.path().join("postgres")).output();
    }
}

/// Processor time by process.
pub(crate) struct Times(BTreeMap<i32, Duration>);

impl Times {
    /// Usage since `before`, by processes that are there now.
    pub(crate) fn since(&self, before: &Self) -> Duration {
        let used = |(pid, time): (&i32, &Duration)| time.saturating_sub(before.0.get(pid).copied().unwrap_or_default());
        self.0.iter().map(used).sum()
    }
}

/// The parent in a line of `/proc/PID/stat`; the name before it may hold blanks and parentheses.
fn parent(stat: &str) -> Option<i32> {
    stat.rsplit_once(") ")?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_read_whatever_the_name() {
        assert_eq!(parent("12 (postgres: a ) b) S 7 12 12 0"), Some(7));
        assert_eq!(parent("nonsense"), None);
    }

    #[test]
    fn processes_that_came_in_between_count_in_full() {
        let times =
            |pairs: &[(i32, u64)]| Times(pairs.iter().map(|(pid, ms)| (*pid, Duration::from_millis(*ms))).collect());
        assert_eq!(times(&[(1, 15), (3, 4)]).since(&times(&[(1, 10), (2, 99)])), Duration::from_millis(9));
    }
}
