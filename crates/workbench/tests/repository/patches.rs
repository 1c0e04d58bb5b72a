//! Patches to try, made from the files of `environments/repository/`.

use std::fmt::Write as _;
use std::path::Path;

/// Contents of a file of a shipped tree.
pub(crate) fn file(name: &str, path: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../environments/repository");
    std::fs::read_to_string(folder.join(name).join("tree").join(path)).expect("a shipped file")
}

/// A file that holds something else; it is new where it held nothing.
pub(crate) fn diff(path: &str, old: &str, new: &str) -> String {
    let head = match old {
        "" => format!("diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"),
        _ => format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"),
    };
    let start = |text: &str| u8::from(!text.is_empty());
    let (removed, added) = (old.lines().count(), new.lines().count());
    let counts = format!("@@ -{},{removed} +{},{added} @@\n", start(old), start(new));
    format!("{head}{counts}{}{}", lines('-', old), lines('+', new))
}

/// A new file.
pub(crate) fn add(path: &str, text: &str) -> String {
    diff(path, "", text)
}

/// A symbolic link.
pub(crate) fn link(path: &str, target: &str) -> String {
    format!(
        "diff --git a/{path} b/{path}\nnew file mode 120000\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{target}\n\\ No newline at end of file\n"
    )
}

/// A shipped file that is gone.
pub(crate) fn delete(name: &str, path: &str) -> String {
    let old = file(name, path);
    let head = format!("diff --git a/{path} b/{path}\ndeleted file mode 100644\n--- a/{path}\n+++ /dev/null\n");
    format!("{head}@@ -1,{} +0,0 @@\n{}", old.lines().count(), lines('-', &old))
}

/// A shipped file that holds something else.
pub(crate) fn replace(name: &str, path: &str, text: &str) -> String {
    diff(path, &file(name, path), text)
}

/// A shipped file with something before what it holds.
pub(crate) fn prepend(name: &str, path: &str, text: &str) -> String {
    replace(name, path, &format!("{text}{}", file(name, path)))
}

fn lines(mark: char, text: &str) -> String {
    text.lines().fold(String::new(), |mut lines, line| {
        let _ = writeln!(lines, "{mark}{line}");
        lines
    })
}
