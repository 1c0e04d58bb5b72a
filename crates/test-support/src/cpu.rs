//! CPU time of the processes that a test started: a bound on it holds on a busy machine as well, where one on the clock does not.

use std::fs;
use std::time::Duration;

/// Ticks of the kernel's clock in a second, as `/proc` counts them on every architecture.
const TICKS: u64 = 100;
/// Place of the user's time among the fields behind the name; the system's and those of children that ended follow.
const USER_TIME: usize = 11;

/// CPU time of all children of this process with theirs, also of those that ended and were waited for.
#[must_use]
pub fn of_children() -> Duration {
    let own = times("self");
    let ended = own[2] + own[3];
    let living: u64 = children("self").iter().map(|child| of_tree(child)).sum();
    Duration::from_millis((ended + living) * 1_000 / TICKS)
}

/// CPU time of a process with all its children.
#[must_use]
pub fn of_process(id: u32) -> Duration {
    Duration::from_millis(of_tree(&id.to_string()) * 1_000 / TICKS)
}

fn of_tree(process: &str) -> u64 {
    let own: u64 = times(process).iter().sum();
    own + children(process).iter().map(|child| of_tree(child)).sum::<u64>()
}

fn children(process: &str) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let told = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    told.flat_map(|children| children.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Times of a process: the user's, the system's, and both of its children that ended. A process that is gone has none.
fn times(process: &str) -> [u64; 4] {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name before them may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, behind)| behind).split_whitespace().collect();
    std::array::from_fn(|at| fields.get(USER_TIME + at).and_then(|field| field.parse().ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn time_of_children_is_counted_while_they_live_and_afterwards() {
        let before = of_children();
        let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).stdout(Stdio::null()).spawn().unwrap();
        while of_children() < before + Duration::from_millis(100) {
            std::thread::yield_now();
        }
        let living = of_children();
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert!(of_children() >= living);
    }
}
