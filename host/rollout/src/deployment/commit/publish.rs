//! Publication of a slot's state and components to the shared database.

use std::collections::BTreeSet;

use bulkhead_runtime::slots::World;

use crate::{DeployError, Deployment, SharedState, SlotState, state::Blob};

impl<W: World> Deployment<W> {
    /// Publishes `state` to all hosts with the components that the database lacks, of which `pending` are not in
    /// the local store; returns the new stamp.
    pub(in crate::deployment) async fn publish(
        &self,
        shared: &SharedState,
        state: &SlotState,
        pending: &[Blob],
    ) -> Result<String, DeployError> {
        let slot = self.slot.name();
        let named: BTreeSet<&String> = state.versions.iter().map(|record| &record.component).collect();
        let named: Vec<String> = named.into_iter().cloned().collect();
        let mut missing = shared.store.missing(slot, &named).await?;
        // A component that is pushed again may have a signature now.
        let mut blobs: Vec<Blob> = pending
            .iter()
            .filter(|blob| missing.contains(&blob.component) || blob.signature.is_some())
            .filter(|blob| named.contains(&blob.component))
            .cloned()
            .collect();
        missing.retain(|component| !blobs.iter().any(|blob| blob.component == *component));
        for component in missing {
            match self.stored_blob(&component).await {
                Ok(blob) => blobs.push(blob),
                Err(error) if state.serves_component(&component) => return Err(error),
                Err(error) => {
                    tracing::warn!(slot = slot.as_str(), component, %error, "other hosts cannot return to this component");
                }
            }
        }
        let stamp = shared.store.publish(slot, state, &named, &blobs).await?;
        shared.record_head(slot, &stamp, state.generation);
        shared.metrics.sharing.record_sync(slot.as_str(), "published");
        Ok(stamp)
    }
}
