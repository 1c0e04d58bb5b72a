//! A running sandbox of any back end.

use std::sync::Arc;
use std::time::Duration;

use palestra_sandbox_agent::watch::Record;
use palestra_sandbox_agent::wire::{
    ARCHIVE_SPARE_BYTES, Change, ENTRY_BYTES, Entry, Event, FailureCode, Request, Setup, Stats, User,
};
use parking_lot::Mutex as SyncMutex;
use tokio::sync::{Mutex, OwnedSemaphorePermit};

use crate::command::{Command, Output};
use crate::ending::Ending;
use crate::error::SandboxError;
use crate::handle::SandboxHandle;
use crate::image::Image;
use crate::isolation::Isolation;
use crate::link::{Link, Piece, Stream};
use crate::profile::Profile;

/// Longest wait for an answer that is no command's.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Time beyond its command's limit that the agent may take.
const GRACE: Duration = Duration::from_secs(10);

/// Most that a pack, delta or unpack may hold. Paths have a bound of their own,
/// [`PATHS_BYTES_MAX`](crate::wire::PATHS_BYTES_MAX).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of files.
    pub bytes_max: u64,
    /// Entries.
    pub entries_max: u64,
}

impl Bounds {
    fn archive_bytes_max(self) -> u64 {
        let heads = self.entries_max.saturating_mul(ENTRY_BYTES).saturating_add(ARCHIVE_SPARE_BYTES);
        self.bytes_max.saturating_add(heads)
    }
}

/// A running sandbox.
pub struct Sandbox {
    link: Link,
    handle: Mutex<Option<Box<dyn SandboxHandle>>>,
    isolation: Isolation,
    image: Arc<Image>,
    profile: Arc<Profile>,
    env: Vec<(String, String)>,
    /// Its permit among all sandboxes, returned once it is destroyed.
    room: SyncMutex<Option<OwnedSemaphorePermit>>,
}

impl Sandbox {
    /// Sets up the agent at the other end of `link`. `isolation` is what the back end put in force; what the agent adds
    /// (`seccomp`, `uid`, `capabilities`, `no_new_privileges`) is filled in here.
    ///
    /// # Errors
    /// When the agent does not answer, or the profile requires what is not in force. The caller then destroys `handle`, which is
    /// handed back.
    pub async fn set_up(
        link: Link,
        handle: Box<dyn SandboxHandle>,
        mut isolation: Isolation,
        image: Arc<Image>,
        profile: Arc<Profile>,
        seccomp: Vec<u64>,
    ) -> Result<Self, (SandboxError, Box<dyn SandboxHandle>)> {
        let owns_files = profile.owns_files.as_ref().is_some_and(|line| line.value);
        let setup = Request::Setup(Setup {
            seccomp,
            rlimits: profile.rlimits(),
            output_bytes_max: profile.output_bytes.value,
            folders: profile.folders.value.clone(),
            user: profile.user.value,
            owns_files,
        });
        let ready = async {
            let stream = link.request(&setup, None).await?;
            let (_, _, event) = stream.finish(0, Duration::from_millis(profile.start_ms.value)).await?;
            match event {
                Event::Ready { protocol, other_uid, seccomp } if protocol == crate::wire::PROTOCOL => {
                    Ok((other_uid, seccomp))
                }
                other => Err(SandboxError::Start(format!("the agent answered {other:?}"))),
            }
        };
        match ready.await {
            Ok((other_uid, filtered)) => {
                if filtered {
                    isolation.enforced("seccomp", "allow list, loaded by the agent");
                } else {
                    isolation.lacking("seccomp", "the kernel refused the filter");
                }
                if other_uid {
                    isolation.enforced("uid", "commands run under another user id than the agent");
                } else {
                    isolation.lacking("uid", "no range of user ids: seccomp alone keeps commands from the agent");
                }
                if owns_files {
                    isolation.lacking("capabilities", "those over files and users of the sandbox");
                } else {
                    isolation.enforced("capabilities", "none");
                }
                isolation.enforced("no_new_privileges", "prctl");
            }
            Err(error) => return Err((error, handle)),
        }
        if let Err(error) = profile.check(&isolation) {
            return Err((error, handle));
        }
        let mut env = image.env.clone();
        for (name, value) in &profile.env.value {
            env.retain(|(other, _)| other != name);
            env.push((name.clone(), value.clone()));
        }
        Ok(Self { link, handle: Mutex::new(Some(handle)), isolation, image, profile, env, room: SyncMutex::default() })
    }

