//! What counts in memory and is not on disk yet: a rollback does not wait for a disk that takes nothing.

use std::{
    sync::{Arc, PoisonError, atomic::Ordering},
    time::Duration,
};

use tokio::{sync::MutexGuard, task::spawn_blocking};

use super::{DeployError, Deployment, Vault, VersionId};
use crate::slots::World;

/// Pause before a write that has failed is tried again; it doubles with every try.
const FIRST: Duration = Duration::from_secs(1);
/// Longest pause: room on the disk is used soon after it is there.
const LONGEST: Duration = Duration::from_secs(30);

/// The book that counts is newer than the one on disk.
#[derive(Debug)]
pub(super) struct Unwritten {
    /// The edition on disk.
    edition: u64,
    /// The version that answers after a restart, by the book on disk.
    active: Option<VersionId>,
    /// A rollback is among it: the reserve is given up for it.
    has_rollback: bool,
    /// Why the last try has failed; none before the first.
    reason: Option<String>,
}

impl<W: World> Deployment<W> {
    /// Why what counts is not on disk, in words for operators; none while it is.
    pub(super) fn unwritten(&self) -> Option<String> {
        let active = self.book().active.clone();
        let unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        unwritten.as_ref().map(|unwritten| {
            let then = match &unwritten.active {
                Some(version) if Some(version) != active.as_ref() => {
                    format!("version {version} answers again after a restart")
                }
                _ => "a restart forgets it".to_owned(),
            };
            let reason = unwritten.reason.as_deref().unwrap_or("it is being written");
            format!("the last change counts in memory only, {then}: {reason}")
        })
    }

    /// The edition of the book on disk.
    pub(super) fn edition_on_disk(&self) -> u64 {
        let unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        unwritten.as_ref().map_or_else(|| self.book().edition, |unwritten| unwritten.edition)
    }

    /// Refuses a change where another host with this data folder has made one. A disk that does not even read is no reason.
    pub(super) async fn is_not_overtaken(&self, _turn: &MutexGuard<'_, ()>) -> Result<(), DeployError> {
        let (vault, slot, edition) = (Arc::clone(&self.vault), self.slot.name(), self.edition_on_disk());
        let checked = spawn_blocking(move || {
            vault.book(slot).map_or(Ok(()), |kept| vault.is_own(slot, &kept.unwrap_or_default(), edition))
        });
        Ok(checked.await.unwrap_or(Ok(()))?)
    }

    /// Notes that the book is about to change in memory only.
    pub(super) fn is_unwritten(&self, _turn: &MutexGuard<'_, ()>, is_rollback: bool) {
        let book = self.book();
        let mut unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        let unwritten = unwritten.get_or_insert_with(|| Unwritten {
            edition: book.edition,
            active: book.active.clone(),
            has_rollback: false,
            reason: None,
        });
        unwritten.has_rollback |= is_rollback;
    }

    fn has_rollback(&self) -> bool {
        let unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        unwritten.as_ref().is_some_and(|unwritten| unwritten.has_rollback)
    }

    /// Notes that the book is on disk, and the components that it names.
    pub(super) fn is_written(&self, _turn: &MutexGuard<'_, ()>) {
        *self.unkept.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let written = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner).take();
        if written.is_some_and(|unwritten| unwritten.reason.is_some()) {
            let (slot, generation) = (self.slot.name().as_str(), self.book().generation);
            tracing::info!(slot, generation, "what counted in memory only is written");
        }
    }

    /// Writes the book; whether it is on disk then, and the reserve there.
    pub(super) async fn write_out(&self, turn: &MutexGuard<'_, ()>) -> bool {
        let (vault, slot, book) = (Arc::clone(&self.vault), self.slot.name(), self.book());
        let (edition, components) = (self.edition_on_disk(), self.at_hand(&book));
        let keep = if self.has_rollback() { Vault::keep_rollback } else { Vault::keep_late };
        let write = move || {
            let kept = keep(&vault, slot, edition, &book, &components);
            kept.map(|()| vault.make_reserve()).map_err(|error| error.to_string())
        };
        // Not in the background, where compilations may have every thread.
        let written = spawn_blocking(write).await.unwrap_or_else(|_| Err("the host is stopping".to_owned()));
        match written {
            Ok(has_reserve) => {
                self.is_written(turn);
                has_reserve
            }
            Err(reason) => {
                self.has_failed(reason);
                false
            }
        }
    }

    fn has_failed(&self, reason: String) {
        let mut unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(unwritten) = unwritten.as_mut() else { return };
        if unwritten.reason.as_ref() != Some(&reason) {
            let (slot, generation) = (self.slot.name().as_str(), self.book().generation);
            let after_restart = unwritten.active.as_ref().map(VersionId::as_str);
            tracing::error!(
                slot,
                generation,
                after_restart,
                reason,
                "the change could not be written; it counts in memory, and a restart brings the old record back"
            );
        }
        unwritten.reason = Some(reason);
    }

    /// Tries again in the background, ever more seldom, until the book is on disk and the reserve is there again.
    pub(super) fn write_later(&self) {
        let retry = Arc::clone(&self.retry);
        if self.is_retrying.swap(true, Ordering::AcqRel) {
            // It waits no longer than after a first failure.
            retry.notify_one();
            return;
        }
        let deployment = self.weak();
        self.spawn(async move {
            let mut pause = FIRST;
            loop {
                tokio::select! {
                    () = tokio::time::sleep(pause) => pause = (pause * 2).min(LONGEST),
                    () = retry.notified() => {
                        pause = FIRST;
                        continue;
                    }
                }
                let Some(deployment) = deployment.upgrade() else { return };
                let turn = deployment.turn().await;
                if deployment.write_what_is_left(&turn).await {
                    deployment.is_retrying.store(false, Ordering::Release);
                    return;
                }
            }
        });
    }

    /// Whether nothing is left.
    async fn write_what_is_left(&self, turn: &MutexGuard<'_, ()>) -> bool {
        if self.unwritten.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return self.write_out(turn).await;
        }
        let vault = Arc::clone(&self.vault);
        spawn_blocking(move || vault.make_reserve()).await.unwrap_or(true)
    }
}
