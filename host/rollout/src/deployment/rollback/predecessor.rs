//! The predecessor: its code stays loaded while its successor is monitored, so that a rollback neither loads nor
//! compiles anything.

use std::{
    sync::{Arc, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use bulkhead_runtime::slots::{Version, World};
use bulkhead_telemetry::{one_line, timestamp::rfc3339_millis};
use tokio::{sync::MutexGuard, task::AbortHandle};

use crate::{DeployError, Deployment, SlotState, Stage, VersionId, VersionRecord};

/// The loaded code of the version that a rollback returns to.
pub(in crate::deployment) struct HeldPredecessor<W: World> {
    id: VersionId,
    /// A fresh copy of it that has answered no call yet.
    version: Arc<Version<W>>,
    until: Instant,
    release: AbortHandle,
}

impl<W: World> Drop for HeldPredecessor<W> {
    fn drop(&mut self) {
        self.release.abort();
    }
}

/// Where the predecessor's code comes from after a change of the versions that answer.
enum PredecessorSource<W: World> {
    /// There is no predecessor, or its successor is not monitored.
    None,
    /// It is held already.
    Held,
    /// Its code is loaded.
    Loaded(Arc<Version<W>>),
    /// It must be loaded first.
    NotLoaded,
}

impl<W: World> Deployment<W> {
    /// Returns a remembered version that is ready to answer: at once if its code is held, else after loading it.
    pub(super) async fn ready_version(&self, record: &VersionRecord) -> Result<Arc<Version<W>>, DeployError> {
        match self.held(&record.id) {
            Some(version) => Ok(version),
            None => self.revive(record).await,
        }
    }

    /// Returns a remembered version for a swap or a trial: a fresh copy if its code is held, else it is loaded.
    pub(in crate::deployment) async fn fresh_version(
        &self,
        record: &VersionRecord,
    ) -> Result<Arc<Version<W>>, DeployError> {
        let Some(held) = self.held(&record.id) else { return self.revive(record).await };
        self.check_signature(record).await?;
        // The next start must find it.
        self.component(record).await?;
        Ok(held.fresh_copy())
    }

    /// Returns the version of this id if its code is held.
    pub(in crate::deployment) fn held(&self, id: &VersionId) -> Option<Arc<Version<W>>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().filter(|held| held.id == *id).map(|held| Arc::clone(&held.version))
    }

    /// Holds the predecessor of the version that answers from now on, or releases it. `old` answered until now.
    /// Returns the version that the slot can fall back to.
    pub(in crate::deployment) fn hold(
        &self,
        active: &Arc<Version<W>>,
        old: &[(VersionId, Arc<Version<W>>)],
    ) -> Option<Arc<Version<W>>> {
        let state = self.state();
        let is_fresh = old.first().is_some_and(|(_, version)| !Arc::ptr_eq(version, active));
        let window = self.slot.settings().rollout.watch;
        let before = state.previous.last().cloned();
        let held = before.as_ref().and_then(|id| self.held(id));
        let found = match (&before, held) {
            (None, _) => PredecessorSource::None,
            (Some(_), Some(_)) if !is_fresh => PredecessorSource::Held,
            (Some(_), None) if !is_fresh => PredecessorSource::None,
            (Some(_), _) if window.is_zero() => PredecessorSource::None,
            (Some(_), Some(held)) => PredecessorSource::Loaded(held),
            (Some(id), None) => match old.iter().find(|(known, _)| known == id) {
                Some((_, version)) => PredecessorSource::Loaded(version.fresh_copy()),
                None => PredecessorSource::NotLoaded,
            },
        };
        match (found, before) {
            (PredecessorSource::Loaded(version), Some(id)) => self.hold_for(id, version, window),
            (PredecessorSource::Held, Some(id)) => return self.held(&id),
            (PredecessorSource::NotLoaded, Some(id)) => {
                self.release_predecessor();
                self.load_in_background(id, window);
            }
            _ => self.release_predecessor(),
        }
        state.previous.last().and_then(|id| self.held(id))
    }

    fn hold_for(&self, id: VersionId, version: Arc<Version<W>>, window: Duration) {
        let deployment = self.weak();
        let release = self.spawn(async move {
            tokio::time::sleep(window).await;
            if let Some(deployment) = deployment.upgrade() {
                let _guard = deployment.lock().await;
                deployment.slot.set_predecessor(None);
                deployment.release_predecessor();
            }
        });
        let held = HeldPredecessor { id, version, until: Instant::now() + window, release };
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(held);
    }

    fn release_predecessor(&self) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(held);
    }

    /// Releases the predecessor and loads it again, which checks its signature again, because the slot's settings
    /// have changed under this `guard`.
    pub(in crate::deployment) fn reload_predecessor(&self, guard: MutexGuard<'_, ()>) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(held) = held else { return };
        self.slot.set_predecessor(None);
        drop(guard);
        self.load_in_background(held.id.clone(), held.until.saturating_duration_since(Instant::now()));
    }

    fn load_in_background(&self, id: VersionId, window: Duration) {
        let deployment = self.weak();
        self.spawn(async move {
            if let Some(deployment) = deployment.upgrade() {
                deployment.load_predecessor(&id, window).await;
            }
        });
    }

    /// Loads the predecessor and holds it for as long as its successor is monitored.
    async fn load_predecessor(&self, id: &VersionId, window: Duration) {
        let until = Instant::now() + window;
        let state = self.state();
        let Some(record) = state.get(id) else { return };
        let slot = self.slot.name().as_str();
        let revived = self.revive(record).await;
        let _guard = self.lock().await;
        // The slot's signature rules may have changed while it was compiled.
        let loaded = match revived {
            Ok(version) => self.check_signature(record).await.map(|()| version),
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
                    "the previous version is not loaded; a rollback tries again"
                );
                return;
            }
        };
        let now = self.state();
        let is_same = now.active == state.active && now.previous.last() == Some(id);
        let window = until.saturating_duration_since(Instant::now());
        if is_same && !window.is_zero() && self.held(id).is_none() {
            self.hold_for(id.clone(), Arc::clone(&version), window);
            self.slot.set_predecessor(Some(version));
        }
    }

    /// Holds the predecessor after a start, if the active version has answered for less than the monitoring window.
    pub(in crate::deployment) fn hold_after_start(&self) {
        let state = self.state();
        let window = self.slot.settings().rollout.watch;
        if let Some(id) = state.previous.last().filter(|_| is_young(&state, window)) {
            self.load_in_background(id.clone(), window);
        }
    }
}

/// Returns whether the active version has answered for less than `window`.
fn is_young(state: &SlotState, window: Duration) -> bool {
    let last = state.active().and_then(|record| record.moves.last());
    let since = SystemTime::now().checked_sub(window).map(rfc3339_millis);
    // Timestamps of one format sort as text.
    last.zip(since).is_some_and(|(last, since)| last.stage == Stage::Active && last.at > since)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_runtime::compile::ComponentDigest;

    use super::*;
    use crate::{Move, tests::settings};

    #[test]
    fn version_is_young_within_the_window() {
        let mut record = VersionRecord::new(ComponentDigest::of(b"a"), 1, "test", &settings());
        let minute_ago = SystemTime::now() - Duration::from_secs(60);
        let active = Move { at: rfc3339_millis(minute_ago), ..Move::now(Stage::Active, "ops", "swap") };
        record.step(active);
        let mut state = SlotState { active: Some(record.id.clone()), ..SlotState::default() };
        state.receive(record);
        for (window, young) in [(0, false), (59, false), (90, true), (u64::MAX, false)] {
            assert_eq!(is_young(&state, Duration::from_secs(window)), young, "{window} s");
        }
        assert!(!is_young(&SlotState::default(), Duration::from_secs(90)));
    }
}
