//! Bubblewrap: makes the remaining namespaces and starts the agent in them.

use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use palestra_sandbox_agent::plan::{Ids, Plan};
use palestra_sandbox_agent::wire::CERTIFICATES_INSIDE;

use super::mounts::Layers;

/// Where names are looked up.
const RESOLVER: &str = "/etc/resolv.conf";
/// Certificates of authorities that this machine trusts.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Becomes bubblewrap. The agent is started through its open file, so that no folder of the host is seen inside.
pub(super) fn become_it(plan: &Plan, layers: &Layers) -> Result<std::convert::Infallible, String> {
    let mut command = Command::new(&plan.bwrap);
    command.env_clear();
    for namespace in ["pid", "ipc", "uts", "cgroup"] {
        command.arg(format!("--unshare-{namespace}"));
    }
    if !plan.network {
        command.arg("--unshare-net");
    }
    if let Ids::Single { uid, gid } = plan.ids
        && (uid, gid) != (0, 0)
    {
        command.args(["--unshare-user", "--uid", &uid.to_string(), "--gid", &gid.to_string()]);
    }
    command.args(["--as-pid-1", "--cap-add", "ALL", "--hostname", "sandbox", "--chdir", "/"]);
    command.arg("--bind").arg(&layers.merged).arg("/");
    for path in &plan.read_only {
        command.args(["--ro-bind", path, path]);
    }
    if plan.network {
        command.args(["--ro-bind", RESOLVER, RESOLVER, "--ro-bind-try", CERTIFICATES, CERTIFICATES_INSIDE]);
    }
    command.args(["--proc", "/proc", "--dev", "/dev", "--bind"]).arg(&layers.shared).arg("/dev/shm");
    command.args(["--remount-ro", "/dev", "--"]);
    command.arg(format!("/proc/self/fd/{}", inherited(layers.agent.as_fd())?)).arg("serve");
    command.arg("--upper-fd").arg(inherited(layers.upper.as_fd())?);
    for lower in &layers.lowers {
        command.arg("--lower-fd").arg(inherited(lower.as_fd())?);
    }
    Err(format!("{}: {}", plan.bwrap, command.exec()))
}

/// The number under which the program that is started finds this.
fn inherited(fd: BorrowedFd<'_>) -> Result<String, String> {
    fcntl(fd, FcntlArg::F_SETFD(FdFlag::empty())).map_err(|error| format!("handing on a file: {error}"))?;
    Ok(fd.as_raw_fd().to_string())
}
