//! Trust in a script that judges beside what the acting side made. It follows from what was seen while it ran: where a process of the
//! judge's own loaded a file that the acting side made or changed, nobody can tell who gave the score; where such a file ran as a
//! program of its own, or was read as the data that the judge asks for by name, the score is the judge's.
//!
//! A process is the judge's own from the script on, with all that it starts. It becomes a *program* of the acting side, with all that
//! it starts, when it runs a file of that side which the judge names by its path, or opens one that it was handed as an argument
//! while it holds none of the judge's code. Everything else that a judge's process opens of that side has to be named, as a file's
//! name stands, by the tests that this process read or by its own arguments, and must not look like code. What nobody names, such as
//! modules, start files, settings and hooks that a runtime finds by itself, is a load. So no list of such names is needed.
//!
//! Files that the judge's processes write while the acting side may already have had a say belong to the acting side too: a program
//! that changes it, or that is made of it and of the acting side's files together, costs trust. So does what they would have loaded,
//! had the acting side not put it out of reach, and what they could not write, or wrote into what the acting side had put there.

mod code;
mod failure;
mod process;
mod reading;
mod sharing;
mod shell;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use palestra_sandbox::watch::{Changed, File, Ran, Record, WatchEvent};

use self::process::{Process, is_below, resolved};
use super::removed;

/// Most doubts that are told.
const DOUBTS_MAX: usize = 20;
/// Where the tests lie and where they leave their reward.
const TESTS: &str = "/tests";
const RESULTS: &str = "/logs/verifier";
/// Bits of the kernel's `open` that are looked at.
const ACCESS: i32 = 0o3;
const READ_WRITE: i32 = 0o2;
const CREATE: i32 = 0o100;
const EXCLUSIVE: i32 = 0o200;
const TRUNCATE: i32 = 0o1000;
/// Bits of a mode that tell the kind of a file.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;
/// Where the kernel shows processes and devices as files.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];
/// Folders that are nobody's work as a whole.
const SYSTEM: [&str; 9] = ["/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/home", "/root"];

/// Facts known before the judge runs.
#[derive(Debug, Clone, Default)]
pub(super) struct TrustFacts {
    /// Paths that the acting side made or changed.
    pub(super) changed: BTreeSet<String>,
    /// Those of them that stand in place of the image's own.
    pub(super) replaced: BTreeSet<String>,
    /// Paths that the task's set-up made, and that are as it left them.
    pub(super) layered: BTreeSet<String>,
    /// The judge's files by path.
    pub(super) texts: BTreeMap<String, String>,
    /// Paths of the image's or the set-up's own that are gone.
    pub(super) removed: BTreeSet<String>,
    /// Folders of the image's or the set-up's own whose permissions, owner or kind the acting side changed.
    pub(super) shut: BTreeSet<String>,
    /// Where links of the acting side's lead, as they say.
    pub(super) links: BTreeMap<String, String>,
    /// Search path of programs.
    pub(super) search: Vec<String>,
    /// Where the acting side worked.
    pub(super) folder: String,
}

/// Reason why the judge's loads were not recorded, where that is so.
pub(super) fn unseen(record: &Record) -> Option<String> {
    match &record.closing {
        None => Some("nobody watched what the tests loaded".to_owned()),
        Some(closing) => closing.blind.as_ref().map(|why| format!("nobody could watch what the tests loaded: {why}")),
    }
}

/// Reasons against trust in a score, by the record; none where it can be trusted.
pub(super) fn doubts(known: &TrustFacts, record: &Record) -> Vec<String> {
    let Some(closing) = record.closing.as_ref().filter(|closing| closing.blind.is_none()) else { return Vec::new() };
    let mut case = Analysis { known, began_ns: closing.began_ns, touched_ns: i64::MAX, ..Analysis::new(known) };
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
    case.shells();
    case.links();
    case.doubts
}

/// A device, and the number of a file on it.
type Identity = (u64, u64);

