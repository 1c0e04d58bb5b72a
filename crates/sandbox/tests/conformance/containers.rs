//! The back end of a Docker engine: `PALESTRA_TEST_DOCKER` names it (`unix://PATH`), `PALESTRA_IMAGES` a folder with the image
//! `shell`.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use palestra_sandbox::Docker;
use palestra_sandbox::docker::Options;
use palestra_sandbox::image::Images;

use crate::world::{Leftovers, World};

/// The engine that the environment names; `None` where it names none.
pub(crate) async fn docker() -> Option<World> {
    let Ok(host) = std::env::var("PALESTRA_TEST_DOCKER") else {
        palestra_test_support::not_tried("Docker (PALESTRA_TEST_DOCKER)");
        return None;
    };
    let images = std::env::var("PALESTRA_IMAGES").ok();
    let Some(image) = images.and_then(|folder| Images::new(folder).resolve("shell").ok()) else {
        palestra_test_support::not_tried("the image shell (PALESTRA_IMAGES)");
        return None;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let name = folder.path().file_name().expect("a name").to_string_lossy().replace('.', "");
    let server = format!("conformance-{name}");
    let options =
        Options { host: host.clone(), server: server.clone(), folder: folder.path().to_owned(), runtime: None };
    let docker = Arc::new(Docker::connect(options).await.expect("an engine"));
    let (engine, label) = (host.clone(), server.clone());
    let left = {
        let docker = Arc::clone(&docker);
        move || {
            let pending = docker.pending();
            let mut processes = containers(&host, &server);
            processes.extend((pending > 0).then(|| format!("{pending} that are made or removed")));
            Leftovers { processes, ..Leftovers::default() }
        }
    };
    Some(World {
        backend: docker,
        image,
        keeps_disks: false,
        left: Box::new(left),
        kill_agents: Box::new(move || {
            for container in containers(&engine, &label) {
                run(&engine, &["kill", &container]);
            }
        }),
        started: AtomicU64::new(0),
        folder,
    })
}

/// Containers of a server, running or not.
fn containers(host: &str, server: &str) -> Vec<String> {
    let filter = format!("label=palestra.server={server}");
    run(host, &["ps", "--all", "--quiet", "--filter", &filter]).lines().map(str::to_owned).collect()
}

fn run(host: &str, arguments: &[&str]) -> String {
    let output = Command::new("docker").args(["--host", host]).args(arguments).output().expect("docker runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
