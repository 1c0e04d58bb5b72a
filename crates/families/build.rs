//! Lists what is shipped: the apps, every folder of `environments/app/` with its YAML files, and the work that is done in
//! sandboxes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let root = manifest.ancestors().nth(2).unwrap_or(&manifest);
    let target = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(target.join("shipped_apps.rs"), apps(&root.join("environments"))?)?;
    fs::write(target.join("shipped_work.rs"), work(&root.join("environments"))?)?;
    fs::write(target.join("shipped_sql.rs"), sql(&root.join("environments"))?)
}

/// Every folder of `app/` is an app, and every one of `former/app/NAME/` an earlier version of it: its files stand in place of those
/// of the same name in the version after it.
fn apps(environments: &Path) -> io::Result<String> {
    let (apps, former) = (environments.join("app"), environments.join("former").join("app"));
    println!("cargo::rerun-if-changed={}", apps.display());
    println!("cargo::rerun-if-changed={}", former.display());
    let mut list = String::from("const APPS: &[(&str, &[(&str, &str)])] = &[\n");
    let mut earlier = String::from("const FORMER_APPS: &[(&str, &[(&str, &str)])] = &[\n");
    for folder in sorted(&apps)?.into_iter().filter(|path| path.is_dir()) {
        let files = definitions(&folder)?;
        // Writing to a string cannot fail.
        let _ = writeln!(list, "    ({:?}, &[{}]),", name(&folder), included(&files));
        let mut files = files;
        for version in sorted(&former.join(name(&folder)))?.iter().rev() {
            files.extend(definitions(version)?);
            let _ = writeln!(earlier, "    ({:?}, &[{}]),", name(&folder), included(&files));
        }
    }
    Ok(format!("{list}];\n{earlier}];\n"))
}

/// The files of a definition in a folder, by name.
fn definitions(folder: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let is_data = |path: &Path| path.ends_with("data.json") || path.ends_with("tasks.jsonl");
    let is_yaml = |path: &Path| path.extension().is_some_and(|name| name == "yaml");
    let files = sorted(folder)?.into_iter().filter(|path| is_yaml(path) || is_data(path));
    Ok(files.map(|path| (name(&path), path)).collect())
}

/// Files with what they hold, as Rust.
fn included(files: &BTreeMap<String, PathBuf>) -> String {
    files.iter().fold(String::new(), |mut list, (name, path)| {
        let _ = write!(list, "({name:?}, include_str!({:?})), ", path.display().to_string());
        list
    })
}

/// Every folder of `sql/` is an environment, and every one of `former/sql/NAME/` an earlier version of it: its files stand in place of
/// those of the same name. The newest version follows the earlier ones.
fn sql(environments: &Path) -> io::Result<String> {
    let (newest, former) = (environments.join("sql"), environments.join("former").join("sql"));
    println!("cargo::rerun-if-changed={}", newest.display());
    println!("cargo::rerun-if-changed={}", former.display());
    let mut list = String::from("const SQL: &[Shipped] = &[\n");
    let mut earlier = String::from("const FORMER_SQL: &[Shipped] = &[\n");
    let shipped = |name: &str, version: usize, files: &BTreeMap<PathBuf, PathBuf>| {
        Ok::<_, io::Error>(format!(
            "    Shipped {{ name: \"sql/{name}\", version: {version}, files: &[{}] }},\n",
            listed(files)?
        ))
    };
    for path in sorted(&newest)?.into_iter().filter(|path| path.is_dir()) {
        let (name, files) = (name(&path), inside(&path)?);
        let versions = sorted(&former.join(&name))?;
        for (number, version) in (1..).zip(&versions) {
            let mut files = files.clone();
            files.extend(inside(version)?);
            earlier.push_str(&shipped(&name, number, &files)?);
        }
        list.push_str(&shipped(&name, versions.len() + 1, &files)?);
    }
    Ok(format!("{list}];\n{earlier}];\n"))
}

/// Every folder or JSON Lines file of `terminal/` and `code/` is an environment, and so is `repository/` with all its folders.
fn work(environments: &Path) -> io::Result<String> {
    let mut list = String::from("const WORK: &[Shipped] = &[\n");
    for family in ["code", "terminal"] {
        let folder = environments.join(family);
        println!("cargo::rerun-if-changed={}", folder.display());
        for path in sorted(&folder)? {
            let environment = name(&path);
            let environment = environment.split('.').next().unwrap_or_default();
            let _ =
                writeln!(list, "    Shipped {{ name: \"{family}/{environment}\", files: &[{}] }},", embedded(&path)?);
        }
    }
    let folder = environments.join("repository");
    println!("cargo::rerun-if-changed={}", folder.display());
    if folder.is_dir() {
        let _ = writeln!(list, "    Shipped {{ name: \"repository/small\", files: &[{}] }},", embedded(&folder)?);
    }
    list.push_str("];\n");
    Ok(list)
}

/// The files below a path, each with its permission bits.
fn embedded(top: &Path) -> io::Result<String> {
    listed(&inside(top)?)
}

/// The files below a path, by their paths there.
fn inside(top: &Path) -> io::Result<BTreeMap<PathBuf, PathBuf>> {
    let mut files = BTreeMap::new();
    let mut waiting = vec![top.to_owned()];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(sorted(&path)?);
            continue;
        }
        let inside = path.strip_prefix(top).unwrap_or(&path).to_owned();
        files.insert(if inside.as_os_str().is_empty() { name(&path).into() } else { inside }, path);
    }
    Ok(files)
}

/// Files with their permission bits and what they hold, as Rust.
fn listed(files: &BTreeMap<PathBuf, PathBuf>) -> io::Result<String> {
    let mut list = String::new();
    for (inside, path) in files {
        let mode = fs::metadata(path)?.permissions().mode() & 0o777;
        let (inside, path) = (inside.display().to_string(), path.display().to_string());
        let _ = write!(list, "({inside:?}, {mode}, include_bytes!({path:?})), ");
    }
    Ok(list)
}

/// The entries of a folder, by name; none where there is no such folder.
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
