use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError},
};

use super::{DepotError, Shared};
use crate::{
    background,
    deploy::{Book, DeployError, Deployment, vault::Blob},
    slots::World,
};

impl From<DepotError> for DeployError {
    fn from(error: DepotError) -> Self {
        match error {
            DepotError::Overtaken => Self::Overtaken,
            DepotError::Unreadable { .. } => Self::StateUnreadable(error.to_string()),
            DepotError::Url | DepotError::Away { .. } | DepotError::Absent(_) => {
                if let Some(detail) = error.detail() {
                    tracing::warn!(reason = %error, detail, "the hosts' database does not give or take");
                }
                Self::StateUnreachable(error.to_string())
            }
        }
    }
}

impl<W: World> Deployment<W> {
    /// Puts `book` where all hosts see it, with the components that are not there yet; its stamp. Of these, `at_hand` are
    /// not in the vault.
    pub(in crate::deploy) async fn publish(
        &self,
        shared: &Shared,
        book: &Book,
        at_hand: &[Blob],
    ) -> Result<String, DeployError> {
        let slot = self.slot.name();
        let named: BTreeSet<&String> = book.versions.iter().map(|record| &record.component).collect();
        let named: Vec<String> = named.into_iter().cloned().collect();
        let mut missing = shared.depot.missing(slot, &named).await?;
        // A component that comes again may be signed now.
        let mut blobs: Vec<Blob> = at_hand
            .iter()
            .filter(|blob| missing.contains(&blob.component) || blob.signature.is_some())
            .filter(|blob| named.contains(&blob.component))
            .cloned()
            .collect();
        missing.retain(|component| !blobs.iter().any(|blob| blob.component == *component));
        for component in missing {
            match self.kept(&component).await {
                Ok(blob) => blobs.push(blob),
                Err(error) if book.is_wanted(&component) => return Err(error),
                Err(error) => {
                    tracing::warn!(slot = slot.as_str(), component, %error, "other hosts cannot go back to it");
                }
            }
        }
        let stamp = shared.depot.publish(slot, book, &named, &blobs).await?;
        shared.note(slot, &stamp, book.generation);
        shared.metrics.sharing.follow(slot.as_str(), "published");
        Ok(stamp)
    }

    /// A component of the vault, or one that it gets with the next change, and its signature.
    pub(in crate::deploy) async fn kept(&self, component: &str) -> Result<Blob, DeployError> {
        let unkept = self.unkept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(blob) = unkept.filter(|blob| blob.component == component) {
            return Ok(blob);
        }
        let (vault, slot, component) = (Arc::clone(&self.vault), self.slot.name(), component.to_owned());
        let cap = self.slot.yard.sandbox.component_bytes;
        let read = move || vault.blob(slot, &component, cap);
        Ok(background::run(read).await.map_err(|_| DeployError::Stopping)??)
    }
}
