//! The probe of a version: whether it answers the app's probe, before it may take calls.

use std::sync::Arc;

use axum::{body::Body, http::Request};
use bulkhead_runtime::capabilities::{Recording, ShadowMode, StoreData};
use wasmtime::Store;

use crate::{
    alone,
    call::{self, GuestFault},
    capability::HttpState,
    config::Probe,
    instance::AppInstance,
    progress::{CallProgress, TimeLimits},
    request::IncomingBody,
};

/// The host name that a probe is sent to.
const HOST: &str = "localhost";

/// The probe of a slot: a value in its resources. A slot without it has instances only tried.
#[derive(Debug)]
pub(crate) struct SlotProbe {
    pub(crate) probe: Probe,
    /// Whether outgoing requests of a version that is probed are sent.
    pub(crate) may_send: bool,
}

/// Tries an instance: sends it the slot's probe, if there is one, of which nothing may remain but what
/// outgoing requests do where the configuration allows them.
pub(crate) async fn run(
    instance: &AppInstance,
    store: &mut Store<StoreData>,
) -> wasmtime::Result<Result<(), String>> {
    let capabilities = &mut store.data_mut().capabilities;
    let Some(known) = capabilities.resources.get::<SlotProbe>() else { return Ok(Ok(())) };
    let (probe, may_send) = (known.probe.clone(), known.may_send);
    let name = format!("{} {}", probe.method, probe.target);
    // As in a shadow call that finds nothing recorded: writes are refused.
    capabilities.shadow = ShadowMode::Replay(Arc::new(Recording::new(0)));
    capabilities.state_and_table::<HttpState>().0.hooks.may_send = may_send;
    let limit = capabilities.settings.limits.deadline;
    let limits = TimeLimits { head: limit, idle: limit, whole: limit };
    let progress = Arc::new(CallProgress::new());
    let body = IncomingBody::new(Body::empty(), 0, Arc::clone(&progress));
    let request = Request::builder().method(probe.method).uri(format!("http://{HOST}{}", probe.target));
    let request = request.body(body).map_err(wasmtime::Error::from)?;
    let answered = alone::exchange(instance, store, request, progress, limits, usize::MAX).await?;
    Ok(match answered {
        Ok(answered) => call::accept(answered).map_err(|reason| format!("its probe {name} failed: {reason}")),
        Err(GuestFault { status: Some(status) }) => {
            Err(format!("its probe {name} was answered with status {status}"))
        }
        Err(GuestFault { status: None }) => Err(format!("its probe {name} was answered with an error")),
    })
}
