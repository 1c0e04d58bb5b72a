//! Costs of sandboxes, beside the Docker engine's own commands in the same rounds: starts, commands, forks, and many at once.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::Args;
use palestra_sandbox::docker::{Docker, Options};
use palestra_sandbox::image::Images;
use palestra_sandbox::pool::Bounds;
use palestra_sandbox::sandbox::Bounds as ArchiveBounds;
use palestra_sandbox::{Backend, Command, Local, Sandbox, SandboxSpec, Sandboxes, shipped};
use serde_json::json;
use tokio::process::Command as HostCommand;
use tokio::time::sleep;

use crate::figures::{Series, available_mib, median_ms};
use crate::terminal::{print, tell};

/// Bytes that change before a fork.
const CHANGED_BYTES: usize = 1 << 20;
/// Bounds of a delta here.
const BOUNDS: ArchiveBounds = ArchiveBounds { bytes_max: 256 << 20, entries_max: 100_000 };
/// Time that the pool of warm sandboxes may take to be filled.
const FILLED_MAX: Duration = Duration::from_secs(60);

/// Arguments.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Folder of the images.
    #[arg(long, env = "PALESTRA_IMAGES")]
    images: PathBuf,
    /// The image to measure with.
    #[arg(long, default_value = "shell")]
    image: String,
    /// Docker engine to measure too, and to compare with.
    #[arg(long, env = "PALESTRA_TEST_DOCKER")]
    docker: Option<String>,
    /// Rounds, each of which measures everything.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Times that each thing is done in a round; the median counts.
    #[arg(long, default_value_t = 20)]
    times: usize,
    /// Sandboxes that are open at once while memory is measured.
    #[arg(long, default_value_t = 500)]
    open: usize,
    /// Also writes every value into this file.
    #[arg(long)]
    json: Option<PathBuf>,
}

type Figures = BTreeMap<&'static str, Series>;

/// Measures and prints a table.
///
/// # Errors
/// When a sandbox cannot be started.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(measure(arguments))
}

async fn measure(arguments: &Arguments) -> anyhow::Result<bool> {
    let folder = tempfile::tempdir()?;
    let mut backends: Vec<Arc<dyn Backend>> = vec![Arc::new(Local::new(folder.path())?)];
    if let Some(host) = &arguments.docker {
        let options = Options {
            host: host.clone(),
            server: "load-tests".to_owned(),
            folder: folder.path().to_owned(),
            runtime: None,
        };
        backends.push(Arc::new(Docker::connect(options).await?));
    }
    let names: Vec<&'static str> = backends.iter().map(|backend| backend.name()).collect();
    let bounds = |warm_min| Bounds { sandboxes_max: arguments.open.max(100) + 100, warm_min };
    let images = Images::new(&arguments.images);
    let cold = Sandboxes::new(backends.clone(), images.clone(), profiles()?, bounds(0));
    let warm = Sandboxes::new(backends.clone(), images, profiles()?, bounds(arguments.times));
    let mut figures: BTreeMap<&'static str, Figures> = BTreeMap::new();
    for round in 0..=arguments.rounds {
        tell(&format!("round {round} of {}", arguments.rounds));
        for name in &names {
            let want = SandboxSpec::new(Some((*name).to_owned()), &arguments.image, "terminal");
            let values = one_round(&cold, &warm, &want, arguments.times).await?;
            // The first round fills caches.
            if round > 0 {
                let kept = figures.entry(name).or_default();
                values.into_iter().for_each(|(row, value)| kept.entry(row).or_default().push(value));
            }
        }
        if let Some(host) = &arguments.docker
            && round > 0
        {
            let kept = figures.entry("docker's own commands").or_default();
            let values = engine_commands(host, &arguments.images, &arguments.image, arguments.times).await?;
            values.into_iter().for_each(|(row, value)| kept.entry(row).or_default().push(value));
        }
    }
    tell(&format!("{} sandboxes at once", arguments.open));
    let want = SandboxSpec::new(None, &arguments.image, "terminal");
    let many = many(&cold, &want, arguments.open).await?;
    cold.close().await;
    warm.close().await;
    print(&markdown(&figures, &many, arguments))?;
    if let Some(file) = &arguments.json {
        fs::write(file, serde_json::to_string_pretty(&json!({"milliseconds": figures, "many": many}))? + "\n")?;
    }
    Ok(true)
}

fn profiles() -> anyhow::Result<BTreeMap<String, Arc<palestra_sandbox::Profile>>> {
    shipped::profiles().map_err(anyhow::Error::msg)
}

