//! Specs of trainings, made from what was asked for; and the parameters of a request that faults of a spec come from.

use palestra_protocol::id::FileId;
use palestra_protocol::problem::Fault;
use palestra_protocol::spec::play::{EnvironmentMix, PolicyFrom};
use palestra_protocol::spec::train::AlgorithmName;
use serde_json::{Map, Value, json};

use super::request::Resolved;
use super::setting::Settings;
use super::training_file::at_line;

/// Learning rate of a model that is made from scratch.
const RATE_FROM_SCRATCH: f64 = 3e-3;
/// Learning rate of small matrices beside the weights.
const RATE_OF_LORA: f64 = 1e-4;
/// Learning rate of all weights of a model that was trained before.
const RATE_OF_WEIGHTS: f64 = 1e-5;
/// The scale of small matrices over their rank.
const ALPHA_PER_RANK: f64 = 2.0;
/// Examples of one update, where there are as many.
const BATCH_EXAMPLES: u64 = 32;
/// Passes over the examples.
const EPOCHS: u64 = 3;
/// Updates of a training by playing.
const STEPS: u64 = 100;
/// Measurements of one training, besides the one before the first update.
const MEASUREMENTS: u64 = 10;
/// Episodes of one measurement.
const MEASURED_EPISODES: u64 = 100;
/// The split that is measured on.
const MEASURED_SPLIT: &str = "validation";

/// Parts that both kinds of trainings share.
pub(super) struct Start<'a> {
    pub(super) model: &'a PolicyFrom,
    pub(super) settings: &'a Settings,
    pub(super) seed: u64,
    /// The factor of the learning rate.
    pub(super) multiplier: Option<f64>,
}

/// The data of a supervised training.
pub(super) struct Examples {
    pub(super) file: FileId,
    pub(super) lines: u64,
    pub(super) validation: Option<FileId>,
    pub(super) batch: Option<u64>,
    pub(super) epochs: Option<u64>,
}

/// The environments of a training by playing.
pub(super) struct Playing {
    pub(super) environments: Vec<EnvironmentMix>,
    pub(super) batch: Option<u64>,
    pub(super) eval_interval: Option<u64>,
    pub(super) eval_samples: Option<u64>,
}

/// An object of those fields that have a value.
fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let given = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(given.collect::<Map<_, _>>())
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty)
}

/// The value unless it is an empty object.
fn unless_empty(value: Value) -> Option<Value> {
    Some(value).filter(|value| !is_empty(value))
}

