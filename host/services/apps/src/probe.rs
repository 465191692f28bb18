//! The probe of a version: whether it answers the app's probe, before it may take calls.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{body::Body, http::Request};
use bulkhead_runtime::capabilities::{Capabilities, Recording, ShadowMode, StoreData};
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

/// The context of lines about probes in the slot's log.
const CONTEXT: &str = "probe";

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
    capabilities.shadow = ShadowMode::Replay(Arc::new(Recording::of_trial()));
    capabilities.state_and_table::<HttpState>().0.hooks.may_send = may_send;
    let limit = capabilities.settings.limits.deadline;
    let limits = TimeLimits { head: limit, idle: limit, whole: limit };
    let progress = Arc::new(CallProgress::new());
    let body = IncomingBody::new(Body::empty(), 0, Arc::clone(&progress));
    let request = Request::builder().method(probe.method).uri(format!("http://{HOST}{}", probe.target));
    let request = request.body(body).map_err(wasmtime::Error::from)?;
    let begun = Instant::now();
    let known = Arc::clone(&progress);
    let answered = alone::exchange(instance, store, request, known, limits, usize::MAX).await;
    let result = answered.map(|answered| match answered {
        Ok(answered) => call::accept(answered).map_err(|reason| format!("its probe {name} failed: {reason}")),
        Err(GuestFault { status: Some(status) }) => {
            Err(format!("its probe {name} was answered with status {status}"))
        }
        Err(GuestFault { status: None }) => Err(format!("its probe {name} was answered with an error")),
    });
    let is_passed = matches!(result, Ok(Ok(())));
    log(&store.data().capabilities, &name, is_passed, progress.status(), begun.elapsed());
    result
}

/// Writes the outcome of a probe to the slot's log, within the budget of the host's lines.
fn log(capabilities: &Capabilities, name: &str, is_passed: bool, status: Option<u16>, elapsed: Duration) {
    let (resources, version) = (&capabilities.resources, &*capabilities.version);
    let answer =
        status.map_or_else(|| "without a response".to_owned(), |status| format!("with status {status}"));
    let (result, level) = if is_passed { ("passed", "info") } else { ("failed", "warn") };
    let text = format!("{name} {result} {answer} in {} ms", elapsed.as_millis());
    if !resources.diagnoses.take_line(text.len()) {
        return;
    }
    let slot = resources.slot.as_str();
    if is_passed {
        tracing::info!(slot, version, context = CONTEXT, "{text}");
    } else {
        tracing::warn!(slot, version, context = CONTEXT, "{text}");
    }
    resources.recent.add(level, version, CONTEXT.to_owned(), text);
}