/// Medians in milliseconds.
async fn one_round(
    cold: &Sandboxes,
    warm: &Sandboxes,
    want: &SandboxSpec,
    times: usize,
) -> anyhow::Result<Vec<(&'static str, f64)>> {
    let (mut starts, mut takes, mut commands, mut forks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..times {
        let began = Instant::now();
        let sandbox = cold.take(want).await?;
        starts.push(began.elapsed());
        sandbox.destroy(true).await;
    }
    // The first take begins to fill the shelf.
    let parent = warm.take(want).await?;
    filled(warm, times).await?;
    for _ in 0..times {
        let began = Instant::now();
        let sandbox = warm.take(want).await?;
        takes.push(began.elapsed());
        sandbox.destroy(true).await;
    }
    let nothing = Command::new(["true"]);
    for _ in 0..times * 10 {
        let began = Instant::now();
        ensure!(parent.exec(&nothing).await?.success(), "`true` failed");
        commands.push(began.elapsed());
    }
    let user = parent.profile().user.value;
    let home = "/home/agent/changed";
    parent.write(home, 0o644, user, &vec![7; CHANGED_BYTES]).await?;
    filled(warm, times).await?;
    for _ in 0..times {
        let began = Instant::now();
        let copy = fork(warm, want, &parent).await?;
        forks.push(began.elapsed());
        ensure!(copy.read(home, CHANGED_BYTES as u64).await?.len() == CHANGED_BYTES, "the fork lacks the change");
        copy.destroy(true).await;
    }
    parent.destroy(true).await;
    Ok(vec![
        ("start, cold", median_ms(&mut starts)),
        ("start, warm", median_ms(&mut takes)),
        ("`true`", median_ms(&mut commands)),
        ("fork with 1 MB changed", median_ms(&mut forks)),
    ])
}

async fn fork(warm: &Sandboxes, want: &SandboxSpec, parent: &Sandbox) -> anyhow::Result<Sandbox> {
    parent.freeze().await?;
    let (delta, _) = parent.delta(BOUNDS, &[]).await?;
    parent.thaw().await?;
    let copy = warm.take(want).await?;
    copy.apply(&delta).await?;
    Ok(copy)
}

/// Waits until the shelf is full again, so that what is measured is a warm start.
async fn filled(warm: &Sandboxes, times: usize) -> anyhow::Result<()> {
    let began = Instant::now();
    while warm.open() <= times {
        ensure!(began.elapsed() < FILLED_MAX, "the shelf is not filled");
        sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

/// Times of the engine's own program for the same operations, with the same image.
async fn engine_commands(
    host: &str,
    images: &std::path::Path,
    image: &str,
    times: usize,
) -> anyhow::Result<Vec<(&'static str, f64)>> {
    let tag = format!("palestra-load-tests:{image}");
    let root = Images::new(images).resolve(image)?.root.clone().context("the image has no files here")?;
    let docker = |arguments: Vec<String>| async move {
        let mut command = HostCommand::new("docker");
        command.arg("--host").arg(host).args(&arguments).stdin(Stdio::null());
        let done = command.output().await?;
        ensure!(done.status.success(), "docker {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
    };
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    if docker(words(&format!("image inspect {tag}"))).await.is_err() {
        let line = format!("tar -C {} -cf - . | docker --host {host} import - {tag}", root.display());
        let done = HostCommand::new("sh").args(["-c", &line]).stdout(Stdio::null()).status().await?;
        ensure!(done.success(), "the image could not be imported");
    }
    let id = docker(words(&format!("run --detach --network none {tag} sleep 3600"))).await?;
    let (mut runs, mut execs, mut commits) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..times.div_ceil(4) {
        for (line, series) in [
            (format!("run --rm --network none {tag} true"), &mut runs),
            (format!("exec {id} true"), &mut execs),
            (format!("commit {id} palestra-load-tests:copy"), &mut commits),
        ] {
            let began = Instant::now();
            docker(words(&line)).await?;
            series.push(began.elapsed());
        }
    }
    docker(words(&format!("rm --force {id}"))).await?;
    docker(words("image rm palestra-load-tests:copy")).await?;
    Ok(vec![
        ("start, cold", median_ms(&mut runs)),
        ("`true`", median_ms(&mut execs)),
        ("fork with 1 MB changed", median_ms(&mut commits)),
    ])
}

/// Seconds to open many, and mebibytes that the machine has less while they are open.
async fn many(sandboxes: &Sandboxes, want: &SandboxSpec, count: usize) -> anyhow::Result<BTreeMap<&'static str, f64>> {
    let before = available_mib()?;
    let began = Instant::now();
    let mut open = Vec::with_capacity(count);
    for _ in 0..count {
        let sandbox = sandboxes.take(want).await?;
        ensure!(sandbox.exec(&Command::shell("echo here > mark")).await?.success(), "a first command failed");
        open.push(sandbox);
    }
    let took = began.elapsed().as_secs_f64();
    let held = before - available_mib()?;
    let began = Instant::now();
    for sandbox in &open {
        ensure!(sandbox.exec(&Command::new(["true"])).await?.success(), "a command failed");
    }
    let each_ms = began.elapsed().as_secs_f64() * 1_000.0 / count.max(1) as f64;
    for sandbox in open {
        sandbox.destroy(true).await;
    }
    Ok(BTreeMap::from([
        ("opened in seconds", took),
        ("MiB of the machine for each", held / count.max(1) as f64),
        ("milliseconds for `true` in each, one after the other", each_ms),
    ]))
}

fn markdown(
    figures: &BTreeMap<&'static str, Figures>,
    many: &BTreeMap<&'static str, f64>,
    arguments: &Arguments,
) -> String {
    let rows = ["start, cold", "start, warm", "`true`", "fork with 1 MB changed"];
    let mut text = String::from("| milliseconds |");
    figures.keys().for_each(|name| text.push_str(&format!(" {name} |")));
    text.push_str("\n| --- |");
    figures.keys().for_each(|_| text.push_str(" --- |"));
    for row in rows {
        text.push_str(&format!("\n| {row} |"));
        for values in figures.values() {
            let value = values.get(row).map(Series::spread).unwrap_or_default();
            text.push_str(&format!(" {value} |"));
        }
    }
    text.push_str(&format!("\n\n{} sandboxes at once:", arguments.open));
    many.iter().for_each(|(what, value)| text.push_str(&format!(" {what} {value:.2};")));
    text.push('\n');
    text
}
