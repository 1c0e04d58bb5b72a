"""What passed for the same inputs need not run again: a digest over the inputs of a unit, and a stamp for each that passed.

Inputs of a package's tests are its files, those of the workspace packages that it depends on (also for tests and builds) but
without their own tests, the folders that tests read, guides that its sources name, outside data, the lock file, the toolchain, the
settings of cargo and nextest, the engines and the kernel.
A package that reads more says so in its manifest:

    [package.metadata.palestra]
    tests-read = ["examples"]                 # files or folders of the checkout; "." for all of it
    tests-run = ["palestra-trainer"]          # packages whose programs its tests run

Stamps lie in `palestra-passed` in the target folder. One that cannot be read counts as none; `PALESTRA_TEST_ALL=1` looks at none.
"""

import glob
import hashlib
import json
import os
import platform
import re
import subprocess
import tempfile

# Read by tests of several packages, relative to the checkout, beside a package's own.
SHARED = [
    "Cargo.toml", "Cargo.lock", "rust-toolchain", "rust-toolchain.toml", ".cargo", ".config", "environments", "sandboxes", "migrations",
    "openapi", "tests", "scripts/docker", "scripts/postgres", "scripts/checks",
]
# Of these what belongs to the root package alone, or to acceptance programs.
NOT_SHARED = ["tests/acceptance", "tests/api", "tests/main.rs", "tests/support"]
# What no test of the root package reads: documents, and programs that have stamps of their own.
OUTSIDE_ROOT = ["docs", ".ci", "tests/acceptance", "deny.toml", "clippy.toml", "rustfmt.toml", "scripts"]
# Variables that say where something is, not what is tried.
PLACES = {
    "PALESTRA_TEST_ALL", "PALESTRA_TEST_POSTGRES_URL", "PALESTRA_TEST_DOCKER", "PALESTRA_TEST_PYTHON", "PALESTRA_TEST_VENV",
    "PALESTRA_TEST_IMAGES", "PALESTRA_IMAGES", "PALESTRA_BINARY", "PALESTRA_SHARED_DATA", "PALESTRA_TEST_REPORT", "PALESTRA_TEST_PORTS", "PALESTRA_CHECKOUT",
}
# A guide, or the folder of all, as sources name it in a path.
DOCUMENT = re.compile(r'(?:join\("|"[^"\n]*/)(docs(?:/[\w-]+\.md)?)"')
# Folders of a package that no other package compiles.
OWN_PROGRAMS = ["tests", "benches", "examples"]
# Of each unit so many stamps are kept: branches take turns.
KEPT = 8


class Checkout:
    """A workspace with its files and packages, as they are when this is made."""

    def __init__(self, root, target=None):
        self.root = os.path.realpath(root)
        self.metadata = json.loads(run(["cargo", "metadata", "--no-deps", "--format-version", "1"], self.root))
        self.target = target or self.metadata["target_directory"]
        self.packages = {package["name"]: package for package in self.metadata["packages"]}
        self.folders = {name: os.path.dirname(package["manifest_path"]) for name, package in self.packages.items()}
        self.files = sorted(listing(self.root, self.target))
        self._digests = {}

    def needs(self, name):
        """Names of the workspace packages that this one depends on for anything, itself included."""
        names = {os.path.realpath(folder): name for name, folder in self.folders.items()}
        seen, open_ones = set(), [name]
        while open_ones:
            one = open_ones.pop()
            if one in seen:
                continue
            seen.add(one)
            for dependency in self.packages[one]["dependencies"]:
                found = dependency.get("path") and names.get(os.path.realpath(dependency["path"]))
                if found:
                    open_ones.append(found)
            open_ones += self.declared(one, "tests-run")
        return seen

    def declared(self, name, what):
        return ((self.packages[name].get("metadata") or {}).get("palestra") or {}).get(what, [])

    def own_files(self, name):
        """Files of a package, without those of packages below it."""
        folder = self.folders[name]
        below = [other for other in self.folders.values() if other != folder and within(other, folder)]
        if folder == self.root:
            below += [os.path.join(self.root, path) for path in OUTSIDE_ROOT]
        found = [path for path in self.under(folder) if not any(within(path, other) for other in below)]
        if folder == self.root:
            found = [path for path in found if os.path.dirname(path) != self.root or not path.endswith(".md")]
        return found

    def compiled_files(self, name):
        """Files of a package that those which depend on it compile: all but its own tests, benches and examples."""
        own = [os.path.join(self.folders[name], folder) for folder in OWN_PROGRAMS]
        return [path for path in self.own_files(name) if not any(within(path, folder) for folder in own)]

    def shared(self):
        """What tests of several packages read: all but what belongs to single ones, which count it themselves."""
        return sorted(set(self.reads(SHARED)) - set(self.reads(NOT_SHARED)))

    def documents(self, name):
        """Guides that a package's sources name: its tests may look at them."""
        found = set()
        for path in self.own_files(name):
            if path.endswith(".rs"):
                with open(path, encoding="utf-8", errors="replace") as file:
                    found.update(DOCUMENT.findall(file.read()))
        return sorted(found)

    def under(self, folder):
        return [path for path in self.files if within(path, folder)]

    def reads(self, paths):
        """Files at or under these paths of the checkout."""
        return [path for one in paths for path in self.under(os.path.normpath(os.path.join(self.root, one)))]

    def sources(self, name):
        """Files that a package's tests are compiled from: its own, and what they need of others."""
        return self.own_files(name) + [path for one in self.needs(name) - {name} for path in self.compiled_files(one)]

    def package_digest(self, name):
        """Of everything that the tests of a package depend on."""
        paths = self.shared() + self.sources(name) + self.reads(self.documents(name))
        paths += self.reads(self.declared(name, "tests-read"))
        return self.digest(paths, [name, *machine(), *variables(), *self.data()])

    def digest(self, paths, words):
        """Of files, whose names below the checkout count, and of words."""
        whole = hashlib.sha256()
        for path in sorted(set(paths)):
            whole.update(f"{os.path.relpath(path, self.root)}\0{self.of_file(path)}\0".encode())
        whole.update(json.dumps(words).encode())
        return whole.hexdigest()

    def of_file(self, path):
        if path not in self._digests:
            if os.path.islink(path):
                found = "link " + os.readlink(path)
            else:
                with open(path, "rb") as file:
                    found = f"{os.stat(path).st_mode & 0o111} {hashlib.file_digest(file, 'sha256').hexdigest()}"
            self._digests[path] = found
        return self._digests[path]

    def data_folder(self):
        return os.environ.get("PALESTRA_SHARED_DATA") or os.path.join(self.root, "..", "shared", "data")

    def data(self):
        """Outside data: names and contents."""
        folder = os.path.realpath(self.data_folder())
        found = sorted(os.path.join(at, file) for at, _, files in os.walk(folder) for file in files)
        return [f"{os.path.relpath(path, folder)} {self.of_file(path)}" for path in found]