    /// Isolation in force.
    #[must_use]
    pub fn isolation(&self) -> &Isolation {
        &self.isolation
    }

    /// Image of its file system.
    #[must_use]
    pub fn image(&self) -> &Arc<Image> {
        &self.image
    }

    /// Profile with its limits.
    #[must_use]
    pub fn profile(&self) -> &Arc<Profile> {
        &self.profile
    }

    /// Reason why it is lost; `None` while it stands.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        self.link.lost()
    }

    /// Cause of its end, once it is lost.
    pub async fn ending(&self) -> Ending {
        match self.handle.lock().await.as_mut() {
            Some(handle) => handle.ending().await,
            None => Ending::Host("this server destroyed it".to_owned()),
        }
    }

    /// Runs a command to its end. Commands of one sandbox may run at the same time.
    ///
    /// # Errors
    /// [`FailureCode::NotStarted`] when there is no such program; [`SandboxError::Lost`].
    pub async fn exec(&self, command: &Command) -> Result<Output, SandboxError> {
        let exec = command.exec(&self.profile, &self.image.folder, &self.env);
        let wait = Duration::from_millis(exec.wall_ms.unwrap_or(self.profile.command_ms.value)) + GRACE;
        let bytes_max = exec.output_bytes_max.unwrap_or(self.profile.output_bytes.value).saturating_mul(4);
        let stream = self.link.request(&Request::Exec(exec), Some(&command.input)).await?;
        let (told, record) = stream.finish_watched(bytes_max.saturating_add(1 << 20), wait).await?;
        match told {
            (stdout, stderr, Event::Exited(exited)) => {
                Ok(Output { exited, stdout, stderr, record: Record::read(&record) })
            }
            (.., other) => Err(self.nonsense(&other)),
        }
    }

    /// Runs a command on a terminal of its own.
    ///
    /// # Errors
    /// As [`Sandbox::exec`].
    pub async fn open_pty(&self, command: &Command, rows: u16, columns: u16) -> Result<Pty, SandboxError> {
        let mut exec = command.exec(&self.profile, &self.image.folder, &self.env);
        // A shell lives as long as its session.
        exec.wall_ms = command.wall.map(|wall| u64::try_from(wall.as_millis()).unwrap_or(u64::MAX));
        let stream = self.link.request(&Request::Pty { exec, rows, columns }, None).await?;
        let keys = Keys { link: self.link.clone(), stream: stream.id() };
        Ok(Pty { keys, screen: Screen(stream) })
    }

    /// Runs a command whose standard input stays open; its output must be taken all the time.
    ///
    /// # Errors
    /// As [`Sandbox::exec`].
    pub async fn open_pipe(&self, command: &Command) -> Result<Pipe, SandboxError> {
        let mut exec = command.exec(&self.profile, &self.image.folder, &self.env);
        exec.wall_ms = command.wall.map(|wall| u64::try_from(wall.as_millis()).unwrap_or(u64::MAX));
        let stream = self.link.request(&Request::Pipe { exec }, None).await?;
        let input = PipeInput { link: self.link.clone(), stream: stream.id() };
        Ok(Pipe { input, output: PipeOutput(stream) })
    }

    /// Writes a regular file, made anew with its folders. A link at `path` or on the way is refused.
    ///
    /// # Errors
    /// [`FailureCode::WrongKind`], [`FailureCode::Exhausted`] and [`SandboxError::Lost`].
    pub async fn write(&self, path: &str, mode: u32, user: User, bytes: &[u8]) -> Result<(), SandboxError> {
        let request = Request::Write { path: path.to_owned(), mode, user };
        self.done(&request, Some(bytes)).await
    }

    /// Reads a regular file of at most `bytes_max` bytes.
    ///
    /// # Errors
    /// [`FailureCode::NotFound`], [`FailureCode::WrongKind`] (a link, pipe, folder or device), [`FailureCode::TooLarge`].
    pub async fn read(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, SandboxError> {
        let request = Request::Read { path: path.to_owned(), bytes_max };
        let stream = self.link.request(&request, None).await?;
        let (bytes, _, event) = stream.finish(bytes_max, ANSWER_MAX).await?;
        if matches!(event, Event::Done) { Ok(bytes) } else { Err(self.nonsense(&event)) }
    }

    /// Entry at a path, links not followed.
    ///
    /// # Errors
    /// [`SandboxError::Lost`].
    pub async fn stat(&self, path: &str) -> Result<Option<Entry>, SandboxError> {
        let stream = self.link.request(&Request::Stat { path: path.to_owned() }, None).await?;
        match stream.finish(0, ANSWER_MAX).await? {
            (.., Event::Found { entry }) => Ok(entry),
            (.., other) => Err(self.nonsense(&other)),
        }
    }

    /// Packs files and folders as a tar archive, with what was left out (sockets, pipes, devices).
    ///
    /// # Errors
    /// [`FailureCode::TooLarge`], [`SandboxError::Lost`].
    pub async fn pack(&self, paths: &[String], bounds: Bounds) -> Result<(Vec<u8>, Vec<String>), SandboxError> {
        let Bounds { bytes_max, entries_max } = bounds;
        self.packed(&Request::Pack { paths: paths.to_vec(), bytes_max, entries_max }, bounds).await
    }

    /// Unpacks a tar archive below `folder`, which is made where it is not there. No entry leaves the folder.
    ///
    /// # Errors
    /// [`FailureCode::Invalid`], [`FailureCode::TooLarge`], [`FailureCode::Exhausted`], [`SandboxError::Lost`].
    pub async fn unpack(
        &self,
        folder: &str,
        user: Option<User>,
        archive: &[u8],
        bounds: Bounds,
    ) -> Result<(), SandboxError> {
        let Bounds { bytes_max, entries_max } = bounds;
        let request = Request::Unpack { folder: folder.to_owned(), user, bytes_max, entries_max };
        self.done(&request, Some(archive)).await
    }

    /// Differences from the image, by path.
    ///
    /// # Errors
    /// [`FailureCode::TooLarge`] beyond `entries_max`, [`ENTRY_BYTES`] for each of them, or
    /// [`PATHS_BYTES_MAX`](crate::wire::PATHS_BYTES_MAX); [`SandboxError::Lost`].
    pub async fn changes(&self, entries_max: u64) -> Result<Vec<Change>, SandboxError> {
        let stream = self.link.request(&Request::Changes { entries_max }, None).await?;
        let bytes_max = entries_max.saturating_mul(ENTRY_BYTES).saturating_add(1024);
        let (json, _, event) = stream.finish(bytes_max, ANSWER_MAX).await?;
        if !matches!(event, Event::Done) {
            return Err(self.nonsense(&event));
        }
        serde_json::from_slice(&json).map_err(|error| self.broken(&format!("changes that cannot be read: {error}")))
    }

    /// Differences from the image, as a tar archive that [`Sandbox::apply`] takes, with the paths that were left out.
    ///
    /// # Errors
    /// [`FailureCode::TooLarge`], [`SandboxError::Lost`].
    pub async fn delta(&self, bounds: Bounds, except: &[String]) -> Result<(Vec<u8>, Vec<String>), SandboxError> {
        let Bounds { bytes_max, entries_max } = bounds;
        self.packed(&Request::Delta { bytes_max, entries_max, except: except.to_vec() }, bounds).await
    }

    /// Applies the change of another sandbox of the same image.
    ///
    /// # Errors
    /// [`FailureCode::Invalid`], [`FailureCode::Exhausted`], [`SandboxError::Lost`].
    pub async fn apply(&self, delta: &[u8]) -> Result<(), SandboxError> {
        self.done(&Request::Apply, Some(delta)).await
    }

    /// Stops every process, so that none runs before [`Sandbox::thaw`].
    ///
    /// # Errors
    /// [`SandboxError::Lost`].
    pub async fn freeze(&self) -> Result<(), SandboxError> {
        self.done(&Request::Freeze, None).await
    }

    /// Lets stopped processes go on.
    ///
    /// # Errors
    /// [`SandboxError::Lost`].
    pub async fn thaw(&self) -> Result<(), SandboxError> {
        self.done(&Request::Thaw, None).await
    }

    /// Kills every process and waits until all are gone.
    ///
    /// # Errors
    /// [`SandboxError::Lost`].
    pub async fn kill(&self) -> Result<(), SandboxError> {
        self.done(&Request::Kill, None).await
    }

    /// Resource usage.
    ///
    /// # Errors
    /// [`SandboxError::Lost`].
    pub async fn stats(&self) -> Result<Stats, SandboxError> {
        let stream = self.link.request(&Request::Stats, None).await?;
        match stream.finish(0, ANSWER_MAX).await? {
            (.., Event::Stats(stats)) => Ok(stats),
            (.., other) => Err(self.nonsense(&other)),
        }
    }

    /// Renames its disk, which from now on outlives the sandbox and the server.
    ///
    /// # Errors
    /// Where disks of this back end cannot do that.
    pub async fn keep_disk(&self, disk: &str) -> Result<(), SandboxError> {
        match &mut *self.handle.lock().await {
            Some(handle) => handle.keep_disk(disk).await,
            None => Err(SandboxError::Lost("it was destroyed".to_owned())),
        }
    }

    /// Ends all processes and frees everything; a kept disk too if `with_disk`. Every later request fails.
    pub async fn destroy(&self, with_disk: bool) {
        self.link.cut("it was destroyed");
        if let Some(mut handle) = self.handle.lock().await.take() {
            handle.destroy(with_disk).await;
        }
        self.room.lock().take();
    }

    /// The same, counted among all sandboxes until it is destroyed.
    pub(crate) fn holding(self, permit: OwnedSemaphorePermit) -> Self {
        *self.room.lock() = Some(permit);
        self
    }

    async fn done(&self, request: &Request, data: Option<&[u8]>) -> Result<(), SandboxError> {
        let stream = self.link.request(request, data).await?;
        match stream.finish(0, ANSWER_MAX).await? {
            (.., Event::Done) => Ok(()),
            (.., other) => Err(self.nonsense(&other)),
        }
    }

    async fn packed(&self, request: &Request, bounds: Bounds) -> Result<(Vec<u8>, Vec<String>), SandboxError> {
        let stream = self.link.request(request, None).await?;
        match stream.finish(bounds.archive_bytes_max(), ANSWER_MAX).await? {
            (bytes, _, Event::Packed { left_out, .. }) => Ok((bytes, left_out)),
            (.., other) => Err(self.nonsense(&other)),
        }
    }

    fn nonsense(&self, event: &Event) -> SandboxError {
        self.broken(&format!("the agent answered {event:?}"))
    }

    fn broken(&self, why: &str) -> SandboxError {
        self.link.cut(why);
        SandboxError::Lost(self.link.lost().unwrap_or_else(|| why.to_owned()))
    }
}

