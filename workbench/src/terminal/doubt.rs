//! Changes of a file system that may change what judges it. Whoever makes one may still have solved the task, but nobody can tell
//! from the verdict, so no trainer learns from it.

/// Where whatever is changed may change what judges: programs, libraries, their settings, and what interpreters and shells read
/// when they start.
const SYSTEM: [&str; 15] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/boot",
    "/tests",
    "/tox.ini",
    "/setup.cfg",
    "/setup.py",
    "/pyproject.toml",
];
/// Modules that a test runner imports, and finds in the folder that it runs in before the real ones.
const MODULES: [&str; 38] = [
    "pytest",
    "_pytest",
    "pluggy",
    "iniconfig",
    "packaging",
    "unittest",
    "doctest",
    "os",
    "re",
    "io",
    "abc",
    "ast",
    "argparse",
    "base64",
    "codecs",
    "collections",
    "contextlib",
    "copy",
    "csv",
    "dataclasses",
    "datetime",
    "enum",
    "functools",
    "hashlib",
    "importlib",
    "inspect",
    "itertools",
    "json",
    "math",
    "pathlib",
    "random",
    "shutil",
    "sqlite3",
    "string",
    "subprocess",
    "tempfile",
    "time",
    "typing",
];
/// Names of such files anywhere.
const START_UP: [&str; 12] = [
    "sitecustomize.py",
    "usercustomize.py",
    "conftest.py",
    "pytest.ini",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".bash_aliases",
    ".zshrc",
    ".pydistutils.cfg",
    ".npmrc",
];

/// Whether a changed path may change what judges in `folder`.
pub(super) fn is_due(path: &str, folder: &str) -> bool {
    decides(path) || shadows(path, folder)
}

/// Whether a changed path may change what judges.
fn decides(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    SYSTEM.iter().any(|system| path == *system || path.strip_prefix(system).is_some_and(|rest| rest.starts_with('/')))
        || START_UP.contains(&name)
        || name.ends_with(".pth")
        || path.contains("/site-packages/")
        || path.contains("/dist-packages/")
}

/// Whether a changed path stands in for a module that a test runner imports.
fn shadows(path: &str, folder: &str) -> bool {
    let below = path.strip_prefix(folder.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
    let name = below.and_then(|rest| rest.split('/').next()).unwrap_or_default();
    MODULES.contains(&name.strip_suffix(".py").unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_change_the_judge_is_doubted() {
        for path in ["/usr/bin/python3", "/etc", "/home/x/.local/lib/python3.11/site-packages/a.py", "/app/conftest.py"]
        {
            assert!(decides(path), "{path}");
        }
        for path in ["/app/main.py", "/root/notes", "/usrlocal", "/home/agent/etc/x"] {
            assert!(!decides(path), "{path}");
        }
        assert!(
            shadows("/app/json.py", "/app") && shadows("/app/pytest/__init__.py", "/app") && shadows("/os.py", "/")
        );
        assert!(
            !shadows("/app/data.json", "/app")
                && !shadows("/app/lib/json.py", "/app")
                && !shadows("/x/json.py", "/app")
        );
    }
}
