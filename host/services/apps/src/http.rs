//! One request of a client to an app: access, the call of the component, and the answer.

mod copy;
mod cors;
mod error;
mod upgrade;

use std::{
    convert::Infallible,
    future::{poll_fn, ready},
    sync::Arc,
    task::Poll,
};

use axum::{
    Extension, Router,
    body::Body,
    extract::{Request, State},
    http::{
        Method, StatusCode,
        header::{AUTHORIZATION, EXPECT},
    },
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
    invoke::{self, CallError},
    slots::{Slot, SlotUnavailable},
};
use futures_util::future::BoxFuture;
use http_body_util::BodyExt as _;
use tokio::sync::oneshot;
use tower::ServiceExt as _;

use self::error::AppError;
use crate::{
    call::{self, BegunCall, CallEnd},
    config::AppSettings,
    instance::AppInstance,
    progress::{CallProgress, TimeLimits},
    received::{NotPassedOn, Passing, Received},
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

/// What answers an app's requests, for every path.
pub(crate) type Serving = Arc<dyn Fn(Request) -> ServingFuture + Send + Sync>;

/// The answer to a request.
pub(crate) type ServingFuture = BoxFuture<'static, Result<Response, Infallible>>;

/// Returns what answers the requests of an app. Only one with `cors_origins` has layers.
pub(crate) fn serving(app: App) -> Serving {
    let app = Arc::new(app);
    let origins = &app.settings.cors_origins;
    if origins.is_empty() {
        return Arc::new(move |request: Request| -> ServingFuture {
            let app = Arc::clone(&app);
            Box::pin(async move { Ok(serve(State(app), request).await) })
        });
    }
    let router = cors::with_cors(Router::new().fallback(serve).with_state(Arc::clone(&app)), origins);
    Arc::new(move |request: Request| -> ServingFuture { Box::pin(router.clone().oneshot(request)) })
}

async fn serve(State(app): State<Arc<App>>, request: Request) -> Response {
    let answer = answer(&app, request).await;
    marked(app.slot.name(), app.mounted.clone(), answer)
}

/// Returns what answers the requests of an app that has no slot yet: it is starting.
pub(crate) fn starting(settings: &AppSettings) -> Serving {
    let (id, mounted) = (settings.id(), MountedAt(settings.mount.to_string().into()));
    Arc::new(move |_: Request| -> ServingFuture {
        let starting = CallError::Unavailable(SlotUnavailable::Starting { slot: id.as_str() });
        Box::pin(ready(Ok(marked(id, mounted.clone(), Err(starting.into())))))
    })
}

/// Returns an answer with what logs, metrics and layers have to know of it.
fn marked(id: SlotId, mounted: MountedAt, answer: Result<Response, AppError>) -> Response {
    let (response, error) = match answer {
        Ok(response) => (response, None),
        Err(error) => (error.into_response(), error.fault()),
    };
    // A body is passed on as it comes: compressing it would hold it back.
    let served = Extension(Served { service: id.as_str(), error });
    (served, Extension(mounted), Extension(AsItIs), response).into_response()
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
    let client: Client = request.extensions_mut().remove().ok_or(AppError::BAD_TARGET)?;
    let settings: &AppSettings = &app.settings;
    let is_head = request.method() == Method::HEAD;
    let expects_continue = request.headers().contains_key(EXPECT);
    let key = settings.sticky.as_ref().and_then(|sticky| sticky.key(request.headers(), &client));
    let (parts, body) = request.into_parts();
    let is_copied = copy::is_wanted(&app.slot, &parts.method, &body);
    let compared = if is_copied { settings.shadow_headers.clone() } else { Vec::new() };
    let progress = Arc::new(CallProgress::comparing(compared));
    let body = IncomingBody::new(body, settings.body_bytes, Arc::clone(&progress));
    if body.is_declared_too_large() {
        return Err(AppError::body_too_large());
    }
    let stripped = settings.mount.strip_prefix.then_some(settings.mount.path_prefix.as_str());
    let request = request::for_guest(parts, body, &client, stripped).ok_or(AppError::BAD_TARGET)?;
    let passing =
        Passing { is_head, is_compared: is_copied, limit: app.slot.settings().limits.response_bytes };
    let (sender, responded) = oneshot::channel();
    let call = prepared_call(app, key, request, sender, Arc::clone(&progress), passing);
    let (received, call) = begun(call, responded, &progress).await?;
    if expects_continue {
        // The connection sends 100 Continue for a body that is being read when it runs next, and not after a response.
        tokio::task::yield_now().await;
    }
    match received {
        Ok(response) => passed_on(app, response, call, passing).await,
        Err(NotPassedOn::Refused(body)) => {
            let ended = call.end().await;
            drop(body);
            Err(ended.err().map_or(AppError::INTERNAL, Into::into))
        }
        Err(NotPassedOn::GuestError) => {
            if let Some(task) = call.spawn() {
                task.detach();
            }
            Err(AppError::GUEST)
        }
    }
}

/// Returns the call, which runs while it is polled.
fn prepared_call(
    app: &App,
    key: Option<Vec<u8>>,
    request: GuestRequest,
    sender: oneshot::Sender<Received>,
    progress: Arc<CallProgress>,
    passing: Passing,
) -> BoxFuture<'static, CallEnd> {
    let slot = Arc::clone(&app.slot);
    let (idle, whole) = (app.settings.stream_idle, app.settings.stream);
    let copy = passing.is_compared.then(|| copy::of(&request, &app.settings.shadow_headers));
    Box::pin(async move {
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
                let receiving = Arc::clone(&progress);
                let respond = move |head| {
                    // The client may have gone.
                    let _ = sender.send(passing.receive(head, receiving));
                };
                Box::pin(call::run(instance, store, request, respond, progress, limits))
            },
            copy,
        );
        answered.await
    })
}

