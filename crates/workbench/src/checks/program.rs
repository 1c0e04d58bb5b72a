//! Checks of what programs do: each runs in a sandbox of its own, where the artefacts lie at their places, and for a driver the
//! hidden files below `/judge`. Whatever a program writes is gone when the next check begins; between the cases of one check every
//! process is killed.

use std::collections::BTreeMap;
use std::time::Duration;

use palestra_sandbox::sandbox::Bounds;
use palestra_sandbox::wire::{FailureCode, User};
use palestra_sandbox::{Command, Output, Sandbox, SandboxError, SandboxSpec};

use super::archive::{Artefact, ArtefactKind, Artefacts};
use super::driver;
use super::form::{CaseForm, CheckForm, Run};
use super::text::TextForm;
use crate::work::{JudgeError, Workbench};

/// Longest run where the check says nothing, in milliseconds.
const RUN_MS: u64 = 10_000;
/// Bytes of output of a run that are compared; one that prints more fails.
const OUTPUT_BYTES_MAX: u64 = 4 << 20;
/// Sandboxes that one run may take down before judging is given up.
const ATTEMPTS: u32 = 2;
/// Entries beside the artefacts' own.
const ENTRIES_SPARE: u64 = 64;

/// Configuration of every git in a judging sandbox: a repository that comes with the artefacts starts no program of its own, and its
/// usual settings hide nothing. A list cannot name every filter and mark in an index, so that drivers of shipped tasks ask a copy of
/// objects and references.
const GIT: [(&str, &str); 20] = [
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.hooksPath", "/dev/null"),
    // What these hold of commits and packs was written beside them.
    ("core.commitGraph", "false"),
    ("core.multiPackIndex", "false"),
    // A file counts as unchanged where all that is known of it is unchanged.
    ("core.checkStat", "default"),
    ("core.ignoreStat", "false"),
    ("core.trustctime", "true"),
    ("core.untrackedCache", "false"),
    ("status.showUntrackedFiles", "normal"),
    // Nothing is packed or pruned beside a check.
    ("gc.auto", "0"),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.editor", "true"),
    ("core.sshCommand", "false"),
    ("log.showSignature", "false"),
    ("gpg.program", "false"),
    ("gpg.ssh.program", "false"),
    ("credential.helper", ""),
    ("safe.directory", "*"),
];

/// Where programs are checked.
pub struct CheckRunner<'a> {
    /// Sandboxes.
    pub workbench: &'a Workbench,
    /// The kind.
    pub want: SandboxSpec,
    /// Where programs start.
    pub folder: &'a str,
    /// Artefacts of the acting side.
    pub artefacts: &'a Artefacts,
    /// Answer that was submitted.
    pub answer: Option<&'a str>,
    /// Hidden files by absolute path, with permission bits.
    pub hidden: &'a [(String, u32, Vec<u8>)],
    /// True if the task has drivers, to which hidden files belong. A task from before there were any lays them beside what it tries.
    pub has_drivers: bool,
    /// More environment.
    pub env: &'a BTreeMap<String, String>,
}

/// Outcome of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// In [0, 1].
    pub score: f64,
    /// Evidence.
    pub evidence: String,
    /// Reason why nobody may learn from the score: what was tried could have written it.
    pub distrusted: Option<String>,
}

impl Found {
    /// The evidence, with why it is not to be trusted.
    #[must_use]
    pub fn message(&self) -> String {
        let Self { evidence, distrusted, .. } = self;
        distrusted.as_ref().map_or_else(|| evidence.clone(), |why| format!("{evidence}; not trainable: {why}"))
    }
}

