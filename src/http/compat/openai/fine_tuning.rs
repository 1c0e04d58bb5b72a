//! `/v1/fine_tuning/jobs`: training jobs of the queue, in OpenAI's form.

use axum::extract::State;
use palestra_protocol::id::JobId;
use palestra_protocol::job::{Job, JobEventKind, JobKind};
use palestra_protocol::problem::{Code, Problem};
use serde::Deserialize;
use utoipa::IntoParams;

use super::checkpoint::{self, FineTuningCheckpoint};
use super::event::{self, FineTuningEvent, number_of};
use super::job::{self, FineTuningJob};
use super::list::{Rows, behind, limit};
use super::plan::{Planned, plan};
use super::request::{CreateFineTuningJob, Metadata};
use crate::app::App;
use crate::http::answer::Body;
use crate::http::extract::{Id, IdempotencyKey, Json, Query};
use crate::http::problem::Failure;
use crate::http::reach::JobOwner;
use palestra_jobs::{JobFilter, JobsError};
use palestra_store::Tenant;
use palestra_store::row::PageRequest;

/// Jobs that are looked at between two looks at the store, where they are filtered.
const JOBS_PER_LOOK: u32 = 256;
/// Looks at the store for one page.
const LOOKS_MAX: usize = 400;
/// Events with numbers that are looked at for those of checkpoints.
const NUMBERS_MAX: u32 = 10_000;

/// Train a model.
///
/// Queues a job of kind `train`. With an `Idempotency-Key` it is safe to repeat.
#[utoipa::path(post, path = "/v1/fine_tuning/jobs", tag = "fine_tuning",
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key with the same job queues it once.")),
    request_body(content = CreateFineTuningJob, examples(
        ("reinforcement" = (value = json!({"model": "builtin:tiny-transformer", "method": {"type": "reinforcement"},
            "metadata": {"environment": "puzzle/countdown", "palestra.steps": "100"}}))),
        ("supervised" = (value = json!({"model": "builtin:tiny-transformer",
            "training_file": "file-0197a3c2f2a87c53b0a1d5e6f7089abc", "suffix": "first"}))))),
    responses((status = 200, description = "The job.", body = FineTuningJob)))]
pub(in crate::http) async fn create_fine_tuning_job(
    State(app): State<App>,
    JobOwner(principal): JobOwner,
    IdempotencyKey(key): IdempotencyKey,
    Json(request): Json<CreateFineTuningJob>,
) -> Result<Body<FineTuningJob>, Failure> {
    let tenant = &principal.tenant;
    // A job that was made stays the answer, also where its files are gone since.
    if let Some(key) = &key
        && let Some(made) = app.jobs().made_with(tenant, key.clone()).await?
        && job::is_made_by(&made, &request)?
    {
        return Ok(Body(job::view(&app, tenant, made).await?));
    }
    let Planned { job, read, places } = plan(&app, tenant, request).await?;
    let job = app.jobs().create_from(tenant, job, read, key).await.map_err(|error| match error {
        JobsError::Invalid(faults) => {
            JobsError::Invalid(faults.into_iter().map(|fault| places.of_request(fault)).collect())
        }
        other => other,
    })?;
    Ok(Body(job::view(&app, tenant, job).await?))
}

/// List training jobs, newest first; also those that were queued at `/v1/jobs`.
///
/// `metadata[name]=value` lists only jobs of which that was said, `metadata=null` those of which nothing was.
#[utoipa::path(get, path = "/v1/fine_tuning/jobs", tag = "fine_tuning",
    params(("after" = Option<JobId>, Query, description = "The last job of the page before."),
           ("limit" = Option<u32>, Query, description = "Most rows: 20 where left out.", minimum = 1, maximum = 1_000)),
    responses((status = 200, description = "A page.", body = Rows<FineTuningJob>)))]
pub(in crate::http) async fn list_fine_tuning_jobs(
    State(app): State<App>,
    JobOwner(principal): JobOwner,
    Query(pairs): Query<Vec<(String, String)>>,
) -> Result<Body<Rows<FineTuningJob>>, Failure> {
    let asked = Asked::read(pairs)?;
    let found = find(&app, &principal.tenant, &asked).await?;
    let rows = Rows::of(found, asked.limit);
    Ok(Body(rows.viewed(&app, &principal.tenant).await?))
}

/// The wanted part of a list.
#[derive(Debug, PartialEq)]
struct Asked {
    after: Option<JobId>,
    limit: u32,
    said: Said,
}

/// A filter of jobs by their metadata.
#[derive(Debug, PartialEq)]
enum Said {
    /// All of this, which may be nothing.
    All(Metadata),
    /// Nothing.
    Nothing,
}

impl Said {
    fn fits(&self, metadata: Option<&Metadata>) -> bool {
        match (self, metadata) {
            (Self::Nothing, said) => said.is_none_or(Metadata::is_empty),
            (Self::All(wanted), None) => wanted.is_empty(),
            (Self::All(wanted), Some(said)) => wanted.iter().all(|(name, value)| said.get(name) == Some(value)),
        }
    }
}

