//! The policy on records as a watcher writes them.

use palestra_sandbox::watch::{Closing, Opened};

use super::*;

const BEGAN: i64 = 1_000;
/// Of files that the acting side made, which is before the tests began.
const BEFORE: i64 = 500;

/// Files of one name hold the same.
fn hash(path: &str) -> u64 {
    path.rsplit('/').next().unwrap_or(path).bytes().fold(7, |hash, byte| hash * 31 + u64::from(byte))
}

/// A record that is written by hand, at the pace of one tick for each sight.
struct Trace {
    known: TrustFacts,
    sights: Vec<WatchEvent>,
    now: i64,
}

impl Trace {
    /// `bash` runs the tests as process 1.
    fn new(text: &str, changed: &[&str]) -> Self {
        let known = TrustFacts {
            changed: changed.iter().map(|path| (*path).to_owned()).collect(),
            texts: BTreeMap::from([("/tests/test.sh".to_owned(), text.to_owned())]),
            folder: "/app".to_owned(),
            ..TrustFacts::default()
        };
        let trace = Self { known, sights: vec![WatchEvent::Born { pid: 1, of: 0 }], now: BEGAN };
        trace.ran(1, "/usr/bin/bash", "bash /tests/test.sh").read(1, "/tests/test.sh", BEFORE)
    }

    fn tick(&mut self) -> i64 {
        self.now += 10;
        self.now
    }

    fn born(mut self, pid: i32, of: i32) -> Self {
        self.sights.push(WatchEvent::Born { pid, of });
        self
    }

    fn ended(mut self, pid: i32) -> Self {
        self.sights.push(WatchEvent::Ended { pid });
        self
    }

    fn ran(self, pid: i32, exe: &str, line: &str) -> Self {
        self.ran_with(pid, exe, line, &[])
    }

    fn ran_with(mut self, pid: i32, exe: &str, line: &str, changed: &[&str]) -> Self {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let changed = changed
            .iter()
            .map(|path| Changed { path: (*path).to_owned(), changed_ns: BEFORE, content: hash(path) })
            .collect();
        let at_ns = self.tick();
        let (exe, given) = (exe.to_owned(), exe.to_owned());
        let ran = Ran { pid, given, exe, folder: "/app".to_owned(), argv, changed, at_ns, ..Ran::default() };
        self.sights.push(WatchEvent::Ran(ran));
        self
    }

    fn read(self, pid: i32, path: &str, changed_ns: i64) -> Self {
        self.opened(pid, path, 0, changed_ns)
    }

