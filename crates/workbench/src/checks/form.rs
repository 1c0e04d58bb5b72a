//! The written form of a check, and how it is evaluated.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::archive::{ArtefactKind, Artefacts};
use super::text::{JsonForm, OneOrMany, TextForm};

/// A check as it is written and stored. It has one of `file`, `answer`, `run`, `driver` and `all`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CheckForm {
    /// Name of the check.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its share of the score; 1 where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// A file, relative to the task's folder or absolute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The answer that was submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<TextForm>,
    /// Program and arguments: the acting side's own, or one that reads what it made. A line names one program and its arguments too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// A line for the shell, or program and arguments: the judge's own, which runs as a user of its own beside the hidden files and
    /// starts what it tries by `$PROGRAM`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<Run>,
    /// Conditions that hold together, or the check fails.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub all: Vec<CheckForm>,

    /// Of the file: [`TextForm::equals`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equals: Option<String>,
    /// Of the file: [`TextForm::lines`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Vec<String>>,
    /// Of the file: [`TextForm::unordered`].
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unordered: bool,
    /// Of the file: [`TextForm::contains`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<OneOrMany<String>>,
    /// Of the file: [`TextForm::lacks`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacks: Option<OneOrMany<String>>,
    /// Of the file: [`TextForm::matches`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// Of the file: [`TextForm::json`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<OneOrMany<JsonForm>>,
    /// Of the file: [`TextForm::sha256`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Of the file: [`TextForm::trim`].
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub trim: bool,
    /// Of the file: nothing stands there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub absent: bool,
    /// Of the file: a file or folder stands there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exists: bool,
    /// Of the file: its permission bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,

    /// Of the run: what it returns; any where null, 0 where left out.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub code: Option<Option<i32>>,
    /// Of the run: what it prints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<TextForm>,
    /// Of the run: what it prints to standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<TextForm>,
    /// Of the run: more environment.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Of the run: its standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Of the run: milliseconds that it may take; 10,000 where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Of the run: it runs once for each, and the score is the share that passes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<CaseForm>,
}

/// Command to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Run {
    /// A line for the shell.
    Line(String),
    /// Program and arguments.
    Argv(Vec<String>),
}

impl Run {
    /// True if it is one program and its arguments: a shell that does more would decide beside what it runs.
    #[must_use]
    pub fn is_one_program(&self) -> bool {
        let plain = |letter: char| letter.is_alphanumeric() || " -_./,:+@%^=".contains(letter);
        match self {
            Self::Argv(_) => true,
            // A word with `=` in front would be a variable.
            Self::Line(line) => {
                line.chars().all(plain) && !line.split(' ').next().is_some_and(|word| word.contains('='))
            }
        }
    }
}

/// One case of a run. What is left out is as the check says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CaseForm {
    /// Its standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Arguments after those of the check; only beside a list in `run`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// More environment.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Expected exit code.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub code: Option<Option<i32>>,
    /// Expected standard output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<TextForm>,
    /// Expected standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<TextForm>,
}

/// A field that is null is given, unlike one that is left out.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<i32>>, D::Error> {
    Option::<i32>::deserialize(deserializer).map(Some)
}

impl CheckForm {
    /// Its share of the score.
    #[must_use]
    pub fn weight(&self) -> f64 {
        self.weight.unwrap_or(1.0)
    }

    /// Expected contents of the file.
    #[must_use]
    pub fn text(&self) -> TextForm {
        TextForm {
            equals: self.equals.clone(),
            lines: self.lines.clone(),
            unordered: self.unordered,
            contains: self.contains.clone(),
            lacks: self.lacks.clone(),
            matches: self.matches.clone(),
            json: self.json.clone(),
            sha256: self.sha256.clone(),
            trim: self.trim,
        }
    }

    /// Program of the check: the program, or the driver.
    #[must_use]
    pub fn program(&self) -> Option<&Run> {
        self.run.as_ref().or(self.driver.as_ref())
    }

    /// True if it or a part of it is a driver.
    #[must_use]
    pub fn has_driver(&self) -> bool {
        self.driver.is_some() || self.all.iter().any(Self::has_driver)
    }

