//! The program inside every sandbox. The first argument is the mode.

use palestra_sandbox_agent::{watch, wire};

mod handover;
mod launch;
mod program;
mod serve;
mod stage;

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: palestra-sandbox-agent MODE ARGUMENTS
  serve [--upper-fd N] [--lower-fd N]... [--setup-ms N]   speak frames on standard input and output, as process 1 of a sandbox
  launch ...   enter namespaces, mount the file system, start bubblewrap
  stage ...    in a container, mount the file system and go on as serve
called as `program` in a sandbox, it runs its arguments as the user of what is judged";

fn main() -> ExitCode {
    let mut arguments = env::args_os();
    let own_name = arguments.next().unwrap_or_default();
    if Path::new(&own_name).file_name().is_some_and(|name| name == handover::PROGRAM) {
        return program::run(arguments);
    }
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
