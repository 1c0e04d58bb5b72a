//! The environments of a job, checked when it is submitted: what cannot be played is refused then, not once a worker has the job.

use palestra_apps::syntax::nearest;
use palestra_catalog::CatalogError;
use palestra_protocol::environment::Environment;
use palestra_protocol::job::CreateJob;
use palestra_protocol::problem::Fault;
use palestra_protocol::spec::play::{EnvironmentMix, PolicyFrom};
use palestra_protocol::spec::train::Train;
use palestra_protocol::spec::{Rescore, Spec};

use super::problem::Failure;
use crate::app::App;
use palestra_jobs::JobsError;
use palestra_session::SessionError;
use palestra_store::Tenant;
use palestra_store::row::{EpisodeFilter, PageRequest};

/// An environment as a job names it.
struct Named<'a> {
    /// The field of its name.
    field: String,
    name: &'a str,
    /// The splits that the job plays, each with its field.
    splits: Vec<(String, &'a str)>,
    /// The field of a difficulty that was asked for, with the split of those tasks.
    difficulty: Option<(String, &'a str)>,
    /// True if the policy reads vectors.
    of_vectors: bool,
}

/// Refuses a job that names environments or splits which its tenant does not have, or with which its policy can do nothing.
///
/// # Errors
/// Every such name with its field, and the name that was probably meant; a failure of the store.
pub(super) async fn check(app: &App, tenant: &Tenant, request: &CreateJob) -> Result<(), Failure> {
    // Faults of the spec itself are told by the queue.
    let Ok(spec) = Spec::read(request.kind, &request.spec) else { return Ok(()) };
    let mut faults = Vec::new();
    for named in named(&spec) {
        match app.catalog().get(tenant, named.name).await {
            Ok(environment) => {
                faults.extend(named.misfits(&environment));
                if let Some((field, split)) = &named.difficulty
                    && environment.splits.contains_key(*split)
                    && !app.catalog().has_difficulty(tenant, named.name, split).await?
                {
                    faults
                        .push(fault(field, format!("tasks of {} have no difficulty: leave it out", environment.name)));
                }
            }
            Err(error @ CatalogError::UnknownEnvironment(_)) => {
                let known = app.catalog().list(tenant).await?;
                let plain = named.name.split('@').next().unwrap_or_default();
                // A version that is missing: the catalog names those that are there.
                faults.push(if known.iter().any(|environment| environment.name == plain) {
                    fault(&named.field, error.to_string())
                } else {
                    unknown(&named, known.iter().map(|environment| environment.name.as_str()))
                });
            }
            Err(error) => return Err(error.into()),
        }
    }
    if let Spec::Rescore(rescore) = &spec {
        faults.extend(unknown_to_rescore(app, tenant, rescore).await?);
    }
    if faults.is_empty() { Ok(()) } else { Err(JobsError::Invalid(faults).into()) }
}

/// Unknown episodes that an answer names; those beyond it are not looked for.
const UNKNOWN_EPISODES_MAX: usize = 10;

/// Faults of names in a rescoring that nobody has. Stored episodes outlive their environment, so one with episodes is known as well.
async fn unknown_to_rescore(app: &App, tenant: &Tenant, rescore: &Rescore) -> Result<Vec<Fault>, Failure> {
    let mut faults = Vec::new();
    for (index, episode) in rescore.episodes.iter().enumerate() {
        match app.sessions().episode(tenant, *episode).await {
            Ok(_) => {}
            Err(SessionError::NotFound(_)) => {
                let detail = format!("there is no episode {episode}: choose one that `GET /v1/episodes` lists");
                faults.push(fault(&format!("spec.episodes[{index}]"), detail));
            }
            Err(error) => return Err(error.into()),
        }
        if faults.len() == UNKNOWN_EPISODES_MAX {
            return Ok(faults);
        }
    }
    if let Some(run) = rescore.run {
        match app.sessions().run_info(tenant, run).await {
            Ok(_) => {}
            Err(SessionError::NotFound(_)) => {
                faults.push(fault("spec.run", format!("there is no run {run}: choose one that `GET /v1/runs` lists")));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let Some(name) = &rescore.environment else { return Ok(faults) };
    match app.catalog().get(tenant, name).await {
        Ok(environment) => {
            let version =
                rescore.verifier.as_deref().and_then(|verifier| verifier.trim_start_matches('@').parse::<u32>().ok());
            if let Some(version) = version
                && let Err(error) = app.catalog().get(tenant, &format!("{}@{version}", environment.name)).await
            {
                match error {
                    CatalogError::UnknownEnvironment(_) => faults.push(fault("spec.verifier", error.to_string())),
                    other => return Err(other.into()),
                }
            }
        }
        Err(error @ CatalogError::UnknownEnvironment(_)) => {
            let filter = EpisodeFilter { environment: Some(name.clone()), ..EpisodeFilter::default() };
            let page = PageRequest { before: None, limit: 1 };
            if app.sessions().episodes(tenant, &filter, &page).await?.is_empty() {
                faults.push(fault("spec.environment", error.to_string()));
            }
        }
        Err(error) => return Err(error.into()),
    }
    Ok(faults)
}

fn named(spec: &Spec) -> Vec<Named<'_>> {
    match spec {
        Spec::Train(train) => of_training(train),
        Spec::Evaluate(evaluate) => of_mix(&evaluate.environments),
        Spec::Collect(collect) => of_mix(&collect.environments),
        Spec::Check(check) => vec![Named {
            field: "spec.environment".to_owned(),
            name: &check.environment,
            splits: Vec::new(),
            difficulty: None,
            of_vectors: false,
        }],
        Spec::Rescore(_) | Spec::Serve(_) => Vec::new(),
    }
}

fn of_mix(environments: &[EnvironmentMix]) -> Vec<Named<'_>> {
    let named = environments.iter().enumerate().map(|(index, mix)| {
        let at = format!("spec.environments[{index}]");
        let splits = vec![(format!("{at}.split"), mix.split.as_str())];
        let difficulty = mix.difficulty.map(|_| (format!("{at}.difficulty"), mix.split.as_str()));
        Named { field: format!("{at}.name"), name: &mix.name, splits, difficulty, of_vectors: false }
    });
    named.collect()
}

fn of_training(train: &Train) -> Vec<Named<'_>> {
    let mut environments = of_mix(&train.environments);
    for named in &mut environments {
        named.of_vectors = train.policy.from == PolicyFrom::Mlp;
        if let Some(evaluate) = &train.evaluate {
            named.splits.push(("spec.evaluate.split".to_owned(), &evaluate.split));
        }
    }
    environments
}

fn fault(field: &str, detail: String) -> Fault {
    Fault { field: Some(field.to_owned()), detail, ..Fault::default() }
}

fn unknown<'k>(named: &Named<'_>, known: impl Iterator<Item = &'k str>) -> Fault {
    let plain = named.name.split('@').next().unwrap_or_default();
    let known: Vec<&str> = known.collect();
    let hint = match nearest(plain, known.iter().copied()) {
        Some(near) => format!("did you mean {near:?}?"),
        None => "choose one that `GET /v1/environments` lists".to_owned(),
    };
    fault(&named.field, format!("there is no environment {:?}, choose another: {hint}", named.name))
}

