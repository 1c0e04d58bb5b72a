//! From a request of OpenAI's form to a job of ours.

use palestra_protocol::file::FilePurpose;
use palestra_protocol::id::FileId;
use palestra_protocol::job::{CreateJob, JobKind, Resources};
use palestra_protocol::problem::Fault;
use palestra_protocol::spec::play::{EnvironmentMix, PolicyFrom};
use palestra_protocol::spec::train::AlgorithmName;
use serde_json::{Map, Value, json};

use super::refusal::{fault, unless_none};
use super::request::{
    Count, CreateFineTuningJob, Factor, FineTuningMethod, FineTuningMethodKind, Kept, Reinforcement,
    ReinforcementHyperparameters, Supervised, SupervisedHyperparameters,
};
use super::setting::{self, Settings};
use super::spec::{Examples, Places, Playing, Start, measured_split};
use super::training_file::{self, at_line, count_lines, read_mix};
use crate::app::App;
use crate::http::problem::{Failure, internal};
use palestra_catalog::CatalogError;
use palestra_jobs::{ByteStream, JobsError};
use palestra_store::Tenant;

/// Under which name the metadata of a job keep what its spec does not tell.
pub(super) const KEPT: &str = "openai";
/// Characters of a suffix.
const SUFFIX_CHARACTERS_MAX: usize = 64;
/// Largest seed that JSON carries exactly.
const SEED_MAX: u64 = (1 << 53) - 1;

/// The parameter that names what is measured on.
const MEASURED: &str = "metadata.palestra.evaluation_split";

/// A request whose parts fit, each by itself.
pub(super) struct Read {
    pub(super) model: PolicyFrom,
    pub(super) method: FineTuningMethod,
    settings: Settings,
    pub(super) seed: u64,
}

