"""What the checks refuse and what they let stand, on throwaway packages: run with `python3 -m unittest discover scripts/checks`."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

OWN = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, OWN)

import stamps as inputs  # noqa: E402
import tried  # noqa: E402

GOOD = "#[test]\nfn adds() {\n    assert_eq!(1 + 1, 2);\n}\n"


def write(folder, **files):
    for name, text in files.items():
        path = os.path.join(folder, name.replace("__", "/").replace("_toml", ".toml").replace("_rs", ".rs"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def manifest(name, rest=""):
    return f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2024"\n{rest}'


class Throwaway(unittest.TestCase):
    """A workspace that ends with its test; its settings are not those of the run around it."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="palestra-checks-")
        self.addCleanup(shutil.rmtree, self.folder)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PALESTRA_", "CARGO_", "NEXTEST"))}
        self.data = os.path.join(self.folder, "no-data")
        self.environment = {
            **kept, "CARGO_TARGET_DIR": os.path.join(self.folder, "target"), "PALESTRA_CHECKOUT": os.path.join(self.folder, "work"),
            "PALESTRA_TEST_REPORT": os.path.join(self.folder, "report"), "PALESTRA_SHARED_DATA": self.data, "CARGO_NET_OFFLINE": "true",
        }
        self.work = self.environment["PALESTRA_CHECKOUT"]
        os.mkdir(self.work)

    def suite(self, *arguments):
        done = subprocess.run(
            [sys.executable, os.path.join(OWN, "suite.py"), *arguments], env=self.environment, capture_output=True, text=True, timeout=300
        )
        return done.returncode, done.stdout + done.stderr

    def whole(self):
        """A run of the tests and its totals, as in scripts/test."""
        shutil.rmtree(self.environment["PALESTRA_TEST_REPORT"], ignore_errors=True)
        status, output = self.suite("tests")
        summed, totals = self.suite("totals")
        self.assertEqual(status == 0, summed == 0, output + totals)
        return status, totals

    def package(self, source, **files):
        write(self.work, Cargo_toml=manifest("planted"), src__lib_rs=source, **files)


class Planted(Throwaway):
    """What a run refuses, and why."""

    def refused(self, words, source, **files):
        self.package(source, **files)
        status, totals = self.whole()
        self.assertEqual(status, 1, totals)
        self.assertIn(words, totals)
        self.assertEqual(self.suite("packages")[1].split(), ["planted"], "what was refused has no stamp")

    def test_a_test_that_can_fail_passes(self):
        self.package(GOOD)
        status, totals = self.whole()
        self.assertEqual(status, 0, totals)
        self.assertIn("\n1 passed, 0 failed\n", totals)

    def test_a_test_that_fails_is_refused(self):
        self.refused("\n1 passed, 1 failed\n", GOOD + '#[test]\nfn fails() { panic!("on purpose") }\n')

    def test_a_test_that_was_not_tried_is_refused(self):
        source = GOOD + '#[test]\nfn engine() { println!("not tried: engine: needs an engine") }\n'
        self.refused("refused: planted engine: needs an engine", source)

    def test_a_skip_in_other_words_is_refused(self):
        for words in ["skipped: no engine", "Skipping: engine", "skip: engine", "not tried: an engine"]:
            with self.subTest(words):
                self.refused(f"refused: planted other: '{words}'", GOOD + f'#[test]\nfn other() {{ eprintln!("{words}") }}\n')

    def test_an_ignored_test_is_refused(self):
        self.refused("refused: planted later: an ignored test", GOOD + "#[test]\n#[ignore]\nfn later() { assert!(true) }\n")

    def test_an_ignored_test_that_no_run_compiles_is_refused(self):
        hidden = '#![cfg(feature = "none")]\n#[test]\n#[ignore = "later"]\nfn later() { panic!() }\n'
        self.refused("src/hidden.rs:3: an ignored test", GOOD, src__hidden_rs=hidden)

    def test_an_empty_test_is_refused(self):
        for body in ["{}", "{\n    // Nothing yet.\n}"]:
            with self.subTest(body):
                self.refused("nothing is an empty test", GOOD + f"#[test]\nfn nothing() {body}\n")

    def test_a_test_program_without_a_test_is_refused(self):
        self.refused("planted::none: a test program without a test", GOOD, tests__none_rs="//! Nothing.\n")

    def test_an_ignored_example_is_refused(self):
        self.refused("documentation: 1 ignored examples", "/// ```ignore\n/// nonsense\n/// ```\npub fn f() {}\n" + GOOD)

    def test_what_needs_the_data_folder_stands_only_without_it(self):
        source = GOOD + '#[test]\nfn files() { println!("not tried: files: needs the data folder (PALESTRA_SHARED_DATA)") }\n'
        self.package(source)
        status, totals = self.whole()
        self.assertEqual(status, 0, totals)
        self.assertIn("not tried, no data folder: planted files", totals)
        self.assertEqual(self.suite("packages")[1].split(), ["planted"], "what was not tried has no stamp")
        os.mkdir(self.data)
        status, totals = self.whole()
        self.assertEqual(status, 1, totals)
        self.assertIn("refused: planted files: needs the data folder", totals)

    def test_what_needs_a_gpu_stands_and_is_named(self):
        self.package(GOOD + '#[test]\nfn fast() { println!("not tried: fast: needs a GPU") }\n')
        for _ in range(2):
            status, totals = self.whole()
            self.assertEqual(status, 0, totals)
            self.assertIn("not tried, no GPU: planted fast", totals)


