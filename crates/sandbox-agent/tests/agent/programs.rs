//! Programs that a driver starts as another user: what they get, how they end, and what they cannot reach.

use std::os::unix::fs::PermissionsExt as _;

use palestra_sandbox_agent::wire::{Exec, Programs, User};
use tempfile::TempDir;

use crate::harness::{Agent, Ids, USER, exec, kinds};

/// The user of drivers.
const JUDGE: User = User { uid: 65_532, gid: 65_532 };

/// A driver that runs the script on its standard input, and the folder in which it asks for programs.
fn driver() -> (Exec, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("open to all");
    let place = folder.path().join("judge").to_str().expect("UTF-8").to_owned();
    let env = vec![("HOME".to_owned(), Some("/home/program".to_owned())), ("SECRET".to_owned(), None)];
    let programs = Programs { user: USER, folder: "/usr".to_owned(), env, place };
    let mut driver = Exec { user: JUDGE, alone: true, programs: Some(programs), ..exec(&["sh"]) };
    driver.env.push(("SECRET".to_owned(), "of the driver".to_owned()));
    (driver, folder)
}

/// Output of a driver on both streams, and its exit code.
fn drive(agent: &mut Agent, script: &str) -> (Option<i32>, String, String) {
    let (driver, _folder) = driver();
    let (exited, output, error) = agent.run(driver, script.as_bytes());
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (exited.code, text(output), text(error))
}

#[test]
fn a_program_runs_as_its_own_user_with_the_streams_that_it_is_given() {
    for ids in kinds() {
        let mut agent = Agent::new(ids);
        let script = "export MORE='a b'; echo input | \"$PROGRAM\" sh -c \
                      'id -u; pwd; echo \"$HOME-$SECRET-$MORE-${PROGRAM-none}\"; cat; echo said >&2; exit 7' 2> /dev/null > /tmp/out.$$\n\
                      echo \"$?\"; cat /tmp/out.$$; rm /tmp/out.$$; \"$PROGRAM\" -C /etc -- pwd 2> /dev/null | cat; id -u\n";
        let (code, output, error) = drive(&mut agent, script);
        let (program, judge) = if ids == Ids::Many { (1_000, 65_532) } else { (0, 0) };
        let wanted = format!("7\n{program}\n/usr\n/home/program--a b-none\ninput\n/etc\n{judge}\n");
        assert_eq!((code, output, error), (Some(0), wanted, String::new()));
    }
}

#[test]
fn a_program_never_gets_the_results_of_its_driver() {
    for ids in kinds() {
        let mut agent = Agent::new(ids);
        let script = "\"$PROGRAM\" echo forged; echo \"$?\"\n\"$PROGRAM\" sh -c 'echo forged >&2' > /dev/null; echo \"$?\"\n\
                      \"$PROGRAM\" echo through 2> /dev/null | cat\n\
                      \"$PROGRAM\" true > /dev/null 2>&1 3>&1; echo $?\n";
        let (_, output, error) = drive(&mut agent, script);
        assert_eq!(output, "126\n126\nthrough\n0\n", "{error}");
        assert!(!error.contains("forged") && error.matches("may never have").count() == 2, "{error}");
    }
}

#[test]
fn a_program_has_three_descriptors_and_no_other() {
    for ids in kinds() {
        let mut agent = Agent::new(ids);
        let script = "exec 5< /etc/passwd 6>&1; \"$PROGRAM\" sh -c 'ls /proc/self/fd | wc -l' 2> /dev/null | cat\n";
        // With the folder that `ls` reads.
        assert_eq!(drive(&mut agent, script).1, "4\n");
    }
}

#[test]
fn signals_reach_the_program_and_its_end_is_told() {
    for ids in kinds() {
        let mut agent = Agent::new(ids);
        let script = "d=$(mktemp -d); exec 2> /dev/null\n\
                      \"$PROGRAM\" sh -c 'trap \"exit 5\" TERM; echo up; while :; do sleep 0.05; done' > $d/up & p=$!\n\
                      until grep -q up $d/up; do sleep 0.02; done; kill -TERM $p; wait $p; echo \"trapped $?\"\n\
                      \"$PROGRAM\" sh -c 'echo up; exec sleep 1000' > $d/two & p=$!\n\
                      until grep -q up $d/two; do sleep 0.02; done; kill -INT $p; wait $p; echo \"ended $?\"\n\
                      \"$PROGRAM\" sh -c 'kill -9 $$' > /dev/null; echo \"killed $?\"\n\
                      \"$PROGRAM\" no-such-program > /dev/null; echo \"missing $?\"; rm -r $d\n";
        assert_eq!(drive(&mut agent, script).1, "trapped 5\nended 130\nkilled 137\nmissing 126\n");
    }
}