/// The plan of a request.
pub(super) struct Planned {
    /// The job.
    pub(super) job: CreateJob,
    /// The file that its spec was read from, with the parameter that names it, where the spec does not name it itself.
    pub(super) read: Option<(FileId, &'static str)>,
    /// Where the request said what the spec is made of.
    pub(super) places: Places,
}

/// The job that a request asks for.
pub(super) async fn plan(app: &App, tenant: &Tenant, request: CreateFineTuningJob) -> Result<Planned, Failure> {
    let read = read(&request)?;
    let start = |multiplier: Option<Factor>| Start {
        model: &read.model,
        settings: &read.settings,
        seed: read.seed,
        multiplier: Factor::chosen(multiplier),
    };
    let mut kept = Kept {
        method: Some(read.method.clone()),
        metadata: request.metadata.clone(),
        suffix: request.suffix.clone(),
        ..Kept::default()
    };
    let mut places = Places {
        hyperparameters: place(&request, read.method.kind),
        says_steps: read.settings.steps.is_some(),
        says_rate: read.settings.learning_rate.is_some(),
        fitting_rate: start(None).fitting_rate(),
        lines: Vec::new(),
    };
    let spec = match read.method.kind {
        FineTuningMethodKind::Supervised => {
            let asked = supervised_of(&read.method);
            let examples = examples(app, tenant, &request, &read.settings, &asked).await?;
            let (spec, resolved) = start(asked.learning_rate_multiplier).supervised(&examples);
            kept.hyperparameters = resolved;
            spec
        }
        FineTuningMethodKind::Reinforcement | FineTuningMethodKind::Dpo => {
            let asked = reinforced_of(&read.method);
            let (playing, lines) = playing(app, tenant, &request, &read.settings, &asked).await?;
            places.lines = lines;
            kept.training_file = request.training_file;
            start(asked.learning_rate_multiplier).reinforced(&playing)
        }
    };
    let from = kept.training_file.map(|file| (file, training_file::PARAMETER));
    let kept: Value = serde_json::to_value(kept).map_err(|error| internal(&error))?;
    let job = CreateJob {
        id: None,
        kind: JobKind::Train,
        spec,
        priority: 0,
        resources: Resources { device: read.settings.device.unwrap_or_default(), memory_bytes: 0 },
        after: Vec::new(),
        attempts_max: None,
        metadata: Map::from_iter([(KEPT.to_owned(), kept)]),
    };
    Ok(Planned { job, read: from, places })
}

/// Reads what needs nothing but the request.
pub(super) fn read(request: &CreateFineTuningJob) -> Result<Read, Failure> {
    let mut faults = Vec::new();
    let model = match request.model.parse::<PolicyFrom>() {
        Ok(model) if model.is_trainable() => Some(model),
        Ok(_) => {
            faults.push(fault("model", "this policy has no weights to train: choose a model"));
            None
        }
        Err(unknown) => {
            faults.push(fault("model", unknown.to_string()));
            None
        }
    };
    let settings = request.metadata.as_ref().map(|metadata| setting::read(metadata, &mut faults)).unwrap_or_default();
    let method = method(request, &mut faults);
    check_method(&method, place(request, method.kind), &settings, &mut faults);
    if model == Some(PolicyFrom::Mlp) && method.kind == FineTuningMethodKind::Supervised {
        faults.push(fault("model", "this policy reads no conversations: train it by playing, with reinforcement"));
    }
    let mut unless = |holds: bool, parameter: &str, words: &str| {
        if !holds {
            faults.push(fault(parameter, words));
        }
    };
    let short = request.suffix.as_ref().is_none_or(|suffix| suffix.chars().count() <= SUFFIX_CHARACTERS_MAX);
    unless(short, "suffix", "at most 64 characters");
    unless(request.seed.is_none_or(|seed| seed <= SEED_MAX), "seed", "must be 0 to 9007199254740991");
    let alone = request.integrations.as_ref().is_none_or(Vec::is_empty);
    unless(alone, "integrations", "none are known: leave it out, and follow the job by its events");
    unless_none(faults)?;
    let model = model.ok_or_else(|| Failure::invalid("model", "name a model"))?;
    Ok(Read { model, method, settings, seed: request.seed.unwrap_or(0) })
}

/// The method that was asked for, also in the old form.
fn method(request: &CreateFineTuningJob, faults: &mut Vec<Fault>) -> FineTuningMethod {
    let old = request.hyperparameters.clone();
    match &request.method {
        Some(method) => {
            if old.is_some() {
                faults.push(fault("hyperparameters", "say them below `method`, or leave `method` out"));
            }
            method.clone()
        }
        None => FineTuningMethod {
            kind: FineTuningMethodKind::Supervised,
            supervised: old.map(|hyperparameters| Supervised { hyperparameters: Some(hyperparameters) }),
            reinforcement: None,
            dpo: None,
        },
    }
}

/// Where the hyperparameters of a request stand.
fn place(request: &CreateFineTuningJob, kind: FineTuningMethodKind) -> &'static str {
    match kind {
        FineTuningMethodKind::Supervised if request.method.is_none() => "hyperparameters",
        FineTuningMethodKind::Supervised => "method.supervised.hyperparameters",
        FineTuningMethodKind::Reinforcement | FineTuningMethodKind::Dpo => "method.reinforcement.hyperparameters",
    }
}

fn check_method(method: &FineTuningMethod, place: &str, settings: &Settings, faults: &mut Vec<Fault>) {
    if method.kind == FineTuningMethodKind::Dpo || method.dpo.is_some() {
        faults.push(fault("method.dpo", "not offered: choose supervised or reinforcement"));
    }
    match method.kind {
        FineTuningMethodKind::Supervised if method.reinforcement.is_some() => {
            faults.push(fault("method.reinforcement", "these are settings of another method: leave them out"));
        }
        FineTuningMethodKind::Reinforcement if method.supervised.is_some() => {
            faults.push(fault("method.supervised", "these are settings of another method: leave them out"));
        }
        FineTuningMethodKind::Supervised => check_supervised(&supervised_of(method), place, settings, faults),
        FineTuningMethodKind::Reinforcement => {
            let grader = method.reinforcement.as_ref().and_then(|asked| asked.grader.as_ref());
            if grader.is_some_and(|grader| *grader != json!({"type": "environment"})) {
                let words = "the environment judges: leave it out, or send {\"type\": \"environment\"}";
                faults.push(fault("method.reinforcement.grader", words));
            }
            check_reinforced(&reinforced_of(method), place, settings, faults);
        }
        FineTuningMethodKind::Dpo => {}
    }
}

fn supervised_of(method: &FineTuningMethod) -> SupervisedHyperparameters {
    method.supervised.clone().and_then(|asked: Supervised| asked.hyperparameters).unwrap_or_default()
}

fn reinforced_of(method: &FineTuningMethod) -> ReinforcementHyperparameters {
    method.reinforcement.clone().and_then(|asked: Reinforcement| asked.hyperparameters).unwrap_or_default()
}

