//! Tinker: a `Datum` for each path, as `tinker_cookbook.rl.data_processing` makes it, without advantages.
//!
//! A datum holds no reward: it stands beside, and the trainer computes advantages within `group`. A rollout without a reward, and a
//! path without log-probabilities, are left out.

use serde::Serialize;

use super::view::{PathLabels, View};
use super::{Form, FormError, Tally, write_line};

pub(super) struct Tinker;

#[derive(Serialize)]
struct Sample<'a> {
    datum: Datum<'a>,
    #[serde(flatten)]
    labels: PathLabels<'a>,
}

/// Inputs are all tokens but the last, targets all but the first.
#[derive(Serialize)]
struct Datum<'a> {
    model_input: ModelInput<'a>,
    loss_fn_inputs: LossInputs<'a>,
}

#[derive(Serialize)]
struct ModelInput<'a> {
    chunks: [TextChunk<'a>; 1],
}

#[derive(Serialize)]
struct TextChunk<'a> {
    r#type: &'static str,
    tokens: &'a [u32],
}

#[derive(Serialize)]
struct LossInputs<'a> {
    target_tokens: Tensor<'a, u32>,
    logprobs: Tensor<'a, f32>,
    mask: Tensor<'a, f32>,
}

#[derive(Serialize)]
struct Tensor<'a, T> {
    data: &'a [T],
    dtype: &'static str,
    shape: [usize; 1],
}

impl<'a, T> Tensor<'a, T> {
    /// A tensor of one dimension over all values but the first.
    fn shifted(values: &'a [T], dtype: &'static str) -> Self {
        let data = values.get(1..).unwrap_or_default();
        Self { data, dtype, shape: [data.len()] }
    }
}

impl Form for Tinker {
    fn push(&mut self, view: &View<'_>, tally: &mut Tally, out: &mut Vec<u8>) -> Result<(), FormError> {
        if view.rollout.reward().is_none() {
            tally.rollouts_left_out += 1;
            return Ok(());
        }
        for (place, path) in view.trained_paths(tally, |path| path.logprobs.is_some() && path.token_ids.len() > 1) {
            let mask: Vec<f32> = path.mask.iter().copied().map(f32::from).collect();
            let datum = Datum {
                model_input: ModelInput {
                    chunks: [TextChunk { r#type: "encoded_text", tokens: &path.token_ids[..path.token_ids.len() - 1] }],
                },
                loss_fn_inputs: LossInputs {
                    target_tokens: Tensor::shifted(&path.token_ids, "int64"),
                    logprobs: Tensor::shifted(path.logprobs.as_deref().unwrap_or_default(), "float32"),
                    mask: Tensor::shifted(&mask, "float32"),
                },
            };
            write_line(&Sample { datum, labels: view.path_labels(place, &path) }, out)?;
            tally.records += 1;
        }
        Ok(())
    }
}
