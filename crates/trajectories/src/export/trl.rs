//! TRL: what a rollout function of `GRPOTrainer` returns for one completion, with a line for each path.
//!
//! A null reward makes a completion unscorable in TRL: it gets no advantage and is no part of the baseline of its group.

use serde::Serialize;

use super::view::{PathLabels, View};
use super::{Form, FormError, Tally, write_line};

pub(super) struct Trl;

#[derive(Serialize)]
struct Completion<'a> {
    prompt_ids: &'a [u32],
    completion_ids: &'a [u32],
    /// As long as `completion_ids`; null at each token where they are unknown.
    logprobs: Vec<Option<f32>>,
    env_mask: &'a [u8],
    #[serde(flatten)]
    labels: PathLabels<'a>,
}

impl Form for Trl {
    fn push(&mut self, view: &View<'_>, tally: &mut Tally, out: &mut Vec<u8>) -> Result<(), FormError> {
        for (place, path) in view.trained_paths(tally, |_| true) {
            let (prompt_ids, completion_ids) = path.token_ids.split_at(path.prompt_len());
            let logprobs = match &path.logprobs {
                Some(logprobs) => logprobs[path.prompt_len()..].iter().copied().map(Some).collect(),
                None => vec![None; completion_ids.len()],
            };
            write_line(
                &Completion {
                    prompt_ids,
                    completion_ids,
                    logprobs,
                    env_mask: &path.mask[path.prompt_len()..],
                    labels: view.path_labels(place, &path),
                },
                out,
            )?;
            tally.records += 1;
        }
        Ok(())
    }
}