/// Runs a call until its guest has given a response or an error.
///
/// # Errors
/// When the call ends without either, or the request's body is too large.
async fn begun(
    mut call: BoxFuture<'static, CallEnd>,
    mut responded: oneshot::Receiver<Received>,
    progress: &CallProgress,
) -> Result<(Received, BegunCall), AppError> {
    let begun = poll_fn(|cx| {
        let ended = match call.as_mut().poll(cx) {
            Poll::Ready(ended) => Some(ended),
            Poll::Pending => None,
        };
        // Only while it is polled does a guest respond, or read too much.
        match (responded.try_recv().ok(), ended) {
            (None, None) if !progress.is_request_too_large() => Poll::Pending,
            begun => Poll::Ready(begun),
        }
    });
    let begun = begun.await;
    // Also in place of a response that the guest gives to the part that it has read, and of its failure on the rest.
    // Dropping the call ends it.
    if progress.is_request_too_large() {
        return Err(AppError::body_too_large());
    }
    match begun {
        (Some(received), Some(ended)) => Ok((received, BegunCall::Ended(ended))),
        (Some(received), None) => Ok((received, BegunCall::Running(call))),
        (None, Some(Err(error))) => Err(error.into()),
        (None, _) => Err(AppError::INTERNAL),
    }
}

/// Returns the response of a guest as the client gets it.
async fn passed_on(
    app: &App,
    response: axum::http::Response<GuestBody>,
    call: BegunCall,
    passing: Passing,
) -> Result<Response, AppError> {
    let (mut parts, mut body) = response.into_parts();
    if let Some(task) = call.spawn() {
        body.attach(task);
    }
    response::remove_hop_by_hop(&mut parts.headers);
    cors::remove_permissions(&mut parts.headers, &app.settings.cors_origins);
    if passing.has_body(parts.status) {
        // What runs a guest may answer so for a fault of the guest's own, and say nothing.
        if parts.status == StatusCode::INTERNAL_SERVER_ERROR && !body.has_begun().await {
            return Err(AppError::GUEST);
        }
        return Ok(Response::from_parts(parts, Body::new(body)));
    }
    // The guest writes a body all the same, which nobody gets.
    if !body.has_ended() {
        tokio::spawn(async move { while let Some(Ok(_)) = body.frame().await {} });
    }
    let is_declared = response::declared_length(&parts.headers).is_some();
    let mut response = Response::from_parts(parts, Body::empty());
    if !is_declared {
        response.extensions_mut().insert(UnknownLength);
    }
    Ok(response)
}
