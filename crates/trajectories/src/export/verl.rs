//! verl: an `AgentLoopOutput` for each path, as `verl.experimental.agent_loop` reads it.
//!
//! verl computes a reward itself where `reward_score` is null, so a rollout without one is left out.

use serde::Serialize;

use super::view::{PathLabels, View};
use super::{Form, FormError, Tally, write_line};

pub(super) struct Verl;

#[derive(Serialize)]
struct AgentLoopOutput<'a> {
    prompt_ids: &'a [u32],
    response_ids: &'a [u32],
    response_mask: &'a [u8],
    response_logprobs: Option<&'a [f32]>,
    reward_score: f64,
    /// Turns of all sides: each call answers one.
    num_turns: usize,
    metrics: AgentLoopMetrics,
    extra_fields: PathLabels<'a>,
}

#[derive(Serialize)]
struct AgentLoopMetrics {
    /// Seconds of sampling.
    generate_sequences: f64,
}

impl Form for Verl {
    fn push(&mut self, view: &View<'_>, tally: &mut Tally, out: &mut Vec<u8>) -> Result<(), FormError> {
        let Some(reward_score) = view.rollout.reward() else {
            tally.rollouts_left_out += 1;
            return Ok(());
        };
        for (place, path) in view.trained_paths(tally, |_| true) {
            let (prompt_ids, response_ids) = path.token_ids.split_at(path.prompt_len());
            let sampling_us: u64 = view.calls_on(&path).map(|call| call.duration_us).sum();
            #[expect(clippy::cast_precision_loss, reason = "2^53 microseconds are 285 years")]
            let generate_sequences = sampling_us as f64 / 1e6;
            write_line(
                &AgentLoopOutput {
                    prompt_ids,
                    response_ids,
                    response_mask: &path.mask[path.prompt_len()..],
                    response_logprobs: path.logprobs.as_deref().map(|logprobs| &logprobs[path.prompt_len()..]),
                    reward_score,
                    num_turns: 2 * path.calls.len(),
                    metrics: AgentLoopMetrics { generate_sequences },
                    extra_fields: view.path_labels(place, &path),
                },
                out,
            )?;
            tally.records += 1;
        }
        Ok(())
    }
}
