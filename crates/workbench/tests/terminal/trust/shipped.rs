//! The folders of this repository, solved: which share is trusted is told.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use palestra_workbench::terminal::check::check_task;
use palestra_workbench::work::{Upload, UploadedFile, Work as _};

use crate::workbench::TestWorkbench;

/// Folders whose tests load what the acting side made, so that their verdicts are not trusted: git reads the whole of a repository
/// as it is, settings among it.
const LOADED: [&str; 1] = ["stray-commit"];
/// Folders that are judged from declared artefacts or in place, where nothing is watched.
const JUDGED_OTHERWISE: [&str; 1] = ["route-plan"];

fn uploaded(folder: &Path) -> BTreeMap<String, UploadedFile> {
    let (mut found, mut left) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(&next).unwrap_or_else(|error| panic!("{}: {error}", next.display())) {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                left.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).expect("below").to_str().expect("UTF-8").to_owned();
            let mode = path.metadata().expect("a file").permissions().mode() & 0o777;
            found.insert(name, UploadedFile { mode, bytes: std::fs::read(&path).expect("read") });
        }
    }
    found
}

async fn share_that_is_trusted(backend: &str) {
    let Some(test) = TestWorkbench::on(backend, &["shell", "python", "build"]).await else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/folders");
    let rows = test.terminal.rows(&Upload::Files(uploaded(&folder))).unwrap_or_else(|faults| panic!("{faults:#?}"));
    let (mut trusted, mut others) = (Vec::new(), BTreeMap::new());
    for (place, (_, row)) in rows.iter().enumerate() {
        let name = row["name"].as_str().expect("a name").to_owned();
        let short = name.rsplit('/').next().unwrap_or(&name);
        let odd = LOADED.contains(&short) || JUDGED_OTHERWISE.contains(&short);
        if !odd && !place.is_multiple_of(super::every(backend)) {
            continue;
        }
        let report = check_task(&test.terminal, row, &test.workbench, None).await;
        assert_eq!((report.solution, &report.faults), (Some(1.0), &Vec::new()), "{name}");
        // What nobody may learn from is noted.
        match report.notes.into_iter().next() {
            None => trusted.push(name),
            Some(doubt) => _ = others.insert(name, doubt),
        }
    }
    let tried = trusted.len() + others.len();
    println!("{backend}: {} of {tried} solved folders are trusted; the others: {others:#?}", trusted.len());
    println!("{backend}: {} folders are not tried", rows.len() - tried);
    let loaded: Vec<&str> = others.keys().map(|name| name.rsplit('/').next().unwrap_or(name)).collect();
    assert_eq!(loaded, LOADED);
    assert!(JUDGED_OTHERWISE.iter().all(|name| trusted.iter().any(|trusted| trusted.ends_with(name))), "{trusted:?}");
}

#[tokio::test]
async fn shipped_folders_are_trusted_but_for_a_share_that_is_told_locally() {
    share_that_is_trusted("local").await;
}

#[tokio::test]
async fn shipped_folders_are_trusted_but_for_a_share_that_is_told_in_containers() {
    share_that_is_trusted("docker").await;
}
