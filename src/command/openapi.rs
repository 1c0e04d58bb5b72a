//! `palestra openapi`: prints the API document.

use clap::Args;

use super::terminal::print_line;
use crate::http;

/// Prints the OpenAPI document of the API.
#[derive(Debug, Args)]
pub struct OpenapiArguments {}

/// Prints the document.
///
/// # Errors
/// When it cannot be written.
pub fn run(_: &OpenapiArguments) -> anyhow::Result<()> {
    print_line(&http::openapi().to_pretty_json()?)?;
    Ok(())
}
