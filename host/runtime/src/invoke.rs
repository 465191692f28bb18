//! One call of a guest: a permit, a store, two clocks, and an outcome in every case.

mod diagnosis;
mod explanation;
mod outcome;
mod shadow;
mod shadow_diff;

use std::{sync::Arc, time::Duration};

use bulkhead_telemetry::{SlotMetrics, guest_lines};
use futures_util::future::BoxFuture;
use tokio::time::{Instant, timeout_at};
use wasmtime::Store;

use self::diagnosis::Diagnosis;
use crate::{
    capabilities::{Capabilities, ShadowMode, StoreData},
    sandbox,
    slots::{PooledInstance, RunningCall, Slot, SlotUnavailable, Version, World},
};

pub use self::{
    explanation::explain,
    outcome::{Accept, BadAnswer, CallFailure, EndedCall, Outcome, accept_any},
    shadow::{call_shadowed, call_streaming_shadowed},
    shadow_diff::{ShadowDiff, json_fields, redacted, shape},
};

/// Time after which to retry a call that found no free instance or exceeded its CPU budget.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Longest text of a guest whose self-test failed, bytes.
const SELF_TEST_TEXT_BYTES: usize = 1024;

/// The result of a typed export: the answer, or an error of the world's own WIT type.
pub type GuestResult<T, E> = Result<T, E>;

/// The error of a call without a result of the guest's own types.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// No version takes the call.
    #[error(transparent)]
    Unavailable(#[from] SlotUnavailable),
    /// The sandbox ended the call, or it never began.
    #[error(transparent)]
    Failed(#[from] CallFailure),
}

/// Calls a version of `slot` that takes calls: `export` calls one typed export, and `accept` turns what it returned
/// into the service's answer. Without a shadow call; see [`call_shadowed`].
///
/// # Errors
/// When the slot is unavailable or overloaded, the sandbox ends the call, or `accept` refuses the answer. Details go to
/// the log.
pub async fn call<W, T, U, E, F>(
    slot: &Slot<W>,
    accept: Accept<T, U>,
    export: F,
) -> Result<GuestResult<U, E>, CallError>
where
    W: World,
    T: Send,
    U: Send,
    E: Send,
    F: for<'a> FnOnce(&'a W, &'a mut Store<StoreData>) -> BoxFuture<'a, wasmtime::Result<GuestResult<T, E>>>
        + Send,
{
    call_routed(slot, None, None, ShadowMode::Off, accept, export).await
}

/// Calls a version of `slot` on behalf of `key`, as [`call`] does, for a call that may run longer than `deadline_ms`: that
/// bounds only its instantiation. `export` enforces all other limits of time, and ends with an [`EndedCall`] where one is
/// exceeded; `longest` bounds the whole call. The call keeps its permit, its instance and its processor time until `export`
/// returns.
///
/// # Errors
/// See [`call`].
pub async fn call_streaming<W, T, U, E, F>(
    slot: &Slot<W>,
    key: Option<&[u8]>,
    longest: Duration,
    accept: Accept<T, U>,
    export: F,
) -> Result<GuestResult<U, E>, CallError>
where
    W: World,
    T: Send,
    U: Send,
    E: Send,
    F: for<'a> FnOnce(&'a W, &'a mut Store<StoreData>) -> BoxFuture<'a, wasmtime::Result<GuestResult<T, E>>>
        + Send,
{
    call_routed(slot, key, Some(longest), ShadowMode::Off, accept, export).await
}

/// Waits for a permit, chooses a version for `key` and calls it. `longest` replaces `deadline_ms` once it is instantiated.
async fn call_routed<W, T, U, E, F>(
    slot: &Slot<W>,
    key: Option<&[u8]>,
    longest: Option<Duration>,
    shadow: ShadowMode,
    accept: impl FnOnce(T) -> Result<U, BadAnswer> + Send,
    export: F,
) -> Result<GuestResult<U, E>, CallError>
where
    W: World,
    T: Send,
    U: Send,
    E: Send,
    F: for<'a> FnOnce(&'a W, &'a mut Store<StoreData>) -> BoxFuture<'a, wasmtime::Result<GuestResult<T, E>>>
        + Send,
{
    let mut record = CallRecord::new(&slot.metrics);
    let _permit = match slot.admit().await {
        Ok(permit) => permit,
        Err(overloaded) => {
            record.outcome = Outcome::Overloaded;
            return Err(CallFailure {
                outcome: Outcome::Overloaded,
                retry_after: Some(overloaded.retry_after),
            }
            .into());
        }
    };
    let version = match slot.choose(key) {
        Ok(version) => version,
        Err(unavailable) => {
            record.exclude();
            return Err(unavailable.into());
        }
    };
    run(slot, &version, &mut record, longest, shadow, accept, export).await.map_err(Into::into)
}

/// Calls `self-test` of a version that takes no calls, under the slot's limits.
///
/// # Errors
/// With the guest's own text, or the outcome with which the sandbox ended the call.
pub async fn run_self_test<W: World>(slot: &Slot<W>, version: &Arc<Version<W>>) -> Result<(), String> {
    let mut record = CallRecord::new(&slot.metrics);
    record.exclude();
    match run(slot, version, &mut record, None, ShadowMode::Off, accept_any, self_test).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(text)) => Err(guest_lines(&text, SELF_TEST_TEXT_BYTES).join("\n  ")),
        Err(failure) => Err(record.explain(&failure)),
    }
}

