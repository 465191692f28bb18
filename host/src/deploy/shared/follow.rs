use std::sync::{Arc, PoisonError};

use super::{DepotError, Shared, SharedView};
use crate::{
    deploy::{DeployError, Deployment, changes::Reach},
    slots::World,
    telemetry::one_line,
};

impl<W: World> Deployment<W> {
    /// Where the slot stands beside what the hosts share; none where they share nothing.
    pub(in crate::deploy) fn shared_view(&self) -> Option<SharedView> {
        let (shared, book) = (self.shared.as_ref()?, self.book());
        let standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        Some(standing.view(shared, self.slot.name(), &book))
    }

    /// Whether what all hosts should have may not answer here.
    pub(in crate::deploy) fn is_behind(&self) -> bool {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).is_behind()
    }

    /// Hears that a change has been made here.
    pub(in crate::deploy) fn has_switched(&self, reach: Reach) {
        let Some(shared) = &self.shared else { return };
        if reach != Reach::Alone {
            self.standing.lock().unwrap_or_else(PoisonError::into_inner).follows();
        }
        if reach == Reach::Here {
            shared.hurry();
        }
    }

    /// Follows what other hosts change, for as long as the deployment lives.
    pub(in crate::deploy) fn follow(&self) {
        let Some(shared) = &self.shared else { return };
        let (deployment, mut heads) = (self.weak(), shared.heads.subscribe());
        self.spawn(async move {
            while heads.changed().await.is_ok() {
                let Some(deployment) = deployment.upgrade() else { return };
                deployment.catch_up().await;
            }
        });
    }

    /// Has what the hosts share, as it is this moment; nothing to do where they share nothing.
    pub(in crate::deploy) async fn refresh(&self) -> Result<(), DeployError> {
        let Some(shared) = &self.shared else { return Ok(()) };
        shared.look().await?;
        self.catch_up().await;
        if self.cannot_read(shared) {
            // Whoever asks may have mended it since it was tried last.
            shared.depot.book(self.slot.name()).await?;
            self.standing.lock().unwrap_or_else(PoisonError::into_inner).follows();
            self.catch_up().await;
        }
        Ok(())
    }

    /// Whether the state that all hosts should have cannot be read, and is not what this host has.
    fn cannot_read(&self, shared: &Shared) -> bool {
        let (head, stamp) = (shared.head(self.slot.name()), self.book().stamp.clone());
        head.is_some_and(|head| Some(head.stamp) != stamp)
            && self.standing.lock().unwrap_or_else(PoisonError::into_inner).is_unreadable()
    }

    /// Comes to what is known of the shared state, or has it come to what this host has changed by itself.
    pub(in crate::deploy) async fn catch_up(&self) {
        let Some(shared) = &self.shared else { return };
        // One after the other, so that nothing is compiled twice.
        let _following = self.following.lock().await;
        if shared.heads.borrow().away.is_some() {
            return;
        }
        let slot = self.slot.name();
        if let Err(error) = self.compare_notes(shared).await {
            shared.metrics.sharing.follow(slot.as_str(), "failed");
            let (slot, error) = (slot.as_str(), one_line(&error));
            tracing::warn!(slot, error, "the hosts' shared state is not followed; it is tried again");
        }
    }

    async fn compare_notes(&self, shared: &Arc<Shared>) -> Result<(), DeployError> {
        // A change that is being published here is one change once it is kept too.
        drop(self.turn().await);
        let (book, head) = (self.book(), shared.head(self.slot.name()));
        let Some(head) = head else {
            // Nothing is there: what this host has kept is the beginning, if it has.
            return if book.edition > 0 { self.publish_own().await } else { Ok(()) };
        };
        let is_seen = book.stamp.as_ref() == Some(&head.stamp);
        if is_seen && head.generation.is_some_and(|generation| book.generation > generation) {
            return self.publish_own().await;
        }
        let (is_due, is_early, incomplete) = {
            let standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
            (standing.is_due(), standing.is_early(&head.stamp), standing.incomplete)
        };
        if is_early {
            return Ok(());
        }
        if !is_seen || is_due || head.generation.is_none() {
            let desired = shared.depot.book(self.slot.name()).await;
            if let Err(error @ DepotError::Unreadable { .. }) = &desired {
                let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
                standing.cannot_read(head.stamp, book.generation, error.to_string(), shared.poll);
                return Err(error.clone().into());
            }
            match desired? {
                Some(desired) if desired.stamp == book.stamp && desired.generation < book.generation => {}
                Some(desired) => {
                    let adopted = self.adopt(shared, desired).await;
                    return self.note_failure(shared, head.stamp, book.generation, adopted);
                }
                None => {}
            }
        } else if incomplete {
            self.complete(shared).await?;
        }
        Ok(())
    }

    /// Remembers what could not be taken though the database gave it, so that it is not tried at every look.
    fn note_failure(
        &self,
        shared: &Shared,
        stamp: String,
        applied: u64,
        adopted: Result<(), DeployError>,
    ) -> Result<(), DeployError> {
        if let Err(error) = &adopted
            && !matches!(error, DeployError::StateUnreachable(_))
        {
            let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
            standing.fails(stamp, applied, error.to_string(), shared.poll);
        }
        adopted
    }

    /// Publishes what this host has changed by itself.
    async fn publish_own(&self) -> Result<(), DeployError> {
        let turn = self.turn().await;
        let published = match self.unwritten() {
            None => self.commit(&turn, None, Reach::Everywhere, |_| {}).await,
            // What the disk does not take others have all the same.
            Some(_) => self.commit_in_memory(&turn, Reach::Everywhere, |_| {}, || {}).await,
        };
        match published {
            // Theirs stands; the next look brings it.
            Err(DeployError::Overtaken) => Ok(()),
            Ok(()) => {
                self.has_switched(Reach::Everywhere);
                Ok(())
            }
            published => published,
        }
    }
}
