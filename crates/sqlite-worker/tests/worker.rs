//! A worker process and what is said to it.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use palestra_sqlite_worker::wire::{
    Access, Answer, Ask, Content, Limits, Request, Response, SqlError, StepResult, Value,
};

pub(crate) const LIMITS: Limits =
    Limits { statement_ms: 2_000, rows_max: 1_000, bytes_max: 1 << 20, memory_max: 32 << 20, growth_max: 16 << 20 };

pub(crate) struct Worker {
    pub(crate) process: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    next: u64,
    early: Vec<Response>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.input.take();
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Worker {
    /// CPU time that it took so far.
    pub(crate) fn cpu(&self) -> std::time::Duration {
        palestra_test_support::cpu::of_process(self.process.id())
    }

    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    pub(crate) fn start_with(arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_sqlite-worker"))
            .args(arguments)
            .env("SECRET_OF_THE_SERVER", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the worker starts");
        let (input, output) = (process.stdin.take(), process.stdout.take().expect("a pipe"));
        Self { process, input, output, next: 0, early: Vec::new() }
    }

    /// Sends a request and gives its number.
    pub(crate) fn send(&mut self, ask: Ask) -> u64 {
        self.next += 1;
        let mut frame = vec![0; 4];
        frame = postcard::to_extend(&Request { id: self.next, ask }, frame).expect("a frame");
        let len = u32::try_from(frame.len() - 4).expect("short");
        frame[..4].copy_from_slice(&len.to_le_bytes());
        self.input.as_mut().expect("open").write_all(&frame).expect("the worker reads");
        self.next
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.input.as_mut().expect("open").write_all(bytes).expect("the worker reads");
    }

    pub(crate) fn end_input(&mut self) {
        self.input.take();
    }

    /// The answer to a request.
    pub(crate) fn answer(&mut self, id: u64) -> Answer {
        loop {
            if let Some(at) = self.early.iter().position(|response| response.id == id) {
                return self.early.swap_remove(at).answer;
            }
            let response = self.read();
            self.early.push(response);
        }
    }

    /// The answer to a request, if it comes in time.
    pub(crate) fn answer_within(&mut self, id: u64, time: Duration) -> Option<Answer> {
        let ready = |output: &ChildStdout| {
            let millis = u16::try_from(time.as_millis()).expect("short");
            poll(&mut [PollFd::new(output.as_fd(), PollFlags::POLLIN)], PollTimeout::from(millis)).expect("a pipe") > 0
        };
        while self.early.iter().all(|response| response.id != id) {
            if !ready(&self.output) {
                return None;
            }
            let response = self.read();
            self.early.push(response);
        }
        Some(self.answer(id))
    }

    fn read(&mut self) -> Response {
        let mut len = [0; 4];
        self.output.read_exact(&mut len).expect("the worker lives");
        let mut frame = vec![0; u32::from_le_bytes(len) as usize];
        self.output.read_exact(&mut frame).expect("a whole frame");
        postcard::from_bytes(&frame).expect("a response")
    }

    pub(crate) fn ask(&mut self, ask: Ask) -> Answer {
        let id = self.send(ask);
        self.answer(id)
    }

    pub(crate) fn template(&mut self, name: &str, sql: &str) {
        let content = Content::Script(sql.into());
        let made = self.ask(Ask::Prepare { template: name.to_owned(), content, limits: LIMITS });
        assert!(matches!(made, Answer::Prepared(Ok(_))), "{made:?}");
    }

    pub(crate) fn open(&mut self, session: u64, template: &str, access: Access) {
        let opened = self.ask(Ask::Open { session, template: template.to_owned(), access, limits: LIMITS, seed: 7 });
        assert_eq!(opened, Answer::Done);
    }

    pub(crate) fn run_with(&mut self, session: u64, seq: u64, sql: &str, parameters: Vec<Value>) -> StepResult {
        let now_ms = 1_767_225_600_000 + i64::try_from(seq).expect("small") * 1_000;
        match self.ask(Ask::Run { session, seq, sql: sql.to_owned(), parameters, now_ms }) {
            Answer::Ran(ran) => ran,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn run(&mut self, session: u64, seq: u64, sql: &str) -> StepResult {
        self.run_with(session, seq, sql, Vec::new())
    }

    /// The error of a step, which must have one.
    pub(crate) fn fail(&mut self, session: u64, seq: u64, sql: &str) -> SqlError {
        let ran = self.run(session, seq, sql);
        ran.error.clone().unwrap_or_else(|| panic!("{sql:.200} gave {:.300}", format!("{ran:?}")))
    }

    /// The only value of the last statement's only row.
    pub(crate) fn value(&mut self, session: u64, seq: u64, sql: &str) -> Value {
        let ran = self.run(session, seq, sql);
        assert_eq!(ran.error, None, "{sql}");
        ran.results.last().and_then(|result| result.rows.first()?.first()).expect("a value").clone()
    }

    pub(crate) fn rewind(&mut self, session: u64, seq: u64) -> bool {
        match self.ask(Ask::Rewind { session, seq }) {
            Answer::Rewound(done) => done,
            other => panic!("{other:?}"),
        }
    }
}
