//! Images from container files.

use std::path::Path;
use std::sync::Arc;

use palestra_sandbox::image::Images;

use super::fixture::{Fixture, profile};

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).expect("written");
}

#[tokio::test]
async fn a_container_file_becomes_an_image_for_every_back_end() {
    let Some(fixture) = Fixture::find("files").await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "hello.txt", "hello");
    write(
        folder.path(),
        "Dockerfile",
        "FROM scratch\nENV GREETING=hello\nWORKDIR /srv/work\nCOPY --chown=1000:1000 hello.txt /srv/\n",
    );
    let images = Images::new(folder.path().join("images"));
    let file = folder.path().join("Dockerfile");
    let mut told = Vec::new();
    let image = fixture.docker.build(&images, "own", &file, &mut |line| told.push(line.to_owned())).await;
    let image = Arc::new(image.expect("built"));
    assert!(told.iter().any(|line| line.contains("COPY")), "{told:?}");
    assert_eq!(images.resolve("own").expect("there"), image);
    assert!(image.env.contains(&("GREETING".to_owned(), "hello".to_owned())), "{:?}", image.env);
    assert_eq!(image.folder, "/srv/work");
    assert!(image.root.as_ref().is_some_and(|root| root.join("srv/hello.txt").is_file()));

    let sandbox = fixture.start("one", &image, &Arc::new(profile())).await.expect("started");
    assert_eq!(sandbox.read("/srv/hello.txt", 100).await.expect("read"), b"hello");
    let entry = sandbox.stat("/srv/hello.txt").await.expect("asked").expect("there");
    assert_eq!(entry.uid, 1000);
    sandbox.destroy(true).await;
    fixture.emptied().await;
    let volume =
        fixture.command(&["volume", "ls", "--quiet", "--filter", &format!("label=palestra.image={}", image.digest)]);
    fixture.command(&["volume", "rm", &volume]);
    let tag = format!("palestra/build-{}:own", fixture.server);
    assert_eq!(fixture.command(&["image", "ls", "--quiet", &tag]), "", "its name is not left");
}

#[tokio::test]
async fn a_container_file_that_fails_changes_nothing() {
    let Some(fixture) = Fixture::find("files-failed").await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "Dockerfile", "FROM scratch\nCOPY nothing /\n");
    let images = Images::new(folder.path().join("images"));
    let file = folder.path().join("Dockerfile");
    let why = fixture.docker.build(&images, "own", &file, &mut |_| {}).await.expect_err("it failed").to_string();
    assert!(why.contains("nothing"), "{why}");
    let why =
        fixture.docker.build(&images, "own", &folder.path().join("none"), &mut |_| {}).await.expect_err("no file");
    assert!(why.to_string().contains("is no file"), "{why}");
    assert!(images.resolve("own").is_err());
    fixture.emptied().await;
}
