//! Programs that look for what belongs to the server: its environment, its files, its sockets.

use std::os::unix::net::UnixListener;

use palestra_sandbox::Command;
use palestra_sandbox::wire::User;

use crate::arena::Arena;

crate::on_every_back_end! { the_environment_is_the_profiles, the_servers_files_are_not_there, the_agents_file_cannot_be_changed }

/// Every variable inside comes from image, profile or command; none from the server.
async fn the_environment_is_the_profiles(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    let profile = Arena::profile();
    let set: Vec<&str> = profile.env.value.iter().map(|(name, _)| name.as_str()).collect();
    let image: Vec<String> = sandbox.sandbox.image().env.iter().map(|(name, _)| name.clone()).collect();
    let seen = sandbox.shell("env").await;
    for line in seen.lines() {
        let name = line.split('=').next().unwrap_or_default();
        let known = set.contains(&name)
            || image.iter().any(|other| other == name)
            || ["PWD", "OLDPWD", "SHLVL", "_"].contains(&name);
        assert!(known, "{name} comes from elsewhere");
    }
    // What the build tool gives to this process, which stands for the server.
    let own = std::env::var("CARGO_MANIFEST_DIR").expect("a test runs under cargo");
    let output = sandbox.run("snoop", &[&own, "CARGO_PKG_NAME", "palestra-sandbox-tests"]).await;
    assert_eq!((output.exited.code, output.text().as_str()), (Some(0), "looked\n"), "{output:?}");
}

/// Neither by name nor by content, nor in what the kernel tells of mounts and sockets.
async fn the_servers_files_are_not_there(arena: &Arena) {
    let word = format!("secret{}word", std::process::id());
    let outside = tempfile::tempdir().expect("a folder");
    let (file, socket) = (outside.path().join(format!("file-{word}")), outside.path().join(format!("socket-{word}")));
    std::fs::write(&file, &word).expect("written");
    let beside = arena.folder.join(format!("beside-{word}"));
    std::fs::write(&beside, &word).expect("written");
    let _listener = UnixListener::bind(&socket).expect("a socket");
    let sandbox = arena.sandbox().await;
    let output = sandbox.run("snoop", &[&word]).await;
    assert_eq!((output.exited.code, output.text().as_str()), (Some(0), "looked\n"), "{output:?}");
    for path in [&file, &socket, &beside, &arena.folder, &outside.path().to_owned()] {
        let there = sandbox.sandbox.stat(&path.to_string_lossy()).await.expect("the sandbox answers");
        assert_eq!(there, None, "{} is there", path.display());
    }
    for (path, user) in [("/proc/1/root", 1000), ("/proc/1/cwd", 1000), ("/proc/1/root", 0), ("/proc/1/cwd", 0)] {
        let command = Command::new(["ls", path]).user(User { uid: user, gid: user });
        assert!(!sandbox.sandbox.exec(&command).await.expect("runs").success(), "{path} can be listed");
    }
    std::fs::remove_file(beside).expect("removed");
}

async fn the_agents_file_cannot_be_changed(arena: &Arena) {
    let sandbox = arena.sandbox().await;
    let line = sandbox.shell("tr '\\0' ' ' </proc/1/cmdline").await;
    let agent = line.split(' ').next().expect("a path").to_owned();
    assert!(agent.starts_with('/'), "{line}");
    for user in [User { uid: 1000, gid: 1000 }, User { uid: 0, gid: 0 }] {
        let mut lines = vec!["head -c 1 /proc/1/exe".to_owned(), "echo x >> /proc/1/exe".to_owned()];
        // It may have no name inside.
        if sandbox.sandbox.stat(&agent).await.expect("answers").is_some() {
            let folder = agent.rsplit_once('/').map_or("/", |(folder, _)| folder);
            lines.extend([
                format!("echo x >> {agent}"),
                format!("rm -f {agent}; ! test -e {agent}"),
                format!("mv {agent} {agent}.old"),
                format!("chmod 777 {agent}"),
                format!("echo x > {folder}/beside"),
                format!("mv {folder} {folder}.old"),
            ]);
        }
        for line in lines {
            let output = sandbox.sandbox.exec(&Command::shell(&line).user(user)).await.expect("runs");
            assert!(!output.success(), "uid {} may: {line}: {output:?}", user.uid);
        }
    }
    let changes = sandbox.sandbox.changes(1_000).await.expect("changes");
    assert!(changes.iter().all(|change| !change.path.starts_with(&agent)), "{changes:?}");
}
