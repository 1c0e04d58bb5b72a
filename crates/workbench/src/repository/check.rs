//! Check of an instance, field by field.

use std::collections::BTreeSet;

use super::instance::{Instance, PATCH_BYTES_MAX, TIMEOUT_S_MAX};
use super::patch;
use super::protected::Protected;

/// Tests in both lists together.
const TESTS_MAX: usize = 100_000;

impl Instance {
    /// Fills in what follows from the rest, and names everything that is wrong as field and words.
    #[must_use]
    pub fn check(&mut self) -> Vec<(&'static str, String)> {
        let mut faults = Vec::new();
        let mut fault = |field: &'static str, detail: &str| faults.push((field, detail.to_owned()));
        if self.test_command.trim().is_empty() {
            match self.log_parser.default_command() {
                Some(command) => command.clone_into(&mut self.test_command),
                None => fault("test_command", "must be there with this log_parser"),
            }
        }
        if self.instance_id.is_empty() || self.instance_id.len() > 200 || self.instance_id.chars().any(char::is_control)
        {
            fault("instance_id", "must be 1 to 200 printable characters");
        }
        if self.folder_name().is_empty() {
            fault("repo", "must end in a name of letters, digits, `.`, `_` and `-`");
        }
        if self.problem_statement.trim().is_empty() {
            fault("problem_statement", "must not be empty");
        }
        if self.base_commit.as_deref().is_some_and(|commit| !is_commit(commit)) {
            fault("base_commit", "must be 7 to 40 hexadecimal digits");
        }
        for (field, text) in [("patch", &self.patch), ("test_patch", &self.test_patch)] {
            if text.len() > PATCH_BYTES_MAX {
                fault(field, "must be at most 8 MiB");
            } else if patch::paths(text).is_empty() {
                fault(field, "must be a patch as `git diff` writes it: there is no line `diff --git a/.. b/..`");
            }
        }
        if self.fail_to_pass.is_empty() {
            fault("FAIL_TO_PASS", "must not be empty, as nothing would tell a solution from none");
        }
        let mut seen = BTreeSet::new();
        let tests = self.fail_to_pass.iter().chain(&self.pass_to_pass);
        if let Some(twice) = tests.clone().find(|name| !seen.insert(name.as_str())) {
            fault("PASS_TO_PASS", &format!("{twice:?} is listed twice: list it once"));
        }
        if tests.count() > TESTS_MAX {
            fault("PASS_TO_PASS", "both lists together must name at most 100,000 tests");
        }
        if !(1..=TIMEOUT_S_MAX).contains(&self.timeout_s) {
            fault("timeout_s", "must be 1 to 300");
        }
        if self.difficulty.is_some_and(|difficulty| !(0.0..=1.0).contains(&difficulty)) {
            fault("difficulty", "must be in [0, 1]");
        }
        if self.split.is_empty() || !self.split.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
            fault("split", "must be of lower-case letters, such as train, validation or test");
        }
        if self.env.keys().any(|name| name.is_empty() || name.contains(['=', '\0'])) {
            fault("env", "has a name that no variable can have: rename it");
        }
        let relative =
            |path: &str| !path.starts_with('/') && path.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if self.junit_path.as_deref().is_some_and(|path| !relative(path)) {
            fault("junit_path", "is a path below the project's folder; write {report} in test_command for one outside");
        }
        if self.history.iter().flat_map(|step| &step.paths).any(|path| !relative(path)) {
            fault("history", "must have a path that stays in the tree");
        }
        let changed = patch::paths(&self.patch);
        match Protected::of(self) {
            Ok(protected) => {
                if let Some(path) = changed.iter().find(|path| protected.of_tests(path.as_bytes())) {
                    let words = format!(
                        "changes {path:?}, which the test patch changes too, so that nothing of it would be left: leave that file out"
                    );
                    fault("patch", &words);
                }
            }
            Err(words) => fault("protected", &words),
        }
        faults
    }
}

fn is_commit(text: &str) -> bool {
    (7..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}
