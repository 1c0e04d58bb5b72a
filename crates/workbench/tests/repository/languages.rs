//! Projects in other languages, by what their own test programs report.

use palestra_workbench::work::{Upload, UploadedFile};
use serde_json::{Value, json};

use crate::fixture;
use crate::patches::diff;

/// A row of one source file and one test file.
fn row(meta: &Value, source: (&str, &str, &str), test: (&str, &str), more: &[(&str, &str)]) -> Value {
    let (path, before, after) = source;
    let file = |text: &str| UploadedFile { mode: 0o644, bytes: text.as_bytes().to_vec() };
    let mut files = vec![
        ("one/instance.json".to_owned(), file(&meta.to_string())),
        (format!("one/tree/{path}"), file(before)),
        ("one/solution.patch".to_owned(), file(&diff(path, before, after))),
        ("one/test.patch".to_owned(), file(&diff(test.0, "", test.1))),
    ];
    files.extend(more.iter().map(|(path, text)| (format!("one/tree/{path}"), file(text))));
    let rows = fixture::rows(&Upload::Files(files.into_iter().collect())).expect("a row");
    rows.into_iter().next().expect("a row").1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_go_module_is_admitted_by_its_stream_of_events() {
    let Some(fixture) = fixture::open("languages") else { return };
    let meta = json!({
        "instance_id": "go-1", "repo": "double", "problem_statement": "Double(2) is 5.", "image": "languages", "log_parser": "go",
        "FAIL_TO_PASS": ["TestDouble", "example.com/double.TestDouble/two"], "PASS_TO_PASS": ["TestKept"],
        "env": {"GOFLAGS": "-mod=mod", "GOCACHE": "/tmp/cache", "GOTOOLCHAIN": "local"}, "timeout_s": 120,
    });
    let source = (
        "double.go",
        "package double\n\nfunc Double(x int) int { return x + x + 1 }\n",
        "package double\n\nfunc Double(x int) int { return x + x }\n",
    );
    let test = "package double\n\nimport \"testing\"\n\nfunc TestDouble(t *testing.T) {\n\tt.Run(\"two\", func(t *testing.T) {\n\t\tif Double(2) != 4 {\n\t\t\tt.Fail()\n\t\t}\n\t})\n}\n";
    let kept = "package double\n\nimport \"testing\"\n\nfunc TestKept(t *testing.T) {}\n";
    let row = row(
        &meta,
        source,
        ("double_test.go", test),
        &[("go.mod", "module example.com/double\n\ngo 1.19\n"), ("kept_test.go", kept)],
    );
    let report = fixture.repository.examine(&row, &fixture.workbench).await.expect("it could be tried");
    assert!(report.admitted(), "{report}");
    let early = diff(
        "double.go",
        source.1,
        "package double\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc init() {\n\tfmt.Println(\"--- PASS: TestDouble (0.00s)\")\n\tos.Exit(0)\n}\n\nfunc Double(x int) int { return x }\n",
    );
    let judgement = fixture.judge(&row, &early).await.expect("a verdict");
    assert_eq!(judgement.checks[0].score, 0.0, "{judgement:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_library_in_rust_is_admitted_by_the_log_of_its_test_program() {
    let Some(fixture) = fixture::open("languages") else { return };
    let meta = json!({
        "instance_id": "rust-1", "repo": "double", "problem_statement": "double(2) is 5.", "image": "languages", "log_parser": "cargo",
        "test_command": "rustc --edition 2021 --test -o /tmp/check tests/all.rs && /tmp/check --test-threads 1 --logfile {report}",
        "FAIL_TO_PASS": ["doubles"], "PASS_TO_PASS": ["kept::refuses"], "timeout_s": 120,
    });
    let source = (
        "src/lib.rs",
        "pub fn double(x: u32) -> u32 {\n    x + x + 1\n}\n",
        "pub fn double(x: u32) -> u32 {\n    x + x\n}\n",
    );
    let test = "#[path = \"../src/lib.rs\"]\nmod double;\n\n#[test]\nfn doubles() {\n    assert_eq!(double::double(2), 4);\n}\n\nmod kept {\n    #[test]\n    #[should_panic]\n    fn refuses() {\n        panic!(\"no\");\n    }\n}\n";
    let row = row(&meta, source, ("tests/all.rs", test), &[("README.md", "# double\n")]);
    let report = fixture.repository.examine(&row, &fixture.workbench).await.expect("it could be tried");
    assert!(report.admitted(), "{report}");
    let early = diff(
        "src/lib.rs",
        source.1,
        "pub fn double(_: u32) -> u32 {\n    println!(\"test doubles ... ok\");\n    std::process::exit(0)\n}\n",
    );
    let judgement = fixture.judge(&row, &early).await.expect("a verdict");
    assert_eq!(judgement.checks[0].score, 0.0, "{judgement:?}");
}
