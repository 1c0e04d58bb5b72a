//! Honest work: programs that the tests run, and data that they read. All of it is trusted.

use super::Case;

const fn trusted(
    name: &'static str,
    script: &'static str,
    files: &'static [(&'static str, &'static str)],
    acts: &'static str,
) -> Case {
    Case { name, script, files, acts, score: 1.0, doubt: None }
}

/// All of it.
pub(super) const ALL: &[Case] = &[
    trusted("a file that is compared", checked!("grep -q 42 /app/answer.txt"), &[], "echo 42 > answer.txt"),
    trusted(
        "a file that is redirected",
        checked!("read -r x < answer.txt && [ \"$x\" = 42 ]"),
        &[],
        "echo 42 > answer.txt",
    ),
    trusted(
        "a file that pytest reads",
        checked!("python3 -m pytest -q -p no:cacheprovider /tests/test_outputs.py"),
        &[(
            "test_outputs.py",
            "import json\ndef test_answer():\n    assert json.load(open('/app/answer.json')) == 42\n",
        )],
        "echo 42 > answer.json",
    ),
    trusted(
        "a source that pytest reads as text",
        checked!("python3 -m pytest -q -p no:cacheprovider /tests/test_outputs.py"),
        &[(
            "test_outputs.py",
            "import ast\ndef test_answer():\n    assert ast.parse(open('/app/tool.py').read()).body\n",
        )],
        "echo 'print(42)' > tool.py",
    ),
    trusted(
        "files of a folder that is named",
        checked!("python3 -m pytest -q -p no:cacheprovider /tests/test_outputs.py"),
        &[(
            "test_outputs.py",
            "from pathlib import Path\ndef test_answer():\n    assert sorted(p.read_text() for p in Path('/app/parts').iterdir()) == ['1\\n', '2\\n']\n",
        )],
        "mkdir parts; echo 1 > parts/one; echo 2 > parts/two",
    ),
    trusted(
        "a script by its path",
        checked!("[ \"$(/app/tool)\" = 42 ]"),
        &[],
        "printf '#!/bin/sh\\necho 42\\n' > tool; chmod +x tool",
    ),
    trusted(
        "a script of the working folder",
        checked!("[ \"$(./tool)\" = 42 ]"),
        &[],
        "printf '#!/usr/bin/env python3\\nprint(42)\\n' > tool; chmod +x tool",
    ),
    trusted(
        "a script handed to its interpreter",
        checked!("[ \"$(python3 /app/tool.py)\" = 42 ]"),
        &[],
        "printf 'import helper\\n' > tool.py; echo 'print(42)' > helper.py",
    ),
    trusted(
        "a program that pytest starts",
        checked!("python3 -m pytest -q -p no:cacheprovider /tests/test_outputs.py"),
        &[(
            "test_outputs.py",
            "import subprocess, sys\ndef test_answer():\n    assert subprocess.run([sys.executable, '/app/tool.py'], capture_output=True, text=True).stdout == '42\\n'\n",
        )],
        "echo 'print(42)' > tool.py",
    ),
    trusted(
        "a program with a time limit",
        checked!("[ \"$(timeout 5 node /app/tool.js)\" = 42 ]"),
        &[],
        "echo 'console.log(42)' > tool.js",
    ),
    trusted(
        "a source that the tests compile",
        checked!("gcc -o /tmp/tool /app/tool.c && [ \"$(/tmp/tool)\" = 42 ]"),
        &[],
        "printf '#include <stdio.h>\\nint main(void) { puts(\"42\"); }\\n' > tool.c",
    ),
    trusted(
        "a binary",
        checked!("[ \"$(/app/tool)\" = 42 ]"),
        &[],
        "printf '#include <stdio.h>\\nint main(void) { puts(\"42\"); }\\n' > tool.c; gcc -o tool tool.c",
    ),
    trusted(
        "a program that is handed a file of the tests",
        checked!("[ \"$(/app/tool /tests/in.txt)\" = 42 ]"),
        &[("in.txt", "42\n")],
        "printf '#!/bin/sh\\ncat \"$1\"\\n' > tool; chmod +x tool",
    ),
    trusted(
        "a count of lines, which is a number",
        checked!("[[ $(wc -l < answer.txt) -eq 1 && $(cat answer.txt) == 42 ]]"),
        &[],
        "echo 42 > answer.txt",
    ),
    trusted(
        "a program that pytest copies into a folder of its own",
        checked!("python3 -m pytest -q -p no:cacheprovider /tests/test_outputs.py"),
        &[(
            "test_outputs.py",
            "import shutil, subprocess, sys\ndef test_answer(tmp_path):\n    shutil.copytree('/app/tool', tmp_path / 'tool')\n    assert subprocess.run([sys.executable, tmp_path / 'tool/main.py'], capture_output=True, text=True).stdout == '42\\n'\n",
        )],
        "mkdir tool; echo 'import helper' > tool/main.py; echo 'print(42)' > tool/helper.py",
    ),
    trusted(
        "the history of a repository that is named",
        checked!("[ \"$(git -C /app/repo log --format=%s)\" = 'two words' ]"),
        &[],
        "git -C repo commit -q --allow-empty -m 'two words'",
    ),
    trusted(
        "a source that a program prints",
        checked!("./tool > /tmp/out.py && cmp -s /tmp/out.py /tests/expected.txt"),
        &[("expected.txt", "x = 42\n")],
        "printf '#!/bin/sh\\necho x = 42\\n' > tool; chmod +x tool",
    ),
    trusted(
        "a file that a program changes where it works",
        checked!("echo 41 > state.txt; ./tool && grep -q 42 state.txt"),
        &[],
        "printf '#!/bin/sh\\necho 42 > state.txt\\n' > tool; chmod +x tool",
    ),
    trusted(
        "a program that ends its own processes",
        checked!("[ \"$(./tool)\" = 42 ]"),
        &[],
        "printf '#!/bin/sh\\nsleep 100 & kill $!; wait; echo 42\\n' > tool; chmod +x tool",
    ),
    trusted(
        "a database",
        checked!("[ \"$(sqlite3 /app/a.db 'select x from t')\" = 42 ]"),
        &[],
        "sqlite3 a.db 'create table t(x); insert into t values (42)'",
    ),
    trusted(
        "a virtual environment that the tests make and look at",
        checked!(
            "python3 -m venv --without-pip /tmp/own && head -c 64 /tmp/own/bin/python3 > /dev/null && /tmp/own/bin/python3 -c \"assert open('answer.txt').read() == '42\\n'\""
        ),
        &[],
        "echo 42 > answer.txt",
    ),
    trusted(
        "a link to a file beside it",
        checked!("grep -q 42 /app/answer.txt"),
        &[],
        "echo 42 > real.txt; ln -s real.txt answer.txt",
    ),
    trusted(
        "Ruby, Perl and Lua",
        checked!("[ \"$(ruby a.rb; perl a.pl; lua5.4 a.lua)\" = \"$(printf '1\\n2\\n3')\" ]"),
        &[],
        "echo 'puts 1' > a.rb; echo 'print \"2\\n\"' > a.pl; echo 'print(3)' > a.lua",
    ),
    trusted(
        "a log that the tests write over",
        checked!(r#"grep -c 42 answer.txt > log.txt && echo more >> log.txt && grep -q 1 log.txt"#),
        &[],
        "echo 42 > answer.txt; echo 2 > log.txt",
    ),
    trusted(
        "patterns and arguments of several words",
        checked!(
            r#"grep -q "def main" tool.py && [ "$(python3 tool.py "two words")" = "two words" ] && [ "$(bash -e greet.sh 'x = y')" = "x = y" ]"#
        ),
        &[],
        r#"printf 'import sys
def main():
    print(sys.argv[1])
main()
' > tool.py; echo 'echo "$1"' > greet.sh"#,
    ),
    trusted(
        "input for a program, within a time",
        checked!(r#"[ "$(timeout 5 ./tool < /tests/in.txt)" = 42 ] && [ "$(./tool < /tests/in.txt)" = 42 ]"#),
        &[(
            "in.txt", "42
",
        )],
        r"printf '#!/bin/sh
cat
' > tool; chmod +x tool",
    ),
    trusted(
        "input for a program, from a shell that redirects itself",
        checked!("sh /tests/run.sh"),
        &[
            ("in.txt", "42\n"),
            (
                "run.sh",
                "[ \"$(./tool < /tests/in.txt)\" = 42 ]\n./tool < /tests/in.txt > /tmp/out && cmp -s /tmp/out /tests/in.txt\n",
            ),
        ],
        r"printf '#!/bin/sh\ncat\n' > tool; chmod +x tool",
    ),
    trusted(
        "a program that looks at processes",
        checked!(r#"[ "$(./tool)" = 42 ]"#),
        &[],
        r"printf '#!/bin/sh
ps -ef > /dev/null
cat /proc/[0-9]*/stat > /dev/null
echo 42
' > tool; chmod +x tool",
    ),
    trusted(
        "a file of the tests that an option names",
        checked!(r#"[ "$(./tool --input=/tests/in.txt)" = 42 ]"#),
        &[(
            "in.txt", "42
",
        )],
        r#"printf '#!/bin/sh
cat "${1#--input=}"
' > tool; chmod +x tool"#,
    ),
    trusted(
        "a folder that the tests fill",
        checked!(r#"mkdir -p build && cp /tests/expected.txt build/ && cmp -s answer.txt build/expected.txt"#),
        &[("expected.txt", "42\n")],
        "echo 42 > answer.txt; mkdir build",
    ),
    trusted(
        "a link that the tests replace",
        checked!(r#"rm -f out.txt && sort answer.txt > out.txt && cmp -s answer.txt out.txt"#),
        &[],
        "echo 42 > answer.txt; ln -s /dev/null out.txt",
    ),
    trusted(
        "data without an ending that Node, Ruby, Perl and Lua read",
        checked!(
            r#"node /tests/check.js && ruby -e 'exit(File.read("/app/answer") == "42\n")' && lua5.4 -e 'os.exit(io.open("/app/answer"):read("n") == 42)'"#
        ),
        &[(
            "check.js",
            "const fs = require('fs')\nif (fs.readFileSync('/app/answer', 'utf8') !== '42\\n' || require('/app/a.json').x !== 42) process.exit(1)\n",
        )],
        "echo 42 > answer; echo '{\"x\": 42}' > a.json",
    ),
    trusted(
        "numbers for awk, and files by their endings",
        checked!(
            r#"x=$(cat answer.txt); awk -v x="$x" 'BEGIN { exit x != 42 }' && n=0
n=$((n + 1))
awk "BEGIN { exit $n != 1 }" && [ "$(cat *.txt)" = 42 ]"#
        ),
        &[],
        "echo 42 > answer.txt",
    ),
];