    fn opened(mut self, pid: i32, path: &str, flags: i32, changed_ns: i64) -> Self {
        let file =
            File { mode: 0o100_644, changed_ns, head: "343243".to_owned(), content: hash(path), ..File::default() };
        let at_ns = self.tick();
        let path = path.to_owned();
        self.sights.push(WatchEvent::Opened(Opened {
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

    fn placed(mut self, pid: i32, path: &str, of: Option<&str>) -> Self {
        let (path, of) = (path.to_owned(), of.map(str::to_owned));
        let file = Some(File { mode: 0o100_644, ..File::default() });
        self.sights.push(WatchEvent::Placed { pid, path, of, file, target: None });
        self
    }

    fn failed(mut self, pid: i32, path: &str, runs: bool) -> Self {
        self.sights.push(WatchEvent::Failed { pid, path: path.to_owned(), runs, flags: 0, full: false });
        self
    }

    fn not_written(mut self, pid: i32, path: &str, full: bool) -> Self {
        self.sights.push(WatchEvent::Failed { pid, path: path.to_owned(), runs: false, flags: WRITE, full });
        self
    }

    fn reached(mut self, pid: i32, of: &[i32]) -> Self {
        self.sights.push(WatchEvent::Reached { pid, of: of.to_vec() });
        self
    }

    /// The time of a change that comes now.
    fn now(&self) -> i64 {
        self.now
    }

    fn missed(mut self, pid: i32, path: &str) -> Self {
        self.sights.push(WatchEvent::Missed { pid, path: path.to_owned() });
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
fn unwatched_processes_are_doubted() {
    assert!(unseen(&Record::default()).is_some());
    let blind = Closing { blind: Some("no tracing".to_owned()), ..Closing::default() };
    let reported = unseen(&Record { sights: Vec::new(), closing: Some(blind) });
    assert!(reported.is_some_and(|why| why.contains("no tracing")));
    for closing in
        [Closing { dropped: 1, ..Closing::default() }, Closing { refused: 1, ..Closing::default() }, Closing::default()]
    {
        let record = Record { sights: Vec::new(), closing: Some(closing.clone()) };
        assert_eq!(unseen(&record), None);
        assert!(!doubts(&TrustFacts::default(), &record).is_empty(), "{closing:?}");
    }
}

#[test]
fn data_that_is_named_is_trusted_and_what_is_found_is_not() {
    let text = "grep -q 42 /app/answer.txt";
    Trace::new(text, &["/app/answer.txt"]).read(1, "/app/answer.txt", BEFORE).rewarded(1).trusted();
    Trace::new(text, &["/app/other.txt"]).read(1, "/app/other.txt", BEFORE).rewarded(1).doubted("/app/other.txt");
    Trace::new(text, &["/app/x.py"]).read(1, "/app/x.py", BEFORE).rewarded(1).doubted("do not name");
    // What the tests of another process name says nothing of what this one finds.
    Trace::new("make check /app/Makefile.txt", &["/app/Makefile.txt"])
        .born(2, 1)
        .ran(2, "/usr/bin/make", "make check")
        .read(2, "/app/Makefile.txt", BEFORE)
        .rewarded(1)
        .doubted("make check");
}

#[test]
fn shells_that_carry_out_what_they_read_are_doubted() {
    let changed = ["/app/x.txt"];
    Trace::new("read y < /app/x.txt", &changed).read(1, "/app/x.txt", BEFORE).rewarded(1).trusted();
    Trace::new(". /app/x.txt", &changed).read(1, "/app/x.txt", BEFORE).rewarded(1).doubted("carried out /app/x.txt");
    let fed = Trace::new("bash < /app/x.txt", &changed).born(2, 1).read(2, "/app/x.txt", BEFORE);
    fed.ran(2, "/usr/bin/bash", "bash").rewarded(1).doubted("carries out /app/x.txt");
}

#[test]
fn a_program_of_its_own_may_load_what_it_likes() {
    let changed = ["/app/tool", "/app/lib.py", "/app/tool.py"];
    let run = Trace::new("/app/tool", &changed).born(2, 1).ran_with(2, "/app/tool", "/app/tool", &["/app/tool"]);
    run.read(2, "/app/lib.py", BEFORE).born(3, 2).ended(3).ended(2).rewarded(1).trusted();
    let handed = Trace::new("python3 tool.py", &changed).born(2, 1).ran(2, "/usr/bin/python3.11", "python3 tool.py");
    handed.read(2, "/app/tool.py", BEFORE).read(2, "/app/lib.py", BEFORE).ended(2).rewarded(1).trusted();
    // Before it is one, it is the tests' own.
    let early = Trace::new("python3 tool.py", &changed).born(2, 1).ran(2, "/usr/bin/python3.11", "python3 tool.py");
    early.read(2, "/app/lib.py", BEFORE).read(2, "/app/tool.py", BEFORE).ended(2).rewarded(1).doubted("/app/lib.py");
    // The judge's own code beside it makes it none.
    let driven = Trace::new("x", &changed).born(2, 1).ran(2, "/usr/bin/python3.11", "python3 -c import\ttool tool.py");
    driven
        .missed(2, "/app/__pycache__/tool.cpython-311.pyc")
        .read(2, "/app/tool.py", BEFORE)
        .ended(2)
        .rewarded(1)
        .doubted("may be code");
    let script =
        Trace::new("x", &changed).born(2, 1).ran(2, "/usr/bin/python3.11", "python3 /tests/check.py /app/tool.py");
    let script = script.read(2, "/tests/check.py", BEFORE).missed(2, "/app/__pycache__/tool.cpython-311.pyc");
    script.read(2, "/app/tool.py", BEFORE).ended(2).rewarded(1).doubted("may be code");
}

#[test]
fn a_program_that_nobody_asked_for_by_its_path_is_a_load() {
    let path = "/usr/local/bin/grep";
    let found =
        |text: &str| Trace::new(text, &[path]).born(2, 1).ran_with(2, path, "grep x", &[path]).ended(2).rewarded(1);
    found("grep -q x y").doubted("not asked for by its path");
    found("/usr/local/bin/grep -q x y").trusted();
    let mut replaced = found("/usr/local/bin/grep -q x y");
    replaced.known.replaced.insert(path.to_owned());
    replaced.doubted("stands in place of the image's own");
    let loader = Trace::new("x", &["/lib64/ld.so"]).born(2, 1).ran_with(2, "/usr/bin/ls", "ls", &["/lib64/ld.so"]);
    loader.ended(2).rewarded(1).doubted("/lib64/ld.so");
}

#[test]
fn python_that_reads_a_source_as_text_is_told_from_one_that_imports_it() {
    let check = "ast.parse(open('/app/x.py').read())";
    let trace = |text: &str| {
        let mut trace = Trace::new("python3 -m pytest", &["/app/x.py"]);
        trace.known.texts.insert("/tests/t.py".to_owned(), text.to_owned());
        trace.born(2, 1).ran(2, "/usr/bin/python3.11", "python3 -m pytest").read(2, "/tests/t.py", BEFORE)
    };
    trace(check).read(2, "/app/x.py", BEFORE).ended(2).rewarded(1).trusted();
    let imported = trace(check).missed(2, "/app/__pycache__/x.cpython-311.pyc").read(2, "/app/x.py", BEFORE);
    imported.ended(2).rewarded(1).doubted("may be code");
    trace("exec(open('/app/x.py').read())").read(2, "/app/x.py", BEFORE).ended(2).rewarded(1).doubted("may be code");
}

#[test]
fn files_made_after_a_touch_may_derive_from_it() {
    let text = "cat /app/answer.txt; python3 /tmp/check.py";
    let made = |changed_ns| {
        let trace = Trace::new(text, &["/app/answer.txt"]).read(1, "/app/answer.txt", BEFORE).born(2, 1);
        trace.ran(2, "/usr/bin/python3.11", "python3 -m x").read(2, "/tmp/y.py", changed_ns).ended(2).rewarded(1)
    };
    made(BEGAN + 1).trusted();
    made(i64::MAX).doubted("/tmp/y.py");
}

#[test]
fn a_reward_is_the_tests_own_and_nobody_else_runs_then() {
    let tool = ["/app/tool"];
    let trace = || Trace::new("/app/tool", &tool).born(2, 1).ran_with(2, "/app/tool", "/app/tool", &tool);
    trace().ended(2).rewarded(1).trusted();
    trace().rewarded(1).ended(2).doubted("while a program of the acting side ran");
    trace().rewarded(2).ended(2).rewarded(1).doubted("opened /logs/verifier/reward.txt");
    trace().born(3, 2).rewarded(3).ended(3).ended(2).rewarded(1).doubted("opened /logs/verifier/reward.txt");
    trace().ended(2).doubted("the reward was not seen");
    // One that is written first, and not again, may be open still.
    let early = Trace::new("/app/tool", &tool).rewarded(1).born(2, 1).ran_with(2, "/app/tool", "/app/tool", &tool);
    early.ended(2).doubted("the reward was not seen");
    let again = Trace::new("/app/tool", &tool).rewarded(1).born(2, 1).ran_with(2, "/app/tool", "/app/tool", &tool);
    again.ended(2).rewarded(1).trusted();
}

#[test]
fn programs_that_reach_into_the_tests_are_doubted() {
    let tool = ["/app/tool"];
    let trace = || {
        Trace::new("/app/tool /tests/in.txt", &tool).born(2, 1).ran_with(
            2,
            "/app/tool",
            "/app/tool /tests/in.txt",
            &tool,
        )
    };
    trace().read(2, "/tests/in.txt", BEFORE).ended(2).rewarded(1).trusted();
    trace().read(2, "/tests/expected.txt", BEFORE).ended(2).rewarded(1).doubted("/tests/expected.txt");
    let cat =
        trace().born(3, 2).ran(3, "/usr/bin/cat", "cat /tests/expected.txt").read(3, "/tests/expected.txt", BEFORE);
    cat.ended(3).ended(2).rewarded(1).doubted("/tests/expected.txt");
    trace().opened(2, "/tests/in.txt", 0o2, BEFORE).ended(2).rewarded(1).doubted("/tests/in.txt");
    trace().opened(2, "/proc/1/mem", 0o2, BEFORE).ended(2).rewarded(1).doubted("reached into");
    let mut foreign = trace().read(2, "pipe:[7]", BEFORE);
    if let Some(WatchEvent::Opened(opened)) = foreign.sights.last_mut() {
        opened.foreign = true;
    }
    foreign.ended(2).rewarded(1).doubted("reached into");
    trace()
        .placed(2, "/usr/lib/x", None)
        .ended(2)
        .read(1, "/usr/lib/x/y.conf", BEFORE)
        .rewarded(1)
        .doubted("/usr/lib/x/y.conf");
}

const WRITE: i32 = 0o1 | 0o100 | TRUNCATE;

#[test]
fn files_written_by_tests_stay_theirs() {
    let tool = ["/app/tool"];
    let trace = |text: &str| Trace::new(text, &tool).born(2, 1).ran_with(2, "/app/tool", "/app/tool", &tool);
    // A copy of the tests that a program changes, and code that they write once something was touched.
    let copied = Trace::new("/app/tool; python3 /app/check.py", &tool).opened(1, "/app/check.py", WRITE, BEGAN);
    let copied = copied.born(2, 1).ran_with(2, "/app/tool", "/app/tool", &tool).opened(2, "/app/check.py", WRITE, 0);
    let now = copied.now();
    let copied = copied.ended(2).born(3, 1).ran(3, "/usr/bin/python3.11", "python3 /app/check.py");
    copied.read(3, "/app/check.py", now + 1).ended(3).rewarded(1).doubted("/app/check.py, which they wrote");
    let late = trace("/app/tool; python3 /tmp/check.py").ended(2).opened(1, "/tmp/check.py", WRITE, 0);
    let now = late.now();
    let late = late.born(3, 1).ran(3, "/usr/bin/python3.11", "python3 /tmp/check.py");
    late.read(3, "/tmp/check.py", now).ended(3).rewarded(1).doubted("/tmp/check.py, which they wrote");
    // What a program prints into a file is its own, and so is a copy of what the acting side made.
    let printed = Trace::new("/app/tool > /tmp/out.py; diff /tmp/out.py /tests/e.py", &tool).born(2, 1);
    let printed = printed.opened(2, "/tmp/out.py", WRITE, 0).ran_with(2, "/app/tool", "/app/tool", &tool).ended(2);
    let now = printed.now();
    let printed = printed.born(3, 1).ran(3, "/usr/bin/cmp", "cmp /tmp/out.py /tests/e.txt");
    printed.read(3, "/tmp/out.py", now).ended(3).rewarded(1).trusted();
    let script = ["/app/main.py"];
    let copy = Trace::new("shutil.copy('/app/main.py', '/tmp/x/main.py')", &script);
    let copy = copy.born(2, 1).ran(2, "/usr/bin/python3.11", "python3 /tests/t.py").read(2, "/tests/t.py", BEFORE);
    let mut copy = copy.read(2, "/app/main.py", BEFORE).opened(2, "/tmp/x/main.py", WRITE, 0);
    copy.known.texts.insert("/tests/t.py".to_owned(), "shutil.copy('/app/main.py', '/tmp/x/main.py')".to_owned());
    let now = copy.now();
    let copy = copy.born(3, 2).ran(3, "/usr/bin/python3.11", "python3 /tmp/x/main.py").read(3, "/tmp/x/main.py", now);
    copy.ended(3).ended(2).rewarded(1).trusted();
}

#[test]
fn expected_answers_are_not_changed_beside_the_tests() {
    let tool = ["/app/tool"];
    let trace = || {
        let trace = Trace::new("/app/tool; cmp /tmp/expected.txt /app/state.txt", &tool);
        let trace = trace.opened(1, "/tmp/expected.txt", WRITE, BEGAN).opened(1, "/app/state.txt", WRITE, BEGAN);
        trace.born(2, 1).ran_with(2, "/app/tool", "/app/tool", &tool)
    };
    trace().opened(2, "/app/state.txt", WRITE, 0).ended(2).rewarded(1).trusted();
    trace().opened(2, "/tmp/expected.txt", WRITE, 0).ended(2).rewarded(1).doubted("/tmp/expected.txt");
    trace().placed(2, "/tmp/expected.txt", None).ended(2).rewarded(1).doubted("/tmp/expected.txt");
    let handed = Trace::new("/app/tool /tmp/out.txt", &tool).opened(1, "/tmp/out.txt", WRITE, BEGAN).born(2, 1);
    let handed = handed.ran_with(2, "/app/tool", "/app/tool /tmp/out.txt", &tool).opened(2, "/tmp/out.txt", WRITE, 0);
    handed.ended(2).rewarded(1).trusted();
    // What a program unpacks over the tests themselves.
    let over = Trace::new("tar -xf /app/x.tar -C /", &["/app/x.tar"]).born(2, 1).ran(
        2,
        "/usr/bin/tar",
        "tar -xf /app/x.tar -C /",
    );
    let over = over.read(2, "/app/x.tar", BEFORE).opened(2, "/tests/test.sh", WRITE, 0);
    over.ended(2).rewarded(1).doubted("wrote /tests/test.sh");
    // A name is no maker.
    let moved = Trace::new("mv /app/x.py /tests/x.py; python3 /tests/x.py", &["/app/x.py"]);
    let moved = moved.placed(1, "/tests/x.py", Some("/app/x.py")).born(2, 1);
    let moved = moved.ran(2, "/usr/bin/python3.11", "python3 -c import\tx").read(2, "/tests/x.py", BEGAN);
    moved.ended(2).rewarded(1).doubted("/tests/x.py");
}

#[test]
fn programs_that_are_made_with_the_tests_code_are_doubted() {
    let changed = ["/app/answer.c"];
    let trace = Trace::new("gcc -o /tmp/x /app/answer.c /tests/check.c; /tmp/x", &changed).born(2, 1);
    let trace = trace.ran(2, "/usr/bin/gcc", "gcc -o /tmp/x /app/answer.c /tests/check.c").born(3, 2);
    let trace = trace.ran(3, "/usr/lib/cc1", "cc1 /app/answer.c").read(3, "/app/answer.c", BEFORE).ended(3).born(4, 2);
    let mut trace = trace.ran(4, "/usr/lib/cc1", "cc1 /tests/check.c").read(4, "/tests/check.c", BEFORE);
    trace.known.texts.insert("/tests/check.c".to_owned(), "int main(void)".to_owned());
    trace.ended(4).ended(2).rewarded(1).doubted("/tests/check.c, which is code of the tests");
}

#[test]
fn programs_that_start_others_for_what_they_found_are_led() {
    let changed = ["/app/repo/.git/config"];
    let git = |line: &str| {
        let trace = Trace::new(line, &changed).born(2, 1).ran(2, "/usr/bin/git", line);
        trace.read(2, "/app/repo/.git/config", BEFORE)
    };
    for line in
        ["git -C /app/repo status", "git -C /app/repo add config", "git -C /app/repo -c user.name='a\tb' status"]
    {
        git(line).ended(2).rewarded(1).trusted();
        git(line).born(3, 2).ran(3, "/usr/bin/git", "git gc").ended(3).ended(2).rewarded(1).trusted();
        let led = git(line).born(3, 2).ran(3, "/usr/bin/dash", "sh -c true");
        led.ended(3).ended(2).rewarded(1).doubted("and started `sh -c true`");
        let later = git(line).born(3, 2).ran(3, "/usr/bin/git", "git gc").born(4, 3).ran(4, "/usr/bin/true", "true");
        later.ended(4).ended(3).ended(2).rewarded(1).doubted("and started `true`");
    }
    // Settings that the tests wrote are no test.
    let text = "git config --global x y; git -C /app/repo status";
    let own = Trace::new(text, &changed).opened(1, "/root/.gitconfig", WRITE, BEGAN);
    let own = own.born(2, 1).ran(2, "/usr/bin/git", "git -C /app/repo status").read(2, "/root/.gitconfig", BEGAN);
    let own = own.read(2, "/app/repo/.git/config", BEFORE).born(3, 2).ran(3, "/usr/bin/dash", "sh -c true");
    own.ended(3).ended(2).rewarded(1).doubted("and started `sh -c true`");
    let files = ["/app/list/a.txt"];
    let asked = Trace::new("x", &files).born(2, 1).ran(2, "/usr/bin/perl", "perl -e system('ls\t/app/list')");
    let asked = asked.read(2, "/app/list/a.txt", BEFORE).born(3, 2).ran(3, "/usr/bin/dash", "sh -c ls\t/app/list");
    asked.ended(3).ended(2).rewarded(1).trusted();
}

#[test]
fn missing_loads_of_the_tests_count() {
    let trace = |text: &str| {
        let mut trace = Trace::new(text, &["/usr/bin/grep", "/app/tool"]);
        trace.known.replaced.insert("/usr/bin/grep".to_owned());
        trace.known.removed.insert("/opt/x/lib.py".to_owned());
        trace.known.shut.insert("/srv/tools".to_owned());
        trace
    };
    trace("grep 42 x").failed(1, "/usr/bin/grep", true).rewarded(1).doubted("could not run /usr/bin/grep");
    trace("/usr/bin/grep 42 x").failed(1, "/usr/bin/grep", true).rewarded(1).doubted("could not run /usr/bin/grep");
    trace("check").failed(1, "/srv/tools/check", true).rewarded(1).doubted("could not run /srv/tools/check");
    trace("x").failed(1, "/opt/x/lib.py", false).rewarded(1).doubted("could not open /opt/x/lib.py");
    // Its own program, and data that is asked for, may be missing.
    trace("/app/tool").failed(1, "/app/tool", true).rewarded(1).trusted();
    trace("cat /app/answer.txt").failed(1, "/app/answer.txt", false).rewarded(1).trusted();
    let tool = ["/app/tool"];
    let meanwhile = Trace::new("/app/tool; grep x y", &tool).born(2, 1).ran_with(2, "/app/tool", "/app/tool", &tool);
    meanwhile
        .placed(2, "/usr/bin/grep", None)
        .ended(2)
        .failed(1, "/usr/bin/grep", true)
        .rewarded(1)
        .doubted("could not run /usr/bin/grep");
    let mut gone = Trace::new("/app/tool", &tool).born(2, 1).ran_with(2, "/app/tool", "/app/tool", &tool);
    gone.known.search = crate::terminal::removed::search([]);
    gone.sights.push(WatchEvent::Placed {
        pid: 2,
        path: "/usr/bin/grep".to_owned(),
        of: None,
        file: None,
        target: None,
    });
    gone.ended(2).rewarded(1).doubted("/usr/bin/grep in place, or took it away");
}

#[test]
fn programs_that_act_upon_the_tests_are_doubted() {
    let tool = ["/app/tool"];
    let trace = || Trace::new("/app/tool", &tool).born(2, 1).ran_with(2, "/app/tool", "/app/tool", &tool);
    trace().reached(2, &[1]).ended(2).rewarded(1).doubted("sent signals");
    trace().born(3, 2).reached(3, &[2]).reached(1, &[2]).ended(3).ended(2).rewarded(1).trusted();
}

#[test]
fn shells_that_evaluate_what_they_are_given_are_doubted() {
    let text = "if [[ \"$(cat /app/answer.txt)\" -eq 42 ]]; then echo 1; fi";
    let changed = ["/app/answer.txt"];
    Trace::new(text, &changed).read(1, "/app/answer.txt", BEFORE).rewarded(1).doubted("evaluates what it is given");
    Trace::new(text, &changed).rewarded(1).trusted();
    let reported = Trace::new("x", &changed).born(2, 1).ran(2, "/usr/bin/bash", "bash -c (($(cat\t/app/answer.txt)))");
    reported.read(2, "/app/answer.txt", BEFORE).ended(2).rewarded(1).doubted("evaluates what it is given");
}

#[test]
fn failed_and_redirected_writes_of_the_tests_count() {
    let log = "/tmp/pytest.log";
    let trace = || Trace::new("pytest > /tmp/pytest.log; grep passed /tmp/pytest.log", &[log]);
    trace().not_written(1, log, false).rewarded(1).doubted("could not write /tmp/pytest.log");
    trace().not_written(1, "/tmp/pytest.log/x", false).rewarded(1).doubted("could not write /tmp/pytest.log/x");
    trace().not_written(1, "/tmp/else.log", false).rewarded(1).trusted();
    trace().not_written(1, "/tmp/else.log", true).rewarded(1).doubted("no room");
    // Emptied, it is the tests' own; added to, it is not.
    trace().opened(1, log, WRITE, BEFORE).rewarded(1).trusted();
    trace().opened(1, log, 0o2001, BEFORE).rewarded(1).doubted("wrote into /tmp/pytest.log");
    let mut removed = trace();
    removed.sights.push(WatchEvent::Placed { pid: 1, path: log.to_owned(), of: None, file: None, target: None });
    removed.opened(1, log, 0o2101, BEGAN).rewarded(1).trusted();
    let tool = ["/app/tool"];
    let meanwhile = || Trace::new("/app/tool", &tool).born(2, 1).ran_with(2, "/app/tool", "/app/tool", &tool);
    meanwhile().placed(2, log, None).ended(2).not_written(1, log, false).rewarded(1).doubted("could not write");
    meanwhile().opened(2, log, WRITE, 0).ended(2).not_written(1, log, false).rewarded(1).doubted("could not write");
}

#[test]
fn links_lead_to_files_of_the_acting_side_or_the_image() {
    let link = "/app/answer.txt";
    let trace = |to: &str, flags: i32, mode: u32| {
        let mut trace = Trace::new("grep -q 42 /app/answer.txt", &[link, "/app/real.txt"])
            .opened(1, "/tmp/expected", WRITE, BEGAN)
            .opened(1, to, flags, BEFORE);
        if let Some(WatchEvent::Opened(opened)) = trace.sights.last_mut() {
            opened.given = link.to_owned();
            opened.links = vec![link.to_owned()];
            opened.file.mode = mode;
        }
        trace.rewarded(1)
    };
    trace("/app/real.txt", 0, 0o100_644).trusted();
    for (to, flags, mode) in [
        ("/proc/7/cmdline", 0, 0o100_444),
        ("/tests/expected.txt", 0, 0o100_644),
        ("/tmp/expected", 0, 0o100_644),
        ("/dev/null", 0, 0o020_666),
        ("/app/real.txt", 0, 0o010_644),
        ("/app/real.txt", WRITE, 0o100_644),
        ("pipe:[7]", 0, 0o010_600),
        ("/proc/7/fd", 0, 0o040_555),
    ] {
        trace(to, flags, mode).doubted("a link that the acting side made led");
    }
}

#[test]
fn files_of_the_image_are_not_the_acting_sides_whatever_link_of_the_tests_leads_there() {
    let trace = |of_image: bool, changed: &[&str]| {
        let mut trace = Trace::new("uv run check", changed).placed(1, "/tmp/own/bin/python", None).opened(
            1,
            "/usr/bin/python3.11",
            0,
            BEFORE,
        );
        if let Some(WatchEvent::Opened(opened)) = trace.sights.last_mut() {
            opened.given = "/tmp/own/bin/python".to_owned();
            opened.links = vec!["/tmp/own/bin/python".to_owned()];
            opened.of_image = of_image;
        }
        trace.rewarded(1)
    };
    trace(true, &[]).trusted();
    trace(false, &["/usr/bin/python3.11"]).doubted("/usr/bin/python3.11");
    // A link of the acting side's own is what it is, also where it leads to the image.
    trace(true, &["/tmp/own/bin/python"]).doubted("/usr/bin/python3.11");
}
