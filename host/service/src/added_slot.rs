//! Slots that a service adds and removes while the host runs.

use std::sync::Arc;

use anyhow::Context as _;
use bulkhead_config::slots::{Slot as SlotSettings, SlotId};
use bulkhead_rollout::SlotClaim;
use bulkhead_runtime::capabilities::SlotResources;
use bulkhead_runtime::engine::PoolReservation;
use bulkhead_runtime::slots::{Slot, World};

use super::context::ServiceContext;

/// What a slot that was added holds of the host until its last call has ended.
struct Held {
    /// Released first, because the id may be claimed again at once.
    _room: PoolReservation,
    _claim: SlotClaim,
}

impl ServiceContext {
    /// Adds a slot while the host runs, and deploys to it like [`deploy`](Self::deploy): versions of an earlier slot with
    /// this id answer again. `provide` adds the service's own values to the slot's resources. Its limits must be among those
    /// that [`Service::reserved_limits`](super::Service::reserved_limits) returned, or below them.
    ///
    /// # Errors
    /// When the id is in use or reserved, the host has too many slots, or the instance pool has no room. A component that may not
    /// answer is no error: the slot exists, stays empty, and log and readiness have the reason.
    pub async fn add_slot<W: World>(
        &self,
        settings: SlotSettings,
        provide: impl FnOnce(&mut SlotResources) + Send,
    ) -> anyhow::Result<Arc<Slot<W>>> {
        let id = settings.id();
        let mut names = self.services.iter().map(|service| service.spec().name);
        if names.any(|name| name == id.as_str() && name != settings.spec.service) {
            anyhow::bail!("the name {id} is that of another service; choose another id");
        }
        let claim = self.deployments.claim(id, &self.metrics)?;
        let room = self.slot_context.engine.reserve(&settings.limits);
        let room = room.with_context(|| format!("slot {id} cannot be added"))?;
        let mut resources = self.resources(&settings)?;
        resources.insert(Arc::new(Held { _room: room, _claim: claim }));
        provide(&mut resources);
        let metrics = self.metrics.add_slot(id);
        let slot = Arc::new(Slot::new(self.slot_context.clone(), settings, resources, metrics));
        self.deploy(&slot).await;
        Ok(slot)
    }

    /// Removes a slot that a service has added while the host runs, and waits until it is freed: its last call has ended,
    /// and nobody else refers to it. So the service removes the slot's routes first, whose requests in flight are still
    /// answered, and drops its own references. The wait ends after the time of the slot's longest call and
    /// `server.drain_seconds`: then the log names the slot, and its id stays in use until it is freed. The slot's state stays
    /// in the data folder. Returns false if there is no such slot.
    pub async fn remove_slot(&self, id: SlotId) -> bool {
        self.deployments.remove(id, self.config.server.drain).await
    }
}