/// Calls the export `self-test`.
fn self_test<'a, W: World>(
    instance: &'a W,
    store: &'a mut Store<StoreData>,
) -> BoxFuture<'a, wasmtime::Result<GuestResult<(), String>>> {
    Box::pin(instance.self_test(store))
}

/// Calls `version` in a pooled or a fresh instance, and records how the call ended.
async fn run<W, T, U, E, F>(
    slot: &Slot<W>,
    version: &Arc<Version<W>>,
    record: &mut CallRecord<'_>,
    longest: Option<Duration>,
    shadow: ShadowMode,
    accept: impl FnOnce(T) -> Result<U, BadAnswer> + Send,
    export: F,
) -> Result<GuestResult<U, E>, CallFailure>
where
    W: World,
    T: Send,
    U: Send,
    E: Send,
    F: for<'a> FnOnce(&'a W, &'a mut Store<StoreData>) -> BoxFuture<'a, wasmtime::Result<GuestResult<T, E>>>
        + Send,
{
    let _running = slot.context.engine.running();
    let _in_flight = InFlight::new(&slot.metrics, version.tally.start_call());
    let (begun, limit) = (Instant::now(), version.settings.limits.deadline);
    let deadline = begun + longest.unwrap_or(limit);
    let (mut pooled, since) = match slot.take_instance(version) {
        Some(mut pooled) => {
            pooled.store.data_mut().reset_for_call();
            sandbox::arm_epoch_deadline(&mut pooled.store);
            (pooled, begun)
        }
        None => (instantiate(slot, version, record, begun + limit).await?, Instant::now()),
    };
    // A pooled instance still has the values of its last call.
    pooled.store.data_mut().capabilities.begin_call(deadline, shadow);
    let called = timeout_at(deadline, export(&pooled.instance, &mut pooled.store)).await;
    record.metrics.guest.observe(since.elapsed().as_secs_f64());
    record.memory(pooled.store.data());
    let answer = match called {
        Ok(Ok(Ok(returned))) => match accept(returned) {
            Ok(answer) => Ok(answer),
            Err(bad_answer) => {
                let guest = pooled.store.data();
                return Err(record.fail(slot, version, Outcome::BadAnswer, &bad_answer.into(), guest));
            }
        },
        Ok(Ok(Err(error))) => Err(error),
        Ok(Err(error)) => {
            let guest = pooled.store.data();
            return Err(record.fail(slot, version, Outcome::of(&error, guest), &error, guest));
        }
        Err(elapsed) => {
            let guest = pooled.store.data();
            return Err(record.fail(slot, version, Outcome::Deadline, &elapsed.into(), guest));
        }
    };
    record.end(slot, version, if answer.is_ok() { Outcome::Ok } else { Outcome::GuestError });
    // A self-test holds no permit, so its instance may not stay in the pool.
    if record.counted {
        slot.return_instance(version, pooled);
    }
    Ok(answer)
}

/// Creates a store and an instance in it, under the slot's limits from the first instruction.
async fn instantiate<W: World>(
    slot: &Slot<W>,
    version: &Version<W>,
    record: &mut CallRecord<'_>,
    deadline: Instant,
) -> Result<PooledInstance<W>, CallFailure> {
    let mut store = store(slot, version);
    let since = Instant::now();
    let instantiated = timeout_at(deadline, W::instantiate(&version.linked, &mut store)).await;
    record.metrics.instantiate.observe(since.elapsed().as_secs_f64());
    record.memory(store.data());
    match instantiated {
        Ok(Ok(instance)) => Ok(PooledInstance::new(store, instance)),
        Ok(Err(error)) => {
            let guest = store.data();
            Err(record.fail(slot, version, Outcome::of(&error, guest), &error, guest))
        }
        Err(elapsed) => Err(record.fail(slot, version, Outcome::Deadline, &elapsed.into(), store.data())),
    }
}

