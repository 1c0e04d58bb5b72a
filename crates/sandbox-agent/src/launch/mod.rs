//! The launch mode of the local back end: joins control groups, makes a mount namespace in which the disk and the overlay of one
//! sandbox are mounted, makes a user namespace, and becomes bubblewrap, which makes the rest and starts the agent. Since everything
//! is mounted in a namespace of its own, nothing of it is left when the last process is gone.

mod bubblewrap;
mod disk;
mod ids;
mod mounts;

use std::ffi::OsString;
use std::fs;

use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, setrlimit};
use palestra_sandbox_agent::plan::{Ids, Plan};

/// Carries out the [`Plan`] that is the one argument, as JSON; returns only when it cannot. With `probe` for an argument, tries out
/// whether this user can make the namespaces and mounts of a sandbox at all.
///
/// # Errors
/// In words: what was refused.
pub(crate) fn run(arguments: &[OsString]) -> Result<(), String> {
    match arguments {
        [probed] if probed == "probe" => probe(),
        [plan] => {
            let plan = serde_json::from_slice(plan.as_encoded_bytes());
            launch(&plan.map_err(|error| format!("the plan cannot be read: {error}"))?).map(|never| match never {})
        }
        _ => Err("launch takes one argument: a plan".to_owned()),
    }
}

fn probe() -> Result<(), String> {
    if nix::unistd::geteuid().is_root() {
        disk::probe()?;
        unshare(CloneFlags::CLONE_NEWNS).map_err(|error| format!("a mount namespace: {error}"))?;
    } else {
        ids::enter_single()?;
    }
    mounts::keep_private()?;
    mounts::place().map(|_| ())
}

fn launch(plan: &Plan) -> Result<std::convert::Infallible, String> {
    for file in &plan.cgroup_files {
        fs::write(file, "0").map_err(|error| format!("joining {file}: {error}"))?;
    }
    std::env::set_current_dir("/").map_err(|error| format!("entering /: {error}"))?;
    match plan.ids {
        Ids::Range { .. } => {
            unshare(CloneFlags::CLONE_NEWNS).map_err(|error| format!("a mount namespace: {error}"))?;
        }
        Ids::Single { .. } => ids::enter_single()?,
    }
    mounts::keep_private()?;
    let layers = mounts::mount(plan)?;
    if let Ids::Range { first, count } = plan.ids {
        ids::enter_range(first, count)?;
    }
    limit(Resource::RLIMIT_NPROC, plan.processes_max)?;
    limit(Resource::RLIMIT_DATA, plan.data_bytes_max)?;
    bubblewrap::become_it(plan, &layers)
}

fn limit(resource: Resource, value: Option<u64>) -> Result<(), String> {
    match value {
        Some(value) => {
            setrlimit(resource, value, value).map_err(|error| format!("limiting {resource:?} to {value}: {error}"))
        }
        None => Ok(()),
    }
}
