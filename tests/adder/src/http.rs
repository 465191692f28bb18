//! The routes: a sum, and how many calls have been counted.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::get,
};
use bulkhead_http::error::HostError;
use bulkhead_runtime::{
    invoke::{self, CallError},
    slots::Slot,
};
use serde_json::{Value, json};

use crate::{
    capability::Counter,
    metrics::AdderMetrics,
    world::{Adder, Sum},
};

/// The number is not one that the configuration allows.
const TOO_LARGE: HostError = HostError {
    status: StatusCode::BAD_REQUEST,
    code: "number_too_large",
    message: "the number is larger than adder.largest allows",
};
/// No version takes the call.
const UNAVAILABLE: HostError = HostError {
    status: StatusCode::SERVICE_UNAVAILABLE,
    code: "slot_empty",
    message: "no component answers; /health/ready says why",
};

/// What the routes work with.
pub struct AdderState {
    pub slot: Arc<Slot<Adder>>,
    pub counter: Arc<Counter>,
    pub metrics: Arc<AdderMetrics>,
    pub largest: u32,
}

/// Returns the routes.
pub fn router(state: AdderState) -> Router {
    Router::new().route("/sum/{number}", get(sum)).route("/total", get(total)).with_state(Arc::new(state))
}

async fn sum(
    State(state): State<Arc<AdderState>>,
    Path(number): Path<u32>,
) -> Result<Json<Value>, HostError> {
    let sum = state.add(number).await;
    state.metrics.ended(state.slot.name(), sum.is_ok());
    let Sum(sum) = sum?;
    Ok(Json(json!({ "sum": sum })))
}

async fn total(State(state): State<Arc<AdderState>>) -> Json<Value> {
    Json(json!({ "total": state.counter.total() }))
}

impl AdderState {
    /// Asks the component.
    async fn add(&self, number: u32) -> Result<Sum, HostError> {
        if number > self.largest {
            return Err(TOO_LARGE);
        }
        let accept = invoke::accept_any;
        let answer = invoke::call_shadowed(&self.slot, None, "add", accept, move |adder, store| {
            Box::pin(async move { adder.call_add(store, number).await.map(|sum| Ok(Sum(sum))) })
        });
        let answer: Result<Result<Sum, Infallible>, CallError> = answer.await;
        let Ok(sum) = answer.map_err(|error| match error {
            CallError::Unavailable(_) => UNAVAILABLE,
            CallError::Failed(_) => HostError::INTERNAL,
        })?;
        Ok(sum)
    }
}
