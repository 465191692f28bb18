//! The state in memory that is not on disk yet: a rollback does not wait for a full disk.

use std::{
    sync::{Arc, PoisonError, atomic::Ordering},
    time::Duration,
};

use bulkhead_runtime::slots::World;
use tokio::{sync::MutexGuard, task::spawn_blocking};

use crate::{DeployError, Deployment, LocalStore, VersionId};

/// Pause before a failed write is retried; it doubles with every attempt.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Longest pause, short so that freed space is used soon.
const MAX_RETRY: Duration = Duration::from_secs(30);

/// A state in memory that is newer than the one on disk.
#[derive(Debug)]
pub(in crate::deployment) struct PendingWrite {
    /// The revision on disk.
    revision: u64,
    /// The active version of the state on disk, which answers after a restart.
    active: Option<VersionId>,
    /// The change includes a rollback, for which the reserve may be released.
    has_rollback: bool,
    /// Why the last attempt failed; `None` before the first.
    reason: Option<String>,
}

impl<W: World> Deployment<W> {
    /// Returns, for operators, why the current state is not on disk; `None` if it is.
    pub(in crate::deployment) fn unsaved_reason(&self) -> Option<String> {
        let active = self.state().active.clone();
        let pending = self.pending_write.lock().unwrap_or_else(PoisonError::into_inner);
        pending.as_ref().map(|pending| {
            let then = match &pending.active {
                Some(version) if Some(version) != active.as_ref() => {
                    format!("version {version} answers again after a restart")
                }
                _ => "a restart loses it".to_owned(),
            };
            let reason = pending.reason.as_deref().unwrap_or("it is being written");
            format!("the last change is in memory only, {then}: {reason}")
        })
    }

    /// Returns the revision of the state on disk.
    pub(super) fn revision_on_disk(&self) -> u64 {
        let pending = self.pending_write.lock().unwrap_or_else(PoisonError::into_inner);
        pending.as_ref().map_or_else(|| self.state().revision, |pending| pending.revision)
    }

    /// Rejects a change if another host with this data folder has made one. A disk that cannot be read does not
    /// reject it.
    pub(in crate::deployment) async fn check_no_conflict(
        &self,
        _guard: &MutexGuard<'_, ()>,
    ) -> Result<(), DeployError> {
        let (store, slot, revision) = (Arc::clone(&self.store), self.slot.name(), self.revision_on_disk());
        let checked = spawn_blocking(move || {
            store
                .state(slot)
                .map_or(Ok(()), |kept| store.check_revision(slot, &kept.unwrap_or_default(), revision))
        });
        Ok(checked.await.unwrap_or(Ok(()))?)
    }

    /// Marks that the state is about to change in memory only.
    pub(super) fn mark_pending(&self, _guard: &MutexGuard<'_, ()>, is_rollback: bool) {
        let state = self.state();
        let mut pending = self.pending_write.lock().unwrap_or_else(PoisonError::into_inner);
        let pending = pending.get_or_insert_with(|| PendingWrite {
            revision: state.revision,
            active: state.active.clone(),
            has_rollback: false,
            reason: None,
        });
        pending.has_rollback |= is_rollback;
    }

    fn has_rollback(&self) -> bool {
        let pending = self.pending_write.lock().unwrap_or_else(PoisonError::into_inner);
        pending.as_ref().is_some_and(|pending| pending.has_rollback)
    }

    /// Marks that the state and the components that it names are on disk.
    pub(super) fn mark_written(&self, _guard: &MutexGuard<'_, ()>) {
        *self.configured_blob.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let written = self.pending_write.lock().unwrap_or_else(PoisonError::into_inner).take();
        if written.is_some_and(|pending| pending.reason.is_some()) {
            let (slot, generation) = (self.slot.name().as_str(), self.state().generation);
            tracing::info!(slot, generation, "the change that was in memory only is written");
        }
    }

    /// Writes the state; returns whether it is on disk and the reserve exists.
    pub(super) async fn flush(&self, guard: &MutexGuard<'_, ()>) -> bool {
        let (store, slot, state) = (Arc::clone(&self.store), self.slot.name(), self.state());
        let (revision, components) = (self.revision_on_disk(), self.pending_blobs(&state));
        let save = if self.has_rollback() { LocalStore::save_rollback } else { LocalStore::save_applied };
        let write = move || {
            let kept = save(&store, slot, revision, &state, &components);
            kept.map(|()| store.ensure_reserve()).map_err(|error| error.to_string())
        };
        // Not in the background pool, where compilations may occupy every thread.
        let written = spawn_blocking(write).await.unwrap_or_else(|_| Err("the host is stopping".to_owned()));
        match written {
            Ok(has_reserve) => {
                self.mark_written(guard);
                has_reserve
            }
            Err(reason) => {
                self.record_write_failure(reason);
                false
            }
        }
    }

    fn record_write_failure(&self, reason: String) {
        let mut pending = self.pending_write.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pending) = pending.as_mut() else { return };
        if pending.reason.as_ref() != Some(&reason) {
            let (slot, generation) = (self.slot.name().as_str(), self.state().generation);
            let after_restart = pending.active.as_ref().map(VersionId::as_str);
            tracing::error!(
                slot,
                generation,
                after_restart,
                reason,
                "the change could not be written; it is in effect, but a restart restores the old state"
            );
        }
        pending.reason = Some(reason);
    }

    /// Retries in the background with growing pauses, until the state is on disk and the reserve exists.
    pub(super) fn spawn_flush(&self) {
        let retry = Arc::clone(&self.retry);
        if self.is_retrying.swap(true, Ordering::AcqRel) {
            // Restart the running task's pauses.
            retry.notify_one();
            return;
        }
        let deployment = self.weak();
        self.spawn(async move {
            let mut pause = FIRST_RETRY;
            loop {
                tokio::select! {
                    () = tokio::time::sleep(pause) => pause = (pause * 2).min(MAX_RETRY),
                    () = retry.notified() => {
                        pause = FIRST_RETRY;
                        continue;
                    }
                }
                let Some(deployment) = deployment.upgrade() else { return };
                let guard = deployment.lock().await;
                if deployment.flush_pending(&guard).await {
                    deployment.is_retrying.store(false, Ordering::Release);
                    return;
                }
            }
        });
    }

    /// Returns whether nothing is left to write.
    pub(in crate::deployment) async fn flush_pending(&self, guard: &MutexGuard<'_, ()>) -> bool {
        if self.pending_write.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return self.flush(guard).await;
        }
        let store = Arc::clone(&self.store);
        spawn_blocking(move || store.ensure_reserve()).await.unwrap_or(true)
    }
}
