//! The program: arguments, providers of cryptography, then one line per command.

use clap::{Parser, Subcommand};
use palestra::command::{openapi, serve};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Environments as a service, for training and evaluating language-model agents.
#[derive(Parser)]
#[command(name = "palestra", version, about, arg_required_else_help = true)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(Box<serve::ServeArguments>),
    Openapi(openapi::OpenapiArguments),
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // Only the first installation counts, and this is the first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let _ = jsonwebtoken::crypto::rust_crypto::DEFAULT_PROVIDER.install_default();
    match Program::parse().command {
        Command::Serve(arguments) => Box::pin(serve::run(&arguments)).await,
        Command::Openapi(arguments) => openapi::run(&arguments),
    }
}
