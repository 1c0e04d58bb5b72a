//! Frames over one pipe or socket in each direction. A frame is 4 bytes length of the body, 4 bytes number of the stream (both
//! little endian), 1 byte kind, and the body. A stream is one request and all that comes of it; the server numbers them from 1.
//!
//! Nothing that the agent sends is believed: bodies are bounded, unknown streams and kinds end the connection.

use serde::{Deserialize, Serialize};

/// Where the machine's certificates of authorities are seen in a sandbox with a network.
pub const CERTIFICATES_INSIDE: &str = "/.palestra/certificates.crt";

/// Bytes before the body.
pub const HEADER_BYTES: usize = 9;
/// Longest body.
pub const BODY_BYTES_MAX: usize = 256 * 1024;
/// Largest size of an entry in a list or an archive, beside files' contents: headers, names, and what fills up blocks. An archive
/// that takes up more pays from the bytes of contents.
pub const ENTRY_BYTES: u64 = 1_024;
/// Largest size of an archive beside that, however few entries it may have.
pub const ARCHIVE_SPARE_BYTES: u64 = 64 * 1_024;
/// Most bytes of the paths and link targets of one list or archive together: whoever reads it holds all of them at once.
pub const PATHS_BYTES_MAX: u64 = 32 << 20;
/// Version of the agent's protocol; a different number at [`Event::Ready`] ends the connection.
pub const PROTOCOL: u32 = 1;

/// Kind of the body of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// JSON of a [`Request`], server to agent. The first frame of its stream.
    Request = 1,
    /// Bytes for the stream: standard input, keys, a file, an archive.
    Data = 2,
    /// No more bytes in this direction of the stream.
    End = 3,
    /// JSON of an [`Event`], agent to server.
    Event = 4,
    /// Bytes of standard output (or of a terminal, a file, an archive), agent to server.
    Output = 5,
    /// Bytes of standard error, agent to server.
    Error = 6,
    /// Bytes of a [`Record`](crate::watch::Record), agent to server.
    Record = 7,
}

impl Kind {
    /// The kind that a byte stands for.
    #[must_use]
    pub const fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Request,
            2 => Self::Data,
            3 => Self::End,
            4 => Self::Event,
            5 => Self::Output,
            6 => Self::Error,
            7 => Self::Record,
            _ => return None,
        })
    }
}

/// The head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the body, at most [`BODY_BYTES_MAX`].
    pub length: usize,
    /// The stream.
    pub stream: u32,
    /// Kind of the body.
    pub kind: Kind,
}

impl Header {
    /// As it is sent. The body must not be longer than [`BODY_BYTES_MAX`].
    #[must_use]
    pub fn encode(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&u32::try_from(self.length).unwrap_or(u32::MAX).to_le_bytes());
        bytes[4..8].copy_from_slice(&self.stream.to_le_bytes());
        bytes[8] = self.kind as u8;
        bytes
    }

    /// Reads one.
    ///
    /// # Errors
    /// In words, when the body is too long or of no known kind.
    pub fn decode(bytes: [u8; HEADER_BYTES]) -> Result<Self, String> {
        let [a, b, c, d, e, f, g, h, kind] = bytes;
        let length = usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        if length > BODY_BYTES_MAX {
            return Err(format!("a frame of {length} bytes"));
        }
        let kind = Kind::of(kind).ok_or_else(|| format!("a frame of kind {kind}"))?;
        Ok(Self { length, stream: u32::from_le_bytes([e, f, g, h]), kind })
    }
}

/// User of a command inside the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// User id.
    pub uid: u32,
    /// Group id; there are no others.
    pub gid: u32,
}

/// Limits of one process and its children that the kernel enforces by `setrlimit`; `None` leaves a limit as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rlimits {
    /// Seconds of CPU of each process.
    pub cpu_s: Option<u64>,
    /// Bytes of each file.
    pub file_bytes: Option<u64>,
    /// Bytes of address space of each process.
    pub address_bytes: Option<u64>,
    /// Open files of each process.
    pub open_files: Option<u64>,
    /// Processes of the user.
    pub processes: Option<u64>,
    /// Bytes of stack of each process.
    pub stack_bytes: Option<u64>,
}

