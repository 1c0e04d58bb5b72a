//! The record of a command that was run under a watcher: which programs ran, and which files that are not the image's they opened.

use serde::{Deserialize, Serialize};

/// Bytes of a record as it is sent; what comes after is counted and left out.
pub const RECORD_BYTES_MAX: usize = 8 << 20;
/// Bytes from the beginning of an opened file that are kept.
pub const HEAD_BYTES: usize = 64;
/// Bytes of the arguments of a program that are kept.
pub const ARGUMENTS_BYTES_MAX: usize = 8 << 10;

/// All that was seen of a command and its descendants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// In the order in which it happened.
    pub sights: Vec<WatchEvent>,
    /// Its end; `None` where the watcher did not live to tell.
    pub closing: Option<Closing>,
}

/// Last event of a watcher.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closing {
    /// Nanoseconds since 1970 by the clock of the file system, when the command started.
    pub began_ns: i64,
    /// Sights that were left out, and those that could not be taken.
    pub dropped: u64,
    /// Processes that outlived the command. They were killed.
    pub left: u64,
    /// Calls that act on other processes and were refused, such as those of debuggers.
    pub refused: u64,
    /// Reason why nothing could be watched.
    pub blind: Option<String>,
}

/// Something that was seen. Processes are named by their id, which may be used again after [`WatchEvent::Ended`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "saw", rename_all = "snake_case")]
pub enum WatchEvent {
    /// A process began; the first has the parent 0.
    Born {
        /// The process.
        pid: i32,
        /// Its parent.
        of: i32,
    },
    /// A process became another program.
    Ran(Ran),
    /// A process opened a file.
    Opened(Opened),
    /// A process looked for a compiled module: a name that ends in `.pyc`, whatever stands there.
    Missed {
        /// The process.
        pid: i32,
        /// Absolute.
        path: String,
    },
    /// A process changed what stands at a path without opening it: by making, renaming, linking, removing, cutting or its permissions.
    Placed {
        /// The process.
        pid: i32,
        /// The new name, absolute.
        path: String,
        /// The name that it had or has beside it, absolute; where it was renamed or linked.
        of: Option<String>,
        /// The file that is there now.
        file: Option<File>,
        /// Where it leads, as it says, where it is a link.
        #[serde(default)]
        target: Option<String>,
    },
    /// A process could not open or run a path; told where something on the way to it is not as the image has it, or where it was to be
    /// written and no room is left.
    Failed {
        /// The process.
        pid: i32,
        /// Absolute.
        path: String,
        /// True if it was to become that program.
        runs: bool,
        /// As the kernel's `open` takes them; 0 where it was to run.
        flags: i32,
        /// True if no room was left, on the disk or for open files.
        full: bool,
    },
    /// A process is about to act upon others: by a signal, a limit or their place in the schedule.
    Reached {
        /// The process.
        pid: i32,
        /// The others.
        of: Vec<i32>,
    },
    /// A process ended.
    Ended {
        /// The process.
        pid: i32,
    },
}

/// A process became another program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// The process.
    pub pid: i32,
    /// The path that was asked for, absolute.
    pub given: String,
    /// Executable: for a script its interpreter.
    pub exe: String,
    /// The folder that it starts in.
    pub folder: String,
    /// Its arguments, the program's name among them.
    pub argv: Vec<String>,
    /// True if arguments are missing.
    pub cut: bool,
    /// Files that the kernel mapped and that are not the image's, and the script among them.
    pub changed: Vec<Changed>,
    /// Links that are not the image's and that led to the program.
    pub links: Vec<String>,
    /// Files that are not the image's and that its parent holds under the same number: what one reads or writes there moves the other.
    #[serde(default)]
    pub shared: Vec<String>,
    /// When, in nanoseconds since 1970 by the clock of the file system.
    pub at_ns: i64,
}

/// A file that is not the image's.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Changed {
    /// Absolute.
    pub path: String,
    /// As [`File::changed_ns`].
    pub changed_ns: i64,
    /// As [`File::content`].
    pub content: u64,
}

/// A process opened a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// The process.
    pub pid: i32,
    /// The path that was asked for, absolute.
    pub given: String,
    /// Opened path, links followed.
    pub path: String,
    /// As the kernel's `open` takes them.
    pub flags: i32,
    /// The file.
    pub file: File,
    /// Links that are not the image's and that led to it.
    pub links: Vec<String>,
    /// True if the file is only read, is as the image has it, and is what was asked for or where links lead from there.
    #[serde(default)]
    pub of_image: bool,
    /// True if it is a pipe or socket of another process, reached through `/proc`.
    pub foreign: bool,
    /// When, in nanoseconds since 1970 by the clock of the file system.
    pub at_ns: i64,
}

/// A file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Device.
    pub device: u64,
    /// Number on the device.
    pub inode: u64,
    /// Kind and permission bits.
    pub mode: u32,
    /// Number of its names; 0 where nobody looked.
    #[serde(default)]
    pub names: u64,
    /// Nanoseconds since 1970 when anything of it changed last.
    pub changed_ns: i64,
    /// Its first bytes, in hexadecimal; none where it was opened for writing alone.
    pub head: String,
    /// A hash of its first MiB, by a key of this record's; 0 where it was opened for writing alone.
    pub content: u64,
}

impl Record {
    /// Reads one from lines of JSON, the closing last. One that cannot be read says nothing.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        let Some((last, sights)) = lines.split_last() else { return Self::default() };
        let sights: Result<Vec<WatchEvent>, _> = sights.iter().map(|line| serde_json::from_slice(line)).collect();
        match (sights, serde_json::from_slice(last)) {
            (Ok(sights), Ok(closing)) => Self { sights, closing: Some(closing) },
            _ => Self::default(),
        }
    }
}
