//! The end of a sandbox that was lost, as its back end can tell it: by facts that nothing inside can write.

/// Causes of the end of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Its own use ended it: a limit of its own was reached.
    OwnLimit(OwnLimit, String),
    /// The machine, the engine or whoever rules them ended it.
    Host(String),
    /// No fact names anybody; says what is known.
    Unknown(String),
}

/// A limit of a sandbox whose excess ends all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnLimit {
    /// Memory, with all that outlives processes.
    Memory,
    /// Bytes or files of its disk.
    Disk,
}

impl OwnLimit {
    /// Its name as in a profile.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Disk => "disk",
        }
    }
}

/// The end of a sandbox's first process, as its parent was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstProcess {
    /// It did not end.
    Runs,
    /// A signal ended it. Nothing inside can send it one that does.
    Killed(i32),
    /// It returned this.
    Returned(i32),
}

/// Added to the number of a signal by programs that hand on how their child ended.
const BY_SIGNAL: i32 = 128;
/// Signals that come from outside alone: the kernel keeps those of the sandbox from its first process.
const FROM_OUTSIDE: [i32; 2] = [9, 15];

impl FirstProcess {
    /// Reads a code that its parent handed on.
    pub(crate) fn of_code(code: i32) -> Self {
        if code > BY_SIGNAL { Self::Killed(code - BY_SIGNAL) } else { Self::Returned(code) }
    }
}

impl Ending {
    /// Draws the conclusion from the end of the first process, and from what the sandbox's own control group says of its memory:
    /// `Some` where the kernel ended one of its processes because it had reached its limit.
    pub(crate) fn of(first: FirstProcess, out_of_memory: Option<String>) -> Self {
        match (first, out_of_memory) {
            (FirstProcess::Killed(9), Some(fact)) => Self::OwnLimit(OwnLimit::Memory, fact),
            (FirstProcess::Killed(signal), _) if FROM_OUTSIDE.contains(&signal) => {
                Self::Host(format!("signal {signal} from outside ended its first process"))
            }
            (FirstProcess::Killed(signal), _) => Self::Unknown(format!("signal {signal} ended its first process")),
            (FirstProcess::Returned(code), _) => Self::Unknown(format!("its first process returned {code}")),
            (FirstProcess::Runs, _) => Self::Unknown("its first process runs and does not answer".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_own_limit_or_the_host_is_named() {
        let memory = || Some("1 process was ended".to_owned());
        assert!(matches!(Ending::of(FirstProcess::of_code(137), memory()), Ending::OwnLimit(OwnLimit::Memory, _)));
        assert!(matches!(Ending::of(FirstProcess::of_code(137), None), Ending::Host(_)));
        assert!(matches!(Ending::of(FirstProcess::of_code(143), memory()), Ending::Host(_)));
        for code in [0, 1, 134, 139] {
            assert!(matches!(Ending::of(FirstProcess::of_code(code), memory()), Ending::Unknown(_)), "{code}");
        }
        assert!(matches!(Ending::of(FirstProcess::Runs, memory()), Ending::Unknown(_)));
    }
}
