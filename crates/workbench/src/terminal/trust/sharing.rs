//! Resources that programs of the acting side and the tests share: open files, and links to what is the judge's.

use std::collections::BTreeSet;

use super::process::{is_below, resolved};
use super::{Analysis, RESULTS, TESTS};

impl Analysis<'_> {
    /// A program holds files as the judge's process that started it does. What the tests read there it can read, wind back or use up,
    /// and into what they write there it can write. Processes between them that hold no tests, such as `timeout`, pass on what they got.
    pub(super) fn shares(&mut self, pid: i32) {
        let process = self.process(pid).clone();
        let (mut shared, mut at) = (&process.shared - &process.got, process.parent);
        let mut seen = BTreeSet::new();
        while let Some(parent) = self.processes.get(&at).filter(|parent| !parent.is_program) {
            if parent.holds_tests() || !seen.insert(at) {
                break;
            }
            shared.retain(|path| parent.shared.contains(path) && !parent.got.contains(path));
            at = parent.parent;
        }
        if !self.processes.get(&at).is_some_and(|parent| !parent.is_program && parent.holds_tests()) {
            return;
        }
        for path in shared {
            if self.own.contains_key(&path) {
                self.shared.insert(path);
            } else if is_below(&path, TESTS) && !process.is_sent_to(&path) {
                self.doubt(format!(
                    "a program of the acting side (`{}`) could read {path}, which the tests hold open",
                    process.line()
                ));
            }
        }
    }

    /// A program made a link.
    pub(super) fn linked(&mut self, pid: i32, path: &str, target: Option<&str>) {
        let process = self.process(pid).clone();
        if (process.is_program || process.is_swayed)
            && let Some(target) = target
            && self.leads_to_judges(path, target)
        {
            self.doubt(format!("a program of the acting side made {path}, a link to {target}"));
        }
    }

    /// Links of the acting side's that lead to what the judge holds answers against: whether two files are one is seen without opening
    /// either, and so is what a folder holds.
    pub(super) fn links(&mut self) {
        for (path, target) in &self.known.links {
            if !self.cleared.contains(path) && self.leads_to_judges(path, target) {
                self.doubt(format!(
                    "{path}, which the acting side made, is a link to {target}, which is the tests' own"
                ));
            }
        }
    }

    fn leads_to_judges(&self, path: &str, target: &str) -> bool {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let target = resolved(target, folder);
        let judges = [TESTS, RESULTS].iter().any(|own| is_below(&target, own) || is_below(own, &target));
        judges || (self.own.contains_key(&target) && !self.known.changed.contains(&target))
    }
}