impl Start<'_> {
    fn policy(&self) -> Value {
        let Settings { lora_rank, layers, width, .. } = self.settings;
        let lora = lora_rank.map(|rank| {
            let targets = ["q_proj", "v_proj"];
            json!({"rank": rank, "alpha": f64::from(rank) * ALPHA_PER_RANK, "targets": targets})
        });
        let size = object([("layers", layers.map(Value::from)), ("width", width.map(Value::from))]);
        let from = Some(json!(self.model));
        object([("from", from), ("lora", lora), ("size", unless_empty(size))])
    }

    fn rollout(&self) -> Value {
        let Settings { max_context_tokens, max_tokens, max_turns, .. } = self.settings;
        object([
            ("max_context_tokens", max_context_tokens.map(Value::from)),
            ("max_tokens", max_tokens.map(Value::from)),
            ("max_turns", max_turns.map(Value::from)),
        ])
    }

    /// The rate that fits the model.
    pub(super) const fn fitting_rate(&self) -> f64 {
        match self.settings.lora_rank {
            Some(_) => RATE_OF_LORA,
            None if self.model.is_scratch() => RATE_FROM_SCRATCH,
            None => RATE_OF_WEIGHTS,
        }
    }

    fn rate(&self) -> f64 {
        self.settings.learning_rate.unwrap_or_else(|| self.fitting_rate() * self.multiplier.unwrap_or(1.0))
    }

    /// A training by examples.
    pub(super) fn supervised(&self, examples: &Examples) -> (Value, Resolved) {
        let batch = examples.batch.unwrap_or_else(|| BATCH_EXAMPLES.min(examples.lines));
        let epochs = examples.epochs.unwrap_or(EPOCHS);
        let learnt = epochs.saturating_mul(examples.lines);
        let steps = self.settings.steps.unwrap_or_else(|| learnt.div_ceil(batch.max(1)));
        let every = steps.div_ceil(MEASUREMENTS).max(1);
        let played = self.settings.evaluation_split.as_ref().zip(self.settings.environment.as_ref());
        let spec = object([
            ("policy", Some(self.policy())),
            ("algorithm", Some(json!({"name": AlgorithmName::Sft}))),
            ("data", Some(json!({"file": examples.file}))),
            ("validation", examples.validation.map(|file| json!({"data": {"file": file}, "every": every}))),
            ("environments", played.map(|(_, name)| json!([{"name": name}]))),
            (
                "evaluate",
                played.map(|(split, _)| json!({"every": every, "split": split, "episodes": MEASURED_EPISODES})),
            ),
            ("rollout", unless_empty(self.rollout())),
            ("optimizer", Some(json!({"lr": self.rate(), "examples_per_step": batch}))),
            ("steps", Some(json!(steps))),
            ("seed", Some(json!(self.seed))),
            // One for each pass over the examples.
            ("checkpoint", Some(json!({"every": steps.div_ceil(epochs.max(1)).max(1)}))),
        ]);
        let resolved = Resolved {
            n_epochs: self.settings.steps.is_none().then_some(epochs),
            batch_size: Some(batch),
            learning_rate_multiplier: self.settings.learning_rate.is_none().then(|| self.multiplier.unwrap_or(1.0)),
        };
        (spec, resolved)
    }

    /// A training by playing.
    pub(super) fn reinforced(&self, playing: &Playing) -> Value {
        let steps = self.settings.steps.unwrap_or(STEPS);
        let Settings { algorithm, group_size, evaluation_split, .. } = self.settings;
        let measures = evaluation_split.is_some() || playing.eval_interval.is_some() || playing.eval_samples.is_some();
        let evaluate = measures.then(|| {
            json!({
                "every": playing.eval_interval.unwrap_or_else(|| steps.div_ceil(MEASUREMENTS).max(1)),
                "episodes": playing.eval_samples.unwrap_or(MEASURED_EPISODES),
                "split": evaluation_split.as_deref().unwrap_or(MEASURED_SPLIT),
            })
        });
        let algorithm = object([
            ("name", Some(json!(algorithm.unwrap_or(AlgorithmName::Grpo)))),
            ("group_size", group_size.map(Value::from)),
            ("tasks_per_step", playing.batch.map(Value::from)),
        ]);
        object([
            ("policy", Some(self.policy())),
            ("algorithm", Some(algorithm)),
            ("environments", Some(json!(playing.environments))),
            ("evaluate", evaluate),
            ("rollout", unless_empty(self.rollout())),
            ("optimizer", Some(json!({"lr": self.rate()}))),
            ("steps", Some(json!(steps))),
            ("seed", Some(json!(self.seed))),
        ])
    }
}

/// Which split a training by playing is measured on, where it is.
pub(super) fn measured_split(settings: &Settings, playing: &Playing) -> Option<String> {
    let named = settings.evaluation_split.clone();
    let asked = playing.eval_interval.is_some() || playing.eval_samples.is_some();
    named.or_else(|| asked.then(|| MEASURED_SPLIT.to_owned()))
}

/// Fields of a spec and the parameters that they come from; the first that fits counts.
const ORIGINS: &[(&str, &str)] = &[
    ("after", "model"),
    ("spec.policy.lora", "metadata.palestra.lora_rank"),
    ("spec.policy.size.layers", "metadata.palestra.layers"),
    ("spec.policy.size", "metadata.palestra.width"),
    ("spec.policy", "model"),
    ("spec.data", "training_file"),
    ("spec.validation", "validation_file"),
    ("spec.algorithm.group_size", "metadata.palestra.group_size"),
    ("spec.algorithm", "metadata.palestra.algorithm"),
    ("spec.optimizer.lr", "metadata.palestra.learning_rate"),
    ("spec.evaluate.split", "metadata.palestra.evaluation_split"),
    ("spec.rollout.max_context_tokens", "metadata.palestra.max_context_tokens"),
    ("spec.rollout.max_tokens", "metadata.palestra.max_tokens"),
    ("spec.rollout.max_turns", "metadata.palestra.max_turns"),
    ("spec.steps", "metadata.palestra.steps"),
    ("spec.environments", "metadata.environment"),
    ("spec.seed", "seed"),
];

/// Fields of a spec and the hyperparameters that they come from.
const HYPERPARAMETERS: &[(&str, &str)] = &[
    ("spec.algorithm.tasks_per_step", "batch_size"),
    ("spec.optimizer.examples_per_step", "batch_size"),
    ("spec.evaluate.every", "eval_interval"),
    ("spec.evaluate.episodes", "eval_samples"),
];

