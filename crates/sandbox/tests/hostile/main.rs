//! Hostile programs against every back end: each tries what it can, and must not get beyond its sandbox, disturb others or leave
//! anything behind. What is expected is looked at from inside (what the kernel answers) and from outside (what the host counts).

#![expect(clippy::print_stderr, reason = "tests say what they measured")]

mod archives;
mod arena;
mod census;
mod engines;
mod exhaustion;
mod kernel;
mod network;
mod output;
mod processes;
mod programs;
mod secrets;
mod transfer;
mod uncontained;

/// Makes a test of every body for every back end.
macro_rules! on_every_back_end {
    ($($name:ident),* $(,)?) => {
        mod local {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                crate::arena::on(crate::arena::Kind::Local, super::$name).await;
            })*
        }
        mod docker {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                crate::arena::on(crate::arena::Kind::Docker, super::$name).await;
            })*
        }
    };
}
pub(crate) use on_every_back_end;

#[test]
fn every_program_of_the_folder_is_run() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile");
    let tests: String = std::fs::read_dir(folder)
        .expect("the tests")
        .map(|entry| std::fs::read_to_string(entry.expect("an entry").path()).expect("text"))
        .collect();
    for name in programs::names() {
        assert!(tests.contains(&format!("\"{name}\"")), "no test runs {name}");
    }
}
