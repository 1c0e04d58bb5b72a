//! The program by its command line: what it cannot measure is refused before anything is started.

use std::process::Command;

/// Its answer to arguments that it refuses.
fn refused(arguments: &[&str]) -> String {
    let ran = Command::new(env!("CARGO_BIN_EXE_palestra-load-tests")).args(arguments).output().expect("it runs");
    assert!(!ran.status.success(), "{arguments:?}");
    String::from_utf8(ran.stderr).expect("UTF-8")
}

#[test]
fn a_row_that_is_not_there_is_named() {
    let said = refused(&["measure", "--short", "no-such-row"]);
    assert!(said.contains("no-such-row") && said.contains("--list"), "{said}");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let said = refused(&["measure", "--short", "--palestra", "/nowhere/palestra"]);
    assert!(said.contains("/nowhere/palestra") && said.contains("cargo build"), "{said}");
}