/// Where a request said what a spec is made of.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    /// Where its hyperparameters stand.
    pub(super) hyperparameters: &'static str,
    /// True if its metadata say how many updates there are.
    pub(super) says_steps: bool,
    /// True if its metadata say the learning rate.
    pub(super) says_rate: bool,
    /// The rate that fits its model.
    pub(super) fitting_rate: f64,
    /// The lines of its file that became environments; none where there is no such file.
    pub(super) lines: Vec<u64>,
}

impl Places {
    /// The same fault, of the parameter that the field of the spec came from.
    pub(super) fn of_request(&self, fault: Fault) -> Fault {
        let Some(field) = fault.field.as_deref() else { return fault };
        if let Some((line, member)) = self.line(field) {
            return at_line(line, &format!("{member}: {}", fault.detail));
        }
        let (parameter, detail) = if let Some((_, name)) = HYPERPARAMETERS.iter().find(|(known, _)| field == *known) {
            (format!("{}.{name}", self.hyperparameters), None)
        } else if field == "spec.steps" && !self.says_steps {
            let detail = format!("the updates that n_epochs, lines and batch_size make are too many: {}", fault.detail);
            (format!("{}.n_epochs", self.hyperparameters), Some(detail))
        } else if field == "spec.optimizer.lr" && !self.says_rate {
            let detail = format!("the rate of {}, multiplied by it, has to be {}", self.fitting_rate, fault.detail);
            (format!("{}.learning_rate_multiplier", self.hyperparameters), Some(detail))
        } else {
            let Some((_, parameter)) = ORIGINS.iter().find(|(prefix, _)| field.starts_with(prefix)) else {
                return fault;
            };
            ((*parameter).to_owned(), None)
        };
        Fault { field: Some(parameter), detail: detail.unwrap_or(fault.detail), ..Fault::default() }
    }

    /// The line that an environment of the spec came from, and what of it is meant.
    fn line<'a>(&self, field: &'a str) -> Option<(u64, &'a str)> {
        let (index, member) = field.strip_prefix("spec.environments[")?.split_once("].")?;
        let line = self.lines.get(index.parse::<usize>().ok()?)?;
        Some((*line, if member == "name" { "environment" } else { member }))
    }
}

#[cfg(test)]
mod tests {
    use palestra_protocol::job::JobKind;
    use palestra_protocol::spec::Spec;
    use palestra_protocol::spec::train::Train;

    use super::*;

    fn read(spec: &Value) -> Train {
        match Spec::read(JobKind::Train, spec) {
            Ok(Spec::Train(train)) => *train,
            other => panic!("{spec}: {other:?}"),
        }
    }

    fn examples(lines: u64, batch: Option<u64>, epochs: Option<u64>) -> Examples {
        Examples { file: FileId::new(), lines, validation: Some(FileId::new()), batch, epochs }
    }

    fn start<'a>(model: &'a PolicyFrom, settings: &'a Settings) -> Start<'a> {
        Start { model, settings, seed: 7, multiplier: None }
    }

    #[test]
    fn updates_follow_from_passes_examples_and_batches() {
        let settings = Settings::default();
        for (lines, batch, epochs, steps, per_step) in [
            (100, None, None, 10, 32),
            (5, None, None, 3, 5),
            (100, Some(8), Some(2), 25, 8),
            (101, Some(8), Some(2), 26, 8),
            (1, Some(64), Some(1), 1, 64),
        ] {
            let (spec, resolved) =
                start(&PolicyFrom::TinyTransformer, &settings).supervised(&examples(lines, batch, epochs));
            let train = read(&spec);
            assert_eq!((train.steps, train.optimizer.examples_per_step), (steps, per_step), "{lines}");
            assert_eq!((train.seed, train.optimizer.lr), (7, RATE_FROM_SCRATCH));
            assert_eq!(resolved.batch_size, Some(u64::from(per_step)));
            assert!(train.validation.is_some_and(|validation| validation.every >= 1));
        }
    }

