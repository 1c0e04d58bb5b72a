//! Errors of requests.

use std::fmt::{self, Display, Formatter};
use std::io;

use nix::errno::Errno;

use crate::wire::{Event, FailureCode};

/// Longest explanation, in characters: what it quotes may be the sandbox's own.
const DETAIL_LETTERS_MAX: usize = 1_000;

#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: FailureCode,
    detail: String,
}

impl Failure {
    pub(crate) fn new(code: FailureCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into() }
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(FailureCode::Invalid, detail)
    }

    pub(crate) fn wrong_kind(detail: impl Into<String>) -> Self {
        Self::new(FailureCode::WrongKind, detail)
    }

    pub(crate) fn too_large(detail: impl Into<String>) -> Self {
        Self::new(FailureCode::TooLarge, detail)
    }

    /// Failure of a system call in `what`.
    pub(crate) fn kernel(errno: Errno, what: impl Display) -> Self {
        let code = match errno {
            Errno::ENOENT => FailureCode::NotFound,
            Errno::ELOOP | Errno::ENOTDIR | Errno::EISDIR | Errno::ENXIO => FailureCode::WrongKind,
            Errno::EFBIG => FailureCode::TooLarge,
            Errno::ENOSPC | Errno::EDQUOT | Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM | Errno::EAGAIN => {
                FailureCode::Exhausted
            }
            Errno::EINVAL | Errno::ENAMETOOLONG => FailureCode::Invalid,
            _ => FailureCode::Failed,
        };
        Self::new(code, format!("{what}: {}", errno.desc()))
    }

    /// Likewise, where the standard library asked it.
    pub(crate) fn io(error: &io::Error, what: impl Display) -> Self {
        match error.raw_os_error() {
            Some(number) => Self::kernel(Errno::from_raw(number), what),
            None => Self::new(FailureCode::Failed, format!("{what}: {error}")),
        }
    }

    pub(crate) fn event(self) -> Event {
        Event::Failed { code: self.code, detail: self.detail.chars().take(DETAIL_LETTERS_MAX).collect() }
    }
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.detail)
    }
}