class Stamps:
    """What passed, by unit and digest. A unit is a word as `tests palestra-apps`."""

    def __init__(self, target):
        self.folder = os.path.join(target, "palestra-passed")
        self.ignored = os.environ.get("PALESTRA_TEST_ALL", "") not in ("", "0")

    def path(self, unit, digest):
        return os.path.join(self.folder, re.sub(r"[^\w.-]+", "_", unit), digest)

    def find(self, unit, digest):
        """What was kept with a pass of these inputs; None where there is none, or none that can be read."""
        if self.ignored:
            return None
        try:
            with open(self.path(unit, digest), encoding="utf-8") as file:
                stamp = json.load(file)
        except (OSError, ValueError):
            return None
        good = isinstance(stamp, dict) and stamp.get("unit") == unit and stamp.get("digest") == digest
        return stamp if good and isinstance(stamp.get("passed"), int) else None

    def keep(self, unit, digest, passed=1, not_tried=None):
        """Notes that a unit passed, with what other machines try of it. The file is whole or not there."""
        path = self.path(unit, digest)
        folder = os.path.dirname(path)
        os.makedirs(folder, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=folder, prefix=".", delete=False, encoding="utf-8") as file:
            json.dump({"unit": unit, "digest": digest, "passed": passed, "not_tried": not_tried or {}}, file)
        os.replace(file.name, path)
        stamps = [entry for entry in os.scandir(folder) if not entry.name.startswith(".")]
        for entry in sorted(stamps, key=lambda entry: entry.stat().st_mtime_ns)[:-KEPT]:
            os.unlink(entry.path)


def run(command, folder=None):
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True, text=True).stdout


def within(path, folder):
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def listing(root, target):
    """Files that git knows or would add; all but the target folder where there is no git."""
    try:
        names = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, check=True,
        ).stdout.decode().split("\0")
        found = {os.path.join(root, name) for name in names if name}
    except (OSError, subprocess.CalledProcessError):
        found = set()
        for folder, below, files in os.walk(root):
            below[:] = [name for name in below if name != ".git" and os.path.join(folder, name) not in (target, os.path.join(root, "target"))]
            found.update(os.path.join(folder, name) for name in files)
    return (path for path in found if os.path.islink(path) or os.path.isfile(path))


_machine = []


def machine():
    """Versions of what tests run on."""
    if not _machine:
        _machine.extend([platform.machine(), platform.release(), f"uid {os.getuid()}", f"{os.cpu_count()} processors"])
        programs = [["rustc", "-vV"], ["cargo", "nextest", "--version"], ["dockerd", "--version"], ["bwrap", "--version"], ["python3", "--version"], ["cc", "--version"]]
        programs += [[path, "--version"] for path in sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))]
        for command in programs:
            try:
                _machine.append(" ".join(command) + ": " + subprocess.run(command, capture_output=True, text=True).stdout)
            except OSError:
                _machine.append(f"no {command[0]}")
    return _machine


def variables():
    """Variables by which tests try more or less."""
    names = [name for name in os.environ if name.startswith(("PALESTRA_", "PROPTEST_")) and name not in PLACES]
    return [f"{name}={os.environ[name]}" for name in sorted(names)] + [os.environ.get("RUSTFLAGS", "")]
