//! Trust in a script that judges beside what the acting side made. It follows from what was seen while it ran: where a process of the
//! judge's own loaded a file that the acting side made or changed, nobody can tell who gave the score; where such a file ran as a
//! program of its own, or was read as the data that the judge asks for by name, the score is the judge's.
//!
//! A process is the judge's own from the script on, with all that it starts. It becomes a *program* of the acting side, with all that
//! it starts, when it runs a file of that side which the judge names by its path, or opens one that it was handed as an argument
//! while it holds none of the judge's code. Everything else that a judge's process opens of that side has to be named, as a file's
//! name stands, by the tests that this process read or by its own arguments, and must not look like code. What nobody names, such as
//! modules, start files, settings and hooks that a runtime finds by itself, is a load. So no list of such names is needed.

mod code;
mod process;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use palestra_sandbox::watch::{Opened, Ran, Record, Sight};

use self::process::{Process, is_below, resolved};

/// Most doubts that are told.
const DOUBTS_MAX: usize = 20;
/// Where the tests lie and where they leave their reward.
const TESTS: &str = "/tests";
const RESULTS: &str = "/logs/verifier";
/// Bits of the kernel's `open` that are looked at.
const ACCESS: i32 = 0o3;
const READ_WRITE: i32 = 0o2;
const EXCLUSIVE: i32 = 0o200;
const TRUNCATE: i32 = 0o1000;
/// Folders that are nobody's work as a whole.
const SYSTEM: [&str; 9] = ["/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/home", "/root"];

/// What is known before the judge runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// Paths that the acting side made or changed.
    pub(super) changed: BTreeSet<String>,
    /// Those of them that stand in place of the image's own.
    pub(super) replaced: BTreeSet<String>,
    /// Paths that the task's set-up made, and that are as it left them.
    pub(super) layered: BTreeSet<String>,
    /// The judge's files by path.
    pub(super) texts: BTreeMap<String, String>,
    /// Where the acting side worked.
    pub(super) folder: String,
}

/// Why nobody saw what the judge loaded, where that is so.
pub(super) fn unseen(record: &Record) -> Option<String> {
    match &record.closing {
        None => Some("nobody watched what the tests loaded".to_owned()),
        Some(closing) => closing.blind.as_ref().map(|why| format!("nobody could watch what the tests loaded: {why}")),
    }
}

/// Why a score cannot be trusted, by what was seen; nothing where it can.
pub(super) fn doubts(known: &Known, record: &Record) -> Vec<String> {
    let Some(closing) = record.closing.as_ref().filter(|closing| closing.blind.is_none()) else { return Vec::new() };
    let mut case = Case { known, began_ns: closing.began_ns, touched_ns: i64::MAX, ..Case::new(known) };
    for sight in &record.sights {
        case.take(sight);
    }
    if case.suspect || !case.rewarded {
        case.doubt(
            "the reward was not seen to be written by the tests alone, with no program of the acting side running"
                .to_owned(),
        );
    }
    if closing.dropped > 0 {
        case.doubt(format!("{} things that the tests did could not be seen", closing.dropped));
    }
    if closing.refused > 0 {
        case.doubt("the tests trace processes, which cannot be watched".to_owned());
    }
    case.doubts
}

/// What follows from a record, so far as it was read.
struct Case<'a> {
    known: &'a Known,
    began_ns: i64,
    /// When a process of the judge's first read or ran anything of the acting side's: what changed later may be made of it.
    touched_ns: i64,
    processes: HashMap<i32, Process>,
    /// Names that programs gave to files or folders.
    moved: BTreeSet<String>,
    /// Links that the judge made before it touched anything.
    own_links: BTreeSet<String>,
    /// Folders that the judge's processes worked in.
    folders: BTreeSet<String>,
    /// Whether a reward was written.
    rewarded: bool,
    /// Whether a program ran since.
    suspect: bool,
    doubts: Vec<String>,
}

