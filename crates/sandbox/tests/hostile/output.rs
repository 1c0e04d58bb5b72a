//! Programs whose output is meant for whoever reads it: the server, a terminal, a log.

use palestra_sandbox::sandbox::{Pty, PtyPiece};
use palestra_sandbox::wire::{ChangeKind, Exited};

use crate::arena::{Arena, HostileSandbox, OUTPUT};

crate::on_every_back_end! { escape_sequences, escape_sequences_on_a_terminal, forged_frames, forged_frames_on_a_terminal, names_of_files }

/// Everything that a terminal prints until its program ends.
pub(crate) async fn all_of(pty: &mut Pty) -> (Vec<u8>, Exited) {
    let mut printed = Vec::new();
    loop {
        match pty.screen.next().await.expect("the sandbox answers") {
            PtyPiece::Output(bytes) => printed.extend_from_slice(&bytes),
            PtyPiece::Exited(exited) => return (printed, exited),
        }
    }
}

/// The bytes that the program prints first.
const BEGINNING: &[u8] = b"\x1b]0;taken\x07\x1b]52;c;";
/// And those before its long line: no UTF-8, and a NUL.
const NO_TEXT: &[u8] = b"\xff\xfe\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\0\x08\x08\r\x7f";

async fn escape_sequences(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    let output = sandbox.run("escape_sequences", &[]).await;
    assert!(output.success(), "{output:?}");
    assert!(output.stdout.starts_with(BEGINNING));
    assert!(output.stdout.windows(NO_TEXT.len()).any(|window| window == NO_TEXT), "bytes were altered");
    assert!(output.stdout.len() as u64 <= OUTPUT + (64 << 10));
    assert!(output.exited.output_omitted_bytes > 3 << 20);
    assert!(output.text().contains('\u{fffd}'));
    let refused =
        sandbox.sandbox.exec(&palestra_sandbox::Command::new(["/no/\x1b[2J\x07such"])).await.expect_err("no program");
    assert!(!refused.to_string().contains('\x1b'), "{refused:?}");
}

async fn escape_sequences_on_a_terminal(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    let path = sandbox.put("escape_sequences").await;
    let command = palestra_sandbox::Command::shell(format!("stty raw -echo; {path} short; timeout 1 od -c | head -3"));
    let mut pty = sandbox.sandbox.open_pty(&command, 24, 80).await.expect("a terminal");
    let (printed, _) = all_of(&mut pty).await;
    assert!(printed.starts_with(BEGINNING), "{}", String::from_utf8_lossy(&printed));
    // Nothing answered the questions: what `od` read is nothing but its end.
    let after = printed.windows(NO_TEXT.len()).position(|window| window == NO_TEXT).expect("the bytes") + NO_TEXT.len();
    assert!(!printed[after..].contains(&b'['), "{}", String::from_utf8_lossy(&printed[after..]));
}

async fn forged_frames(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    let output = sandbox.run("forge_frames", &[]).await;
    assert_eq!(output.exited.code, Some(7), "{output:?}");
    let text = output.text();
    assert!(!text.contains("inherited") && !text.contains("opened"), "{text}");
    assert!(text.contains("\"event\":\"exited\""), "the frames came as output");
    assert!(sandbox.sandbox.lost().is_none());
    sandbox.still_works().await;
}

async fn forged_frames_on_a_terminal(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    let path = sandbox.put("forge_frames").await;
    let mut pty = sandbox.sandbox.open_pty(&HostileSandbox::command(&path, &[]), 24, 80).await.expect("a terminal");
    let (printed, exited) = all_of(&mut pty).await;
    assert_eq!(exited.code, Some(7));
    let text = String::from_utf8_lossy(&printed);
    assert!(!text.contains("inherited") && !text.contains("opened"), "{text}");
    sandbox.still_works().await;
}

async fn names_of_files(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    assert!(sandbox.run("odd_names", &["/home/agent/odd"]).await.success());
    let changes = sandbox.sandbox.changes(10_000).await.expect("changes");
    let below: Vec<_> = changes.iter().filter(|change| change.path.starts_with("/home/agent/odd")).collect();
    assert!(below.len() >= 20, "{below:?}");
    assert!(below.iter().all(|change| change.change != ChangeKind::Deleted), "{below:?}");
    let bounds = palestra_sandbox::sandbox::Bounds { bytes_max: 16 << 20, entries_max: 1_000 };
    let (archive, _) = sandbox.sandbox.pack(&["/home/agent/odd".to_owned()], bounds).await.expect("packed");
    let mut read = tar::Archive::new(archive.as_slice());
    let entries = read.entries().expect("entries").map(|entry| entry.expect("an entry"));
    assert!(entries.count() >= 20);
    // The change applied elsewhere gives the same names, but for those that would be taken for deletions, which are named.
    let (delta, left_out) = sandbox.sandbox.delta(bounds, &["/tmp".to_owned()]).await.expect("a delta");
    let other = arena.sandbox().await;
    other
        .shell("mkdir -p /home/agent/odd/kept.d; cd /home/agent/odd; echo there > kept; echo there > kept.d/there")
        .await;
    other.sandbox.apply(&delta).await.expect("applied");
    let list = "cd /home/agent/odd && find . -not -name '.wh.*' -not -name there -print0 | LC_ALL=C sort -z | od -c";
    assert_eq!(other.shell(list).await, sandbox.shell(list).await);
    assert_eq!(other.shell("cat /home/agent/odd/kept /home/agent/odd/kept.d/there").await, "namedthere\n");
    for name in [".wh.kept", ".wh.kept.d", ".wh..wh..opq", ".wh..wh..opq.d", ".wh."] {
        assert!(
            left_out.iter().any(|path| path.ends_with(&format!("odd/{name}"))),
            "{name} is missing in {left_out:?}"
        );
    }
}
