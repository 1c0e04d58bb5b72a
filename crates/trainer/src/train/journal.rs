//! Journal of a training: numbers per step, progress, checkpoints, curves, and at the end the policy.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::time::Instant;

use palestra_protocol::id::PolicyId;
use palestra_protocol::job::{Checkpoint, CheckpointPolicy, Progress};
use palestra_protocol::spec::train::Train;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Context;
use crate::curves::{self, Series};
use crate::failure::TrainerError;
use crate::reporter::Reporter;

/// Folder of the trained low-rank parts, and of the artefacts that they become.
pub(super) const ADAPTER_FOLDER: &str = "adapter";
/// Folder of a policy, and of the artefacts that its files become.
pub(super) const POLICY_FOLDER: &str = "policy";
/// Bytes of two files that are compared at a time.
const COMPARED_BYTES: usize = 1 << 20;
/// Points of a curve that are kept in a checkpoint; of longer ones every second goes.
const POINTS_MAX: usize = 4_096;
/// Curves that are drawn, in this order.
const DRAWN: &[&str] = &[
    "reward_mean",
    "solve_rate",
    "evaluate/solve_rate",
    "evaluate/score",
    "validation_loss",
    "loss",
    "value_loss",
    "explained_variance",
    "entropy",
    "kl",
    "grad_norm",
];

/// Numbers of one step, by name.
pub(super) type Values = BTreeMap<String, f64>;

/// A policy in a folder, with where it comes from.
pub(super) struct PolicyFolder {
    /// Its files.
    pub(super) folder: PathBuf,
    /// The registered policy that it was made from.
    pub(super) parent: Option<PolicyId>,
    /// `mlp` or `transformer`.
    pub(super) architecture: &'static str,
    /// Where it was trained.
    pub(super) environments: Vec<String>,
}

/// Records the progress of a training.
pub(super) struct Journal<'a> {
    context: &'a Context,
    steps: u64,
    keep: usize,
    every: u64,
    began: Instant,
    /// Where this attempt began.
    first: u64,
    history: History,
    /// Steps of the checkpoints that are kept, with their artefacts.
    kept: Vec<(u64, Vec<String>)>,
}

/// Curves so far: part of a checkpoint.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct History(BTreeMap<String, Vec<(u64, f64)>>);

impl History {
    fn add(&mut self, step: u64, values: &Values) {
        for (name, value) in values {
            let points = self.0.entry(name.clone()).or_default();
            points.push((step, *value));
            if points.len() > POINTS_MAX {
                let mut position = 0;
                points.retain(|_| {
                    position += 1;
                    position % 2 == 1
                });
            }
        }
    }

    /// The last value of each curve.
    #[must_use]
    pub(super) fn last(&self) -> Values {
        self.0.iter().filter_map(|(name, points)| points.last().map(|(_, value)| (name.clone(), *value))).collect()
    }
}

impl<'a> Journal<'a> {
    /// Begins at `first`, with the curves up to there and the checkpoints of former attempts.
    ///
    /// # Errors
    /// When those cannot be asked for, or the work has to stop.
    pub(super) fn begin(
        spec: &Train,
        context: &'a Context,
        first: u64,
        history: History,
    ) -> Result<Self, TrainerError> {
        let former =
            if context.checkpoint.is_some() { context.files.checkpoints(context.reporter.job())? } else { Vec::new() };
        let journal = Self {
            context,
            steps: spec.steps,
            keep: spec.checkpoint.keep as usize,
            every: spec.checkpoint.every,
            began: Instant::now(),
            first,
            history,
            kept: former_files(&former),
        };
        context.reporter.set_progress(journal.progress(first));
        Ok(journal)
    }

    /// The curves so far.
    #[must_use]
    pub(super) const fn history(&self) -> &History {
        &self.history
    }

    /// Tells of the numbers after `done` updates.
    ///
    /// # Errors
    /// When the work has to stop.
    pub(super) fn step(&mut self, done: u64, values: &Values) -> Result<(), TrainerError> {
        // JSON has no NaN: what could not be measured is left out.
        let finite: Values =
            values.iter().filter(|(_, value)| value.is_finite()).map(|(name, value)| (name.clone(), *value)).collect();
        self.history.add(done, &finite);
        let progress = self.progress(done);
        self.context.reporter.set_progress(progress.clone());
        self.context.reporter.report(vec![Reporter::metric_event(done, &finite), Reporter::progress_event(&progress)])
    }

