//! Builds images: a root file system of Debian packages by mmdebstrap, or one that somebody hands over as an archive.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};

use sha2::{Digest as _, Sha256};

use super::build_folder::BuildFolder;
use super::definition::Definition;
use super::finish::finish;
use super::tree::{Owners, unpack};
use super::{Image, Images, TREES, is_name};

/// Files that no program needs, as patterns of dpkg. Folders of manuals stay: the set-up of Java puts links there.
const LEFT_OUT: [&str; 5] = ["doc/*", "info/*", "lintian/*", "locale/*", "man/*.gz"];
/// Lines of a failed program that its error quotes.
const LINES_QUOTED: usize = 12;

/// Reason why an image was not built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A program that builds is not there; says what to do.
    #[error("{0}")]
    Missing(String),
    /// The name or the definition makes no sense.
    #[error("{0}")]
    Definition(String),
    /// The program that builds failed.
    #[error("{program} failed: {detail}")]
    Failed {
        /// The missing one.
        program: &'static str,
        /// Its last words.
        detail: String,
    },
    /// The disk refused.
    #[error("{what}: {error}")]
    Disk {
        /// The attempted step.
        what: String,
        /// The reason.
        error: io::Error,
    },
}

/// Contents of an image, apart from its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// Origin, beside the packages that are in it.
    pub origin: String,
    /// Environment of every command.
    pub env: Vec<(String, String)>,
    /// Folder in which commands start.
    pub folder: String,
}

/// Builds the image of a definition and makes it the one of this name. Nothing is seen of it before it is whole. `progress` gets lines
/// for people. Blocks for as long as it takes: half a minute for a small one.
///
/// # Errors
/// [`BuildError`]; then all is as it was.
pub fn build(
    images: &Images,
    name: &str,
    definition: &Definition,
    progress: &mut dyn FnMut(&str),
) -> Result<Image, BuildError> {
    let packages = definition.all_packages().map_err(BuildError::Definition)?;
    let origin = serde_json::to_string(definition).map_err(|error| BuildError::Definition(error.to_string()))?;
    let env = definition.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let contents = Contents { origin, env, folder: definition.folder.clone() };
    let sources = sources(&definition.suite);
    progress(&format!("{name}: {} packages of {} and what they need", packages.len(), definition.suite));
    filled(images, name, &contents, |root, build_folder, owners| {
        let mut command = Command::new("mmdebstrap");
        command.args(["--variant=minbase", "--format=tar"]);
        if owners == Owners::Range {
            // Another user, which the other modes of mmdebstrap make, could not enter a folder of root's.
            command.arg("--mode=root").env("TMPDIR", build_folder);
        }
        command.args(LEFT_OUT.map(|files| format!("--dpkgopt=path-exclude=/usr/share/{files}")));
        let packages: Vec<String> = packages.into_iter().collect();
        command.arg(format!("--include={}", packages.join(",")));
        command.args([&definition.suite, "-"]).args((!sources.is_empty()).then_some("-"));
        run(command, &sources, root, owners, progress)
    })
}

/// Makes an image of an archive of a root file system, as `docker export` gives one.
///
/// # Errors
/// As [`build`].
pub fn store(images: &Images, name: &str, contents: &Contents, archive: impl Read) -> Result<Image, BuildError> {
    filled(images, name, contents, |root, _, owners| {
        unpack(archive, root, owners)
            .map_err(|error| BuildError::Disk { what: format!("the archive of the image {name}"), error })
    })
}

/// Makes an image of what `fill` puts into a folder; it is given that folder and another for its own use.
pub(super) fn filled(
    images: &Images,
    name: &str,
    contents: &Contents,
    fill: impl FnOnce(&Path, &Path, Owners) -> Result<(), BuildError>,
) -> Result<Image, BuildError> {
    if !is_name(name) {
        return Err(BuildError::Definition(format!(
            "{name:?} cannot be the name of an image: use letters, digits, - and _"
        )));
    }
    let folder = images.folder();
    let trees = folder.join(TREES);
    let disk = |what: &str, error: io::Error| BuildError::Disk { what: format!("{what} of the image {name}"), error };
    fs::create_dir_all(&trees).map_err(|error| disk("the folder", error))?;
    let build_folder = BuildFolder::new(folder).map_err(|error| disk("the building place", error))?;
    let root = build_folder.path().join("root");
    fs::create_dir(&root).map_err(|error| disk("the building place", error))?;
    let owners = Owners::possible();
    fill(&root, build_folder.path(), owners)?;
    finish(&root, &contents.folder, owners).map_err(|error| disk("the last files", error))?;
    let digest = digest(contents, &root).map_err(|error| disk("the list of packages", error))?;
    let place = images.tree(&digest);
    if !place.is_dir() {
        fs::rename(&root, &place).map_err(|error| disk("the files", error))?;
    }
    let image = Image {
        name: name.to_owned(),
        digest,
        env: contents.env.clone(),
        folder: contents.folder.clone(),
        root: Some(place),
    };
    publish(folder, &image).map_err(|error| disk("the record", error))?;
    Ok(image)
}