    #[test]
    fn the_rate_fits_what_is_trained() {
        let registered: PolicyFrom = "pol_0197a3c2f2a87c53b0a1d5e6f7089abc".parse().unwrap();
        let rate = |settings: &Settings, multiplier| {
            let start = Start { multiplier, ..start(&registered, settings) };
            read(&start.supervised(&examples(10, None, None)).0).optimizer.lr
        };
        let lora = Settings { lora_rank: Some(8), ..Settings::default() };
        let chosen = Settings { learning_rate: Some(0.5), ..Settings::default() };
        assert_eq!(rate(&Settings::default(), None), RATE_OF_WEIGHTS);
        assert_eq!(rate(&Settings::default(), Some(2.0)), 2.0 * RATE_OF_WEIGHTS);
        assert_eq!(rate(&lora, None), RATE_OF_LORA);
        assert_eq!(rate(&chosen, None), 0.5);
    }

    #[test]
    fn a_training_by_playing_takes_every_setting() {
        let mix = |split: &str| EnvironmentMix {
            name: "puzzle/countdown".to_owned(),
            split: split.to_owned(),
            weight: 1.0,
            difficulty: None,
        };
        let playing = |eval_interval| Playing {
            environments: vec![mix("train")],
            batch: Some(4),
            eval_interval,
            eval_samples: None,
        };
        let settings = Settings {
            algorithm: Some(AlgorithmName::Rloo),
            group_size: Some(6),
            max_tokens: Some(9),
            max_turns: Some(2),
            max_context_tokens: Some(64),
            layers: Some(1),
            width: Some(32),
            steps: Some(12),
            ..Settings::default()
        };
        let train = read(&start(&PolicyFrom::TinyTransformer, &settings).reinforced(&playing(None)));
        assert_eq!(train.algorithm.name, AlgorithmName::Rloo);
        assert_eq!((train.algorithm.group_size, train.algorithm.tasks_per_step, train.steps), (Some(6), Some(4), 12));
        let rollout = &train.rollout;
        assert_eq!((rollout.max_tokens, rollout.max_turns, rollout.max_context_tokens), (9, 2, 64));
        assert_eq!(train.policy.size.and_then(|size| size.width), Some(32));
        assert_eq!(train.evaluate, None);
        let measured = read(&start(&PolicyFrom::TinyTransformer, &settings).reinforced(&playing(Some(3))));
        let evaluate = measured.evaluate.unwrap();
        assert_eq!((evaluate.every, evaluate.split.as_str(), evaluate.episodes), (3, "validation", 100));
        assert_eq!(measured_split(&settings, &playing(Some(3))).as_deref(), Some("validation"));
        assert_eq!(measured_split(&settings, &playing(None)), None);
    }

    #[test]
    fn a_fault_of_the_spec_is_one_of_the_request() {
        for (field, parameter) in [
            ("spec.policy.from", "model"),
            ("spec.policy.size.width", "metadata.palestra.width"),
            ("spec.data.file", "training_file"),
            ("spec.validation.data.file", "validation_file"),
            ("spec.environments[0].name", "metadata.environment"),
            ("spec.algorithm.name", "metadata.palestra.algorithm"),
            ("metadata", "metadata"),
        ] {
            let fault = Places::default().of_request(super::super::refusal::fault(field, "x"));
            assert_eq!(fault.field.as_deref(), Some(parameter), "{field}");
        }
    }

    #[test]
    fn a_fault_is_told_of_what_was_sent() {
        let sent = Places { hyperparameters: "hyperparameters", fitting_rate: 0.5, ..Places::default() };
        let said = Places { says_steps: true, says_rate: true, ..sent.clone() };
        let filed = Places { lines: vec![1, 4], ..sent };
        let told = |places: &Places, field: &str| places.of_request(super::super::refusal::fault(field, "0 to 10"));
        for (places, field, parameter) in [
            (&sent, "spec.steps", "hyperparameters.n_epochs"),
            (&said, "spec.steps", "metadata.palestra.steps"),
            (&sent, "spec.optimizer.lr", "hyperparameters.learning_rate_multiplier"),
            (&said, "spec.optimizer.lr", "metadata.palestra.learning_rate"),
            (&sent, "spec.optimizer.examples_per_step", "hyperparameters.batch_size"),
            (&filed, "spec.environments", "metadata.environment"),
            (&filed, "spec.environments[1].weight", "training_file"),
        ] {
            assert_eq!(told(places, field).field.as_deref(), Some(parameter), "{field}");
        }
        let line = told(&filed, "spec.environments[1].weight");
        assert_eq!((line.line, line.detail.as_str()), (Some(4), "line 4: weight: 0 to 10"));
        let rate = told(&sent, "spec.optimizer.lr");
        assert_eq!(rate.detail, "the rate of 0.5, multiplied by it, has to be 0 to 10");
    }
}
