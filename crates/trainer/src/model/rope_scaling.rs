//! Rotary embedding of models that were stretched to longer contexts: which frequencies turn slower.

use std::f64::consts::TAU;

use serde_json::{Value, json};

use crate::failure::TrainerError;

/// Stretching of the rotary frequencies, as `rope_scaling` of a `config.json` names it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RopeScaling {
    /// All frequencies alike, <https://arxiv.org/abs/2306.15595>.
    Linear {
        /// Longer wavelengths by this factor.
        factor: f64,
    },
    /// Slow frequencies alone, as in Llama 3.1, <https://arxiv.org/abs/2407.21783>.
    Llama3 {
        /// Longer wavelengths by this factor.
        factor: f64,
        /// Wavelengths above the original context divided by this are stretched whole.
        low_freq_factor: f64,
        /// Wavelengths below the original context divided by this are not stretched.
        high_freq_factor: f64,
        /// Positions that the model was first trained for.
        original_positions: f64,
    },
    /// Slow frequencies alone, with sharper scores, <https://arxiv.org/abs/2309.00071>.
    Yarn {
        /// Longer wavelengths by this factor.
        factor: f64,
        /// Frequencies with more turns within the original context are not stretched.
        beta_fast: f64,
        /// Frequencies with fewer turns within the original context are stretched whole.
        beta_slow: f64,
        /// Multiplies queries and keys.
        attention_factor: f64,
        /// Positions that the model was first trained for.
        original_positions: f64,
    },
}

impl RopeScaling {
    /// Reads `rope_scaling`, or `rope_parameters` of newer files; none where nothing is scaled.
    ///
    /// # Errors
    /// `BadCheckpoint` where it is of a kind that is not supported, or a number is missing or makes no sense.
    pub(super) fn from_hugging_face(config: &Value) -> Result<Option<Self>, TrainerError> {
        let written =
            |key: &str| Some(&config[key]).filter(|rope| rope.as_object().is_some_and(|rope| !rope.is_empty()));
        let Some(rope) = written("rope_scaling").or_else(|| written("rope_parameters")) else { return Ok(None) };
        let kind = rope["rope_type"].as_str().or(rope["type"].as_str());
        let above_0 = |key: &str, or: Option<f64>| match rope[key].as_f64().or(or.filter(|_| rope[key].is_null())) {
            Some(number) if number.is_finite() && number > 0.0 => Ok(number),
            _ => Err(refused(&format!("{key} must be a number above 0"))),
        };
        let positions = |or: Option<f64>| above_0("original_max_position_embeddings", or);
        Ok(Some(match kind {
            None | Some("default") if rope["factor"].is_null() => return Ok(None),
            Some("linear") => Self::Linear { factor: above_0("factor", None)? },
            Some("llama3") => {
                let (low, high) = (above_0("low_freq_factor", None)?, above_0("high_freq_factor", None)?);
                if high <= low {
                    return Err(refused("high_freq_factor must be above low_freq_factor"));
                }
                Self::Llama3 {
                    factor: above_0("factor", None)?,
                    low_freq_factor: low,
                    high_freq_factor: high,
                    original_positions: positions(None)?,
                }
            }
            Some("yarn") => {
                let factor = above_0("factor", None)?;
                if ["mscale", "mscale_all_dim"].iter().any(|key| !rope[*key].is_null()) {
                    return Err(refused("mscale is not supported; leave it out or give attention_factor"));
                }
                Self::Yarn {
                    factor,
                    beta_fast: above_0("beta_fast", Some(32.0))?,
                    beta_slow: above_0("beta_slow", Some(1.0))?,
                    attention_factor: above_0("attention_factor", Some(0.1 * factor.max(1.0).ln() + 1.0))?,
                    original_positions: positions(config["max_position_embeddings"].as_f64())?,
                }
            }
            other => {
                let kind = other.unwrap_or("unnamed");
                return Err(refused(&format!(
                    "the kind {kind:?} is not supported; default, linear, llama3 and yarn are"
                )));
            }
        }))
    }

    /// As a `config.json` holds it.
    pub(super) fn to_hugging_face(self) -> Value {
        match self {
            Self::Linear { factor } => json!({"rope_type": "linear", "factor": factor}),
            Self::Llama3 { factor, low_freq_factor, high_freq_factor, original_positions } => json!({
                "rope_type": "llama3", "factor": factor, "low_freq_factor": low_freq_factor, "high_freq_factor": high_freq_factor,
                "original_max_position_embeddings": original_positions as u64,
            }),
            Self::Yarn { factor, beta_fast, beta_slow, attention_factor, original_positions } => json!({
                "rope_type": "yarn", "factor": factor, "beta_fast": beta_fast, "beta_slow": beta_slow,
                "attention_factor": attention_factor, "original_max_position_embeddings": original_positions as u64,
            }),
        }
    }

