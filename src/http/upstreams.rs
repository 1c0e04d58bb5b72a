//! `/v1/upstreams`: model endpoints that sessions of a tenant call.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use palestra_auth::Principal;
use palestra_model_calls::{SILENCE_MS_DEFAULT, allowed, purpose};
use palestra_protocol::list::List;
use palestra_protocol::name::NameKind;
use palestra_protocol::upstream::Spent;
use palestra_protocol::upstream::{PutUpstream, Upstream};
use palestra_store::row::UpstreamRow;

use super::answer::Body;
use super::caller::{Admin, Runner};
use super::extract::Json;
use super::problem::Failure;
use crate::app::App;

/// Models of one upstream.
const MODELS_MAX: usize = 256;
/// Bytes of the fields that are added to each call, as JSON.
const EXTRA_BYTES_MAX: usize = 64 << 10;

/// List upstreams by name, without their keys.
#[utoipa::path(get, path = "/v1/upstreams", tag = "upstreams",
    responses((status = 200, description = "All upstreams of the tenant.", body = List<Upstream>)))]
pub(super) async fn list_upstreams(
    State(app): State<App>,
    Runner(principal): Runner,
) -> Result<Body<List<Upstream>>, Failure> {
    let mut data = Vec::new();
    for row in app.store().upstreams(&principal.tenant).await? {
        let spent = app.model_calls().spent(&principal.tenant, &row.name).await?;
        data.push(public(row, spent));
    }
    Ok(Body(List { data }))
}

/// Describe an upstream, without its key.
#[utoipa::path(get, path = "/v1/upstreams/{name}", tag = "upstreams", params(("name" = String, Path)),
    responses((status = 200, description = "The upstream.", body = Upstream)))]
pub(super) async fn get_upstream(
    State(app): State<App>,
    Runner(principal): Runner,
    Path(name): Path<String>,
) -> Result<Body<Upstream>, Failure> {
    let row = app.store().upstream(&principal.tenant, &name).await?.ok_or_else(|| Failure::not_found("upstream"))?;
    let spent = app.model_calls().spent(&principal.tenant, &name).await?;
    Ok(Body(public(row, spent)))
}

/// Make an upstream, or replace it.
///
/// Its key is sealed, sent to its address alone, and shown never again.
#[utoipa::path(put, path = "/v1/upstreams/{name}", tag = "upstreams", params(("name" = String, Path)),
    request_body(content = PutUpstream, example = json!({
        "dialect": "openai", "url": "http://127.0.0.1:8000/v1", "models": {"policy": "Qwen/Qwen3-8B"},
        "extra": {"return_token_ids": true, "logprobs": true}})),
    responses((status = 200, description = "The upstream.", body = Upstream)))]
pub(super) async fn put_upstream(
    State(app): State<App>,
    Admin(principal): Admin,
    Path(name): Path<String>,
    Json(request): Json<PutUpstream>,
) -> Result<Body<Upstream>, Failure> {
    NameKind::Upstream.check(&name).map_err(|why| Failure::invalid("name", why.to_string()))?;
    check(&app, &principal, &request)?;
    let row = seal(&app, &principal, name, request).await?;
    app.store().put_upstream(&row).await?;
    app.model_calls().upstreams_changed(&principal.tenant);
    Ok(Body(public(row, Spent::default())))
}

/// Delete an upstream. Calls that run end as they would.
#[utoipa::path(delete, path = "/v1/upstreams/{name}", tag = "upstreams", params(("name" = String, Path)),
    responses((status = 204, description = "The upstream is gone.")))]
pub(super) async fn delete_upstream(
    State(app): State<App>,
    Admin(principal): Admin,
    Path(name): Path<String>,
) -> Result<StatusCode, Failure> {
    if app.store().delete_upstream(&principal.tenant, &name).await? {
        app.model_calls().upstreams_changed(&principal.tenant);
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Failure::not_found("upstream"))
    }
}

fn check(app: &App, principal: &Principal, request: &PutUpstream) -> Result<(), Failure> {
    allowed(&app.config().upstream_hosts, &principal.tenant, &request.url)
        .map_err(|why| Failure::invalid("url", why))?;
    if request
        .key
        .as_deref()
        .is_some_and(|key| key.is_empty() || key.len() > 4_096 || !key.bytes().all(|byte| byte.is_ascii_graphic()))
    {
        return Err(Failure::invalid(
            "key",
            "holds characters that no key has: give 1 to 4,096 visible ASCII characters",
        ));
    }
    let named = request.models.iter().flat_map(|(name, model)| [name, model]).all(|name| NameKind::Label.fits(name));
    if request.models.is_empty() || request.models.len() > MODELS_MAX || !named {
        return Err(Failure::invalid(
            "models",
            format!("must name 1 to {MODELS_MAX} models, each by 1 to 200 characters"),
        ));
    }
    if serde_json::to_vec(&request.extra).map_or(true, |extra| extra.len() > EXTRA_BYTES_MAX) {
        return Err(Failure::invalid("extra", format!("has more than {EXTRA_BYTES_MAX} bytes: send fewer fields")));
    }
    let fits = |price: f64| price.is_finite() && price >= 0.0;
    if request.price.is_some_and(|price| !fits(price.input_per_million) || !fits(price.output_per_million)) {
        return Err(Failure::invalid("price", "must be 0 or more"));
    }
    let budget = request.budget.unwrap_or_default();
    if budget.calls == Some(0) || budget.tokens == Some(0) || budget.cost.is_some_and(|cost| !fits(cost) || cost == 0.0)
    {
        return Err(Failure::invalid("budget", "must be above 0: leave out what has no limit"));
    }
    if request.calls_at_once == Some(0) {
        return Err(Failure::invalid("calls_at_once", "must be at least 1: leave it out for no limit"));
    }
    if request.silence_max_ms.is_some_and(|wait| !(1_000..=3_600_000).contains(&wait)) {
        return Err(Failure::invalid("silence_max_ms", "must be from 1,000 to 3,600,000"));
    }
    Ok(())
}

/// The row of an upstream. A key that is left out stays what it was, but for another address: it would be sent to somebody else.
async fn seal(
    app: &App,
    principal: &Principal,
    name: String,
    mut request: PutUpstream,
) -> Result<UpstreamRow, Failure> {
    let sealed_key = match request.key.take() {
        Some(key) => app.auth().seals().seal(&purpose(&principal.tenant, &name), &key),
        None => {
            let stored = app.store().upstream(&principal.tenant, &name).await?;
            stored
                .filter(|stored| stored.definition.url == request.url)
                .map(|stored| stored.sealed_key)
                .unwrap_or_default()
        }
    };
    Ok(UpstreamRow {
        tenant: principal.tenant.to_string(),
        name,
        definition: request,
        sealed_key,
        updated_at: app.clock().now(),
    })
}

fn public(row: UpstreamRow, spent: Spent) -> Upstream {
    let PutUpstream { dialect, url, key: _, models, extra, price, budget, calls_at_once, silence_max_ms } =
        row.definition;
    Upstream {
        name: row.name,
        dialect,
        url,
        has_key: !row.sealed_key.is_empty(),
        models,
        extra,
        price,
        budget,
        spent,
        calls_at_once,
        silence_max_ms: silence_max_ms.unwrap_or(SILENCE_MS_DEFAULT),
        updated_at: row.updated_at,
    }
}
