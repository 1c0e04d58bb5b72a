//! Packs what is shipped, each environment of `environments/` for itself, with all its versions: as plain files they would be a twentieth of the server.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::{env, io};

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let environments = manifest.ancestors().nth(2).unwrap_or(&manifest).join("environments");
    let target = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    println!("cargo::rerun-if-changed={}", environments.display());
    let mut list = String::from("const PACKED: &[Packed] = &[\n");
    for family in ["app", "code", "sql", "terminal"] {
        for path in sorted(&environments.join(family))? {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let mut versions = sorted(&environments.join("former").join(family).join(&name))?;
            versions.push(path);
            add(&mut list, &target, family, &name, &versions)?;
        }
    }
    add(&mut list, &target, "repository", "small", &[environments.join("repository")])?;
    list.push_str("];\n");
    fs::write(target.join("packed.rs"), list)
}

/// Packs the versions of an environment, the newest last, each in a folder of its number, and adds the environment to the list.
fn add(list: &mut String, target: &Path, family: &str, name: &str, versions: &[PathBuf]) -> io::Result<()> {
    let mut archive = tar::Builder::new(Vec::new());
    for (number, version) in (1..).zip(versions) {
        let folder = PathBuf::from(number.to_string());
        if version.is_dir() {
            archive.append_dir_all(folder, version)?;
        } else {
            archive.append_path_with_name(version, folder.join(version.file_name().unwrap_or_default()))?;
        }
    }
    let pack = target.join(format!("{family}-{name}.tar.lzma"));
    fs::write(&pack, palestra_pack::pack(&archive.into_inner()?)?)?;
    let versions = versions.len();
    // Writing to a string cannot fail.
    let _ = writeln!(
        list,
        "    Packed {{ family: {family:?}, name: {name:?}, versions: {versions}, pack: include_bytes!({pack:?}) }},"
    );
    Ok(())
}

/// The entries of a folder, by name; none where there is no such folder.
fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
