//! The batch calls: many creations, steps or judgings in one request, each with an outcome of its own.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use palestra_protocol::list::List;
use palestra_protocol::session::{CreateSession, Created, Verify};
use palestra_protocol::step::Stepped;
use palestra_protocol::stream::{BATCH_ITEMS_MAX, Batch, Item, Outcome, StepItem};
use palestra_protocol::verdict::Verdict;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ArrayBuilder, ObjectBuilder, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::answer::respond_all;
use super::caller::{Caller, Runner};
use super::extract::{JsonText, parse};
use super::fields::Fields;
use super::perform::{Begun, ToolForm, begin, begin_all, finish_all};
use super::problem::Failure;
use crate::app::App;
use palestra_auth::Principal;
use palestra_session::Command;

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

/// A batch whose items are read one by one, so that one that cannot be read fails no other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBatch<'a> {
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

/// Open many sessions.
#[utoipa::path(post, path = "/v1/sessions:create", tag = "batch",
    request_body(content = CreateBatch, example = json!({"items": [
        {"environment": "puzzle/countdown", "task": {"split": "train", "index": 1}, "key": "first"}]})),
    responses((status = 200, description = "An outcome per item, in order.", body = List<Outcome<Created>>)))]
pub(super) async fn create_many(
    State(app): State<App>,
    Runner(principal): Runner,
    JsonText(batch): JsonText,
) -> Result<Response, Failure> {
    let commands = commands(&batch, |item| {
        let mut fields = Fields::read(item.get())?;
        let key = fields.key()?;
        Ok(Command::Create { request: Box::new(fields.body::<CreateSession>()?), key })
    })?;
    Ok(perform_items(&app, &principal, commands).await)
}

/// Take many turns. Those of one session run in order, sessions side by side; one that fails fails no other.
#[utoipa::path(post, path = "/v1/sessions:step", tag = "batch",
    request_body(content = Batch<StepItem>, example = json!({"items": [
        {"session": "ses_0197a3c2f2a87c53b0a1d5e6f7089abc", "seq": 1, "action": {"text": "(3 + 5) * 4"}}]})),
    responses((status = 200, description = "An outcome per item, in order.", body = List<Outcome<Stepped>>)))]
pub(super) async fn step_many(
    State(app): State<App>,
    Caller(principal): Caller,
    JsonText(batch): JsonText,
) -> Result<Response, Failure> {
    let commands = commands(&batch, |item| {
        let (session, step) = read_step(item)?.split();
        Ok(Command::Step { session, step: Box::new(step) })
    })?;
    Ok(perform_items(&app, &principal, commands).await)
}

/// Judge many sessions.
#[utoipa::path(post, path = "/v1/sessions:verify", tag = "batch",
    request_body(content = VerifyBatch, example = json!({"items": [
        {"session": "ses_0197a3c2f2a87c53b0a1d5e6f7089abc", "wait_ms": 10_000}]})),
    responses((status = 200, description = "An outcome per item, in order.", body = List<Outcome<Verdict>>)))]
pub(super) async fn verify_many(
    State(app): State<App>,
    Runner(principal): Runner,
    JsonText(batch): JsonText,
) -> Result<Response, Failure> {
    let commands = commands(&batch, |item| {
        let mut fields = Fields::read(item.get())?;
        let session = fields.session()?;
        Ok(Command::Verify { session, request: fields.body::<Verify>()? })
    })?;
    Ok(perform_items(&app, &principal, commands).await)
}

/// A step of a batch, straight from its text: this is the form in which trainers act.
pub(super) fn read_step(item: &RawValue) -> Result<StepItem, Failure> {
    parse(item.get().as_bytes())
}

/// Reads every item on its own. The call as a whole is refused only where nothing tells one item from the next.
fn commands(
    batch: &[u8],
    read: impl Fn(&RawValue) -> Result<Command, Failure>,
) -> Result<Vec<Result<Command, Failure>>, Failure> {
    let batch: RawBatch<'_> = parse(batch)?;
    check_length(batch.items.len())?;
    Ok(batch.items.into_iter().map(read).collect())
}

async fn perform_items(app: &App, principal: &Arc<Principal>, commands: Vec<Result<Command, Failure>>) -> Response {
    let begun = begin_all(commands.into_iter().map(|command| match command {
        Ok(command) => begin(app, principal, command, ToolForm::default()),
        Err(failure) => Begun::Done(Err(failure)),
    }));
    respond_all(&finish_all(begun).await)
}

pub(super) fn check_length(items: usize) -> Result<(), Failure> {
    if items > BATCH_ITEMS_MAX {
        return Err(Failure::invalid(
            "items",
            format!("a batch must have at most {BATCH_ITEMS_MAX} items, not {items}"),
        ));
    }
    Ok(())
}
