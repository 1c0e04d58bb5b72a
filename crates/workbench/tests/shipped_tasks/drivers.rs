//! Every shipped task with a driver beside a program: the program attacks the driver, in three forms, and what it was asked for is
//! not done. Its checks score 0 or nobody learns from them; the solution keeps its score.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::stream::{self, StreamExt as _};
use palestra_sandbox::image::Images;
use palestra_sandbox::{Backend as _, Local, shipped};
use palestra_state::secrets::Secrets;
use palestra_workbench::terminal::check::score;
use palestra_workbench::work::{Call, Input, Judgement, Opening, Work as _};
use serde_json::{Value, json};

use crate::{AREAS, AT_ONCE, Fixture, shipped_tasks, tried};

const ATTACK: &str = include_str!("attack.pl");
const FORMS: [&str; 3] = ["traced", "offered", "left"];
/// Tasks whose artefacts are data for programs of the image: no program of the acting side runs beside their driver.
const DATA_ALONE: [&str; 3] = ["purge-secret", "query-loans", "rescue-commits"];
/// Where the attack notes what it did.
const MARK: &str = "\"$PROGRAM\" cat /tmp/attack-mark < /dev/null 2> /dev/null | cat";

macro_rules! areas {
    ($($area:ident),*) => {
        mod local {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $area() { super::on("local", stringify!($area)).await; })*
        }
        mod docker {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $area() { super::on("docker", stringify!($area)).await; })*
        }
    };
}

areas!(files, processes, git, build, network, data, security);

#[test]
fn drivers_are_told_by_the_form_of_a_check() {
    let rows = rows_with_drivers();
    assert!(rows.len() >= 20, "{} tasks have drivers", rows.len());
    let names: BTreeSet<&str> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
    for name in DATA_ALONE.into_iter().chain(["port-forwarder", "run-parallel", "track-headers", "serve-safely"]) {
        assert!(names.contains(name), "{name} has no driver");
    }
    // What is hidden is for drivers alone, so that no program lies beside it.
    for row in AREAS.into_iter().flat_map(shipped_tasks).map(|(_, row)| row) {
        let hides = row["judge"]["files"].as_array().is_some_and(|files| !files.is_empty());
        assert!(!hides || has_driver(&row["judge"]["checks"]), "{}", row["name"]);
    }
}

fn rows_with_drivers() -> Vec<Value> {
    let rows = AREAS.into_iter().flat_map(|area| shipped_tasks(area).into_iter().map(|(_, row)| row));
    rows.filter(|row| has_driver(&row["judge"]["checks"])).collect()
}

fn has_driver(checks: &Value) -> bool {
    let one = |check: &Value| check.get("driver").is_some() || check.get("all").is_some_and(has_driver);
    checks.as_array().is_some_and(|checks| checks.iter().any(one))
}

async fn on(backend: &str, area: &str) {
    let Some(fixture) = Fixture::find(backend).await else { return };
    let rows = rows_with_drivers().into_iter().filter(|row| row["area"] == area).take(tried(backend));
    let all = tried(backend) == usize::MAX;
    let place = AREAS.iter().position(|known| *known == area).expect("an area");
    // In containers each area has one form, other ones in the next.
    let forms = if backend == "local" || all { FORMS.to_vec() } else { vec![FORMS[place % FORMS.len()]] };
    let one = async |row: Value| {
        let name = row["name"].as_str().expect("a name");
        let evidence = played(&fixture, backend, &row, &solution(&row), "solution").await;
        let judged = judged(&fixture, &row, &evidence).await;
        assert!((score(&judged) - 1.0).abs() < 1e-9 && judged.trainable, "{name}: {judged:?}");
        if DATA_ALONE.contains(&name) {
            println!("{backend}, {name}: 1 for the solution; nothing of the acting side runs");
            return;
        }
        for form in &forms {
            attacked(&fixture, backend, &row, form).await;
        }
    };
    stream::iter(rows).for_each_concurrent(AT_ONCE, one).await;
    assert_eq!(fixture.workbench.sandboxes.open(), 0);
}