/// Request of the server. `End` of the stream's data follows where a request takes data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Request {
    /// The first request of a connection. Answered by [`Event::Ready`].
    Setup(Setup),
    /// Runs a command to its end, in a session and process group of its own. Takes data: its standard input, at most 256 MiB, which
    /// is spooled before the command starts. Sends `Output` and `Error` frames, then [`Event::Exited`] once the command itself
    /// ended, whatever it left behind still holds its streams open. Refused while everything is frozen.
    Exec(Exec),
    /// Runs a command on a terminal of its own. Takes data while it runs: keys; beyond 64 KiB that the program does not read, they
    /// are lost. Sends `Output`, then [`Event::Exited`]. Refused while everything is frozen.
    Pty {
        /// The command.
        exec: Exec,
        /// Size of the screen.
        rows: u16,
        /// Size of the screen.
        columns: u16,
    },
    /// Runs a command whose standard input stays open. Takes data while it runs; what the command does not read holds up all that
    /// the server sends. `End` closes its standard input. Sends `Output` and `Error` without a bound, then [`Event::Exited`]. Refused
    /// while everything is frozen.
    Pipe {
        /// The command.
        exec: Exec,
    },
    /// Changes the size of the terminal of `target`. Answered by [`Event::Done`].
    Resize {
        /// The stream of the terminal.
        target: u32,
        /// New size.
        rows: u16,
        /// New size.
        columns: u16,
    },
    /// Sends a signal to the process group of `target`. Answered by [`Event::Done`].
    Signal {
        /// The stream of the command.
        target: u32,
        /// Its number.
        signal: i32,
    },
    /// Writes a regular file, made anew with its folders; what stands at `path` is replaced, a link at it or on the way is
    /// refused. Takes data. Answered by [`Event::Done`].
    Write {
        /// Absolute path.
        path: String,
        /// Permission bits.
        mode: u32,
        /// Owner of it and of its new folders.
        user: User,
    },
    /// Reads a regular file, without following any link. Files of the kernel (`/proc`, `/sys`) are refused, here and wherever files
    /// are taken or made. Sends `Output`, then [`Event::Done`].
    Read {
        /// Absolute path.
        path: String,
        /// A longer file is refused as `too_large`.
        bytes_max: u64,
    },
    /// Asks for the entry at a path; nothing, where a link would have to be followed on the way. Answered by [`Event::Found`].
    Stat {
        /// Absolute path.
        path: String,
    },
    /// Packs files and folders as a tar stream (GNU long names, modes and times, owners as numbers, links as links; sockets,
    /// pipes and devices are left out and counted). Names in it count from the root, without a slash in front. Sends `Output`, then [`Event::Packed`].
    Pack {
        /// Absolute paths; what does not exist is left out, and so is, counted, what lies behind a link.
        paths: Vec<String>,
        /// Beyond it the request fails as `too_large`.
        bytes_max: u64,
        /// Likewise.
        entries_max: u64,
    },
    /// Unpacks a tar stream below a folder. Takes data. No entry leaves the folder, by name or through a link; devices, pipes and
    /// sparse files are refused. Files and links are replaced, folders that are there stay as they are. Ends at the first entry
    /// that is refused; what came before it stays. Answered by [`Event::Done`].
    Unpack {
        /// Absolute path, made where it is not there.
        folder: String,
        /// Everything belongs to this user; as the archive says where left out.
        user: Option<User>,
        /// Beyond it the request fails as `too_large`.
        bytes_max: u64,
        /// Likewise.
        entries_max: u64,
    },
    /// Asks for the differences from the image. Sends `Output`: a JSON array of [`Change`], sorted by path; then [`Event::Done`].
    Changes {
        /// Beyond it the request fails as `too_large`.
        entries_max: u64,
    },
    /// Packs what differs from the image as a tar stream in which `.wh.NAME` stands for a deleted `NAME` and `.wh..wh..opq` for
    /// a folder that was replaced (as layers of OCI images do). Sends `Output`, then [`Event::Packed`].
    Delta {
        /// Beyond it the request fails as `too_large`.
        bytes_max: u64,
        /// Likewise.
        entries_max: u64,
        /// Absolute paths that are left out with all that is below them.
        except: Vec<String>,
    },
    /// Applies a [`Request::Delta`] to the whole file system. Takes data. Answered by [`Event::Done`].
    Apply,
    /// Stops every process but the agent, so that none runs again before [`Request::Thaw`]. Answered by [`Event::Done`].
    Freeze,
    /// Lets them go on. Answered by [`Event::Done`].
    Thaw,
    /// Kills every process but the agent and waits until all are gone. Their streams end, and nothing is frozen any more. Answered
    /// by [`Event::Done`].
    Kill,
    /// Answered by [`Event::Stats`].
    Stats,
}

/// The first request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// Programs of the kernel's packet filter (`sock_filter`), one `u64` each: code, jt, jf and k from the highest bit on. The
    /// agent loads them for itself and so for all that it starts, once it needs nothing more that they forbid.
    pub seccomp: Vec<u64>,
    /// Limits of every command where it names none.
    pub rlimits: Rlimits,
    /// Bytes of a command's standard output that are sent, and as many of its standard error; of what comes after, the last 64 KiB
    /// are sent at the end and the others are counted. What a terminal prints is sent without end.
    pub output_bytes_max: u64,
    /// Folders that are made at the start, for this user.
    pub folders: Vec<String>,
    /// Owner of them.
    pub user: User,
    /// True if commands of user 0 keep rights over the files and users of the sandbox, as set-ups of packages need them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub owns_files: bool,
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exec {
    /// Program and arguments. A program without a slash is looked for in the `PATH` of `env`.
    pub argv: Vec<String>,
    /// Where it starts.
    pub folder: String,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// User that it runs as. It has no capability, but for user 0 where [`Setup::owns_files`].
    pub user: User,
    /// Killed with its process group after that long.
    pub wall_ms: Option<u64>,
    /// Beyond what [`Setup`] says.
    pub rlimits: Rlimits,
    /// Instead of what [`Setup`] says.
    pub output_bytes_max: Option<u64>,
    /// True if standard error goes where standard output goes.
    pub merge: bool,
    /// True if all processes that it left behind are killed when it ends, however they were detached.
    pub alone: bool,
    /// Where it may start programs as somebody else; not on a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs: Option<Programs>,
    /// True if a [`Record`](crate::watch::Record) of what it and its descendants ran and opened is sent as `Record` frames before its
    /// end is told. What it left behind is killed then. Where nothing can be watched it runs all the same.
    #[serde(default)]
    pub watch: bool,
}

