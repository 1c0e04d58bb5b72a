//! Publications of pages: a folder with a manifest, read, proven in a browser, and stored under the digest of its content.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use palestra_browser::Browsers;
use palestra_protocol::problem::Fault;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;
use url::Url;

use super::content::Content;
use super::live::{LiveHost, StoredHost, check_admitted};
use super::manifest::{self, MANIFEST, Manifest, Pages, PlacedTask, TASKS, fault};
use super::miniwob::{self, MiniwobKind, StoredPages, below};
use super::packed::{BYTES_MAX, CONTENT_BYTES_MAX, Packed};
use super::prove;
use super::recording::{self, Exchange, Library, Recording, repeats};
use super::site::SiteKind;
use super::task::SiteTask;
use crate::browsed::NO_BROWSER;
use crate::definition::{Definition, Left, Parsed};
use palestra_environment::state::Digest;
use palestra_environment::{EnvironmentKind, TaskRows as _};

/// The family's name.
pub const FAMILY: &str = "web";
/// Files of all folders together.
const FILES_MAX: usize = 20_000;
/// Faults that are told.
const FAULTS_TOLD_MAX: usize = 100;
/// Tasks that are proven at once.
const AT_ONCE: usize = 4;
/// Time limit of a proof in minutes.
const MINUTES_MAX: u64 = 60;

/// A definition to publish.
pub struct Submission {
    /// `web/name`.
    pub name: String,
    /// The subject; that of the manifest where it is empty.
    pub description: String,
    /// Words to filter by, beside those of the manifest.
    pub tags: Vec<String>,
    /// Files by path.
    pub files: BTreeMap<String, Vec<u8>>,
    /// True if tasks and pages with faults are left out, rather than refusing all.
    pub keep_going: bool,
    /// True if what no solution proves can be trained on.
    pub trust_unproven: bool,
}

