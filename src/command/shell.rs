//! `palestra completions SHELL` and `palestra man FOLDER`: what a shell and `man` know of the commands.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use super::failure::Failure;

/// Arguments of `palestra completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell.
    pub shell: Shell,
}

/// Arguments of `palestra man`.
#[derive(Debug, Args)]
pub struct ManArguments {
    /// The folder that the pages go into.
    pub folder: PathBuf,
}

/// Writes the completions of a shell.
///
/// # Errors
/// When the output is closed.
pub fn completions(
    arguments: &CompletionsArguments,
    mut program: Command,
    output: &mut impl Write,
) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, "palestra", &mut script);
    Ok(output.write_all(&script)?)
}

/// Writes a page for the program, and one for each command.
///
/// # Errors
/// When the folder cannot be made or written to.
pub fn man(arguments: &ManArguments, program: Command, output: &mut impl Write) -> Result<(), Failure> {
    std::fs::create_dir_all(&arguments.folder)?;
    clap_mangen::generate_to(program, &arguments.folder)?;
    Ok(writeln!(output, "read them with `man -l {}`", arguments.folder.join("palestra.1").display())?)
}