impl Drop for Sandbox {
    /// A sandbox that is dropped without being destroyed leaves its processes to the back end.
    fn drop(&mut self) {
        let Some(mut handle) = self.handle.get_mut().take() else { return };
        let room = self.room.get_mut().take();
        self.link.cut("it was given up");
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                handle.destroy(false).await;
                drop(room);
            });
        }
    }
}

/// A terminal on which a command runs.
pub struct Pty {
    /// Input of the terminal.
    pub keys: Keys,
    /// Output of the terminal.
    pub screen: Screen,
}

/// Types on a terminal.
#[derive(Clone)]
pub struct Keys {
    link: Link,
    stream: u32,
}

/// Output of a terminal.
pub struct Screen(Stream);

/// Part of the output of a terminal.
#[derive(Debug)]
pub enum PtyPiece {
    /// Printed bytes.
    Output(Vec<u8>),
    /// The command ended.
    Exited(crate::wire::Exited),
}

impl Keys {
    /// Types bytes.
    ///
    /// # Errors
    /// [`SandboxError::Lost`].
    pub async fn type_bytes(&self, keys: &[u8]) -> Result<(), SandboxError> {
        self.link.send_data(self.stream, keys).await
    }

    /// Changes the size of the screen.
    ///
    /// # Errors
    /// [`SandboxError::Lost`].
    pub async fn resize(&self, rows: u16, columns: u16) -> Result<(), SandboxError> {
        let request = Request::Resize { target: self.stream, rows, columns };
        self.link.request(&request, None).await?.finish(0, ANSWER_MAX).await.map(|_| ())
    }

