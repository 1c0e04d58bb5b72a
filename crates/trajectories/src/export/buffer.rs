//! Bytes that a file writer has written and an exporter has not yet sent.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// A growing piece of a file, shared with the writer that fills it.
#[derive(Debug, Clone, Default)]
pub(super) struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    /// Moves what was written since the last time to the end of `out`.
    pub(super) fn drain_to(&self, out: &mut Vec<u8>) {
        out.append(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
