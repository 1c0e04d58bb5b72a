//! Programs that a driver starts as another user.

use palestra_sandbox::wire::{Programs, User};
use palestra_sandbox::{Command, Output, Sandbox};

use crate::world::{World, profile};

/// The user of drivers.
const JUDGE: User = User { uid: 65_532, gid: 65_532 };

/// Runs a driver's script.
async fn drive(sandbox: &Sandbox, script: &str) -> Output {
    let programs = Programs {
        user: sandbox.profile().user.value,
        folder: "/home/agent".to_owned(),
        env: vec![("HOME".to_owned(), Some("/home/agent".to_owned()))],
        place: "/judge".to_owned(),
    };
    let command = Command::new(["sh"]).input(script).user(JUDGE).folder("/");
    sandbox.exec(&Command { alone: true, programs: Some(programs), ..command }).await.expect("an answer")
}

pub(crate) async fn a_driver_starts_programs_as_another_user(world: &World) {
    let sandbox = world.start(profile("judge")).await.expect("a sandbox");
    let apart = sandbox.isolation().lines["uid"].enforced;
    let script = "\"$PROGRAM\" sh -c 'id -u; pwd; echo $HOME; exit 3' > /tmp/said 2> /dev/null < /dev/null; echo $?; cat /tmp/said; id -u";
    let said = drive(&sandbox, script).await.text();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[..1], ["3"], "{said}");
    assert_eq!(lines[2..4], ["/home/agent", "/home/agent"], "{said}");
    assert_eq!(lines[1] != lines[4], apart, "{said}");
    if apart {
        assert_eq!((lines[1], lines[4]), ("1000", "65532"));
        // Nothing of the driver's can be reached.
        let script = "\"$PROGRAM\" sh -c 'kill -9 $1; kill -STOP $1; head -c 1 /proc/$1/environ; head -c 1 /proc/$1/mem; ls /proc/$1/fd; ls \"${2%/*}\"; \
                      \"$2\" true; echo tried' sh $$ \"$PROGRAM\" 2> /dev/null < /dev/null | cat; echo alive";
        assert_eq!(drive(&sandbox, script).await.text(), "tried\nalive\n");
    }
    sandbox.destroy(true).await;
}

pub(crate) async fn programs_never_have_the_results_of_their_driver(world: &World) {
    let sandbox = world.start(profile("judge")).await.expect("a sandbox");
    let script = "\"$PROGRAM\" echo forged; echo $?; \"$PROGRAM\" sh -c 'echo forged >&2' > /dev/null; echo $?; \"$PROGRAM\" echo through 2> /dev/null | cat";
    let output = drive(&sandbox, script).await;
    assert_eq!(output.text(), "126\n126\nthrough\n");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("may never have") && !said.contains("forged"), "{said}");
    sandbox.destroy(true).await;
}

pub(crate) async fn programs_end_with_their_driver(world: &World) {
    let sandbox = world.start(profile("judge")).await.expect("a sandbox");
    let script = "\"$PROGRAM\" sh -c 'setsid sleep 1000 & echo up; sleep 1000' > /tmp/up 2> /dev/null & until grep -q up /tmp/up; do sleep 0.02; done";
    assert!(drive(&sandbox, script).await.success());
    assert_eq!(sandbox.stats().await.expect("stats").processes, 0);
    let left = sandbox.stat("/judge/starter-1").await.expect("an answer");
    assert_eq!(left, None);
    sandbox.destroy(true).await;
}
