//! A rollout as exports see it: its graph, its calls by id, and the labels that every record carries.

use std::collections::{BTreeSet, HashMap};

use palestra_protocol::id::{CallId, EpisodeId, GroupId, RunId, SessionId};
use palestra_protocol::model_call::ModelCall;
use palestra_protocol::verdict::Status;
use serde::Serialize;

use super::Tally;
use crate::Rollout;
use crate::graph::{Finish, Graph, Path};

/// A rollout with its graph.
pub(super) struct View<'a> {
    pub(super) rollout: &'a Rollout,
    pub(super) graph: Graph,
    calls: HashMap<CallId, &'a ModelCall>,
}

/// Where a record comes from and how it was judged.
#[derive(Serialize)]
pub(super) struct Labels<'a> {
    pub(super) session: SessionId,
    pub(super) episode: EpisodeId,
    pub(super) run: Option<RunId>,
    pub(super) group: Option<GroupId>,
    pub(super) environment: &'a str,
    pub(super) task: &'a str,
    /// Null where there is no verdict.
    pub(super) status: Option<Status>,
    /// Null unless the episode was scored.
    pub(super) score: Option<f64>,
    /// Null unless a trainer may learn from it.
    pub(super) reward: Option<f64>,
}

/// Where a path comes from.
#[derive(Serialize)]
pub(super) struct PathLabels<'a> {
    #[serde(flatten)]
    pub(super) labels: Labels<'a>,
    /// The place of the path in its rollout, from 0.
    pub(super) path: usize,
    pub(super) calls: &'a [CallId],
    pub(super) policy_versions: BTreeSet<&'a str>,
}

impl<'a> View<'a> {
    pub(super) fn of(rollout: &'a Rollout) -> Self {
        let calls = rollout.calls.iter().map(|call| (call.id, call)).collect();
        Self { rollout, graph: Graph::of(rollout), calls }
    }

    pub(super) fn labels(&self) -> Labels<'a> {
        let episode = &self.rollout.trajectory.episode;
        Labels {
            session: episode.session,
            episode: episode.id,
            run: episode.run,
            group: episode.group,
            environment: &episode.environment,
            task: &episode.task,
            status: episode.verdict.as_ref().map(|verdict| verdict.status),
            score: self.rollout.score(),
            reward: self.rollout.reward(),
        }
    }

    pub(super) fn path_labels<'b>(&'b self, place: usize, path: &'b Path) -> PathLabels<'b> {
        PathLabels {
            labels: self.labels(),
            path: place,
            calls: &path.calls,
            policy_versions: self.calls_on(path).filter_map(|call| call.policy_version.as_deref()).collect(),
        }
    }

    /// The calls on a path, from the root on.
    pub(super) fn calls_on<'b>(&'b self, path: &'b Path) -> impl DoubleEndedIterator<Item = &'a ModelCall> + 'b {
        path.calls.iter().filter_map(|id| self.calls.get(id).copied())
    }

    /// A call of the rollout.
    pub(super) fn call(&self, id: CallId) -> Option<&'a ModelCall> {
        self.calls.get(&id).copied()
    }

    /// Why the last call of a path ended, as engines word it.
    pub(super) fn stop_reason(&self, path: &Path) -> &'a str {
        let word = self.calls_on(path).next_back().and_then(|call| call.finish_reason.as_deref());
        match Finish::of(word) {
            Finish::Stop | Finish::ToolCalls => "stop",
            Finish::Length => "length",
            Finish::Withheld => "abort",
            Finish::Unknown => word.unwrap_or("unknown"),
        }
    }

    /// Counts of the paths with trained tokens those that `admits` refuses, and gives the others with their places.
    pub(super) fn trained_paths(&self, tally: &mut Tally, admits: impl Fn(&Path) -> bool) -> Vec<(usize, Path)> {
        let mut paths = Vec::new();
        for (place, path) in self.graph.paths().enumerate() {
            if path.trained() > 0 && admits(&path) {
                tally.tokens_trained += path.trained() as u64;
                paths.push((place, path));
            } else {
                tally.paths_left_out += 1;
            }
        }
        tally.rollouts_left_out += u64::from(paths.is_empty());
        paths
    }
}
