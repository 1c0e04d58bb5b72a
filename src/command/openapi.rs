//! `palestra openapi`: prints the API document.

use clap::Args;

use crate::http;
use crate::terminal::print_line;

/// Prints the OpenAPI document of the API.
#[derive(Debug, Args)]
pub struct OpenapiArguments {}

/// Prints the document.
///
/// # Errors
/// When it cannot be written.
pub fn run(_: &OpenapiArguments) -> anyhow::Result<()> {
    print_line(&serde_json::to_string_pretty(&http::openapi())?)?;
    Ok(())
}
