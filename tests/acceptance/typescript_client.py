"""The TypeScript package: its types are those that the generator makes of the API document, and its tests hold against a real server."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import FOLDER, binary, expect, main

TIMEOUT_S = 600


def version(path, form):
    with open(os.path.join(FOLDER, path)) as file:
        return re.search(form, file.read(), re.M).group(1)


def run(_short):
    """Short and long form are the same."""
    theirs = version("clients/typescript/package.json", r'^  "version": "([^"]+)"')
    expect(theirs == version("Cargo.toml", r'^version = "([^"]+)"'), f"package.json has another version than Cargo.toml: {theirs}")
    with tempfile.TemporaryDirectory(prefix="palestra-typescript-") as parent:
        package = os.path.join(parent, "clients", "typescript")
        shutil.copytree(os.path.join(FOLDER, "clients", "typescript"), package, ignore=shutil.ignore_patterns("node_modules", "dist"))
        shutil.copytree(os.path.join(FOLDER, "openapi"), os.path.join(parent, "openapi"))
        path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
        environment = {**os.environ, "PATH": path, "PALESTRA_BINARY": os.path.abspath(binary()), "PALESTRA_WORKERS": "none"}

        def npm(*command):
            done = subprocess.run(["npm", *command], cwd=package, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
            expect(done.returncode == 0, f"npm {' '.join(command)} failed: {(done.stdout + done.stderr)[-3000:]}")
            return done.stdout

        npm("install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel", "error")
        npm("run", "check-generated")
        printed = npm("test")
    # scripts/acceptance counts what was not tried.
    for line in re.findall(r"not tried: .*", printed):
        print(line)
    counts = dict(re.findall(r"^\S+ (tests|pass|fail|skipped|todo|cancelled) (\d+)$", printed, re.M))
    left_out = sum(int(counts.get(name, 1)) for name in ("fail", "skipped", "todo", "cancelled"))
    expect(int(counts.get("pass", 0)) > 0 and left_out == 0, f"the tests say {counts}: {printed[-2000:]}")
    return f"the types are generated; {counts['pass']} tests passed"


if __name__ == "__main__":
    main(run)
