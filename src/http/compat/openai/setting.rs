//! Settings of a training in the metadata of its job: `environment`, `split`, and a closed list of names that begin with `palestra.`.

use palestra_protocol::job::Device;
use palestra_protocol::problem::Fault;
use palestra_protocol::spec::train::AlgorithmName;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::refusal::fault;
use super::request::Metadata;

/// The prefix of names that are ours.
const PREFIX: &str = "palestra.";
/// Pairs of one job.
const PAIRS_MAX: usize = 16;
/// Characters of a name.
const NAME_CHARACTERS_MAX: usize = 64;
/// Characters of a value.
const VALUE_CHARACTERS_MAX: usize = 512;
/// Every name of ours.
const NAMES: &str = "algorithm, device, evaluation_split, group_size, layers, learning_rate, lora_rank, max_context_tokens, \
                     max_tokens, max_turns, steps and width";

/// Settings of a training.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Settings {
    pub(super) environment: Option<String>,
    pub(super) split: Option<String>,
    pub(super) algorithm: Option<AlgorithmName>,
    pub(super) device: Option<Device>,
    pub(super) evaluation_split: Option<String>,
    pub(super) group_size: Option<u32>,
    pub(super) layers: Option<u32>,
    pub(super) learning_rate: Option<f64>,
    pub(super) lora_rank: Option<u32>,
    pub(super) max_context_tokens: Option<u32>,
    pub(super) max_tokens: Option<u32>,
    pub(super) max_turns: Option<u32>,
    pub(super) steps: Option<u64>,
    pub(super) width: Option<u32>,
}

/// Reads metadata; what does not fit is noted.
pub(super) fn read(metadata: &Metadata, faults: &mut Vec<Fault>) -> Settings {
    if metadata.len() > PAIRS_MAX {
        faults.push(fault("metadata", format!("at most {PAIRS_MAX} pairs")));
    }
    let mut settings = Settings::default();
    for (name, value) in metadata {
        if let Err(detail) = take(&mut settings, name, value) {
            let shown: String = name.chars().take(NAME_CHARACTERS_MAX).collect();
            faults.push(fault(format!("metadata.{shown}"), detail));
        }
    }
    settings
}

fn take(settings: &mut Settings, name: &str, value: &str) -> Result<(), String> {
    if name.chars().count() > NAME_CHARACTERS_MAX {
        return Err(format!("a name has at most {NAME_CHARACTERS_MAX} characters"));
    }
    if value.chars().count() > VALUE_CHARACTERS_MAX {
        return Err(format!("a value has at most {VALUE_CHARACTERS_MAX} characters"));
    }
    match name {
        "environment" => settings.environment = Some(value.to_owned()),
        "split" => settings.split = Some(value.to_owned()),
        _ => {}
    }
    let Some(own) = name.strip_prefix(PREFIX) else { return Ok(()) };
    match own {
        "algorithm" => settings.algorithm = Some(word(value)?),
        "device" => settings.device = Some(word(value)?),
        "evaluation_split" => settings.evaluation_split = Some(value.to_owned()),
        "group_size" => settings.group_size = Some(count(value)?),
        "layers" => settings.layers = Some(count(value)?),
        "learning_rate" => settings.learning_rate = Some(rate(value)?),
        "lora_rank" => settings.lora_rank = Some(count(value)?),
        "max_context_tokens" => settings.max_context_tokens = Some(count(value)?),
        "max_tokens" => settings.max_tokens = Some(count(value)?),
        "max_turns" => settings.max_turns = Some(count(value)?),
        "steps" => settings.steps = Some(value.parse().map_err(|_| "the value must be a whole number".to_owned())?),
        "width" => settings.width = Some(count(value)?),
        _ => return Err(format!("unknown setting: use one of {NAMES} behind `{PREFIX}`")),
    }
    Ok(())
}

fn count(value: &str) -> Result<u32, String> {
    value.parse().map_err(|_| "the value must be a whole number".to_owned())
}

fn rate(value: &str) -> Result<f64, String> {
    value.parse().ok().filter(|rate: &f64| rate.is_finite()).ok_or_else(|| "the value must be a number".to_owned())
}

fn word<T: DeserializeOwned>(value: &str) -> Result<T, String> {
    serde_json::from_value(Value::String(value.to_owned())).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(pairs: &[(&str, &str)]) -> Metadata {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn every_setting_that_is_named_is_read() {
        for name in NAMES.split(", ").flat_map(|names| names.split(" and ")) {
            let value = match name {
                "algorithm" => "dr_grpo",
                "device" => "cpu",
                "evaluation_split" => "test",
                _ => "7",
            };
            let mut faults = Vec::new();
            let read = read(&metadata(&[(&format!("palestra.{name}"), value)]), &mut faults);
            assert_eq!(faults, [], "{name}");
            assert_ne!(read, Settings::default(), "{name}");
        }
    }

    #[test]
    fn what_is_not_known_or_too_long_is_refused_and_the_rest_is_let_through() {
        let mut faults = Vec::new();
        let read_settings = read(&metadata(&[("team", "a"), ("environment", "a/b"), ("split", "train")]), &mut faults);
        assert_eq!(faults, []);
        assert_eq!(read_settings.environment.as_deref(), Some("a/b"));
        let (long_name, long_value) = ("n".repeat(65), "ü".repeat(513));
        for (name, value) in [
            ("palestra.colour", "red"),
            ("palestra.", ""),
            ("palestra.steps", "many"),
            ("palestra.steps", "-1"),
            ("palestra.learning_rate", "inf"),
            ("palestra.algorithm", "luck"),
            ("palestra.device", "abacus"),
            (&*long_name, "a"),
            ("a", &*long_value),
        ] {
            let mut faults = Vec::new();
            read(&metadata(&[(name, value)]), &mut faults);
            assert_eq!(faults.len(), 1, "{name} {value}");
            assert!(faults[0].field.as_ref().is_some_and(|field| field.starts_with("metadata.")), "{faults:?}");
        }
        let many: Vec<(String, String)> = (0..17).map(|number| (format!("n{number}"), String::new())).collect();
        let mut faults = Vec::new();
        read(&many.into_iter().collect(), &mut faults);
        assert_eq!(faults[0].field.as_deref(), Some("metadata"));
    }
}