/// The part that is stored beside the rows.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    kind: String,
    description: String,
    tags: Vec<String>,
    content: StoredContent,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredContent {
    /// Folders by host and recorded answers; tasks are rows.
    Sites(StoredSites),
    /// Pages that bring their tasks.
    Miniwob(StoredPages),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredSites {
    now_ms: i64,
    sites: BTreeMap<String, BTreeMap<String, Packed>>,
    recorded: Vec<Exchange>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<StoredHost>,
}

impl StoredContent {
    /// The content, for a digest: whatever the way in which it is packed.
    fn content(&self) -> Value {
        match self {
            Self::Sites(StoredSites { now_ms, sites, recorded, hosts }) => {
                let of_site = |files: &BTreeMap<String, Packed>| -> BTreeMap<String, String> {
                    files.iter().map(|(path, file)| (path.clone(), file.digest())).collect()
                };
                let sites: BTreeMap<&String, _> = sites.iter().map(|(host, files)| (host, of_site(files))).collect();
                let of = |exchange: &Exchange| {
                    let Exchange { method, address, body, status, headers, content } = exchange;
                    json!([method, address, body, status, headers, content.digest()])
                };
                let recorded: Vec<_> = recorded.iter().map(of).collect();
                match hosts.is_empty() {
                    true => json!(["sites", now_ms, sites, recorded]),
                    false => json!(["sites", now_ms, sites, recorded, hosts]),
                }
            }
            Self::Miniwob(pages) => json!(["miniwob", pages.content()]),
        }
    }
}

/// Reads a publication and proves it by playing it. Takes long, and is called on the blocking pool; it ends early where nobody waits
/// for it any more.
///
/// # Errors
/// With the first faults.
pub fn parse(submission: Submission, browsers: &Browsers, left: Left) -> Result<Parsed, Vec<Fault>> {
    read_and_proven(submission, browsers, left).map_err(|mut faults| {
        faults.truncate(FAULTS_TOLD_MAX);
        faults
    })
}

fn read_and_proven(mut submission: Submission, browsers: &Browsers, left: Left) -> Result<Parsed, Vec<Fault>> {
    let files = at_top(std::mem::take(&mut submission.files));
    let manifest = match (files.get(MANIFEST), miniwob::found(&files)) {
        (Some(text), _) => manifest::read(text, files.get(TASKS).map(Vec::as_slice))?,
        (None, Some(folder)) => manifest::of_miniwob(folder),
        (None, None) => {
            let detail = format!(
                "the folder has no {MANIFEST}, which names its pages and tasks, nor the layout of MiniWoB++ (core/core.js and miniwob/*.html): write {MANIFEST}"
            );
            return Err(vec![Fault { detail, ..Fault::default() }]);
        }
    };
    if browsers.program().is_err() {
        return Err(vec![Fault { detail: NO_BROWSER.to_owned(), ..Fault::default() }]);
    }
    let draft = Draft::of(submission, manifest, &files)?;
    drop(files);
    let ended = |detail: String| Err(vec![Fault { detail, ..Fault::default() }]);
    tokio::runtime::Handle::current().block_on(async {
        tokio::select! {
            proven = timeout(Duration::from_secs(MINUTES_MAX * 60), draft.proven(browsers)) => {
                proven.unwrap_or_else(|_| ended(format!("proving it took more than {MINUTES_MAX} minutes: publish fewer tasks at once")))
            }
            _ = left => ended("nobody waits for it any more: send it again".to_owned()),
        }
    })
}

/// The files without the one folder that all of them lie in.
fn at_top(files: BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    let top = files.keys().next().and_then(|path| path.split_once('/')).map(|(top, _)| top.to_owned());
    let is_only = |top: &String| {
        files.contains_key(&format!("{top}/{MANIFEST}")) && files.keys().all(|path| below(top, path).is_some())
    };
    let Some(top) = top.filter(is_only) else { return files };
    files.into_iter().filter_map(|(path, bytes)| Some((below(&top, &path)?.to_owned(), bytes))).collect()
}

/// A publication that was read, and is not proven.
struct Draft {
    name: String,
    stored: Stored,
    tasks: Vec<PlacedTask>,
    notes: Vec<String>,
    keep_going: bool,
}

impl Draft {
    fn of(submission: Submission, manifest: Manifest, files: &BTreeMap<String, Vec<u8>>) -> Result<Self, Vec<Fault>> {
        let Submission { name, description, tags, keep_going, trust_unproven, files: _ } = submission;
        let (content, tasks, notes) = match manifest.pages {
            Pages::Miniwob { folder, seconds } => {
                let (pages, notes) = pages(&folder, files)?;
                let pages = StoredPages { seconds, now_ms: manifest.now_ms, trainable: trust_unproven, ..pages };
                (StoredContent::Miniwob(pages), Vec::new(), notes)
            }
            Pages::Sites { sites, recordings, hosts, mut tasks } => {
                let (stored, notes) = sites_of(&sites, &recordings, manifest.now_ms, files)?;
                let stored = StoredSites { hosts, ..stored };
                // Without a solution, only a publisher who answers for them lets them be trained on.
                tasks.iter_mut().for_each(|placed| placed.task.trainable |= trust_unproven);
                (StoredContent::Sites(stored), tasks, notes)
            }
        };
        let description = [description, manifest.description].into_iter().find(|text| !text.is_empty());
        let description = description.unwrap_or_else(|| format!("Web pages that were published as {name}."));
        let tags: BTreeSet<String> = manifest.tags.into_iter().chain(tags).collect();
        let stored = Stored { kind: FAMILY.to_owned(), description, tags: tags.into_iter().collect(), content };
        Ok(Self { name, stored, tasks, notes, keep_going })
    }

    /// The same once it was played, with its faults or without what has some.
    async fn proven(mut self, browsers: &Browsers) -> Result<Parsed, Vec<Fault>> {
        let left_out = match &self.stored.content {
            StoredContent::Miniwob(_) => self.prove_pages(browsers).await?,
            StoredContent::Sites(_) => self.prove_tasks(browsers).await?,
        };
        self.notes.extend(left_out.iter().cloned());
        self.parsed(left_out)
    }

    /// Plays every task. Answers a note for each that is left out.
    async fn prove_tasks(&mut self, browsers: &Browsers) -> Result<Vec<String>, Vec<Fault>> {
        let splits = BTreeMap::from([("train".to_owned(), self.tasks.len() as u64)]);
        let draft = Definition { name: &self.name, version: 1, digest: "", definition: &Value::Null, splits: &splits };
        let StoredContent::Sites(sites) = &mut self.stored.content else { return Ok(Vec::new()) };
        let content = content_of(sites.clone()).map_err(|why| broken(&why))?;
        if let Err((number, why)) = check_admitted(&content.hosts, browsers) {
            return Err(vec![fault(&format!("hosts[{number}]"), why)]);
        }
        let mut faults: Vec<Fault> =
            self.tasks.iter().filter(|task| !starts_here(&content, &task.task)).map(elsewhere).collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        let kind = SiteKind::new(&draft, "", &[], (content, sites.now_ms), browsers.clone());
        let proofs = self.tasks.iter().enumerate().map(|(number, placed)| {
            let row = serde_json::to_value(&placed.task).map_err(|error| error.to_string());
            let kind = &kind;
            async move {
                let task = kind.task("train", number as u64, row?).map_err(|error| error.to_string())?;
                prove::faults(kind, &Arc::new(task)).await
            }
        });
        let proven: Vec<Result<Vec<String>, String>> = futures::stream::iter(proofs).buffered(AT_ONCE).collect().await;
        let (mut left_out, mut kept) = (Vec::new(), Vec::new());
        for (placed, found) in std::mem::take(&mut self.tasks).into_iter().zip(proven) {
            let found = found.map_err(|why| broken(&why))?;
            if found.is_empty() {
                kept.push(placed);
                continue;
            }
            let name = placed.task.id.clone().unwrap_or_else(|| placed.task.instruction.clone());
            left_out.push(format!("left out: {name}: {}", found.join("; ")));
            faults.extend(found.into_iter().map(|detail| placed.place.fault("", detail)));
        }
        if !faults.is_empty() && (!self.keep_going || kept.is_empty()) {
            return Err(faults);
        }
        let unproven = kept.iter().filter(|placed| placed.task.solution.is_none()).count();
        if unproven > 0 {
            let trained = if kept.iter().any(|placed| !placed.task.trainable) { "not " } else { "" };
            self.notes.push(format!("{unproven} tasks have no solution: they are {trained}to be trained on"));
        }
        self.tasks = kept;
        Ok(left_out)
    }

    /// Loads every page. Answers a note for each that cannot be played here.
    async fn prove_pages(&mut self, browsers: &Browsers) -> Result<Vec<String>, Vec<Fault>> {
        let StoredContent::Miniwob(pages) = &mut self.stored.content else { return Ok(Vec::new()) };
        let splits = BTreeMap::new();
        let draft = Definition { name: &self.name, version: 1, digest: "", definition: &Value::Null, splits: &splits };
        let kind = MiniwobKind::new(&draft, "", &[], pages.clone(), browsers.clone());
        let proofs = (0..pages.names.len()).map(|place| kind.faults_of_page(place));
        let proven: Vec<Result<Vec<String>, String>> = futures::stream::iter(proofs).buffered(AT_ONCE).collect().await;
        let (mut left_out, mut kept) = (Vec::new(), Vec::new());
        for (name, found) in std::mem::take(&mut pages.names).into_iter().zip(proven) {
            let found = found.map_err(|why| broken(&why))?;
            if found.is_empty() {
                kept.push(name);
            } else {
                left_out.push(format!("left out: the page {name}: {}", found.join("; ")));
            }
        }
        if kept.is_empty() {
            let told = left_out.iter().map(|why| Fault {
                detail: format!("no page can be played here, choose another folder: {why}"),
                ..Fault::default()
            });
            return Err(told.collect());
        }
        self.notes.push(format!("{} pages are played, {} are left out", kept.len(), left_out.len()));
        pages.names = kept;
        Ok(left_out)
    }

    fn parsed(self, left_out: Vec<String>) -> Result<Parsed, Vec<Fault>> {
        let mut rows: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for placed in &self.tasks {
            let row = serde_json::to_value(&placed.task).map_err(|error| broken(&error.to_string()))?;
            rows.entry(placed.split.clone()).or_default().push(row);
        }
        let splits = match self.stored.content {
            StoredContent::Sites(_) => rows.iter().map(|(split, rows)| (split.clone(), rows.len() as u64)).collect(),
            StoredContent::Miniwob(_) => palestra_environment::spec::GENERATED_SPLITS
                .into_iter()
                .map(|(split, length)| (split.to_owned(), length))
                .collect(),
        };
        let Stored { description, tags, content, .. } = &self.stored;
        let digest = Digest::of_json(&json!([self.name, description, tags, content.content(), rows])).to_string();
        let definition = serde_json::to_value(&self.stored).map_err(|error| broken(&error.to_string()))?;
        Ok(Parsed {
            name: self.name,
            definition,
            splits,
            rows: rows.into_iter().collect(),
            digest,
            notes: self.notes,
            left_out,
            keep_going: self.keep_going,
        })
    }
}

fn broken(why: &str) -> Vec<Fault> {
    vec![Fault { detail: format!("it cannot be proven, publish it again: {why}"), ..Fault::default() }]
}

/// True if the first page of a task is on a host that is there.
fn starts_here(content: &Content, task: &SiteTask) -> bool {
    Url::parse(&task.start).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https") && (content.has_host(&url) || content.live_host(&url).is_some())
    })
}

