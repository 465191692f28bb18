//! Commits of a slot's state: to the shared database, to disk and to memory.

mod pending_write;
mod publish;

use std::sync::{Arc, PoisonError};

use bulkhead_runtime::background;
use bulkhead_runtime::slots::World;
use tokio::{sync::MutexGuard, task::spawn_blocking};

use super::Deployment;
use crate::{
    DeployError, SlotState,
    state::{Blob, StagedComponent},
};

pub(super) use self::pending_write::PendingWrite;

/// Which hosts a change applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeScope {
    /// This host only.
    Local,
    /// This host, which makes the change automatically and publishes it to the others afterwards.
    LocalThenPublish,
    /// All hosts that share their state: the change is published first.
    Cluster,
}

/// Number of attempts at a change that conflicts with those of other hosts.
pub(super) const ATTEMPTS: usize = 5;

impl<W: World> Deployment<W> {
    /// Writes `component`, and those of `state` that wait for the next change, before that change takes the lock, so that no
    /// rollback waits for it. They are kept as long as the result.
    pub(super) async fn stage(&self, component: Option<&Blob>, state: &SlotState) -> Vec<StagedComponent> {
        let mut blobs = self.pending_blobs(state);
        blobs.retain(|blob| is_named(state, blob));
        blobs.extend(component.cloned());
        if blobs.is_empty() {
            return Vec::new();
        }
        let (store, slot) = (Arc::clone(&self.store), self.slot.name());
        let stage = move || blobs.iter().map(|blob| store.stage(slot, blob)).collect::<Vec<_>>();
        // The error means that the host stops.
        background::run(stage).await.unwrap_or_default()
    }

    /// Changes the state on disk and then in memory; in cluster scope it is published first.
    pub(super) async fn commit(
        &self,
        guard: &MutexGuard<'_, ()>,
        component: Option<Blob>,
        scope: ChangeScope,
        change: impl FnOnce(&mut SlotState),
    ) -> Result<(), DeployError> {
        self.check_not_removed()?;
        let mut after = self.changed(change);
        let components: Vec<Blob> = component.into_iter().chain(self.pending_blobs(&after)).collect();
        self.publish_in_scope(&mut after, &components, scope).await?;
        let (store, slot, kept, revision) =
            (Arc::clone(&self.store), self.slot.name(), after.clone(), self.revision_on_disk());
        let write = move || store.save(slot, revision, &kept, &components);
        // A rollback may wait for the lock, so neither in a queue behind compilations nor at their priority.
        spawn_blocking(write).await.map_err(|_| DeployError::Stopping)??;
        self.set_state(after);
        self.mark_written(guard);
        Ok(())
    }

    /// Changes the state in memory, calls `then`, and writes the state: at once if the disk accepts it, else as
    /// soon as it does. In cluster scope the state is published first.
    pub(super) async fn commit_in_memory(
        &self,
        guard: &MutexGuard<'_, ()>,
        scope: ChangeScope,
        change: impl FnOnce(&mut SlotState),
        then: impl FnOnce(),
    ) -> Result<(), DeployError> {
        self.apply_in_memory(guard, scope, false, change, then).await
    }

    /// Changes the state in memory first like [`Self::commit_in_memory`], for a rollback: a full disk releases its
    /// reserve.
    pub(super) async fn commit_rollback(
        &self,
        guard: &MutexGuard<'_, ()>,
        scope: ChangeScope,
        change: impl FnOnce(&mut SlotState),
        then: impl FnOnce(),
    ) -> Result<(), DeployError> {
        self.apply_in_memory(guard, scope, true, change, then).await
    }

    async fn apply_in_memory(
        &self,
        guard: &MutexGuard<'_, ()>,
        scope: ChangeScope,
        is_rollback: bool,
        change: impl FnOnce(&mut SlotState),
        then: impl FnOnce(),
    ) -> Result<(), DeployError> {
        self.check_not_removed()?;
        let mut after = self.changed(change);
        let components = self.pending_blobs(&after);
        self.publish_in_scope(&mut after, &components, scope).await?;
        self.mark_pending(guard, is_rollback);
        self.set_state(after);
        then();
        if !self.flush(guard).await {
            self.spawn_flush();
        }
        Ok(())
    }

    fn changed(&self, change: impl FnOnce(&mut SlotState)) -> SlotState {
        let mut after = SlotState::clone(&self.state());
        change(&mut after);
        after.revision += 1;
        after.trim(self.slot.settings().rollout.history);
        after
    }

    async fn publish_in_scope(
        &self,
        after: &mut SlotState,
        components: &[Blob],
        scope: ChangeScope,
    ) -> Result<(), DeployError> {
        if let (Some(shared), ChangeScope::Cluster) = (&self.shared, scope) {
            after.stamp = Some(self.publish(shared, after, components).await?);
        }
        Ok(())
    }

    /// Returns components that are not in the local store yet; of those from other hosts only the ones that `state`
    /// names.
    fn pending_blobs(&self, state: &SlotState) -> Vec<Blob> {
        let named = |blob: &&Blob| is_named(state, blob);
        let configured_blob = self.configured_blob.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let fetched = self.fetched_blobs.lock().unwrap_or_else(PoisonError::into_inner);
        configured_blob.into_iter().chain(fetched.iter().filter(named).cloned()).collect()
    }
}

fn is_named(state: &SlotState, blob: &Blob) -> bool {
    state.versions.iter().any(|record| record.component == blob.component)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::{sync::mpsc, time::Duration};

    use tempfile::TempDir;
    use tokio::{task::yield_now, time::timeout};

    use super::*;
    use crate::tests::deployment;

    /// Only a failing test waits so long.
    const PATIENCE: Duration = Duration::from_secs(60);
    /// More than there are background threads.
    const BUSY: usize = 16;

    #[tokio::test]
    async fn commit_waits_for_no_background_thread() {
        let folder = TempDir::new().unwrap();
        let deployment = deployment(folder.path(), "/nowhere".as_ref());
        let occupy = |_| {
            let (gate, wait) = mpsc::channel::<()>();
            tokio::spawn(background::run(move || wait.recv().is_ok()));
            gate
        };
        let gates: Vec<_> = (0..BUSY).map(occupy).collect();
        // All of them are queued.
        yield_now().await;
        let guard = deployment.lock().await;
        let change = |state: &mut SlotState| state.generation = 1;
        let committed = deployment.commit(&guard, None, ChangeScope::Local, change);
        timeout(PATIENCE, committed).await.unwrap().unwrap();
        assert_eq!(deployment.state().generation, 1);
        drop(gates);
    }
}
