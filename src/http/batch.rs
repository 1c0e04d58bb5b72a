//! The batch calls: many creations, steps or judgings in one request, each with an outcome of its own.

use axum::extract::State;
use futures::future::BoxFuture;
use palestra_protocol::list::List;
use palestra_protocol::session::{CreateSession, Created, Verify};
use palestra_protocol::step::Stepped;
use palestra_protocol::stream::{BATCH_ITEMS_MAX, Batch, Item, Outcome, StepItem};
use palestra_protocol::verdict::Verdict;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ArrayBuilder, ObjectBuilder, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::answer::Body;
use super::caller::{Caller, Runner};
use super::extract::{Json, check_key};
use super::perform::{ToolForm, perform, perform_all};
use super::problem::Failure;
use crate::app::App;
use crate::auth::Principal;
use crate::session::{Answer, Command};

/// The schema of a batch of creations, which have `key` beside the body of the single call.
struct CreateBatch;

/// The schema of a batch of judgings, which have `session` beside the body of the single call.
struct VerifyBatch;

impl PartialSchema for CreateBatch {
    fn schema() -> RefOr<Schema> {
        batch_of(Item::<CreateSession>::schema())
    }
}

impl PartialSchema for VerifyBatch {
    fn schema() -> RefOr<Schema> {
        batch_of(Item::<Verify>::schema())
    }
}

impl ToSchema for CreateBatch {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        CreateSession::schemas(schemas);
    }
}

impl ToSchema for VerifyBatch {}

fn batch_of(item: RefOr<Schema>) -> RefOr<Schema> {
    ObjectBuilder::new()
        .property("items", ArrayBuilder::new().items(item).max_items(Some(BATCH_ITEMS_MAX)))
        .required("items")
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
        .into()
}

/// What the items of a batch came to, in order.
type Outcomes = Body<List<Outcome<Answer>>>;

/// Open many sessions.
#[utoipa::path(post, path = "/v1/sessions:create", tag = "batch",
    request_body(content = CreateBatch, example = json!({"items": [
        {"environment": "puzzle/countdown", "task": {"split": "train", "index": 1}, "key": "first"}]})),
    responses((status = 200, description = "An outcome per item, in order.", body = List<Outcome<Created>>)))]
pub(super) async fn create_many(
    State(app): State<App>,
    Runner(principal): Runner,
    Json(batch): Json<Batch<Item<CreateSession>>>,
) -> Result<Outcomes, Failure> {
    perform_items(&app, &principal, batch.items, |item| {
        if item.session.is_some() {
            return Err(Failure::invalid("session", "a creation is in no session yet; `id` names the new one"));
        }
        Ok(Command::Create { request: Box::new(item.body), key: check_key(item.key)? })
    })
    .await
}

/// Take many turns. Those of one session run in order, sessions side by side; one that fails fails no other.
#[utoipa::path(post, path = "/v1/sessions:step", tag = "batch",
    request_body(content = Batch<StepItem>, example = json!({"items": [
        {"session": "ses_0197a3c2f2a87c53b0a1d5e6f7089abc", "seq": 1, "action": {"text": "(3 + 5) * 4"}}]})),
    responses((status = 200, description = "An outcome per item, in order.", body = List<Outcome<Stepped>>)))]
pub(super) async fn step_many(
    State(app): State<App>,
    Caller(principal): Caller,
    Json(batch): Json<Batch<StepItem>>,
) -> Result<Outcomes, Failure> {
    perform_items(&app, &principal, batch.items, |item| {
        let (session, step) = item.split();
        Ok(Command::Step { session, step: Box::new(step) })
    })
    .await
}

/// Judge many sessions.
#[utoipa::path(post, path = "/v1/sessions:verify", tag = "batch",
    request_body(content = VerifyBatch, example = json!({"items": [
        {"session": "ses_0197a3c2f2a87c53b0a1d5e6f7089abc", "wait_ms": 10_000}]})),
    responses((status = 200, description = "An outcome per item, in order.", body = List<Outcome<Verdict>>)))]
pub(super) async fn verify_many(
    State(app): State<App>,
    Runner(principal): Runner,
    Json(batch): Json<Batch<Item<Verify>>>,
) -> Result<Outcomes, Failure> {
    perform_items(&app, &principal, batch.items, |item| {
        if item.key.is_some() {
            return Err(Failure::invalid("key", "judging is repeatable by itself and takes no key"));
        }
        let session = item.session.ok_or_else(|| Failure::invalid("session", "is missing"))?;
        Ok(Command::Verify { session, request: item.body })
    })
    .await
}

async fn perform_items<T>(
    app: &App,
    principal: &Principal,
    items: Vec<T>,
    command: impl Fn(T) -> Result<Command, Failure>,
) -> Result<Outcomes, Failure> {
    check_length(items.len())?;
    let commands = items
        .into_iter()
        .map(|item| -> BoxFuture<'_, Result<Answer, Failure>> {
            match command(item) {
                Ok(command) => Box::pin(perform(app, principal, command, ToolForm::default())),
                Err(failure) => Box::pin(std::future::ready(Err(failure))),
            }
        })
        .collect();
    Ok(Body(outcomes(perform_all(commands).await)))
}

pub(super) fn check_length(items: usize) -> Result<(), Failure> {
    if items > BATCH_ITEMS_MAX {
        return Err(Failure::invalid(
            "items",
            format!("at most {BATCH_ITEMS_MAX} fit into one call, these are {items}"),
        ));
    }
    Ok(())
}

pub(super) fn outcomes(answers: Vec<Result<Answer, Failure>>) -> List<Outcome<Answer>> {
    let outcome = |answer: Result<Answer, Failure>| match answer {
        Ok(answer) => Outcome::Ok(answer),
        Err(failure) => Outcome::Error(*failure.0),
    };
    answers.into_iter().map(outcome).collect::<Vec<_>>().into()
}
