//! The policy on records as a watcher writes them.

use palestra_sandbox::watch::{Closing, File};

use super::*;

const BEGAN: i64 = 1_000;
/// Of files that the acting side made, which is before the tests began.
const BEFORE: i64 = 500;

/// A record that is written by hand, at the pace of one tick for each sight.
struct Tale {
    known: Known,
    sights: Vec<Sight>,
    now: i64,
}

impl Tale {
    /// `bash` runs the tests as process 1.
    fn new(text: &str, changed: &[&str]) -> Self {
        let known = Known {
            changed: changed.iter().map(|path| (*path).to_owned()).collect(),
            texts: BTreeMap::from([("/tests/test.sh".to_owned(), text.to_owned())]),
            folder: "/app".to_owned(),
            ..Known::default()
        };
        let tale = Self { known, sights: vec![Sight::Born { pid: 1, of: 0 }], now: BEGAN };
        tale.ran(1, "/usr/bin/bash", "bash /tests/test.sh").read(1, "/tests/test.sh", BEFORE)
    }

    fn tick(&mut self) -> i64 {
        self.now += 10;
        self.now
    }

    fn born(mut self, pid: i32, of: i32) -> Self {
        self.sights.push(Sight::Born { pid, of });
        self
    }

    fn ended(mut self, pid: i32) -> Self {
        self.sights.push(Sight::Ended { pid });
        self
    }

    fn ran(self, pid: i32, exe: &str, line: &str) -> Self {
        self.ran_with(pid, exe, line, &[])
    }

    fn ran_with(mut self, pid: i32, exe: &str, line: &str, changed: &[&str]) -> Self {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let changed = changed.iter().map(|path| ((*path).to_owned(), BEFORE)).collect();
        let at_ns = self.tick();
        let (exe, given) = (exe.to_owned(), exe.to_owned());
        let ran = Ran { pid, given, exe, folder: "/app".to_owned(), argv, changed, at_ns, ..Ran::default() };
        self.sights.push(Sight::Ran(ran));
        self
    }

    fn read(self, pid: i32, path: &str, changed_ns: i64) -> Self {
        self.opened(pid, path, 0, changed_ns)
    }

    fn opened(mut self, pid: i32, path: &str, flags: i32, changed_ns: i64) -> Self {
        let file = File { mode: 0o100_644, changed_ns, head: "343243".to_owned(), ..File::default() };
        let at_ns = self.tick();
        let path = path.to_owned();
        self.sights.push(Sight::Opened(Opened {
            pid,
            given: path.clone(),
            path,
            flags,
            file,
            at_ns,
            ..Opened::default()
        }));
        self
    }

    fn missed(mut self, pid: i32, path: &str) -> Self {
        self.sights.push(Sight::Missed { pid, path: path.to_owned() });
        self
    }

    fn rewarded(self, pid: i32) -> Self {
        self.opened(pid, "/logs/verifier/reward.txt", 0o1 | 0o100 | TRUNCATE, i64::MAX)
    }

    fn doubts(self) -> Vec<String> {
        let closing = Some(Closing { began_ns: BEGAN, ..Closing::default() });
        doubts(&self.known, &Record { sights: self.sights, closing })
    }

    fn trusted(self) {
        assert_eq!(self.doubts(), Vec::<String>::new());
    }

    fn doubted(self, why: &str) {
        let doubts = self.doubts();
        assert!(doubts.iter().any(|doubt| doubt.contains(why)), "{why}: {doubts:?}");
    }
}

#[test]
fn what_nobody_watched_doubted() {
    assert!(unseen(&Record::default()).is_some());
    let blind = Closing { blind: Some("no tracing".to_owned()), ..Closing::default() };
    let told = unseen(&Record { sights: Vec::new(), closing: Some(blind) });
    assert!(told.is_some_and(|why| why.contains("no tracing")));
    for closing in
        [Closing { dropped: 1, ..Closing::default() }, Closing { refused: 1, ..Closing::default() }, Closing::default()]
    {
        let record = Record { sights: Vec::new(), closing: Some(closing.clone()) };
        assert_eq!(unseen(&record), None);
        assert!(!doubts(&Known::default(), &record).is_empty(), "{closing:?}");
    }
}