impl Asked {
    fn read(pairs: Vec<(String, String)>) -> Result<Self, Failure> {
        let (mut after, mut wanted_limit): (Option<JobId>, Option<u32>) = (None, None);
        let (mut wanted, mut nothing) = (Metadata::new(), false);
        for (name, value) in pairs {
            let twice = match name.as_str() {
                "after" => {
                    let id = value.parse().map_err(|_| {
                        Failure::invalid("after", "not a job of this list: pass an id that it answered")
                    })?;
                    after.replace(id).is_some()
                }
                "limit" => {
                    let number = value.parse().map_err(|_| Failure::invalid("limit", "must be a whole number"))?;
                    wanted_limit.replace(number).is_some()
                }
                "metadata" if value == "null" => std::mem::replace(&mut nothing, true),
                _ => match name.strip_prefix("metadata[").and_then(|rest| rest.strip_suffix(']')) {
                    Some(own) => wanted.insert(own.to_owned(), value).is_some(),
                    None => {
                        let words = "the query does not fit: use after, limit, metadata[name] and metadata=null";
                        return Err(Failure::new(Code::Malformed, words));
                    }
                },
            };
            if twice {
                return Err(Failure::new(Code::Malformed, "the query says something twice: say it once"));
            }
        }
        let said = match nothing {
            true if wanted.is_empty() => Said::Nothing,
            true => return Err(Failure::invalid("metadata", "must be either null or names with values")),
            false => Said::All(wanted),
        };
        Ok(Self { after, limit: limit(wanted_limit)?, said })
    }
}

/// The jobs of a page, and one more where there is one.
async fn find(app: &App, tenant: &Tenant, asked: &Asked) -> Result<Vec<Job>, Failure> {
    let filter = JobFilter { kind: Some(JobKind::Train), ..JobFilter::default() };
    let all = asked.said == Said::All(Metadata::new());
    let wanted = asked.limit as usize + 1;
    let limit = if all { asked.limit + 1 } else { JOBS_PER_LOOK };
    let (mut found, mut before) = (Vec::new(), asked.after.map(|id| id.to_string()));
    for _ in 0..LOOKS_MAX {
        let jobs = app.jobs().jobs(tenant, &filter, &PageRequest { before, limit }).await?;
        let (last, is_end) = (jobs.last().map(|job| job.id.to_string()), jobs.len() < limit as usize);
        found.extend(jobs.into_iter().filter(|job| asked.said.fits(job::metadata(job).as_ref())));
        if is_end || found.len() >= wanted {
            found.truncate(wanted);
            return Ok(found);
        }
        before = last;
    }
    let looked_at = LOOKS_MAX * JOBS_PER_LOOK as usize;
    Err(Failure::invalid("metadata", format!("not enough jobs fit among {looked_at}: go on behind a later `after`")))
}

impl Rows<Job> {
    async fn viewed(self, app: &App, tenant: &Tenant) -> Result<Rows<FineTuningJob>, Failure> {
        let (jobs, has_more) = self.into_parts();
        let mut viewed = Vec::with_capacity(jobs.len());
        for job in jobs {
            viewed.push(job::view(app, tenant, job).await?);
        }
        Ok(Rows::from_parts(viewed, has_more))
    }
}

/// A job of kind `train`; others are none here.
async fn training(app: &App, tenant: &Tenant, id: JobId) -> Result<Job, Failure> {
    let job = app.jobs().job(tenant, id).await?;
    if job.kind == JobKind::Train { Ok(job) } else { Err(Failure::not_found("training job")) }
}

/// Describe a training job.
#[utoipa::path(get, path = "/v1/fine_tuning/jobs/{id}", tag = "fine_tuning", params(("id" = JobId, Path)),
    responses((status = 200, description = "The job.", body = FineTuningJob)))]
pub(in crate::http) async fn get_fine_tuning_job(
    State(app): State<App>,
    JobOwner(principal): JobOwner,
    Id(id): Id<JobId>,
) -> Result<Body<FineTuningJob>, Failure> {
    let job = training(&app, &principal.tenant, id).await?;
    Ok(Body(job::view(&app, &principal.tenant, job).await?))
}

/// Cancel a training job.
///
/// A queued one is cancelled at once. The worker of a running one is asked to stop. A job that is over stays as it is.
#[utoipa::path(post, path = "/v1/fine_tuning/jobs/{id}/cancel", tag = "fine_tuning", params(("id" = JobId, Path)),
    responses((status = 200, description = "The job.", body = FineTuningJob)))]
pub(in crate::http) async fn cancel_fine_tuning_job(
    State(app): State<App>,
    JobOwner(principal): JobOwner,
    Id(id): Id<JobId>,
) -> Result<Body<FineTuningJob>, Failure> {
    training(&app, &principal.tenant, id).await?;
    let job = app.jobs().cancel(&principal.tenant, id).await?;
    Ok(Body(job::view(&app, &principal.tenant, job).await?))
}