    /// Every file that it and its parts look at.
    #[must_use]
    pub fn files(&self) -> Vec<&str> {
        self.file.as_deref().into_iter().chain(self.all.iter().flat_map(Self::files)).collect()
    }

    /// Faults of the form, each with the field.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let kinds = [
            self.file.is_some(),
            self.answer.is_some(),
            self.run.is_some(),
            self.driver.is_some(),
            !self.all.is_empty(),
        ];
        if kinds.iter().filter(|kind| **kind).count() != 1 {
            faults.push("a check has exactly one of file, answer, run, driver and all".to_owned());
            return faults;
        }
        if self.weight.is_some_and(|weight| !(weight.is_finite() && weight > 0.0)) {
            faults.push("weight: must be a number above 0".to_owned());
        }
        let text = self.text();
        let of_file = !text.is_empty() || text.trim || self.absent || self.exists || self.mode.is_some();
        let of_run = self.code.is_some()
            || self.stdout.is_some()
            || self.stderr.is_some()
            || !self.env.is_empty()
            || self.input.is_some()
            || self.timeout_ms.is_some()
            || !self.cases.is_empty();
        if self.file.is_none() && of_file {
            faults.push("conditions of a file stand beside file alone; of a run, below stdout or stderr".to_owned());
        }
        if self.program().is_none() && of_run {
            faults
                .push("code, stdout, stderr, env, input, timeout_ms and cases stand beside run and driver".to_owned());
        }
        if self.run.as_ref().is_some_and(|run| !run.is_one_program()) {
            faults.push(
                "run: this line does more than to start one program, and would decide as the user of what it tries: write it \
                 as `driver`, which starts what it tries by \"$PROGRAM\", or name program and arguments as a list"
                    .to_owned(),
            );
        }
        if self.file.is_some() {
            if !of_file {
                faults.push("nothing is asked of the file".to_owned());
            }
            if self.absent && (self.exists || self.mode.is_some() || !text.is_empty()) {
                faults.push("absent: stands alone".to_owned());
            }
            faults.extend(text.faults());
        }
        let cases = self.cases.iter().enumerate();
        let texts = [
            ("answer".to_owned(), &self.answer),
            ("stdout".to_owned(), &self.stdout),
            ("stderr".to_owned(), &self.stderr),
        ];
        let texts = texts.into_iter().chain(cases.clone().flat_map(|(index, case)| {
            [(format!("cases[{index}].stdout"), &case.stdout), (format!("cases[{index}].stderr"), &case.stderr)]
        }));
        for (place, form) in texts {
            let Some(form) = form else { continue };
            if form.is_empty() {
                faults.push(format!("{place}: nothing is asked of it"));
            }
            faults.extend(form.faults().into_iter().map(|fault| format!("{place}.{fault}")));
        }
        match self.program() {
            Some(Run::Argv(argv)) if argv.is_empty() => faults.push("run: is empty".to_owned()),
            Some(Run::Line(_)) => {
                let with_args = cases.filter(|(_, case)| !case.args.is_empty());
                faults.extend(with_args.map(|(index, _)| format!("cases[{index}].args: only where run is a list")));
            }
            _ => {}
        }
        for (index, part) in self.all.iter().enumerate() {
            faults.extend(part.faults().into_iter().map(|fault| format!("all[{index}]: {fault}")));
        }
        faults
    }

    /// Looks at a file among artefacts, whose relative paths are of `folder`.
    ///
    /// # Errors
    /// The first condition that does not hold, in words.
    pub fn test_file(&self, file: &str, folder: &str, artefacts: &Artefacts) -> Result<(), String> {
        let path = resolved(folder, file);
        let found = artefacts.find(&path);
        if self.absent {
            return if found.is_none() { Ok(()) } else { Err(format!("{path} is there")) };
        }
        let found = found.ok_or_else(|| format!("{path} is not there, or was not taken"))?;
        if let ArtefactKind::Link(target) = &found.kind {
            return Err(format!("{path} is a link to {target:?}, not a file"));
        }
        if let Some(mode) = self.mode
            && found.mode != mode
        {
            return Err(format!("{path} has mode {:#o}", found.mode));
        }
        let text = self.text();
        match &found.kind {
            ArtefactKind::File(bytes) => text.test(bytes).map_err(|why| format!("{path}: {why}")),
            _ if text.is_empty() => Ok(()),
            _ => Err(format!("{path} is not a regular file")),
        }
    }
}

