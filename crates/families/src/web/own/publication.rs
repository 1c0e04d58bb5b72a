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
use super::manifest::{self, MANIFEST, Manifest, Pages, PlacedTask, TASKS, fault};
use super::miniwob::{self, MiniwobKind, StoredPages};
use super::packed::{BYTES_MAX, Packed};
use super::prove;
use super::recording::{self, Exchange, Library, Recording};
use super::site::SiteKind;
use super::task::SiteTask;
use crate::browsed::NO_BROWSER;
use crate::definition::{Definition, Left, Parsed};
use palestra_environment::state::Digest;
use palestra_environment::{EnvironmentKind, TaskRows as _};

/// The family's name.
pub const FAMILY: &str = "web";
/// Bytes of everything that pages can ask for.
const CONTENT_BYTES_MAX: usize = 64 << 20;
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

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredSites {
    now_ms: i64,
    sites: BTreeMap<String, BTreeMap<String, Packed>>,
    recorded: Vec<Exchange>,
}

impl StoredContent {
    /// The content, for a digest: whatever the way in which it is packed.
    fn content(&self) -> Value {
        match self {
            Self::Sites(StoredSites { now_ms, sites, recorded }) => {
                let of_site = |files: &BTreeMap<String, Packed>| -> BTreeMap<String, String> {
                    files.iter().map(|(path, file)| (path.clone(), file.digest())).collect()
                };
                let sites: BTreeMap<&String, _> = sites.iter().map(|(host, files)| (host, of_site(files))).collect();
                let of = |exchange: &Exchange| {
                    let Exchange { method, address, body, status, headers, content } = exchange;
                    json!([method, address, body, status, headers, content.digest()])
                };
                json!(["sites", now_ms, sites, recorded.iter().map(of).collect::<Vec<_>>()])
            }
            Self::Miniwob(pages) => json!(["miniwob", pages.content()]),
        }
    }
}

/// Reads a publication and proves it by playing it. Takes long, and is called on the blocking pool; it ends early where nobody waits
/// for it any more.
///
/// # Errors
/// With every fault.
pub fn parse(submission: &Submission, browsers: &Browsers, left: Left) -> Result<Parsed, Vec<Fault>> {
    let files = at_top(&submission.files);
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
    let draft = Draft::of(submission, &manifest, &files)?;
    let ended = |detail: String| Err(vec![Fault { detail, ..Fault::default() }]);
    let mut faults = tokio::runtime::Handle::current().block_on(async {
        tokio::select! {
            proven = timeout(Duration::from_secs(MINUTES_MAX * 60), draft.proven(browsers)) => {
                proven.unwrap_or_else(|_| ended(format!("proving it took more than {MINUTES_MAX} minutes: publish fewer tasks at once")))
            }
            _ = left => ended("nobody waits for it any more: send it again".to_owned()),
        }
    });
    if let Err(faults) = &mut faults {
        faults.truncate(FAULTS_TOLD_MAX);
    }
    faults
}

