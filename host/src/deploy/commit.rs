use std::sync::{Arc, PoisonError};

use tokio::sync::MutexGuard;

use super::{
    Book, DeployError, Deployment,
    changes::{ATTEMPTS, Reach},
    vault::Blob,
};
use crate::{background, slots::World};

impl<W: World> Deployment<W> {
    /// Changes the book, on disk first, and before that where all hosts see it if that is how far it reaches.
    pub(super) async fn commit(
        &self,
        _turn: &MutexGuard<'_, ()>,
        component: Option<Blob>,
        reach: Reach,
        change: impl FnOnce(&mut Book),
    ) -> Result<(), DeployError> {
        let before = self.book();
        let mut after = (*before).clone();
        change(&mut after);
        after.edition += 1;
        after.trim(self.slot.settings().rollout.history);
        let components: Vec<Blob> = component.into_iter().chain(self.at_hand(&after)).collect();
        if let (Some(shared), Reach::Everywhere) = (&self.shared, reach) {
            after.stamp = Some(self.publish(shared, &after, &components).await?);
        }
        let (vault, slot, kept) = (Arc::clone(&self.vault), self.slot.name(), after.clone());
        let write = move || vault.keep(slot, &before, &kept, &components);
        background::run(write).await.map_err(|_| DeployError::Stopping)??;
        *self.unkept.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.set_book(after);
        Ok(())
    }

    /// Components that the vault does not have yet; of those from other hosts the ones that `book` names.
    fn at_hand(&self, book: &Book) -> Vec<Blob> {
        let named = |blob: &&Blob| book.versions.iter().any(|record| record.component == blob.component);
        let unkept = self.unkept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
        unkept.into_iter().chain(fetched.iter().filter(named).cloned()).collect()
    }

    /// Changes the book for all hosts, in whatever state they have it; what answers stays.
    pub(super) async fn record(
        &self,
        blob: Option<Blob>,
        change: impl Fn(&mut Book),
    ) -> Result<(), DeployError> {
        for _ in 0..ATTEMPTS {
            let turn = self.turn().await;
            match self.commit(&turn, blob.clone(), Reach::Everywhere, &change).await {
                Err(DeployError::Overtaken) => drop(turn),
                recorded => return recorded,
            }
            self.refresh().await?;
        }
        Err(DeployError::Overtaken)
    }
}