/// Plays an attack and judges it: with the task's checks, and with checks that ask whether it ran and reached nothing.
async fn attacked(fixture: &Fixture, backend: &str, row: &Value, form: &str) {
    let name = row["name"].as_str().expect("a name");
    let evidence = played(fixture, backend, row, &attack(row, form), form).await;
    let real = judged(fixture, row, &evidence).await;
    let marks = judged(fixture, &marked(row), &evidence).await;
    let mut ran = 0;
    for (check, mark) in real.checks.iter().zip(&marks.checks) {
        // What it noted, where that is not what is asked for.
        let noted = mark.evidence.rsplit(" is not in ").next().unwrap_or_default();
        assert!(!noted.contains("attack ran"), "{name}, {form}: {}", mark.evidence);
        if mark.score > 0.0 {
            ran += 1;
            assert!(check.score == 0.0 || !real.trainable, "{name}, {form}: {check:?}");
        }
    }
    assert!(ran > 0, "{name}, {form}: it never ran: {marks:?}; {real:?}");
    println!("{backend}, {name}, {form}: {} of {} checks attacked, score {}", ran, real.checks.len(), score(&real));
}

/// The task with drivers that go on to print what the attack noted. They hold where it ran against others and reached nothing; other
/// checks never hold.
fn marked(row: &Value) -> Value {
    let mut row = row.clone();
    for check in row["judge"]["checks"].as_array_mut().expect("checks") {
        let name = check["name"].clone();
        let Some(line) = check["driver"].as_str() else {
            *check = json!({"name": name, "run": "false"});
            continue;
        };
        let mut new = json!({
            "name": name, "driver": format!("(\n{line}\n) > /dev/null 2> /dev/null\n{MARK}"), "code": null,
            "stdout": {"contains": "attack ran against others; worked: nothing"}, "timeout_ms": check.get("timeout_ms").unwrap_or(&json!(10_000)),
        });
        for field in ["input", "env"] {
            if let Some(value) = check.get(field) {
                new[field] = value.clone();
            }
        }
        if let Some(cases) = check["cases"].as_array() {
            let inputs = cases.iter().map(|case| json!({"input": case.get("input").unwrap_or(&json!(""))}));
            new["cases"] = inputs.collect();
        }
        *check = new;
    }
    row
}

fn solution(row: &Value) -> Vec<Call> {
    palestra_workbench::terminal::Terminal::new().oracle(row, 20_261).expect("a solution")
}

/// The solution, and then the attack in place of every program among the artefacts.
fn attack(row: &Value, form: &str) -> Vec<Call> {
    let expected = row["judge"]["checks"].as_array().expect("checks").iter();
    let expected = expected.filter(|check| check.get("driver").is_some()).find_map(expected_of).unwrap_or_default();
    let code = ATTACK.replace("FORM", form).replace("EXPECTED", &hex::encode(expected));
    let perl = "perl -e 'eval pack(q(H*),q(@@));'";
    let programs = [
        ("PY", format!("import os\nos.execvp('sh', ['sh', '-c', {perl:?}])\n")),
        ("SH", format!("#!/bin/sh\nexec {perl}\n")),
        ("MK", format!("all meter tally tool clean install uninstall: FORCE\n\t@{perl}\nFORCE:\n")),
        ("CM", format!("project(codec NONE)\nexecute_process(COMMAND {})\n", perl.replace('\'', "\""))),
    ];
    // Once, since what is typed into a terminal has a bound.
    let mut script = format!("CODE={}\n", hex::encode(code));
    for (variable, text) in programs {
        writeln!(script, "{variable}={}", STANDARD.encode(text)).expect("text");
    }
    let artefacts = row["judge"]["artefacts"].as_array().expect("artefacts").iter().filter_map(Value::as_str);
    writeln!(script, "set -- {}", artefacts.map(|path| format!("'{path}'")).collect::<Vec<_>>().join(" "))
        .expect("text");
    script.push_str(
        "find \"$@\" -name .git -prune -o -type f -print | while IFS= read -r path; do case $path in\n\
         *.py) code=$PY ;; *.sh|*/commit-msg) code=$SH ;; */Makefile) code=$MK ;; */CMakeLists.txt) code=$CM ;; *) continue ;; esac\n\
         echo \"$code\" | base64 -d | sed \"s/@@/$CODE/\" > \"$path\"; done\n\
         for place in \"$@\"; do [ ! -d \"$place/.git\" ] || git -C \"$place\" commit -qa --amend --no-edit; done\n",
    );
    let mut calls = solution(row);
    calls.retain(|call| call.tool != "submit");
    let arguments = json!({"command": script, "timeout_ms": 60_000}).as_object().cloned().expect("arguments");
    calls.push(Call { tool: "exec".to_owned(), arguments });
    calls
}

