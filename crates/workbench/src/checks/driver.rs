//! Drivers: programs of the judge's that try those of the acting side. A driver runs as a user of its own, in a folder that nobody else
//! enters, and cannot enter the acting side's; what it tries is started for it as the acting side's user, by `$PROGRAM`. So neither can
//! read, trace or signal the other, and what the driver prints goes through a descriptor that no program of the acting side ever had.

use palestra_sandbox::sandbox::Bounds;
use palestra_sandbox::wire::{Programs, User};
use palestra_sandbox::{Command, Sandbox, SandboxError};

use super::archive::{Artefact, ArtefactKind, Artefacts};
use super::form::Run;

/// The user of drivers and hidden files: neither that of programs nor that of the sandbox's agent.
const JUDGE: User = User { uid: 65_532, gid: 65_532 };
/// The judge's folder.
const FOLDER: &str = "/judge";
/// A driver that is a line lies there: arguments of processes can be read by everybody.
const LINE: &str = "/judge/.line";
/// Permission bits that make something everybody's.
const EVERYBODY: u32 = 0o007;
/// Variables of a driver that no program shares: the program has those of the profile, or none.
const OWN_VARIABLES: [&str; 6] = ["HOME", "USER", "LOGNAME", "PWD", "OLDPWD", "SHLVL"];

/// Closes artefacts to the judge's user: a driver that touched them by itself would run or follow what the acting side wrote.
pub(super) fn close(laid: &mut Artefacts, folder: &str, there_already: &[String]) {
    // A folder that is there already stays open, so that all in it has to be closed.
    let is_made = folder != "/" && !there_already.iter().any(|other| other == folder);
    let below = format!("{folder}/");
    let closed: Vec<(String, Artefact)> = laid
        .iter()
        .filter(|(path, artefact)| {
            let is_link = matches!(artefact.kind, ArtefactKind::Link(_));
            !is_link && (!is_made || !path.starts_with(&below))
        })
        .map(|(path, artefact)| (path.to_owned(), Artefact { mode: artefact.mode & !EVERYBODY, ..artefact.clone() }))
        .collect();
    for (path, artefact) in closed {
        laid.put(path, artefact);
    }
}

/// Lays out the judge's folder.
pub(super) async fn furnish(
    driver: &Run,
    hidden: &[(String, u32, Vec<u8>)],
    sandbox: &Sandbox,
) -> Result<(), SandboxError> {
    let mut laid = Artefacts::default();
    laid.put(FOLDER, Artefact { kind: ArtefactKind::Folder, mode: 0o700 });
    for (path, mode, bytes) in hidden {
        laid.put(path.as_str(), Artefact { kind: ArtefactKind::File(bytes.clone()), mode: *mode });
    }
    if let Run::Line(line) = driver {
        laid.put(LINE, Artefact { kind: ArtefactKind::File(line.clone().into_bytes()), mode: 0o600 });
    }
    let archive = laid.pack().map_err(|error| SandboxError::Start(format!("hidden files: {error}")))?;
    let bounds = Bounds { bytes_max: laid.bytes().saturating_add(1), entries_max: laid.iter().count() as u64 };
    sandbox.unpack("/", Some(JUDGE), &archive, bounds).await
}

/// Command of a driver.
pub(super) fn command(driver: &Run, args: &[String]) -> Command {
    match driver {
        Run::Argv(argv) => Command::new(argv.iter().chain(args)),
        Run::Line(_) => Command::new(["sh", LINE]),
    }
}

/// Makes a command that of the judge's user, which may start programs in `folder` as the profile's user.
pub(super) fn set_apart(command: &mut Command, folder: &str, sandbox: &Sandbox) {
    let profile = sandbox.profile();
    let usual = |name: &str| {
        let mut named = profile.env.value.iter().chain(&sandbox.image().env).filter(|(other, _)| other == name);
        named.next().map(|(_, value)| value.clone())
    };
    let env = OWN_VARIABLES.map(|name| (name.to_owned(), usual(name))).to_vec();
    command.programs =
        Some(Programs { user: profile.user.value, folder: folder.to_owned(), env, place: FOLDER.to_owned() });
    command.user = Some(JUDGE);
    command.folder = Some(FOLDER.to_owned());
    for (name, value) in [("HOME", FOLDER), ("USER", "judge"), ("LOGNAME", "judge")] {
        command.env.retain(|(other, _)| other != name);
        command.env.push((name.to_owned(), value.to_owned()));
    }
}

/// A hint for authors whose driver reached for what is the acting side's.
pub(super) fn hint(stderr: &[u8]) -> &'static str {
    let denied = b"ermission denied";
    if stderr.windows(denied.len()).any(|window| window == denied) {
        "; a driver runs as a user of its own, to whom what is tried is closed: run and read it by \"$PROGRAM\""
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tried_programs_cannot_reach_the_judge() {
        let modes = |folder: &str, there: &[String]| {
            let mut laid = Artefacts::default();
            for (path, mode, kind) in [
                ("/w", 0o755, ArtefactKind::Folder),
                ("/w/run.sh", 0o755, ArtefactKind::File(Vec::new())),
                ("/else/run.sh", 0o755, ArtefactKind::File(Vec::new())),
                ("/w/link", 0o777, ArtefactKind::Link("/judge".to_owned())),
            ] {
                laid.put(path, Artefact { kind, mode });
            }
            close(&mut laid, folder, there);
            ["/w", "/w/run.sh", "/else/run.sh", "/w/link"].map(|path| laid.find(path).expect("it is there").mode)
        };
        assert_eq!(modes("/w", &[]), [0o750, 0o755, 0o750, 0o777]);
        assert_eq!(modes("/w", &["/w".to_owned()]), [0o750, 0o750, 0o750, 0o777]);
        assert_eq!(modes("/", &[]), [0o750, 0o750, 0o750, 0o777]);
    }
}
