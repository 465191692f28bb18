//! The version before: its code stays loaded while the version after it is watched, so that a rollback neither loads nor
//! compiles anything.

use std::{
    sync::{Arc, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use tokio::{sync::MutexGuard, task::AbortHandle};

use super::{Book, DeployError, Deployment, Record, Stage, VersionId};
use crate::{
    slots::{Version, World},
    telemetry::{one_line, timestamp::rfc3339_millis},
};

/// The loaded code of the version that a rollback goes back to.
pub(super) struct Held<W: World> {
    id: VersionId,
    /// It has answered no call yet.
    version: Arc<Version<W>>,
    until: Instant,
    release: AbortHandle,
}

impl<W: World> Drop for Held<W> {
    fn drop(&mut self) {
        self.release.abort();
    }
}

/// What is known of the predecessor after a change of the versions that answer.
enum Predecessor<W: World> {
    /// There is none, or its successor is not watched.
    None,
    /// It is held already.
    Held,
    /// Its code is loaded.
    Loaded(Arc<Version<W>>),
    /// It must be loaded first.
    Away,
}

impl<W: World> Deployment<W> {
    /// A version that is remembered, ready to answer: at once where its code is held.
    pub(super) async fn loaded(&self, record: &Record) -> Result<Arc<Version<W>>, DeployError> {
        match self.held(&record.id) {
            Some(version) => Ok(version),
            None => self.revive(record).await,
        }
    }

    /// The version of this id, where its code is held.
    pub(super) fn held(&self, id: &VersionId) -> Option<Arc<Version<W>>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().filter(|held| held.id == *id).map(|held| Arc::clone(&held.version))
    }

    /// Holds the predecessor of the version that answers from now on, or lets it go. `old` answered until now. Gives what
    /// the slot can fall back to.
    pub(super) fn hold(
        &self,
        active: &Arc<Version<W>>,
        old: &[(VersionId, Arc<Version<W>>)],
    ) -> Option<Arc<Version<W>>> {
        let book = self.book();
        let is_fresh = old.first().is_some_and(|(_, version)| !Arc::ptr_eq(version, active));
        let window = self.slot.settings().rollout.watch;
        let before = book.before.last().cloned();
        let held = before.as_ref().and_then(|id| self.held(id));
        let found = match (&before, held) {
            (None, _) => Predecessor::None,
            (Some(_), Some(_)) if !is_fresh => Predecessor::Held,
            (Some(_), None) if !is_fresh => Predecessor::None,
            (Some(_), _) if window.is_zero() => Predecessor::None,
            (Some(_), Some(held)) => Predecessor::Loaded(held),
            (Some(id), None) => match old.iter().find(|(known, _)| known == id) {
                Some((_, version)) => Predecessor::Loaded(version.twin()),
                None => Predecessor::Away,
            },
        };
        match (found, before) {
            (Predecessor::Loaded(version), Some(id)) => self.put(id, version, window),
            (Predecessor::Held, Some(id)) => return self.held(&id),
            (Predecessor::Away, Some(id)) => {
                self.let_go();
                self.load_in_background(id, window);
            }
            _ => self.let_go(),
        }
        book.before.last().and_then(|id| self.held(id))
    }

    fn put(&self, id: VersionId, version: Arc<Version<W>>, window: Duration) {
        let deployment = self.weak();
        let release = self.spawn(async move {
            tokio::time::sleep(window).await;
            if let Some(deployment) = deployment.upgrade() {
                let _turn = deployment.turn().await;
                deployment.slot.set_predecessor(None);
                deployment.let_go();
            }
        });
        let held = Held { id, version, until: Instant::now() + window, release };
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(held);
    }

    fn let_go(&self) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(held);
    }

    /// Lets the predecessor go and loads it again, which asks once more whether it may answer: the slot's settings have
    /// changed in this `turn`.
    pub(super) fn hold_again(&self, turn: MutexGuard<'_, ()>) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(held) = held else { return };
        self.slot.set_predecessor(None);
        drop(turn);
        self.load_in_background(held.id.clone(), held.until.saturating_duration_since(Instant::now()));
    }

    fn load_in_background(&self, id: VersionId, window: Duration) {
        let deployment = self.weak();
        self.spawn(async move {
            if let Some(deployment) = deployment.upgrade() {
                deployment.load(&id, window).await;
            }
        });
    }

    /// Loads the predecessor and holds it for as long as its successor is watched.
    async fn load(&self, id: &VersionId, window: Duration) {
        let until = Instant::now() + window;
        let book = self.book();
        let Some(record) = book.get(id) else { return };
        let slot = self.slot.name().as_str();
        let revived = self.revive(record).await;
        let _turn = self.turn().await;
        // The slot's signature rules may have changed while it was compiled.
        let loaded = match revived {
            Ok(version) => self.vouched(record).await.map(|()| version),
            Err(error) => Err(error),
        };
        let version = match loaded {
            Ok(version) => version,
            Err(error) => {
                let (version, error) = (id.as_str(), one_line(&error));
                tracing::warn!(
                    slot,
                    version,
                    error,
                    "the version before is not loaded; a rollback tries again"
                );
                return;
            }
        };
        let now = self.book();
        let is_same = now.active == book.active && now.before.last() == Some(id);
        let window = until.saturating_duration_since(Instant::now());
        if is_same && !window.is_zero() && self.held(id).is_none() {
            self.put(id.clone(), Arc::clone(&version), window);
            self.slot.set_predecessor(Some(version));
        }
    }

    /// After the start of the host: holds the predecessor of a version that has answered for less than it is watched.
    pub(super) fn hold_after_start(&self) {
        let book = self.book();
        let window = self.slot.settings().rollout.watch;
        if let Some(id) = book.before.last().filter(|_| is_young(&book, window)) {
            self.load_in_background(id.clone(), window);
        }
    }
}

/// Whether the active version has answered for less than `window`.
fn is_young(book: &Book, window: Duration) -> bool {
    let last = book.active().and_then(|record| record.moves.last());
    let since = SystemTime::now().checked_sub(window).map(rfc3339_millis);
    // Times of one form sort as text.
    last.zip(since).is_some_and(|(last, since)| last.stage == Stage::Active && last.at > since)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::{
        compile::ComponentDigest,
        deploy::{Move, tests::settings},
    };

    #[test]
    fn version_is_young_within_the_window() {
        let mut record = Record::new(ComponentDigest::of(b"a"), 1, "test", &settings());
        let minute_ago = SystemTime::now() - Duration::from_secs(60);
        let active = Move { at: rfc3339_millis(minute_ago), ..Move::now(Stage::Active, "ops", "swap") };
        record.step(active);
        let mut book = Book { active: Some(record.id.clone()), ..Book::default() };
        book.receive(record);
        for (window, young) in [(0, false), (59, false), (90, true), (u64::MAX, false)] {
            assert_eq!(is_young(&book, Duration::from_secs(window)), young, "{window} s");
        }
        assert!(!is_young(&Book::default(), Duration::from_secs(90)));
    }
}
