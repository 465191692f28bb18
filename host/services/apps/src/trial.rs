//! The trial of a version: whether it answers the app's probe, before it may take calls.

use std::sync::{Arc, OnceLock};

use axum::{body::Body, http::Request};
use bulkhead_runtime::capabilities::{Recording, ShadowMode, StoreData};
use http_body_util::BodyExt as _;
use tokio::sync::oneshot;
use wasmtime::Store;

use crate::{
    call::{self, CallTask, GuestAnswer, Head},
    capability::HttpState,
    config::Probe,
    instance::AppInstance,
    progress::{CallProgress, TimeLimits},
    request::IncomingBody,
    response::GuestBody,
};

/// The host name that a probe is sent to.
const HOST: &str = "localhost";

/// The probe of a slot: a value in its resources. A slot without it has instances only tried.
#[derive(Debug)]
pub(crate) struct SlotProbe(pub(crate) Probe);

/// Tries an instance: sends it the slot's probe, if there is one, of which nothing may remain.
pub(crate) async fn run(
    instance: &AppInstance,
    store: &mut Store<StoreData>,
) -> wasmtime::Result<Result<(), String>> {
    let capabilities = &mut store.data_mut().capabilities;
    let Some(SlotProbe(probe)) = capabilities.resources.get::<SlotProbe>() else { return Ok(Ok(())) };
    let (name, probe) = (format!("{} {}", probe.method, probe.target), probe.clone());
    // As in a shadow call that finds nothing recorded: writes are refused.
    capabilities.shadow = ShadowMode::Replay(Arc::new(Recording::new(0)));
    capabilities.state_and_table::<HttpState>().0.hooks.is_trial = true;
    let limit = capabilities.settings.limits.deadline;
    let limits = TimeLimits { head: limit, idle: limit, whole: limit };
    let progress = Arc::new(CallProgress::new());
    let body = IncomingBody::new(Body::empty(), 0, Arc::clone(&progress));
    let request = Request::builder().method(probe.method).uri(format!("http://{HOST}{}", probe.target));
    let request = request.body(body).map_err(wasmtime::Error::from)?;
    let (head, responded) = oneshot::channel();
    let called = call::run(instance, store, request, head, Arc::clone(&progress), limits);
    let status = OnceLock::new();
    let reading = async {
        read(responded, progress, &status).await;
        // The guest may go on after its response.
        std::future::pending::<GuestAnswer>().await
    };
    let answered = tokio::select! {
        answered = called => answered?,
        answered = reading => Ok(answered),
    };
    Ok(match (answered, status.get()) {
        (Ok(answered), _) => {
            call::accept(answered).map_err(|reason| format!("its probe {name} failed: {reason}"))
        }
        (Err(_), Some(status)) => Err(format!("its probe {name} was answered with status {status}")),
        (Err(_), None) => Err(format!("its probe {name} was answered with an error")),
    })
}

/// Reads the response, and records its status.
async fn read(responded: oneshot::Receiver<Head>, progress: Arc<CallProgress>, status: &OnceLock<u16>) {
    let Ok(Ok(response)) = responded.await else { return };
    let (parts, body) = response.into_parts();
    status.get_or_init(|| parts.status.as_u16());
    // The call is that of the trial, which waits for both.
    let call = CallTask::spawn(std::future::pending());
    let mut body = GuestBody::new(body, progress, usize::MAX, None, call);
    while let Some(Ok(_)) = body.frame().await {}
}