/// Lines for apt about this release, as this machine has them; empty where it has none, for mmdebstrap's own choice.
fn sources(suite: &str) -> String {
    let listed = Command::new("apt-get")
        .args(["indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)", "Identifier: Packages"])
        .stdin(Stdio::null())
        .output();
    listed.map_or_else(|_| String::new(), |output| lines_of(suite, &String::from_utf8_lossy(&output.stdout)))
}

/// Of the sources that apt lists, those of Debian for this release, its updates and its security.
fn lines_of(suite: &str, listed: &str) -> String {
    let releases = [suite.to_owned(), format!("{suite}-updates"), format!("{suite}-security")];
    let mut lines: Vec<String> = Vec::new();
    for line in listed.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [uri, release, component, "Debian"] = words[..] else { continue };
        let line = format!("deb {uri} {release} {component}\n");
        if releases.iter().any(|wanted| wanted == release) && !lines.contains(&line) {
            lines.push(line);
        }
    }
    // Updates alone are no release.
    let whole = lines.iter().any(|line| line.split(' ').nth(2) == Some(suite));
    if whole { lines.concat() } else { String::new() }
}

/// Runs mmdebstrap and unpacks what it prints.
fn run(
    mut command: Command,
    sources: &str,
    root: &Path,
    owners: Owners,
    progress: &mut dyn FnMut(&str),
) -> Result<(), BuildError> {
    let failed = |detail: String| BuildError::Failed { program: "mmdebstrap", detail };
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(BuildError::Missing(
                "mmdebstrap not found: install the package mmdebstrap, or build from a container file with --dockerfile"
                    .to_owned(),
            ));
        }
        Err(error) => return Err(failed(error.to_string())),
    };
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ended already says why on its standard error.
        let _ = stdin.write_all(sources.as_bytes());
    }
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(failed("it has no output".to_owned()));
    };
    let (unpacked, words) = std::thread::scope(|scope| {
        // Reading to the end lets the program end too, also where nothing more can be unpacked.
        let unpacking = scope.spawn(|| {
            let mut stdout = stdout;
            let unpacked = unpack(&mut stdout, root, owners);
            io::copy(&mut stdout, &mut io::sink()).and(unpacked)
        });
        let words = relay(stderr, progress);
        (unpacking.join().unwrap_or_else(|_| Err(io::Error::other("the archive could not be read"))), words)
    });
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    if !status.success() {
        return Err(failed(format!("{status}: {words}")));
    }
    unpacked.map_err(|error| BuildError::Disk { what: "the files of the image".to_owned(), error })
}

/// Passes lines on, and answers the last ones.
fn relay(stderr: ChildStderr, progress: &mut dyn FnMut(&str)) -> String {
    let mut last = std::collections::VecDeque::with_capacity(LINES_QUOTED);
    for line in BufReader::new(stderr).split(b'\n') {
        let Ok(line) = line else { break };
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        progress(&line);
        if last.len() == LINES_QUOTED {
            last.pop_front();
        }
        last.push_back(line);
    }
    Vec::from(last).join("\n")
}

/// `sha256:<hex>` of what an image was made from and the versions that this led to.
fn digest(contents: &Contents, root: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    hash.update(b"palestra image 1\n");
    for text in [&contents.origin, &contents.folder] {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    }
    let list = root.join("var/lib/dpkg/status");
    if fs::symlink_metadata(&list).is_ok_and(|found| found.is_file()) {
        for package in versions(&fs::read_to_string(list)?) {
            hash.update(package);
            hash.update(b"\n");
        }
    }
    Ok(format!("sha256:{}", hex::encode(hash.finalize())))
}

