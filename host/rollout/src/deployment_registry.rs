//! The registry of a host's deployments.

use std::{
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bulkhead_config::slots::SlotId;
use bulkhead_telemetry::Metrics;
use futures_util::future::BoxFuture;

use super::{
    AuditEntry, Deploy, LocalStore, LocalStoreError, SharedState, SlotClaim, SlotClaimError, SlotView,
    slot_claim::AddedSlots,
};

/// The deployments of a host, one a slot, for its operators.
pub struct DeploymentRegistry {
    store: Arc<LocalStore>,
    shared: Option<Arc<SharedState>>,
    /// Slots that may be added, in the order of lists.
    expected: Vec<SlotId>,
    slots: RwLock<Vec<Arc<dyn Deploy>>>,
    /// Slots that are added once their first version is ready.
    starting: Mutex<Vec<SlotId>>,
    added: AddedSlots,
    is_complete: AtomicBool,
}

impl std::fmt::Debug for DeploymentRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeploymentRegistry").field("store", &self.store).finish_non_exhaustive()
    }
}

impl DeploymentRegistry {
    /// Returns an empty registry over a local store and, if hosts share it, the shared state.
    pub fn new(store: Arc<LocalStore>, shared: Option<Arc<SharedState>>) -> Self {
        Self {
            store,
            shared,
            expected: Vec::new(),
            slots: RwLock::default(),
            starting: Mutex::default(),
            added: AddedSlots::default(),
            is_complete: AtomicBool::new(false),
        }
    }

    /// Sets the slots that may be added, in the order of lists.
    pub fn with_expected(self, slots: impl IntoIterator<Item = SlotId>) -> Self {
        Self { expected: slots.into_iter().collect(), ..self }
    }

    /// Returns the state that hosts share, if they do.
    pub const fn shared(&self) -> Option<&Arc<SharedState>> {
        self.shared.as_ref()
    }

    /// Returns the store of components and slot states.
    pub const fn store(&self) -> &Arc<LocalStore> {
        &self.store
    }

    /// Lists a slot as starting until it is added.
    pub fn begin(&self, id: SlotId) {
        self.starting.lock().unwrap_or_else(PoisonError::into_inner).push(id);
    }

    /// Returns the slots that are starting.
    pub fn starting(&self) -> Vec<SlotId> {
        self.starting.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds a slot, in place of one with the same id.
    pub fn add(&self, slot: Arc<dyn Deploy>) {
        let id = slot.slot();
        let position = |slot: &Arc<dyn Deploy>| {
            let id = slot.slot();
            self.expected.iter().position(|expected| *expected == id).unwrap_or(usize::MAX)
        };
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|known| known.slot() != id);
        slots.push(slot);
        slots.sort_by_key(position);
        drop(slots);
        self.starting.lock().unwrap_or_else(PoisonError::into_inner).retain(|starting| *starting != id);
    }

    /// Claims an id for a slot that a service adds while the host runs. With the claim, the slot's series are removed
    /// from `metrics`.
    ///
    /// # Errors
    /// When the id is in use, or the host has too many slots.
    pub fn claim(&self, id: SlotId, metrics: &Arc<Metrics>) -> Result<SlotClaim, SlotClaimError> {
        self.added.claim(id, &self.expected, metrics)
    }

    /// Claims an id like [`claim`](Self::claim), also one of an added slot, whose place the new slot takes. The id and its
    /// series are in use until both slots are freed.
    ///
    /// # Errors
    /// When the id is that of a slot of the configuration, or the host has too many slots.
    pub fn claim_successor(&self, id: SlotId, metrics: &Arc<Metrics>) -> Result<SlotClaim, SlotClaimError> {
        self.added.claim_successor(id, &self.expected, metrics)
    }

    /// Ends the changes of a slot that a service has added, before another one takes its place with [`add`](Self::add):
    /// its state is on disk then. Its calls go on. Does nothing if there is no such slot.
    pub async fn hand_over(&self, id: SlotId) {
        let slot = self.get(id.as_str()).filter(|_| self.added.contains(id));
        if let Some(slot) = slot {
            // On a task of its own, as in a removal.
            let _ = tokio::spawn(slot.stop()).await;
        }
    }

    /// Removes a slot that a service has added while the host runs, and waits until its last call has ended and its
    /// versions are freed, at most for its longest call and `drain` more. Its stored state stays in the data folder. Returns
    /// false if there is no such slot.
    pub async fn remove(&self, id: SlotId, drain: Duration) -> bool {
        let Some(freed) = self.retire(id, Duration::ZERO, drain).await else { return false };
        freed.await;
        true
    }

