//! What answers, kept in one PostgreSQL for several hosts.
//!
//! * A slot's book stands there as JSON, under a stamp that changes with every change; a host changes it only if the stamp
//!   is the one that it has seen, so that of two hosts one wins and the other looks again. The components that the book
//!   names stand beside it and leave with their last record.
//! * Every host has its own book and components in its data folder, its last good copy: it starts from them and goes on
//!   with them while the database is away. It looks for other stamps every few seconds, and at once when told so.
//! * What operators change goes to the database first, and is refused while that is away: it would fork. What a host
//!   changes by itself (an automatic rollback) counts here at once and is published when it can be; if others have changed
//!   the slot meanwhile, theirs stands. Settings are each host's own, and so is their reload.
//! * A desired version that may not answer here leaves what answers; the host says so and tries again, ever more seldom.

mod adopt;
mod ahead;
mod depot;
mod fault;
mod follow;
mod listen;
mod publish;
mod schema;
mod standing;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, watch},
    task::JoinSet,
};
use uuid::Uuid;

use self::depot::{Depot, Head};
pub(super) use self::standing::Standing;
pub use self::{fault::DepotError, standing::SharedView};
use crate::{config::slots::SlotId, telemetry::Metrics};

/// What is known of the database.
#[derive(Clone, Debug, Default)]
struct Heads {
    /// Why it cannot be asked; none while it can.
    away: Option<String>,
    /// What there is of each slot.
    slots: BTreeMap<String, Head>,
    /// It has been asked once with success.
    known: bool,
}

/// The state that hosts share.
pub struct Shared {
    depot: Depot,
    poll: Duration,
    heads: watch::Sender<Heads>,
    /// Somebody has changed something.
    hint: Arc<Notify>,
    metrics: Arc<Metrics>,
    tasks: Mutex<JoinSet<()>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Shared {
    /// The state in the database at `url`, which is looked at every `poll`. Nothing is asked yet.
    ///
    /// # Errors
    /// When the URL is none.
    pub fn new(url: &str, poll: Duration, metrics: Arc<Metrics>) -> Result<Self, DepotError> {
        let (heads, hint, tasks) = (watch::Sender::default(), Arc::default(), Mutex::default());
        Ok(Self { depot: Depot::new(url)?, poll, heads, hint, metrics, tasks })
    }

    /// Looks once, and from then on in the background.
    pub async fn start(self: &Arc<Self>) {
        // What is wrong is in the log and in the state.
        let _ = self.look().await;
        let (looking, listening) = (Arc::downgrade(self), Arc::downgrade(self));
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.spawn(async move {
            loop {
                let Some((hint, pause)) =
                    looking.upgrade().map(|shared| (Arc::clone(&shared.hint), jittered(shared.poll)))
                else {
                    return;
                };
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = hint.notified() => {}
                }
                let Some(shared) = looking.upgrade() else { return };
                let _ = shared.look().await;
            }
        });
        tasks.spawn(listen::listen(listening));
    }

    /// Ends what runs in the background.
    pub async fn stop(&self) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
        self.depot.close().await;
    }

    /// Asks the database what there is, and tells whoever waits for that.
    async fn look(&self) -> Result<(), DepotError> {
        let heads = self.depot.heads().await;
        let away = heads.as_ref().err().map(ToString::to_string);
        let detail = heads.as_ref().err().and_then(DepotError::detail);
        self.metrics.sharing.reached(away.is_none());
        self.heads.send_modify(|known| {
            match (&known.away, &away) {
                (None, Some(reason)) => tracing::error!(
                    reason,
                    detail,
                    "the hosts' shared state cannot be asked; this host goes on with what it has"
                ),
                (Some(_), None) => tracing::info!("the hosts' shared state can be asked again"),
                _ => {}
            }
            known.away = away;
            if let Ok(slots) = &heads {
                known.slots.clone_from(slots);
                known.known = true;
            }
        });
        heads.map(drop)
    }

    /// Has the next look come at once: this host has changed something by itself.
    pub(super) fn hurry(&self) {
        self.hint.notify_one();
    }

    /// What this host has just published is what there is.
    fn note(&self, slot: SlotId, stamp: &str, generation: u64) {
        let head = Head { stamp: stamp.to_owned(), generation: Some(generation) };
        self.heads.send_modify(|known| drop(known.slots.insert(slot.as_str().to_owned(), head)));
    }

    fn head(&self, slot: SlotId) -> Option<Head> {
        self.heads.borrow().slots.get(slot.as_str()).cloned()
    }

    /// Ends once the state of a slot is neither the one known now nor that of `stamp`.
    async fn is_overtaken(&self, slot: SlotId, stamp: Option<&str>) {
        let known = self.head(slot).map(|head| head.stamp);
        let is_newer = |heads: &Heads| {
            let head = heads.slots.get(slot.as_str()).map(|head| head.stamp.as_str());
            head.is_some() && head != stamp && head != known.as_deref()
        };
        let _ = self.heads.subscribe().wait_for(is_newer).await.map(drop);
    }
}

/// Between nine and eleven tenths of `period`, so that hosts that started together drift apart.
fn jittered(period: Duration) -> Duration {
    let draw = f64::from(Uuid::new_v4().as_fields().0) / f64::from(u32::MAX);
    period.mul_f64(0.9 + 0.2 * draw)
}
