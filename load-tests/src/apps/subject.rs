//! An app to measure: from its folder, with tasks that were drawn and calls that solve them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use palestra_apps::app::{App, Callable};
use palestra_apps::draw::instantiate;
use palestra_apps::task::episode::Episode;
use palestra_apps::task::instance::Instance;
use serde_json::{Map, Value};

/// Tables of 10,000 rows.
const LEDGER: &str = include_str!("ledger.yaml");

/// A call of a tool.
pub(crate) type Call = (Arc<str>, Map<String, Value>);

/// A task, and the moment in it at which something is written first.
pub(crate) struct Moment {
    pub(crate) instance: Arc<Instance>,
    /// Just before the write.
    pub(crate) ready: Episode,
    pub(crate) write: Call,
    /// Reads that come before.
    pub(crate) reads: Vec<Call>,
    /// After the whole solution.
    pub(crate) solved: Episode,
}

/// An app with some of its tasks.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) app: Arc<App>,
    /// Bytes of the whole state as JSON.
    pub(crate) state_bytes: usize,
    pub(crate) rows: usize,
    pub(crate) moments: Vec<Moment>,
}

impl Subject {
    /// The app whose tables have 10,000 rows.
    ///
    /// # Errors
    /// When it cannot be compiled or its tasks cannot be drawn.
    pub(crate) fn ledger(tasks: usize) -> anyhow::Result<Self> {
        Self::new(&BTreeMap::from([("app.yaml".to_owned(), LEDGER.to_owned())]), tasks)
    }

    /// The app of a folder.
    ///
    /// # Errors
    /// As [`Subject::ledger`], and when files cannot be read.
    pub(crate) fn read(folder: &Path, tasks: usize) -> anyhow::Result<Self> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                files.insert(name, fs::read_to_string(&path)?);
            }
        }
        Self::new(&files, tasks)
    }

    fn new(files: &BTreeMap<String, String>, tasks: usize) -> anyhow::Result<Self> {
        let app = App::load(files).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            anyhow::anyhow!("{}", faults.join("\n"))
        })?;
        let mut moments = Vec::new();
        for seed in 0.. {
            // Tasks that nothing is written in, such as infeasible twins, have no such moment.
            ensure!(seed < 50 * tasks as u64, "{} has too few tasks that write", app.name);
            moments.extend(Moment::find(&app, seed)?);
            if moments.len() == tasks {
                break;
            }
        }
        let document = moments[0].instance.data.document().to_value();
        let rows =
            document.as_object().map_or(0, |tables| tables.values().filter_map(Value::as_object).map(Map::len).sum());
        Ok(Self { name: app.name.to_string(), state_bytes: document.to_string().len(), rows, moments, app })
    }

    /// A task that was not drawn before.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub(crate) fn task(&self, seed: u64) -> anyhow::Result<Arc<Instance>> {
        instantiate(&self.app, "measured", seed, &|_| true).map_err(anyhow::Error::msg)
    }
}

impl Moment {
    /// The first write of the solution of a seed's task; none where it writes nothing.
    fn find(app: &Arc<App>, seed: u64) -> anyhow::Result<Option<Self>> {
        let instance = instantiate(app, "train", seed, &|_| true).map_err(anyhow::Error::msg)?;
        let mut episode = Episode::begin(&instance, seed)?;
        let (mut found, mut reads) = (None, Vec::new());
        for call in instance.solution() {
            let call: Call = (Arc::from(&*call.name), call.arguments.clone());
            match app.calls.get(&call.0) {
                Some(Callable::Action(place)) if found.is_none() && app.actions[*place].writes() => {
                    found = Some((episode.clone(), call.clone()));
                }
                Some(Callable::View(_)) if found.is_none() => reads.push(call.clone()),
                _ => {}
            }
            episode.perform(&call.0, &call.1)?;
        }
        Ok(found.map(|(ready, write)| Self { instance, ready, write, reads, solved: episode }))
    }
}
