//! Programs, libraries and settings of the judge that the acting side removed. What is made or changed is seen when the tests load it,
//! but what is gone, or cannot be reached any more, may leave nothing to be seen. So that costs trust by its path.

/// Folders of the system.
const SYSTEM: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc"];
/// Where programs are looked for if nothing else is said.
const SEARCHED: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// True if judges may stand on what is at a path: it is the system's, or lies where programs are looked for.
pub(super) fn is_due(path: &str, search: &[String]) -> bool {
    SYSTEM.iter().any(|system| is_below(path, system))
        || search.iter().any(|folder| is_below(path, folder) || is_below(folder, path))
}

/// Bits of a mode that tell the kind of a file, and those of a regular one and a folder.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;

/// True if what stands at such a path with this kind and these permissions, or nothing, is taken away. A link, a pipe or a device
/// need not lead to anything that can be read.
pub(super) fn is_taken(path: &str, mode: Option<u32>, search: &[String]) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_program = search.iter().any(|searched| searched == folder);
    is_due(path, search)
        && mode.is_none_or(|mode| {
            !matches!(mode & KIND, REGULAR | FOLDER) || mode & 0o444 == 0 || (is_program && mode & 0o111 == 0)
        })
}

/// Folders in which programs are looked for, by the variables `PATH` of an environment and of an image.
pub(super) fn search<'a>(paths: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let folders = paths.into_iter().chain([SEARCHED]).flat_map(|paths| paths.split(':'));
    let mut folders: Vec<String> = folders
        .filter(|folder| folder.len() > 1 && folder.starts_with('/'))
        .map(|folder| folder.trim_end_matches('/').to_owned())
        .collect();
    folders.sort();
    folders.dedup();
    folders
}

fn is_below(path: &str, folder: &str) -> bool {
    path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removals_from_the_system_and_from_where_programs_are_looked_for_are_doubted() {
        let search = search(["/opt/venv/bin:/usr/bin:", "relative:/"]);
        for path in ["/usr/bin/python3", "/etc", "/lib/x.so", "/opt/venv/bin/pytest", "/opt/venv"] {
            assert!(is_due(path, &search), "{path}");
        }
        for path in ["/app/main.py", "/usrlocal", "/home/agent/etc/x", "/opt/venv/lib/x.py", "/"] {
            assert!(!is_due(path, &search), "{path}");
        }
    }

    #[test]
    fn unreadable_and_unrunnable_files_count_as_removed() {
        let search = search([]);
        for (path, mode) in [
            ("/usr/bin/grep", None),
            ("/usr/bin/grep", Some(0o100_644)),
            ("/usr/lib/x.so", Some(0o100_000)),
            ("/usr/bin/grep", Some(0o120_777)),
            ("/usr/lib/x.so", Some(0o020_666)),
        ] {
            assert!(is_taken(path, mode, &search), "{path}");
        }
        for (path, mode) in
            [("/usr/bin/grep", Some(0o100_755)), ("/usr/lib/x.so", Some(0o100_644)), ("/app/tool", None)]
        {
            assert!(!is_taken(path, mode, &search), "{path}");
        }
    }
}