    fn progress(&self, done: u64) -> Progress {
        let here = done.saturating_sub(self.first);
        let pace = self.began.elapsed().as_secs_f64() * 1_000.0 / here.max(1) as f64;
        let remaining_ms = (here > 0).then(|| (pace * self.steps.saturating_sub(done) as f64) as u64);
        Progress { done, total: self.steps, unit: "steps".to_owned(), message: None, remaining_ms }
    }

    /// True if a checkpoint is due after `done` updates.
    #[must_use]
    pub(super) const fn is_due(&self, done: u64) -> bool {
        done.is_multiple_of(self.every) || done == self.steps
    }

    /// Keeps the files of a checkpoint folder with its policy, and drops those of checkpoints that are too old.
    ///
    /// # Errors
    /// When they cannot be kept, or the work has to stop.
    pub(super) fn keep(&mut self, done: u64, folder: &Path, policy: &PolicyFolder) -> Result<(), TrainerError> {
        let prefix = format!("checkpoints/{done:08}");
        let mut names = self.upload(folder, &prefix)?;
        let (mut artifacts, mut own) = (Vec::new(), Vec::new());
        for (plain, path) in files_in(&policy.folder)? {
            // Weights without low-rank parts and value head are those of the checkpoint: they are sent once.
            if equal_files(&path, &folder.join(&plain))? {
                artifacts.push(format!("{prefix}/{plain}"));
            } else {
                let name = format!("{prefix}/{POLICY_FOLDER}/{plain}");
                self.context.reporter.upload(&name, &path)?;
                own.push(name);
            }
        }
        artifacts.extend(own.iter().cloned());
        names.extend(own);
        self.context.reporter.checkpoint(done, &names, &self.described(policy, artifacts))?;
        self.kept.retain(|(step, _)| *step != done);
        self.kept.push((done, names));
        while self.kept.len() > self.keep {
            let (_, old) = self.kept.remove(0);
            for name in old {
                self.context.reporter.delete(&name)?;
            }
        }
        Ok(())
    }

    fn upload(&self, folder: &Path, prefix: &str) -> Result<Vec<String>, TrainerError> {
        let mut names = Vec::new();
        for (plain, path) in files_in(folder)? {
            let name = format!("{prefix}/{plain}");
            self.context.reporter.upload(&name, &path)?;
            names.push(name);
        }
        Ok(names)
    }

    /// A policy with its latest measurements, as the queue is told of it.
    fn described(&self, policy: &PolicyFolder, artifacts: Vec<String>) -> CheckpointPolicy {
        CheckpointPolicy {
            parent: policy.parent,
            architecture: policy.architecture.to_owned(),
            environments: policy.environments.clone(),
            metrics: self.history.last().into_iter().map(|(name, value)| (name, json!(value))).collect(),
            artifacts,
        }
    }

    /// Draws the curves, keeps and registers the policy, and answers the job's result.
    ///
    /// # Errors
    /// When they cannot be kept, or the work has to stop.
    pub(super) fn finish(&self, policy: &PolicyFolder, scratch: &Path) -> Result<Value, TrainerError> {
        self.draw(scratch)?;
        let adapter = scratch.join(ADAPTER_FOLDER);
        if adapter.is_dir() {
            self.upload(&adapter, ADAPTER_FOLDER)?;
        }
        let names = self.upload(&policy.folder, POLICY_FOLDER)?;
        let described = self.described(policy, names);
        let policy = self.context.reporter.register(PolicyId::new(), described)?;
        Ok(json!({"policy": policy.id, "steps": self.steps, "metrics": self.history.last()}))
    }

