//! Copies of calls for a candidate in shadow, whose answers are compared and never served.

use std::{fmt::Debug, sync::Arc};

use futures_util::future::BoxFuture;
use tokio::time::{Instant, timeout_at};
use wasmtime::Store;

use super::{
    Accept, Answer, CallError, Outcome, ask,
    compared::{Compared, Seen, differences},
    store,
};
use crate::{
    capabilities::{Guest, Journal, Mirror},
    slots::{Copied, Slot, World},
};

/// Calls a version of `slot` as [`call`](super::call) does, on behalf of `key`: its calls are all answered by one version
/// while a candidate is tried on a share of the calls. While a candidate is in shadow and has a place, it gets the same
/// call once this one has ended, in the background. `call` names the call for operators.
///
/// That costs this call one attempt to take a place, a clone of what it asks and of what it is answered, and a note of
/// what the host told its guest of the ledger and of figures: the copy is told the same, so that neither the time that has
/// passed nor what this call wrote makes a difference, and writes nothing itself. Where the note would take more than
/// the candidate's `memory_bytes`, there is no copy, and it counts as skipped.
///
/// # Errors
/// See [`call`](super::call).
pub async fn call_mirrored<W, T, U, E, F>(
    slot: &Arc<Slot<W>>,
    key: Option<&[u8]>,
    call: &'static str,
    accept: Accept<T, U>,
    export: F,
) -> Result<Answer<U, E>, CallError>
where
    W: World,
    T: Compared,
    U: Send + 'static,
    E: Clone + Debug + Send + Sync + 'static,
    F: for<'a> FnOnce(&'a W, &'a mut Store<Guest>) -> BoxFuture<'a, wasmtime::Result<Answer<T, E>>>
        + Clone
        + Send
        + 'static,
{
    let Some(copied) = slot.copy() else { return ask(slot, key, Mirror::None, accept, export).await };
    // As much as a call may take itself.
    let journal = Arc::new(Journal::new(copied.version.settings.limits.memory_bytes));
    let request = export.clone();
    let with_copy = move |returned: T| accept(returned.clone()).map(|answer| (answer, returned));
    let live = ask(slot, key, Mirror::Live(Arc::clone(&journal)), with_copy, export).await;
    let (live, seen): (_, Seen<T, E>) = match live {
        Ok(Ok((answer, returned))) => (Ok(Ok(answer)), Ok(Ok(returned))),
        Ok(Err(error)) => (Ok(Err(error.clone())), Ok(Err(error))),
        Err(CallError::Failed(failure)) if failure.outcome != Outcome::Overloaded => {
            let outcome = failure.outcome;
            (Err(failure.into()), Err(outcome))
        }
        // Nothing has been called.
        Err(error) => return Err(error),
    };
    if journal.is_full() {
        slot.skip_copy(&copied);
        return live;
    }
    let slot = Arc::clone(slot);
    tokio::spawn(async move {
        let shadow = repeat(&slot, &copied, journal, accept, request).await;
        let failed = shadow.is_err() && seen.is_ok();
        slot.note_copy(&copied, call, failed, differences(&seen, &shadow));
    });
    live
}

/// Calls the version in shadow, in a fresh instance under the slot's limits. Of the live side's places, figures, log
/// and circuit it touches nothing.
async fn repeat<W, T, U, E, F>(
    slot: &Slot<W>,
    copied: &Copied<W>,
    journal: Arc<Journal>,
    accept: Accept<T, U>,
    export: F,
) -> Seen<T, E>
where
    W: World,
    T: Compared,
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
        Ok(Ok(Ok(returned))) if accept(returned.clone()).is_err() => Err(Outcome::BadAnswer),
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(Outcome::of(&error, store.data())),
        Err(_) => Err(Outcome::Deadline),
    }
}
