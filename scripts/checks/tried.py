"""What a run of tests left out: tests that say `not tried: NAME: needs WHAT`, ignored tests, empty tests, programs without tests.

A run holds only where everything was tried, but for what `EXPECTED` lets stand, which is named in the totals.
"""

import os
import re
import xml.etree.ElementTree
from collections import namedtuple

# The words of palestra-test-support, which says these lines.
NOT_TRIED = re.compile(r"^\s*not tried: (?P<name>.+?): needs (?P<needs>.+?)\s*$", re.MULTILINE)
# Other words for the same are refused, since nobody counts them.
OTHER_WORDS = re.compile(r"^\s*(?:skip(?:ped|ping)?|ignored|untested|not run|not tried)\s*:.*$", re.MULTILINE | re.IGNORECASE)
DATA = "the data folder"
WEIGHTS = "the weights of a real model"
GPU = "a GPU"
IGNORED = re.compile(r"^[ \t]*#\[ignore\b[^\n]*", re.MULTILINE)
EMPTY = re.compile(
    r"#\[(?:\w+::)*test(?:\([^\]]*\))?\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?fn\s+(?P<name>\w+)\s*\(\s*\)"
    r"\s*(?:->[^{;]*)?\{(?:\s|//[^\n]*\n|/\*.*?\*/)*\}",
    re.DOTALL,
)
DOC_IGNORED = re.compile(r"^test result: .*; ([1-9]\d*) ignored;", re.MULTILINE)

Case = namedtuple("Case", "binary name failed output")
Untried = namedtuple("Untried", "test needs")


def package(binary):
    """The package of a binary as nextest names it: `package`, `package::binary` or `package::bin/binary`."""
    return binary.split("::")[0]


def read_junit(path):
    """The cases of a run, in its order, with everything that they printed."""
    cases = []
    for suite in xml.etree.ElementTree.parse(path).getroot().iter("testsuite"):
        for case in suite.iter("testcase"):
            texts = [case.findtext("system-out"), case.findtext("system-err")]
            failed = any(case.find(kind) is not None for kind in ("failure", "error"))
            cases.append(Case(suite.get("name"), case.get("name"), failed, "\n".join(filter(None, texts))))
    return cases


def untried(cases):
    """What tests left out, by their own words."""
    return [
        Untried(f"{case.binary} {case.name}".strip(), found["needs"]) for case in cases for found in NOT_TRIED.finditer(case.output)
    ]


def other_words(cases):
    """Lines by which a test that passed says in other words that it was not tried."""
    found = []
    for case in cases:
        if not case.failed:
            lines = (line.group().strip() for line in OTHER_WORDS.finditer(case.output))
            found += [f"{case.binary} {case.name}: {line!r}" for line in lines if not NOT_TRIED.match(line)]
    return found


def parted(found, has_data):
    """(by reason what may stand, what may not). Without the data folder what needs it may stand; a GPU and real weights are of
    other machines."""
    stands, refused = {}, []
    for one in found:
        if GPU in one.needs:
            stands.setdefault("no GPU", []).append(one.test)
        elif WEIGHTS in one.needs:
            stands.setdefault("no weights of a real model", []).append(one.test)
        elif DATA in one.needs and not has_data:
            stands.setdefault("no data folder", []).append(one.test)
        else:
            refused.append(f"{one.test}: needs {one.needs}")
    return stands, refused


def listed(suites):
    """What `cargo nextest list --message-format json` shows: ignored tests, and test programs that have no test."""
    found = []
    for binary, suite in sorted(suites.items()):
        cases = suite["testcases"]
        found += [f"{binary} {name}: an ignored test" for name, case in sorted(cases.items()) if case["ignored"]]
        if suite["kind"] == "test" and not cases:
            found.append(f"{binary}: a test program without a test")
    return found


def sources(paths, root):
    """Ignored and empty tests in sources, also in those that no run compiles."""
    found = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        place = os.path.relpath(path, root)
        found += [f"{place}:{text.count(chr(10), 0, match.start()) + 1}: an ignored test" for match in IGNORED.finditer(text)]
        found += [
            f"{place}:{text.count(chr(10), 0, match.start('name')) + 1}: {match['name']} is an empty test"
            for match in EMPTY.finditer(text)
        ]
    return found


def documentation(log):
    """Ignored examples of documentation in the output of `cargo test --doc`."""
    return [f"documentation: {match[1]} ignored examples" for match in DOC_IGNORED.finditer(log)]
