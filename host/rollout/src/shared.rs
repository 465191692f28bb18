//! The state of slots that several hosts share in one PostgreSQL database.
//!
//! * The database stores a slot's state as JSON with a stamp that changes on every write. A host replaces the state
//!   only if the stamp is the one that it has seen, so that of two concurrent writers one succeeds and the other
//!   retries on the new state. The components that the state names are stored beside it and deleted with their last
//!   record.
//! * Every host has its own state and components in its data folder. It starts from them and keeps using them while
//!   the database is unreachable. It polls the stamps every few seconds, and at once after a notification.
//! * A change by an operator is written to the database first, and rejected while that is unreachable, because the
//!   hosts' states would diverge. An automatic change (a rollback) takes effect on this host at once and is
//!   published when possible; if another host has changed the slot meanwhile, the other host's change wins.
//!   Settings, and their reload, belong to each host.
//! * If a desired version may not answer on this host, its versions stay; the host reports that and retries with
//!   growing pauses.

mod error;
mod listen;
mod replication_status;
mod schema;
mod store;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bulkhead_config::slots::SlotId;
use bulkhead_telemetry::Metrics;
use tokio::{
    sync::{Notify, watch},
    task::JoinSet,
};
use uuid::Uuid;

use self::store::{SharedStore, SlotHead};

pub(super) use self::replication_status::ReplicationStatus;
pub use self::{error::SharedStoreError, replication_status::SharedView};

/// The slots' heads as the database last returned them.
#[derive(Clone, Debug, Default)]
pub(super) struct SlotHeads {
    /// Why the database is unreachable; `None` while it answers.
    pub(super) unreachable: Option<String>,
    /// The head of each slot by its name.
    slots: BTreeMap<String, SlotHead>,
    /// The database has answered at least once.
    has_answered: bool,
}

/// The state that hosts share.
pub struct SharedState {
    pub(super) store: SharedStore,
    pub(super) poll_interval: Duration,
    pub(super) heads: watch::Sender<SlotHeads>,
    /// Wakes the poll task.
    hint: Arc<Notify>,
    pub(super) metrics: Arc<Metrics>,
    tasks: Mutex<JoinSet<()>>,
}

impl std::fmt::Debug for SharedState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedState").finish_non_exhaustive()
    }
}

impl SharedState {
    /// Returns the shared state in the database at `url`, polled every `poll_interval`. Does not connect yet.
    ///
    /// # Errors
    /// When the URL is invalid.
    pub fn new(url: &str, poll_interval: Duration, metrics: Arc<Metrics>) -> Result<Self, SharedStoreError> {
        let (heads, hint, tasks) = (watch::Sender::default(), Arc::default(), Mutex::default());
        Ok(Self { store: SharedStore::new(url)?, poll_interval, heads, hint, metrics, tasks })
    }

    /// Polls once, and then starts the background tasks.
    pub async fn start(self: &Arc<Self>) {
        // The log and `heads` hold the error.
        let _ = self.poll().await;
        let (polling, listening) = (Arc::downgrade(self), Arc::downgrade(self));
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.spawn(async move {
            loop {
                let Some((hint, pause)) = polling
                    .upgrade()
                    .map(|shared| (Arc::clone(&shared.hint), jittered(shared.poll_interval)))
                else {
                    return;
                };
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = hint.notified() => {}
                }
                let Some(shared) = polling.upgrade() else { return };
                let _ = shared.poll().await;
            }
        });
        tasks.spawn(listen::listen(listening));
    }

    /// Stops the background tasks.
    pub async fn stop(&self) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
        self.store.close().await;
    }

    /// Reads the heads from the database and notifies the subscribers of `heads`.
    pub(super) async fn poll(&self) -> Result<(), SharedStoreError> {
        let heads = self.store.heads().await;
        let unreachable = heads.as_ref().err().map(ToString::to_string);
        let detail = heads.as_ref().err().and_then(SharedStoreError::detail);
        self.metrics.sharing.set_reachable(unreachable.is_none());
        self.heads.send_modify(|known| {
            match (&known.unreachable, &unreachable) {
                (None, Some(reason)) => tracing::error!(
                    reason,
                    detail,
                    "the shared state is unreachable; this host keeps its own state"
                ),
                (Some(_), None) => tracing::info!("the shared state is reachable again"),
                _ => {}
            }
            known.unreachable = unreachable;
            if let Ok(slots) = &heads {
                known.slots.clone_from(slots);
                known.has_answered = true;
            }
        });
        heads.map(drop)
    }

    /// Requests a poll at once, after an automatic change of this host.
    pub(super) fn request_poll(&self) {
        self.hint.notify_one();
    }

    /// Records the head that this host has just published.
    pub(super) fn record_head(&self, slot: SlotId, stamp: &str, generation: u64) {
        let head = SlotHead { stamp: stamp.to_owned(), generation: Some(generation) };
        self.heads.send_modify(|known| drop(known.slots.insert(slot.as_str().to_owned(), head)));
    }

    pub(super) fn head(&self, slot: SlotId) -> Option<SlotHead> {
        self.heads.borrow().slots.get(slot.as_str()).cloned()
    }

    /// Waits until the head of a slot is neither the one known now nor that of `stamp`.
    pub(super) async fn wait_for_newer(&self, slot: SlotId, stamp: Option<&str>) {
        let known = self.head(slot).map(|head| head.stamp);
        let is_newer = |heads: &SlotHeads| {
            let head = heads.slots.get(slot.as_str()).map(|head| head.stamp.as_str());
            head.is_some() && head != stamp && head != known.as_deref()
        };
        let _ = self.heads.subscribe().wait_for(is_newer).await.map(drop);
    }
}

/// Returns 90 to 110 percent of `period`, so that hosts that started together drift apart.
fn jittered(period: Duration) -> Duration {
    let draw = f64::from(Uuid::new_v4().as_fields().0) / f64::from(u32::MAX);
    period.mul_f64(0.9 + 0.2 * draw)
}
