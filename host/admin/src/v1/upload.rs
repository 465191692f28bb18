//! Receives components, uploaded by a client or pulled from a registry.

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
use bulkhead_registry::{PulledComponent, Registries};
use bulkhead_rollout::{Deploy, Proof, Pushed, StageReporter};
use bulkhead_telemetry::escape_guest;
use serde::Deserialize;
use serde_json::json;
use tokio::{sync::OwnedSemaphorePermit, task::JoinSet};

use super::{AdminApiError, Api, CHANGE_LIMITS, OperatorContext, access::Actor, jobs, slots::known};

/// Media types of components.
const MEDIA_TYPES: [&str; 2] = ["application/wasm", "application/octet-stream"];
/// Longest source of a component, bytes.
const SOURCE_BYTES: usize = 200;

/// The header with the text of the component's `.minisig` file, in base64.
const SIGNATURE: HeaderName = HeaderName::from_static("x-minisign-signature");

/// The body of a request to pull a component.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ComponentReference {
    reference: String,
}

/// A component, its source, and the proof of its origin.
type ReceivedComponent = (Arc<[u8]>, String, Proof);

/// Where a component comes from.
enum ComponentOrigin {
    Uploaded(ReceivedComponent),
    Registry(Reference, Proof),
}

/// Receives or pulls a component, and tries it out: 201 with the version, 200 where it is in use already, or 422 with
/// every problem. With `Prefer: respond-async`, answers 202 and continues in a job.
pub(super) async fn push(
    State(api): State<Arc<Api>>,
    Path(slot): Path<String>,
    Extension(actor): Extension<Actor>,
    parameters: Result<Query<HashMap<String, String>>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, AdminApiError> {
    let slot = api.slot(&slot)?;
    let source = known(parameters, &["source"])?.remove("source");
    let is_reference = body::is_json(&headers);
    // Each push holds a component in memory until its self-test ends, even when the client has disconnected.
    let permits = if is_reference { &api.pulls } else { &api.uploads };
    let permit = Arc::clone(permits).try_acquire_owned().map_err(|_| AdminApiError::receiving())?;
    let origin = match is_reference {
        true => referenced(source, &headers, body).await?,
        false => ComponentOrigin::Uploaded(uploaded(&api, source, &headers, body).await?),
    };
    let OperatorContext { runtime, registries, .. } = &api.operators;
    let receive = origin.receive(Arc::clone(registries));
    if jobs::is_preferred(&headers) {
        let job = api.jobs.start(slot.slot().as_str())?;
        let (started, report) = (Arc::clone(&job), job.reporter());
        runtime.spawn(async move {
            let push = async { push_received(slot, receive.await?, actor, report, permit).await };
            job.end(tokio::spawn(push).await.unwrap_or_else(|_| Err(AdminApiError::stopping())));
        });
        let fields = [(LOCATION, started.path()), (jobs::PREFERENCE_APPLIED, jobs::RESPOND_ASYNC.to_owned())];
        return Ok((StatusCode::ACCEPTED, fields, Json(started.view())).into_response());
    }
    // Dropping the request cancels the pull.
    let mut pull = JoinSet::new();
    pull.spawn_on(receive, runtime);
    let received = pull.join_next().await.and_then(Result::ok).ok_or_else(AdminApiError::stopping)??;
    let pushed = runtime.spawn(push_received(slot, received, actor, Arc::new(|_| {}), permit)).await;
    let pushed = pushed.map_err(|_| AdminApiError::stopping())??;
    let status = if pushed.is_new() { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(json!(pushed))).into_response())
}

/// Pushes a component to the slot, and releases the permit at the end.
async fn push_received(
    slot: Arc<dyn Deploy>,
    (wasm, source, proof): ReceivedComponent,
    actor: Actor,
    report: StageReporter,
    _permit: OwnedSemaphorePermit,
) -> Result<Pushed, AdminApiError> {
    Ok(slot.push(wasm, source, proof, actor.0, report).await?)
}

impl ComponentOrigin {
    /// Returns the component. A signature in the request takes precedence over the manifest's.
    async fn receive(self, registries: Arc<Registries>) -> Result<ReceivedComponent, AdminApiError> {
        let (reference, proof) = match self {
            Self::Uploaded(received) => return Ok(received),
            Self::Registry(reference, proof) => (reference, proof),
        };
        let PulledComponent { wasm, reference, signature } = registries.pull(&reference).await?;
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
) -> Result<ReceivedComponent, AdminApiError> {
    let source = escape_guest(source.as_deref().unwrap_or("upload"), SOURCE_BYTES);
    // Only a pulled component is known to match the digest of a reference.
    if Reference::is_reference(&source) {
        let text = "source names the origin of an uploaded file; to pull a component, send {\"reference\": ...} as application/json";
        return Err(AdminApiError::invalid(text));
    }
    let declared = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !declared.is_some_and(|declared| MEDIA_TYPES.contains(&declared)) {
        let text = format!("the content type must be {}", MEDIA_TYPES.join(" or "));
        return Err(AdminApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", text));
    }
    let proof = proof(headers)?;
    let wasm = body::read(body, api.component_limits()).await.map_err(AdminApiError::unread_component)?;
    Ok((wasm.as_ref().into(), source, proof))
}

async fn referenced(
    source: Option<String>,
    headers: &HeaderMap,
    body: Body,
) -> Result<ComponentOrigin, AdminApiError> {
    let proof = proof(headers)?;
    if source.is_some() {
        return Err(AdminApiError::invalid(
            "the parameter source is for uploads; leave it out with a reference",
        ));
    }
    let body = body::read_json(headers, body, CHANGE_LIMITS).await?;
    let ComponentReference { reference } =
        object(&body).map_err(|fault| AdminApiError::invalid(format!("the body is malformed: {fault}")))?;
    let reference = Reference::parse(&reference)
        .map_err(|text| AdminApiError::invalid(format!("the reference {text}")))?;
    Ok(ComponentOrigin::Registry(reference, proof))
}

fn proof(headers: &HeaderMap) -> Result<Proof, AdminApiError> {
    let Some(value) = headers.get(SIGNATURE) else { return Ok(Proof::None) };
    let text = BASE64_STANDARD.decode(value).ok().and_then(|text| String::from_utf8(text).ok());
    let text =
        text.ok_or_else(|| AdminApiError::invalid(format!("{SIGNATURE} must be a .minisig file in base64")))?;
    Ok(Proof::Signature(text))
}

#[cfg(test)]
mod tests;
