//! The mounts of a sandbox, in a mount namespace of its own: its disk, and its overlay of image and disk.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::libc;
use nix::mount::{MsFlags, mount as mount_at};
use palestra_sandbox_agent::plan::{Ids, Plan, Upper};

/// Folders that every machine has and everybody can reach. One of them is covered, for this sandbox alone.
const PLACES: [&str; 5] = ["/mnt", "/srv", "/media", "/opt", "/tmp"];

/// Files of shared memory.
const SHARED_FILES: u64 = 4_096;

/// Mounted layers.
pub(super) struct Layers {
    /// Where the root file system is.
    pub(super) merged: PathBuf,
    /// The files of shared memory.
    pub(super) shared: PathBuf,
    /// The folder that takes changes.
    pub(super) upper: OwnedFd,
    /// The folders of the image.
    pub(super) lowers: Vec<OwnedFd>,
    /// The agent's program.
    pub(super) agent: OwnedFd,
}

/// Lets no mount of this namespace be seen in another.
pub(super) fn keep_private() -> Result<(), String> {
    mount_at(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .map_err(|error| format!("making mounts private: {error}"))
}

/// An empty folder that everybody can reach, whose path holds nothing that somebody wrote.
pub(super) fn place() -> Result<PathBuf, String> {
    let place = PLACES
        .iter()
        .map(Path::new)
        .find(|path| path.is_dir())
        .ok_or("this machine has none of the folders to mount at")?;
    mount_at(Some("palestra"), place, Some("tmpfs"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV, Some("mode=755,size=64k"))
        .map_err(|error| format!("mounting at {}: {error}", place.display()))?;
    Ok(place.to_path_buf())
}

/// Mounts disk and overlay.
pub(super) fn mount(plan: &Plan) -> Result<Layers, String> {
    // Opened before anything is covered, but in this namespace already, since mounts of another cannot be overlaid.
    let lowers = plan.lowers.iter().map(|path| folder(Path::new(path))).collect::<Result<Vec<_>, _>>()?;
    let agent = OwnedFd::from(File::open(&plan.agent).map_err(|error| format!("{}: {error}", plan.agent))?);
    let (disk, covered) = match &plan.upper {
        Upper::Disk(path) => {
            let file =
                OpenOptions::new().read(true).write(true).open(path).map_err(|error| format!("the disk: {error}"))?;
            let (device, device_path) = super::disk::attach(&file)?;
            let place = place()?;
            let at = made(&place.join("disk"))?;
            let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOATIME;
            // The disk is to outlive this process and the server, not a failure of power: so nothing waits for the real disk.
            mount_at(Some(&device_path), &at, Some("ext4"), flags, Some("noinit_itable,barrier=0"))
                .map_err(|error| format!("mounting the disk: {error}"))?;
            drop(device);
            (folder(&at)?, place)
        }
        Upper::Folder(path) => (folder(Path::new(path))?, place()?),
    };
    let beneath = |name: &str| through(&disk).join(name);
    let upper = made(&beneath("upper"))?;
    let work = made(&beneath("work"))?;
    if let Ids::Range { first, .. } = plan.ids {
        for path in [&upper, &work] {
            std::os::unix::fs::chown(path, Some(first), Some(first))
                .map_err(|error| format!("the upper layer: {error}"))?;
        }
    }
    let merged = made(&covered.join("root"))?;
    let lower_paths: Vec<String> = lowers.iter().map(|fd| through(fd).display().to_string()).collect();
    let options =
        format!("userxattr,lowerdir={},upperdir={},workdir={}", lower_paths.join(":"), upper.display(), work.display());
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOATIME;
    mount_at(Some("overlay"), &merged, Some("overlay"), flags, Some(options.as_str()))
        .map_err(|error| format!("mounting the overlay: {error}"))?;
    let shared = shared_memory(&covered, plan)?;
    Ok(Layers { merged, shared, upper: folder(&upper)?, lowers, agent })
}

/// Mounts the file system of shared memory. Its files are bounded too: each takes memory of the kernel, though it holds nothing, and
/// goes with no process.
fn shared_memory(covered: &Path, plan: &Plan) -> Result<PathBuf, String> {
    let at = made(&covered.join("shared"))?;
    let first = if let Ids::Range { first, .. } = plan.ids { first } else { 0 };
    let options =
        format!("mode=1777,size={},nr_inodes={SHARED_FILES},uid={first},gid={first}", plan.shared_memory_bytes);
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount_at(Some("palestra"), &at, Some("tmpfs"), flags, Some(options.as_str()))
        .map_err(|error| format!("mounting shared memory: {error}"))?;
    Ok(at)
}

fn folder(path: &Path) -> Result<OwnedFd, String> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECTORY)
        .open(path)
        .map(OwnedFd::from)
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// The path of what is open.
fn through(fd: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd()))
}

fn made(path: &Path) -> Result<PathBuf, String> {
    if !path.is_dir() {
        let made = DirBuilder::new().mode(0o755).create(path);
        made.and_then(|()| fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)))
            .map_err(|error| format!("making {}: {error}", path.display()))?;
    }
    Ok(path.to_path_buf())
}