fn elsewhere(placed: &PlacedTask) -> Fault {
    let detail = format!(
        "{:?} is no address of these pages: name one with http:// or https:// and a host of `sites`, `hosts` or a recording",
        placed.task.start
    );
    placed.place.fault("start", detail)
}

/// The pages of the stored form.
///
/// # Errors
/// In words, when a host is none.
fn content_of(StoredSites { sites, recorded, hosts, .. }: StoredSites) -> Result<Content, String> {
    let hosts = hosts.iter().map(LiveHost::of).collect::<Result<_, _>>()?;
    Ok(Content { sites, recorded: Library::new(recorded), hosts })
}

/// The sizes of files that pages can ask for, counted before each is copied: several hosts may have the same folder.
#[derive(Default)]
struct Sizes {
    files: usize,
    bytes: usize,
}

impl Sizes {
    /// Counts a file.
    ///
    /// # Errors
    /// In words, which bound is passed.
    fn add(&mut self, path: &str, bytes: usize) -> Result<(), String> {
        self.files += 1;
        self.bytes += bytes;
        if bytes > BYTES_MAX {
            return Err(format!("the file {path:?} has more than {BYTES_MAX} bytes: leave it out"));
        }
        if self.files > FILES_MAX {
            return Err(format!("there are more than {FILES_MAX} files: leave some out"));
        }
        if self.bytes > CONTENT_BYTES_MAX {
            return Err(format!("the files have more than {CONTENT_BYTES_MAX} bytes: leave some out"));
        }
        Ok(())
    }
}

