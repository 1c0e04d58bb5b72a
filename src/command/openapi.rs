//! `palestra openapi`: prints the API document.

use clap::Args;

use crate::terminal::print_line;

/// Prints the OpenAPI document of the API.
#[derive(Debug, Args)]
pub struct OpenapiArguments {}

/// Prints the document.
///
/// # Errors
/// When it cannot be written.
pub fn run(_: &OpenapiArguments) -> anyhow::Result<()> {
    print_line(palestra_guide::api_document().trim_end())?;
    Ok(())
}
