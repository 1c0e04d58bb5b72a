//! Facts about a process while its record is read.

use std::collections::BTreeSet;

use palestra_sandbox::watch::Ran;

use super::words;

/// A process.
#[derive(Debug, Clone, Default)]
pub(super) struct Process {
    pub(super) parent: i32,
    /// True if it is a program of the acting side, run as one of its own.
    pub(super) is_program: bool,
    pub(super) exe: String,
    pub(super) folder: String,
    pub(super) argv: Vec<String>,
    /// Arguments that could be paths, absolute.
    pub(super) paths: BTreeSet<String>,
    /// The judge's own files that it has read since it became what it is.
    pub(super) texts: BTreeSet<String>,
    /// True if one of its arguments may be the judge's code.
    pub(super) is_told: bool,
    /// True if it read data of the acting side's that it was handed, and holds none of the judge's code: it may do what that says.
    pub(super) is_swayed: bool,
    /// A file of the acting side's that it found by itself in a folder which it was sent to: it may start programs because of it.
    pub(super) led_by: Option<String>,
    /// Files that it opened for writing.
    pub(super) wrote: BTreeSet<String>,
    /// Compiled modules that it looked for: folder and stem.
    pub(super) looked_for: BTreeSet<(String, String)>,
    /// Possible standard input, opened by a shell.
    pub(super) reads: Option<String>,
    /// Files that it holds as its parent does, since it became what it is.
    pub(super) shared: BTreeSet<String>,
    /// Files that it opened since it last started a process.
    pub(super) opened: BTreeSet<String>,
    /// Files that its maker opened for it alone: some shells redirect themselves, and not what they start.
    pub(super) got: BTreeSet<String>,
}

impl Process {
    /// True if it holds code of the judge's: tests that it read, or an argument.
    pub(super) fn holds_tests(&self) -> bool {
        !self.texts.is_empty() || (self.is_told && words::carries_out(&self.exe))
    }

    /// True if it was handed a path as an argument, and nothing of the judge's beside it.
    pub(super) fn is_handed(&self, path: &str) -> bool {
        self.texts.is_empty() && !self.is_told && self.paths.contains(path)
    }

    /// True if it was handed a path, or a folder that it lies in.
    pub(super) fn is_sent_to(&self, path: &str) -> bool {
        self.paths.iter().any(|handed| handed != "/" && is_below(path, handed))
    }

    /// True if its arguments ask for a program: by its name, or with all of its code.
    pub(super) fn asks_for(&self, ran: &Ran) -> bool {
        match ran.argv.as_slice() {
            [_, option, code, ..] if option == "-c" => {
                self.argv.iter().any(|argument| argument.contains(code.as_str()))
            }
            _ => self.argv.iter().any(|argument| words::names(argument, &ran.given)),
        }
    }

    /// A shell's name for it.
    pub(super) fn line(&self) -> String {
        line(&self.argv)
    }
}

/// Arguments as a shell has them, shortened.
pub(super) fn line(argv: &[String]) -> String {
    let line = argv.join(" ");
    let mut line: String = line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(81).collect();
    if line.chars().count() > 80 {
        line.pop();
        line.push('…');
    }
    line
}

/// The arguments that may be files which a program is handed, values of options among them, but not the module or code that one names.
pub(super) fn handed<'a>(exe: &'a str, argv: &'a [String]) -> impl Iterator<Item = &'a str> {
    let pairs = argv.iter().zip(argv.iter().skip(1));
    let given = pairs.filter(move |(before, _)| !words::names_code(exe, before)).map(|(_, argument)| argument.as_str());
    given.filter_map(|argument| match argument.split_once('=') {
        Some((option, value)) if option.starts_with("--") => Some(value),
        _ => (!argument.starts_with('-')).then_some(argument),
    })
}

/// A path as it is seen from a folder, without dots.
pub(super) fn resolved(path: &str, folder: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") };
    let mut parts = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// True if `path` is `folder` or below it.
pub(super) fn is_below(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}
