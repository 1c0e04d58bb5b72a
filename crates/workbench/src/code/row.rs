//! A problem: what is asked, how it is judged, and what of it may be told.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::compare::Comparison;
use super::language::Language;
use super::program::Program;

/// Characters of a test that are shown with its fault.
const TEST_SHOWN_MAX: usize = 120;
/// Most tests, asserts and examples of a problem, each.
pub const TESTS_MAX: usize = 1_000;
/// Longest time of a test, in milliseconds of CPU: a fourth of what a command may take.
pub const TIME_MS_MAX: u64 = 13_000;
/// Longest time of all tests together.
pub const TIME_MS_OF_ALL_MAX: u64 = 20 * 60_000;
/// Most memory of a test.
pub const MEMORY_BYTES_MAX: u64 = 1 << 30;
/// Least memory of a test: no runtime lives below.
pub const MEMORY_BYTES_MIN: u64 = 8 << 20;
/// Most output of a test.
pub const OUTPUT_BYTES_MAX: u64 = 16 << 20;
/// Most bytes of all files of a problem.
pub const FILE_BYTES_MAX: usize = 4 << 20;
/// Most files of a problem.
pub const FILES_MAX: usize = 64;

/// A problem, as it stands in a file and in the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Names it; the number of its line where left out.
    #[serde(default)]
    pub id: String,
    /// Prompt.
    pub prompt: String,
    /// The one language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The languages of which any will do; all that are there where neither field is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<String>,
    /// Inputs with the outputs that are expected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Test>,
    /// Comparison of outputs.
    #[serde(default)]
    pub comparison: Comparison,
    /// Assert statements of Python, instead of `tests`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asserts: Vec<Assert>,
    /// Python that runs before every assert, after the submission.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub setup: String,
    /// The function that the asserts call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// Milliseconds of CPU of each test.
    #[serde(default = "two_seconds")]
    pub time_ms: u64,
    /// Bytes of memory of each test.
    #[serde(default = "a_quarter_gibibyte")]
    pub memory_bytes: u64,
    /// Bytes that each test may print.
    #[serde(default = "a_mebibyte")]
    pub output_bytes: u64,
    /// True if some tests passed are some score; else all must pass.
    #[serde(default)]
    pub partial: bool,
    /// Reference solutions: a text in the first language, or texts by language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solution: Option<Solution>,
    /// True if it is trainable though nothing proves that it can be solved. Whoever publishes says so, not the row.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trusted: bool,
    /// Its split; `train` where left out. Not stored with the row.
    #[serde(default, skip_serializing)]
    pub split: Option<String>,
    /// In [0, 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difficulty: Option<f64>,
    /// Its area.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Files that every run finds where it starts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Shown with the task and run by `run`, not judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
}

/// An input with the output that is expected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Standard input.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub input: String,
    /// Expected standard output.
    pub output: String,
    /// True if the acting side sees it neither in the task nor by `run`.
    #[serde(default = "yes")]
    pub hidden: bool,
    /// Its share of a partial score.
    #[serde(default = "one")]
    pub weight: f64,
    /// Arguments of the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
}

/// An assert statement; a text alone is a hidden one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "WrittenAssert")]
pub struct Assert {
    /// The statement.
    pub assert: String,
    /// True if the acting side sees it neither in the task nor by `run`.
    pub hidden: bool,
    /// Its share of a partial score.
    pub weight: f64,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "an assert is a text or {assert, hidden, weight}")]
enum WrittenAssert {
    Text(String),
    #[serde(rename_all = "snake_case")]
    Whole {
        assert: String,
        #[serde(default = "yes")]
        hidden: bool,
        #[serde(default = "one")]
        weight: f64,
    },
}

impl From<WrittenAssert> for Assert {
    fn from(written: WrittenAssert) -> Self {
        match written {
            WrittenAssert::Text(assert) => Self { assert, hidden: true, weight: 1.0 },
            WrittenAssert::Whole { assert, hidden, weight } => Self { assert, hidden, weight },
        }
    }
}

/// Example shown with a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// Standard input.
    #[serde(default)]
    pub input: String,
    /// Its output.
    pub output: String,
}

/// Reference solutions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a solution is a text or texts by language")]
pub enum Solution {
    /// In the first language of the problem.
    Text(String),
    /// By language.
    Languages(BTreeMap<String, String>),
}

const fn two_seconds() -> u64 {
    2_000
}
const fn a_quarter_gibibyte() -> u64 {
    256 << 20
}
const fn a_mebibyte() -> u64 {
    1 << 20
}
const fn yes() -> bool {
    true
}
const fn one() -> f64 {
    1.0
}

impl Problem {
    /// The names of the languages that will do, the first of which is taken where a submission names none.
    #[must_use]
    pub fn languages(&self) -> Vec<&str> {
        if !self.asserts.is_empty() {
            return vec!["python"];
        }
        if let Some(language) = &self.language {
            return vec![language];
        }
        if !self.languages.is_empty() {
            return self.languages.iter().map(String::as_str).collect();
        }
        let all = Language::all().map(|all| all.keys().map(String::as_str).collect());
        let mut all: Vec<&str> = all.unwrap_or_default();
        // Whoever names no language most likely writes Python.
        all.sort_by_key(|name| *name != "python");
        all
    }