/// Not offered: always refused.
#[utoipa::path(post, path = "/v1/fine_tuning/jobs/{id}/pause", tag = "fine_tuning", params(("id" = JobId, Path)),
    responses((status = 405, description = "Jobs do not pause.", body = Problem, content_type = "application/problem+json")))]
pub(in crate::http) async fn pause_fine_tuning_job(
    State(app): State<App>,
    JobOwner(principal): JobOwner,
    Id(id): Id<JobId>,
) -> Result<Body<FineTuningJob>, Failure> {
    training(&app, &principal.tenant, id).await?;
    Err(no_pauses())
}

/// Not offered: always refused.
#[utoipa::path(post, path = "/v1/fine_tuning/jobs/{id}/resume", tag = "fine_tuning", params(("id" = JobId, Path)),
    responses((status = 405, description = "Jobs do not pause.", body = Problem, content_type = "application/problem+json")))]
pub(in crate::http) async fn resume_fine_tuning_job(
    State(app): State<App>,
    JobOwner(principal): JobOwner,
    Id(id): Id<JobId>,
) -> Result<Body<FineTuningJob>, Failure> {
    training(&app, &principal.tenant, id).await?;
    Err(no_pauses())
}

fn no_pauses() -> Failure {
    let words = "jobs do not pause: cancel the job, and retry it at /v1/jobs to go on from its last checkpoint";
    Failure::new(Code::MethodNotAllowed, words)
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct PageQuery {
    /// The last row of the page before.
    after: Option<String>,
    /// Most rows: 20 where left out.
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
}

/// List what happened to a training job, newest first.
#[utoipa::path(get, path = "/v1/fine_tuning/jobs/{id}/events", tag = "fine_tuning", params(("id" = JobId, Path), PageQuery),
    responses((status = 200, description = "A page.", body = Rows<FineTuningEvent>)))]
pub(in crate::http) async fn list_fine_tuning_events(
    State(app): State<App>,
    JobOwner(principal): JobOwner,
    Id(id): Id<JobId>,
    Query(query): Query<PageQuery>,
) -> Result<Body<Rows<FineTuningEvent>>, Failure> {
    training(&app, &principal.tenant, id).await?;
    let limit = limit(query.limit)?;
    let before = query.after.map(|after| number_of(id, &after)).transpose()?;
    let events = app.jobs().events_before(&principal.tenant, id, before, limit + 1).await?;
    let events = events.into_iter().map(|one| event::view(id, one)).collect();
    Ok(Body(Rows::of(events, limit)))
}

/// List the complete checkpoints of a training job, newest first.
#[utoipa::path(get, path = "/v1/fine_tuning/jobs/{id}/checkpoints", tag = "fine_tuning", params(("id" = JobId, Path), PageQuery),
    responses((status = 200, description = "A page.", body = Rows<FineTuningCheckpoint>)))]
pub(in crate::http) async fn list_fine_tuning_checkpoints(
    State(app): State<App>,
    JobOwner(principal): JobOwner,
    Id(id): Id<JobId>,
    Query(query): Query<PageQuery>,
) -> Result<Body<Rows<FineTuningCheckpoint>>, Failure> {
    let job = training(&app, &principal.tenant, id).await?;
    let limit = limit(query.limit)?;
    let checkpoints = app.jobs().checkpoints(&principal.tenant, id).await?;
    let numbers = app.jobs().last_events(&principal.tenant, id, JobEventKind::Metric, NUMBERS_MAX).await?;
    let viewed = checkpoint::view(&job, &checkpoints, &numbers);
    let rows = behind(viewed, query.after.as_deref(), |checkpoint| checkpoint.id.as_str())?;
    Ok(Body(Rows::of(rows, limit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(pairs: &[(&str, &str)]) -> Result<Asked, Failure> {
        Asked::read(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn a_list_is_asked_for_by_what_was_said() {
        let said = |pairs: &[(&str, &str)]| asked(pairs).unwrap().said;
        let metadata = Metadata::from([("team".to_owned(), "a".to_owned()), ("empty".to_owned(), String::new())]);
        assert!(said(&[]).fits(None) && said(&[]).fits(Some(&metadata)));
        assert!(said(&[("metadata[team]", "a")]).fits(Some(&metadata)));
        assert!(said(&[("metadata[empty]", "")]).fits(Some(&metadata)));
        assert!(!said(&[("metadata[team]", "b")]).fits(Some(&metadata)));
        assert!(!said(&[("metadata[team]", "a")]).fits(None));
        assert!(said(&[("metadata", "null")]).fits(None) && !said(&[("metadata", "null")]).fits(Some(&metadata)));
    }

    #[test]
    fn a_query_that_does_not_fit_is_refused() {
        for pairs in [
            &[("colour", "red")][..],
            &[("metadata", "x")],
            &[("metadata[a", "x")],
            &[("metadata[a]", "x"), ("metadata[a]", "y")],
            &[("metadata", "null"), ("metadata[a]", "x")],
            &[("limit", "0")],
            &[("limit", "x")],
            &[("limit", "1"), ("limit", "1")],
            &[("after", "x")],
        ] {
            assert!(asked(pairs).is_err(), "{pairs:?}");
        }
    }
}
