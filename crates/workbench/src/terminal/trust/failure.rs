//! Files that the judge's processes could not open, write or run, and whether the acting side saw to that.

use palestra_sandbox::watch::File;

use super::process::is_below;
use super::{Analysis, code, words};

impl Analysis<'_> {
    /// A process could not open a file for writing: what it has to say there is not read, but what stands there.
    pub(super) fn could_not_write(&mut self, pid: i32, path: &str, full: bool) {
        let process = self.process(pid).clone();
        if process.is_program || process.is_swayed {
            return;
        }
        let mut above = path.match_indices('/').map(|(end, _)| &path[..end]).chain([path]);
        let gone = self.known.removed.iter().chain(&self.known.shut).any(|gone| is_below(path, gone));
        if full || gone || self.is_touched() || above.any(|above| self.holds(above)) {
            let why = if full {
                "for which there is no room"
            } else {
                "which the acting side may have made, changed or removed"
            };
            self.doubt(format!("the tests' own `{}` could not write {path}, {why}", process.line()));
        }
    }

    /// A process could not open or run a path. Where the acting side did that, it is as if it had been loaded.
    pub(super) fn failed(&mut self, pid: i32, path: &str, runs: bool) {
        let process = self.process(pid).clone();
        let taken = self.known.removed.iter().chain(&self.known.shut).chain(&self.moved);
        let is_taken = self.known.changed.contains(path) || taken.into_iter().any(|taken| is_below(path, taken));
        if process.is_program || process.is_swayed || !is_taken {
            return;
        }
        // What is there and cannot be read says nothing, whoever asks for it.
        let is_there = self.known.changed.contains(path) && !self.cleared.contains(path);
        let is_closed = is_there || self.known.shut.iter().any(|shut| is_below(path, shut));
        let was_there = [&self.known.replaced, &self.known.removed].iter().any(|paths| paths.contains(path));
        let is_asked_for = if runs {
            !was_there && self.says(&process, |text| words::names_path(text, path, &process.folder))
        } else {
            !is_closed
                && (process.is_handed(path)
                    || ((self.says(&process, |text| words::names(text, path))
                        || self.is_in_a_named_folder(&process, path))
                        && !code::is_code(path, &File::default())))
        };
        if !is_asked_for {
            let (line, what) = (process.line(), if runs { "run" } else { "open" });
            self.doubt(format!(
                "the tests' own `{line}` could not {what} {path}, which the acting side changed or removed"
            ));
        }
    }
}