/// The files without the one folder that all of them lie in.
fn at_top(files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    let folders: BTreeSet<Option<&str>> = files.keys().map(|path| path.split_once('/').map(|(top, _)| top)).collect();
    let only = folders.iter().next().copied().flatten().filter(|_| folders.len() == 1);
    let inside = |path: &String| only.and_then(|top| miniwob::below(top, path)).unwrap_or(path).to_owned();
    let has_manifest = only.is_some_and(|top| files.contains_key(&format!("{top}/{MANIFEST}")));
    if has_manifest { files.iter().map(|(path, bytes)| (inside(path), bytes.clone())).collect() } else { files.clone() }
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
    fn of(submission: &Submission, manifest: &Manifest, files: &BTreeMap<String, Vec<u8>>) -> Result<Self, Vec<Fault>> {
        let (content, tasks, notes) = match &manifest.pages {
            Pages::Miniwob { folder, seconds } => {
                let (pages, notes) = pages(folder, files)?;
                let trainable = submission.trust_unproven;
                let pages = StoredPages { seconds: *seconds, now_ms: manifest.now_ms, trainable, ..pages };
                (StoredContent::Miniwob(pages), Vec::new(), notes)
            }
            Pages::Sites { sites, recordings, tasks } => {
                let (stored, notes) = sites_of(sites, recordings, manifest.now_ms, files)?;
                let tasks = placed(tasks, submission.trust_unproven);
                (StoredContent::Sites(stored), tasks, notes)
            }
        };
        let description = [&submission.description, &manifest.description].into_iter().find(|text| !text.is_empty());
        let description =
            description.cloned().unwrap_or_else(|| format!("Web pages that were published as {}.", submission.name));
        let tags: BTreeSet<&String> = manifest.tags.iter().chain(&submission.tags).collect();
        let stored =
            Stored { kind: FAMILY.to_owned(), description, tags: tags.into_iter().cloned().collect(), content };
        Ok(Self { name: submission.name.clone(), stored, tasks, notes, keep_going: submission.keep_going })
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
        let content = content(sites);
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
        let proofs = pages.names.iter().map(|name| kind.faults(name));
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

/// Tasks as they are stored: without a solution, only a publisher who answers for them lets them be trained on.
fn placed(tasks: &[PlacedTask], trust_unproven: bool) -> Vec<PlacedTask> {
    let trusted = |task: &SiteTask| SiteTask { trainable: task.trainable || trust_unproven, ..task.clone() };
    tasks
        .iter()
        .map(|placed| PlacedTask { split: placed.split.clone(), task: trusted(&placed.task), place: placed.place })
        .collect()
}

/// True if the first page of a task is on a host that is there.
fn starts_here(content: &Content, task: &SiteTask) -> bool {
    Url::parse(&task.start).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && content.has_host(&url))
}

fn elsewhere(placed: &PlacedTask) -> Fault {
    let detail = format!(
        "{:?} is no address of these pages: name one with http:// or https:// and a host of `sites` or of a recording",
        placed.task.start
    );
    placed.place.fault("start", detail)
}

/// The pages of the stored form.
fn content(stored: &StoredSites) -> Content {
    Content { sites: stored.sites.clone(), recorded: Library::new(stored.recorded.clone()) }
}

/// Files of a folder, by their path below it.
fn folder(name: &str, files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Packed> {
    let below = files.iter().filter_map(|(path, bytes)| Some((miniwob::below(name, path)?, bytes)));
    below.map(|(path, bytes)| (path.to_owned(), Packed(bytes.clone()))).collect()
}

/// The faults of sizes.
fn too_large<'f>(field: &str, files: impl Iterator<Item = &'f Packed>) -> Vec<Fault> {
    let (mut count, mut bytes, mut largest) = (0, 0, 0);
    for file in files {
        (count, bytes, largest) = (count + 1, bytes + file.0.len(), largest.max(file.0.len()));
    }
    let bounds = [
        (count > FILES_MAX, format!("there are more than {FILES_MAX} files: leave some out")),
        (bytes > CONTENT_BYTES_MAX, format!("there are more than {CONTENT_BYTES_MAX} bytes: leave some out")),
        (largest > BYTES_MAX, format!("a file has more than {BYTES_MAX} bytes: leave it out")),
    ];
    bounds.into_iter().filter(|(is_over, _)| *is_over).map(|(_, detail)| fault(field, detail)).collect()
}

fn pages(place: &str, files: &BTreeMap<String, Vec<u8>>) -> Result<(StoredPages, Vec<String>), Vec<Fault>> {
    let files = folder(place, files);
    let names = miniwob::names(files.keys().map(String::as_str));
    let within_frames =
        files.keys().filter(|path| path.starts_with("flight/") && path.ends_with("/wrapper.html")).count();
    let pages = StoredPages { files, names, seconds: None, now_ms: 0, trainable: false };
    if pages.names.is_empty() || !pages.has_core() {
        let detail = format!("{place:?} has no core/core.js with miniwob/*.html beside it: name the folder of these");
        return Err(vec![fault("miniwob", detail)]);
    }
    let faults = too_large("miniwob", pages.files.values());
    if !faults.is_empty() {
        return Err(faults);
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
    let (mut stored, mut notes, mut faults) =
        (StoredSites { now_ms, sites: BTreeMap::new(), recorded: Vec::new() }, Vec::new(), Vec::new());
    for (host, name) in sites {
        let name = name.trim_end_matches('/');
        // The manifest holds what is right: it never lies among the pages.
        if matches!(name, "" | ".") {
            faults.push(fault(
                &format!("sites.{host}"),
                format!("must be a folder beside {MANIFEST}: move the pages into one"),
            ));
            continue;
        }
        let found = folder(name, files);
        if found.is_empty() {
            faults.push(fault(
                &format!("sites.{host}"),
                format!("there is no folder {name:?} with files: correct its name"),
            ));
        }
        stored.sites.insert(host.clone(), found);
    }
    for (number, name) in recordings.iter().enumerate() {
        let field = format!("recordings[{number}]");
        let bytes = files.get(name).filter(|_| recording::is_recording(name));
        let Some(bytes) = bytes else {
            let detail = format!("there is no recording {name:?}: name a file that ends with .har, .warc or .warc.gz");
            faults.push(fault(&field, detail));
            continue;
        };
        match recording::read(name, bytes) {
            Ok(Recording { exchanges, left_out }) => {
                notes.extend(left_out.into_iter().map(|(why, count)| format!("{name}: not replayed: {count} {why}")));
                stored.recorded.extend(exchanges);
            }
            Err(detail) => {
                faults.push(Fault { file: Some(name.clone()), field: Some(field), detail, ..Fault::default() });
            }
        }
    }
    let all = stored.sites.values().flat_map(BTreeMap::values);
    let recorded = stored.recorded.iter().map(|exchange| &exchange.content);
    faults.extend(too_large("sites", all.chain(recorded)));
    if !faults.is_empty() {
        return Err(faults);
    }
    let repeats = Library::new(stored.recorded.clone()).repeats();
    if repeats > 0 {
        notes.push(format!("{repeats} requests were recorded again with another answer: the first one is replayed"));
    }
    Ok((stored, notes))
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
        StoredContent::Sites(StoredSites { now_ms, sites, recorded }) => {
            let content = Content { sites, recorded: Library::new(recorded) };
            Arc::new(SiteKind::new(published, &description, &tags, (content, now_ms), browsers.clone()))
        }
    })
}