impl CheckRunner<'_> {
    /// Evaluates a check.
    ///
    /// # Errors
    /// When no sandbox can be had, or each one that it ran in was lost.
    pub async fn test(&self, check: &CheckForm) -> Result<Found, JudgeError> {
        if let Some(found) = self.data(check) {
            return Ok(found);
        }
        let mut attempt = 1;
        loop {
            match self.attempt(check).await {
                // Programs may have taken it down: once more, then somebody has to look.
                Err(SandboxError::Lost(_)) if attempt < ATTEMPTS => attempt += 1,
                Err(error) => return Err(error.into()),
                Ok(found) => return Ok(found),
            }
        }
    }

    /// The outcome of a check that looks at data alone.
    fn data(&self, check: &CheckForm) -> Option<Found> {
        if let Some(file) = &check.file {
            return Some(outcome(check.test_file(file, self.folder, self.artefacts)));
        }
        let wanted = check.answer.as_ref()?;
        let answer = self.answer.ok_or_else(|| "no answer was submitted".to_owned());
        Some(outcome(
            answer.and_then(|answer| wanted.test(answer.as_bytes()).map_err(|why| format!("the answer: {why}"))),
        ))
    }

    async fn attempt(&self, check: &CheckForm) -> Result<Found, SandboxError> {
        let mut scores = Vec::new();
        let mut evidence = Vec::new();
        let mut distrusted = None;
        let parts = if check.all.is_empty() { std::slice::from_ref(check) } else { check.all.as_slice() };
        for part in parts {
            let found = match (self.data(part), part.all.is_empty()) {
                (Some(found), _) => found,
                (None, false) => Box::pin(self.attempt(part)).await?,
                (None, true) => self.run(part).await?,
            };
            scores.push(found.score);
            if found.score < 1.0 {
                evidence.push(found.evidence);
            }
            distrusted = distrusted.or(found.distrusted);
        }
        let score = if check.all.is_empty() {
            scores.first().copied().unwrap_or_default()
        } else if scores.iter().all(|score| *score >= 1.0) {
            1.0
        } else {
            0.0
        };
        let evidence = if evidence.is_empty() { "it holds".to_owned() } else { evidence.join("; ") };
        Ok(Found { score, evidence, distrusted })
    }

    async fn run(&self, check: &CheckForm) -> Result<Found, SandboxError> {
        let sandbox = self.workbench.sandboxes.take(&self.want).await?;
        let found = async {
            self.furnish(check, &sandbox).await?;
            self.cases(check, &sandbox).await
        };
        let found = found.await;
        sandbox.destroy(true).await;
        found
    }

    async fn cases(&self, check: &CheckForm, sandbox: &Sandbox) -> Result<Found, SandboxError> {
        let single = [CaseForm::default()];
        let cases = if check.cases.is_empty() { single.as_slice() } else { check.cases.as_slice() };
        let mut passed = 0_u32;
        let mut evidence = String::new();
        for (index, case) in cases.iter().enumerate() {
            if index > 0 {
                sandbox.kill().await?;
            }
            match sandbox.exec(&self.command(check, case, sandbox)).await.map(|output| judged(check, case, &output)) {
                Ok(Ok(())) => passed += 1,
                Ok(Err(why)) if evidence.is_empty() => evidence = case_evidence(check, index, &why),
                Ok(Err(_)) => {}
                Err(error) if error.is(FailureCode::NotStarted) || error.is(FailureCode::Exhausted) => {
                    evidence = case_evidence(check, index, &error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        let score = f64::from(passed) / cases.len() as f64;
        let evidence = if evidence.is_empty() { "it holds".to_owned() } else { evidence };
        Ok(Found { score, evidence, distrusted: self.distrusted(check, sandbox) })
    }

    /// Reason why what was tried could have written the score itself.
    fn distrusted(&self, check: &CheckForm, sandbox: &Sandbox) -> Option<String> {
        let why = if check.driver.is_some() {
            let uid = sandbox.isolation().lines.get("uid").filter(|line| !line.enforced)?;
            return Some(format!("the driver and what it tries run as one user here: {}", uid.by));
        } else if !self.has_drivers && !self.hidden.is_empty() {
            "hidden files lie beside what is tried: write the check as `driver`"
        } else if check.run.as_ref().is_some_and(|run| !run.is_one_program()) {
            "the shell that decides runs as the user of what it tries: write the check as `driver`"
        } else {
            return None;
        };
        Some(why.to_owned())
    }

    /// Lays out artefacts as the user's own, and for a driver what only the judge's user may see.
    async fn furnish(&self, check: &CheckForm, sandbox: &Sandbox) -> Result<(), SandboxError> {
        let user = sandbox.profile().user.value;
        let mut laid = self.artefacts.clone();
        if laid.find(self.folder).is_none() && self.folder != "/" {
            laid.put(self.folder, Artefact { kind: ArtefactKind::Folder, mode: 0o755 });
        }
        if check.driver.is_some() {
            driver::close(&mut laid, self.folder, &sandbox.profile().folders.value);
        }
        let archive = laid.pack().map_err(|error| SandboxError::Start(error.to_string()))?;
        let bounds = Bounds {
            bytes_max: laid.bytes().saturating_add(1),
            entries_max: laid.iter().count() as u64 + ENTRIES_SPARE,
        };
        sandbox.unpack("/", Some(user), &archive, bounds).await?;
        if let Some(driver) = &check.driver {
            return driver::furnish(driver, self.hidden, sandbox).await;
        }
        if self.has_drivers {
            return Ok(());
        }
        // Where there is one user id alone, its files are everybody's.
        let others = sandbox.isolation().lines.get("uid").is_some_and(|line| line.enforced);
        let owner = if others { User { uid: 0, gid: 0 } } else { user };
        for (path, mode, bytes) in self.hidden {
            sandbox.write(path, *mode, owner, bytes).await?;
        }
        Ok(())
    }

    fn command(&self, check: &CheckForm, case: &CaseForm, sandbox: &Sandbox) -> Command {
        let mut command = match (&check.driver, &check.run) {
            (Some(driver), _) => driver::command(driver, &case.args),
            (None, Some(Run::Argv(argv))) => Command::new(argv.iter().chain(&case.args)),
            (None, Some(Run::Line(line))) => Command::shell(line),
            (None, None) => Command::shell("true"),
        };
        command.folder = Some(self.folder.to_owned());
        command.env = git_env();
        for (name, value) in self.env.iter().chain(&check.env).chain(&case.env) {
            command.env.retain(|(other, _)| other != name);
            command.env.push((name.clone(), value.clone()));
        }
        command.input = case.input.as_ref().or(check.input.as_ref()).cloned().unwrap_or_default().into_bytes();
        command.wall = Some(Duration::from_millis(check.timeout_ms.unwrap_or(RUN_MS)));
        command.output_bytes_max = Some(OUTPUT_BYTES_MAX);
        command.alone = true;
        if check.driver.is_some() {
            driver::set_apart(&mut command, self.folder, sandbox);
        }
        command
    }
}

fn judged(check: &CheckForm, case: &CaseForm, output: &Output) -> Result<(), String> {
    let exited = &output.exited;
    if exited.timed_out {
        return Err(format!("it took longer than {} ms", check.timeout_ms.unwrap_or(RUN_MS)));
    }
    let expected = case.code.or(check.code).unwrap_or(Some(0));
    if let Some(expected) = expected
        && exited.code != Some(expected)
    {
        let found = match (exited.code, exited.signal) {
            (Some(code), _) => format!("it returned {code} instead of {expected}"),
            (None, signal) => format!("it was ended by signal {}", signal.unwrap_or_default()),
        };
        let hint = if check.driver.is_some() { driver::hint(&output.stderr) } else { "" };
        return Err(format!("{found}; standard error: {}{hint}", super::text::quoted(&lossy(&output.stderr))));
    }
    let streams = [
        (
            "standard output",
            case.stdout.as_ref().or(check.stdout.as_ref()),
            &output.stdout,
            exited.output_omitted_bytes,
        ),
        ("standard error", case.stderr.as_ref().or(check.stderr.as_ref()), &output.stderr, exited.error_omitted_bytes),
    ];
    for (name, form, bytes, omitted) in streams {
        if let Some(form) = form {
            let hint = if check.driver.is_some() { driver::hint(&output.stderr) } else { "" };
            compared(name, form, bytes, omitted).map_err(|why| format!("{why}{hint}"))?;
        }
    }
    Ok(())
}

fn compared(name: &str, form: &TextForm, bytes: &[u8], omitted: u64) -> Result<(), String> {
    if omitted > 0 {
        return Err(format!("{name} is longer than {OUTPUT_BYTES_MAX} bytes"));
    }
    form.test(bytes).map_err(|why| format!("{name}: {why}"))
}

fn outcome(tested: Result<(), String>) -> Found {
    let (score, evidence) = match tested {
        Ok(()) => (1.0, "it holds".to_owned()),
        Err(why) => (0.0, why),
    };
    Found { score, evidence, distrusted: None }
}

fn case_evidence(check: &CheckForm, index: usize, why: &str) -> String {
    if check.cases.is_empty() { why.to_owned() } else { format!("case {}: {why}", index + 1) }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn git_env() -> Vec<(String, String)> {
    let mut env: Vec<(String, String)> = [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        // History is what the commits themselves say. The path of grafts is one that cannot be: for an empty file git prints a hint.
        ("GIT_NO_REPLACE_OBJECTS", "1"),
        ("GIT_GRAFT_FILE", "/dev/null/grafts"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_PAGER", "cat"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec();
    env.push(("GIT_CONFIG_COUNT".to_owned(), GIT.len().to_string()));
    for (index, (key, value)) in GIT.iter().enumerate() {
        env.push((format!("GIT_CONFIG_KEY_{index}"), (*key).to_owned()));
        env.push((format!("GIT_CONFIG_VALUE_{index}"), (*value).to_owned()));
    }
    env
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_sandbox::wire::Exited;
    use serde_json::json;

    fn verdict(check: serde_json::Value, output: &Output) -> Result<(), String> {
        judged(&serde_json::from_value(check).expect("a check"), &CaseForm::default(), output)
    }

    #[test]
    fn a_run_is_judged_by_code_and_output() {
        let exited = |code| Exited { code, ..Exited::default() };
        let good = Output { exited: exited(Some(0)), stdout: b"5\n".to_vec(), ..Output::default() };
        let five = json!({"run": "x", "stdout": {"equals": "5\n"}});
        assert_eq!(verdict(five.clone(), &good), Ok(()));
        let failed = Output { exited: exited(Some(3)), ..good.clone() };
        assert!(verdict(five.clone(), &failed).is_err_and(|why| why.contains("returned 3")));
        assert_eq!(verdict(json!({"run": "x", "code": null, "stdout": {"contains": "5"}}), &failed), Ok(()));
        assert_eq!(verdict(json!({"run": "x", "code": 3}), &failed), Ok(()));
        let killed = Output { exited: Exited { signal: Some(9), ..exited(None) }, ..good.clone() };
        assert!(verdict(five.clone(), &killed).is_err());
        let late = Output { exited: Exited { timed_out: true, ..exited(None) }, ..good.clone() };
        assert!(verdict(json!({"run": "x", "code": null}), &late).is_err(), "running on is never right");
        let flood = Output { exited: Exited { output_omitted_bytes: 1, ..exited(Some(0)) }, ..good };
        assert!(verdict(five, &flood).is_err());
    }
}