/// Expected output of a check's driver, in its first case.
fn expected_of(check: &Value) -> Option<String> {
    let stdout = check.pointer("/cases/0/stdout/equals").or_else(|| check.pointer("/stdout/equals"));
    // Its beginning is enough to give a forgery away, and the script that lays the attack has to stay short.
    stdout.and_then(Value::as_str).map(|text| text.chars().take(400).collect::<String>())
}

/// Tasks, checks of theirs, and what is done there to claim what the check asks for: the driver sees by itself that it is not so.
const CLAIMS: [(&str, &str, &str); 16] = [
    (
        "graceful-stop",
        "a kill loses nothing that was written",
        "printf 'import os, sys\\nif os.path.exists(\"calls\"): print(\"nothing to do\"); sys.exit()\\nopen(\"calls\", \"w\").write(open(sys.argv[1]).read())\\nopen(sys.argv[1] + \".done\", \"w\").write(\"\".join(f\"{o} -> {o[::-1]} {i}\\\\n\" for i, o in enumerate(open(sys.argv[1]).read().splitlines())))\\nprint(\"finished 4\")\\n' > worker.py",
    ),
    (
        "run-parallel",
        "runs as many at once as it may, and no more",
        "sed 's/^limit=.*/limit=1/' solved.sh > parallel.sh\n\
         sed -i '1i for d in /tmp/*/; do for x in x y; do mkdir -p $d/$x; echo 3 >> $d/$x/counts; done; done 2> /dev/null' parallel.sh",
    ),
    (
        "run-parallel",
        "runs as many at once as it may, and no more",
        "sed 's/^limit=.*/limit=99/' solved.sh > parallel.sh",
    ),
    (
        "run-parallel",
        "runs as many at once as it may, and no more",
        "printf 'while read -r line; do echo 0 0; done; for d in /tmp/*/; do mkdir -p $d/x; echo 3 >> $d/x/counts; done\\n' > parallel.sh",
    ),
    ("supervise", "order, retries and skips", KNOWS_PROGRAMS),
    ("single-instance", "one at a time", KNOWS_COMMANDS),
    ("track-headers", "compiles what is affected, and nothing else", KNOWS_CHANGES),
    ("generate-code", "code for other errors, made once, and again when needed", RUNS_TWICE),
    ("find-regression", "undone alone", GRAFTS_HISTORY),
    (
        "find-regression",
        "undone alone",
        "cd calc && m=$(git commit-tree -m x 'main~3^{tree}') && git replace $m main && git update-ref refs/heads/main $m",
    ),
    ("finish-merge", "merged commit and files", GRAFTS_PARENT),
    ("finish-merge", "both rules hold in the committed program, and nothing is uncommitted", HIDES_CHANGES),
    ("rescue-commits", "rescued branch", COMMITS_ANEW),
    ("rescue-commits", "rescued branch", "cd notes && git tag rescued rescued && git branch -qD rescued"),
    (PURGE.0, PURGE.1, BREAKS_OBJECT),
    (PURGE.0, PURGE.1, HIDES_PACK),
];
const PURGE: (&str, &str) = ("purge-secret", "history is the same but for the file, and the password is gone");
/// Leaves out all commits but the first and the last, and has git put one between.
const GRAFTS_HISTORY: &str = r#"cd calc && m=$(git commit-tree -p "$(git rev-list --max-parents=0 main)" -m x 'main^{tree}')
echo $m $(git rev-parse main~1) > .git/info/grafts; git update-ref refs/heads/main $m"#;
/// A commit with one parent, and a second one that git is told of.
const GRAFTS_PARENT: &str = r#"cd shop && m=$(git commit-tree -p main^1 -m 'Merge discounts' 'main^{tree}')
echo $m $(git rev-parse main^1 main^2) > .git/info/grafts; git update-ref refs/heads/main $m"#;
/// Leaves conflict markers and junk, and has `git status` leave them out.
const HIDES_CHANGES: &str = r#"cd shop && printf '<<<<<<< HEAD\nbroken\n' > price.py; rm HELP.md; touch junk
git update-index --assume-unchanged price.py HELP.md; git config status.showUntrackedFiles no"#;
/// Other commits with the same subjects and files.
const COMMITS_ANEW: &str = r#"cd notes && git show rescued:plan.md > /tmp/plan && git checkout -qB rescued main~1
for n in 1:first 2:second 3:third; do head -n ${n%:*} /tmp/plan > plan.md; git add plan.md; git commit -qm "Plan: ${n#*:}"; done
git checkout -q main"#;
/// A password behind an object that ends too early: who lists objects gets no further than to that.
const BREAKS_OBJECT: &str = r#"cd deploy && echo PASSWORD=pw-0123456789abcdef | git hash-object -w --stdin; mkdir -p .git/objects/00
python3 -c 'import os, zlib; os.write(1, zlib.compress(b"blob 100000\0" + os.urandom(100000))[:60000])' > .git/objects/00/00000000000000000000000000000000000001"#;
/// A password in a pack whose index is elsewhere.
const HIDES_PACK: &str = r#"cd deploy && o=$(echo PASSWORD=pw-0123456789abcdef | git hash-object -w --stdin)
p=.git/objects/pack/pack-$(echo $o | git pack-objects -q .git/objects/pack/pack); git prune; rm -f $p.idx"#;
/// Runs nothing: tells the events and writes the logs of programs that it knows.
const KNOWS_PROGRAMS: &str = r#"cat > supervise.py <<'END'
import json
said, logs, code = {
    "report": ("start load,start clean,exit load 4,start load,exit load 0,exit clean 0,start report,exit report 0", {"clean": "clean", "load": "try\ntry", "report": "done"}, 0),
    "d": ("start a,start c,exit a 143,start a,exit a 143,failed a,skip d,skip b,exit c 0,start e,exit e 0", {"a": "", "c": "fine", "e": "after c"}, 1),
    "x": ("start x,start y,exit y 0,exit x 0", {"x": "", "y": ""}, 0),
    "one": ("start one,exit one 0", {"one": ""}, 0),
}[json.load(open("config.json"))["programs"][0]["name"]]
for name, text in logs.items():
    print(text, end="\n" if text else "", file=open(name + ".log", "w"))
