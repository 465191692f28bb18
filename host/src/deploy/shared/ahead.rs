//! A rollback by an operator. It waits for no compilation: where the hosts' shared state is ahead of this host, which may
//! be compiling what is taken back, it is made of that state, and this host follows.

use super::Shared;
use crate::{
    deploy::{
        Book, Deploy as _, DeployError, Deployment, Expected,
        changes::{ATTEMPTS, note},
    },
    slots::World,
};

impl<W: World> Deployment<W> {
    /// Takes back what all hosts should have.
    pub(in crate::deploy) async fn roll_back_everywhere(
        &self,
        expected: &Expected,
    ) -> Result<(), DeployError> {
        for _ in 0..ATTEMPTS {
            let rolled_back = match self.ahead().await? {
                Some((shared, desired)) => self.roll_back_ahead(shared, desired, expected).await,
                None => {
                    self.compare(expected)?;
                    self.roll_back(expected).await
                }
            };
            match rolled_back {
                // Another host was faster.
                Err(DeployError::Overtaken) => {}
                rolled_back => return rolled_back,
            }
        }
        Err(DeployError::Overtaken)
    }

    /// The hosts' shared state, where this host does not follow it yet.
    async fn ahead(&self) -> Result<Option<(&Shared, Book)>, DeployError> {
        let Some(shared) = self.shared.as_deref() else { return Ok(None) };
        shared.look().await?;
        let (slot, stamp) = (self.slot.name(), self.book().stamp.clone());
        if shared.head(slot).is_none_or(|head| Some(head.stamp) == stamp) {
            return Ok(None);
        }
        Ok(shared.depot.book(slot).await?.map(|desired| (shared, desired)))
    }

    async fn roll_back_ahead(
        &self,
        shared: &Shared,
        desired: Book,
        expected: &Expected,
    ) -> Result<(), DeployError> {
        if desired.generation != expected.generation {
            let slot = Box::new(self.view());
            return Err(DeployError::Conflict { expected: expected.generation, slot });
        }
        let (mut book, slot) = (desired, self.slot.name().as_str());
        let kept = book.candidate.as_ref().and(book.active.clone());
        // Where only a candidate goes, this host may still compile the version beside it.
        let is_compiling = kept.as_ref().is_some_and(|active| !self.book().answers(active));
        let active = kept.or_else(|| book.before.pop()).ok_or(DeployError::NoPredecessor(slot))?;
        note(&mut book, &active, None, expected);
        book.trim(self.slot.settings().rollout.history);
        self.publish(shared, &book, &[]).await?;
        let (generation, active) = (book.generation, active.as_str());
        let Expected { actor, reason, .. } = expected;
        tracing::info!(slot, generation, active, actor, reason, "what all hosts should have is rolled back");
        if !is_compiling {
            self.catch_up().await;
        }
        Ok(())
    }
}
