//! One call of a guest: a place, a store, two clocks, and an outcome whatever happens.

mod compared;
mod diagnosis;
mod mirror;
mod outcome;

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::time::{Instant, timeout_at};
use wasmtime::Store;

use self::diagnosis::Diagnosis;
pub use self::{
    compared::{Compared, form, hidden, json_members},
    mirror::call_mirrored,
    outcome::{Accept, Failure, Outcome, Unusable, as_it_is},
};
use crate::{
    capabilities::{Capabilities, Guest, Mirror},
    sandbox,
    slots::{Empty, Kept, Run, Slot, Version, World},
    telemetry::{SlotMetrics, guest_lines},
};

/// When to ask again after a call that found no room or used its CPU budget.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Longest text of a guest that has failed its self-test, bytes.
const WORD_BYTES: usize = 1024;

/// What came of a typed export: the service's answer, or the error of its own WIT type.
pub type Answer<T, E> = Result<T, E>;

/// Why a call has no answer from the guest's own types.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// No version is active.
    #[error(transparent)]
    Empty(#[from] Empty),
    /// The sandbox ended the call, or never began it.
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// Calls a version of `slot` that answers: `export` calls one typed export, and `accept` makes the service's answer of
/// what it returned. A candidate in shadow gets no copy, see [`call_mirrored`] for a call that does.
///
/// # Errors
/// When the slot is empty, overloaded, the sandbox ends the call, or `accept` refuses. Details go to the log.
pub async fn call<W, T, U, E, F>(
    slot: &Slot<W>,
    accept: Accept<T, U>,
    export: F,
) -> Result<Answer<U, E>, CallError>
where
    W: World,
    T: Send,
    U: Send,
    E: Send,
    F: for<'a> FnOnce(&'a W, &'a mut Store<Guest>) -> BoxFuture<'a, wasmtime::Result<Answer<T, E>>> + Send,
{
    ask(slot, None, Mirror::None, accept, export).await
}

async fn ask<W, T, U, E, F>(
    slot: &Slot<W>,
    key: Option<&[u8]>,
    mirror: Mirror,
    accept: impl FnOnce(T) -> Result<U, Unusable> + Send,
    export: F,
) -> Result<Answer<U, E>, CallError>
where
    W: World,
    T: Send,
    U: Send,
    E: Send,
    F: for<'a> FnOnce(&'a W, &'a mut Store<Guest>) -> BoxFuture<'a, wasmtime::Result<Answer<T, E>>> + Send,
{
    let mut record = Record::new(&slot.metrics);
    let _place = match slot.admit().await {
        Ok(place) => place,
        Err(overloaded) => {
            record.outcome = Outcome::Overloaded;
            return Err(
                Failure { outcome: Outcome::Overloaded, retry_after: Some(overloaded.retry_after) }.into()
            );
        }
    };
    let version = match slot.choose(key) {
        Ok(version) => version,
        Err(empty) => {
            record.forget();
            return Err(empty.into());
        }
    };
    run(slot, &version, &mut record, mirror, accept, export).await.map_err(Into::into)
}

/// Calls `self-test` of a version that is not active, under the slot's limits.
///
/// # Errors
/// The guest's own word, or how the sandbox ended the call.
pub async fn trial<W: World>(slot: &Slot<W>, version: &Arc<Version<W>>) -> Result<(), String> {
    let mut record = Record::new(&slot.metrics);
    record.forget();
    match run(slot, version, &mut record, Mirror::None, as_it_is, self_test).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(word)) => Err(guest_lines(&word, WORD_BYTES).join("\n  ")),
        Err(failure) => Err(record.explain(&failure)),
    }
}

fn self_test<'a, W: World>(
    instance: &'a W,
    store: &'a mut Store<Guest>,
) -> BoxFuture<'a, wasmtime::Result<Answer<(), String>>> {
    Box::pin(instance.self_test(store))
}

