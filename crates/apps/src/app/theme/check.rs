//! Checks of the files of a theme, before a page is made with them.

use std::collections::BTreeMap;

use minijinja::Template;

use super::{BYTES_MAX, FILES_MAX, FOLDER, LOOKS_FILE, Names};
use crate::fault::{Fault, Faults, Position};
use crate::syntax::nearest;

/// Templates that are no screen's.
const SHARED: [&str; 4] = ["layout", "parts", "lists", "screen"];
/// Variables of templates, with the members of each; any where there is none.
const KNOWN: [(&str, &[&str]); 5] = [
    (
        "page",
        &[
            "title", "base", "path", "nav", "more", "back", "toast", "task", "over", "script", "primary", "scroll",
            "search", "home", "shell", "answers",
        ],
    ),
    ("app", &["name", "title", "icon", "about"]),
    (
        "screen",
        &[
            "name", "title", "kind", "path", "address", "nodes", "lists", "detail", "acts", "forms", "toolbar",
            "dialogs", "banners", "dialog",
        ],
    ),
    ("panels", &["home", "beside", "under"]),
    ("icon", &[]),
];
/// Names that the language of templates itself has.
const BUILTIN: [&str; 7] = ["range", "dict", "namespace", "loop", "self", "super", "caller"];

/// Faults of number, size and names of files.
pub(super) fn bounds(files: &BTreeMap<&str, &str>) -> Faults {
    let mut faults = Faults::new();
    let mut wrong = |file: &str, message: String| faults.push(at(file, 1, message));
    if files.len() > FILES_MAX {
        wrong(FOLDER, format!("a theme has at most {FILES_MAX} files, and this one {}", files.len()));
    }
    let bytes: usize = files.values().map(|text| text.len()).sum();
    if bytes > BYTES_MAX {
        wrong(FOLDER, format!("the files of a theme have at most {BYTES_MAX} bytes together, and these {bytes}"));
    }
    for name in files.keys().filter(|name| !is_file_name(name)) {
        wrong(
            name,
            "this is no name of a file of a theme: use theme.yaml, or letters, digits, _ and - with the ending html, css, js or svg"
                .to_owned(),
        );
    }
    faults
}

/// True if a name stands for a file of a theme.
pub fn is_file_name(name: &str) -> bool {
    let plain =
        |stem: &str| !stem.is_empty() && stem.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let Some(rest) = name.strip_prefix(FOLDER) else { return false };
    let named = rest
        .rsplit_once('.')
        .is_some_and(|(stem, ending)| plain(stem) && ["html", "css", "js", "svg"].contains(&ending));
    name == LOOKS_FILE || (named && name.len() <= 64)
}

/// Refuses a template that no screen would have.
pub(super) fn template_name(file: &str, name: &str, names: &Names<'_>) -> Result<(), Faults> {
    let stem = name.trim_end_matches(".html");
    if SHARED.contains(&stem) || stem.starts_with("my-") || names.screen(stem).is_some() {
        return Ok(());
    }
    let near = nearest(stem, names.screens.screens.iter().map(|screen| &*screen.name));
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`"));
    let message =
        format!("no screen is called `{stem}`{near}: name the file after a screen, one of {SHARED:?}, or my-NAME");
    Err(vec![at(file, 1, message)])
}

/// Refuses variables that no page has.
pub(super) fn variables(file: &str, template: &Template<'_, '_>, names: &Names<'_>) -> Result<(), Faults> {
    let mut faults = Faults::new();
    let mut unknown: Vec<String> = template.undeclared_variables(true).into_iter().collect();
    unknown.sort();
    for name in unknown {
        let mut parts = name.split('.');
        let first = parts.next().unwrap_or_default();
        if BUILTIN.contains(&first) {
            continue;
        }
        let Some((_, members)) = KNOWN.iter().find(|(known, _)| *known == first) else {
            let known = KNOWN.map(|(known, _)| known).join(", ");
            faults.push(at(
                file,
                line(template.source(), first),
                format!("there is no variable `{first}`: use one of {known}"),
            ));
            continue;
        };
        let second = parts.next();
        if let Some(second) = second.filter(|second| !members.is_empty() && !members.contains(second)) {
            let near = nearest(second, members.iter().copied())
                .map_or_else(String::new, |near| format!("; did you mean `{near}`"));
            let message = format!("`{first}` has no `{second}`{near}: use one of {}", members.join(", "));
            faults.push(at(file, line(template.source(), &format!("{first}.{second}")), message));
        }
        if let ("screen", Some("lists"), Some(view)) = (first, second, parts.next())
            && names.view(view).is_none()
        {
            let near = nearest(view, names.views.iter().map(|view| &*view.name))
                .map_or_else(String::new, |near| format!("; did you mean `{near}`"));
            faults.push(at(
                file,
                line(template.source(), &format!("lists.{view}")),
                format!("there is no view `{view}`{near}: name one of the app"),
            ));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// The line on which a name stands first.
fn line(source: &str, name: &str) -> u32 {
    let place = source.lines().position(|line| line.contains(name)).unwrap_or(0);
    u32::try_from(place + 1).unwrap_or(1)
}

fn at(file: &str, line: u32, message: String) -> Fault {
    Fault { position: Position { file: file.into(), line, column: 1 }, path: String::new(), message }
}