    /// Sends a signal to the process group of the command.
    ///
    /// # Errors
    /// [`SandboxError::Lost`].
    pub async fn signal(&self, signal: i32) -> Result<(), SandboxError> {
        let request = Request::Signal { target: self.stream, signal };
        self.link.request(&request, None).await?.finish(0, ANSWER_MAX).await.map(|_| ())
    }
}

impl Screen {
    /// The next part; waits for it. Must be polled all the time: what is not taken holds up the whole sandbox.
    ///
    /// # Errors
    /// [`SandboxError::Lost`], and [`FailureCode::NotStarted`].
    pub async fn next(&mut self) -> Result<PtyPiece, SandboxError> {
        match self.0.next().await? {
            Piece::Output(bytes) | Piece::Error(bytes) => Ok(PtyPiece::Output(bytes)),
            Piece::Event(Event::Exited(exited)) => Ok(PtyPiece::Exited(exited)),
            Piece::Event(Event::Failed { code, detail }) => Err(SandboxError::Refused { code, detail }),
            Piece::Record(_) => Err(SandboxError::Lost("a record of a terminal".to_owned())),
            Piece::Event(other) => Err(SandboxError::Refused {
                code: FailureCode::Failed,
                detail: format!("the agent answered {other:?}"),
            }),
        }
    }
}

