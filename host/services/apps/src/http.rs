//! One request of a client to an app: access, the call of the component, and the answer.

mod copy;
mod cors;
mod error;
mod upgrade;

use std::sync::Arc;

use axum::{
    Extension, Router,
    body::Body,
    extract::{Request, State},
    http::{Method, StatusCode, header::AUTHORIZATION},
    response::{IntoResponse, Response},
};
use bulkhead_config::slots::SlotId;
use bulkhead_http::{
    access_log::{MountedAt, Served},
    bearer,
    compression::AsItIs,
    forwarded::{Client, Contradicting},
    unknown_length::UnknownLength,
};
use bulkhead_runtime::{
    api_keys::ApiKeys,
    invoke::{self, EndedCall, Outcome},
    slots::Slot,
};
use futures_util::FutureExt as _;
use http_body::Body as _;
use http_body_util::BodyExt as _;
use tokio::sync::{Notify, oneshot};
use wasmtime_wasi_http::p2::body::HyperOutgoingBody;

use self::error::AppError;
use crate::{
    call::{self, CallTask, Head},
    compared::BodyRecord,
    config::AppSettings,
    instance::AppInstance,
    progress::{CallProgress, TimeLimits},
    request::{self, GuestRequest, IncomingBody},
    response::{self, GuestBody},
};

/// The name of the call for operators.
const REQUEST: &str = "request";

/// An app as requests reach it.
pub(crate) struct App {
    slot: Arc<Slot<AppInstance>>,
    settings: Arc<AppSettings>,
    keys: ApiKeys,
    mounted: MountedAt,
}

impl App {
    pub(crate) fn new(slot: Arc<Slot<AppInstance>>, settings: &Arc<AppSettings>) -> Self {
        let app: &AppSettings = settings;
        let keys = ApiKeys::new(app.api_keys.iter().map(|key| key.expose()));
        let mounted = MountedAt(app.mount.to_string().into());
        Self { slot, settings: Arc::clone(settings), keys, mounted }
    }
}

/// Returns the router of an app, which takes every path.
pub(crate) fn router(app: App) -> Router {
    let settings: &AppSettings = &app.settings;
    let origins = settings.cors_origins.clone();
    let router = Router::new().fallback(serve).with_state(Arc::new(app));
    cors::with_cors(router, &origins)
}

async fn serve(State(app): State<Arc<App>>, request: Request) -> Response {
    let id: SlotId = app.slot.name();
    let answer = answer(&app, request).await;
    let (response, error) = match answer {
        Ok(response) => (response, None),
        Err(error) => (error.into_response(), error.fault()),
    };
    // A body is passed on as it comes: compressing it would hold it back.
    let served = Extension(Served { service: id.as_str(), error });
    (served, Extension(app.mounted.clone()), Extension(AsItIs), response).into_response()
}

/// Calls the component for a request.
async fn answer(app: &App, mut request: Request) -> Result<Response, AppError> {
    if request.extensions().get::<Contradicting>().is_some() {
        return Err(AppError::CONTRADICTING);
    }
    if upgrade::is_asked(&request) {
        return Err(AppError::UPGRADE);
    }
    if !app.keys.is_empty() {
        let is_known = bearer::token(request.headers()).is_some_and(|token| app.keys.holds(token));
        if !is_known {
            return Err(AppError::UNAUTHORIZED);
        }
        // The key is the host's business.
        request.headers_mut().remove(AUTHORIZATION);
    }
    let client = request.extensions().get::<Client>().cloned().ok_or(AppError::BAD_TARGET)?;
    let settings: &AppSettings = &app.settings;
    let has_body = request.method() != Method::HEAD;
    let key = settings.sticky.as_ref().and_then(|sticky| sticky.key(request.headers(), &client));
    let (parts, body) = request.into_parts();
    let is_copied = copy::is_wanted(&app.slot, &parts.method, &body);
    let compared = if is_copied { settings.shadow_headers.clone() } else { Vec::new() };
    let progress = Arc::new(CallProgress::comparing(compared));
    let body = IncomingBody::new(body, settings.body_bytes, Arc::clone(&progress));
    if body.is_declared_too_large() {
        return Err(AppError::body_too_large());
    }
    let too_large = body.too_large();
    let stripped = settings.mount.strip_prefix.then_some(settings.mount.path_prefix.as_str());
    let request = request::for_guest(parts, body, &client, stripped).ok_or(AppError::BAD_TARGET)?;
    let (head, responded) = oneshot::channel();
    let call = start(app, key, request, head, Arc::clone(&progress), is_copied);
    let (response, call) = begun(call, responded, &too_large).await?;
    passed_on(app, response, call, progress, Passing { has_body, is_copied }).await
}