    /// Removes a slot like [`remove`](Self::remove), and returns what waits for its last call: the caller may go on
    /// meanwhile. `longest` is the time of its longest call, where its service bounds calls otherwise than by the slot's
    /// limits. Returns `None` if there is no such slot.
    pub async fn retire(
        &self,
        id: SlotId,
        longest: Duration,
        drain: Duration,
    ) -> Option<BoxFuture<'static, ()>> {
        let slot = self.take(id)?;
        let (freed, limit) = (self.added.freed(id), slot.longest_call().max(longest).saturating_add(drain));
        let SlotView { active, candidate, .. } = slot.view();
        // On a task of its own, so that a caller that goes away does not leave the slot half removed.
        let _ = tokio::spawn(slot.stop()).await;
        Some(Box::pin(async move {
            if tokio::time::timeout(limit, freed).await.is_ok() {
                return;
            }
            let versions = [active, candidate].into_iter().flatten();
            let versions: Vec<String> = versions.map(|version| version.record.id.to_string()).collect();
            tracing::warn!(
                slot = id.as_str(),
                versions = versions.join(", "),
                seconds = limit.as_secs(),
                "the slot is removed and not freed in time; its id stays in use while a call or its service refers to it"
            );
        }))
    }

    fn take(&self, id: SlotId) -> Option<Arc<dyn Deploy>> {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let at = slots.iter().position(|slot| slot.slot() == id && self.added.contains(id))?;
        Some(slots.remove(at))
    }

    /// Returns whether a service has added a slot while the host runs.
    pub fn is_added(&self, id: SlotId) -> bool {
        self.added.contains(id)
    }

    /// Declares that every slot of the configuration has been added.
    pub fn mark_complete(&self) {
        self.is_complete.store(true, Ordering::Release);
    }

    /// Returns whether every slot of the configuration has been added, which takes until the host has started.
    pub fn is_complete(&self) -> bool {
        self.is_complete.load(Ordering::Acquire)
    }

    /// Returns whether a slot of this name has not been added yet and may still be.
    pub fn is_pending(&self, name: &str) -> bool {
        let is_it = |slot: &SlotId| slot.as_str() == name;
        !self.is_complete() && (self.expected.iter().any(is_it) || self.starting().iter().any(is_it))
    }

    /// Returns a slot by its name.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Deploy>> {
        self.all().into_iter().find(|slot| slot.slot().as_str() == name)
    }

    /// Returns every slot.
    pub fn all(&self) -> Vec<Arc<dyn Deploy>> {
        self.slots.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Appends a line about a rejected request to the audit log.
    ///
    /// # Errors
    /// When it cannot be written to disk.
    pub fn record_refusal(&self, entry: AuditEntry) -> Result<(), LocalStoreError> {
        self.store.append_host_entry(entry)
    }

    /// Returns the last `limit` lines of one slot, of the configuration ([`super::CONFIGURATION`]), of rejected
    /// requests ([`super::ACCESS`]) or of all.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn audit(&self, slot: Option<&str>, limit: usize) -> Result<Vec<AuditEntry>, LocalStoreError> {
        self.store.audit_of(slot, limit)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_config::slots::{Limits, SlotSettings};
    use tempfile::TempDir;

    use super::*;
    use crate::tests::{deployment_under, settings};

    #[tokio::test]
    async fn slot_is_listed_until_its_successor() {
        let folder = TempDir::new().unwrap();
        let slot = || deployment_under(settings(), folder.path(), "/nowhere".as_ref());
        let metrics = Arc::new(Metrics::new(folder.path().to_owned(), []).unwrap());
        let store = Arc::new(LocalStore::new(folder.path().join("slots")));
        let (registry, first) = (DeploymentRegistry::new(store, None), slot());
        let id = first.slot();
        let claim = registry.claim(id, &metrics).unwrap();
        registry.add(first);
        let successor = registry.claim_successor(id, &metrics).unwrap();
        registry.hand_over(id).await;
        assert!(registry.get(id.as_str()).is_some());
        registry.add(slot());
        drop(claim);
        assert_eq!(registry.all().len(), 1);
        assert!(registry.is_added(id));
        drop(successor);
        assert!(!registry.is_added(id));
    }

    #[tokio::test]
    async fn starting_slot_is_pending_until_added() {
        let folder = TempDir::new().unwrap();
        let slot = deployment_under(settings(), folder.path(), "/nowhere".as_ref());
        let registry = DeploymentRegistry::new(Arc::new(LocalStore::new(folder.path().join("slots"))), None);
        let id = slot.slot();
        let is_pending = || registry.is_pending(id.as_str());
        assert!(!is_pending());
        registry.begin(id);
        assert_eq!((registry.starting(), is_pending()), (vec![id], true));
        registry.add(slot);
        assert_eq!((registry.starting(), is_pending()), (vec![], false));
    }

    #[tokio::test]
    async fn removal_waits_for_its_limit_only() {
        let folder = TempDir::new().unwrap();
        let limits = Limits { deadline: Duration::ZERO, queue_wait: Duration::ZERO, ..Limits::DEFAULT };
        let slot =
            deployment_under(SlotSettings { limits, ..settings() }, folder.path(), "/nowhere".as_ref());
        let metrics = Arc::new(Metrics::new(folder.path().to_owned(), []).unwrap());
        let store = Arc::new(LocalStore::new(folder.path().join("slots")));
        let (registry, id) = (DeploymentRegistry::new(store, None), slot.slot());
        let claim = registry.claim(id, &metrics).unwrap();
        registry.add(slot);
        assert!(registry.remove(id, Duration::ZERO).await);
        assert!(registry.get(id.as_str()).is_none());
        assert_eq!(registry.claim(id, &metrics).unwrap_err(), SlotClaimError::Taken(id));
        drop(claim);
        registry.claim(id, &metrics).unwrap();
        assert!(!registry.remove(SlotId::new("unknown"), Duration::ZERO).await);
    }
}
