//! A small network that acts on vectors, in environments that show `data.vector` and name their actions in `data.actions`.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Tensor, TensorData};
use palestra_protocol::action::Action;
use palestra_protocol::observation::Observation;
use palestra_protocol::session::Opened;
use palestra_protocol::step::Stepped;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use super::plan::stream;
use super::{Act, Actor};
use crate::failure::TrainerError;
use crate::model::Mlp;

/// Observation and action of one turn.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorTurn {
    /// Observation.
    pub vector: Vec<f32>,
    /// Place of the action.
    pub action: usize,
    /// Its log-probability.
    pub log_prob: f32,
}

/// A small network in many episodes.
pub struct VectorActor {
    model: Mlp,
    device: Device,
    seed: u64,
    /// Takes the most probable action instead of sampling.
    greedy: bool,
}

/// An episode of a small network.
pub struct VectorState {
    random: ChaCha8Rng,
    actions: Vec<String>,
    vector: Vec<f32>,
    turns: Vec<VectorTurn>,
}

/// Record of an episode.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorTrace {
    /// Every turn.
    pub turns: Vec<VectorTurn>,
    /// Last observation.
    pub last: Vec<f32>,
    /// Texts of the actions.
    pub actions: Vec<String>,
}

impl VectorActor {
    /// An actor over the inference form of a model.
    #[must_use]
    pub const fn new(model: Mlp, device: Device, seed: u64, greedy: bool) -> Self {
        Self { model, device, seed, greedy }
    }

    /// Log-probabilities of every action for every episode.
    fn log_probs(&self, states: &[&mut VectorState]) -> Result<Vec<f32>, TrainerError> {
        let inputs = self.model.config().inputs;
        let mut flat = Vec::with_capacity(states.len() * inputs);
        for state in states {
            if state.vector.len() != inputs {
                return Err(TrainerError::Environment(format!(
                    "the environment shows {} numbers to a policy over {inputs}",
                    state.vector.len()
                )));
            }
            flat.extend_from_slice(&state.vector);
        }
        let shown = Tensor::<2>::from_data(TensorData::new(flat, [states.len(), inputs]), &self.device);
        log_softmax(self.model.policy(shown), 1)
            .into_data()
            .try_to_vec()
            .map_err(|error| TrainerError::Internal(format!("{error:?}")))
    }
}

/// The numbers and the actions that an observation shows.
///
/// # Errors
/// When it shows none.
pub fn read(observation: &Observation) -> Result<(Vec<f32>, Vec<String>), TrainerError> {
    let numbers = |value: &Value| {
        let shown: Option<Vec<f32>> =
            value.as_array()?.iter().map(|number| number.as_f64().map(|number| number as f32)).collect();
        shown.filter(|shown| !shown.is_empty())
    };
    let words = |value: &Value| {
        let shown: Option<Vec<String>> =
            value.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect();
        shown.filter(|shown| !shown.is_empty())
    };
    let vector = observation.data.get("vector").and_then(numbers);
    let actions = observation.data.get("actions").and_then(words);
    vector.zip(actions).ok_or_else(|| {
        TrainerError::BadSpec(
            "this environment shows no `data.vector` and `data.actions`: builtin:mlp cannot play it".to_owned(),
        )
    })
}

impl Actor for VectorActor {
    type State = VectorState;
    type Trace = VectorTrace;

    fn begin(&mut self, number: u64, opened: &Opened) -> Result<VectorState, TrainerError> {
        let (vector, actions) = read(&opened.observation)?;
        if actions.len() != self.model.config().outputs {
            let (shown, has) = (actions.len(), self.model.config().outputs);
            return Err(TrainerError::BadSpec(format!("the environment has {shown} actions, the policy {has}")));
        }
        let random = stream(self.seed, "vector", &[number]);
        Ok(VectorState { random, actions, vector, turns: Vec::new() })
    }

    fn act(&mut self, states: &mut [&mut VectorState]) -> Result<Vec<Act>, TrainerError> {
        let log_probs = self.log_probs(states)?;
        if log_probs.iter().any(|log_prob| log_prob.is_nan()) {
            return Err(TrainerError::NotFinite { tensor: "the policy's logits".to_owned() });
        }
        let greedy = self.greedy;
        let rows = log_probs.chunks_exact(self.model.config().outputs);
        Ok(states
            .iter_mut()
            .zip(rows)
            .map(|(state, row)| {
                let action = if greedy { best(row) } else { drawn(row, state.random.random::<f64>()) };
                let vector = std::mem::take(&mut state.vector);
                state.turns.push(VectorTurn { vector, action, log_prob: row[action] });
                Act::Step(Action::Text(state.actions[action].clone()))
            })
            .collect())
    }

    fn observe(&mut self, state: &mut VectorState, stepped: &Stepped) -> Result<(), TrainerError> {
        (state.vector, _) = read(&stepped.observation)?;
        Ok(())
    }

    fn end(&mut self, state: VectorState) -> VectorTrace {
        VectorTrace { turns: state.turns, last: state.vector, actions: state.actions }
    }
}

/// The most probable action; the first of several.
fn best(row: &[f32]) -> usize {
    row.iter().enumerate().fold(0, |best, (place, value)| if *value > row[best] { place } else { best })
}

/// The action at `share` of the distribution.
fn drawn(row: &[f32], share: f64) -> usize {
    let mut left = share;
    for (place, log_prob) in row.iter().enumerate() {
        left -= f64::from(*log_prob).exp();
        if left < 0.0 {
            return place;
        }
    }
    row.len() - 1
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn actions_are_drawn_by_their_share() {
        let row = [0.25_f32.ln(), 0.5_f32.ln(), 0.25_f32.ln()];
        assert_eq!([0.0, 0.2, 0.3, 0.7, 0.8, 0.999].map(|share| drawn(&row, share)), [0, 0, 1, 1, 2, 2]);
        assert_eq!(best(&row), 1);
        assert_eq!(best(&[1.0, 1.0]), 0, "the first of equals");
    }

    #[test]
    fn an_observation_without_a_vector_is_refused() {
        let mut observation = Observation::text("x");
        assert!(read(&observation).is_err());
        observation.data = json!({"vector": [1.5, -2], "actions": ["left", "right"]});
        let (vector, actions) = read(&observation).unwrap();
        assert_eq!((vector, actions.len()), (vec![1.5, -2.0], 2));
    }
}