/// A command with pipes for its standard streams.
pub struct Pipe {
    /// Its standard input.
    pub input: PipeInput,
    /// Its standard output and standard error.
    pub output: PipeOutput,
}

/// Standard input of a command.
#[derive(Clone)]
pub struct PipeInput {
    link: Link,
    stream: u32,
}

/// Standard output and standard error of a command.
pub struct PipeOutput(Stream);

/// Part of what a command prints.
#[derive(Debug)]
pub enum PipePiece {
    /// Standard output.
    Output(Vec<u8>),
    /// Standard error.
    Error(Vec<u8>),
    /// The command ended.
    Exited(crate::wire::Exited),
}

impl PipeInput {
    /// Writes bytes, waiting until the sandbox takes them.
    ///
    /// # Errors
    /// [`SandboxError::Lost`].
    pub async fn write(&self, bytes: &[u8]) -> Result<(), SandboxError> {
        self.link.send_data(self.stream, bytes).await
    }

    /// Closes it.
    ///
    /// # Errors
    /// [`SandboxError::Lost`].
    pub async fn end(&self) -> Result<(), SandboxError> {
        self.link.send_end(self.stream).await
    }
}

impl PipeOutput {
    /// The next part; waits for it. Must be polled all the time: what is not taken holds up the whole sandbox.
    ///
    /// # Errors
    /// [`SandboxError::Lost`], and [`FailureCode::NotStarted`].
    pub async fn next(&mut self) -> Result<PipePiece, SandboxError> {
        match self.0.next().await? {
            Piece::Output(bytes) => Ok(PipePiece::Output(bytes)),
            Piece::Error(bytes) => Ok(PipePiece::Error(bytes)),
            Piece::Event(Event::Exited(exited)) => Ok(PipePiece::Exited(exited)),
            Piece::Event(Event::Failed { code, detail }) => Err(SandboxError::Refused { code, detail }),
            other => Err(SandboxError::Refused {
                code: FailureCode::Failed,
                detail: format!("the agent answered {other:?}"),
            }),
        }
    }
}