fn check_supervised(asked: &SupervisedHyperparameters, place: &str, settings: &Settings, faults: &mut Vec<Fault>) {
    let mut refuse = |given: bool, parameter: &str, words: &str| {
        if given {
            faults.push(fault(parameter, words));
        }
    };
    let epochs = Count::chosen(asked.n_epochs);
    refuse(epochs == Some(0), &format!("{place}.n_epochs"), "must be 1 or more");
    refuse(Count::chosen(asked.batch_size) == Some(0), &format!("{place}.batch_size"), "must be 1 or more");
    let both = epochs.is_some() && settings.steps.is_some();
    refuse(both, "metadata.palestra.steps", "how many updates there are follows from n_epochs: say one of the two");
    refuse(
        settings.algorithm.is_some(),
        "metadata.palestra.algorithm",
        "only a training by playing has a choice: leave it out",
    );
    refuse(
        settings.group_size.is_some(),
        "metadata.palestra.group_size",
        "only a training by playing has groups: leave it out",
    );
    refuse(settings.split.is_some(), "metadata.split", "supervised training plays nothing in a split: leave it out");
    let measured = settings.evaluation_split.is_some();
    let words =
        "supervised training plays nothing: leave it out, or choose by `palestra.evaluation_split` what to measure on";
    refuse(settings.environment.is_some() && !measured, "metadata.environment", words);
    let words = "name the environment to measure in by `environment`";
    refuse(measured && settings.environment.is_none(), "metadata.palestra.evaluation_split", words);
    check_rate(asked.learning_rate_multiplier, place, settings, faults);
}

fn check_reinforced(asked: &ReinforcementHyperparameters, place: &str, settings: &Settings, faults: &mut Vec<Fault>) {
    let mut refuse = |given: bool, name: &str, words: &str| {
        if given {
            faults.push(fault(format!("{place}.{name}"), words));
        }
    };
    let words = "tasks have no end: say how many updates there are by `palestra.steps` in metadata";
    refuse(Count::chosen(asked.n_epochs).is_some(), "n_epochs", words);
    let words = "not offered: leave it out, `batch_size` and `palestra.group_size` say how much is played";
    refuse(Factor::chosen(asked.compute_multiplier).is_some(), "compute_multiplier", words);
    let effort = asked.reasoning_effort.as_deref().is_some_and(|effort| effort != "default");
    refuse(effort, "reasoning_effort", "not offered: choose `default`, or leave it out");
    if settings.algorithm == Some(AlgorithmName::Sft) {
        faults.push(fault("metadata.palestra.algorithm", "sft learns from examples: use the method supervised"));
    }
    check_rate(asked.learning_rate_multiplier, place, settings, faults);
}

fn check_rate(multiplier: Option<Factor>, place: &str, settings: &Settings, faults: &mut Vec<Fault>) {
    let Some(multiplier) = Factor::chosen(multiplier) else { return };
    if !(multiplier.is_finite() && multiplier > 0.0) {
        faults.push(fault(format!("{place}.learning_rate_multiplier"), "must be above 0"));
    }
    if settings.learning_rate.is_some() {
        let words = "the multiplier says how fast is learnt: say one of the two";
        faults.push(fault("metadata.palestra.learning_rate", words));
    }
}

/// The bytes of a file that a request names.
async fn open(app: &App, tenant: &Tenant, parameter: &str, file: FileId) -> Result<ByteStream, Failure> {
    let explain = |error: JobsError| match error {
        JobsError::NotFound(_) => Failure::invalid(parameter, format!("there is no file {file}: upload it first")),
        error => error.into(),
    };
    let purpose = app.jobs().file(tenant, file).await.map_err(explain)?.purpose;
    if purpose != FilePurpose::FineTune {
        let wanted = FilePurpose::FineTune.as_str();
        return Err(Failure::invalid(
            parameter,
            format!("file {file} is for {}, not for {wanted}: upload it for that purpose", purpose.as_str()),
        ));
    }
    let (_, bytes) = app.jobs().open_file(tenant, file).await.map_err(explain)?;
    Ok(bytes)
}

/// Number of examples in a file: at least one.
async fn count(app: &App, tenant: &Tenant, parameter: &str, file: FileId) -> Result<u64, Failure> {
    match count_lines(open(app, tenant, parameter, file).await?).await? {
        0 => Err(Failure::invalid(parameter, "the file has no lines: upload one with an example per line")),
        lines => Ok(lines),
    }
}

