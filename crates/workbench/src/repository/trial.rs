//! One run of an instance's tests on a clean tree with some patch: what admission and judging are made of.

use std::collections::BTreeSet;
use std::time::Duration;

use palestra_sandbox::pool::SandboxSpec;
use palestra_sandbox::sandbox::Sandbox;
use palestra_sandbox::{Command, SandboxError};
use sha2::{Digest as _, Sha256};

use super::canary::Canary;
use super::git::{Git, Trouble, words};
use super::instance::Instance;
use super::log::{LogParser, Results};
use super::patch;
use super::prepare::{Prepared, furnished};
use super::protected::Protected;
use crate::work::Workbench;
use palestra_state::secrets::Secrets;

/// Longest report.
const REPORT_BYTES_MAX: u64 = 32 << 20;
/// Bytes that the tests may print before their output is cut; a report that stands there is then incomplete.
const OUTPUT_BYTES_MAX: u64 = 16 << 20;
/// Paths that are named where a patch may not change them.
const NAMED_MAX: usize = 20;

/// Outcome of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trial {
    /// Outcome.
    pub outcome: Outcome,
    /// Paths that the patch changed and that stayed as they were, at most some.
    pub restored: Vec<String>,
    /// Error of a module that the tests could not import.
    pub(super) import_error: Option<String>,
}

/// Stage that a run reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The patch does not apply to the base commit.
    Unapplied(String),
    /// The tests could not be laid over the patched tree.
    Obstructed(String),
    /// The tests ran and there is no report that could be read.
    Unreported(String),
    /// Results that the tests reported.
    Reported(Results),
}

/// Runs the tests on the base commit with a patch. `secrets` name nothing but the canary and the folder of the report.
///
/// # Errors
/// When the sandbox fails.
pub(super) async fn trial(
    candidate: &[u8],
    instance: &Instance,
    prepared: &Prepared,
    secrets: Secrets,
    workbench: &Workbench,
) -> Result<Trial, Trouble> {
    let want = SandboxSpec::new(None, &instance.image, "judge");
    let sandbox = furnished(&want, prepared, workbench).await?;
    let trial = run(&sandbox, candidate, instance, prepared, secrets).await;
    sandbox.destroy(true).await;
    trial
}

async fn run(
    sandbox: &Sandbox,
    candidate: &[u8],
    instance: &Instance,
    prepared: &Prepared,
    secrets: Secrets,
) -> Result<Trial, Trouble> {
    let git = Git::new(sandbox, instance.folder());
    let mut restored = Vec::new();
    let mut import_error = None;
    let outcome = async {
        match lay(&git, candidate, instance, prepared, &mut restored).await? {
            Some(outcome) => Ok(outcome),
            None => test(sandbox, instance, prepared, candidate, secrets, &mut import_error).await,
        }
    };
    let outcome = match outcome.await {
        // Whether the patch or the instance is to blame is seen by trying another patch.
        Err(Trouble::Instance(why) | Trouble::Sandbox(SandboxError::Refused { detail: why, .. })) => {
            Outcome::Obstructed(why)
        }
        other => other?,
    };
    Ok(Trial { outcome, restored, import_error })
}

/// Makes the tree that is tested: the base commit, the patch but for what it may not change, the tests. All of it happens in git's
/// index, so that no file of the patch lies anywhere before its paths were looked at. `None` once the tree is there.
async fn lay(
    git: &Git<'_>,
    candidate: &[u8],
    instance: &Instance,
    prepared: &Prepared,
    restored: &mut Vec<String>,
) -> Result<Option<Outcome>, Trouble> {
    let base = prepared.commit.as_str();
    if !candidate.iter().all(u8::is_ascii_whitespace) {
        // The second try is for patches that somebody wrote by hand, whose counts and blanks are often a little wrong.
        let exact = git.run(&["apply", "--cached", "--whitespace=nowarn", "-"], candidate).await?;
        let lenient = ["apply", "--cached", "--whitespace=nowarn", "--recount", "--ignore-whitespace", "-C1", "-"];
        if !exact.success() && !git.run(&lenient, candidate).await?.success() {
            return Ok(Some(Outcome::Unapplied(words(&exact))));
        }
    }
    let protected = Protected::of(instance).map_err(Trouble::Instance)?;
    let changed = git.must(&["diff", "--cached", "--name-only", "--no-renames", "-z", base], b"").await?;
    let held: Vec<&[u8]> = changed.split(|byte| *byte == 0).filter(|path| protected.holds(path)).collect();
    if !held.is_empty() {
        restored.extend(held.iter().take(NAMED_MAX).map(|path| String::from_utf8_lossy(path).into_owned()));
        let paths = held.join(&0);
        git.must(&["reset", "-q", base, "--pathspec-from-file=-", "--pathspec-file-nul"], &paths).await?;
    }
    let tests = git.run(&["apply", "--cached", "--whitespace=nowarn", "-"], instance.test_patch.as_bytes()).await?;
    if !tests.success() {
        return Ok(Some(Outcome::Obstructed(format!("the test patch does not apply: {}", words(&tests)))));
    }
    let tree = git.line(&["write-tree"]).await?;
    let commit = git.line(&["commit-tree", "-m", "Tested", "-p", base, &tree]).await?;
    let laid = git.run(&["reset", "-q", "--hard", &commit], b"").await?;
    Ok((!laid.success()).then(|| Outcome::Obstructed(format!("the tree cannot be laid out: {}", words(&laid)))))
}

