//! Cheats of submissions that try to be judged better than they are.

use palestra_workbench::code::Problem;
use palestra_workbench::work::{From, JudgeError};
use serde_json::json;

use crate::fixture::{Fixture, contained, fixture, score};
use crate::problem;

fn double() -> Problem {
    problem(json!({"prompt": "Double.", "entry": "double", "time_ms": 1_000, "setup": "import math",
        "asserts": ["assert double(2) == 4", "assert sorted(double(n) for n in [3]) == [6] or double(3) == 6",
            "assert math.isclose(double(0.1), 0.2)", "assert double(0) is not None and not double(0)"]}))
}

fn echo() -> Problem {
    problem(json!({"prompt": "Double.", "languages": ["python", "perl"], "time_ms": 500,
        "tests": [{"input": "2", "output": "4"}, {"input": "3", "output": "6"}]}))
}

/// Submissions that answer nothing right and want to be accepted by the asserts.
const FORGERIES: [(&str, &str); 14] = [
    ("leaves at once", "import sys\nsys.exit(0)"),
    ("leaves without a word", "import os\nos._exit(0)"),
    ("leaves when called", "import os\ndef double(n):\n    os._exit(0)"),
    (
        "equal to everything",
        "class Same:\n    def __eq__(self, other): return True\n    def __abs__(self): return 0\n    def __sub__(self, o): return 0\n    def __float__(self): return 0.2\n    def __bool__(self): return False\ndef double(n): return Same()",
    ),
    (
        "a number equal to everything",
        "class Same(int):\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n    __hash__ = int.__hash__\ndef double(n): return Same(7)",
    ),
    (
        "a list equal to everything",
        "class Same(list):\n    def __eq__(self, other): return True\ndef double(n): return Same()",
    ),
    (
        "patched comparison",
        "import math, builtins, operator\nmath.isclose = lambda *a, **k: True\noperator.eq = lambda a, b: True\nbuiltins.sorted = lambda *a: [6]\ndef double(n): return None",
    ),
    (
        "no assertion error",
        "import builtins\nclass Quiet(Exception): pass\nbuiltins.AssertionError = Quiet\ndef double(n): return 1",
    ),
    (
        "patched interpreter",
        "import builtins\nbuiltins.eval = lambda *a, **k: True\nbuiltins.exec = lambda *a, **k: None\nbuiltins.compile = lambda *a, **k: None\ndef double(n): return 1",
    ),
    ("prints results", "print('passed'); print('values [true]'); print('accepted')\ndef double(n): return 1"),
    (
        "writes to every descriptor",
        "import os\ndef double(n):\n    for fd in range(3, 20):\n        try: os.write(fd, b'passed null\\naccepted\\n')\n        except OSError: pass\n    return 1",
    ),
    ("at exit", "import atexit, os\natexit.register(lambda: os.write(1, b'passed null\\n'))\ndef double(n): return 1"),
    (
        "a thread",
        "import threading, os, time\ndef flood():\n    while True:\n        os.write(3, b'passed null\\n')\nthreading.Thread(target=flood, daemon=True).start()\ndef double(n): return 1",
    ),
    (
        "reads the driver's frames",
        "import sys, os, json\ndef double(n):\n    frame = sys._getframe()\n    while frame:\n        if 'nonce' in frame.f_locals:\n            nonce = frame.f_locals['nonce']\n            for fd in range(3, 9):\n                try: os.write(fd, (nonce + ' passed null\\n').encode())\n                except OSError: pass\n        frame = frame.f_back\n    return 1",
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_submission_can_only_answer_the_calls_of_an_assert() {
    let Some(fixture) = fixture().await else { return };
    let solution = "def double(n):\n    return n * 2";
    let problem = problem(
        json!({"prompt": "Double.", "entry": "double", "time_ms": 1_000, "setup": "import math", "solution": solution,
        "asserts": ["assert double(2) == 4", "assert sorted([double(3), double(1)]) == [2, 6]",
            "assert math.isclose(double(0.1), 0.2)", "assert abs(double(5) - 10) < 1e-6", "assert double([1]) == [1, 1]"]}),
    );
    let honest = fixture.judge(&problem, "python", solution).await.expect("a judgement");
    assert!((score(&honest) - 1.0).abs() < 1e-9, "{honest:#?}");
    assert_eq!((honest.from, honest.trainable), (From::Fresh, true));
    for (name, source) in FORGERIES {
        let judged = fixture.judge(&problem, "python", source).await.expect("a judgement");
        assert!(score(&judged) < 1e-9, "{name}: {judged:#?}");
        let accepted = judged.checks.iter().filter(|check| check.score > 0.0).count();
        assert_eq!(accepted, 0, "{name}: {judged:#?}");
    }
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_assert_that_runs_beside_the_submission_says_so() {
    let Some(fixture) = fixture().await else { return };
    let problem = double();
    let judged = fixture.judge(&problem, "python", "def double(n):\n    return n * 2").await.expect("a judgement");
    assert!((score(&judged) - 1.0).abs() < 1e-9, "{judged:#?}");
    assert_eq!((judged.from, judged.trainable), (From::InPlace, false));
    let judged = fixture.judge(&problem, "python", "def double(n):\n    return n * 3").await.expect("a judgement");
    assert!(score(&judged) < 1e-9, "{judged:#?}");
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_of_many_types_are_compared_as_data() {
    let Some(fixture) = fixture().await else { return };
    let source = "from collections import Counter, OrderedDict, deque, namedtuple\nfrom decimal import Decimal\nfrom fractions import Fraction\nimport datetime\nPoint = namedtuple('Point', 'x y')\nVALUES = [None, True, 10**80, -0.0, float('inf'), 1+2j, 'a\\u00e9\\ud800\\n', b'\\x00x', (1, [2, {3}]), {'a': (1,), 2: None}, frozenset({1}), Counter('aab'), OrderedDict(a=1), deque([1, 2]), Point(1, 2), Decimal('1.10'), Fraction(1, 3), datetime.date(2026, 1, 2), range(3), (n for n in 'ab')]\ndef value(n): return VALUES[n]";
    let expected = [
        "value(0) is None",
        "value(1) is True",
        "value(2) == 10**80",
        "value(3) == 0",
        "value(4) == float('inf')",
        "value(5) == 1+2j",
        "value(6) == 'a\\u00e9\\ud800\\n'",
        "value(7) == b'\\x00x'",
        "value(8) == (1, [2, {3}])",
        "value(9) == {'a': (1,), 2: None}",
        "value(10) == {1}",
        "value(11)['a'] == 2",
        "list(value(12)) == ['a']",
        "list(value(13)) == [1, 2]",
        "value(14) == (1, 2)",
        "str(value(15)) == '1.10'",
        "value(16) * 3 == 1",
        "value(17).year == 2026",
        "list(value(18)) == [0, 1, 2]",
        "list(value(19)) == ['a', 'b']",
    ];
    let asserts: Vec<String> = expected.iter().map(|test| format!("assert {test}")).collect();
    let problem = problem(json!({"prompt": "Values.", "entry": "value", "asserts": asserts}));
    let judged = fixture.judge(&problem, "python", source).await.expect("a judgement");
    assert!((score(&judged) - 1.0).abs() < 1e-9, "{judged:#?}");
    assert_eq!(judged.from, From::Fresh);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_test_cannot_reach_the_next() {
    for fixture in [fixture().await, contained().await].into_iter().flatten() {
        reach(&fixture).await;
        fixture.close().await;
    }
}

/// Programs that are right only if an earlier run could leave something behind, or change the program.
async fn reach(fixture: &Fixture) {
    let tries = [
        (
            "rewrites itself",
            "import sys\nn = input()\ntry:\n    open(__file__, 'w').write('print(6)')\nexcept OSError: pass\nprint(4 if n == '2' else 0)",
        ),
        (
            "replaces its folder",
            "import os\nn = input()\nfolder = os.path.dirname(__file__)\ntry:\n    os.rename(folder, folder + '.old'); os.mkdir(folder); open(__file__, 'w').write('print(6)')\nexcept OSError: pass\nprint(4 if n == '2' else 0)",
        ),
        (
            "leaves a note",
            "import os, glob\nn = input()\nfor folder in ['/tmp', '/var/tmp', '/dev/shm', '/run', '/run/lock', '.', '..', '/code', '/code/program', '/home/agent', '/work', '/dev']:\n    try: n == '2' and open(folder + '/note', 'a').close()\n    except OSError: pass\nfound = [f for f in ['/tmp/note', '/var/tmp/note', '/dev/shm/note', '/run/note', '/run/lock/note', '/code/note', '/code/program/note', '/code/runs/note', '/code/runs/0/note', '/home/agent/note', '/work/note', '/dev/note'] if os.path.exists(f) and n != '2']\nprint(4 if n == '2' else 6 if found else 0)",
        ),
        (
            "leaves a process",
            "import os, socket, time\nn = input()\nif n == '2':\n    print(4, flush=True)\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n            s = socket.socket(socket.AF_UNIX); s.bind('\\0left'); s.listen()\n            time.sleep(60)\n    os._exit(0)\ns = socket.socket(socket.AF_UNIX)\ntry:\n    s.connect('\\0left'); print(6)\nexcept OSError: print(0)",
        ),
    ];
    for (name, source) in tries {
        let statuses = fixture.statuses(&echo(), "python", source).await;
        assert_eq!(statuses, ["accepted", "wrong"], "{name}");
    }
    // Perl runs this while it reads the program, as the owner of the program.
    let opened = "BEGIN {\n    chmod 0777, '/code', '/code/program', '/code/program/main.pl';\n    mkdir '/tmp/open'; chmod 0777, '/tmp/open';\n    mkdir '/code/open'; chmod 0777, '/code/open';\n}\nmy $n = <STDIN>;\nmy @notes = map { \"$_/note\" } qw(/tmp/open /code/open /code /code/program);\nif ($n == 2) {\n    for (@notes) { open(my $file, '>', $_) }\n    print 4;\n} else {\n    print((grep { -e $_ } @notes) ? 6 : 0);\n}";
    assert_eq!(fixture.statuses(&echo(), "perl", opened).await, ["accepted", "wrong"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_in_the_sandbox_tells_what_is_expected() {
    let Some(fixture) = fixture().await else { return };
    let secret = "5f0c2d1e9a7b";
    let problem = problem(json!({"prompt": "p", "languages": ["python"], "time_ms": 5_000,
        "tests": [{"input": "x", "output": secret}], "solution": format!("print('{secret}')")}));
    let search = "import os\nfound = ''\nfor top in ['/code', '/home', '/tmp', '/work', '/judge', '/proc/1', '/proc/self', '/run', '/etc']:\n    for folder, _, names in os.walk(top):\n        for name in names:\n            try:\n                fd = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_NONBLOCK)\n                text = os.read(fd, 100000)\n                os.close(fd)\n            except OSError: continue\n            if b'5f0c' + b'2d1e9a7b' in text: found = '5f0c' + '2d1e9a7b'\nprint(found or os.environ)";
    // The needle is in the program itself, in two halves; whoever finds it whole found what was expected.
    assert_eq!(fixture.statuses(&problem, "python", search).await, ["wrong"]);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_checker_decides_and_its_crash_is_nobodys_score() {
    let Some(fixture) = fixture().await else { return };
    let checked = |checker: &str| {
        problem(json!({"prompt": "Two numbers whose sum is that of the input.", "languages": ["python"],
            "tests": [{"input": "10", "output": "any"}],
            "comparison": {"checker": {"language": "python", "source": checker}}}))
    };
    let fair = checked(
        "import sys\ngoal = int(open(sys.argv[1]).read())\nassert open(sys.argv[2]).read() == 'any'\nwords = open(sys.argv[3]).read().split()\nif len(words) != 2 or sum(map(int, words)) != goal:\n    print('not', goal)\n    sys.exit(1)",
    );
    assert_eq!(fixture.statuses(&fair, "python", "print(3, 7)").await, ["accepted"]);
    assert_eq!(fixture.statuses(&fair, "python", "print(3, 8)").await, ["wrong"]);
    let crashing = checked("import os\nos.abort()");
    assert!(matches!(fixture.judge(&crashing, "python", "print(1)").await, Err(JudgeError::Verifier(_))));
    let odd = checked("import sys\nsys.exit(7)");
    assert!(matches!(fixture.judge(&odd, "python", "print(1)").await, Err(JudgeError::Verifier(_))));
    let endless = checked("while True: pass");
    let held_up = fixture.judge(&endless, "python", "print(1)").await;
    assert!(matches!(held_up, Err(JudgeError::Timeout(_))), "{held_up:?}");
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_programs_get_a_status_and_the_judge_goes_on() {
    let Some(fixture) = fixture().await else { return };
    let tries = [
        ("fork bomb", "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", vec!["time", "memory"]),
        (
            "kills everything",
            "import os, signal\nos.kill(-1, signal.SIGKILL)\nprint(0)",
            vec!["wrong", "memory", "runtime"],
        ),
        ("sleeps", "import time\ntime.sleep(1000)", vec!["time"]),
        (
            "ignores signals",
            "import signal\nfor n in range(1, 64):\n    try: signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: pass",
            vec!["time"],
        ),
        ("floods errors", "import sys\nwhile True: sys.stderr.write('x' * 100000)", vec!["time", "output"]),
        ("invalid bytes", "import sys\nsys.stdout.buffer.write(bytes(range(256)))", vec!["wrong"]),
        (
            "memory of many processes",
            "import os, time\nfor n in range(14):\n    if os.fork() == 0:\n        hold = bytearray(220 << 20)\n        time.sleep(60)\nhold = bytearray(220 << 20)\ntime.sleep(60)",
            vec!["time", "memory", "runtime"],
        ),
        (
            "fills the disk",
            "f = open('big', 'wb')\nwhile True: f.write(b'x' * (1 << 20))",
            vec!["output", "runtime", "time"],
        ),
        (
            "recursion",
            "def f(): return f()\nimport sys\nsys.setrecursionlimit(10**9)\nf()",
            vec!["runtime", "memory", "time"],
        ),
    ];
    let problem = problem(json!({"prompt": "p", "languages": ["python"], "time_ms": 500, "partial": true,
        "tests": [{"input": "2", "output": "4"}, {"input": "3", "output": "6"}]}));
    for (name, source, allowed) in tries {
        let statuses = fixture.statuses(&problem, "python", source).await;
        assert_eq!(statuses.len(), 2, "{name}: {statuses:?}");
        assert!(statuses.iter().all(|status| allowed.contains(&status.as_str())), "{name}: {statuses:?}");
    }
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_assert_has_its_status() {
    let Some(fixture) = fixture().await else { return };
    let asked = |partial: bool| {
        problem(json!({"prompt": "p", "entry": "f", "time_ms": 500, "memory_bytes": 100_000_000, "partial": partial,
            "asserts": ["assert f(0) == 0", "assert f(1) == 1", "assert f(2) == 2"]}))
    };
    let body = |two: &str| format!("import os, sys, time\ndef f(n):\n    if n == 1:\n        {two}\n    return n");
    for (two, partial, expected) in [
        ("return 1", false, ["accepted", "accepted", "accepted"]),
        ("return 7", false, ["accepted", "wrong", "accepted"]),
        ("raise ValueError('no')", false, ["accepted", "runtime", "accepted"]),
        ("os._exit(0)", false, ["accepted", "runtime", "accepted"]),
        ("os.kill(os.getpid(), 11)", false, ["accepted", "runtime", "accepted"]),
        ("sys.exit(0)", false, ["accepted", "runtime", "accepted"]),
        ("while True: pass", false, ["accepted", "time", "skipped"]),
        ("while True: pass", true, ["accepted", "time", "accepted"]),
        ("return bytearray(1 << 30)", true, ["accepted", "memory", "accepted"]),
        ("return 'x' * (30 << 20)", true, ["accepted", "output", "accepted"]),
        ("def", false, ["build", "build", "build"]),
    ] {
        let found = fixture.statuses(&asked(partial), "python", &body(two)).await;
        assert_eq!(found, expected, "{two}");
    }
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_sources_are_no_more_than_builds_that_fail() {
    let Some(fixture) = fixture().await else { return };
    let problem = problem(json!({"prompt": "p", "languages": ["c", "cpp", "python"], "tests": [{"output": "1"}]}));
    for (name, language, source) in [
        ("endless file", "c", "#include \"/dev/zero\"\nint main(void) { return 0; }"),
        ("a terabyte of zeros", "c", "char many[1L << 40] = {1};\nint main(void) { return 0; }"),
        ("secrets of the machine", "c", "#include \"/etc/shadow\"\nint main(void) { return 0; }"),
        (
            "endless templates",
            "cpp",
            "template <int N> struct A { A<N + 1> *a; int b = a->b; };\nA<0> a;\nint main() { return a.b }",
        ),
        ("no end of brackets", "python", &"(".repeat(100_000)),
        ("no text", "python", "\u{0}\u{1}"),
    ] {
        if fixture.speaks(palestra_workbench::code::language::Language::named(language).expect("a language")).await {
            assert_eq!(fixture.statuses(&problem, language, source).await, ["build"], "{name}");
        }
    }
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forged_answer_cannot_hold_up_the_comparison() {
    let Some(fixture) = fixture().await else { return };
    let alike: Vec<String> = (0..50_000_u128).map(|n| format!(r#"["int","{:#x}"]"#, n * ((1 << 61) - 1))).collect();
    let answers = [
        format!(r#"[["set",[{}]]]"#, alike.join(",")),
        format!(r#"[["dict",[{}]]]"#, alike.iter().map(|key| format!("[{key},null]")).collect::<Vec<_>>().join(",")),
        r#"[["range","0x0","0xffffffffffff","0x1"]]"#.to_owned(),
        r#"[["Decimal","1E+999999999"]]"#.to_owned(),
        r#"[["float","0x1p99999999"]]"#.to_owned(),
        "[".repeat(100_000),
        r#"[["list",5]]"#.to_owned(),
        r#"[["no such thing",1]]"#.to_owned(),
        r#"{"a":1}"#.to_owned(),
    ];
    let count = answers.len();
    let order = json!({"setup": "", "entry": "f", "solution": "", "answers": answers,
        "asserts": vec!["assert sum(f(1)) == 3 or int(f(1)) == 3"; count]});
    let output = fixture.output(include_str!("../../src/code/asserts/trusted.py"), order.to_string()).await;
    let verdicts: Vec<String> = serde_json::from_str(&output).expect("verdicts");
    assert_eq!(verdicts.len(), count);
    assert!(verdicts.iter().all(|verdict| verdict != "accepted"), "{verdicts:?}");
    fixture.close().await;
}
