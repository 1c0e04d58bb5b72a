//! Paths that a patch cannot change: tests, and what steers the program that runs them. What a patch does to them is undone before
//! the tests run.

use std::collections::BTreeSet;

use regex::bytes::RegexSet;

use super::instance::Instance;
use super::log::LogParser;
use super::patch;

/// Folders of tests, whatever runs them.
const EVERYWHERE: &[&str] = &["**/tests/**", "**/test/**", "**/testdata/**", "**/.git/**", ".github/**"];
/// Files that Python and pytest load by themselves, and modules that would stand in for pytest's own.
const PYTEST: &[&str] = &[
    "**/test_*.py",
    "**/*_test.py",
    "**/conftest.py",
    "**/sitecustomize.py",
    "**/usercustomize.py",
    "**/*.pth",
    "pytest.ini",
    ".pytest.ini",
    "tox.ini",
    "setup.cfg",
    "pyproject.toml",
    "pytest.py",
    "pytest/**",
    "_pytest/**",
    "pluggy/**",
    "iniconfig/**",
];
/// Files that Cargo runs on its way to the tests.
const CARGO: &[&str] = &["**/.cargo/**", "**/build.rs", "rust-toolchain", "rust-toolchain.toml"];
/// Files that Go takes for tests.
const GO: &[&str] = &["**/*_test.go"];

/// Paths that a patch cannot change.
#[derive(Debug, Clone)]
pub(super) struct Protected {
    patterns: RegexSet,
    tests: Vec<String>,
    /// Files of listed tests, where their names say in which file they are.
    listed: BTreeSet<String>,
    allowed: Vec<String>,
}

impl Protected {
    /// Those of an instance. What the reference solution changes may be changed, but for what the test patch touches.
    ///
    /// # Errors
    /// In words, when the instance's own patterns are too many or too long.
    pub(super) fn of(instance: &Instance) -> Result<Self, String> {
        let of_parser = match instance.log_parser {
            LogParser::Pytest => PYTEST,
            LogParser::Cargo => CARGO,
            LogParser::Go => GO,
            LogParser::Junit | LogParser::Tap => &[],
        };
        let own = instance.protected.iter().map(String::as_str);
        let patterns = EVERYWHERE.iter().chain(of_parser).copied().chain(own).map(expression);
        let listed = instance.fail_to_pass.iter().chain(&instance.pass_to_pass);
        let listed = listed.filter(|_| instance.log_parser == LogParser::Pytest);
        Ok(Self {
            listed: listed.filter_map(|id| Some(id.split_once("::")?.0.to_owned())).collect(),
            patterns: RegexSet::new(patterns).map_err(|error| error.to_string())?,
            tests: patch::paths(&instance.test_patch),
            allowed: patch::paths(&instance.patch),
        })
    }

    /// True if a path stays as it is.
    #[must_use]
    pub(super) fn holds(&self, path: &[u8]) -> bool {
        let allowed = self.allowed.iter().any(|allowed| allowed.as_bytes() == path);
        let listed = || std::str::from_utf8(path).is_ok_and(|path| self.listed.contains(path));
        self.of_tests(path) || (!allowed && (self.patterns.is_match(path) || listed()))
    }

    /// True if a path is one that the test patch touches, or would stand in the way of one.
    #[must_use]
    pub(super) fn of_tests(&self, path: &[u8]) -> bool {
        self.tests.iter().any(|test| {
            let test = test.as_bytes();
            test == path || below(test, path) || below(path, test)
        })
    }
}

/// True if `path` lies below `folder`.
fn below(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.first() == Some(&b'/'))
}

/// A pattern as a regular expression: `?` is a character and `*` some within a name, `**/` any folders, `/**` all below.
fn expression(pattern: &str) -> String {
    let mut expression = String::from("(?s-u)^");
    let mut rest = pattern;
    while let Some(letter) = rest.chars().next() {
        let (meant, length) = match letter {
            '*' if rest.starts_with("**/") => ("(?:.*/)?".to_owned(), 3),
            '*' if rest == "**" => (".+".to_owned(), 2),
            '*' => ("[^/]*".to_owned(), 1),
            '?' => ("[^/]".to_owned(), 1),
            _ => (regex::escape(&rest[..letter.len_utf8()]), letter.len_utf8()),
        };
        expression.push_str(&meant);
        rest = &rest[length..];
    }
    expression.push('$');
    expression
}

#[cfg(test)]
mod tests {
    use super::expression;

    fn fits(pattern: &str, path: &str) -> bool {
        regex::bytes::Regex::new(&expression(pattern)).expect("an expression").is_match(path.as_bytes())
    }

    #[test]
    fn patterns_fit_as_in_gitignore() {
        let yes = [
            ("**/conftest.py", "conftest.py"),
            ("**/conftest.py", "a/b/conftest.py"),
            ("**/tests/**", "tests/a.py"),
            ("**/tests/**", "a/tests/b/c.py"),
            ("**/test_*.py", "a/test_b.py"),
            ("**/*_test.go", "a/b_test.go"),
            ("pytest/**", "pytest/__init__.py"),
            ("a?c", "abc"),
            ("a+b.py", "a+b.py"),
            ("Makefile", "Makefile"),
        ];
        for (pattern, path) in yes {
            assert!(fits(pattern, path), "{pattern} {path}");
        }
        let no = [
            ("**/conftest.py", "myconftest.py"),
            ("**/tests/**", "tests"),
            ("**/tests/**", "latests/a.py"),
            ("**/test_*.py", "a/test_b/c.py"),
            ("pytest/**", "a/pytest/b"),
            ("Makefile", "a/Makefile"),
            ("a?c", "a/c"),
            ("a.c", "abc"),
        ];
        for (pattern, path) in no {
            assert!(!fits(pattern, path), "{pattern} {path}");
        }
    }
}
