//! Requests of clients of OpenAI to have a model trained.

use std::collections::BTreeMap;
use std::fmt;

use palestra_protocol::id::FileId;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// Metadata of jobs by their users.
pub(super) type Metadata = BTreeMap<String, String>;

/// Metadata in which no name stands twice.
struct Pairs(Metadata);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor)
    }
}

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Pairs;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of texts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Pairs, A::Error> {
        let mut metadata = Metadata::new();
        while let Some(name) = pairs.next_key::<String>()? {
            let value: String = pairs.next_value()?;
            if metadata.insert(name, value).is_some() {
                return Err(A::Error::custom("a name stands there twice"));
            }
        }
        Ok(Pairs(metadata))
    }
}

fn pairs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Metadata>, D::Error> {
    Ok(Option::<Pairs>::deserialize(deserializer)?.map(|Pairs(metadata)| metadata))
}

/// Trains a model.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct CreateFineTuningJob {
    /// The model to train: `pol_..`, `job_..`, `file:PATH`, `builtin:tiny-transformer` or `builtin:mlp`.
    pub(super) model: String,
    /// Examples for `supervised`; environments, one a line, for `reinforcement`, where it may be left out.
    #[serde(default)]
    pub(super) training_file: Option<FileId>,
    /// Examples that are not learnt from, for `supervised` alone.
    #[serde(default)]
    pub(super) validation_file: Option<FileId>,
    /// The method of training; `supervised` where left out.
    #[serde(default)]
    pub(super) method: Option<FineTuningMethod>,
    /// The old place of the settings of `supervised`, where no method is named.
    #[serde(default)]
    pub(super) hyperparameters: Option<SupervisedHyperparameters>,
    /// Everything random derives from it; 0 where left out.
    #[serde(default)]
    #[schema(maximum = 9_007_199_254_740_991_u64)]
    pub(super) seed: Option<u64>,
    /// Kept as it is. At most 64 characters.
    #[serde(default)]
    #[schema(max_length = 64)]
    pub(super) suffix: Option<String>,
    /// At most 16 pairs, names of at most 64 and values of at most 512 characters. `environment`, `split` and names that begin
    /// with `palestra.` say what is played and how.
    #[serde(default, deserialize_with = "pairs")]
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    pub(super) metadata: Option<Metadata>,
    /// None are known: null or empty.
    #[serde(default)]
    pub(super) integrations: Option<Vec<Value>>,
}

/// The method of training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FineTuningMethod {
    /// Which of them.
    #[serde(rename = "type")]
    pub(super) kind: FineTuningMethodKind,
    /// Settings of `supervised`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) supervised: Option<Supervised>,
    /// Settings of `reinforcement`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reinforcement: Option<Reinforcement>,
    /// Not offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dpo: Option<Value>,
}

/// A way to train.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum FineTuningMethodKind {
    /// By examples.
    Supervised,
    /// By playing episodes in environments.
    Reinforcement,
    /// Not offered.
    Dpo,
}

/// Settings of `supervised`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Supervised {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hyperparameters: Option<SupervisedHyperparameters>,
}

/// Batch size, learning rate and number of epochs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SupervisedHyperparameters {
    /// Examples of one update; 32, but no more than there are, where it is `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) batch_size: Option<Count>,
    /// Multiplies the rate that fits the model; 1 where it is `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) learning_rate_multiplier: Option<Factor>,
    /// Passes over the examples; 3 where it is `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) n_epochs: Option<Count>,
}

/// Settings of `reinforcement`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reinforcement {
    /// The environment judges: left out, or `{"type": "environment"}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) grader: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hyperparameters: Option<ReinforcementHyperparameters>,
}

/// Batch size, learning rate and evaluation of a training by playing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReinforcementHyperparameters {
    /// Tasks of one update; 8 where it is `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) batch_size: Option<Count>,
    /// Multiplies the rate that fits the model; 1 where it is `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) learning_rate_multiplier: Option<Factor>,
    /// Updates between two measurements; a tenth of all where it is `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) eval_interval: Option<Count>,
    /// Episodes of one measurement; 100 where it is `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) eval_samples: Option<Count>,
    /// `auto`: tasks have no end, so that `palestra.steps` says how long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) n_epochs: Option<Count>,
    /// `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) compute_multiplier: Option<Factor>,
    /// `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_effort: Option<String>,
}

/// The word `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Auto {
    /// As the server thinks best.
    Auto,
}

/// A whole number, or `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Count {
    /// This many.
    Chosen(u64),
    /// As the server thinks best.
    Auto(Auto),
}

impl Count {
    /// The number, where one was chosen.
    pub(super) const fn chosen(setting: Option<Self>) -> Option<u64> {
        match setting {
            Some(Self::Chosen(count)) => Some(count),
            Some(Self::Auto(_)) | None => None,
        }
    }
}

/// A number, or `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Factor {
    /// This much.
    Chosen(f64),
    /// As the server thinks best.
    Auto(Auto),
}

impl Factor {
    /// The number, where one was chosen.
    pub(super) const fn chosen(setting: Option<Self>) -> Option<f64> {
        match setting {
            Some(Self::Chosen(factor)) => Some(factor),
            Some(Self::Auto(_)) | None => None,
        }
    }
}

/// The part of the request that a job's metadata keeps: what its spec does not tell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Kept {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) method: Option<FineTuningMethod>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<Metadata>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) suffix: Option<String>,
    /// Where the spec names none: the one whose lines became its environments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) training_file: Option<FileId>,
    #[serde(default)]
    pub(super) hyperparameters: Resolved,
}

/// The settings of `supervised` as they were used; null where nothing did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub(super) struct Resolved {
    /// Passes over the examples.
    pub(super) n_epochs: Option<u64>,
    /// Examples of one update.
    pub(super) batch_size: Option<u64>,
    /// The factor on the learning rate that fits the model.
    pub(super) learning_rate_multiplier: Option<f64>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_setting_is_a_number_or_auto() {
        let read = |value: Value| serde_json::from_value::<SupervisedHyperparameters>(json!({"n_epochs": value}));
        assert_eq!(Count::chosen(read(json!(3)).unwrap().n_epochs), Some(3));
        assert_eq!(Count::chosen(read(json!("auto")).unwrap().n_epochs), None);
        for wrong in [json!("many"), json!(-1), json!(1.5), json!([])] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_name_stands_once_in_metadata() {
        let read = |metadata: &str| {
            let text = format!("{{\"model\": \"builtin:mlp\", \"metadata\": {metadata}}}");
            serde_json::from_str::<CreateFineTuningJob>(&text).map(|request| request.metadata)
        };
        assert_eq!(read("null").unwrap(), None);
        assert_eq!(read("{\"a\": \"x\"}").unwrap(), Some(Metadata::from([("a".to_owned(), "x".to_owned())])));
        assert!(read("{\"a\": \"x\", \"a\": \"x\"}").is_err());
    }

    #[test]
    fn a_method_comes_back_as_it_was_sent() {
        for sent in [
            json!({"type": "supervised"}),
            json!({"type": "supervised", "supervised": {"hyperparameters": {"n_epochs": "auto", "batch_size": 4}}}),
            json!({"type": "reinforcement", "reinforcement": {"grader": {"type": "environment"}}}),
        ] {
            let method: FineTuningMethod = serde_json::from_value(sent.clone()).unwrap();
            assert_eq!(serde_json::to_value(method).unwrap(), sent);
        }
    }
}
