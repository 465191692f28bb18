//! Rollback of the shared state by an operator. It does not wait for a compilation: if the shared state is newer
//! than this host's, which may be compiling the version to be removed, the rollback changes the shared state and
//! this host applies it.

use bulkhead_runtime::slots::World;

use crate::{
    Deploy as _, DeployError, Deployment, Expected, SharedState, SlotState, deployment::commit::ATTEMPTS,
};

impl<W: World> Deployment<W> {
    /// Rolls back what all hosts should have.
    pub(in crate::deployment) async fn roll_back_cluster(
        &self,
        expected: &Expected,
    ) -> Result<(), DeployError> {
        for _ in 0..ATTEMPTS {
            let rolled_back = match self.newer_shared_state().await? {
                Some((shared, desired)) => self.roll_back_shared(shared, desired, expected).await,
                None => {
                    self.check_generation(expected)?;
                    self.roll_back(expected).await
                }
            };
            match rolled_back {
                // Another host has changed the slot first.
                Err(DeployError::ConcurrentChange) => {}
                rolled_back => return rolled_back,
            }
        }
        Err(DeployError::ConcurrentChange)
    }

    /// Returns the shared state if this host has not applied it yet.
    async fn newer_shared_state(&self) -> Result<Option<(&SharedState, SlotState)>, DeployError> {
        let Some(shared) = self.shared.as_deref() else { return Ok(None) };
        shared.poll().await?;
        let (slot, stamp) = (self.slot.name(), self.state().stamp.clone());
        if shared.head(slot).is_none_or(|head| Some(head.stamp) == stamp) {
            return Ok(None);
        }
        Ok(shared.store.state(slot).await?.map(|desired| (shared, desired)))
    }

    async fn roll_back_shared(
        &self,
        shared: &SharedState,
        desired: SlotState,
        expected: &Expected,
    ) -> Result<(), DeployError> {
        if desired.generation != expected.generation {
            let slot = Box::new(self.view());
            return Err(DeployError::Conflict { expected: expected.generation, slot });
        }
        let (mut state, slot) = (desired, self.slot.name().as_str());
        let kept = state.candidate.as_ref().and(state.active.clone());
        // If only a candidate is removed, this host may still be compiling the active version.
        let is_compiling = kept.as_ref().is_some_and(|active| !self.state().answers(active));
        let active = kept.or_else(|| state.previous.pop()).ok_or(DeployError::NoPredecessor(slot))?;
        state.record_change(&active, None, &expected.actor, &expected.reason);
        state.trim(self.slot.settings().rollout.history);
        self.publish(shared, &state, &[]).await?;
        let (generation, active) = (state.generation, active.as_str());
        let Expected { actor, reason, .. } = expected;
        tracing::info!(slot, generation, active, actor, reason, "the shared state is rolled back");
        if !is_compiling {
            self.sync().await;
        }
        Ok(())
    }
}
