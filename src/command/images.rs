//! `palestra images build|list`: what the file systems of sandboxes are made from.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use palestra_sandbox::docker::{Docker, Options};
use palestra_sandbox::image::{BuildError, Definition, Image, Images, build};

use super::failure::Failure;
use crate::backends;
use crate::config::{Config, ConfigArguments};
use crate::table::Table;

/// Lines of a build that wait to be shown; then the build waits.
const LINES_WAITING_MAX: usize = 64;

/// Actions on images.
#[derive(Debug, Args)]
pub struct ImagesArguments {
    #[command(subcommand)]
    command: ImagesCommand,
}

#[derive(Debug, Subcommand)]
enum ImagesCommand {
    /// Builds images from Debian packages, without any registry of images.
    Build(Box<BuildArguments>),
    /// Lists the images that are there, and those that can be built.
    List(Box<ListArguments>),
}

#[derive(Debug, Args)]
struct BuildArguments {
    /// Names of shipped definitions (shell, python, build, languages), or of your own with --definition or --dockerfile.
    #[arg(required = true)]
    names: Vec<String>,
    /// Does nothing for images that are there already.
    #[arg(long)]
    missing: bool,
    /// A definition of your own: a TOML file as those in sandboxes/images/.
    #[arg(long, value_name = "FILE", conflicts_with = "dockerfile")]
    definition: Option<PathBuf>,
    /// A Dockerfile, which the Docker engine builds.
    #[arg(long, value_name = "FILE")]
    dockerfile: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigArguments,
}

#[derive(Debug, Args)]
struct ListArguments {
    #[command(flatten)]
    config: ConfigArguments,
}

/// Builds or lists images.
///
/// # Errors
/// When an image cannot be built; those before it are there.
pub async fn images(
    arguments: &ImagesArguments,
    output: &mut impl Write,
    errors: &mut impl Write,
) -> anyhow::Result<()> {
    match &arguments.command {
        ImagesCommand::Build(arguments) => {
            let config = Config::load(&arguments.config)?;
            Ok(build_all(arguments, &config, output, errors).await?)
        }
        ImagesCommand::List(arguments) => {
            let images = backends::images(&Config::load(&arguments.config)?);
            writeln!(output, "{}", table(&images)?)?;
            Ok(())
        }
    }
}

async fn build_all(
    arguments: &BuildArguments,
    config: &Config,
    output: &mut impl Write,
    errors: &mut impl Write,
) -> Result<(), Failure> {
    let images = backends::images(config);
    let own = arguments.definition.is_some() || arguments.dockerfile.is_some();
    if own && arguments.names.len() > 1 {
        return Err(Failure::Other("one definition makes one image: give one name".to_owned()));
    }
    for name in &arguments.names {
        if arguments.missing && images.resolve(name).is_ok() {
            writeln!(output, "{name} is there")?;
            continue;
        }
        let image = match &arguments.dockerfile {
            Some(dockerfile) => {
                let engine = Docker::connect(docker_options(config)).await;
                let engine = engine.map_err(|error| Failure::Other(error.to_string()))?;
                // Shown once the engine is done, since errors cannot be lent across threads.
                let mut told = Vec::new();
                let built = engine.build(&images, name, dockerfile, &mut |line| told.push(line.to_owned())).await;
                for line in told {
                    writeln!(errors, "{line}")?;
                }
                built
            }
            None => build_one(arguments, &images, name, errors).await,
        };
        let image = image.map_err(|error| Failure::Other(error.to_string()))?;
        writeln!(output, "{name} {}", image.digest)?;
    }
    Ok(())
}

/// Builds where slow work belongs, and hands its words on as they come.
async fn build_one(
    arguments: &BuildArguments,
    images: &Images,
    name: &str,
    errors: &mut impl Write,
) -> Result<Image, BuildError> {
    let definition = match &arguments.definition {
        None => Definition::shipped(name),
        Some(path) => {
            let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()));
            text.and_then(|text| Definition::parse(&text))
        }
    };
    let definition = definition.map_err(BuildError::Definition)?;
    let (sender, mut receiver) = tokio::sync::mpsc::channel::<String>(LINES_WAITING_MAX);
    let (images, name) = (images.clone(), name.to_owned());
    let building = tokio::task::spawn_blocking(move || {
        build(&images, &name, &definition, &mut |line| drop(sender.blocking_send(line.to_owned())))
    });
    while let Some(line) = receiver.recv().await {
        // Nobody may be reading; the image is built all the same.
        let _ = writeln!(errors, "{line}");
    }
    building.await.map_err(|error| BuildError::Definition(error.to_string()))?
}

fn docker_options(config: &Config) -> Options {
    backends::docker_options(config, "images")
}

fn table(images: &Images) -> std::io::Result<Table> {
    let mut table = Table::new(["image", "digest", "commands start in"]);
    let there = images.list()?;
    for image in &there {
        table.add_row([&image.name, &image.digest, &image.folder]);
    }
    for name in Definition::shipped_names().filter(|name| there.iter().all(|image| image.name != **name)) {
        table.add_row([name, "can be built", ""]);
    }
    Ok(table)
}
