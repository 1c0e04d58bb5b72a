//! Lists the languages: one file each in `sandboxes/languages/`, so that a new language is a new file and nothing else.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new(&required("CARGO_MANIFEST_DIR")?).join("../../sandboxes/languages");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    let mut list = String::from("[\n");
    for path in files {
        println!("cargo::rerun-if-changed={}", path.display());
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = path.display().to_string();
        writeln!(list, "    ({name:?}, include_str!({path:?})),").map_err(io::Error::other)?;
    }
    list.push_str("]\n");
    fs::write(Path::new(&required("OUT_DIR")?).join("languages.rs"), list)
}

fn required(name: &str) -> io::Result<String> {
    env::var(name).map_err(|error| io::Error::other(format!("{name}: {error}")))
}