fn identity(file: &File) -> Identity {
    (file.device, file.inode)
}

/// Conclusions from a record, so far as it was read.
struct Analysis<'a> {
    known: &'a TrustFacts,
    began_ns: i64,
    /// When a process of the judge's first read or ran anything of the acting side's: what changed later may be made of it.
    touched_ns: i64,
    processes: HashMap<i32, Process>,
    /// Paths that programs put in place or wrote.
    moved: BTreeSet<String>,
    /// Paths that the judge's processes removed, or emptied, and that no program wrote since.
    cleared: BTreeSet<String>,
    /// Links that the judge made before it touched anything.
    own_links: BTreeSet<String>,
    /// Files that the judge's processes wrote or put in place, with which they are, so far as it was seen.
    own: BTreeMap<String, Option<Identity>>,
    /// Files of those that programs of the acting side hold open for writing as well.
    shared: BTreeSet<String>,
    /// Hashes of files of the acting side's that were read: a copy is that side's as well.
    contents: BTreeSet<u64>,
    /// Code that shells of the judge's hold: paths of tests, and arguments.
    shells: BTreeSet<String>,
    /// Folders that the judge's processes worked in.
    folders: BTreeSet<String>,
    /// True if a reward was written.
    rewarded: bool,
    /// True if a program ran since.
    suspect: bool,
    doubts: Vec<String>,
}

impl<'a> Analysis<'a> {
    fn new(known: &'a TrustFacts) -> Self {
        Self {
            known,
            began_ns: 0,
            touched_ns: i64::MAX,
            processes: HashMap::new(),
            moved: BTreeSet::new(),
            cleared: BTreeSet::new(),
            own_links: BTreeSet::new(),
            own: BTreeMap::new(),
            shared: BTreeSet::new(),
            contents: BTreeSet::new(),
            shells: BTreeSet::new(),
            folders: BTreeSet::from([known.folder.clone()]),
            rewarded: false,
            suspect: false,
            doubts: Vec::new(),
        }
    }