/// Programs that a command may start as somebody else, who can do nothing to it: neither trace nor signal it, nor take its descriptors.
/// The command finds [`Programs::VARIABLE`] in its environment: a program that runs its arguments so, with its own standard streams,
/// passes on the signals that it gets and ends as they end. Streams that are the command's own output are refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Programs {
    /// User that they run as.
    pub user: User,
    /// Where they start unless they are told otherwise.
    pub folder: String,
    /// Variables that are not those of the command: what they are instead, or that they are not.
    pub env: Vec<(String, Option<String>)>,
    /// A folder for the socket; what is made in it belongs to the command's user and goes with the command.
    pub place: String,
}

impl Programs {
    /// The environment variable that names the program that starts others.
    pub const VARIABLE: &str = "PROGRAM";
}

/// Event of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The sandbox can be used.
    Ready {
        /// [`PROTOCOL`].
        protocol: u32,
        /// True if commands run under other user ids than the agent.
        other_uid: bool,
        /// True if the filter was loaded.
        seccomp: bool,
    },
    /// The request was carried out.
    Done,
    /// A command ended.
    Exited(Exited),
    /// Entry at a path; `None` where nothing does.
    Found {
        /// The entry.
        entry: Option<Entry>,
    },
    /// An archive was sent.
    Packed {
        /// Number of entries that it has.
        entries: u64,
        /// Paths of sockets, pipes and devices that were left out, at most 100.
        left_out: Vec<String>,
    },
    /// Resource usage.
    Stats(Stats),
    /// The request was not carried out.
    Failed {
        /// Kind of failure.
        code: FailureCode,
        /// In words.
        detail: String,
    },
}

/// End of a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exited {
    /// Exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// True if it was killed because its time was over.
    pub timed_out: bool,
    /// Microseconds from start to end.
    pub wall_us: u64,
    /// Microseconds of CPU of it and of the children that it waited for.
    pub cpu_us: u64,
    /// Most bytes of memory that it or such a child held.
    pub memory_bytes: u64,
    /// Bytes of standard output that were not sent.
    pub output_omitted_bytes: u64,
    /// Bytes of standard error that were not sent.
    pub error_omitted_bytes: u64,
}

/// Resource usage inside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Processes, without the agent.
    pub processes: u64,
    /// Bytes that the upper layer holds.
    pub disk_used_bytes: u64,
    /// Bytes that it can hold.
    pub disk_bytes: u64,
    /// Files that the upper layer holds.
    pub inodes_used: u64,
    /// Files that it can hold.
    pub inodes: u64,
}

/// Something in the file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Kind of entry.
    pub kind: EntryKind,
    /// Bytes; of a link those of its target's name; 0 for a folder.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// Its owner.
    pub uid: u32,
}

/// Kind of an entry of the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe, socket or device.
    Other,
}

/// A path that differs from the image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Absolute path.
    pub path: String,
    /// Kind of change.
    pub change: ChangeKind,
    /// The present entry; `None` where nothing does.
    pub entry: Option<Entry>,
}

/// Kind of change of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It was there already.
    Modified,
    /// It is gone.
    Deleted,
}

/// Errors of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// Nothing is there.
    NotFound,
    /// Something of another kind is there: a pipe where a file was asked for, a link on the way.
    WrongKind,
    /// It is larger than the request allows.
    TooLarge,
    /// The disk, the inodes or the processes are used up.
    Exhausted,
    /// The command could not be started.
    NotStarted,
    /// The request makes no sense: a relative path, an unknown stream, a broken archive.
    Invalid,
    /// Anything else.
    Failed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_the_wire_and_hostile_ones_do_not() {
        let header = Header { length: 77, stream: 9, kind: Kind::Output };
        assert_eq!(Header::decode(header.encode()), Ok(header));
        let long = Header { length: BODY_BYTES_MAX + 1, ..header };
        assert!(Header::decode(long.encode()).is_err());
        let mut unknown = header.encode();
        unknown[8] = 77;
        assert!(Header::decode(unknown).is_err());
    }
}