async fn run<W, T, U, E, F>(
    slot: &Slot<W>,
    version: &Arc<Version<W>>,
    record: &mut Record<'_>,
    mirror: Mirror,
    accept: impl FnOnce(T) -> Result<U, Unusable> + Send,
    export: F,
) -> Result<Answer<U, E>, Failure>
where
    W: World,
    T: Send,
    U: Send,
    E: Send,
    F: for<'a> FnOnce(&'a W, &'a mut Store<Guest>) -> BoxFuture<'a, wasmtime::Result<Answer<T, E>>> + Send,
{
    let _running = slot.yard.engine.running();
    let _in_flight = InFlight::new(&slot.metrics, version.tally.run());
    let deadline = Instant::now() + version.settings.limits.deadline;
    let mut kept = match slot.take_kept(version) {
        Some(mut kept) => {
            kept.store.data_mut().renew();
            sandbox::arm(&mut kept.store);
            kept
        }
        None => fresh(slot, version, record, deadline).await?,
    };
    kept.store.data_mut().capabilities.deadline = Some(deadline);
    // A kept instance has those of its last call.
    kept.store.data_mut().capabilities.mirror = mirror;
    kept.store.data_mut().capabilities.last_words = None;
    let since = Instant::now();
    let called = timeout_at(deadline, export(&kept.instance, &mut kept.store)).await;
    record.metrics.guest.observe(since.elapsed().as_secs_f64());
    record.memory(kept.store.data());
    let answer = match called {
        Ok(Ok(Ok(returned))) => match accept(returned) {
            Ok(answer) => Ok(answer),
            Err(unusable) => {
                let guest = kept.store.data();
                return Err(record.fail(slot, version, Outcome::BadAnswer, &unusable.into(), guest));
            }
        },
        Ok(Ok(Err(error))) => Err(error),
        Ok(Err(error)) => {
            let guest = kept.store.data();
            return Err(record.fail(slot, version, Outcome::of(&error, guest), &error, guest));
        }
        Err(elapsed) => {
            let guest = kept.store.data();
            return Err(record.fail(slot, version, Outcome::Deadline, &elapsed.into(), guest));
        }
    };
    record.end(slot, version, if answer.is_ok() { Outcome::Ok } else { Outcome::GuestError });
    // A trial has no place of its own, so its instance may not stay in one.
    if record.counted {
        slot.keep(version, kept);
    }
    Ok(answer)
}

/// A fresh store with a fresh instance in it, under the limits from its first instruction.
async fn fresh<W: World>(
    slot: &Slot<W>,
    version: &Version<W>,
    record: &mut Record<'_>,
    deadline: Instant,
) -> Result<Kept<W>, Failure> {
    let mut store = store(slot, version);
    let since = Instant::now();
    let instantiated = timeout_at(deadline, W::instantiate(&version.linked, &mut store)).await;
    record.metrics.instantiate.observe(since.elapsed().as_secs_f64());
    record.memory(store.data());
    match instantiated {
        Ok(Ok(instance)) => Ok(Kept::new(store, instance)),
        Ok(Err(error)) => {
            let guest = store.data();
            Err(record.fail(slot, version, Outcome::of(&error, guest), &error, guest))
        }
        Err(elapsed) => Err(record.fail(slot, version, Outcome::Deadline, &elapsed.into(), store.data())),
    }
}

/// An empty store for a call of `version`, under the slot's limits.
fn store<W: World>(slot: &Slot<W>, version: &Version<W>) -> Store<Guest> {
    let (resources, id) = (Arc::clone(&slot.resources), Arc::clone(&version.id));
    let capabilities = |budget| Capabilities::new(resources, id, Arc::clone(&version.settings), budget);
    sandbox::store(&slot.yard.engine, &slot.yard.sandbox, &version.settings.limits, capabilities)
}

/// Counts a call as running for as long as it runs; one that waits for a place does not.
struct InFlight<'a>(&'a SlotMetrics, #[allow(dead_code)] Run<'a>);

impl<'a> InFlight<'a> {
    fn new(metrics: &'a SlotMetrics, run: Run<'a>) -> Self {
        metrics.in_flight.inc();
        Self(metrics, run)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.dec();
    }
}

