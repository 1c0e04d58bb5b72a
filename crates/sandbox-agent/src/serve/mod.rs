//! Serves a sandbox as its process 1: carries out what the server asks for, and ends everything when the server hangs up.

mod child;
mod commands;
mod failure;
mod file;
mod inbox;
mod jobs;
mod keeper;
mod layers;
mod outbox;
mod pack;
mod paths;
mod privilege;
mod processes;
mod programs;
mod server;
mod spawn;
mod unpack;
mod watcher;

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use nix::fcntl::{FcntlArg, fcntl};
use nix::unistd::getpid;

/// The folders that an overlay is made of, for those who list what differs from the image.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    /// Changes; `None` where there is no overlay.
    pub(crate) upper: Option<OwnedFd>,
    /// The image, topmost first.
    pub(crate) lower: Vec<OwnedFd>,
}

/// Reads the arguments and serves until the server hangs up.
///
/// # Errors
/// In words.
pub(crate) fn run(arguments: &[OsString]) -> Result<(), String> {
    let (layers, setup_max) = read(arguments)?;
    serve(layers, setup_max)
}

/// Serves until the server hangs up, or has sent no setup for so long.
///
/// # Errors
/// In words.
pub(crate) fn serve(layers: Layers, setup_max: Option<Duration>) -> Result<(), String> {
    // Whoever serves kills all that it sees at the end, which outside of a namespace of its own is the whole machine.
    if getpid().as_raw() != 1 {
        return Err("serve runs as process 1 of a process namespace only".to_owned());
    }
    server::run(layers, setup_max)
}

/// The folders of the overlay, and how long the setup may take to arrive.
fn read(arguments: &[OsString]) -> Result<(Layers, Option<Duration>), String> {
    let (mut layers, mut setup_max) = (Layers::default(), None);
    for pair in arguments.chunks(2) {
        let [name, number] = pair else { return Err(format!("{} needs a number", pair[0].display())) };
        match name.to_str() {
            Some("--upper-fd") => layers.upper = Some(inherited(number)?),
            Some("--lower-fd") => layers.lower.push(inherited(number)?),
            Some("--setup-ms") => {
                let milliseconds = number.to_str().and_then(|number| number.parse().ok());
                let milliseconds = milliseconds.ok_or_else(|| format!("{} is no time", number.display()))?;
                setup_max = Some(Duration::from_millis(milliseconds));
            }
            _ => return Err(format!("unknown argument {}", name.display())),
        }
    }
    Ok((layers, setup_max))
}

/// A folder that whoever started this process left open.
fn inherited(number: &OsString) -> Result<OwnedFd, String> {
    let refused = || format!("{} is no open folder", number.display());
    let number: RawFd = number.to_str().and_then(|number| number.parse().ok()).ok_or_else(refused)?;
    if number <= 2 {
        return Err(refused());
    }
    // SAFETY: the number is only asked about here.
    fcntl(unsafe { std::os::fd::BorrowedFd::borrow_raw(number) }, FcntlArg::F_GETFD).map_err(|_| refused())?;
    // SAFETY: it is open, and by contract the caller left it for nobody else in this process.
    let folder = File::from(unsafe { OwnedFd::from_raw_fd(number) });
    if folder.metadata().is_ok_and(|metadata| metadata.is_dir()) { Ok(folder.into()) } else { Err(refused()) }
}
