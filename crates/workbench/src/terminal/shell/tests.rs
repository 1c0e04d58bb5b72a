//! The shell's protocol against a real bash on a real terminal, without a sandbox.

use std::process::Stdio;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout, Command as Process};

use super::*;

struct Pipe(tokio::sync::Mutex<ChildStdin>);

#[async_trait]
impl TerminalInput for Pipe {
    async fn type_bytes(&self, keys: &[u8]) -> Result<(), SandboxError> {
        let mut pipe = self.0.lock().await;
        pipe.write_all(keys).await.map_err(|error| SandboxError::Lost(error.to_string()))?;
        pipe.flush().await.map_err(|error| SandboxError::Lost(error.to_string()))
    }

    async fn resize(&self, _: u16, _: u16) -> Result<(), SandboxError> {
        Ok(())
    }

    async fn kill(&self) -> Result<(), SandboxError> {
        Err(SandboxError::Unavailable("there is no sandbox".to_owned()))
    }
}

struct Output(ChildStdout, Child);

#[async_trait]
impl TerminalOutput for Output {
    async fn next(&mut self) -> Result<PtyPiece, SandboxError> {
        let mut bytes = vec![0; 64 * 1024];
        match self.0.read(&mut bytes).await {
            Ok(0) => {
                let status = self.1.wait().await.expect("it ended");
                Ok(PtyPiece::Exited(Exited { code: status.code(), ..Exited::default() }))
            }
            Ok(count) => Ok(PtyPiece::Output(bytes[..count].to_vec())),
            Err(error) => Err(SandboxError::Lost(error.to_string())),
        }
    }
}

/// A bash on a terminal that the program `script` opens.
async fn shell() -> Shell {
    let mut child = Process::new("script")
        .args(["--quiet", "--return", "--echo", "always", "--command", "bash --noprofile --norc", "/dev/null"])
        .env("TERM", "xterm-256color")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("util-linux has script");
    let keyboard = Pipe(tokio::sync::Mutex::new(child.stdin.take().expect("a pipe")));
    let printer = Output(child.stdout.take().expect("a pipe"), child);
    let mut shell = Shell::on(Box::new(keyboard), Box::new(printer), "/", (ROWS, COLUMNS), Instant::now());
    shell.prepare().await.expect("a prompt");
    shell
}

const LONG: Duration = Duration::from_secs(60);

async fn ended(shell: &mut Shell, command: &str) -> (i32, String) {
    match shell.run(command, LONG).await.expect("not lost") {
        Outcome::Ended(code) => (code, shell.output_log().output.take().0),
        other => panic!("{command}: {other:?}; {}", shell.output_log().output.take().0),
    }
}

#[tokio::test]
async fn a_command_gives_its_output_alone_and_its_code() {
    let mut shell = shell().await;
    for (command, code, output) in [
        ("echo hi", 0, "hi\n"),
        ("printf 'no newline'", 0, "no newline"),
        ("false", 1, ""),
        ("(exit 77)", 77, ""),
        ("", 0, ""),
        ("   # nothing", 0, ""),
        ("echo one\necho 'two\nthree'", 0, "one\ntwo\nthree\n"),
        ("cat <<'END'\n$x `y` \"z\" !! ^a^b\nEND", 0, "$x `y` \"z\" !! ^a^b\n"),
        ("echo 'tab\there' \"it's\" \\\\", 0, "tab\there it's \\\n"),
        ("echo é€😀", 0, "é€😀\n"),
        ("printf '\\xff\\x00\\x1b[31mred\\x1b]0;open'", 0, "\u{fffd}red"),
        ("printf 'a\\r\\nb\\x1b]5277;e;0;0;/\\x07c'", 0, "a\nbc"),
    ] {
        assert_eq!(ended(&mut shell, command).await, (code, output.to_owned()), "{command:?}");
    }
    let (code, output) = ended(&mut shell, "echo 'unclosed").await;
    assert!(code != 0 && output.contains("unexpected EOF"), "{code} {output}");
    assert_eq!(ended(&mut shell, "echo still here").await.1, "still here\n");
}

#[tokio::test]
async fn folder_variables_functions_and_jobs_are_kept() {
    let mut shell = shell().await;
    ended(&mut shell, "cd /tmp; export A=1; B=2; f() { echo $A$B; }; shopt -s extglob").await;
    assert_eq!(ended(&mut shell, "f; pwd").await.1, "12\n/tmp\n");
    assert_eq!(shell.output_log().folder(), "/tmp");
    ended(&mut shell, "sleep 100 & echo").await;
    assert!(ended(&mut shell, "jobs").await.1.contains("sleep 100"));
    assert_eq!(ended(&mut shell, "kill %1; wait %1 2>/dev/null; echo $?").await.1.lines().last(), Some("143"));
}

#[tokio::test]
async fn shells_that_were_made_strange_still_answer() {
    let mut shell = shell().await;
    for strange in [
        "PS1='$(echo junk)> '; PROMPT_COMMAND='echo noise'; PS2=; PS4=",
        "trap 'echo debugged' DEBUG; trap 'echo failed' ERR",
        "set -o vi",
        "set -o emacs; set -u; set -o pipefail",
        "alias printf=false eval=false builtin=false; shopt -s expand_aliases",
        "stty raw -echo",
        "stty -icrnl -onlcr",
        "exec > /dev/null",
        "exec > /dev/tty 2>&1",
        "unset PATH; IFS=abcdefgpt",
        "PATH=/usr/bin:/bin; LC_ALL=C; LANG=C",
        "printf '\\033[?1049h\\033[?25l\\033[2J'",
        "complete -D -F nothing; bind 'set disable-completion off'",
    ] {
        let outcome = shell.run(strange, LONG).await.expect("not lost");
        assert!(matches!(outcome, Outcome::Ended(_)), "{strange}: {outcome:?}");
        let (code, output) = ended(&mut shell, "/bin/echo alive > /dev/tty; (exit 3)").await;
        assert!(code == 3 && output.contains("alive"), "{strange}: {code} {output}");
    }
}

