//! Definitions of apps on this machine: a folder of YAML files with their data and the folder of their theme, or one YAML file alone.

use std::fs;
use std::path::Path;

use super::failure::Failure;
use super::links::{unreadable, within};
use palestra_families::app::{FILE_BYTES_MAX, FILES_MAX, FOLDER, Files, is_file_name};

/// Extensions of the files of a definition.
const EXTENSION: &str = "yaml";

/// True for the path of a definition, and not of a data set.
pub(super) fn is_definition(path: &Path) -> bool {
    path.is_dir() || path.extension().is_some_and(|extension| extension == EXTENSION)
}

/// The files of a definition.
///
/// # Errors
/// When something cannot be read, or is more than a definition may be.
pub(super) fn read(path: &Path) -> Result<Files, Failure> {
    let mut files = Files::new();
    if !path.is_dir() {
        add(&mut files, path, "")?;
        return Ok(files);
    }
    let root = fs::canonicalize(path).map_err(|error| unreadable(path, &error))?;
    for entry in fs::read_dir(path).map_err(|error| unreadable(path, &error))? {
        let file = entry?.path();
        let is_data = file.file_name().and_then(|name| name.to_str()).is_some_and(is_file_name);
        let is_yaml = file.extension().is_some_and(|extension| extension == EXTENSION);
        if file.is_file() && (is_yaml || is_data) {
            within(&root, &file)?;
            add(&mut files, &file, "")?;
        }
    }
    let theme = path.join(FOLDER);
    for entry in fs::read_dir(&theme).into_iter().flatten() {
        let file = entry?.path();
        if file.is_file() {
            within(&root, &file)?;
            add(&mut files, &file, FOLDER)?;
        }
    }
    if files.is_empty() {
        return Err(Failure::Other(format!(
            "{} holds no .{EXTENSION} file: name the folder of an app, or publish a folder of tasks with --name terminal/NAME, code/NAME, repository/NAME or sql/NAME",
            path.display()
        )));
    }
    Ok(files)
}

/// Adds a file; `folder` stands before its name.
fn add(files: &mut Files, path: &Path, folder: &str) -> Result<(), Failure> {
    let size = fs::metadata(path).map_err(|error| unreadable(path, &error))?.len();
    if size > FILE_BYTES_MAX as u64 || files.len() >= FILES_MAX {
        let words = format!("a definition has at most {FILES_MAX} files and {FILE_BYTES_MAX} bytes");
        return Err(Failure::Other(format!("{}: {words}", path.display())));
    }
    let name = format!("{folder}{}", path.file_name().unwrap_or_default().to_string_lossy());
    files.insert(name, fs::read_to_string(path).map_err(|error| unreadable(path, &error))?);
    Ok(())
}
