//! An agent in a process namespace of its own, and the server's side of its pipes.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use palestra_sandbox_agent::wire::{
    BODY_BYTES_MAX, Event, Exec, Exited, FailureCode, HEADER_BYTES, Header, Kind, PROTOCOL, Request, Rlimits, Setup,
    User,
};

/// The user of commands.
pub(crate) const USER: User = User { uid: 1_000, gid: 1_000 };
/// No answer takes that long; a test that waits for longer has failed.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Number of user ids inside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ids {
    /// All: commands run as another user than the agent. Takes a root user outside.
    Many,
    /// One.
    Single,
}

/// An agent, and what it said that nobody asked for yet.
pub(crate) struct Agent {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    frames: Receiver<(Header, Vec<u8>)>,
    early: HashMap<u32, Vec<(Kind, Vec<u8>)>>,
    last: u32,
}

/// Answer on a stream.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) output: Vec<u8>,
    pub(crate) error: Vec<u8>,
    pub(crate) event: Event,
}

/// The namespaces that can be made here; a test runs in each.
pub(crate) fn kinds() -> Vec<Ids> {
    let root = nix::unistd::geteuid().is_root();
    if root { vec![Ids::Many, Ids::Single] } else { vec![Ids::Single] }
}

pub(crate) fn command(ids: Ids, line: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    match ids {
        Ids::Many => command.args(["--mount"]),
        Ids::Single => command.args(["--user", "--map-root-user"]),
    };
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc", "--"]).args(line);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

pub(crate) fn program() -> &'static str {
    env!("CARGO_BIN_EXE_palestra-sandbox-agent")
}

/// A command line as most tests run it.
pub(crate) fn exec(argv: &[&str]) -> Exec {
    Exec {
        argv: argv.iter().map(ToString::to_string).collect(),
        folder: "/".to_owned(),
        env: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
        user: USER,
        wall_ms: Some(30_000),
        rlimits: Rlimits::default(),
        output_bytes_max: None,
        merge: false,
        alone: false,
        programs: None,
        watch: false,
    }
}

pub(crate) fn shell(line: &str) -> Exec {
    exec(&["sh", "-c", line])
}

impl Agent {
    pub(crate) fn new(ids: Ids) -> Self {
        Self::set_up(command(ids, &[program(), "serve"]), ids, Vec::new())
    }

