//! Lists the apps that are shipped: every folder of `environments/app/` with its YAML files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let apps = root.join("environments").join("app");
    println!("cargo::rerun-if-changed={}", apps.display());
    let mut list = String::from("const APPS: &[(&str, &[(&str, &str)])] = &[\n");
    for folder in sorted(&apps)?.into_iter().filter(|path| path.is_dir()) {
        let mut files = String::new();
        for file in sorted(&folder)?.into_iter().filter(|path| path.extension().is_some_and(|name| name == "yaml")) {
            // Writing to a string cannot fail.
            let _ = write!(files, "({:?}, include_str!({:?})), ", name(&file), file.display().to_string());
        }
        let _ = writeln!(list, "    ({:?}, &[{files}]),", name(&folder));
    }
    list.push_str("];\n");
    let target = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(target.join("shipped_apps.rs"), list)
}

/// What a folder holds, by name; nothing where there is no such folder.
fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
