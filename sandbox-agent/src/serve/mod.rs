//! Serves a sandbox as its process 1: carries out what the server asks for, and ends everything when the server hangs up.

mod commands;
mod failure;
mod file;
mod inbox;
mod jobs;
mod keeper;
mod layers;
mod outbox;
mod pack;
mod place;
mod privilege;
mod processes;
mod server;
mod spawn;
mod unpack;

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use nix::fcntl::{FcntlArg, fcntl};
use nix::unistd::getpid;

/// The folders that an overlay is made of, for those who list what differs from the image.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    /// What was changed; `None` where there is no overlay.
    pub(crate) upper: Option<OwnedFd>,
    /// The image, topmost first.
    pub(crate) lower: Vec<OwnedFd>,
}

/// Reads the arguments and serves until the server hangs up.
///
/// # Errors
/// In words.
pub(crate) fn run(arguments: &[OsString]) -> Result<(), String> {
    serve(layers_of(arguments)?)
}

/// Serves until the server hangs up.
///
/// # Errors
/// In words.
pub(crate) fn serve(layers: Layers) -> Result<(), String> {
    // Whoever serves kills all that it sees at the end, which outside of a namespace of its own is the whole machine.
    if getpid().as_raw() != 1 {
        return Err("serve runs as process 1 of a process namespace only".to_owned());
    }
    server::run(layers)
}

fn layers_of(arguments: &[OsString]) -> Result<Layers, String> {
    let mut layers = Layers::default();
    for pair in arguments.chunks(2) {
        let [name, number] = pair else { return Err(format!("{} needs a number", pair[0].display())) };
        let folder = inherited(number)?;
        match name.to_str() {
            Some("--upper-fd") => layers.upper = Some(folder),
            Some("--lower-fd") => layers.lower.push(folder),
            _ => return Err(format!("unknown argument {}", name.display())),
        }
    }
    Ok(layers)
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
