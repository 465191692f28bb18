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
        turn: &MutexGuard<'_, ()>,
        component: Option<Blob>,
        reach: Reach,
        change: impl FnOnce(&mut Book),
    ) -> Result<(), DeployError> {
        let mut after = self.changed(change);
        let components: Vec<Blob> = component.into_iter().chain(self.at_hand(&after)).collect();
        self.reach_out(&mut after, &components, reach).await?;
        let (vault, slot, kept, edition) =
            (Arc::clone(&self.vault), self.slot.name(), after.clone(), self.edition_on_disk());
        let write = move || vault.keep(slot, edition, &kept, &components);
        background::run(write).await.map_err(|_| DeployError::Stopping)??;
        self.set_book(after);
        self.is_written(turn);
        Ok(())
    }

    /// Changes the book in memory, has `then` follow, and writes it afterwards: at once if the disk takes it, else as soon
    /// as it does. Before all that it is put where all hosts see it, if that is how far it reaches.
    pub(super) async fn commit_in_memory(
        &self,
        turn: &MutexGuard<'_, ()>,
        reach: Reach,
        change: impl FnOnce(&mut Book),
        then: impl FnOnce(),
    ) -> Result<(), DeployError> {
        self.count_in_memory(turn, reach, false, change, then).await
    }

    /// The same for a rollback, for which a full disk gives up its reserve.
    pub(super) async fn commit_rollback(
        &self,
        turn: &MutexGuard<'_, ()>,
        reach: Reach,
        change: impl FnOnce(&mut Book),
        then: impl FnOnce(),
    ) -> Result<(), DeployError> {
        self.count_in_memory(turn, reach, true, change, then).await
    }

    async fn count_in_memory(
        &self,
        turn: &MutexGuard<'_, ()>,
        reach: Reach,
        is_rollback: bool,
        change: impl FnOnce(&mut Book),
        then: impl FnOnce(),
    ) -> Result<(), DeployError> {
        let mut after = self.changed(change);
        let components = self.at_hand(&after);
        self.reach_out(&mut after, &components, reach).await?;
        self.is_unwritten(turn, is_rollback);
        self.set_book(after);
        then();
        if !self.write_out(turn).await {
            self.write_later();
        }
        Ok(())
    }

    fn changed(&self, change: impl FnOnce(&mut Book)) -> Book {
        let mut after = Book::clone(&self.book());
        change(&mut after);
        after.edition += 1;
        after.trim(self.slot.settings().rollout.history);
        after
    }

    async fn reach_out(
        &self,
        after: &mut Book,
        components: &[Blob],
        reach: Reach,
    ) -> Result<(), DeployError> {
        if let (Some(shared), Reach::Everywhere) = (&self.shared, reach) {
            after.stamp = Some(self.publish(shared, after, components).await?);
        }
        Ok(())
    }

    /// Components that the vault does not have yet; of those from other hosts the ones that `book` names.
    pub(super) fn at_hand(&self, book: &Book) -> Vec<Blob> {
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
