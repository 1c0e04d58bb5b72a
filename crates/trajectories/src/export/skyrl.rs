//! SkyRL: a `GeneratorOutput` for each rollout, with a row for each path, as `skyrl.train.generators` reads it.
//!
//! `rewards` holds numbers alone, so a rollout without a reward is left out.

use std::collections::HashMap;

use serde::Serialize;

use super::view::View;
use super::{Form, FormError, Tally, write_line};

/// The number of rollouts of each instance that were written.
#[derive(Default)]
pub(super) struct Skyrl {
    repetitions: HashMap<String, u64>,
}

#[derive(Serialize)]
struct GeneratorOutput<'a> {
    prompt_token_ids: Vec<&'a [u32]>,
    response_ids: Vec<&'a [u32]>,
    rewards: Vec<f64>,
    loss_masks: Vec<&'a [u8]>,
    stop_reasons: Vec<&'a str>,
    rollout_metrics: Option<()>,
    rollout_logprobs: Option<Vec<&'a [f32]>>,
    trajectory_ids: Vec<TrajectoryId<'a>>,
    /// True for the last path of the rollout, as training by steps asks for.
    is_last_step: Vec<bool>,
}

#[derive(Clone, Copy, Serialize)]
struct TrajectoryId<'a> {
    instance_id: &'a str,
    repetition_id: u64,
}

impl Form for Skyrl {
    fn push(&mut self, view: &View<'_>, tally: &mut Tally, out: &mut Vec<u8>) -> Result<(), FormError> {
        let Some(reward) = view.rollout.reward() else {
            tally.rollouts_left_out += 1;
            return Ok(());
        };
        let paths = view.trained_paths(tally, |_| true);
        if paths.is_empty() {
            return Ok(());
        }
        let episode = &view.rollout.trajectory.episode;
        let instance_id = episode
            .group
            .map_or_else(|| format!("{} {}", episode.environment, episode.task), |group| group.to_string());
        let repetition = self.repetitions.entry(instance_id.clone()).or_default();
        let id = TrajectoryId { instance_id: &instance_id, repetition_id: *repetition };
        *repetition += 1;
        let paths = || paths.iter().map(|(_, path)| path);
        write_line(
            &GeneratorOutput {
                prompt_token_ids: paths().map(|path| &path.token_ids[..path.prompt_len()]).collect(),
                response_ids: paths().map(|path| &path.token_ids[path.prompt_len()..]).collect(),
                rewards: paths().map(|_| reward).collect(),
                loss_masks: paths().map(|path| &path.mask[path.prompt_len()..]).collect(),
                stop_reasons: paths().map(|path| view.stop_reason(path)).collect(),
                rollout_metrics: None,
                rollout_logprobs: paths().map(|path| Some(&path.logprobs.as_deref()?[path.prompt_len()..])).collect(),
                trajectory_ids: paths().map(|_| id).collect(),
                is_last_step: paths().skip(1).map(|_| false).chain([true]).collect(),
            },
            out,
        )?;
        tally.records += 1;
        Ok(())
    }
}
