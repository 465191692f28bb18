//! Read access to slots: state, history, logs, comparison of versions, audit log.

use std::{collections::HashMap, sync::Arc};

use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
};
use bulkhead_rollout::{ACCESS, CONFIGURATION, DeployError};
use bulkhead_runtime::background;
use serde_json::{Value, json};

use super::{AdminApiError, Api};

/// Entries that an answer has without the parameter `limit`.
const DEFAULT_LIMIT: usize = 100;
/// Greatest value of the parameter `limit`.
const MAX_LIMIT: usize = 10_000;

/// The query parameters of a request.
pub(super) type QueryParameters = Result<Query<HashMap<String, String>>, QueryRejection>;

pub(super) async fn list(State(api): State<Arc<Api>>) -> Json<Value> {
    let slots: Vec<_> = api.operators.deployments.all().iter().map(|slot| slot.view()).collect();
    Json(json!({ "slots": slots }))
}

pub(super) async fn show(
    State(api): State<Arc<Api>>,
    Path(slot): Path<String>,
) -> Result<Json<Value>, AdminApiError> {
    Ok(Json(json!(api.slot(&slot)?.view())))
}

pub(super) async fn shadow(
    State(api): State<Arc<Api>>,
    Path(slot): Path<String>,
) -> Result<Json<Value>, AdminApiError> {
    let slot = api.slot(&slot)?;
    let shadow = slot.shadow().ok_or_else(|| DeployError::NoShadow(slot.slot().as_str()))?;
    Ok(Json(json!(shadow)))
}

pub(super) async fn diff(
    State(api): State<Arc<Api>>,
    Path(slot): Path<String>,
    parameters: QueryParameters,
) -> Result<Json<Value>, AdminApiError> {
    let slot = api.slot(&slot)?;
    let mut parameters = known(parameters, &["a", "b"])?;
    let (Some(a), Some(b)) = (parameters.remove("a"), parameters.remove("b")) else {
        return Err(AdminApiError::invalid("parameters a and b must name two versions"));
    };
    let compared = api.operators.runtime.spawn(slot.diff(a, b)).await;
    Ok(Json(json!(compared.map_err(|_| AdminApiError::stopping())??)))
}

pub(super) async fn history(
    State(api): State<Arc<Api>>,
    Path(slot): Path<String>,
) -> Result<Json<Value>, AdminApiError> {
    Ok(Json(json!({ "versions": api.slot(&slot)?.history() })))
}

pub(super) async fn logs(
    State(api): State<Arc<Api>>,
    Path(slot): Path<String>,
    parameters: QueryParameters,
) -> Result<Json<Value>, AdminApiError> {
    let parameters = known(parameters, &["limit"])?;
    let lines = api.slot(&slot)?.logs(limit(&parameters)?);
    Ok(Json(json!({ "lines": lines })))
}

pub(super) async fn audit(
    State(api): State<Arc<Api>>,
    parameters: QueryParameters,
) -> Result<Json<Value>, AdminApiError> {
    let parameters = known(parameters, &["limit", "slot"])?;
    let of = match parameters.get("slot").map(String::as_str) {
        None => None,
        Some(CONFIGURATION) => Some(CONFIGURATION),
        Some(ACCESS) => Some(ACCESS),
        Some(name) => Some(api.slot(name)?.slot().as_str()),
    };
    let (limit, deployments) = (limit(&parameters)?, Arc::clone(&api.operators.deployments));
    let read = background::run(move || deployments.audit(of, limit)).await;
    let entries = read.map_err(|_| AdminApiError::stopping())??;
    Ok(Json(json!({ "entries": entries })))
}

/// Returns the parameters, or an error when one is unknown.
pub(super) fn known(
    parameters: QueryParameters,
    names: &[&str],
) -> Result<HashMap<String, String>, AdminApiError> {
    let Query(parameters) = parameters.map_err(|_| AdminApiError::invalid("the query is malformed"))?;
    match parameters.keys().all(|name| names.contains(&name.as_str())) {
        true => Ok(parameters),
        false => Err(AdminApiError::invalid(format!(
            "the query has an unknown parameter; known are {}",
            names.join(", ")
        ))),
    }
}

/// Returns the parameter `limit`, or its default.
pub(super) fn limit(parameters: &HashMap<String, String>) -> Result<usize, AdminApiError> {
    let Some(limit) = parameters.get("limit") else { return Ok(DEFAULT_LIMIT) };
    let limit = limit.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
    limit.ok_or_else(|| AdminApiError::invalid(format!("limit must be a number from 1 to {MAX_LIMIT}")))
}