class Unchanged(Throwaway):
    """What runs again, and what does not."""

    def setUp(self):
        super().setUp()
        write(
            self.work, Cargo_toml='[workspace]\nmembers = ["leaf", "base", "above"]\nresolver = "3"\n',
            base__Cargo_toml=manifest("base"), base__src__lib_rs=GOOD, leaf__Cargo_toml=manifest("leaf"), leaf__src__lib_rs=GOOD,
            above__Cargo_toml=manifest("above", '[dev-dependencies]\nbase = { path = "../base" }\n'), above__src__lib_rs=GOOD,
        )
        subprocess.run(["cargo", "generate-lockfile", "--offline"], cwd=self.work, env=self.environment, check=True, capture_output=True)
        self.assertEqual(self.whole()[0], 0)
        self.assertEqual(self.again(), [])

    def again(self):
        status, names = self.suite("packages")
        self.assertEqual(status, 0, names)
        return names.split()

    def test_nothing_runs_twice_and_the_totals_say_so(self):
        status, totals = self.whole()
        self.assertEqual(status, 0, totals)
        self.assertIn("0 passed, 3 unchanged since they passed (above 1, base 1, leaf 1)", totals)
        self.assertIn("\n0 passed, 0 failed\n", totals)

    def test_a_change_runs_a_package_and_those_that_depend_on_it_for_tests(self):
        write(self.work, base__src__lib_rs=GOOD + "// Another.\n")
        self.assertEqual(self.again(), ["above", "base"])
        status, totals = self.whole()
        self.assertEqual(status, 0, totals)
        self.assertIn("2 passed, 1 unchanged since they passed (leaf 1)", totals)
        write(self.work, base__src__lib_rs=GOOD)
        self.assertEqual(self.again(), [], "stamps of what it was before are still there")

    def test_a_change_of_tests_alone_stays_in_its_package(self):
        write(self.work, base__tests__more_rs=GOOD)
        self.assertEqual(self.again(), ["base"])
        status, totals = self.whole()
        self.assertEqual(status, 0, totals)
        self.assertIn("2 passed, 2 unchanged since they passed (above 1, leaf 1)", totals)

    def test_a_change_of_shared_inputs_runs_all(self):
        for name in ["environments/a.yaml", "migrations/1.sql", ".config/nextest.toml", ".cargo/config.toml"]:
            with self.subTest(name):
                path = os.path.join(self.work, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write("# new\n")
                self.assertEqual(self.again(), ["above", "base", "leaf"])
                os.unlink(path)
                self.assertEqual(self.again(), [])

    def test_other_data_variables_and_locks_run_all(self):
        os.mkdir(self.data)
        with open(os.path.join(self.data, "rows"), "w", encoding="utf-8") as file:
            file.write("1\n")
        self.assertEqual(len(self.again()), 3)
        shutil.rmtree(self.data)
        self.environment["PALESTRA_TASKS"] = "all"
        self.assertEqual(len(self.again()), 3)
        del self.environment["PALESTRA_TASKS"]
        self.assertEqual(self.again(), [])
        self.environment["PALESTRA_TEST_ALL"] = "1"
        self.assertEqual(len(self.again()), 3)

    def test_what_a_manifest_says_that_tests_read_counts(self):
        write(self.work, leaf__Cargo_toml=manifest("leaf", '[package.metadata.palestra]\ntests-read = ["docs"]\ntests-run = ["base"]\n'))
        self.assertEqual(self.whole()[0], 0)
        self.assertEqual(self.again(), [])
        os.mkdir(os.path.join(self.work, "docs"))
        with open(os.path.join(self.work, "docs", "a.md"), "w", encoding="utf-8") as file:
            file.write("new\n")
        self.assertEqual(self.again(), ["leaf"])
        self.assertEqual(self.whole()[0], 0)
        write(self.work, base__src__lib_rs=GOOD + "// Another.\n")
        self.assertEqual(self.again(), ["above", "base", "leaf"])

    def test_a_guide_that_sources_name_counts(self):
        write(self.work, leaf__src__lib_rs=GOOD + 'pub const GUIDE: &str = "../../docs/a.md";\n')
        write(self.work, base__src__lib_rs=GOOD + 'pub const GUIDE: &str = "../../docs/c.md";\n')
        os.makedirs(os.path.join(self.work, "docs"), exist_ok=True)
        self.assertEqual(self.whole()[0], 0)
        for name, expected in [("b.md", []), ("a.md", ["leaf"]), ("c.md", ["base", "leaf"])]:
            with open(os.path.join(self.work, "docs", name), "w", encoding="utf-8") as file:
                file.write("new\n")
            self.assertEqual(self.again(), expected)

    def test_a_broken_stamp_counts_as_none(self):
        folder = os.path.join(self.environment["CARGO_TARGET_DIR"], "palestra-passed", "tests_leaf")
        (path,) = (os.path.join(folder, name) for name in os.listdir(folder))
        with open(path, encoding="utf-8") as file:
            good = json.load(file)
        for text in ["", "{", "[]", json.dumps({**good, "digest": "0"}), json.dumps({**good, "unit": "tests base"}), "\udcff"]:
            with self.subTest(text):
                with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
                    file.write(text)
                self.assertEqual(self.again(), ["leaf"])
        os.chmod(path, 0)
        os.unlink(path)
        os.mkdir(path)
        self.assertEqual(self.again(), ["leaf"])

    def test_a_package_that_fails_has_no_stamp_and_the_others_have(self):
        write(self.work, base__src__lib_rs=GOOD + "// Another.\n", leaf__src__lib_rs='#[test]\nfn fails() { panic!("on purpose") }\n')
        status, totals = self.whole()
        self.assertEqual(status, 1, totals)
        self.assertIn("\n2 passed, 1 failed\n", totals)
        self.assertEqual(self.again(), ["leaf"])

    def test_a_step_runs_again_for_other_inputs_alone(self):
        def ran(command="echo it runs; true"):
            status, output = self.suite("step", "lint", "leaf", "--", "sh", "-c", command)
            return status, "it runs" in output

        self.assertEqual([ran(), ran()], [(0, True), (0, False)])
        write(self.work, base__src__lib_rs=GOOD + "// Another.\n")
        self.assertEqual(ran(), (0, False))
        write(self.work, leaf__src__lib_rs=GOOD + "// Another.\n")
        self.assertEqual([ran("echo it runs; false"), ran("echo it runs; false"), ran()], [(1, True), (1, True), (0, True)])


class Words(unittest.TestCase):
    """How single lines and sources are read."""

    def test_lines_are_found_wherever_a_test_prints_them(self):
        case = tried.Case("a::b", "c", False, "noise\n    not tried: c: needs PostgreSQL\n0 skipped\nskipped words stand\n")
        self.assertEqual(tried.untried([case]), [("a::b c", "PostgreSQL")])
        self.assertEqual(tried.other_words([case]), [])

    def test_tests_that_do_something_are_not_empty(self):
        self.assertIsNone(tried.EMPTY.search("#[test]\nfn a() {\n    b();\n}\nfn c() {}\n"))
        self.assertIsNotNone(tried.EMPTY.search('#[tokio::test(flavor = "x")]\n#[cfg(unix)]\nasync fn a() { /* b */ }'))

    def test_only_so_many_stamps_are_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            stamps = inputs.Stamps(folder)
            for number in range(inputs.KEPT + 3):
                stamps.keep("unit", f"{number}")
            self.assertEqual(len(os.listdir(os.path.join(folder, "palestra-passed", "unit"))), inputs.KEPT)


if __name__ == "__main__":
    unittest.main()
