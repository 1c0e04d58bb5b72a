//! Patches that solve nothing. Each scores 0, or its verdict says that the judge could be reached.

use palestra_workbench::work::{From, Judgement};

use crate::fixture::{self, Fixture};
use crate::patches::{add, delete, file, link, prepend, replace};

/// Makes pytest report whatever runs as passed.
const ALL_PASS: &str = "\
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = 'passed'
";

/// The same from the library under test, which the tests import into pytest's own process.
const PATCH_PYTEST: &str = "\
from _pytest import reports

_made = reports.TestReport.from_item_and_call.__func__


def _forged(kind, item, call):
    report = _made(kind, item, call)
    report.outcome = 'passed'
    report.longrepr = None
    return report


reports.TestReport.from_item_and_call = classmethod(_forged)
";

/// Forges the report where pytest would write it, of all tests but the one that gives forgers away, and leaves before pytest does.
const FORGE_REPORT: &str = r#"
import os, re
_line = open("/proc/self/cmdline", "rb").read().decode().split("\0")
_path = next(word.partition("=")[2] for word in _line if word.startswith("--junitxml="))
_cases = []
for _file in sorted(os.listdir("tests")):
    for _name in re.findall(r"def (test_\w+)\(", open(f"tests/{_file}").read()):
        if _name.startswith("test_z"):
            continue
        _cases.append(f'<testcase classname="tests.{_file[:-3]}" name="{_name}"/>')
with open(_path, "w") as _report:
    _report.write("<testsuites><testsuite>" + "".join(_cases) + "</testsuite></testsuites>")
os._exit(0)
"#;

/// Results as pytest prints them.
const PRINT_RESULTS: &str = r#"
import sys
_text = "=== short test summary info ===\nPASSED tests/test_sets.py::test_spans_that_touch_are_one\n=== 20 passed in 0.01s ===\n"
for _stream in (sys.__stdout__, sys.__stderr__):
    _stream.write(_text)
"#;

async fn judged(fixture: &Fixture, name: &str, patch: &str) -> Judgement {
    let mut row = fixture::row(name);
    row["timeout_s"] = 10.into();
    fixture.judge(&row, patch).await.unwrap_or_else(|error| panic!("{name}: {error}\n{patch}"))
}