impl Named<'_> {
    /// The reasons why the job cannot play this environment.
    fn misfits(&self, environment: &Environment) -> Vec<Fault> {
        let name = &environment.name;
        let splits = self.splits.iter().filter(|(_, split)| !environment.splits.contains_key(*split));
        let mut faults: Vec<Fault> = splits
            .map(|(field, split)| {
                let known: Vec<&str> = environment.splits.keys().map(String::as_str).collect();
                let hint = nearest(split, known.iter().copied()).map_or_else(
                    || format!("choose one of {}", known.join(", ")),
                    |near| format!("did you mean {near:?}?"),
                );
                fault(field, format!("{name} has no split {split:?}, choose another: {hint}"))
            })
            .collect();
        if self.of_vectors && environment.observation_schema.pointer("/properties/vector").is_none() {
            let detail = format!(
                "builtin:mlp reads numbers in data.vector, and {name} shows none: choose builtin:tiny-transformer, or control/cartpole"
            );
            faults.push(fault(&self.field, detail));
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_answered_with_the_one_that_was_meant() {
        let told = |name| {
            let named = Named {
                field: "spec.environment".to_owned(),
                name,
                splits: Vec::new(),
                difficulty: None,
                of_vectors: false,
            };
            unknown(&named, ["control/cartpole", "puzzle/countdown"].into_iter()).detail
        };
        assert!(told("puzzle/cuontdown").ends_with("did you mean \"puzzle/countdown\"?"));
        assert!(told("puzzle/cuontdown@99").ends_with("did you mean \"puzzle/countdown\"?"));
        assert!(told("app/elsewhere").ends_with("lists"));
    }
}
