//! Writes answers, one after the other, on a thread of its own, so that sessions go on while the server reads slowly.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::wire::{Answer, FRAME_MAX, Response};

/// Answers that may wait. Beyond them whoever has one waits.
const WAITING_MAX: usize = 256;
/// Milliseconds after which a server that reads nothing is gone.
const GONE_MS: u16 = 60_000;
/// Bytes that a pipe with any room takes at once.
const CHUNK: usize = 4_096;

/// The way out.
#[derive(Clone)]
pub struct Outgoing(SyncSender<Vec<u8>>);

impl Outgoing {
    /// Starts the thread that writes.
    #[must_use]
    pub fn start(output: impl Write + AsFd + Send + 'static) -> Self {
        let (sender, frames) = sync_channel(WAITING_MAX);
        std::thread::spawn(move || {
            // Without anybody who reads there is nothing left to do, and requests would wait for ever. That nobody sends any more is
            // the usual end instead, which whoever started this makes.
            if write_all(&frames, output).is_err() {
                std::process::exit(1);
            }
        });
        Self(sender)
    }

    /// Sends an answer.
    pub fn send(&self, id: u64, answer: Answer) {
        let frame = encode(&Response { id, answer }).unwrap_or_else(|| {
            let answer = Answer::Wrong(format!("the answer is larger than {FRAME_MAX} bytes"));
            encode(&Response { id, answer }).unwrap_or_default()
        });
        // That nobody takes it means that the process ends.
        let _ = self.0.send(frame);
    }
}

fn encode(response: &Response) -> Option<Vec<u8>> {
    let mut frame = postcard::to_extend(response, vec![0; 4]).ok()?;
    let len = frame.len() - 4;
    let prefix = u32::try_from(len).ok().filter(|_| len <= FRAME_MAX)?;
    frame[..4].copy_from_slice(&prefix.to_le_bytes());
    Some(frame)
}

fn write_all(frames: &Receiver<Vec<u8>>, mut output: impl Write + AsFd) -> io::Result<()> {
    while let Ok(frame) = frames.recv() {
        for chunk in frame.chunks(CHUNK) {
            let ready = poll(&mut [PollFd::new(output.as_fd(), PollFlags::POLLOUT)], PollTimeout::from(GONE_MS))?;
            if ready == 0 {
                return Err(io::ErrorKind::TimedOut.into());
            }
            output.write_all(chunk)?;
            output.flush()?;
        }
    }
    Ok(())
}