#[test]
fn data_that_is_named_is_trusted_and_what_is_found_is_not() {
    let text = "grep -q 42 /app/answer.txt";
    Tale::new(text, &["/app/answer.txt"]).read(1, "/app/answer.txt", BEFORE).rewarded(1).trusted();
    Tale::new(text, &["/app/other.txt"]).read(1, "/app/other.txt", BEFORE).rewarded(1).doubted("/app/other.txt");
    Tale::new(text, &["/app/x.py"]).read(1, "/app/x.py", BEFORE).rewarded(1).doubted("do not name");
    // What the tests of another process name says nothing of what this one finds.
    Tale::new("make check /app/Makefile.txt", &["/app/Makefile.txt"])
        .born(2, 1)
        .ran(2, "/usr/bin/make", "make check")
        .read(2, "/app/Makefile.txt", BEFORE)
        .rewarded(1)
        .doubted("make check");
}

#[test]
fn shells_that_carry_out_what_they_read_are_doubted() {
    let changed = ["/app/x.txt"];
    Tale::new("read y < /app/x.txt", &changed).read(1, "/app/x.txt", BEFORE).rewarded(1).trusted();
    Tale::new(". /app/x.txt", &changed).read(1, "/app/x.txt", BEFORE).rewarded(1).doubted("carried out /app/x.txt");
    let fed = Tale::new("bash < /app/x.txt", &changed).born(2, 1).read(2, "/app/x.txt", BEFORE);
    fed.ran(2, "/usr/bin/bash", "bash").rewarded(1).doubted("carries out /app/x.txt");
}

#[test]
fn a_program_of_its_own_may_load_what_it_likes() {
    let changed = ["/app/tool", "/app/lib.py", "/app/tool.py"];
    let run = Tale::new("/app/tool", &changed).born(2, 1).ran_with(2, "/app/tool", "/app/tool", &["/app/tool"]);
    run.read(2, "/app/lib.py", BEFORE).born(3, 2).ended(3).ended(2).rewarded(1).trusted();
    let handed = Tale::new("python3 tool.py", &changed).born(2, 1).ran(2, "/usr/bin/python3.11", "python3 tool.py");
    handed.read(2, "/app/tool.py", BEFORE).read(2, "/app/lib.py", BEFORE).ended(2).rewarded(1).trusted();
    // Before it is one, it is the tests' own.
    let early = Tale::new("python3 tool.py", &changed).born(2, 1).ran(2, "/usr/bin/python3.11", "python3 tool.py");
    early.read(2, "/app/lib.py", BEFORE).read(2, "/app/tool.py", BEFORE).ended(2).rewarded(1).doubted("/app/lib.py");
    // The judge's own code beside it makes it none.
    let driven = Tale::new("x", &changed).born(2, 1).ran(2, "/usr/bin/python3.11", "python3 -c import\ttool tool.py");
    driven
        .missed(2, "/app/__pycache__/tool.cpython-311.pyc")
        .read(2, "/app/tool.py", BEFORE)
        .ended(2)
        .rewarded(1)
        .doubted("may be code");
    let script =
        Tale::new("x", &changed).born(2, 1).ran(2, "/usr/bin/python3.11", "python3 /tests/check.py /app/tool.py");
    let script = script.read(2, "/tests/check.py", BEFORE).missed(2, "/app/__pycache__/tool.cpython-311.pyc");
    script.read(2, "/app/tool.py", BEFORE).ended(2).rewarded(1).doubted("may be code");
}

#[test]
fn a_program_that_nobody_asked_for_by_its_path_is_a_load() {
    let path = "/usr/local/bin/grep";
    let found =
        |text: &str| Tale::new(text, &[path]).born(2, 1).ran_with(2, path, "grep x", &[path]).ended(2).rewarded(1);
    found("grep -q x y").doubted("not asked for by its path");
    found("/usr/local/bin/grep -q x y").trusted();
    let mut replaced = found("/usr/local/bin/grep -q x y");
    replaced.known.replaced.insert(path.to_owned());
    replaced.doubted("stands in place of the image's own");
    let loader = Tale::new("x", &["/lib64/ld.so"]).born(2, 1).ran_with(2, "/usr/bin/ls", "ls", &["/lib64/ld.so"]);
    loader.ended(2).rewarded(1).doubted("/lib64/ld.so");
}