async fn examples(
    app: &App,
    tenant: &Tenant,
    request: &CreateFineTuningJob,
    settings: &Settings,
    asked: &SupervisedHyperparameters,
) -> Result<Examples, Failure> {
    let words = "supervised training learns from a file: upload one for fine-tune";
    let file = request.training_file.ok_or_else(|| Failure::invalid("training_file", words))?;
    let lines = count(app, tenant, training_file::PARAMETER, file).await?;
    if let Some(validation) = request.validation_file {
        count(app, tenant, "validation_file", validation).await?;
    }
    if let Some((split, name)) = settings.evaluation_split.as_ref().zip(settings.environment.as_ref()) {
        unless_none(faults_of(app, tenant, name, &[(split.as_str(), MEASURED)]).await?)?;
    }
    Ok(Examples {
        file,
        lines,
        validation: request.validation_file,
        batch: Count::chosen(asked.batch_size),
        epochs: Count::chosen(asked.n_epochs),
    })
}

/// The environments to play, and the lines that said so, where lines did.
async fn playing(
    app: &App,
    tenant: &Tenant,
    request: &CreateFineTuningJob,
    settings: &Settings,
    asked: &ReinforcementHyperparameters,
) -> Result<(Playing, Vec<u64>), Failure> {
    if request.validation_file.is_some() {
        let words = "training by playing is measured on a split: name it by `palestra.evaluation_split` in metadata";
        return Err(Failure::invalid("validation_file", words));
    }
    let (lines, environments): (Vec<u64>, Vec<EnvironmentMix>) = match (request.training_file, &settings.environment) {
        (Some(file), _) => {
            let bytes = open(app, tenant, training_file::PARAMETER, file).await?;
            read_mix(bytes, settings).await?.map_err(JobsError::Invalid)?.into_iter().unzip()
        }
        (None, Some(name)) => {
            let split = settings.split.clone().unwrap_or_else(|| "train".to_owned());
            (Vec::new(), vec![EnvironmentMix { name: name.clone(), split, weight: 1.0, difficulty: None }])
        }
        (None, None) => {
            let words =
                "say what is played: `environment` in metadata, or a training file whose lines name environments";
            return Err(Failure::invalid("metadata.environment", words));
        }
    };
    let playing = Playing {
        environments,
        batch: Count::chosen(asked.batch_size),
        eval_interval: Count::chosen(asked.eval_interval),
        eval_samples: Count::chosen(asked.eval_samples),
    };
    let measured = measured_split(settings, &playing);
    let mut faults = Vec::new();
    for (index, mix) in playing.environments.iter().enumerate() {
        let played = (mix.split.as_str(), "metadata.split");
        let splits: Vec<_> =
            std::iter::once(played).chain(measured.as_deref().map(|split| (split, MEASURED))).collect();
        for fault in faults_of(app, tenant, &mix.name, &splits).await? {
            let of_file = lines.get(index).filter(|_| fault.field.as_deref() != Some(MEASURED));
            faults.push(of_file.map_or_else(|| fault.clone(), |line| at_line(*line, &fault.detail)));
        }
    }
    unless_none(faults)?;
    Ok((playing, lines))
}

/// Faults of an environment and its splits, each with its parameter: waiting for a worker to find it out would take long.
async fn faults_of(
    app: &App,
    tenant: &Tenant,
    name: &str,
    splits: &[(&str, &'static str)],
) -> Result<Vec<Fault>, Failure> {
    let shortened = |text: &str| text.chars().take(100).collect::<String>();
    let known = match app.catalog().get(tenant, name).await {
        Ok(spec) => spec.splits,
        Err(CatalogError::UnknownEnvironment(_)) => {
            return Ok(vec![fault(
                "metadata.environment",
                format!("there is no environment {:?}: choose one that `GET /v1/environments` lists", shortened(name)),
            )]);
        }
        Err(error) => return Err(error.into()),
    };
    let names = known.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let missing = splits.iter().filter(|(split, _)| !known.contains_key(*split));
    let words = |split: &str| format!("{name} has no split {:?}; it has {names}", shortened(split));
    Ok(missing.map(|(split, parameter)| fault(*parameter, words(split))).collect())
}
