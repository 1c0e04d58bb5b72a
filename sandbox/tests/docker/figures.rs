//! How long a sandbox takes, beside what the command `docker` takes. Measured on request only: `--run-ignored all figures`.

use std::process::Command as Program;
use std::sync::Arc;
use std::time::{Duration, Instant};

use palestra_sandbox::Command;

use super::place::{Place, profile, shell};

/// The median of times.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures; says nothing beside other tests"]
async fn figures_beside_docker_run_and_docker_exec() {
    let (Some(place), Some(shell)) = (Place::find("figures").await, shell()) else { return };
    let profile = Arc::new(profile());
    // The first start copies the image.
    place.start("first", &shell, &profile).await.expect("started").destroy(true).await;
    let (mut starts, mut ends, mut execs) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..15 {
        let begun = Instant::now();
        let sandbox = place.start(&format!("s{number}"), &shell, &profile).await.expect("started");
        starts.push(begun.elapsed());
        for _ in 0..20 {
            let begun = Instant::now();
            assert!(sandbox.exec(&Command::new(["/usr/bin/true"])).await.expect("it ran").success());
            execs.push(begun.elapsed());
        }
        let begun = Instant::now();
        sandbox.destroy(true).await;
        ends.push(begun.elapsed());
    }
    println!("start p50 {:?}, exec of true p50 {:?}, destroy p50 {:?}", median(starts), median(execs), median(ends));
    let archive = shell.root.clone().expect("files");
    let name = format!("palestra/figures:{}", std::process::id());
    let import = format!("tar -C {} -c . | docker --host {} import - {name}", archive.display(), place.host);
    assert!(Program::new("sh").args(["-c", &import]).output().expect("it ran").status.success());
    let timed = |arguments: &[&str]| {
        let begun = Instant::now();
        place.command(arguments);
        begun.elapsed()
    };
    let runs: Vec<Duration> =
        (0..15).map(|_| timed(&["run", "--rm", "--network", "none", &name, "/usr/bin/true"])).collect();
    let running = place.command(&["run", "--detach", "--network", "none", &name, "/usr/bin/sleep", "600"]);
    let execs: Vec<Duration> = (0..15).map(|_| timed(&["exec", &running, "/usr/bin/true"])).collect();
    place.command(&["rm", "--force", &running]);
    place.command(&["rmi", &name]);
    println!("docker run p50 {:?}, docker exec p50 {:?}", median(runs), median(execs));
}