#[test]
fn python_that_reads_a_source_as_text_is_told_from_one_that_imports_it() {
    let check = "ast.parse(open('/app/x.py').read())";
    let tale = |text: &str| {
        let mut tale = Tale::new("python3 -m pytest", &["/app/x.py"]);
        tale.known.texts.insert("/tests/t.py".to_owned(), text.to_owned());
        tale.born(2, 1).ran(2, "/usr/bin/python3.11", "python3 -m pytest").read(2, "/tests/t.py", BEFORE)
    };
    tale(check).read(2, "/app/x.py", BEFORE).ended(2).rewarded(1).trusted();
    let imported = tale(check).missed(2, "/app/__pycache__/x.cpython-311.pyc").read(2, "/app/x.py", BEFORE);
    imported.ended(2).rewarded(1).doubted("may be code");
    tale("exec(open('/app/x.py').read())").read(2, "/app/x.py", BEFORE).ended(2).rewarded(1).doubted("may be code");
}

#[test]
fn what_is_made_after_anything_was_touched_may_be_made_of_it() {
    let text = "cat /app/answer.txt; python3 /tmp/check.py";
    let made = |changed_ns| {
        let tale = Tale::new(text, &["/app/answer.txt"]).read(1, "/app/answer.txt", BEFORE).born(2, 1);
        tale.ran(2, "/usr/bin/python3.11", "python3 -m x").read(2, "/tmp/y.py", changed_ns).ended(2).rewarded(1)
    };
    made(BEGAN + 1).trusted();
    made(i64::MAX).doubted("/tmp/y.py");
}

#[test]
fn a_reward_is_the_tests_own_and_nobody_else_runs_then() {
    let tool = ["/app/tool"];
    let tale = || Tale::new("/app/tool", &tool).born(2, 1).ran_with(2, "/app/tool", "/app/tool", &tool);
    tale().ended(2).rewarded(1).trusted();
    tale().rewarded(1).ended(2).doubted("while a program of the acting side ran");
    tale().rewarded(2).ended(2).rewarded(1).doubted("opened /logs/verifier/reward.txt");
    tale().born(3, 2).rewarded(3).ended(3).ended(2).rewarded(1).doubted("opened /logs/verifier/reward.txt");
    tale().ended(2).doubted("the reward was not seen");
    // One that is written first, and not again, may be open still.
    let early = Tale::new("/app/tool", &tool).rewarded(1).born(2, 1).ran_with(2, "/app/tool", "/app/tool", &tool);
    early.ended(2).doubted("the reward was not seen");
    let again = Tale::new("/app/tool", &tool).rewarded(1).born(2, 1).ran_with(2, "/app/tool", "/app/tool", &tool);
    again.ended(2).rewarded(1).trusted();
}

#[test]
fn programs_that_reach_into_the_tests_are_doubted() {
    let tool = ["/app/tool"];
    let tale = || {
        Tale::new("/app/tool /tests/in.txt", &tool).born(2, 1).ran_with(
            2,
            "/app/tool",
            "/app/tool /tests/in.txt",
            &tool,
        )
    };
    tale().read(2, "/tests/in.txt", BEFORE).ended(2).rewarded(1).trusted();
    tale().read(2, "/tests/expected.txt", BEFORE).ended(2).rewarded(1).doubted("/tests/expected.txt");
    let cat =
        tale().born(3, 2).ran(3, "/usr/bin/cat", "cat /tests/expected.txt").read(3, "/tests/expected.txt", BEFORE);
    cat.ended(3).ended(2).rewarded(1).doubted("/tests/expected.txt");
    tale().opened(2, "/tests/in.txt", 0o2, BEFORE).ended(2).rewarded(1).doubted("/tests/in.txt");
    tale().opened(2, "/proc/1/mem", 0o2, BEFORE).ended(2).rewarded(1).doubted("reached into");
    let mut foreign = tale().read(2, "pipe:[7]", BEFORE);
    if let Some(Sight::Opened(opened)) = foreign.sights.last_mut() {
        opened.foreign = true;
    }
    foreign.ended(2).rewarded(1).doubted("reached into");
    let mut moved = tale();
    moved.sights.push(Sight::Placed { pid: 2, path: "/usr/lib/x".to_owned(), file: None });
    moved.ended(2).read(1, "/usr/lib/x/y.conf", BEFORE).rewarded(1).doubted("/usr/lib/x/y.conf");
}
