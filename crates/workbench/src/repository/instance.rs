//! An instance: one issue of one project, in the record form of SWE-bench with what it takes to run its tests. It is the row of a
//! task.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::log::LogParser;

/// Longest run of the tests, which is what the profile `judge` allows a command.
pub(super) const TIMEOUT_S_MAX: u64 = 300;
/// Bytes of each patch.
pub const PATCH_BYTES_MAX: usize = 8 << 20;

/// One issue of one project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// Its name among all.
    pub instance_id: String,
    /// The project, as `owner/name` or a name.
    pub repo: String,
    /// The commit at which the issue is open: 7 to 40 hexadecimal digits. Left out where the archive is a plain tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_commit: Option<String>,
    /// The issue.
    pub problem_statement: String,
    /// The reference solution.
    pub patch: String,
    /// Patch of the tests; the acting side never sees it.
    pub test_patch: String,
    /// Tests that fail before and pass after.
    #[serde(rename = "FAIL_TO_PASS", deserialize_with = "names")]
    pub fail_to_pass: Vec<String>,
    /// Tests that pass before and after.
    #[serde(rename = "PASS_TO_PASS", default, deserialize_with = "names")]
    pub pass_to_pass: Vec<String>,
    /// The release.
    #[serde(default, deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Where the project comes from: base64 of a git bundle or of a tar archive, or the digest under which one is kept.
    pub archive: String,
    /// History of a plain tree: a commit per step, each with the paths that it added; the last commit adds the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Step>,
    /// Image of the sandbox's file system.
    #[serde(default = "default_image")]
    pub image: String,
    /// A line for `sh -c` in the project's folder. `{report}` stands for the path where it writes its report, `{test_files}` for
    /// the files of the listed tests with pytest, and else for those that the test patch touches.
    #[serde(default)]
    pub test_command: String,
    /// Parser of the report.
    pub log_parser: LogParser,
    /// Where the command writes its report, when it cannot be told: relative to the project's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub junit_path: Option<String>,
    /// Seconds that the tests may take.
    #[serde(default = "default_timeout_s")]
    pub timeout_s: u64,
    /// A script that runs once in the project's folder before any session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// Environment of set-up, shell and tests.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// More paths that stay as they are whatever a patch does to them: `*`, `**` and `?` as in `.gitignore`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<String>,
    /// True if a share of `FAIL_TO_PASS` scores that share.
    #[serde(default)]
    pub partial: bool,
    /// `train`, `validation` or `test`.
    #[serde(default = "default_split")]
    pub split: String,
    /// In [0, 1]; public records that say it in words have none.
    #[serde(default, deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub difficulty: Option<f64>,
    /// Anything that may be known.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Fields of public records that change nothing here.
    #[serde(default, skip_serializing)]
    hints_text: Option<Value>,
    #[serde(default, skip_serializing)]
    created_at: Option<Value>,
    #[serde(default, skip_serializing)]
    environment_setup_commit: Option<Value>,
}

/// A commit of a plain tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its message.
    pub message: String,
    /// Files and folders that it added; the last step may leave them out.
    #[serde(default)]
    pub paths: Vec<String>,
}

impl Instance {
    /// Reads a row as it was stored.
    ///
    /// # Errors
    /// In words.
    pub fn of(row: &Value) -> Result<Self, String> {
        Self::deserialize(row).map_err(|error| format!("the row is no instance, publish the environment anew: {error}"))
    }

    /// The project's folder, below the home of the acting side.
    #[must_use]
    pub fn folder(&self) -> String {
        format!("/home/agent/{}", self.folder_name())
    }

    pub(super) fn folder_name(&self) -> &str {
        let name = self.repo.rsplit('/').next().unwrap_or_default();
        let sane = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if sane && !name.starts_with(['.', '-']) { name } else { "" }
    }
}

fn default_image() -> String {
    "python".to_owned()
}

fn default_timeout_s() -> u64 {
    TIMEOUT_S_MAX
}

fn default_split() -> String {
    "train".to_owned()
}

