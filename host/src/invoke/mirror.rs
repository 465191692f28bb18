//! Copies of calls for a candidate in shadow, whose answers are compared and never served.

use std::{fmt::Debug, sync::Arc};

use futures_util::future::BoxFuture;
use tokio::time::{Instant, timeout_at};
use wasmtime::Store;

use super::{
    Answer, CallError, Outcome, ask,
    compared::{Compared, Seen, differences},
    store,
};
use crate::{
    capabilities::{Guest, Journal, Mirror},
    slots::{Copied, Slot, World},
};

/// Calls a version of `slot` on behalf of `key`, as [`call_for`](super::call_for) does. While a candidate is in shadow
/// and has a place, it gets the same call once this one has ended, in the background. `call` names the call for
/// operators.
///
/// That costs this call one attempt to take a place, a clone of what it asks and of what it is answered, and a note of
/// what the host told its guest of the ledger and of figures: the copy is told the same, so that neither the time that has
/// passed nor what this call wrote makes a difference, and writes nothing itself.
///
/// # Errors
/// See [`call`](super::call).
pub async fn call_mirrored<W, T, E, F>(
    slot: &Arc<Slot<W>>,
    key: Option<&[u8]>,
    call: &'static str,
    export: F,
) -> Result<Answer<T, E>, CallError>
where
    W: World,
    T: Compared,
    E: Clone + Debug + Send + Sync + 'static,
    F: for<'a> FnOnce(&'a W, &'a mut Store<Guest>) -> BoxFuture<'a, wasmtime::Result<Answer<T, E>>>
        + Clone
        + Send
        + 'static,
{
    let Some(copied) = slot.copy() else { return ask(slot, key, Mirror::None, export).await };
    let (journal, request) = (Arc::<Journal>::default(), export.clone());
    let live = ask(slot, key, Mirror::Live(Arc::clone(&journal)), export).await;
    let seen: Seen<T, E> = match &live {
        Ok(answer) => Ok(answer.clone()),
        Err(CallError::Failed(failure)) if failure.outcome != Outcome::Overloaded => Err(failure.outcome),
        // Nothing has been called.
        Err(_) => return live,
    };
    let slot = Arc::clone(slot);
    tokio::spawn(async move {
        let shadow = repeat(&slot, &copied, journal, request).await;
        let failed = shadow.is_err() && seen.is_ok();
        slot.note_copy(&copied, call, failed, differences(&seen, &shadow));
    });
    live
}

/// Calls the version in shadow, in a fresh instance under the slot's limits. Of the live side's places, figures, log
/// and circuit it touches nothing.
async fn repeat<W, T, E, F>(
    slot: &Slot<W>,
    copied: &Copied<W>,
    journal: Arc<Journal>,
    export: F,
) -> Seen<T, E>
where
    W: World,
    T: Send,
    E: Send,
    F: for<'a> FnOnce(&'a W, &'a mut Store<Guest>) -> BoxFuture<'a, wasmtime::Result<Answer<T, E>>> + Send,
{
    let version = &copied.version;
    let _running = slot.yard.engine.running();
    let deadline = Instant::now() + version.settings.limits.deadline;
    let mut store = store(slot, version);
    store.data_mut().capabilities.mirror = Mirror::Shadow(journal);
    let called = timeout_at(deadline, async {
        let instance = W::instantiate(&version.linked, &mut store).await?;
        export(&instance, &mut store).await
    });
    match called.await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(Outcome::of(&error, store.data())),
        Err(_) => Err(Outcome::Deadline),
    }
}