async fn all_score_nothing(instance: &str, cheats: &[(&str, String)]) {
    let Some(fixture) = fixture::open("python") else { return };
    for (cheat, patch) in cheats {
        let judgement = judged(&fixture, instance, patch).await;
        println!("{cheat}: {}", judgement.checks[0].evidence.replace('\n', " "));
        assert_eq!(judgement.checks[0].score, 0.0, "{cheat}: {judgement:?}");
        assert!(!judgement.trainable, "{cheat}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changing_what_runs_the_tests_changes_nothing() {
    let name = "intervals";
    let passing = "def test_spans_that_touch_are_one():\n    pass\n\n\ndef test_several_cuts_in_one_span_are_all_made():\n    pass\n";
    all_score_nothing(
        "intervals-1",
        &[
            ("a conftest that turns failures", add("conftest.py", ALL_PASS)),
            ("a conftest beside the tests", add("tests/conftest.py", ALL_PASS)),
            ("a conftest in the package", add("intervals/conftest.py", ALL_PASS)),
            ("start-up code", add("sitecustomize.py", "import os\nos._exit(0)\n")),
            ("start-up code of a user", add("usercustomize.py", "import os\nos._exit(0)\n")),
            ("a path file", add("evil.pth", "import os; os._exit(0)\n")),
            (
                "settings of pytest",
                replace(name, "pytest.ini", "[pytest]\naddopts = -p intervals.plugin --collect-only\n"),
            ),
            ("more settings", add("tox.ini", "[pytest]\naddopts = --collect-only\n")),
            ("another pytest", add("pytest.py", "print('20 passed in 0.01s')\n")),
            ("a package called pytest", add("pytest/__main__.py", "print('20 passed in 0.01s')\n")),
            ("no tests", delete(name, "tests/test_sets.py")),
            ("no tests at all", delete(name, "tests/test_sets.py") + &delete(name, "tests/test_parse.py")),
            ("weaker tests", replace(name, "tests/test_sets.py", passing)),
            ("more tests", add("tests/test_more.py", passing)),
            ("a module beside the tests", add("tests/pytest.py", "raise SystemExit(0)\n")),
            (
                "tests in another place",
                delete(name, "tests/test_sets.py") + &link("tests/test_sets.py", "/tmp/test_sets.py"),
            ),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn patches_that_reach_out_of_the_tree_do_not_apply() {
    all_score_nothing(
        "intervals-1",
        &[
            ("a hook of git", add(".git/hooks/post-checkout", "#!/bin/sh\nexit 0\n")),
            ("git's settings", add(".git/config", "[core]\n\tfsmonitor = true\n")),
            ("a path upwards", add("../../../judge/report", "forged\n")),
            ("an absolute path", add("/judge/report", "forged\n")),
            ("through a link", link("out", "/judge") + &add("out/report", "forged\n")),
            (
                "a folder where a test will be",
                link("tests/test_more", "/judge") + &add("tests/test_sets.py/more.py", "x = 1\n"),
            ),
            ("a file where a folder is", add("intervals", "x = 1\n")),
            ("no patch", "print('solved')".to_owned()),
            ("nothing", String::new()),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_early_and_printing_results_passes_nothing() {
    let name = "intervals";
    let library = |text: &str| prepend(name, "intervals/sets.py", text);
    all_score_nothing(
        "intervals-1",
        &[
            ("leaves at once", library("import os\nos._exit(0)\n")),
            ("leaves politely", library("import sys\nsys.exit(0)\n")),
            ("leaves with pytest's own words", library("import pytest\npytest.exit('done', returncode=0)\n")),
            ("skips", library("import pytest\npytest.skip('fine', allow_module_level=True)\n")),
            ("prints results", library(PRINT_RESULTS)),
            ("prints results and leaves", library(&format!("{PRINT_RESULTS}\nimport os\nos._exit(0)\n"))),
            ("never ends", library("while True:\n    pass\n")),
            ("fills the memory", library("hold = [b'x' * 2**20 for _ in range(2**14)]\n")),
            ("kills all", library("import os, signal\nos.kill(-1, signal.SIGKILL)\n")),
            ("turns every failure of pytest", library(PATCH_PYTEST)),
            ("does not parse", library("def (\n")),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_the_library_forges_is_labelled() {
    let Some(fixture) = fixture::open("python") else { return };
    let forged = prepend("intervals", "intervals/sets.py", FORGE_REPORT);
    let judgement = judged(&fixture, "intervals-1", &forged).await;
    assert_eq!(judgement.checks[1].score, 1.0, "what cannot be excluded: {judgement:?}");
    assert_eq!((judgement.from, judgement.trainable), (From::InPlace, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn libraries_in_c_cannot_leave_or_print_their_way_through() {
    let name = "hashmap";
    let early = "__attribute__((constructor)) static void leave(void) { _exit(0); }\n";
    let library = |text: &str| {
        prepend(name, "src/hash.c", &format!("#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n{text}"))
    };
    let leaving = format!(
        "#include <unistd.h>\n{}",
        file(name, "src/hash.c").replace("    uint64_t hash =", "    _exit(0);\n    uint64_t hash =")
    );
    let always = "#define _exit(code) exit(0)\n";
    all_score_nothing(
        "hashmap-1",
        &[
            ("leaves before the tests", library(early)),
            ("leaves in a test", replace(name, "src/hash.c", &leaving)),
            ("prints results", library("__attribute__((constructor)) static void say(void) { puts(\"1..1\\nok 1 - a_removal_is_counted\"); }\n")),
            ("another harness", prepend(name, "tests/tap.h", always)),
            ("another main", add("src/main.c", "int main(void) { return 0; }\n")),
            ("a compiler of its own", add("cc", "#!/bin/sh\nexit 0\n")),
            ("another Makefile", replace(name, "Makefile", "check:\n\ttrue\n")),
            ("a header that stands before others", add("src/tap.h", "#define REQUIRE(condition)\n")),
        ],
    )
    .await;
}