    /// Starts and sets up the agent that `command` becomes.
    pub(crate) fn set_up(command: Command, ids: Ids, seccomp: Vec<u64>) -> Self {
        let mut agent = Self::start(command);
        let filtered = !seccomp.is_empty();
        let setup = Setup {
            seccomp,
            rlimits: Rlimits::default(),
            output_bytes_max: 1 << 20,
            folders: Vec::new(),
            user: USER,
            owns_files: false,
        };
        let ready = agent.ask(&Request::Setup(setup), None).event;
        assert_eq!(ready, Event::Ready { protocol: PROTOCOL, other_uid: ids == Ids::Many, seccomp: filtered });
        agent
    }

    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.spawn().expect("unshare starts");
        let stdin = child.stdin.take();
        let mut stdout = child.stdout.take().expect("stdout is a pipe");
        let (sender, frames) = channel();
        thread::spawn(move || while frame(&mut stdout).is_some_and(|frame| sender.send(frame).is_ok()) {});
        Self { child, stdin, frames, early: HashMap::new(), last: 0 }
    }

    /// Writes a frame.
    pub(crate) fn send(&mut self, stream: u32, kind: Kind, body: &[u8]) {
        let stdin = self.stdin.as_mut().expect("the agent was not hung up on");
        stdin.write_all(&Header { length: body.len(), stream, kind }.encode()).expect("the agent listens");
        stdin.write_all(body).expect("the agent listens");
    }

    /// Opens a stream by a request; `data` follows and is ended.
    pub(crate) fn open(&mut self, request: &Request, data: Option<&[u8]>) -> u32 {
        self.last += 1;
        let stream = self.last;
        self.send(stream, Kind::Request, &serde_json::to_vec(request).expect("a request is JSON"));
        if let Some(data) = data {
            for part in data.chunks(BODY_BYTES_MAX) {
                self.send(stream, Kind::Data, part);
            }
            self.send(stream, Kind::End, &[]);
        }
        stream
    }

    /// The next frame of a stream; `None` once the agent is gone.
    pub(crate) fn next(&mut self, stream: u32) -> Option<(Kind, Vec<u8>)> {
        if let Some(early) = self.early.get_mut(&stream).filter(|early| !early.is_empty()) {
            return Some(early.remove(0));
        }
        loop {
            match self.frames.recv_timeout(ANSWER_MAX) {
                Ok((header, body)) if header.stream == stream => return Some((header.kind, body)),
                Ok((header, body)) => self.early.entry(header.stream).or_default().push((header.kind, body)),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => panic!("no answer on stream {stream}"),
            }
        }
    }

    /// True if a stream's last event was among what came while others were waited for.
    pub(crate) fn has_ended(&self, stream: u32) -> bool {
        self.early.get(&stream).is_some_and(|early| early.iter().any(|(kind, _)| *kind == Kind::Event))
    }

    /// Everything up to the event that ends a stream.
    pub(crate) fn finish(&mut self, stream: u32) -> Answer {
        let (mut output, mut error) = (Vec::new(), Vec::new());
        loop {
            match self.next(stream).expect("the agent is there") {
                (Kind::Output, bytes) => output.extend(bytes),
                (Kind::Error, bytes) => error.extend(bytes),
                (_, body) => {
                    let event = serde_json::from_slice(&body).expect("an event");
                    return Answer { output, error, event };
                }
            }
        }
    }

    /// Waits until a stream's output holds `text`; all of it so far.
    pub(crate) fn wait_for(&mut self, stream: u32, text: &str) -> String {
        let mut output = String::new();
        while !output.contains(text) {
            let (kind, bytes) = self.next(stream).expect("the agent is there");
            assert!(kind == Kind::Output, "{kind:?} {} after {output}", String::from_utf8_lossy(&bytes));
            output.push_str(&String::from_utf8_lossy(&bytes));
        }
        output
    }

    pub(crate) fn ask(&mut self, request: &Request, data: Option<&[u8]>) -> Answer {
        let stream = self.open(request, data);
        self.finish(stream)
    }

    /// Runs a command to its end.
    pub(crate) fn run(&mut self, exec: Exec, input: &[u8]) -> (Exited, Vec<u8>, Vec<u8>) {
        let stream = self.open(&Request::Exec(exec), Some(input));
        self.ran(stream)
    }

    /// Runs to the end of a command, with its output.
    pub(crate) fn ran(&mut self, stream: u32) -> (Exited, Vec<u8>, Vec<u8>) {
        let answer = self.finish(stream);
        let Event::Exited(exited) = answer.event else { panic!("{answer:?}") };
        (exited, answer.output, answer.error)
    }

    /// Output of a shell line; it must succeed.
    pub(crate) fn sh(&mut self, line: &str) -> String {
        let (exited, output, error) = self.run(shell(line), &[]);
        assert_eq!(exited.code, Some(0), "{line}: {}", String::from_utf8_lossy(&error));
        String::from_utf8(output).expect("text")
    }

    /// Asks what must be done.
    pub(crate) fn done(&mut self, request: &Request, data: Option<&[u8]>) -> Answer {
        let answer = self.ask(request, data);
        assert!(matches!(answer.event, Event::Done | Event::Packed { .. }), "{request:?}: {answer:?}");
        answer
    }

    /// Asks what must be refused.
    pub(crate) fn refused(&mut self, request: &Request, data: Option<&[u8]>) -> FailureCode {
        match self.ask(request, data).event {
            Event::Failed { code, .. } => code,
            other => panic!("{request:?}: {other:?}"),
        }
    }

    pub(crate) fn processes(&mut self) -> u64 {
        match self.ask(&Request::Stats, None).event {
            Event::Stats(stats) => stats.processes,
            other => panic!("{other:?}"),
        }
    }

    /// Hangs up, and waits until the agent is gone; whether it ended well.
    pub(crate) fn hang_up(mut self) -> bool {
        drop(self.stdin.take());
        self.child.wait().expect("unshare ends").success()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // It ends by itself, as one of the tests shows; where it does not, this ends all of its namespace.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn frame(stdout: &mut ChildStdout) -> Option<(Header, Vec<u8>)> {
    let mut header = [0; HEADER_BYTES];
    stdout.read_exact(&mut header).ok()?;
    let header = Header::decode(header).expect("a header");
    let mut body = vec![0; header.length];
    stdout.read_exact(&mut body).ok()?;
    Some((header, body))
}
