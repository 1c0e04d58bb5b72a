//! Files that hold code, by their looks. What looks like none may still be code of a language that nobody thought of, so this only
//! ever takes trust away: data is believed where it is named, code is not.

use palestra_sandbox::watch::File;

/// Ends of names of source files, of what is compiled from them, and of what tells a runtime where to find them.
const ENDINGS: [&str; 73] = [
    "a", "al", "asm", "awk", "bash", "bat", "c", "cc", "cfg", "cjs", "class", "cljs", "clj", "cmake", "cpp", "cs",
    "cu", "cxx", "d", "dart", "egg", "el", "ex", "exs", "f", "f90", "fs", "gemspec", "go", "groovy", "h", "hpp", "hs",
    "ini", "jar", "java", "jl", "js", "jsx", "kt", "ksh", "lua", "luac", "mjs", "mk", "ml", "nim", "node", "o", "ph",
    "php", "pkl", "pl", "pm", "pmc", "pt", "pth", "py", "pyc", "pyz", "r", "rb", "rda", "rdata", "rdb", "rds", "rs",
    "scala", "sh", "so", "ts", "wasm", "whl",
];
/// Names of files that tell a runtime which others to load.
const NAMES: [&str; 3] = ["package.json", "makefile", "gnumakefile"];
/// Beginnings of programs, scripts, compiled modules and pickled objects, in hexadecimal.
const BEGINNINGS: [&str; 12] = [
    "7f454c46",
    "2321",
    "cafebabe",
    "0061736d",
    "1b4c7561",
    "1b4c4a",
    "213c617263683e",
    "8002",
    "8003",
    "8004",
    "8005",
    "4d5a",
];

/// True if a file may be code.
pub(super) fn is_code(path: &str, file: &File) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = name.to_ascii_lowercase();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    file.mode & 0o111 != 0
        || ending.is_some_and(|ending| ENDINGS.contains(&ending))
        || NAMES.contains(&name.as_str())
        || BEGINNINGS.iter().any(|beginning| file.head.starts_with(beginning))
        // The third and fourth byte of compiled Python.
        || file.head.get(4..8) == Some("0d0a")
}

/// True if a file may be loaded as it is, without being compiled first: by Python, a compiled module or a library.
pub(super) fn is_compiled(path: &str, file: &File) -> bool {
    [".pyc", ".pyo", ".so"].iter().any(|ending| path.ends_with(ending)) || file.head.starts_with(BEGINNINGS[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_known_by_name_mode_or_beginning() {
        let plain = File { mode: 0o100_644, head: "6f6b0a".to_owned(), ..File::default() };
        for data in ["/app/answer.txt", "/app/report.json", "/app/table.csv", "/app/out", "/app/a.db"] {
            assert!(!is_code(data, &plain), "{data}");
        }
        for code in ["/app/x.py", "/app/X.SO", "/app/setup.cfg", "/app/y.rb", "/app/a.node", "/app/x/package.json"] {
            assert!(is_code(code, &plain), "{code}");
        }
        for head in ["7f454c4602", "23212f62", "a70d0d0a0000", "80049500"] {
            assert!(is_code("/app/x", &File { head: head.to_owned(), ..plain.clone() }), "{head}");
        }
        assert!(is_code("/app/x", &File { mode: 0o100_755, ..plain }));
    }
}