/// A path as it stands in a sandbox: absolute, without `.` and `..`.
#[must_use]
pub fn resolved(folder: &str, path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::archive::Artefact;
    use serde_json::json;

    fn check(value: serde_json::Value) -> CheckForm {
        serde_json::from_value(value).expect("a check")
    }

    #[test]
    fn files_are_looked_at_as_data() {
        let mut artefacts = Artefacts::default();
        artefacts.put("/w/a", Artefact { kind: ArtefactKind::File(b"x\n".to_vec()), mode: 0o755 });
        artefacts.put("/w/l", Artefact { kind: ArtefactKind::Link("a".to_owned()), mode: 0o777 });
        artefacts.put("/w/d", Artefact { kind: ArtefactKind::Folder, mode: 0o755 });
        let holds = |form: serde_json::Value| {
            let form = check(form);
            assert!(form.faults().is_empty(), "{:?}", form.faults());
            form.test_file(form.file.as_deref().expect("a file"), "/w", &artefacts).is_ok()
        };
        assert!(holds(json!({"file": "a", "equals": "x\n", "mode": 0o755})));
        assert!(holds(json!({"file": "./d/../a", "exists": true})));
        assert!(holds(json!({"file": "d", "exists": true})));
        assert!(holds(json!({"file": "/w/b", "absent": true})));
        assert!(!holds(json!({"file": "a", "mode": 0o644})));
        assert!(!holds(json!({"file": "l", "exists": true})), "a link stands for nothing");
        assert!(!holds(json!({"file": "d", "contains": ""})));
        assert!(!holds(json!({"file": "b", "lacks": "x"})));
        assert!(!holds(json!({"file": "l", "absent": true})));
    }

    #[test]
    fn wrong_checks_are_named() {
        for (wrong, part) in [
            (json!({"name": "x"}), "exactly one"),
            (json!({"file": "a"}), "nothing is asked"),
            (json!({"file": "a", "exists": true, "code": 0}), "beside run"),
            (json!({"run": "x", "driver": "y"}), "exactly one"),
            (json!({"run": "make; ./x"}), "write it as `driver`"),
            (json!({"run": "X=1 ./x"}), "write it as `driver`"),
            (json!({"driver": []}), "is empty"),
            (json!({"run": "x", "equals": "y"}), "beside file"),
            (json!({"run": []}), "is empty"),
            (json!({"run": "x", "cases": [{"args": ["a"]}]}), "only where run is a list"),
            (json!({"run": "x", "stdout": {}}), "nothing is asked"),
            (json!({"all": [{"file": "a", "matches": "("}]}), "all[0]"),
            (json!({"file": "a", "exists": true, "weight": 0.0}), "weight"),
        ] {
            let faults = check(wrong.clone()).faults();
            assert!(faults.iter().any(|fault| fault.contains(part)), "{wrong}: {faults:?}");
        }
    }

    #[test]
    fn a_line_is_a_program_or_a_drivers() {
        for (line, is_one) in [
            ("python3 -I flatten.py", true),
            ("sh tool.sh /tmp/a=b +x", true),
            ("sh tool.sh < in.txt", false),
            ("bash x.sh; echo $?", false),
            ("make && ./x", false),
            ("cat *", false),
            ("a\nb", false),
            ("sh -c 'x'", false),
            ("PATH=/x y", false),
        ] {
            let check = check(json!({"run": line}));
            assert_eq!(check.faults().is_empty(), is_one, "{line}: {:?}", check.faults());
            assert_eq!(check_faults_as_driver(line), Vec::<String>::new());
        }
    }

    fn check_faults_as_driver(line: &str) -> Vec<String> {
        let check = check(json!({"all": [{"driver": line}]}));
        assert!(check.has_driver());
        check.faults()
    }

    #[test]
    fn a_null_code_is_any_code() {
        assert_eq!(check(json!({"run": "x", "code": null})).code, Some(None));
        assert_eq!(check(json!({"run": "x"})).code, None);
    }
}
