//! Synchronisation of a slot with the shared state.

mod apply;

use std::sync::{Arc, PoisonError};

use bulkhead_runtime::slots::World;
use bulkhead_telemetry::one_line;

use super::{Deployment, commit::ChangeScope};
use crate::{DeployError, SharedState, SharedStoreError, SharedView};

impl<W: World> Deployment<W> {
    /// Returns how the slot compares with the shared state; `None` if hosts share none.
    pub(super) fn shared_view(&self) -> Option<SharedView> {
        let (shared, state) = (self.shared.as_ref()?, self.state());
        let replication = self.replication.lock().unwrap_or_else(PoisonError::into_inner);
        Some(replication.view(shared, self.slot.name(), &state))
    }

    /// Returns whether the desired version may not answer here.
    pub(super) fn is_behind(&self) -> bool {
        self.replication.lock().unwrap_or_else(PoisonError::into_inner).is_behind()
    }

    /// Records that a change of this scope has taken effect here.
    pub(super) fn notify_switched(&self, scope: ChangeScope) {
        let Some(shared) = &self.shared else { return };
        if scope != ChangeScope::Local {
            self.replication.lock().unwrap_or_else(PoisonError::into_inner).record_success();
        }
        if scope == ChangeScope::LocalThenPublish {
            shared.request_poll();
        }
    }

    /// Starts to apply the changes of other hosts, for as long as the deployment lives.
    pub(super) fn spawn_sync(&self) {
        let Some(shared) = &self.shared else { return };
        let (deployment, mut heads) = (self.weak(), shared.heads.subscribe());
        self.spawn(async move {
            while heads.changed().await.is_ok() {
                let Some(deployment) = deployment.upgrade() else { return };
                deployment.sync().await;
            }
        });
    }

    /// Polls the shared state and applies it; does nothing if hosts share none.
    pub(super) async fn refresh(&self) -> Result<(), DeployError> {
        let Some(shared) = &self.shared else { return Ok(()) };
        shared.poll().await?;
        self.sync().await;
        if self.is_row_unreadable(shared) {
            // An operator may have repaired the row since the last attempt.
            shared.store.state(self.slot.name()).await?;
            self.replication.lock().unwrap_or_else(PoisonError::into_inner).record_success();
            self.sync().await;
        }
        Ok(())
    }

    /// Returns whether the desired state cannot be read and is not the one that this host has.
    fn is_row_unreadable(&self, shared: &SharedState) -> bool {
        let (head, stamp) = (shared.head(self.slot.name()), self.state().stamp.clone());
        head.is_some_and(|head| Some(head.stamp) != stamp)
            && self.replication.lock().unwrap_or_else(PoisonError::into_inner).is_unreadable()
    }

    /// Applies the known shared state, or publishes what this host has changed on its own.
    pub(super) async fn sync(&self) {
        let Some(shared) = &self.shared else { return };
        // One at a time, so that nothing is compiled twice.
        let _guard = self.sync_lock.lock().await;
        if self.check_not_removed().is_err() || shared.heads.borrow().unreachable.is_some() {
            return;
        }
        let slot = self.slot.name();
        if let Err(error) = self.sync_with(shared).await {
            shared.metrics.sharing.record_sync(slot.as_str(), "failed");
            let (slot, error) = (slot.as_str(), one_line(&error));
            tracing::warn!(slot, error, "the shared state is not applied; it is retried");
        }
    }

    async fn sync_with(&self, shared: &Arc<SharedState>) -> Result<(), DeployError> {
        // Wait for a running change, which publishes first and then saves.
        drop(self.lock().await);
        let (state, head) = (self.state(), shared.head(self.slot.name()));
        let Some(head) = head else {
            // The database has no row: publish this host's state if it has one.
            return if state.revision > 0 { self.publish_local().await } else { Ok(()) };
        };
        let is_seen = state.stamp.as_ref() == Some(&head.stamp);
        if is_seen && head.generation.is_some_and(|generation| state.generation > generation) {
            return self.publish_local().await;
        }
        let (is_due, in_backoff, is_incomplete) = {
            let replication = self.replication.lock().unwrap_or_else(PoisonError::into_inner);
            (replication.is_due(), replication.in_backoff(&head.stamp), replication.is_incomplete)
        };
        if in_backoff {
            return Ok(());
        }
        if !is_seen || is_due || head.generation.is_none() {
            let desired = shared.store.state(self.slot.name()).await;
            if let Err(error @ SharedStoreError::Unreadable { .. }) = &desired {
                let mut replication = self.replication.lock().unwrap_or_else(PoisonError::into_inner);
                replication.record_unreadable(
                    head.stamp,
                    state.generation,
                    error.to_string(),
                    shared.poll_interval,
                );
                return Err(error.clone().into());
            }
            match desired? {
                Some(desired) if desired.stamp == state.stamp && desired.generation < state.generation => {}
                Some(desired) => {
                    let result = self.apply_shared_state(shared, desired).await;
                    return self.record_sync_failure(shared, head.stamp, state.generation, result);
                }
                None => {}
            }
        } else if is_incomplete {
            self.fetch_missing(shared).await?;
        }
        Ok(())
    }

    /// Records that a state could not be applied although the database returned it, so that not every poll retries
    /// it.
    fn record_sync_failure(
        &self,
        shared: &SharedState,
        stamp: String,
        applied: u64,
        result: Result<(), DeployError>,
    ) -> Result<(), DeployError> {
        if let Err(error) = &result
            && !matches!(error, DeployError::StateUnreachable(_))
        {
            let mut replication = self.replication.lock().unwrap_or_else(PoisonError::into_inner);
            replication.record_failure(stamp, applied, error.to_string(), shared.poll_interval);
        }
        result
    }

    /// Publishes what this host has changed on its own.
    async fn publish_local(&self) -> Result<(), DeployError> {
        let guard = self.lock().await;
        let published = match self.unsaved_reason() {
            None => self.commit(&guard, None, ChangeScope::Cluster, |_| {}).await,
            // Other hosts get the change even if this host's disk is full.
            Some(_) => self.commit_in_memory(&guard, ChangeScope::Cluster, |_| {}, || {}).await,
        };
        match published {
            // The other host's change wins; the next poll applies it.
            Err(DeployError::ConcurrentChange) => Ok(()),
            Ok(()) => {
                self.notify_switched(ChangeScope::Cluster);
                Ok(())
            }
            published => published,
        }
    }
}