/// `name=version` of every package that dpkg lists, in order.
fn versions(status: &str) -> Vec<String> {
    let field = |record: &str, name: &str| {
        record.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned))
    };
    let records = status.split("\n\n");
    let mut packages: Vec<String> = records
        .filter_map(|record| Some(format!("{}={}", field(record, "Package")?, field(record, "Version")?)))
        .collect();
    packages.sort();
    packages
}

/// Writes `image.json`, from one moment to the next.
fn publish(folder: &Path, image: &Image) -> io::Result<()> {
    let folder = folder.join(&image.name);
    fs::create_dir_all(&folder)?;
    let mut draft = tempfile::NamedTempFile::new_in(&folder)?;
    serde_json::to_writer_pretty(&mut draft, image)?;
    draft.write_all(b"\n")?;
    fs::set_permissions(draft.path(), fs::Permissions::from_mode(0o644))?;
    draft.as_file().sync_all()?;
    draft.persist(folder.join("image.json"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_debians_sources_of_the_release_are_taken() {
        let listed = "http://mirror.example/debian/ bookworm main Debian\n\
                      http://mirror.example/debian/ bookworm main Debian\n\
                      http://mirror.example/security/ bookworm-security main Debian\n\
                      http://mirror.example/debian/ trixie main Debian\n\
                      https://elsewhere.example/ bookworm main Elsewhere\n\
                      broken line\n";
        assert_eq!(
            lines_of("bookworm", listed),
            "deb http://mirror.example/debian/ bookworm main\ndeb http://mirror.example/security/ bookworm-security main\n"
        );
        assert_eq!(lines_of("sid", listed), "");
        assert_eq!(lines_of("bookworm", "http://mirror.example/debian/ bookworm-updates main Debian\n"), "");
    }

    #[test]
    fn an_image_appears_whole_or_not_at_all_and_equal_contents_lie_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let images = Images::new(folder.path());
        let contents = |origin: &str| Contents {
            origin: origin.to_owned(),
            env: vec![("PATH".to_owned(), "/bin".to_owned())],
            folder: "/home/agent".to_owned(),
        };
        let archive = |text: &str| {
            let mut builder = tar::Builder::new(Vec::new());
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            header.set_uid(0);
            header.set_gid(0);
            builder.append_data(&mut header, "var/lib/dpkg/status", text.as_bytes()).expect("appended");
            builder.into_inner().expect("ended")
        };
        let bash = archive("Package: bash\nVersion: 5.2\n\nPackage: awk\nVersion: 1\n");
        let first = store(&images, "first", &contents("a"), bash.as_slice()).expect("stored");
        assert_eq!(*images.resolve("first").expect("there"), first);
        let again = store(&images, "again", &contents("a"), bash.as_slice()).expect("stored");
        assert_eq!(first.digest, again.digest);
        let newer = archive("Package: bash\nVersion: 5.3\n");
        let newer = store(&images, "first", &contents("a"), newer.as_slice()).expect("stored");
        assert_ne!(first.digest, newer.digest);
        assert!(first.root.expect("files").is_dir(), "what may be in use stays");

        let cut = &bash[..bash.len() / 3];
        assert!(store(&images, "broken", &contents("a"), cut).is_err());
        assert!(images.resolve("broken").is_err());
        assert!(store(&images, "../out", &contents("a"), bash.as_slice()).is_err());
        let left = fs::read_dir(folder.path()).expect("read").filter(|entry| {
            entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with(".building"))
        });
        assert_eq!(left.count(), 0);
    }

    #[test]
    fn a_program_that_fails_is_quoted() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut lines = Vec::new();
        let mut command = Command::new("sh");
        command.args(["-c", "cat >&2; for n in $(seq 20); do echo line $n >&2; done; exit 3"]);
        let failed = run(command, "sources\n", folder.path(), Owners::Builder, &mut |line| lines.push(line.to_owned()));
        let words = failed.expect_err("it failed").to_string();
        assert!(words.contains("line 20") && !words.contains("line 8\n"), "{words}");
        assert_eq!(lines.len(), 21);
        let missing = run(Command::new("/none"), "", folder.path(), Owners::Builder, &mut |_| {});
        assert!(matches!(missing, Err(BuildError::Missing(_))));
    }
}
