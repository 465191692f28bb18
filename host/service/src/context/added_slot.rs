//! Slots that a service adds and removes while the host runs.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use bulkhead_config::slots::{SlotId, SlotSettings};
use bulkhead_rollout::SlotClaim;
use bulkhead_runtime::capabilities::SlotResources;
use bulkhead_runtime::engine::PoolReservation;
use bulkhead_runtime::slots::{Slot, World};
use futures_util::future::BoxFuture;

use super::ServiceContext;

/// What a slot that was added holds of the host until its last call has ended.
struct Held {
    /// Released first, because the id may be claimed again at once.
    _room: PoolReservation,
    _claim: SlotClaim,
}

impl ServiceContext {
    /// Adds a slot while the host runs, and deploys to it like [`deploy`](Self::deploy): versions of an earlier slot with
    /// this id answer again. `provide` adds the service's own values to the slot's resources. Its limits must be among those
    /// that [`Service::reserved_limits`](crate::Service::reserved_limits) returned, or below them.
    ///
    /// # Errors
    /// When the id is in use or reserved, the host has too many slots, or the instance pool has no room. A component that may not
    /// answer is not an error: the slot exists, stays empty, and log and readiness have the reason.
    pub async fn add_slot<W: World>(
        &self,
        settings: SlotSettings,
        provide: impl FnOnce(&mut SlotResources) + Send,
    ) -> anyhow::Result<Arc<Slot<W>>> {
        let id = settings.id();
        self.check_name(&settings)?;
        let claim = self.deployments.claim(id, &self.metrics)?;
        let slot = self.claimed_slot(claim, settings, provide)?;
        self.deploy(&slot).await;
        Ok(slot)
    }

    /// Adds a slot like [`add_slot`](Self::add_slot), in place of one that the same service has added under this id, if
    /// there is one. That one answers until the service gives its routes to the new one; then the service drops its
    /// references. Each has its own room in the instance pool until its last call has ended.
    ///
    /// # Errors
    /// See [`add_slot`](Self::add_slot). The former slot stays as it is then. That the pool has no room for both is
    /// [`NoRoom`](bulkhead_runtime::engine::NoRoom).
    pub async fn replace_slot<W: World>(
        &self,
        settings: SlotSettings,
        provide: impl FnOnce(&mut SlotResources) + Send,
    ) -> anyhow::Result<Arc<Slot<W>>> {
        let id = settings.id();
        self.check_name(&settings)?;
        let former = self.deployments.get(id.as_str()).map(|slot| slot.settings().spec.service);
        if former.is_some_and(|service| service != settings.spec.service) {
            anyhow::bail!("the id {id} is that of another service's slot; choose another id");
        }
        let claim = self.deployments.claim_successor(id, &self.metrics)?;
        let slot = self.claimed_slot(claim, settings, provide)?;
        // The new one reads the state that the former one has written.
        self.deployments.hand_over(id).await;
        self.deploy(&slot).await;
        Ok(slot)
    }

    /// Refuses an id that is the name of another service.
    fn check_name(&self, settings: &SlotSettings) -> anyhow::Result<()> {
        let id = settings.id();
        let mut names = self.services.iter().map(|service| service.spec().name);
        if names.any(|name| name == id.as_str() && name != settings.spec.service) {
            anyhow::bail!("the name {id} is that of another service; choose another id");
        }
        Ok(())
    }

    /// Returns a slot with its claim and its room in the instance pool, which has no version yet.
    fn claimed_slot<W: World>(
        &self,
        claim: SlotClaim,
        settings: SlotSettings,
        provide: impl FnOnce(&mut SlotResources),
    ) -> anyhow::Result<Arc<Slot<W>>> {
        let id = settings.id();
        let room = self.slot_context.engine.reserve(&settings.limits);
        let room = room.with_context(|| format!("slot {id} cannot be added"))?;
        let mut resources = self.resources(&settings)?;
        resources.insert(Arc::new(Held { _room: room, _claim: claim }));
        provide(&mut resources);
        let metrics = self.metrics.add_slot(id);
        Ok(Arc::new(Slot::new(self.slot_context.clone(), settings, resources, metrics)))
    }

    /// Removes a slot that a service has added while the host runs, and waits until it is freed: its last call has ended,
    /// and nobody else refers to it. So the service removes the slot's routes first, whose requests in flight are still
    /// answered, and drops its own references. The wait ends after the time of the slot's longest call and
    /// `server.drain_seconds`: then the log names the slot, and its id stays in use until it is freed. The slot's state stays
    /// in the data folder. Returns false if there is no such slot.
    pub async fn remove_slot(&self, id: SlotId) -> bool {
        self.deployments.remove(id, self.config.server.drain).await
    }

    /// Removes a slot like [`remove_slot`](Self::remove_slot), and returns what waits until it is freed: the service may
    /// go on meanwhile, also with [`replace_slot`](Self::replace_slot) for the same id. `longest` is the time of its longest
    /// call, where the service bounds calls otherwise than by the slot's limits. Returns `None` if there is no such slot.
    pub async fn retire_slot(&self, id: SlotId, longest: Duration) -> Option<BoxFuture<'static, ()>> {
        self.deployments.retire(id, longest, self.config.server.drain).await
    }
}