/// Files of a folder, by their path below it.
///
/// # Errors
/// In words, which bound is passed.
fn folder(
    name: &str,
    files: &BTreeMap<String, Vec<u8>>,
    sizes: &mut Sizes,
) -> Result<BTreeMap<String, Packed>, String> {
    let below = files.iter().filter_map(|(path, bytes)| Some((below(name, path)?, bytes)));
    below
        .map(|(path, bytes)| {
            sizes.add(path, bytes.len())?;
            Ok((path.to_owned(), Packed(bytes.clone())))
        })
        .collect()
}

fn pages(place: &str, files: &BTreeMap<String, Vec<u8>>) -> Result<(StoredPages, Vec<String>), Vec<Fault>> {
    let files = folder(place, files, &mut Sizes::default()).map_err(|why| vec![fault("miniwob", why)])?;
    let names = miniwob::names(files.keys().map(String::as_str));
    let within_frames =
        files.keys().filter(|path| path.starts_with("flight/") && path.ends_with("/wrapper.html")).count();
    let pages = StoredPages { files, names, seconds: None, now_ms: 0, trainable: false };
    if pages.names.is_empty() || !pages.has_core() {
        let detail = format!("{place:?} has no core/core.js with miniwob/*.html beside it: name the folder of these");
        return Err(vec![fault("miniwob", detail)]);
    }
    let notes = match within_frames {
        0 => Vec::new(),
        count => vec![format!("{count} pages of flight/ are not played: they show other pages within frames")],
    };
    Ok((pages, notes))
}

