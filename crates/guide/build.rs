//! Lists the guides: README.md, and every page and picture below docs/.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let root = manifest.ancestors().nth(2).unwrap_or(&manifest);
    let mut files = vec![root.join("README.md")];
    gather(&root.join("docs"), &mut files)?;
    println!("cargo::rerun-if-changed={}", root.join("README.md").display());
    println!("cargo::rerun-if-changed={}", root.join("docs").display());
    let mut list = String::from("const FILES: &[(&str, &str)] = &[\n");
    for file in &files {
        let path = file.strip_prefix(root).unwrap_or(file).display().to_string();
        // Writing to a string cannot fail.
        let _ = writeln!(list, "    ({path:?}, include_str!({:?})),", file.display().to_string());
    }
    list.push_str("];\n");
    fs::write(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("files.rs"), list)
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let entries: io::Result<Vec<_>> = fs::read_dir(folder)?.collect();
    let mut paths: Vec<PathBuf> = entries?.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            gather(&path, files)?;
        } else if path.extension().is_some_and(|kind| kind == "md" || kind == "svg") {
            files.push(path);
        }
    }
    Ok(())
}
