//! Loop devices: a file as a disk. A device frees itself when its last mount is gone.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;

use nix::errno::Errno;

const CONTROL: &str = "/dev/loop-control";
const FREES_ITSELF: u32 = 4;
/// Somebody else may take a free device first; then there is another one.
const ATTEMPTS_MAX: u32 = 64;

/// As the kernel's `struct loop_info64`.
#[repr(C)]
struct Info {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// As the kernel's `struct loop_config`.
#[repr(C)]
struct Config {
    fd: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

nix::ioctl_none_bad!(loop_ctl_get_free, 0x4c82);
nix::ioctl_write_ptr_bad!(loop_configure, 0x4c0a, Config);

/// Checks that there are loop devices.
pub(super) fn probe() -> Result<(), String> {
    control().map(|_| ())
}

/// A device whose content is `file`'s, and its path. It frees itself when it is neither open nor mounted.
pub(super) fn attach(file: &File) -> Result<(File, PathBuf), String> {
    let control = control()?;
    for _ in 0..ATTEMPTS_MAX {
        // SAFETY: the call takes no argument and writes nothing.
        let number =
            unsafe { loop_ctl_get_free(control.as_raw_fd()) }.map_err(|error| format!("{CONTROL}: {error}"))?;
        let path = PathBuf::from(format!("/dev/loop{number}"));
        let device = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let config = Config {
            fd: u32::try_from(file.as_raw_fd()).unwrap_or(u32::MAX),
            block_size: 0,
            info: Info {
                device: 0,
                inode: 0,
                rdevice: 0,
                offset: 0,
                size_limit: 0,
                number: 0,
                encrypt_type: 0,
                encrypt_key_size: 0,
                flags: FREES_ITSELF,
                file_name: [0; 64],
                crypt_name: [0; 64],
                encrypt_key: [0; 32],
                init: [0; 2],
            },
            reserved: [0; 8],
        };
        // SAFETY: `config` is laid out as the kernel reads it and lives through the call, which writes nothing.
        match unsafe { loop_configure(device.as_raw_fd(), &raw const config) } {
            Ok(_) => return Ok((device, path)),
            Err(Errno::EBUSY) => {}
            Err(error) => return Err(format!("{}: {error}", path.display())),
        }
    }
    Err(format!("no loop device was free in {ATTEMPTS_MAX} attempts"))
}

fn control() -> Result<File, String> {
    OpenOptions::new().read(true).write(true).open(CONTROL).map_err(|error| format!("{CONTROL}: {error}"))
}
