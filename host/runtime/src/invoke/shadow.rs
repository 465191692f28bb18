//! Calls with a shadow: a candidate in shadow gets a copy of the call, and its answer is compared and never served.

use std::{fmt::Debug, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::time::{Instant, timeout_at};
use wasmtime::Store;

use super::{
    Accept, BadAnswer, CallError, GuestResult, Outcome, call_routed, call_streaming,
    shadow_diff::{Observed, ShadowDiff, differences},
    store,
};
use crate::{
    capabilities::{Recording, ShadowMode, StoreData},
    slots::{ShadowCall, Slot, World},
};

/// Calls a version of `slot` as [`call`](super::call) does, on behalf of `key`: while a traffic split applies, one
/// version answers all calls of a key. While a candidate is in shadow and a permit is free, it gets the same call in
/// the background once this one has ended. `call` is the name of the call for operators.
///
/// A shadow costs this call one attempt to take a permit, a clone of its arguments and of its answer, and a recording
/// of what capabilities answered that may change. The recording is replayed to the shadow call, so that
/// neither the time in between nor the writes of this call make a difference, and the shadow call writes nothing. Where
/// the recording would exceed the candidate's `memory_bytes`, there is no shadow call, and it counts as skipped.
///
/// # Errors
/// See [`call`](super::call).
pub async fn call_shadowed<W, T, U, E, F>(
    slot: &Arc<Slot<W>>,
    key: Option<&[u8]>,
    call: &'static str,
    accept: Accept<T, U>,
    export: F,
) -> Result<GuestResult<U, E>, CallError>
where
    W: World,
    T: ShadowDiff,
    U: Send + 'static,
    E: Clone + Debug + Send + Sync + 'static,
    F: for<'a> FnOnce(&'a W, &'a mut Store<StoreData>) -> BoxFuture<'a, wasmtime::Result<GuestResult<T, E>>>
        + Clone
        + Send
        + 'static,
{
    let Some(shadow_call) = slot.begin_shadow() else {
        return call_routed(slot, key, None, ShadowMode::Off, accept, export).await;
    };
    let recording = recording(&shadow_call);
    let request = export.clone();
    let recorded = ShadowMode::Record(Arc::clone(&recording));
    let live = call_routed(slot, key, None, recorded, keeping(accept), export).await;
    compare(slot, shadow_call, recording, call, accept, live, request)
}

/// Calls a version of `slot` as [`call_streaming`](super::call_streaming) does, and has a candidate in shadow get a `copy` of the
/// call as [`call_shadowed`] does, if there is one. A copy must end within `deadline_ms`.
///
/// # Errors
/// See [`call`](super::call).
pub async fn call_streaming_shadowed<W, T, U, E, F, G>(
    slot: &Arc<Slot<W>>,
    key: Option<&[u8]>,
    longest: Duration,
    call: &'static str,
    accept: Accept<T, U>,
    export: F,
    copy: Option<G>,
) -> Result<GuestResult<U, E>, CallError>
where
    W: World,
    T: ShadowDiff,
    U: Send + 'static,
    E: Clone + Debug + Send + Sync + 'static,
    F: for<'a> FnOnce(&'a W, &'a mut Store<StoreData>) -> BoxFuture<'a, wasmtime::Result<GuestResult<T, E>>>
        + Send,
    G: for<'a> FnOnce(&'a W, &'a mut Store<StoreData>) -> BoxFuture<'a, wasmtime::Result<GuestResult<T, E>>>
        + Send
        + 'static,
{
    let copied = copy.and_then(|copy| Some((copy, slot.begin_shadow()?)));
    let Some((copy, shadow_call)) = copied else {
        return call_streaming(slot, key, longest, accept, export).await;
    };
    let recording = recording(&shadow_call);
    let recorded = ShadowMode::Record(Arc::clone(&recording));
    let live = call_routed(slot, key, Some(longest), recorded, keeping(accept), export).await;
    compare(slot, shadow_call, recording, call, accept, live, copy)
}

/// Returns an empty recording for a live call. Its limit is what the shadow call itself may take.
fn recording<W: World>(shadow_call: &ShadowCall<W>) -> Arc<Recording> {
    Arc::new(Recording::new(shadow_call.version.settings.limits.memory_bytes))
}

/// Accepts what a guest returned, and keeps it for the comparison.
fn keeping<T: ShadowDiff, U>(accept: Accept<T, U>) -> impl FnOnce(T) -> Result<(U, T), BadAnswer> + Send {
    move |returned: T| accept(returned.clone()).map(|answer| (answer, returned))
}

/// Makes the shadow call of a live one in the background, unless no component was called, and returns what the live one gave.
fn compare<W, T, U, E, G>(
    slot: &Arc<Slot<W>>,
    shadow_call: ShadowCall<W>,
    recording: Arc<Recording>,
    call: &'static str,
    accept: Accept<T, U>,
    live: Result<GuestResult<(U, T), E>, CallError>,
    copy: G,
) -> Result<GuestResult<U, E>, CallError>
where
    W: World,
    T: ShadowDiff,
    U: 'static,
    E: Clone + Debug + Send + Sync + 'static,
    G: for<'a> FnOnce(&'a W, &'a mut Store<StoreData>) -> BoxFuture<'a, wasmtime::Result<GuestResult<T, E>>>
        + Send
        + 'static,
{
    let (live, observed): (_, Observed<T, E>) = match live {
        Ok(Ok((answer, returned))) => (Ok(Ok(answer)), Ok(Ok(returned))),
        Ok(Err(error)) => (Ok(Err(error.clone())), Ok(Err(error))),
        Err(CallError::Failed(failure)) if failure.outcome != Outcome::Overloaded => {
            let outcome = failure.outcome;
            (Err(failure.into()), Err(outcome))
        }
        // No component was called.
        Err(error) => return Err(error),
    };
    if recording.is_full() {
        slot.skip_shadow(&shadow_call);
        return live;
    }
    let slot = Arc::clone(slot);
    tokio::spawn(async move {
        let shadow = run_shadow(&slot, &shadow_call, recording, accept, copy).await;
        let failed = shadow.is_err() && observed.is_ok();
        slot.record_shadow(&shadow_call, call, failed, differences(&observed, &shadow));
    });
    live
}

/// Calls the version in shadow, in a fresh instance under the slot's limits. Uses no permit of live calls, and changes
/// neither their metrics and log nor a circuit.
async fn run_shadow<W, T, U, E, F>(
    slot: &Slot<W>,
    shadow_call: &ShadowCall<W>,
    recording: Arc<Recording>,
    accept: Accept<T, U>,
    export: F,
) -> Observed<T, E>
where
    W: World,
    T: ShadowDiff,
    E: Send,
    F: for<'a> FnOnce(&'a W, &'a mut Store<StoreData>) -> BoxFuture<'a, wasmtime::Result<GuestResult<T, E>>>
        + Send,
{
    let version = &shadow_call.version;
    let _running = slot.context.engine.running();
    let deadline = Instant::now() + version.settings.limits.deadline;
    let mut store = store(slot, version);
    store.data_mut().capabilities.shadow = ShadowMode::Replay(recording);
    let called = timeout_at(deadline, async {
        let instance = W::instantiate(&version.linked, &mut store).await?;
        export(&instance, &mut store).await
    });
    match called.await {
        Ok(Ok(Ok(returned))) if accept(returned.clone()).is_err() => Err(Outcome::BadAnswer),
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(Outcome::of(&error, store.data())),
        Err(_) => Err(Outcome::Deadline),
    }
}