    fn take(&mut self, sight: &WatchEvent) {
        match sight {
            WatchEvent::Born { pid, of } => {
                let maker = self.processes.get(of).cloned();
                if maker.is_none() && *of != 0 {
                    self.doubt("nobody saw who started one of the processes".to_owned());
                }
                let mut born = maker.unwrap_or_default();
                born.parent = *of;
                born.wrote.clear();
                // Bash redirects what it starts, so that what it opened itself is for itself.
                let opened = std::mem::take(&mut self.process(*of).opened);
                born.got = if words::is_bash(&born.exe) { BTreeSet::new() } else { opened };
                born.opened.clear();
                self.processes.insert(*pid, born);
            }
            WatchEvent::Ended { pid } => drop(self.processes.remove(pid)),
            WatchEvent::Missed { pid, path } => {
                if let Some((folder, stem)) = module(path) {
                    self.process(*pid).looked_for.insert((folder, stem));
                }
            }
            WatchEvent::Ran(ran) => self.ran(ran),
            WatchEvent::Placed { pid, path, of, file, target } => {
                self.placed(*pid, path, of.as_deref(), file.as_ref());
                self.linked(*pid, path, target.as_deref());
            }
            WatchEvent::Failed { pid, path, flags, full, .. } if writes(*flags) => {
                self.could_not_write(*pid, path, *full);
            }
            WatchEvent::Failed { pid, path, runs, .. } => self.failed(*pid, path, *runs),
            WatchEvent::Reached { pid, of } => self.reached(*pid, of),
            WatchEvent::Opened(opened) if self.process(opened.pid).is_program => self.opened_by_program(opened),
            WatchEvent::Opened(opened) => self.opened_by_judge(opened),
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

    /// True if what stands at a path may be of the acting side's making.
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

    /// True if a link may be of the acting side's making.
    fn is_acting_link(&self, path: &str) -> bool {
        self.known.changed.contains(path)
            || !(self.own_links.contains(path) || self.known.layered.contains(path) || is_below(path, TESTS))
    }

    /// Words that the judge gave a process: its arguments, and the tests that it read.
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
        // A program of the image that goes on as itself, in another process, is as it was.
        let goes_on = before.led_by.is_some() && before.exe == ran.exe && ran.changed.is_empty();
        if let Some(path) = before.led_by.as_ref().filter(|_| !goes_on && !before.is_program)
            && !before.asks_for(ran)
        {
            let (led, started) = (before.line(), process::line(&ran.argv));
            self.doubt(format!(
                "the tests' own `{led}` read {path}, which the acting side made or changed, and started `{started}`"
            ));
        }
        let mut after = Process {
            parent: before.parent,
            is_program: before.is_program || (before.is_swayed && !goes_on),
            is_swayed: before.is_swayed && goes_on,
            led_by: before.led_by.clone().filter(|_| goes_on),
            wrote: before.wrote.clone(),
            got: before.got.clone(),
            exe: ran.exe.clone(),
            folder: ran.folder.clone(),
            argv: ran.argv.clone(),
            paths: process::handed(&ran.exe, &ran.argv).map(|argument| resolved(argument, &ran.folder)).collect(),
            is_told: ran.cut || words::is_told(&ran.exe, &ran.argv),
            shared: ran.shared.iter().cloned().collect(),
            ..Process::default()
        };
        if after.is_program {
            // What a program hands to another was not handed to it by the judge.
            after.paths = before.paths;
        } else {
            self.folders.insert(ran.folder.clone());
            self.makes(ran);
            if words::is_shell(&ran.exe) {
                self.shells.extend(ran.argv.iter().skip(1).cloned());
            }
            after.is_program = self.runs_a_program(&before, ran);
        }
        let is_program = after.is_program;
        self.processes.insert(ran.pid, after);
        if is_program {
            self.becomes_program(ran.pid, ran.at_ns);
        }
    }

    /// True if a process of the judge's becomes a program. What is not asked for by its path is doubted.
    fn runs_a_program(&mut self, before: &Process, ran: &Ran) -> bool {
        let mut programs: Vec<&str> =
            ran.links.iter().filter(|link| self.is_acting_link(link)).map(String::as_str).collect();
        let mut loaded = None;
        let acting: Vec<&Changed> =
            ran.changed.iter().filter(|file| self.is_acting(&file.path, file.changed_ns)).collect();
        for Changed { path, content, .. } in acting {
            if self.own.contains_key(path) && !self.contents.contains(content) {
                self.doubt(format!(
                    "the tests ran {path}, which they wrote after they had touched what the acting side made or changed"
                ));
            }
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

    fn becomes_program(&mut self, pid: i32, at_ns: i64) {
        self.shares(pid);
        let process = self.process(pid);
        process.is_program = true;
        // What was opened for it, its output among that, is its own.
        for path in std::mem::take(&mut process.wrote) {
            self.own.remove(&path);
        }
        self.touch(at_ns);
        self.suspect |= self.rewarded;
    }

    /// A process changed what stands at a path: made it, removed it, or gave it the name of another (`of`), which is gone by that.
    fn placed(&mut self, pid: i32, path: &str, of: Option<&str>, file: Option<&File>) {
        let process = self.process(pid).clone();
        if process.is_program || process.is_swayed {
            let placed = [(path, file.map(|file| file.mode))];
            for (path, mode) in of.map(|of| (of, None)).into_iter().chain(placed) {
                self.put(path);
                if let (Some(own), Some(file)) = (self.own.get_mut(path), file) {
                    *own = Some(identity(file));
                }
                let judges = is_below(path, RESULTS) || is_below(path, TESTS) || self.is_out_of_its_way(&process, path);
                if judges || removed::is_taken(path, mode, &self.known.search) {
                    self.doubt(format!("a program of the acting side put {path} in place, or took it away"));
                }
            }
            return;
        }
        let changed = of.is_some_and(|of| {
            let acting = self.known.changed.iter().chain(&self.moved);
            acting.into_iter().any(|acting| is_below(acting, of) || is_below(of, acting))
        });
        if changed {
            self.put(path);
            return;
        }
        if file.is_none() {
            self.cleared.insert(path.to_owned());
        }
        if self.known.texts.contains_key(path) && self.is_touched() {
            self.doubt(format!("{path}, which is the tests' own, was changed after they had touched what the acting side made or changed"));
        }
        self.own.insert(path.to_owned(), file.map(identity));
        if !self.is_touched() {
            self.own_links.insert(path.to_owned());
        }
        if is_reward(path) {
            self.reward(pid, true);
        }
    }

    /// True if a program has no business with a file of the judge's: it lies neither where the acting side worked nor where the
    /// judge sent it.
    fn is_out_of_its_way(&self, process: &Process, path: &str) -> bool {
        let handed = process.paths.iter().any(|handed| handed != "/" && is_below(path, handed));
        self.own.contains_key(path) && !handed && !is_below(path, &self.known.folder)
    }

    /// `make` builds nothing that is there already.
    fn makes(&mut self, ran: &Ran) {
        if !["make", "gmake"].iter().any(|make| ran.exe.ends_with(&format!("/{make}"))) {
            return;
        }
        let goals = process::handed(&ran.exe, &ran.argv).map(|goal| resolved(goal, &ran.folder));
        if let Some(goal) = goals.into_iter().find(|goal| *goal != ran.folder && self.holds(goal)) {
            self.doubt(format!(
                "`{}` may find {goal}, which the acting side made, and build nothing",
                process::line(&ran.argv)
            ));
        }
    }

    /// The acting side put something at a path, or wrote into it, while the tests ran.
    fn put(&mut self, path: &str) {
        self.cleared.remove(path);
        self.moved.insert(path.to_owned());
    }

    /// True if the acting side made or changed what stands at a path itself, and it was not cleared away.
    fn holds(&self, path: &str) -> bool {
        !self.cleared.contains(path) && (self.known.changed.contains(path) || self.moved.contains(path))
    }

    /// A process acted upon others.
    fn reached(&mut self, pid: i32, of: &[i32]) {
        let process = self.process(pid).clone();
        let judges = |of: &i32| self.processes.get(of).is_some_and(|of| !of.is_program);
        if (process.is_program || process.is_swayed) && of.iter().any(judges) {
            self.doubt(format!(
                "a program of the acting side (`{}`) sent signals to the tests' own process, or changed its limits",
                process.line()
            ));
        }
    }

    /// Code of the judge's shells that the acting side's data would become part of.
    fn shells(&mut self) {
        if !self.is_touched() {
            return;
        }
        for held in std::mem::take(&mut self.shells) {
            let text = self.known.texts.get(&held).map_or(held.as_str(), String::as_str);
            let made = self.known.changed.iter().chain(&self.moved);
            if let Some(path) = made.into_iter().find(|path| shell::is_odd_name(path)).cloned()
                && shell::lists_files(text)
            {
                self.doubt(format!(
                    "the tests list files, and {path}, which the acting side made, may become an option by its name"
                ));
            }
            if let Some(piece) = shell::evaluated(text) {
                let place = if self.known.texts.contains_key(&held) { held.as_str() } else { "an argument" };
                self.doubt(format!(
                    "the shell evaluates what it is given, which may be the acting side's, in {place}: `{piece}`; compare numbers by `[ A -eq B ]`, and texts as texts"
                ));
            }
        }
    }

    fn is_touched(&self) -> bool {
        self.touched_ns != i64::MAX
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
            self.suspect |= self.is_touched();
        }
    }
}

/// True if a file is opened for writing, or made, by these flags.
fn writes(flags: i32) -> bool {
    flags & (ACCESS | CREATE | TRUNCATE) != 0
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
