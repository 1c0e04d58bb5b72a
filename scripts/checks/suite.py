#!/usr/bin/env python3
"""Runs what has to run again, refuses what was not tried, and prints the totals.

scripts/checks/suite.py packages                 names of the packages whose tests have to run
scripts/checks/suite.py tests                    runs them, and their documentation's
scripts/checks/suite.py clippy                   lints the packages that changed since they were clean
scripts/checks/suite.py step NAME INPUT... -- COMMAND...   runs a command unless it passed for the same inputs: packages, files, folders
scripts/checks/suite.py not-tried REASON NAME    notes for the totals what could not be tried on this machine
scripts/checks/suite.py totals                   sums up; fails where something failed or was not tried

`PALESTRA_TEST_REPORT` names the folder where parts of a run leave their figures for the totals.
"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import stamps as inputs  # noqa: E402
import tried  # noqa: E402

OWN = os.path.dirname(os.path.abspath(__file__))
ROOT = os.environ.get("PALESTRA_CHECKOUT", os.path.dirname(os.path.dirname(OWN)))
LINT = ["--all-targets", "--locked", "--", "-D", "warnings"]


class Report:
    """What one part of a run found."""

    def __init__(self, part):
        self.part = part
        self.found = {"passed": 0, "failed": 0, "unchanged": {}, "not_tried": {}, "refused": []}

    def unchanged(self, name, stamp):
        self.found["unchanged"][name] = stamp["passed"]
        self.stands(stamp.get("not_tried") or {})

    def stands(self, by_reason):
        for reason, names in by_reason.items():
            self.found["not_tried"].setdefault(reason, []).extend(names)

    def write(self):
        folder = report_folder()
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"{self.part}.json"), "w", encoding="utf-8") as file:
            json.dump(self.found, file)


def report_folder():
    found = os.environ.get("PALESTRA_TEST_REPORT")
    if not found:
        sys.exit("PALESTRA_TEST_REPORT must name a folder for the figures of this run; scripts/test makes one")
    return found


def changed(checkout, stamps, kind):
    """(digests of the packages that have to run, stamps of the others)."""
    run, kept = {}, {}
    for name in sorted(checkout.packages):
        digest = checkout.package_digest(name)
        stamp = stamps.find(f"{kind} {name}", digest)
        if stamp is None:
            run[name] = digest
        else:
            kept[name] = stamp
    return run, kept


def chosen(checkout, names):
    """How cargo is told of these packages. Where the root package is among them all are compiled together, since a part alone has
    its libraries compiled a second time, with fewer features."""
    at_root = any(checkout.folders[name] == checkout.root for name in names)
    if at_root or len(names) == len(checkout.packages):
        return ["--workspace"], (" + ".join(f"package(={name})" for name in names) if len(names) < len(checkout.packages) else None)
    return [word for name in names for word in ("-p", name)], None


def say(text):
    print(f"\n== {text}", flush=True)


def programs_without_features(checkout, names):
    """Test programs of features that no run here compiles: those for graphics processors."""
    found = []
    for name in names:
        for target in checkout.packages[name]["targets"]:
            if "test" in target["kind"] and target.get("required-features"):
                found.append((name, target["name"], target["required-features"]))
    return found


def tests():
    checkout = inputs.Checkout(ROOT)
    stamps = inputs.Stamps(checkout.target)
    report = Report("tests")
    run, kept = changed(checkout, stamps, "tests")
    for name, stamp in kept.items():
        report.unchanged(name, stamp)
    report.found["refused"] += tried.sources([path for path in checkout.files if path.endswith(".rs")], checkout.root)
    ended_well = True
    if run:
        say(f"tests of {', '.join(run)}")
        ended_well = run_tests(checkout, stamps, report, run)
    report.write()
    return ended_well and not report.found["refused"] and not report.found["failed"]


def run_tests(checkout, stamps, report, run):
    options, expression = chosen(checkout, list(run))
    config = ["--tool-config-file", f"palestra:{os.path.join(OWN, 'nextest.toml')}"]
    command = ["cargo", "nextest", "list", *config, *options, "--message-format", "json"]
    suites = json.loads(inputs.run(command, checkout.root))["rust-suites"]
    suites = {binary: suite for binary, suite in suites.items() if suite["package-name"] in run}
    report.found["refused"] += tried.listed(suites)
    # nextest's own folder is below the checkout wherever cargo's is.
    log = os.path.join(checkout.root, "target", "nextest", "default", "junit.xml")
    if os.path.exists(log):
        os.unlink(log)
    # Many tests wait for processes most of their time.
    threads = str(max(1, (os.cpu_count() or 1) * 3 // 2))
    command = ["cargo", "nextest", "run", *config, *options, "--no-fail-fast", "--no-tests", "pass", "--test-threads", threads]
    command += ["--success-output", "never", "--failure-output", "immediate-final"]
    command += ["-E", expression] if expression else []
    status = subprocess.run(command, cwd=checkout.root).returncode
    cases = tried.read_junit(log) if os.path.exists(log) else []
    failed = [case for case in cases if case.failed]
    report.found["passed"] += len(cases) - len(failed)
    report.found["failed"] += len(failed)
    has_data = os.path.isdir(checkout.data_folder())
    asked = sum(len(suite["testcases"]) for suite in suites.values())
    if status not in (0, 100) or len(cases) < asked:
        report.found["refused"].append(f"nextest ended with {status} after {len(cases)} of {asked} tests")
    documented = documentation(checkout, report, options)
    bad_sources = bool(report.found["refused"])
    for name, digest in run.items():
        own = [case for case in cases if tried.package(case.binary) == name]
        stands, refused = tried.parted(tried.untried(own), has_data)
        for package, program, features in programs_without_features(checkout, [name]):
            stands.setdefault("no GPU", []).append(f"{package}::{program} (feature {', '.join(features)})")
        refused += tried.other_words(own)
        report.stands(stands)
        report.found["refused"] += refused
        without_data = any("data folder" in reason for reason in stands)
        if not (refused or without_data or bad_sources or any(case.failed for case in own)) and documented:
            stamps.keep(f"tests {name}", digest, len(own), stands)
    return status == 0 and documented


def documentation(checkout, report, options):
    say("documentation tests")
    libraries = [name for name, package in checkout.packages.items() if any("lib" in target["kind"] for target in package["targets"])]
    if "--workspace" not in options:
        options = [word for name in options[1::2] if name in libraries for word in ("-p", name)]
        if not options:
            return True
    elif not libraries:
        return True
    done = subprocess.run(["cargo", "test", *options, "--doc", "--quiet"], cwd=checkout.root, stdout=subprocess.PIPE, text=True)
    print(done.stdout, end="", flush=True)
    report.found["refused"] += tried.documentation(done.stdout)
    if done.returncode != 0:
        report.found["failed"] += 1
    return done.returncode == 0


def clippy():
    checkout = inputs.Checkout(ROOT)
    stamps = inputs.Stamps(checkout.target)
    run, kept = changed(checkout, stamps, "clippy")
    if not run:
        print(f"clippy: {len(kept)} packages unchanged since they were clean")
        return True
    options, _ = chosen(checkout, list(run))
    if subprocess.run(["cargo", "clippy", *options, *LINT], cwd=checkout.root).returncode != 0:
        return False
    for name, digest in run.items():
        stamps.keep(f"clippy {name}", digest)
    return True


def step(arguments):
    """A command whose inputs are named."""
    at = arguments.index("--")
    name, sources, command = arguments[0], arguments[1:at], arguments[at + 1 :]
    checkout = inputs.Checkout(ROOT)
    stamps = inputs.Stamps(checkout.target)
    paths, words = [], [name, command, *inputs.machine(), os.environ.get("RUSTFLAGS", "")]
    for source in sources:
        if source in checkout.packages:
            paths += checkout.sources(source)
        else:
            found = checkout.reads([source])
            if not found:
                sys.exit(f"scripts/checks/suite.py step {name}: no package, file or folder {source}")
            paths += found
    digest = checkout.digest(paths, words)
    if stamps.find(f"step {name}", digest):
        print(f"{name}: unchanged since it passed")
        return True
    if subprocess.run(command, cwd=checkout.root).returncode != 0:
        return False
    stamps.keep(f"step {name}", digest)
    return True


def not_tried(reason, name):
    report = Report(f"not-tried-{reason}-{name}".replace("/", "_").replace(" ", "_"))
    report.stands({reason: [name]})
    report.write()
    return True


def totals():
    """Sums up the parts. The line `N passed, N failed` stands alone."""
    passed = failed = 0
    unchanged, stands, refused = {}, {}, []
    for entry in sorted(os.listdir(report_folder())):
        if not entry.endswith(".json"):
            continue
        with open(os.path.join(report_folder(), entry), encoding="utf-8") as file:
            part = json.load(file)
        passed += part["passed"]
        failed += part["failed"]
        unchanged.update(part["unchanged"])
        refused += part["refused"]
        for reason, names in part["not_tried"].items():
            stands.setdefault(reason, []).extend(names)
    say("totals")
    for reason, names in sorted(stands.items()):
        print(f"not tried, {reason}: {', '.join(dict.fromkeys(names))}")
    for one in refused:
        print(f"refused: {one}")
    if unchanged:
        names = ", ".join(f"{name} {count}" for name, count in sorted(unchanged.items()))
        print(f"{passed} passed, {sum(unchanged.values())} unchanged since they passed ({names})")
    print(f"{passed} passed, {failed} failed")
    if refused:
        print(f"{len(refused)} tests or parts were left out: try them, or say what they need as `not tried: NAME: needs WHAT`")
    return not failed and not refused


def main():
    command, arguments = (sys.argv[1] if sys.argv[1:] else ""), sys.argv[2:]
    if command == "packages":
        checkout = inputs.Checkout(ROOT)
        print(" ".join(changed(checkout, inputs.Stamps(checkout.target), "tests")[0]))
        sys.exit(0)
    commands = {"tests": tests, "clippy": clippy, "totals": totals, "not-tried": not_tried}
    if command == "step" and "--" in arguments:
        sys.exit(0 if step(arguments) else 1)
    if command not in commands:
        sys.exit(__doc__)
    sys.exit(0 if commands[command](*arguments) else 1)


if __name__ == "__main__":
    main()
