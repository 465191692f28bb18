//! Receiving components, from whoever sends one or from a registry.

use std::{collections::HashMap, sync::Arc};

use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{
        HeaderMap, HeaderName, StatusCode,
        header::{CONTENT_TYPE, LOCATION},
    },
    response::{IntoResponse, Response},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bulkhead_config::registries::Reference;
use bulkhead_http::{body, json::object};
use bulkhead_rollout::registry::{Pulled, Registries};
use bulkhead_rollout::{Deploy, Proof, Pushed, StageReporter};
use bulkhead_telemetry::escape_guest;
use serde::Deserialize;
use serde_json::json;
use tokio::{sync::OwnedSemaphorePermit, task::JoinSet};

use super::{Api, ApiError, CHANGE, Operators, access::Actor, jobs, slots::known};

/// Media types of components.
const MEDIA_TYPES: [&str; 2] = ["application/wasm", "application/octet-stream"];
/// Longest name of where a component comes from, bytes.
const SOURCE_BYTES: usize = 200;

/// Carries the text of the component's `.minisig` file, in base64.
const SIGNATURE: HeaderName = HeaderName::from_static("x-minisign-signature");

/// A component to pull.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    reference: String,
}

/// A component, where it came from, and what speaks for it.
type Received = (Arc<[u8]>, String, Proof);

/// A component that is here, or the reference of one, and what speaks for it.
enum Incoming {
    Here(Received),
    There(Reference, Proof),
}

/// Takes a component, or pulls the one that is named, up to its trial: 201 with the version, 200 where it answers
/// already, or 422 with everything that is wrong. With `Prefer: respond-async` 202 and a job that goes on.
pub(super) async fn push(
    State(api): State<Arc<Api>>,
    Path(slot): Path<String>,
    Extension(actor): Extension<Actor>,
    parameters: Result<Query<HashMap<String, String>>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let slot = api.slot(&slot)?;
    let source = known(parameters, &["source"])?.remove("source");
    let is_named = body::is_json(&headers);
    // Each holds a component in memory until it has passed its trial, whether or not anybody waits for that.
    let permits = if is_named { &api.pulls } else { &api.uploads };
    let permit = Arc::clone(permits).try_acquire_owned().map_err(|_| ApiError::receiving())?;
    let incoming = match is_named {
        true => named(source, &headers, body).await?,
        false => Incoming::Here(uploaded(&api, source, &headers, body).await?),
    };
    let Operators { runtime, registries, .. } = &api.operators;
    let receive = incoming.receive(Arc::clone(registries));
    if jobs::is_preferred(&headers) {
        let job = api.jobs.start(slot.slot().as_str())?;
        let (started, report) = (Arc::clone(&job), job.report());
        runtime.spawn(async move {
            let push = async { take(slot, receive.await?, actor, report, permit).await };
            job.end(tokio::spawn(push).await.unwrap_or_else(|_| Err(ApiError::stopping())));
        });
        let fields = [(LOCATION, started.path()), (jobs::PREFERENCE_APPLIED, jobs::RESPOND_ASYNC.to_owned())];
        return Ok((StatusCode::ACCEPTED, fields, Json(started.view())).into_response());
    }
    // Dropped with the request: nobody pulls what nobody waits for.
    let mut pull = JoinSet::new();
    pull.spawn_on(receive, runtime);
    let received = pull.join_next().await.and_then(Result::ok).ok_or_else(ApiError::stopping)??;
    let pushed = runtime.spawn(take(slot, received, actor, Arc::new(|_| {}), permit)).await;
    let pushed = pushed.map_err(|_| ApiError::stopping())??;
    let status = if pushed.is_new() { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(json!(pushed))).into_response())
}

/// Has the slot take a component. The permit goes back once that has ended.
async fn take(
    slot: Arc<dyn Deploy>,
    (wasm, source, proof): Received,
    actor: Actor,
    report: StageReporter,
    _permit: OwnedSemaphorePermit,
) -> Result<Pushed, ApiError> {
    Ok(slot.push(wasm, source, proof, actor.0, report).await?)
}

impl Incoming {
    /// The component itself. A signature in the request comes before the manifest's.
    async fn receive(self, registries: Arc<Registries>) -> Result<Received, ApiError> {
        let (reference, proof) = match self {
            Self::Here(received) => return Ok(received),
            Self::There(reference, proof) => (reference, proof),
        };
        let Pulled { wasm, reference, signature } = registries.pull(&reference).await?;
        let proof = match (proof, signature) {
            (Proof::None, Some(signature)) => Proof::Signature(signature),
            (given, _) => given,
        };
        Ok((wasm, reference.to_string(), proof))
    }
}

async fn uploaded(
    api: &Api,
    source: Option<String>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Received, ApiError> {
    let source = escape_guest(source.as_deref().unwrap_or("upload"), SOURCE_BYTES);
    // Only what was pulled by a digest has been seen to have it.
    if Reference::is_reference(&source) {
        let text = "source says where a file was; to have a component pulled, send {\"reference\": ...} as application/json";
        return Err(ApiError::invalid(text));
    }
    let declared = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !declared.is_some_and(|declared| MEDIA_TYPES.contains(&declared)) {
        let text = format!("the content type must be {}", MEDIA_TYPES.join(" or "));
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", text));
    }
    let proof = proof(headers)?;
    let wasm = body::read(body, api.component()).await.map_err(ApiError::component)?;
    Ok((wasm.as_ref().into(), source, proof))
}

async fn named(source: Option<String>, headers: &HeaderMap, body: Body) -> Result<Incoming, ApiError> {
    let proof = proof(headers)?;
    if source.is_some() {
        return Err(ApiError::invalid("source goes with a component and not with a reference"));
    }
    let body = body::read_json(headers, body, CHANGE).await?;
    let Wanted { reference } =
        object(&body).map_err(|fault| ApiError::invalid(format!("the body is not understood: {fault}")))?;
    let reference =
        Reference::parse(&reference).map_err(|text| ApiError::invalid(format!("the reference {text}")))?;
    Ok(Incoming::There(reference, proof))
}

fn proof(headers: &HeaderMap) -> Result<Proof, ApiError> {
    let Some(value) = headers.get(SIGNATURE) else { return Ok(Proof::None) };
    let text = BASE64_STANDARD.decode(value).ok().and_then(|text| String::from_utf8(text).ok());
    let text =
        text.ok_or_else(|| ApiError::invalid(format!("{SIGNATURE} must be a .minisig file in base64")))?;
    Ok(Proof::Signature(text))
}

#[cfg(test)]
mod tests;