#[test]
fn a_program_ends_with_whoever_asked_for_it() {
    for ids in kinds() {
        let mut agent = Agent::new(ids);
        // Detached in every way that there is.
        let script = "d=$(mktemp -d); exec 2> /dev/null\n\
                      \"$PROGRAM\" sh -c 'setsid sh -c \"sleep 86399 & sleep 86399\" & echo up; sleep 86399' > $d/up & p=$!\n\
                      until grep -q up $d/up; do sleep 0.02; done; grep -acs '[8]6399' /proc/[0-9]*/cmdline | grep -c :1\n\
                      kill -9 $p; while grep -aqs '[8]6399' /proc/[0-9]*/cmdline; do sleep 0.02; done; echo gone; rm -r $d\n";
        let (_, output, _) = drive(&mut agent, script);
        assert!(output.ends_with("\ngone\n") && !output.starts_with('0'), "{output}");
        // Without a word of the driver: its own end is enough.
        let script = "\"$PROGRAM\" sh -c 'setsid sleep 86399 & sleep 86399' > /dev/null 2>&1 &\n\
                      until grep -aqs '[8]6399' /proc/[0-9]*/cmdline; do sleep 0.02; done\n";
        drive(&mut agent, script);
        assert_eq!(agent.processes(), 0);
    }
}

#[test]
fn a_program_that_was_given_up_is_gone_before_another_starts() {
    for ids in kinds() {
        let mut agent = Agent::new(ids);
        let script = "d=$(mktemp -d); exec 2> /dev/null\n\
                      for i in 1 2 3 4 5; do\n\
                      \"$PROGRAM\" sh -c 'for i in 1 2 3 4 5 6 7 8; do setsid sleep 86397 & done; echo up; sleep 86397' > $d/up & p=$!\n\
                      until grep -q up $d/up; do sleep 0.02; done; kill -9 $p; wait $p\n\
                      \"$PROGRAM\" sh -c 'grep -als \"[8]6397\" /proc/[0-9]*/cmdline | grep -v $$ | wc -l' | cat; : > $d/up; done; rm -r $d\n";
        assert_eq!(drive(&mut agent, script).1, "0\n".repeat(5));
    }
}

#[test]
fn nothing_is_left_of_the_place_where_programs_are_asked_for() {
    for ids in kinds() {
        let mut agent = Agent::new(ids);
        let (mut driver, folder) = driver();
        agent.run(driver.clone(), b"ls -l \"${PROGRAM%/*}\"\n");
        driver.argv = vec!["no-such-program".to_owned()];
        agent.refused(&palestra_sandbox_agent::wire::Request::Exec(driver), Some(b""));
        let left: Vec<_> = std::fs::read_dir(folder.path().join("judge")).expect("the place").collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn a_program_reaches_neither_its_driver_nor_the_place_of_the_driver() {
    if !kinds().contains(&Ids::Many) {
        println!("skipped: one user only");
        return;
    }
    let mut agent = Agent::new(Ids::Many);
    let script = "exec 2> /dev/null; \"$PROGRAM\" sh -c '\
                  for name in mem environ maps fd/1 cwd exe root io stack syscall auxv; do head -c 1 /proc/$2/$name && echo read $name; done; \
                  echo forged > /proc/$2/fd/1; kill -9 $2; kill -STOP $2; ls \"${1%/*}\"; \"$1\" echo asked; kill -9 -1; kill -9 $$' \
                  sh \"$PROGRAM\" $$ | cat\n echo alive; test -e \"$PROGRAM\" && echo there\n";
    assert_eq!(drive(&mut agent, script).1, "alive\nthere\n");
}