#[tokio::test]
async fn megabytes_come_through_bounded() {
    let mut shell = shell().await;
    let outcome = shell.run("seq 1 2000000", LONG).await.expect("not lost");
    assert_eq!(outcome, Outcome::Ended(0));
    let (text, omitted) = shell.output_log().output.take();
    assert!(text.starts_with("1\n2\n") && text.ends_with("2000000\n"));
    assert!(omitted > 10_000_000);
    let outcome = shell.run("head -c 3000000 /dev/urandom; echo; echo end", LONG).await.expect("not lost");
    assert_eq!(outcome, Outcome::Ended(0));
    assert!(shell.output_log().output.take().0.ends_with("end\n"));
}

#[tokio::test]
async fn long_commands_arrive_whole() {
    let mut shell = shell().await;
    let text = "x'\\ é!\n".repeat(6_000);
    let (code, output) = ended(&mut shell, &format!("wc -c <<'END'\n{text}END\necho ${{__command+set}}")).await;
    assert_eq!((code, output), (0, format!("{}\nset\n", text.len())));
    assert_eq!(ended(&mut shell, "echo ${__command-gone}").await.1, "gone\n");
}

#[tokio::test]
async fn a_command_that_takes_too_long_goes_on_and_can_be_stopped() {
    let mut shell = shell().await;
    let outcome = shell.run("echo started; sleep 100", Duration::from_millis(300)).await.expect("not lost");
    assert_eq!(outcome, Outcome::Running);
    assert!(shell.occupied());
    assert_eq!(shell.output_log().output.take().0, "started\n");
    shell.keys(b"\x03", Duration::from_millis(50), LONG).await.expect("typed");
    assert_eq!(shell.ended(Instant::now() + LONG).await, Ok(Outcome::Interrupted));
    assert_eq!(ended(&mut shell, "echo again").await.1, "again\n");
}

#[tokio::test]
async fn a_command_that_reads_gets_keys() {
    let mut shell = shell().await;
    let outcome = shell.run("read -r name; echo \"hello $name\"", Duration::from_millis(300)).await.expect("not lost");
    assert_eq!(outcome, Outcome::Running);
    shell.keys(b"you\r", Duration::from_millis(50), LONG).await.expect("typed");
    assert_eq!(shell.ended(Instant::now() + LONG).await, Ok(Outcome::Ended(0)));
    assert_eq!(shell.output_log().output.take().0, "you\nhello you\n");
}

#[tokio::test]
async fn another_shell_takes_commands_once_keys_were_typed() {
    for other in ["bash --norc", "exec bash --norc", "exec sh"] {
        let mut shell = shell().await;
        assert_eq!(shell.run(other, Duration::from_millis(500)).await, Ok(Outcome::Running), "{other}");
        assert!(shell.occupied());
        shell.keys(b"\r", Duration::from_millis(100), LONG).await.expect("typed");
        assert!(!shell.occupied());
        if other != "exec sh" {
            assert_eq!(ended(&mut shell, "echo new").await.1, "new\n", "{other}");
        }
    }
}

#[tokio::test]
async fn a_program_that_reads_the_terminal_is_not_mistaken_for_the_shell() {
    let mut shell = shell().await;
    assert_eq!(shell.run("cat > /dev/null", Duration::from_millis(300)).await, Ok(Outcome::Running));
    shell.keys(b"x\r", Duration::from_millis(50), LONG).await.expect("typed");
    assert_eq!(shell.run("echo hi", LONG).await, Ok(Outcome::NotTaken));
    shell.keys(b"\x04", Duration::from_millis(100), LONG).await.expect("typed");
    assert_eq!(ended(&mut shell, "echo hi").await.1, "hi\n");
}

#[tokio::test]
async fn typed_and_unsent_input_is_dropped() {
    let mut shell = shell().await;
    ended(&mut shell, "true").await;
    shell.keys(b"rm -rf nothing", Duration::from_millis(50), LONG).await.expect("typed");
    assert_eq!(ended(&mut shell, "echo clean").await.1, "clean\n");
}

#[tokio::test]
async fn a_shell_that_ends_says_so() {
    let mut shell = shell().await;
    let outcome = shell.run("echo bye; exit 7", LONG).await.expect("not lost");
    assert!(matches!(outcome, Outcome::Died(exited) if exited.code == Some(7)), "{outcome:?}");
    assert!(shell.output_log().output.take().0.starts_with("bye\n"));
}

#[tokio::test]
async fn a_command_waits_for_no_clock() {
    let mut shell = shell().await;
    ended(&mut shell, "true").await;
    let mut times = Vec::new();
    for _ in 0..200 {
        let began = Instant::now();
        ended(&mut shell, "true").await;
        times.push(began.elapsed());
    }
    times.sort();
    // A busy machine may hold up most of them, but whoever looks for the end of a command by a clock holds up each.
    assert!(times[20] < Duration::from_millis(20), "one in ten took {:?}, half {:?}", times[20], times[100]);
}
