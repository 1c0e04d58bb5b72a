//! Files that processes open: which of it is data that is asked for, which is a program, and which is a load.

use palestra_sandbox::watch::Opened;

use super::process::{Process, is_below};
use super::{
    ACCESS, Analysis, EXCLUSIVE, FOLDER, KERNEL, KIND, READ_WRITE, REGULAR, RESULTS, SYSTEM, TESTS, TRUNCATE, code,
    identity, is_reward, words,
};

/// Files of another process that anybody may read: how it fares, and the environment that programs inherit, not what it holds.
const PUBLIC: [&str; 15] = [
    "stat",
    "status",
    "statm",
    "comm",
    "cmdline",
    "wchan",
    "io",
    "limits",
    "cgroup",
    "oom_score",
    "oom_score_adj",
    "environ",
    "loginuid",
    "sched",
    "schedstat",
];

impl Analysis<'_> {
    pub(super) fn opened_by_program(&mut self, opened: &Opened) {
        let process = self.process(opened.pid).clone();
        let writes = opened.flags & ACCESS != 0;
        let path = opened.path.as_str();
        let of = path.strip_prefix("/proc/").and_then(|rest| rest.split('/').next()?.parse::<i32>().ok());
        let judges = of.is_some_and(|of| self.processes.get(&of).is_none_or(|of| !of.is_program));
        let is_public = kind(opened) == FOLDER
            || path.rsplit('/').next().is_some_and(|name| {
                let is_told = || of.and_then(|of| self.processes.get(&of)).is_some_and(|of| of.is_told);
                PUBLIC.contains(&name) && !(name == "cmdline" && is_told())
            });
        let judges_own = [path, opened.given.as_str()].into_iter().find_map(|path| {
            let is_taken = is_below(path, RESULTS) || (is_below(path, TESTS) && (writes || !process.is_sent_to(path)));
            is_taken.then(|| path.to_owned())
        });
        if opened.foreign || (judges && (writes || !is_public)) {
            self.doubt(format!(
                "a program of the acting side (`{}`) reached into the tests' own process by {path}",
                process.line()
            ));
        } else if let Some(path) = judges_own {
            self.doubt(format!("a program of the acting side (`{}`) opened {path}", process.line()));
        } else if writes && self.is_out_of_its_way(&process, path) {
            self.doubt(format!(
                "a program of the acting side (`{}`) wrote {path}, which the tests had written",
                process.line()
            ));
        } else if self.is_judges_code(opened) {
            self.doubt(format!(
                "a program of the acting side (`{}`) opened {path}, which is code of the tests",
                process.line()
            ));
        } else if writes {
            self.put(path);
        } else {
            self.copies(opened);
        }
    }

    pub(super) fn opened_by_judge(&mut self, opened: &Opened) {
        let process = self.process(opened.pid);
        process.opened.insert(opened.path.clone());
        let process = process.clone();
        let path = opened.path.as_str();
        let led = opened.links.iter().any(|link| self.is_acting_link(link));
        if led && self.leads_astray(opened) {
            return self.doubt(format!("a link that the acting side made led `{}` to {path}", process.line()));
        }
        if opened.flags & ACCESS != 0 {
            if is_reward(path) {
                if process.is_swayed {
                    self.doubt(format!("`{}` wrote the reward and read what the acting side made", process.line()));
                }
                self.reward(opened.pid, opened.flags & (TRUNCATE | EXCLUSIVE) != 0);
            }
            self.wrote(&process, opened);
            // What is made anew holds nothing yet.
            let empty = opened.flags & (TRUNCATE | EXCLUSIVE) != 0 || opened.file.head.is_empty();
            if opened.flags & ACCESS != READ_WRITE || empty {
                return;
            }
        }
        if opened.foreign || path.starts_with("/proc/") || kind(opened) == FOLDER {
            return;
        }
        if self.own.get(path).is_some_and(|own| own.is_some_and(|own| own != identity(&opened.file))) {
            return self.doubt(format!(
                "{path}, which the tests had written, was replaced before `{}` read it",
                process.line()
            ));
        }
        if self.shared.contains(path) {
            self.doubt(format!(
                "`{}` read {path}, into which a program of the acting side could write as well",
                process.line()
            ));
        }
        if process.is_swayed && is_below(path, TESTS) && !process.is_sent_to(path) {
            self.doubt(format!("`{}` read what the acting side made, and then {path}", process.line()));
        }
        if !led && (opened.of_image || !self.is_acting(path, opened.file.changed_ns)) {
            // What is neither the tests' nor made by them is the image's or the set-up's.
            if is_below(path, TESTS) || opened.file.changed_ns >= self.began_ns {
                if words::is_shell(&process.exe) {
                    self.shells.insert(path.to_owned());
                }
                self.process(opened.pid).texts.insert(path.to_owned());
            }
            return;
        }
        self.touch(opened.at_ns);
        if kind(opened) != REGULAR && self.holds(path) {
            let line = process.line();
            return self.doubt(format!("`{line}` read {path}, which the acting side put there and which is no file"));
        }
        if self.known.texts.contains_key(path) {
            return self
                .doubt(format!("{path}, which is the tests' own, was changed before `{}` read it", process.line()));
        }
        self.read(&process, opened, led);
        if !self.own.contains_key(path) {
            self.copies(opened);
        }
    }

    /// Attributes a file's contents to the acting side, wherever the file is found.
    fn copies(&mut self, opened: &Opened) {
        if kind(opened) == REGULAR {
            self.contents.insert(opened.file.content);
        }
    }

    /// True if a link of the acting side's leads where it has no data of its own, nor of the image's: to the tests' files, to those of
    /// the kernel, to what is no file, or, for writing, anywhere.
    fn leads_astray(&self, opened: &Opened) -> bool {
        let path = opened.path.as_str();
        let others = KERNEL.iter().chain(&[TESTS, RESULTS]).any(|folder| is_below(path, folder));
        let writes = opened.flags & ACCESS != 0;
        let judges = self.own.contains_key(path) && !self.known.changed.contains(path);
        writes || others || judges || !path.starts_with('/') || !matches!(kind(opened), REGULAR | FOLDER)
    }

    /// A process of the judge's read a file of the acting side's. Where a link of the acting side's led there (`led`), the link itself
    /// has to be asked for: what it leads to may have been, as something else.
    fn read(&mut self, process: &Process, opened: &Opened, led: bool) {
        let path = opened.path.as_str();
        let code = code::is_code(path, &opened.file)
            || code::is_code(&opened.given, &opened.file)
            || self.becomes_code(process, &opened.given);
        if self.own.contains_key(path) && code && !self.contents.contains(&opened.file.content) {
            let line = process.line();
            return self.doubt(format!("the tests' own `{line}` loaded {path}, which they wrote after they had touched what the acting side made or changed"));
        }
        let holds = |asked: &dyn Fn(&str) -> bool| asked(&opened.given) || (!led && asked(path));
        if holds(&|path| process.is_handed(path)) {
            return if code { self.hand_over(opened) } else { self.process(opened.pid).is_swayed = true };
        }
        let named = holds(&|path| {
            self.says(process, |text| words::names(text, path)) || self.is_in_a_named_folder(process, path)
        });
        let (exe, line) = (process.exe.as_str(), process.line());
        let made = "which the acting side made or changed";
        if !named {
            self.doubt(format!("the tests' own `{line}` loaded {path}, {made} and which they do not name"));
        } else if self.is_loaded(process, opened, code) {
            self.doubt(format!("the tests' own `{line}` loaded {path}, {made} and which may be code"));
        } else if words::is_shell(exe) {
            if self.says(process, |text| words::sources(text, path)) {
                self.doubt(format!("the tests' own `{line}` may have carried out {path}, {made}"));
            }
            self.process(opened.pid).reads = Some(path.to_owned());
        } else if process.texts.is_empty() || !words::carries_out(exe) {
            // It holds no test, or none that it carries out: what it starts from here on, such as commands of a build or of a setting,
            // may be the file's.
            let is_named = self.names_itself(process, path);
            let process = self.process(opened.pid);
            process.is_swayed |= process.texts.is_empty() && !process.is_told;
            if !is_named {
                process.led_by.get_or_insert_with(|| path.to_owned());
            }
        }
    }

    /// True if a process loads a file, by its looks or because Python looked for what was compiled from it.
    fn is_loaded(&self, process: &Process, opened: &Opened, code: bool) -> bool {
        let imported = words::is_python(&process.exe) && self.imports(process, &opened.given);
        imported || self.becomes_code(process, &opened.given) || (code && !self.is_python_text(process, opened))
    }

    /// True if what the judge's text says makes a process load a file as code that does not look like any.
    fn becomes_code(&self, process: &Process, path: &str) -> bool {
        if words::is_python(&process.exe) {
            return !path.ends_with(".json") && self.says(process, words::obeys);
        }
        let parsed = path.ends_with(".json") && process.exe.ends_with("/node");
        !parsed && words::is_interpreter(&process.exe) && self.says(process, |text| words::loads(text, path))
    }

    /// True if a process of Python's reads what looks like code as text: a source that it did not look for as a module.
    fn is_python_text(&self, process: &Process, opened: &Opened) -> bool {
        let names = [opened.path.as_str(), opened.given.as_str()];
        words::is_python(&process.exe)
            && !names.iter().any(|path| code::is_compiled(path, &opened.file) || self.imports(process, path))
            && !self.says(process, words::evaluates)
    }

    /// A process runs a file that it was handed as a program, and so do those that were handed it before and wait for this one.
    fn hand_over(&mut self, opened: &Opened) {
        let mut pid = opened.pid;
        while let Some(process) = self.processes.get(&pid) {
            if !process.is_handed(&opened.path) && !process.is_handed(&opened.given) {
                break;
            }
            let parent = process.parent;
            self.becomes_program(pid, opened.at_ns);
            pid = parent;
        }
    }

    /// True if a Python process opens a file as a module: it looks for what was compiled from it first.
    fn imports(&self, process: &Process, path: &str) -> bool {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = name.split('.').next().unwrap_or(name);
        process.looked_for.iter().any(|(at, module)| module == stem && (at == folder || at.ends_with(folder)))
    }

    /// True if the judge names a file itself, by its path or by its name in its folder, and not some other of the same name.
    fn names_itself(&self, process: &Process, path: &str) -> bool {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.says(process, |text| words::names_path(text, path, &process.folder))
            || (self.says(process, |text| words::names(text, path))
                && (process.folder == folder || self.says(process, |text| words::names_folder(text, folder))))
    }

    /// True if a file is below a folder that the judge names and that no process of its own worked in, nor above.
    pub(super) fn is_in_a_named_folder(&self, process: &Process, path: &str) -> bool {
        let mut folder = path;
        while let Some((above, _)) = folder.rsplit_once('/') {
            folder = above;
            let whole =
                folder.is_empty() || SYSTEM.contains(&folder) || self.folders.iter().any(|at| is_below(at, folder));
            if whole {
                return false;
            }
            if self.says(process, |text| words::names_folder(text, folder)) {
                return true;
            }
        }
        false
    }

    /// A process of the judge's opened a file for writing.
    fn wrote(&mut self, process: &Process, opened: &Opened) {
        let path = opened.path.as_str();
        let anew = opened.flags & (TRUNCATE | EXCLUSIVE) != 0;
        let replaces = opened.flags & ACCESS != READ_WRITE || anew;
        if self.known.texts.contains_key(path) && (process.is_swayed || (replaces && self.is_touched())) {
            let line = process.line();
            self.doubt(format!("`{line}` wrote {path}, which is the tests' own, after they had touched what the acting side made or changed"));
        }
        if process.is_swayed && self.is_out_of_its_way(process, path) {
            self.doubt(format!(
                "`{}` read what the acting side made and wrote {path}, which the tests had written",
                process.line()
            ));
        }
        if process.is_swayed {
            return self.put(path);
        }
        let adds = opened.flags & ACCESS != READ_WRITE && !anew;
        if self.holds(path) && (adds || kind(opened) != REGULAR) {
            let line = process.line();
            self.doubt(format!("the tests' own `{line}` wrote into {path}, which the acting side had put there"));
        }
        if self.holds(path) && opened.file.names > 1 {
            let line = process.line();
            self.doubt(format!(
                "the tests' own `{line}` wrote {path}, which the acting side had given another name as well"
            ));
        }
        if let Some(folder) =
            process.paths.iter().find(|folder| self.is_acting_folder(folder) && self.is_led_into(folder, path))
        {
            let line = process.line();
            self.doubt(format!(
                "the tests' own `{line}` wrote {path} into {folder}, a folder that the acting side had put there"
            ));
        }
        if anew {
            self.cleared.insert(path.to_owned());
        }
        self.own.insert(path.to_owned(), Some(identity(&opened.file)));
        self.process(opened.pid).wrote.insert(path.to_owned());
    }

    /// True if a folder is of the acting side's making, and not where it worked.
    fn is_acting_folder(&self, path: &str) -> bool {
        let made = self.known.changed.contains(path) && !self.known.replaced.contains(path);
        made && !is_below(&self.known.folder, path) && !self.cleared.contains(path)
    }

    /// True if what was to stand at a path came to stand below it, since a folder was there: a copied folder anywhere, a file where the
    /// acting side did not work.
    fn is_led_into(&self, folder: &str, path: &str) -> bool {
        let below = path.strip_prefix(folder).and_then(|below| below.strip_prefix('/'));
        below.is_some_and(|below| below.contains('/') || !is_below(folder, &self.known.folder))
    }

    /// True if a file is code that the judge brought or wrote, and no copy of what the acting side made.
    fn is_judges_code(&self, opened: &Opened) -> bool {
        let path = opened.path.as_str();
        (self.known.texts.contains_key(path) || self.own.contains_key(path))
            && code::is_code(path, &opened.file)
            && !self.contents.contains(&opened.file.content)
    }
}

/// The bits that tell what kind of file was opened.
fn kind(opened: &Opened) -> u32 {
    opened.file.mode & KIND
}
