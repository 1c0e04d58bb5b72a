//! Frames that arrive on standard input.

use std::io;

use nix::errno::Errno;
use nix::unistd::read;

use crate::wire::{HEADER_BYTES, Header};

const READ_BYTES: usize = 64 * 1024;

/// Bytes of an incomplete frame: at most one frame and one read.
#[derive(Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    taken: usize,
}

impl Inbox {
    /// Takes in a frame as if it had been read.
    #[cfg(test)]
    pub(crate) fn put(&mut self, stream: u32, kind: crate::wire::Kind, body: &[u8]) {
        self.bytes.extend(Header { stream, kind, length: body.len() }.encode());
        self.bytes.extend(body);
    }

    /// Reads once; `false` when the server hung up. Call it only after [`Inbox::next`] had nothing more.
    pub(crate) fn fill(&mut self) -> io::Result<bool> {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        if self.bytes.is_empty() {
            // A long frame must not cost its memory for ever.
            self.bytes.shrink_to(READ_BYTES);
        }
        let held = self.bytes.len();
        self.bytes.resize(held + READ_BYTES, 0);
        let taken = read(io::stdin(), &mut self.bytes[held..]);
        self.bytes.truncate(held + taken.unwrap_or(0));
        match taken {
            Ok(count) => Ok(count > 0),
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(true),
            Err(errno) => Err(errno.into()),
        }
    }

    /// True if [`Inbox::next`] has something to say.
    pub(crate) fn has_next(&self) -> bool {
        let rest = &self.bytes[self.taken..];
        let Some((header, rest)) = rest.split_first_chunk::<HEADER_BYTES>() else { return false };
        Header::decode(*header).map_or(true, |header| rest.len() >= header.length)
    }

    /// The next whole frame; `None` when more has to be read first.
    ///
    /// # Errors
    /// In words, when what arrived is no frame.
    pub(crate) fn next(&mut self) -> Result<Option<(Header, Vec<u8>)>, String> {
        let rest = &self.bytes[self.taken..];
        let Some((header, rest)) = rest.split_first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let header = Header::decode(*header)?;
        let Some(body) = rest.get(..header.length) else { return Ok(None) };
        let body = body.to_vec();
        self.taken += HEADER_BYTES + header.length;
        Ok(Some((header, body)))
    }
}