/// How a response is passed on.
#[derive(Clone, Copy)]
struct Passing {
    /// Whether the client gets the body.
    has_body: bool,
    /// Whether the body is compared with that of another version.
    is_copied: bool,
}

/// Starts the call on a task of its own.
fn start(
    app: &App,
    key: Option<Vec<u8>>,
    request: GuestRequest,
    head: oneshot::Sender<Head>,
    progress: Arc<CallProgress>,
    is_copied: bool,
) -> CallTask {
    let slot = Arc::clone(&app.slot);
    let (idle, whole) = (app.settings.stream_idle, app.settings.stream);
    let copy = is_copied.then(|| copy::of(&request, &app.settings.shadow_headers));
    CallTask::spawn(async move {
        let answered = invoke::call_streaming_shadowed(
            &slot,
            key.as_deref(),
            whole,
            REQUEST,
            call::accept,
            move |instance, store| {
                // The limits of the version that answers, which a reload may have changed.
                let deadline = store.data().capabilities.settings.limits.deadline;
                let limits = TimeLimits { head: deadline, idle, whole };
                Box::pin(call::run(instance, store, request, head, progress, limits))
            },
            copy,
        );
        answered.await
    })
}

/// Waits until the guest responds.
///
/// # Errors
/// When it gives an error, the call ends without a response, or the request's body is too large.
async fn begun(
    call: CallTask,
    responded: oneshot::Receiver<Head>,
    too_large: &Notify,
) -> Result<(axum::http::Response<HyperOutgoingBody>, CallTask), AppError> {
    let head = tokio::select! {
        biased;
        // Before a response that the guest gives to the part that it has read. Dropping the call ends it.
        () = too_large.notified() => return Err(AppError::body_too_large()),
        head = responded => head,
    };
    match head {
        Ok(Ok(response)) => Ok((response, call)),
        Ok(Err(_)) => {
            call.detach();
            Err(AppError::GUEST)
        }
        Err(_) => Err(ended(call, too_large).await),
    }
}

/// Returns the error of a call that has ended without a response.
async fn ended(call: CallTask, too_large: &Notify) -> AppError {
    match call.end().await {
        // A guest that fails when it reads too much is not at fault.
        Some(Err(_)) if too_large.notified().now_or_never().is_some() => AppError::body_too_large(),
        Some(Err(error)) => error.into(),
        Some(Ok(_)) | None => AppError::INTERNAL,
    }
}

/// Returns the response of a guest as the client gets it.
async fn passed_on(
    app: &App,
    response: axum::http::Response<HyperOutgoingBody>,
    call: CallTask,
    progress: Arc<CallProgress>,
    Passing { has_body, is_copied }: Passing,
) -> Result<Response, AppError> {
    let (mut parts, body) = response.into_parts();
    let limit = app.slot.settings().limits.response_bytes;
    let has_body = has_body && !matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let declared = response::declared_length(&parts.headers);
    let refusal = if parts.status.is_informational() {
        Some(bad_answer("its response has a status of 100 to 199"))
    } else if has_body && body.is_end_stream() && declared.is_some_and(|length| length > 0) {
        Some(bad_answer("its response declares a length and has no body"))
    } else {
        declared.filter(|length| has_body && *length > limit as u64).map(|_| response::too_large(limit))
    };
    if let Some(refusal) = refusal {
        progress.refuse(refusal);
        // The body is kept until then: a guest that can no longer write may trap.
        let ended = call.end().await;
        drop(body);
        return Err(ended.and_then(Result::err).map_or(AppError::INTERNAL, Into::into));
    }
    response::remove_hop_by_hop(&mut parts.headers);
    cors::remove_permissions(&mut parts.headers, &app.settings.cors_origins);
    // The length of a body that is left out is that of another request's.
    let known = declared.filter(|_| has_body);
    let record = is_copied.then(|| BodyRecord::of(&parts.headers));
    let mut body = GuestBody::new(body, progress, limit, known, call).recorded(record);
    if has_body {
        // What runs a guest may answer so for a fault of the guest's own, and say nothing.
        if parts.status == StatusCode::INTERNAL_SERVER_ERROR && !body.has_begun().await {
            return Err(AppError::GUEST);
        }
        return Ok(Response::from_parts(parts, Body::new(body)));
    }
    // The guest writes a body all the same, which nobody gets.
    tokio::spawn(async move { while let Some(Ok(_)) = body.frame().await {} });
    let mut response = Response::from_parts(parts, Body::empty());
    if declared.is_none() {
        response.extensions_mut().insert(UnknownLength);
    }
    Ok(response)
}

fn bad_answer(reason: &str) -> EndedCall {
    EndedCall { outcome: Outcome::BadAnswer, reason: reason.to_owned(), key: None }
}