    /// The reference solutions, in the order of the languages.
    #[must_use]
    pub fn solutions(&self) -> Vec<Program> {
        let allowed = self.languages();
        let program = |language: &str, text: &str| Program { language: language.to_owned(), source: text.to_owned() };
        match &self.solution {
            None => Vec::new(),
            Some(Solution::Text(text)) => allowed.first().map(|language| program(language, text)).into_iter().collect(),
            Some(Solution::Languages(texts)) => {
                let mut programs: Vec<Program> = texts.iter().map(|(language, text)| program(language, text)).collect();
                programs.sort_by_key(|program| allowed.iter().position(|name| *name == program.language));
                programs
            }
        }
    }

    /// True if no solution proves that it can be solved.
    #[must_use]
    pub fn is_unproven(&self) -> bool {
        self.solutions().is_empty()
    }

    /// A test as its author knows it, by its number from 1: `test 2 (assert f(1) == 2)`.
    #[must_use]
    pub fn described(&self, number: usize) -> String {
        let index = number.saturating_sub(1);
        let assert = self.asserts.get(index).map(|assert| assert.assert.trim().to_owned());
        let input = || Some(format!("input {:?}", self.tests.get(index)?.input));
        match assert.or_else(input) {
            Some(text) => format!("test {number} ({})", text.chars().take(TEST_SHOWN_MAX).collect::<String>()),
            None => format!("test {number}"),
        }
    }

    /// Faults of the row: the field and why.
    #[must_use]
    pub fn faults(&self) -> Vec<(&'static str, String)> {
        let mut faults = Vec::new();
        let mut fault = |field: &'static str, wrong: bool, why: &dyn Fn() -> String| {
            if wrong {
                faults.push((field, why()));
            }
        };
        fault("prompt", self.prompt.trim().is_empty(), &|| "is empty".to_owned());
        fault("language", self.language.is_some() && !self.languages.is_empty(), &|| {
            "give `language` or `languages`, not both".to_owned()
        });
        for name in self.language.iter().chain(&self.languages) {
            if let Err(why) = Language::named(name) {
                fault("language", true, &|| why.clone());
            }
        }
        let python_alone = self.language.as_deref().is_none_or(|name| name == "python")
            && self.languages.iter().all(|name| name == "python");
        fault("asserts", !self.asserts.is_empty() && !python_alone, &|| "asserts are for Python alone".to_owned());
        fault("tests", self.tests.is_empty() == self.asserts.is_empty(), &|| {
            "a problem has either `tests` or `asserts`".to_owned()
        });
        let counts = [("tests", self.tests.len()), ("asserts", self.asserts.len()), ("examples", self.examples.len())];
        for (field, count) in counts {
            fault(field, count > TESTS_MAX, &|| format!("must be at most {TESTS_MAX}"));
        }
        let weights = || self.tests.iter().map(|test| test.weight).chain(self.asserts.iter().map(|test| test.weight));
        fault("tests", weights().any(|weight| !(weight.is_finite() && weight >= 0.0)), &|| {
            "a weight must be a number from 0 on".to_owned()
        });
        fault("tests", weights().count() > 0 && weights().sum::<f64>() <= 0.0, &|| "no test has a weight".to_owned());
        fault("time_ms", !(1..=TIME_MS_MAX).contains(&self.time_ms), &|| format!("must be from 1 to {TIME_MS_MAX}"));
        let together = self.time_ms.saturating_mul((self.tests.len() + self.asserts.len()) as u64);
        fault("time_ms", together > TIME_MS_OF_ALL_MAX, &|| {
            format!("all tests together take at most {TIME_MS_OF_ALL_MAX} ms: fewer tests, or less time each")
        });
        fault("memory_bytes", !(MEMORY_BYTES_MIN..=MEMORY_BYTES_MAX).contains(&self.memory_bytes), &|| {
            format!("must be from {MEMORY_BYTES_MIN} to {MEMORY_BYTES_MAX}")
        });
        fault("output_bytes", !(1..=OUTPUT_BYTES_MAX).contains(&self.output_bytes), &|| {
            format!("must be from 1 to {OUTPUT_BYTES_MAX}")
        });
        fault("difficulty", self.difficulty.is_some_and(|difficulty| !(0.0..=1.0).contains(&difficulty)), &|| {
            "must be a number from 0 to 1".to_owned()
        });
        fault("files", self.files.len() > FILES_MAX, &|| format!("must be at most {FILES_MAX}"));
        fault("files", self.files.values().map(String::len).sum::<usize>() > FILE_BYTES_MAX, &|| {
            format!("must have at most {FILE_BYTES_MAX} bytes together")
        });
        for path in self.files.keys() {
            let sane =
                !path.is_empty() && path.len() <= 200 && path.split('/').all(|part| !["", ".", ".."].contains(&part));
            fault("files", !sane, &|| format!("{path:?} is no relative path"));
        }
        if let Comparison::Checker(checker) = &self.comparison
            && let Err(why) = Language::named(&checker.language)
        {
            fault("comparison", true, &|| why.clone());
        }
        if let Comparison::Floats(tolerance) = &self.comparison {
            let bounds = [tolerance.tolerance_absolute, tolerance.tolerance_relative];
            fault("comparison", bounds.iter().any(|bound| !(bound.is_finite() && *bound >= 0.0)), &|| {
                "a tolerance must be a number from 0 on".to_owned()
            });
        }
        let allowed = self.languages();
        for solution in self.solutions() {
            fault("solution", !allowed.contains(&solution.language.as_str()), &|| {
                format!("{:?} is not among the languages of the problem", solution.language)
            });
        }
        faults
    }
}