    /// The stretched frequencies, in radians per position, of a head with as many pairs of numbers; `theta` is the base of `frequencies`.
    pub(super) fn stretch(self, frequencies: &mut [f64], theta: f64) {
        match self {
            Self::Linear { factor } => frequencies.iter_mut().for_each(|frequency| *frequency /= factor),
            Self::Llama3 { factor, low_freq_factor, high_freq_factor, original_positions } => {
                for frequency in frequencies {
                    let turns = original_positions * *frequency / TAU;
                    let kept = ((turns - low_freq_factor) / (high_freq_factor - low_freq_factor)).clamp(0.0, 1.0);
                    *frequency *= kept + (1.0 - kept) / factor;
                }
            }
            Self::Yarn { factor, beta_fast, beta_slow, original_positions, .. } => {
                let numbers = 2.0 * frequencies.len() as f64;
                // The pair that turns so often within the original context.
                let pair = |turns: f64| numbers * (original_positions / (turns * TAU)).ln() / (2.0 * theta.ln());
                let first = pair(beta_fast).floor().max(0.0);
                let last = pair(beta_slow).ceil().min(numbers - 1.0);
                let width = if last > first { last - first } else { 0.001 };
                for (index, frequency) in frequencies.iter_mut().enumerate() {
                    let stretched = ((index as f64 - first) / width).clamp(0.0, 1.0);
                    *frequency *= 1.0 - stretched + stretched / factor;
                }
            }
        }
    }

    /// Multiplies queries and keys.
    pub(super) const fn attention_factor(self) -> f64 {
        match self {
            Self::Yarn { attention_factor, .. } => attention_factor,
            Self::Linear { .. } | Self::Llama3 { .. } => 1.0,
        }
    }
}

fn refused(detail: &str) -> TrainerError {
    TrainerError::BadCheckpoint(format!("config.json: rope_scaling: {detail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frequencies(rope: &Value, head_dim: usize, theta: f64) -> Vec<f64> {
        let config = json!({"rope_scaling": rope, "max_position_embeddings": 4_096});
        let scaling = RopeScaling::from_hugging_face(&config).unwrap().unwrap();
        // What is written is read alike.
        let again = json!({"rope_scaling": scaling.to_hugging_face()});
        assert_eq!(RopeScaling::from_hugging_face(&again).unwrap(), Some(scaling));
        let mut found: Vec<f64> =
            (0..head_dim / 2).map(|pair| theta.powf(-2.0 * pair as f64 / head_dim as f64)).collect();
        scaling.stretch(&mut found, theta);
        found
    }

    fn assert_near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= 1e-6 * expected, "{found} {expected}");
        }
    }

    /// Numbers of `modeling_rope_utils` of Python's transformers.
    #[test]
    fn frequencies_are_those_of_the_reference() {
        let llama3 = json!({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                            "original_max_position_embeddings": 8_192});
        assert_near(
            &frequencies(&llama3, 16, 500_000.0),
            &[
                1.0,
                0.193922745,
                0.0376060309,
                0.00729266474,
                0.000524846161,
                3.4281022e-05,
                6.64786987e-06,
                1.28917317e-06,
            ],
        );
        let yarn = json!({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768});
        assert_near(
            &frequencies(&yarn, 16, 1e6),
            &[1.0, 0.177827941, 0.0316227766, 0.00421755994, 0.0005, 4.44569853e-05, 7.90569415e-06, 1.40585331e-06],
        );
        assert_near(&frequencies(&json!({"type": "linear", "factor": 4.0}), 4, 100.0), &[0.25, 0.025]);
    }

    #[test]
    fn yarn_makes_queries_and_keys_longer() {
        let read = |rope: Value| {
            let config = json!({"rope_scaling": rope, "max_position_embeddings": 4_096});
            RopeScaling::from_hugging_face(&config).unwrap().unwrap().attention_factor()
        };
        assert!((read(json!({"type": "yarn", "factor": 4.0})) - (0.1 * 4.0_f64.ln() + 1.0)).abs() < 1e-12);
        assert_eq!(read(json!({"type": "yarn", "factor": 4.0, "attention_factor": 1.5})), 1.5);
        assert_eq!(read(json!({"type": "linear", "factor": 4.0})), 1.0);
    }
    #[test]
    fn files_without_scaling_have_none() {
        for config in [
            json!({}),
            json!({"rope_scaling": null}),
            json!({"rope_scaling": {}}),
            json!({"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}),
        ] {
            assert_eq!(RopeScaling::from_hugging_face(&config).unwrap(), None, "{config}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (rope, expected) in [
            (json!({"rope_type": "longrope", "factor": 2.0}), "longrope"),
            (json!({"factor": 2.0}), "unnamed"),
            (json!({"type": "linear"}), "factor must be"),
            (json!({"type": "linear", "factor": -1}), "factor must be"),
            (
                json!({"rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 4}),
                "high_freq_factor",
            ),
            (json!({"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4}), "original_max"),
            (json!({"rope_type": "yarn", "factor": 4, "beta_fast": "many"}), "beta_fast"),
            (json!({"rope_type": "yarn", "factor": 4, "mscale": 1.0}), "mscale"),
        ] {
            let error = RopeScaling::from_hugging_face(&json!({"rope_scaling": rope})).unwrap_err().to_string();
            assert!(error.contains("rope_scaling: ") && error.contains(expected), "{error}");
        }
    }
}