/// Counts a call once, however it ends: a caller that leaves drops it with the outcome it began with.
struct Record<'a> {
    metrics: &'a SlotMetrics,
    since: Instant,
    outcome: Outcome,
    counted: bool,
    /// Why a call that is not counted has failed, and the guest's last error before that: for the author, who sees no log.
    why: Option<(Diagnosis, Option<String>)>,
}

impl<'a> Record<'a> {
    fn new(metrics: &'a SlotMetrics) -> Self {
        Self { metrics, since: Instant::now(), outcome: Outcome::Cancelled, counted: true, why: None }
    }

    /// Leaves the call out of the figures by outcome.
    const fn forget(&mut self) {
        self.counted = false;
    }

    fn memory(&self, guest: &Guest) {
        self.metrics.memory_high_water(guest.limiter.high_water());
    }

    /// Notes how the call ended, and has its version judged by it.
    fn end<W: World>(&mut self, slot: &Slot<W>, version: &Version<W>, outcome: Outcome) {
        self.outcome = outcome;
        if let Some(ending) = outcome.ending().filter(|_| self.counted) {
            slot.note(version, ending);
        }
    }

    /// Ends the call with a failure, which goes to the log within the slot's log budget: a trap with the guest's
    /// backtrace, for the component's author; any other failure in one short line, for a limit may be met by anybody's input.
    fn fail<W: World>(
        &mut self,
        slot: &Slot<W>,
        version: &Version<W>,
        outcome: Outcome,
        error: &wasmtime::Error,
        guest: &Guest,
    ) -> Failure {
        self.end(slot, version, outcome);
        let is_broken = matches!(outcome, Outcome::Trap | Outcome::BadAnswer);
        let text = match outcome {
            Outcome::BadAnswer => "the component's answer cannot be used",
            _ => "the sandbox ended a call",
        };
        let diagnosis = Diagnosis::new(outcome, error, guest, &version.settings.limits, slot.name());
        if slot.resources.diagnoses.take(diagnosis.bytes()) {
            let (name, version, outcome) = (slot.name().as_str(), &*version.id, outcome.as_str());
            let Diagnosis { reason, frames } = &diagnosis;
            if is_broken {
                // One line, as every log line is.
                let frames = frames.iter().map(|frame| frame.trim_start()).collect::<Vec<_>>().join(" | ");
                let backtrace = Some(&*frames).filter(|frames| !frames.is_empty());
                tracing::error!(slot = name, version, outcome, reason, backtrace, "{text}");
            } else {
                tracing::warn!(slot = name, version, outcome, reason, "{text}");
            }
            let level = if is_broken { "error" } else { "warn" };
            for line in [reason].into_iter().chain(frames) {
                slot.resources.recent.add(level, version, outcome.to_owned(), line.clone());
            }
        }
        if !self.counted {
            self.why = Some((diagnosis, guest.capabilities.last_words.clone()));
        }
        Failure {
            outcome,
            retry_after: matches!(outcome, Outcome::Overloaded | Outcome::CpuBudget).then_some(RETRY_AFTER),
        }
    }

    /// A failure with everything that its author needs: why, what the guest logged as an error last, such as the text of
    /// a panic, and its frames.
    fn explain(&self, failure: &Failure) -> String {
        let mut text = failure.to_string();
        let Some((Diagnosis { reason, frames }, last_words)) = &self.why else { return text };
        text.push_str(&format!(": {reason}"));
        if let Some(words) = last_words {
            text.push_str("\n  the last error that it logged:");
            guest_lines(words, WORD_BYTES).iter().for_each(|line| text.push_str(&format!("\n    {line}")));
        }
        if !frames.is_empty() {
            text.push_str("\n  its backtrace, the innermost frame first:");
            frames.iter().for_each(|frame| text.push_str(&format!("\n  {frame}")));
        }
        text
    }
}

impl Drop for Record<'_> {
    fn drop(&mut self) {
        if self.counted {
            self.metrics.call(self.outcome.as_str(), self.since.elapsed().as_secs_f64());
        }
    }
}