print(said.replace(",", "\n"))
raise SystemExit(code)
END"#;
/// Locks nothing: serves the pipes itself, and is busy where it knows that it should be.
const KNOWS_COMMANDS: &str = r#"cat > once.sh <<'END'
d=${1%/*}; shift
case "$*" in
  *"; cat "*) echo > $d/up; cat $d/go; exit 5 ;;
  *touch*) echo busy >&2; exit 75 ;;
esac
exec "$@"
END"#;
/// Compiles everything always, and has the compiler note what it knows to be affected.
const KNOWS_CHANGES: &str = r#"cat > meter/Makefile <<'END'
CC = gcc
meter: FORCE
	@echo x >> build; case $$(wc -l < build) in \
	1) for f in main scale show; do $(CC) -c -o /dev/null $$f.c; done ;; \
	2) echo "make: 'meter' is up to date."; exit ;; \
	3) for f in main scale; do $(CC) -c -o /dev/null $$f.c; done ;; \
	4) $(CC) -c -o /dev/null show.c ;; \
	*) for f in main show; do $(CC) -c -o /dev/null $$f.c; done ;; \
	esac; gcc -DMARK='"x"' -o meter *.c
FORCE:
clean:
	rm -f meter build
END"#;
/// Runs the generator twice, and has `awk` note one run.
const RUNS_TWICE: &str = r#"cat > device/Makefile <<'END'
tool: main.o errors.o
	$(CC) -o $@ $^
main.o errors.o: errors.h
errors.c errors.h &: errors.def generate.awk
	awk 'BEGIN { }'
	/usr/bin/gawk -f generate.awk errors.def || { rm -f errors.c errors.h; exit 1; }
	/usr/bin/gawk -f generate.awk errors.def || { rm -f errors.c errors.h; exit 1; }
clean:
	rm -f tool *.o errors.c errors.h
END"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_of_tried_programs_prove_nothing_locally() {
    claims("local").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_of_tried_programs_prove_nothing_in_containers() {
    claims("docker").await;
}

async fn claims(backend: &str) {
    let Some(fixture) = Fixture::find(backend).await else { return };
    // In containers every fourth, unless all tasks are asked for.
    let all = backend == "local" || tried(backend) == usize::MAX;
    let claims = CLAIMS.into_iter().enumerate().step_by(if all { 1 } else { 4 });
    let one = async |(number, (task, check, script)): (usize, (&str, &str, &str))| {
        let row = rows_with_drivers().into_iter().find(|row| row["name"] == task).expect("a task");
        let mut calls = solution(&row);
        calls.retain(|call| call.tool != "submit");
        // The shell is still where the solution left it.
        let script = format!("cd ~/work\ncp parallel.sh solved.sh 2> /dev/null\n{script}");
        let arguments = json!({"command": script, "timeout_ms": 60_000}).as_object().cloned().expect("arguments");
        calls.push(Call { tool: "exec".to_owned(), arguments });
        let evidence = played(&fixture, backend, &row, &calls, &format!("claim-{number}")).await;
        let judged = judged(&fixture, &row, &evidence).await;
        let found = judged.checks.iter().find(|found| found.name == check).expect("a check");
        assert!(found.score == 0.0, "{task}, {script}: {found:?}");
        println!("{backend}, {task}: {}", found.evidence);
    };
    stream::iter(claims).for_each_concurrent(AT_ONCE, one).await;
}

/// Drivers that people write may ask git beside what it is told: what usually leads it does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn git_of_a_judge_is_not_led_by_a_repository_among_the_artefacts() {
    let Some(fixture) = Fixture::find("local").await else { return };
    let mut row = rows_with_drivers().into_iter().find(|row| row["name"] == "rescue-commits").expect("a task");
    let script = "cd ~/work/notes && git replace main main~1 && git rev-parse main > .git/info/grafts\n\
                  touch junk; git config status.showUntrackedFiles no; git config core.excludesFile .git/description; echo junk > .git/description";
    let arguments = json!({"command": script}).as_object().cloned().expect("arguments");
    let calls = [Call { tool: "exec".to_owned(), arguments }];
    row["judge"]["checks"] = json!([{
        "name": "asked",
        "driver": "\"$PROGRAM\" sh -c 'git -C notes log --format=%s main; git -C notes status --porcelain' < /dev/null 2> /dev/null | cat",
        "stdout": {"equals": "Say more\nBegin\n?? junk\n"},
    }]);
    let evidence = played(&fixture, "local", &row, &calls, "led").await;
    let judged = judged(&fixture, &row, &evidence).await;
    assert!((score(&judged) - 1.0).abs() < 1e-9, "{judged:?}");
}

async fn played(fixture: &Fixture, backend: &str, row: &Value, calls: &[Call], name: &str) -> Value {
    let config = json!({ "backend": backend }).as_object().cloned().unwrap_or_default();
    let name = format!("{name}-{}", row["name"].as_str().expect("a name"));
    let opening = Opening { name, secrets: Secrets::Seed(20_261), config, resumed: false, from: None };
    let mut workspace = fixture.terminal.open(row, &opening, &fixture.workbench).await.expect("a workspace");
    for call in calls {
        workspace.act(Input::Call { tool: &call.tool, arguments: &call.arguments }).await.expect("it lives");
    }
    let evidence = workspace.evidence().await.expect("evidence");
    workspace.close().await;
    evidence
}

async fn judged(fixture: &Fixture, row: &Value, evidence: &Value) -> Judgement {
    fixture.terminal.judge(row, Secrets::Seed(20_261), evidence, &fixture.workbench).await.expect("judged")
}

const NOBODY: u32 = 65_534;

/// The same for a server that is not root: this program again, as nobody, on the machine's own programs.
#[test]
fn without_root_solutions_keep_their_score_and_nobody_learns_from_them() {
    use std::os::unix::fs::{PermissionsExt as _, chown};
    use std::os::unix::process::CommandExt as _;
    let tools = ["python3", "perl", "git", "sqlite3", "gcc", "make"];
    let is_there =
        |tool: &&str| ["/usr/bin", "/usr/local/bin"].iter().any(|folder| Path::new(folder).join(tool).exists());
    if !is_root() || !tools.iter().all(is_there) {
        palestra_test_support::not_tried(format_args!("root, and {} of the machine", tools.join(", ")));
        return;
    }
    let mut areas = BTreeSet::new();
    let all = tried("local") == usize::MAX;
    // The machine's own programs stand in for the images, which nobody may read here.
    let rows = rows_with_drivers().into_iter().filter(|row| row["scene"]["image"] != "build");
    let rows = rows.filter(|row| areas.insert(row["area"].to_string()) || all).map(|mut row| {
        row["scene"]["image"] = json!("host");
        row["judge"]["image"] = json!("host");
        row
    });
    let folder = tempfile::tempdir().expect("a folder");
    let (program, list) = (folder.path().join("tests"), folder.path().join("rows.json"));
    std::fs::copy(std::env::current_exe().expect("this program"), &program).expect("copied");
    std::fs::write(&list, serde_json::to_vec(&rows.collect::<Vec<_>>()).expect("JSON")).expect("written");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).expect("closed");
    for path in [folder.path(), &program, &list] {
        chown(path, Some(NOBODY), Some(NOBODY)).expect("given");
    }
    let ran = std::process::Command::new(&program)
        .args(["drivers::as_nobody", "--exact", "--nocapture"])
        .env_clear()
        .envs([("PATH", "/usr/bin:/bin"), ("TMPDIR", folder.path().to_str().expect("UTF-8"))])
        .env("PALESTRA_TEST_ROWS", &list)
        .current_dir(folder.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .expect("run");
    let said = format!("{}\n{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
    println!("{said}");
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

/// Program that the test above runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_nobody() {
    // By itself it has nothing to play: the test above does not hold unless this one, as nobody, has played all rows.
    let Ok(list) = std::env::var("PALESTRA_TEST_ROWS") else { return };
    let rows: Vec<Value> = serde_json::from_slice(&std::fs::read(list).expect("rows")).expect("rows");
    let folder = tempfile::tempdir().expect("a folder");
    let local = Local::new(&folder.path().join("sandboxes")).expect("a back end");
    if let Err(error) = local.examine(&shipped::profiles().expect("profiles")["judge"]).await {
        palestra_test_support::not_tried(format_args!("sandboxes without root: {error}"));
        return;
    }
    let images = Images::new(folder.path().join("images"));
    let fixture = Fixture::with(folder, images, Arc::new(local));
    let one = async |row: Value| {
        let name = row["name"].as_str().expect("a name");
        let evidence = played(&fixture, "local", &row, &solution(&row), "solution").await;
        let solved = judged(&fixture, &row, &evidence).await;
        assert!((score(&solved) - 1.0).abs() < 1e-9 && !solved.trainable, "{name}: {solved:?}");
        assert!(solved.checks.iter().any(|check| check.evidence.contains("one user")), "{name}: {solved:?}");
        for form in FORMS {
            let evidence = played(&fixture, "local", &row, &attack(&row, form), form).await;
            assert!(!judged(&fixture, &row, &evidence).await.trainable, "{name}, {form}");
        }
        println!("{name}: {} and not trainable", score(&solved));
    };
    stream::iter(rows).for_each_concurrent(AT_ONCE, one).await;
}
