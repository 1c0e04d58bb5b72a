//! The modules of this package stand in layers: each uses only those below it, so that none leads back to itself.

use std::fs;
use std::path::{Path, PathBuf};

/// From below.
const LAYERS: [&str; 28] = [
    "amount",
    "calendar",
    "fault",
    "ids",
    "kinds",
    "native",
    "words",
    "value",
    "limits",
    "schema",
    "json",
    "data",
    "syntax",
    "definition",
    "places",
    "expression",
    "functions",
    "reading",
    "app",
    "compile",
    "run",
    "task",
    "explore",
    "draw",
    "tool",
    "check",
    "screen",
    "html",
];

fn layer(module: &str) -> usize {
    let found = LAYERS.iter().position(|known| *known == module);
    found.unwrap_or_else(|| panic!("the module `{module}` is in no layer: add it to LAYERS above what it uses"))
}

/// Every source file but those of unit tests, which may use what they like.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        if name == "tests" || name.ends_with("_tests") {
            continue;
        }
        if path.is_dir() {
            sources(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// The modules that a line of code names by `crate::`.
fn named(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or_default();
    code.split("crate::").skip(1).filter_map(|rest| {
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len());
        (end > 0).then(|| &rest[..end])
    })
}

#[test]
fn each_module_uses_only_those_below_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut offenders = Vec::new();
    for path in files.iter().filter(|path| !path.ends_with("lib.rs")) {
        let file = path.strip_prefix(&root).expect("a file below the root");
        let first = file.iter().next().and_then(|part| part.to_str()).expect("a module");
        let own = first.trim_end_matches(".rs");
        let text = fs::read_to_string(path).expect("a source file");
        for (number, line) in text.lines().enumerate() {
            let above = named(line).filter(|used| layer(used) > layer(own));
            offenders.extend(above.map(|used| format!("{}:{}: {own} uses {used}", file.display(), number + 1)));
        }
    }
    assert!(offenders.is_empty(), "modules use what stands above them:\n{}", offenders.join("\n"));
    assert!(files.len() > LAYERS.len(), "only {} files were read", files.len());
}