    fn draw(&self, scratch: &Path) -> Result<(), TrainerError> {
        for name in DRAWN {
            let Some(points) = self.history.0.get(*name).filter(|points| !points.is_empty()) else { continue };
            let series = Series {
                name: (*name).to_owned(),
                points: points.iter().map(|(step, value)| (*step as f64, *value)).collect(),
            };
            let file = format!("{}.svg", name.replace('/', "-"));
            let path = scratch.join(&file);
            std::fs::write(&path, curves::draw(name, &[series])?)
                .map_err(TrainerError::io(path.display().to_string()))?;
            self.context.reporter.upload(&format!("curves/{file}"), &path)?;
        }
        Ok(())
    }
}

/// Files in a folder with their names, in order.
fn files_in(folder: &Path) -> Result<Vec<(String, PathBuf)>, TrainerError> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>())
        .map_err(TrainerError::io(folder.display().to_string()))?;
    paths.sort();
    paths.retain(|path| path.is_file());
    let named = paths.into_iter().filter_map(|path| Some((path.file_name()?.to_str()?.to_owned(), path)));
    Ok(named.collect())
}

/// True if both files are there with the same bytes.
fn equal_files(one: &Path, other: &Path) -> Result<bool, TrainerError> {
    let compare = || -> std::io::Result<bool> {
        if !other.is_file() || std::fs::metadata(one)?.len() != std::fs::metadata(other)?.len() {
            return Ok(false);
        }
        let open = |path| Ok::<_, std::io::Error>(BufReader::with_capacity(COMPARED_BYTES, File::open(path)?));
        let (mut one, mut other) = (open(one)?, open(other)?);
        loop {
            let (left, right) = (one.fill_buf()?, other.fill_buf()?);
            let both = left.len().min(right.len());
            if left[..both] != right[..both] {
                return Ok(false);
            }
            if both == 0 {
                return Ok(true);
            }
            one.consume(both);
            other.consume(both);
        }
    };
    compare().map_err(TrainerError::io(format!("comparing {}", one.display())))
}

/// Steps of checkpoints with their artefacts, oldest first; of two after the same step the later one counts, since its files took the
/// place of the other's.
fn former_files(former: &[Checkpoint]) -> Vec<(u64, Vec<String>)> {
    let mut files: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for checkpoint in former {
        files.insert(checkpoint.step, checkpoint.artifacts.iter().map(|artifact| artifact.name.clone()).collect());
    }
    files.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use palestra_protocol::job::Artifact;
    use palestra_protocol::time::Timestamp;

    use super::*;

    #[test]
    fn every_checkpoint_of_former_attempts_is_known_once() {
        let at = Timestamp::from_milliseconds(0);
        let former = |step, attempt, name: &str| {
            let file = Artifact { name: name.to_owned(), digest: "sha256:".to_owned(), size_bytes: 1, created_at: at };
            Checkpoint { step, attempt, artifacts: vec![file], policy: None, created_at: at }
        };
        let known = former_files(&[former(20, 1, "first"), former(40, 1, "broken"), former(40, 2, "again")]);
        assert_eq!(known, [(20, vec!["first".to_owned()]), (40, vec!["again".to_owned()])]);
        assert!(former_files(&[]).is_empty());
    }

    #[test]
    fn files_are_equal_where_every_byte_is() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = vec![7_u8; COMPARED_BYTES + 5];
        let mut altered = bytes.clone();
        altered[COMPARED_BYTES + 1] = 8;
        for (name, content) in [("a", &bytes[..]), ("same", &bytes), ("altered", &altered), ("short", &bytes[1..])] {
            std::fs::write(folder.path().join(name), content).unwrap();
        }
        let equal = |name| equal_files(&folder.path().join("a"), &folder.path().join(name)).unwrap();
        assert!(equal("same"));
        assert!(!equal("altered") && !equal("short") && !equal("missing"));
    }

    #[test]
    fn long_curves_are_thinned_and_keep_their_end() {
        let mut history = History::default();
        for step in 0..10_000 {
            history.add(step, &Values::from([("loss".to_owned(), step as f64)]));
        }
        assert!(history.0["loss"].len() <= POINTS_MAX);
        assert_eq!(history.0["loss"][0], (0, 0.0));
        assert_eq!(history.last()["loss"], 9_999.0);
    }
}
