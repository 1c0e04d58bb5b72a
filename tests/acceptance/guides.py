"""Every block of README.md and docs/ that can run does, as it stands, against a fresh server, and none is answered with a problem."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

from harness import Failed, binary, expect, free_port, main

FOLDER = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
START_TIMEOUT_S = 60
DOCUMENT_TIMEOUT_S = 300
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.M | re.S)
INTERPRETERS = ("sh", "python")
BLOCKS_MIN = 20
# A problem document; a refused item of a batch holds one as well. (`"code"` alone may also be what an environment shows.)
PROBLEM = re.compile(r'"type":\s*"/problems/')
# What documents say of their own output.
PROMISED = {"README.md": ['"status":"scored","score":1.0', "\nscored 1.0\n"]}


def documents():
    """README.md first, as a reader would."""
    docs = os.path.join(FOLDER, "docs")
    return ["README.md", *(os.path.join("docs", name) for name in sorted(os.listdir(docs)) if name.endswith(".md"))]


def blocks(document):
    """(line, language, text) of each block that runs: of the languages that run, without the word `no-run` after it."""
    with open(os.path.join(FOLDER, document)) as file:
        text = file.read()
    for found in BLOCK.finditer(text):
        language, options, body = found.groups()
        if language in INTERPRETERS and "no-run" not in options.split():
            yield text.count("\n", 0, found.start()) + 2, language, body


def script(document, folder):
    """All blocks of one document as one script for bash: what a block sets, the next one may use."""
    parts = ["set -euo pipefail"]
    count = 0
    for line, language, body in blocks(document):
        count += 1
        parts.append(f"echo '== {document}:{line}'")
        if language == "python":
            path = os.path.join(folder, f"{os.path.basename(document)}-{line}.py")
            with open(path, "w") as file:
                file.write(body)
            parts.append(f"'{sys.executable}' '{path}'")
        else:
            parts.append(body.rstrip("\n"))
    return count, "\n".join(parts) + "\n"


def play(document, folder, environment):
    """Runs a document; answers how many blocks it has."""
    count, text = script(document, folder)
    done = subprocess.run(
        ["bash"], input=text, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=DOCUMENT_TIMEOUT_S,
    )
    last = (re.findall(r"^== (\S+)$", done.stdout, re.M) or [document])[-1]
    expect(done.returncode == 0, f"the block at {last} failed with {done.returncode}: {done.stdout[-2000:]}")
    for part in re.split(r"^== ", done.stdout, flags=re.M)[1:]:
        place, _, answered = part.partition("\n")
        problem = PROBLEM.search(answered)
        expect(not problem, f"the block at {place} is answered with a problem: {answered[-2000:]}")
    for promised in PROMISED.get(document, []):
        expect(promised in done.stdout, f"{document} does not bring {promised!r}: {done.stdout[-2000:]}")
    return count


def exports(process):
    """The variables that the first start prints, once the server is ready."""
    found = {}
    for line in process.stdout:
        variable = re.match(r"\s*export (\w+)=(\S+)$", line)
        if variable:
            found[variable.group(1)] = variable.group(2)
        if line.startswith("ready"):
            # What is printed later must not fill the pipe.
            threading.Thread(target=process.stdout.read, daemon=True).start()
            expect(found.keys() >= {"PALESTRA_URL", "PALESTRA_API_KEY"}, f"the first start exports {sorted(found)}")
            return found
    raise Failed(f"the server did not become ready (exit {process.wait()})")


def expect_tests_of_the_architecture():
    """Each test that the invariants name is there, so that no invariant is enforced by a name alone."""
    with open(os.path.join(FOLDER, "docs", "ARCHITECTURE.md")) as file:
        table = file.read().split("## Invariants")[1].split("\n## ")[0]
    named = set(re.findall(r"`([a-z0-9]+(?:_[a-z0-9]+){2,})`", table))
    expect(named, "docs/ARCHITECTURE.md names no tests")
    sources = []
    for top in ("src", "tests", "crates"):
        for where, _, files in os.walk(os.path.join(FOLDER, top)):
            sources += [os.path.join(where, name) for name in files if name.endswith(".rs")]
    there = set()
    for path in sources:
        with open(path) as file:
            there.update(re.findall(r"\bfn (\w+)", file.read()))
    expect(named <= there, f"docs/ARCHITECTURE.md names tests that are not there: {sorted(named - there)}")
    return len(named)


def run(short):
    """Short and long form are the same."""
    named = expect_tests_of_the_architecture()
    folder = tempfile.mkdtemp(prefix="palestra-guides-")
    # What a reader has installed stays: images take minutes to build.
    kept = ("PALESTRA_IMAGES",)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PALESTRA_") or name in kept}
    programs = os.path.join(folder, "bin")
    os.mkdir(programs)
    os.symlink(os.path.abspath(binary()), os.path.join(programs, "palestra"))
    # A reader stands in the checkout.
    os.symlink(os.path.join(FOLDER, "examples"), os.path.join(folder, "examples"))
    # The same Python for programs as for blocks: it has the packages.
    found = [programs, os.path.dirname(sys.executable), environment["PATH"]]
    environment["PATH"] = os.pathsep.join(found)
    # As `pip install ./clients/python` would.
    environment["PYTHONPATH"] = os.path.join(FOLDER, "clients", "python", "src")
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    command = ["palestra", "serve", "--listen", f"127.0.0.1:{free_port()}", "--log", "warn"]
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    watchdog = threading.Timer(START_TIMEOUT_S, process.kill)
    watchdog.start()
    try:
        environment |= exports(process)
        watchdog.cancel()
        count = sum(play(document, folder, environment) for document in documents())
        expect(count >= BLOCKS_MIN, f"only {count} blocks ran")
    finally:
        watchdog.cancel()
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)
    return f"{count} blocks of {len(documents())} documents ran; {named} tests named by the invariants are there"


if __name__ == "__main__":
    main(run)