/// Hexadecimal digits that nobody can foresee, alike whenever the patch is judged again.
fn nonce(secrets: Secrets, commit: &str, candidate: &[u8]) -> String {
    let before = |seed: u64| {
        let mut hash = Sha256::new();
        for part in [&seed.to_le_bytes()[..], commit.as_bytes(), candidate] {
            hash.update(part);
        }
        hash.finalize().into()
    };
    hex::encode(&secrets.derive("report of a repository", &[commit.as_bytes(), candidate], before)[..16])
}

/// Errors of Python at the import of a module.
const IMPORT_ERRORS: [&str; 4] = ["ModuleNotFoundError: ", "ImportError: ", "SyntaxError: ", "IndentationError: "];

/// Runs the test command, kills all that is left of it, and reads the report.
async fn test(
    sandbox: &Sandbox,
    instance: &Instance,
    prepared: &Prepared,
    candidate: &[u8],
    secrets: Secrets,
    import_error: &mut Option<String>,
) -> Result<Outcome, Trouble> {
    let user = sandbox.profile().user.value;
    // A path that nobody can have prepared for, in a folder that did not exist before.
    let nonce = nonce(secrets, &prepared.commit, candidate);
    let outside = format!("/judge/{nonce}");
    sandbox.write(&format!("{outside}/README"), 0o644, user, b"The report goes here.\n").await?;
    let report = format!("{outside}/report");
    let own = instance.junit_path.as_ref().map(|path| format!("{}/{path}", instance.folder()));
    if let Some(path) = &own {
        // What lies there now is not what the tests report.
        sandbox.exec(&Command::new(["rm", "-rf", "--", path])).await?;
    }
    let canary = Canary::of(instance, &nonce);
    if let Some(canary) = &canary {
        let path = format!("{}/{}", instance.folder(), canary.path);
        sandbox.write(&path, 0o644, user, canary.text().as_bytes()).await?;
    }
    let line = command_line(instance, &report, canary.as_ref());
    let mut command = Command::shell(line).folder(instance.folder());
    command.env = instance.env.clone().into_iter().collect();
    command.wall = Some(Duration::from_secs(instance.timeout_s));
    command.output_bytes_max = Some(OUTPUT_BYTES_MAX);
    command.merge = true;
    command.alone = true;
    let output = sandbox.exec(&command).await?;
    sandbox.kill().await?;
    *import_error = import_error_in(&String::from_utf8_lossy(&output.stdout));
    if output.exited.timed_out {
        return Ok(Outcome::Unreported(format!("the tests did not end within {} s", instance.timeout_s)));
    }
    let path = own.or_else(|| instance.test_command.contains("{report}").then_some(report));
    let bytes = match path {
        Some(path) => match sandbox.read(&path, REPORT_BYTES_MAX).await {
            Ok(bytes) => bytes,
            Err(SandboxError::Refused { .. }) => {
                return Ok(Outcome::Unreported(format!("the tests left no report; {}", words(&output))));
            }
            Err(error) => return Err(error.into()),
        },
        None if output.exited.output_omitted_bytes > 0 => {
            return Ok(Outcome::Unreported("the tests printed more than 16 MiB".to_owned()));
        }
        None => output.stdout.clone(),
    };
    Ok(match instance.log_parser.read(&bytes) {
        Ok(results) => Outcome::Reported(match canary {
            Some(canary) => canary.examine(results),
            None => results,
        }),
        Err(error) => Outcome::Unreported(format!("{error}; {}", words(&output))),
    })
}

/// The first error of Python about a module that tests cannot import, with the file that it is told of.
fn import_error_in(printed: &str) -> Option<String> {
    let mut file = None;
    for line in printed.lines() {
        let line = line.trim_start_matches(['_', ' ', 'E']).trim();
        if let Some(named) = line.strip_prefix("RROR collecting ").or_else(|| line.strip_prefix("ERROR collecting ")) {
            file = Some(named.trim_end_matches(['_', ' ']).to_owned());
        }
        if IMPORT_ERRORS.iter().any(|error| line.starts_with(error)) {
            return Some(file.map_or_else(|| line.to_owned(), |file| format!("{file}: {line}")));
        }
    }
    None
}

fn command_line(instance: &Instance, report: &str, canary: Option<&Canary>) -> String {
    let mut files: BTreeSet<String> = match instance.log_parser {
        // Node ids begin with their file.
        LogParser::Pytest => {
            let ids = instance.fail_to_pass.iter().chain(&instance.pass_to_pass);
            ids.filter_map(|id| Some(id.split_once("::")?.0.to_owned())).collect()
        }
        _ => patch::paths(&instance.test_patch).into_iter().collect(),
    };
    files.extend(canary.map(|canary| canary.path.clone()));
    let files: Vec<String> = files.iter().map(|path| quoted(path)).collect();
    instance.test_command.replace("{report}", report).replace("{test_files}", &files.join(" "))
}

/// A word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::import_error_in;

    #[test]
    fn the_error_of_an_import_is_found_with_its_file() {
        let printed = "==== ERRORS ====\n___ ERROR collecting tests/test_a.py ___\nImportError while importing test module 'x'.\n\
                       Traceback:\nE   ModuleNotFoundError: No module named 'requests_mock'\n";
        let found = import_error_in(printed);
        assert_eq!(found.as_deref(), Some("tests/test_a.py: ModuleNotFoundError: No module named 'requests_mock'"));
        assert_eq!(import_error_in("2 passed"), None);
    }
}
