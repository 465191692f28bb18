//! The removal of a slot: the end of its changes and of its background tasks.

use std::sync::{PoisonError, atomic::Ordering};

use bulkhead_runtime::slots::World;

use super::Deployment;
use crate::DeployError;

impl<W: World> Deployment<W> {
    /// Refuses a change of a slot that has been removed. While the change lock is held, the result stays the same.
    pub(super) fn check_not_removed(&self) -> Result<(), DeployError> {
        match self.is_removed.load(Ordering::Acquire) {
            true => Err(DeployError::Removed(self.slot.name().as_str())),
            false => Ok(()),
        }
    }

    /// Ends the changes and the background tasks, once the state is on disk as far as the disk accepts it, and releases the
    /// compiled code that the slot needs in the cache.
    pub(super) async fn close(&self) {
        let guard = self.lock().await;
        // A change that waits for the lock would name again which code it needs.
        self.is_removed.store(true, Ordering::Release);
        if !self.flush_pending(&guard).await {
            let slot = self.slot.name().as_str();
            tracing::error!(slot, "the slot is removed before its state is written");
        }
        self.slot.context.compiler.retain(self.slot.name(), Vec::new());
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use futures_util::FutureExt as _;
    use tempfile::TempDir;

    use super::*;
    use crate::{
        Change, Deploy as _, Expected, Proof,
        tests::{Bare, EMPTY, deployment, settings},
    };

    fn empty_slot() -> (TempDir, Arc<Deployment<Bare>>) {
        let folder = TempDir::new().unwrap();
        let deployment = deployment(folder.path(), "/nowhere".as_ref());
        (folder, deployment)
    }

    fn expected() -> Expected {
        Expected { generation: 0, actor: "ops".to_owned(), reason: String::new() }
    }

    #[tokio::test]
    async fn change_after_removal_is_refused() {
        let (_folder, deployment) = empty_slot();
        let prepared = Arc::clone(&deployment).dry_run(settings()).await.unwrap();
        Arc::clone(&deployment).stop().await;
        let promoted = Arc::clone(&deployment).change(Change::Promote, expected()).await;
        assert!(matches!(promoted, Err(DeployError::Removed("captcha"))), "{promoted:?}");
        let applied = prepared.apply(expected()).await;
        assert!(matches!(applied, Err(DeployError::Removed("captcha"))), "{applied:?}");
    }

    #[tokio::test]
    async fn waiting_push_loses_to_removal() {
        let (_folder, deployment) = empty_slot();
        let running = deployment.lock().await;
        let mut removal = Arc::clone(&deployment).stop();
        assert!(removal.as_mut().now_or_never().is_none());
        let (source, actor) = ("test".to_owned(), "ops".to_owned());
        let mut push =
            Arc::clone(&deployment).push(EMPTY.into(), source, Proof::None, actor, Arc::new(|_| {}));
        assert!(push.as_mut().now_or_never().is_none());
        drop(running);
        let ((), pushed) = tokio::join!(removal, push);
        assert!(matches!(pushed, Err(DeployError::Removed("captcha"))), "{:?}", pushed.err());
        assert_eq!(deployment.history().len(), 0);
    }
}