fn sites_of(
    sites: &BTreeMap<String, String>,
    recordings: &[String],
    now_ms: i64,
    files: &BTreeMap<String, Vec<u8>>,
) -> Result<(StoredSites, Vec<String>), Vec<Fault>> {
    let (mut notes, mut faults) = (Vec::new(), Vec::new());
    let (mut folders, mut sizes) = (BTreeMap::new(), Sizes::default());
    for (host, name) in sites {
        let field = format!("sites.{host}");
        let name = name.trim_end_matches('/');
        // The manifest holds what is right: it never lies among the pages.
        if matches!(name, "" | ".") {
            faults.push(fault(&field, format!("must be a folder beside {MANIFEST}: move the pages into one")));
            continue;
        }
        let found = folder(name, files, &mut sizes).map_err(|why| vec![fault(&field, why)])?;
        if found.is_empty() {
            faults.push(fault(&field, format!("there is no folder {name:?} with files: correct its name")));
        }
        folders.insert(host.clone(), found);
    }
    let mut recorded = Recording::default();
    for (number, name) in recordings.iter().enumerate() {
        let field = format!("recordings[{number}]");
        let Some(bytes) = files.get(name).filter(|_| recording::is_recording(name)) else {
            let detail = format!("there is no recording {name:?}: name a file that ends with .har, .warc or .warc.gz");
            faults.push(fault(&field, detail));
            continue;
        };
        if let Err(detail) = recording::read(name, bytes, &mut recorded) {
            faults.push(Fault { file: Some(name.clone()), field: Some(field), detail, ..Fault::default() });
        }
        notes.extend(recorded.left_out.iter().map(|(why, count)| format!("{name}: not replayed: {count} {why}")));
    }
    if sizes.bytes + recorded.bytes > CONTENT_BYTES_MAX {
        let detail =
            format!("files and recorded answers have more than {CONTENT_BYTES_MAX} bytes together: leave some out");
        faults.push(fault("sites", detail));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let repeats = repeats(&recorded.exchanges);
    if repeats > 0 {
        notes.push(format!("{repeats} requests were recorded again with another answer: the first one is replayed"));
    }
    Ok((StoredSites { now_ms, sites: folders, recorded: recorded.exchanges, hosts: Vec::new() }, notes))
}

/// The kind that a stored publication makes.
///
/// # Errors
/// When it does not have the stored form.
pub fn kind(published: &Definition<'_>, browsers: &Browsers) -> Result<Arc<dyn EnvironmentKind>, String> {
    let Stored { description, tags, content, .. } =
        Stored::deserialize(published.definition).map_err(|error| error.to_string())?;
    Ok(match content {
        StoredContent::Miniwob(pages) => {
            Arc::new(MiniwobKind::new(published, &description, &tags, pages, browsers.clone()))
        }
        StoredContent::Sites(sites) => {
            let now_ms = sites.now_ms;
            Arc::new(SiteKind::new(published, &description, &tags, (content_of(sites)?, now_ms), browsers.clone()))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(paths: &[(&str, usize)]) -> BTreeMap<String, Vec<u8>> {
        paths.iter().map(|(path, bytes)| ((*path).to_owned(), vec![0; *bytes])).collect()
    }

    #[test]
    fn files_are_counted_before_they_are_copied() {
        let large = files(&[("a/1", BYTES_MAX), ("a/2", 1), ("b/1", BYTES_MAX + 1)]);
        let hosts = |hosts: usize, folder: &str| {
            let sites = (0..hosts).map(|host| (format!("{host}.test"), folder.to_owned())).collect();
            sites_of(&sites, &[], 0, &large).map(|_| ()).map_err(|faults| faults[0].detail.clone())
        };
        assert_eq!(hosts(1, "a"), Ok(()));
        assert!(hosts(2, "a").unwrap_err().contains("the files have more than"));
        assert!(hosts(1, "b").unwrap_err().contains("the file \"1\" has more than"));
        let mut sizes = Sizes { files: FILES_MAX - 1, bytes: 0 };
        assert_eq!(sizes.add("a", 0), Ok(()));
        assert!(sizes.add("b", 0).unwrap_err().contains("files: leave some out"));
    }

    #[test]
    fn the_one_folder_around_all_is_left_out_where_it_holds_a_manifest() {
        let top = |paths: &[(&str, usize)]| at_top(files(paths)).into_keys().collect::<Vec<_>>();
        assert_eq!(top(&[("a/web.yaml", 0), ("a/b/c", 0)]), ["b/c", "web.yaml"]);
        for beside in ["a0", "b", "b/c", "ab/c"] {
            assert_eq!(top(&[("a/web.yaml", 0), (beside, 0)]).len(), 2);
            assert!(top(&[("a/web.yaml", 0), (beside, 0)]).contains(&"a/web.yaml".to_owned()), "{beside}");
        }
        assert_eq!(top(&[("a/b", 0)]), ["a/b"]);
        assert!(top(&[]).is_empty());
    }
}