impl<'a> Case<'a> {
    fn new(known: &'a Known) -> Self {
        Self {
            known,
            began_ns: 0,
            touched_ns: i64::MAX,
            processes: HashMap::new(),
            moved: BTreeSet::new(),
            own_links: BTreeSet::new(),
            folders: BTreeSet::from([known.folder.clone()]),
            rewarded: false,
            suspect: false,
            doubts: Vec::new(),
        }
    }

    fn take(&mut self, sight: &Sight) {
        match sight {
            Sight::Born { pid, of } => {
                let mut born = self.processes.get(of).cloned().unwrap_or_default();
                born.parent = *of;
                self.processes.insert(*pid, born);
            }
            Sight::Ended { pid } => drop(self.processes.remove(pid)),
            Sight::Missed { pid, path } => {
                if let Some((folder, stem)) = module(path) {
                    self.process(*pid).looked_for.insert((folder, stem));
                }
            }
            Sight::Ran(ran) => self.ran(ran),
            Sight::Placed { pid, path, .. } => self.placed(*pid, path),
            Sight::Opened(opened) if self.process(opened.pid).is_program => self.opened_by_program(opened),
            Sight::Opened(opened) => self.opened_by_judge(opened),
        }
    }

    fn process(&mut self, pid: i32) -> &mut Process {
        self.processes.entry(pid).or_default()
    }

    fn doubt(&mut self, why: String) {
        if self.doubts.len() < DOUBTS_MAX && !self.doubts.contains(&why) {
            self.doubts.push(why);
        }
    }

    fn touch(&mut self, at_ns: i64) {
        self.touched_ns = self.touched_ns.min(at_ns);
    }

    /// Whether what stands at a path may be of the acting side's making.
    fn is_acting(&self, path: &str, changed_ns: i64) -> bool {
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        if self.known.changed.contains(path)
            || changed_ns >= self.touched_ns
            || self.moved.iter().any(|moved| is_below(path, moved))
        {
            return true;
        }
        !(is_below(path, TESTS)
            || is_below(path, RESULTS)
            || changed_ns >= self.began_ns
            || self.known.layered.contains(path))
    }

    /// Whether a link may be of the acting side's making.
    fn is_acting_link(&self, path: &str) -> bool {
        self.known.changed.contains(path)
            || !(self.own_links.contains(path) || self.known.layered.contains(path) || is_below(path, TESTS))
    }