/// Returns an empty store for a call of `version`, under the slot's limits.
fn store<W: World>(slot: &Slot<W>, version: &Version<W>) -> Store<StoreData> {
    let (resources, id) = (Arc::clone(&slot.resources), Arc::clone(&version.id));
    let capabilities = |budget| Capabilities::new(resources, id, Arc::clone(&version.settings), budget);
    sandbox::store(&slot.context.engine, &slot.context.sandbox, &version.settings.limits, capabilities)
}

/// A guard that counts a call as running; a call that waits for a permit has none.
struct InFlight<'a>(&'a SlotMetrics, #[allow(dead_code)] RunningCall<'a>);

impl<'a> InFlight<'a> {
    fn new(metrics: &'a SlotMetrics, call: RunningCall<'a>) -> Self {
        metrics.in_flight.inc();
        Self(metrics, call)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.dec();
    }
}

/// Records the outcome of a call in the metrics when dropped. A caller that disconnects drops it with the initial
/// outcome.
struct CallRecord<'a> {
    metrics: &'a SlotMetrics,
    since: Instant,
    outcome: Outcome,
    counted: bool,
    /// The diagnosis of a failed call that is not counted, and the guest's last error before it: for the author, who
    /// sees no log.
    diagnosis: Option<(Diagnosis, Option<String>)>,
}

impl<'a> CallRecord<'a> {
    fn new(metrics: &'a SlotMetrics) -> Self {
        Self { metrics, since: Instant::now(), outcome: Outcome::Cancelled, counted: true, diagnosis: None }
    }

    /// Excludes the call from the metrics by outcome.
    const fn exclude(&mut self) {
        self.counted = false;
    }

    /// Records the memory high water of the call.
    fn memory(&self, guest: &StoreData) {
        self.metrics.memory_high_water(guest.limiter.high_water());
    }

    /// Records the outcome of the call, for the version too.
    fn end<W: World>(&mut self, slot: &Slot<W>, version: &Version<W>, outcome: Outcome) {
        self.outcome = outcome;
        if let Some(result) = outcome.call_result().filter(|_| self.counted) {
            slot.record_result(version, result);
        }
    }

    /// Ends the call with a failure, which goes to the log within the slot's log budget: a trap with the guest's
    /// backtrace, for the component's author; any other failure in one short line, because any client's input can
    /// exceed a limit.
    fn fail<W: World>(
        &mut self,
        slot: &Slot<W>,
        version: &Version<W>,
        outcome: Outcome,
        error: &wasmtime::Error,
        guest: &StoreData,
    ) -> CallFailure {
        self.end(slot, version, outcome);
        let is_component_fault = matches!(outcome, Outcome::Trap | Outcome::BadAnswer);
        let text = match outcome {
            Outcome::BadAnswer => "the component's answer cannot be used",
            _ => "the sandbox ended a call",
        };
        let diagnosis = Diagnosis::new(outcome, error, guest, &version.settings);
        if slot.resources.diagnoses.take_line(diagnosis.bytes()) {
            let (name, version, outcome) = (slot.name().as_str(), &*version.id, outcome.as_str());
            let Diagnosis { reason, frames } = &diagnosis;
            if is_component_fault {
                // A log entry is one line.
                let frames = frames.iter().map(|frame| frame.trim_start()).collect::<Vec<_>>().join(" | ");
                let backtrace = Some(&*frames).filter(|frames| !frames.is_empty());
                tracing::error!(slot = name, version, outcome, reason, backtrace, "{text}");
            } else {
                tracing::warn!(slot = name, version, outcome, reason, "{text}");
            }
            let level = if is_component_fault { "error" } else { "warn" };
            for line in [reason].into_iter().chain(frames) {
                slot.resources.recent.add(level, version, outcome.to_owned(), line.clone());
            }
        }
        if !self.counted {
            self.diagnosis = Some((diagnosis, guest.capabilities.last_error.clone()));
        }
        CallFailure {
            outcome,
            retry_after: matches!(outcome, Outcome::Overloaded | Outcome::CpuBudget).then_some(RETRY_AFTER),
        }
    }

    /// Returns a failure with what the component's author needs: the reason, the guest's last error, such as the text
    /// of a panic, and the backtrace.
    fn explain(&self, failure: &CallFailure) -> String {
        match &self.diagnosis {
            Some((diagnosis, last_error)) => {
                format!("{failure}: {}", explanation::text(diagnosis, last_error.as_deref()))
            }
            None => failure.to_string(),
        }
    }
}

impl Drop for CallRecord<'_> {
    fn drop(&mut self) {
        if self.counted {
            self.metrics.call(self.outcome.as_str(), self.since.elapsed().as_secs_f64());
        }
    }
}
