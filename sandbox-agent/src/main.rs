//! The program inside every sandbox. The first argument is the mode.

use palestra_sandbox_agent::{watch, wire};

mod launch;
mod serve;
mod stage;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

const USAGE: &str = "usage: palestra-sandbox-agent MODE ARGUMENTS
  serve [--upper-fd N] [--lower-fd N]... [--setup-ms N]   speak frames on standard input and output, as process 1 of a sandbox
  launch ...   enter namespaces, mount the file system, start bubblewrap
  stage ...    in a container, mount the file system and go on as serve";

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    let mode = arguments.next().unwrap_or_default();
    let arguments: Vec<OsString> = arguments.collect();
    let ended = match mode.to_str() {
        Some("serve") => serve::run(&arguments),
        Some("launch") => launch::run(&arguments),
        Some("stage") => stage::run(&arguments),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("palestra-sandbox-agent: {why}");
            ExitCode::FAILURE
        }
    }
}