/// A list of names, or a list as JSON in a text, as the public data sets have it.
fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Names {
        List(Vec<String>),
        Text(String),
    }
    match Names::deserialize(deserializer)? {
        Names::List(list) => Ok(list),
        Names::Text(text) if text.trim().is_empty() => Ok(Vec::new()),
        Names::Text(text) => serde_json::from_str(&text).map_err(|error| {
            serde::de::Error::custom(format!("a list of test names, or one as JSON in a text: {error}"))
        }),
    }
}

/// A text, or a number that is meant as one (`version: 3.1`).
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Option::<Value>::deserialize(deserializer)? {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text),
        Some(other) => Some(other.to_string()),
    })
}

fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Ok(Option::<Value>::deserialize(deserializer)?.and_then(|value| value.as_f64()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row() -> Value {
        json!({
            "instance_id": "octo__words-1", "repo": "octo/words", "base_commit": "0123abcdef", "version": 1.2,
            "problem_statement": "It breaks.", "hints_text": "", "created_at": "2024-01-01T00:00:00Z",
            "environment_setup_commit": "fffffff", "difficulty": "<15 min fix",
            "patch": "diff --git a/words.py b/words.py\n--- a/words.py\n+++ b/words.py\n@@ -1 +1 @@\n-a\n+b\n",
            "test_patch": "diff --git a/tests/test_a.py b/tests/test_a.py\n--- a/tests/test_a.py\n+++ b/tests/test_a.py\n@@ -1 +1 @@\n-a\n+b\n",
            "FAIL_TO_PASS": "[\"tests/test_a.py::test_x\"]", "PASS_TO_PASS": ["tests/test_a.py::test_y"],
            "archive": "aGVsbG8=", "log_parser": "pytest",
        })
    }

    fn faults(change: impl Fn(&mut Value)) -> Vec<&'static str> {
        let mut row = row();
        change(&mut row);
        let mut instance = Instance::of(&row).expect("an instance");
        instance.check().into_iter().map(|(field, _)| field).collect()
    }

    #[test]
    fn a_public_record_is_read_with_lists_in_either_form() {
        let mut instance = Instance::of(&row()).expect("an instance");
        assert_eq!(instance.check(), []);
        assert_eq!(instance.fail_to_pass, ["tests/test_a.py::test_x"]);
        assert_eq!(instance.version.as_deref(), Some("1.2"));
        assert_eq!(instance.difficulty, None);
        assert_eq!(instance.folder(), "/home/agent/words");
        assert!(instance.test_command.contains("{report}"));
        let stored = serde_json::to_value(&instance).expect("a row");
        assert_eq!(Instance::of(&stored).expect("the stored row").fail_to_pass, instance.fail_to_pass);
        assert_eq!(stored.get("hints_text"), None);
    }

    #[test]
    fn every_wrong_field_is_named() {
        assert_eq!(faults(|row| row["base_commit"] = json!("HEAD; rm -rf /")), ["base_commit"]);
        assert_eq!(faults(|row| row["repo"] = json!("octo/..")), ["repo"]);
        assert_eq!(faults(|row| row["patch"] = json!("no patch")), ["patch"]);
        assert_eq!(faults(|row| row["FAIL_TO_PASS"] = json!([])), ["FAIL_TO_PASS"]);
        assert_eq!(faults(|row| row["PASS_TO_PASS"] = json!(["tests/test_a.py::test_x"])), ["PASS_TO_PASS"]);
        assert_eq!(faults(|row| row["timeout_s"] = json!(301)), ["timeout_s"]);
        assert_eq!(faults(|row| row["junit_path"] = json!("../report.xml")), ["junit_path"]);
        assert_eq!(faults(|row| row["log_parser"] = json!("tap")), ["test_command"]);
        assert_eq!(faults(|row| row["patch"] = row["test_patch"].clone()), ["patch"]);
        assert_eq!(faults(|row| row["history"] = json!([{"message": "a", "paths": ["/etc"]}])), ["history"]);
    }

    #[test]
    fn an_unknown_field_is_named() {
        let mut row = row();
        row["image_name"] = json!("python");
        assert!(Instance::of(&row).expect_err("refused").contains("image_name"));
    }
}