    /// What a process was given by the judge: its arguments, and the tests that it read.
    fn words(&self, process: &Process) -> Vec<&'a str> {
        // What the judge wrote before it touched anything came out of its tests.
        let made = process.texts.iter().any(|path| !self.known.texts.contains_key(path));
        let read = self.known.texts.iter().filter(|(path, _)| made || process.texts.contains(*path));
        read.map(|(_, text)| text.as_str()).collect()
    }

    fn says(&self, process: &Process, says: impl Fn(&str) -> bool) -> bool {
        process.argv.iter().any(|argument| says(argument)) || self.words(process).into_iter().any(says)
    }

    fn ran(&mut self, ran: &Ran) {
        let before = self.process(ran.pid).clone();
        let mut after = Process {
            parent: before.parent,
            is_program: before.is_program || before.is_swayed,
            exe: ran.exe.clone(),
            folder: ran.folder.clone(),
            argv: ran.argv.clone(),
            paths: process::handed(&ran.argv).map(|argument| resolved(argument, &ran.folder)).collect(),
            is_told: ran.cut || ran.argv.iter().skip(1).any(|argument| words::may_be_code(&ran.exe, argument)),
            ..Process::default()
        };
        if after.is_program {
            // What a program hands to another was not handed to it by the judge.
            after.paths = before.paths;
        } else {
            self.folders.insert(ran.folder.clone());
            after.is_program = self.runs_a_program(&before, ran);
        }
        if after.is_program {
            self.begin_program(ran.at_ns);
        }
        self.processes.insert(ran.pid, after);
    }

    /// Whether a process of the judge's becomes a program. What is not asked for by its path is doubted.
    fn runs_a_program(&mut self, before: &Process, ran: &Ran) -> bool {
        let mut programs: Vec<&str> =
            ran.links.iter().filter(|link| self.is_acting_link(link)).map(String::as_str).collect();
        let mut loaded = None;
        for (path, _) in ran.changed.iter().filter(|(path, changed_ns)| self.is_acting(path, *changed_ns)) {
            let named = *path == ran.exe
                || *path == ran.given
                || ran.argv.iter().any(|argument| resolved(argument, &ran.folder) == *path);
            if named { programs.push(path) } else { loaded = Some(path) }
        }
        if let Some(loaded) = loaded {
            self.doubt(format!(
                "`{}` was started with {loaded}, which the acting side made or changed",
                ran.argv.join(" ")
            ));
        }
        if let Some(input) = &before.reads
            && words::obeys_its_input(&ran.exe, &ran.argv)
        {
            self.doubt(format!("{} carries out {input}, which the acting side made or changed", ran.exe));
        }
        let Some(program) = programs.first().copied() else { return false };
        let replaced = programs.iter().chain([&ran.given.as_str()]).any(|path| self.known.replaced.contains(*path));
        let is_named = self.says(before, |text| {
            [ran.given.as_str(), program]
                .iter()
                .any(|path| words::names_path(text, path, &ran.folder) || words::names_path(text, path, &before.folder))
        });
        if is_named && !replaced {
            return true;
        }
        let why = if replaced { "stands in place of the image's own" } else { "was not asked for by its path" };
        self.doubt(format!("the tests ran {program}, which the acting side made or changed and which {why}"));
        false
    }

    fn begin_program(&mut self, at_ns: i64) {
        self.touch(at_ns);
        self.suspect |= self.rewarded;
    }

    fn placed(&mut self, pid: i32, path: &str) {
        let process = self.process(pid).clone();
        let judges = is_below(path, RESULTS) || is_below(path, TESTS);
        if process.is_program || process.is_swayed {
            self.moved.insert(path.to_owned());
            if judges {
                self.doubt(format!("a program of the acting side put {path} in place"));
            }
            return;
        }
        if self.touched_ns == i64::MAX {
            self.own_links.insert(path.to_owned());
        }
        if is_reward(path) {
            self.reward(pid, true);
        }
    }

    /// A reward was written by a process of the judge's.
    fn reward(&mut self, pid: i32, anew: bool) {
        let others = |(other, process): (&i32, &Process)| *other != pid && (process.is_program || process.is_swayed);
        let alone = !self.processes.iter().any(others);
        if !alone {
            self.doubt("the reward was written while a program of the acting side ran".to_owned());
        }
        self.rewarded = true;
        if anew && alone {
            self.suspect = false;
        } else {
            self.suspect |= self.touched_ns != i64::MAX;
        }
    }

    fn opened_by_program(&mut self, opened: &Opened) {
        let process = self.process(opened.pid).clone();
        let writes = opened.flags & ACCESS != 0;
        let path = opened.path.as_str();
        let of = path.strip_prefix("/proc/").and_then(|rest| rest.split('/').next()?.parse::<i32>().ok());
        let judges = of.is_some_and(|of| self.processes.get(&of).is_none_or(|of| !of.is_program));
        let handed = process.paths.iter().any(|handed| handed != "/" && is_below(path, handed));
        if opened.foreign || (writes && judges) {
            self.doubt(format!(
                "a program of the acting side (`{}`) reached into the tests' own process",
                process.line()
            ));
        } else if is_below(path, RESULTS) || (is_below(path, TESTS) && (writes || !handed)) {
            self.doubt(format!("a program of the acting side (`{}`) opened {path}", process.line()));
        }
    }

    fn opened_by_judge(&mut self, opened: &Opened) {
        let process = self.process(opened.pid).clone();
        let path = opened.path.as_str();
        if opened.flags & ACCESS != 0 {
            if is_reward(path) {
                if process.is_swayed {
                    self.doubt(format!("`{}` wrote the reward and read what the acting side made", process.line()));
                }
                self.reward(opened.pid, opened.flags & (TRUNCATE | EXCLUSIVE) != 0);
            }
            // What is made anew holds nothing yet.
            let empty = opened.flags & (TRUNCATE | EXCLUSIVE) != 0 || opened.file.head.is_empty();
            if opened.flags & ACCESS != READ_WRITE || empty {
                return;
            }
        }
        if opened.foreign || opened.path.starts_with("/proc/") {
            return;
        }
        let led = opened.links.iter().any(|link| self.is_acting_link(link));
        if !led && !self.is_acting(path, opened.file.changed_ns) {
            // What is neither the tests' nor made by them is the image's or the set-up's.
            if is_below(path, TESTS) || opened.file.changed_ns >= self.began_ns {
                self.process(opened.pid).texts.insert(path.to_owned());
            }
            return;
        }
        self.touch(opened.at_ns);
        if led && is_below(path, TESTS) {
            return self.doubt(format!("a link that the acting side made led `{}` to {path}", process.line()));
        }
        self.read(&process, opened, led);
    }

    /// A process of the judge's read a file of the acting side's. Where a link of the acting side's led there (`led`), the link itself
    /// has to be asked for: what it leads to may have been, as something else.
    fn read(&mut self, process: &Process, opened: &Opened, led: bool) {
        let path = opened.path.as_str();
        let code = code::is_code(path, &opened.file) || code::is_code(&opened.given, &opened.file);
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
        } else if code && !self.is_python_text(process, opened) {
            self.doubt(format!("the tests' own `{line}` loaded {path}, {made} and which may be code"));
        } else if words::is_shell(exe) {
            if self.says(process, |text| words::sources(text, path)) {
                self.doubt(format!("the tests' own `{line}` may have carried out {path}, {made}"));
            }
            self.process(opened.pid).reads = Some(path.to_owned());
        } else if process.texts.is_empty() && !process.is_told {
            // It holds no code of the judge's: what it starts from here on, such as commands of a build or of a setting, is the file's.
            self.process(opened.pid).is_swayed = true;
        }
    }

    /// Whether a process of Python's reads what looks like code as text: a source that it did not look for as a module.
    fn is_python_text(&self, process: &Process, opened: &Opened) -> bool {
        let names = [opened.path.as_str(), opened.given.as_str()];
        words::is_python(&process.exe)
            && !names.iter().any(|path| code::is_compiled(path, &opened.file) || self.imports(process, path))
            && !self.says(process, words::evaluates)
    }

    /// A process runs a file that it was handed as a program, and so do those that were handed it before and wait for this one.
    fn hand_over(&mut self, opened: &Opened) {
        let mut pid = opened.pid;
        while let Some(process) = self.processes.get_mut(&pid) {
            if !process.is_handed(&opened.path) && !process.is_handed(&opened.given) {
                break;
            }
            process.is_program = true;
            pid = process.parent;
        }
        self.begin_program(opened.at_ns);
    }

    /// Whether a Python process opens a file as a module: it looks for what was compiled from it first.
    fn imports(&self, process: &Process, path: &str) -> bool {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        process.looked_for.iter().any(|(at, module)| module == stem && (at == folder || at.ends_with(folder)))
    }

    /// Whether a file is below a folder that the judge names and that no process of its own worked in, nor above.
    fn is_in_a_named_folder(&self, process: &Process, path: &str) -> bool {
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
}

/// The folder and the stem of the module that a compiled one was made from.
fn module(path: &str) -> Option<(String, String)> {
    let (folder, name) = path.rsplit_once('/')?;
    let stem = name.split('.').next()?;
    let folder = folder.strip_suffix("/__pycache__").unwrap_or(folder);
    Some((folder.to_owned(), stem.to_owned()))
}

fn is_reward(path: &str) -> bool {
    path.strip_prefix(RESULTS).is_some_and(|rest| rest == "/reward.json" || rest == "/reward.txt")
}

#[cfg(test)]
mod tests;
