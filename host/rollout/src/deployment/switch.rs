//! The switch to other versions: the state first, then the slot, and the end of the versions that answered.

use std::sync::{Arc, PoisonError};

use bulkhead_runtime::slots::{Trial, Version, World};
use tokio::sync::MutexGuard;

use super::{
    Deployment,
    commit::{ATTEMPTS, ChangeScope},
};
use crate::{Deploy as _, DeployError, Expected, HOST, Move, SlotState, Stage, VersionId, VersionRecord};

/// The versions that answer after a change.
pub(super) struct NextVersions<W: World> {
    pub(super) active: (VersionId, Arc<Version<W>>),
    pub(super) candidate: Option<(VersionId, Arc<Version<W>>, Trial)>,
}

impl<W: World> Clone for NextVersions<W> {
    fn clone(&self) -> Self {
        Self { active: self.active.clone(), candidate: self.candidate.clone() }
    }
}

impl<W: World> Deployment<W> {
    /// Returns the scope of a change: an operator's applies to all hosts or to none; an automatic one of a host
    /// that lags behind the shared state applies to that host only.
    pub(super) fn scope(&self, expected: &Expected) -> ChangeScope {
        match (expected.actor == HOST, self.is_behind()) {
            (false, _) => ChangeScope::Cluster,
            (true, false) => ChangeScope::LocalThenPublish,
            (true, true) => ChangeScope::Local,
        }
    }

    pub(super) fn check_generation(&self, expected: &Expected) -> Result<(), DeployError> {
        let expected = expected.generation;
        if self.state().generation == expected {
            return Ok(());
        }
        Err(DeployError::Conflict { expected, slot: Box::new(self.view()) })
    }

    /// Switches to other versions, of which `remembered` is checked again, because the slot's signature rules may
    /// have changed while it was prepared.
    pub(super) async fn switch_to(
        &self,
        remembered: &VersionRecord,
        next: NextVersions<W>,
        expected: &Expected,
        scope: ChangeScope,
        update_previous: impl Fn(&mut SlotState, Option<VersionId>),
    ) -> Result<(), DeployError> {
        let _staged = self.stage(None, &self.state()).await;
        for _ in 0..ATTEMPTS {
            let guard = self.lock().await;
            self.check_generation(expected)?;
            self.check_remembered(remembered).await?;
            match self.switch(&guard, next.clone(), expected, scope, &update_previous).await {
                Err(DeployError::ConcurrentChange) => drop(guard),
                switched => return switched,
            }
            // Another host has changed the slot first: either the generation differs now, or the change is made to
            // its state.
            self.refresh().await?;
        }
        Err(DeployError::ConcurrentChange)
    }

    /// Checks that a prepared version may still answer. A push may have taken it out of the history meanwhile, and its
    /// component out of the store: the next start would not find it.
    async fn check_remembered(&self, remembered: &VersionRecord) -> Result<(), DeployError> {
        self.find_version(remembered.id.as_str())?;
        self.check_signature(remembered).await
    }

    /// Switches to other versions: first the stored state, then the slot, each atomically. `update_previous`
    /// updates the versions that a rollback returns to, given the version that answered. The caller has checked the
    /// generation under this `guard`.
    pub(super) async fn switch(
        &self,
        guard: &MutexGuard<'_, ()>,
        next: NextVersions<W>,
        expected: &Expected,
        scope: ChangeScope,
        update_previous: impl Fn(&mut SlotState, Option<VersionId>),
    ) -> Result<(), DeployError> {
        let before = self.state();
        let old = self.answering_versions(&before);
        let change = self.change_to(&before, &next, expected, scope, &update_previous);
        self.commit(guard, None, scope, change).await?;
        self.install(next, old);
        self.report_change(expected, scope);
        Ok(())
    }

    /// Returns the function that turns the state `before` into the state after the change.
    pub(super) fn change_to<'a>(
        &'a self,
        before: &'a SlotState,
        next: &'a NextVersions<W>,
        expected: &'a Expected,
        scope: ChangeScope,
        update_previous: &'a impl Fn(&mut SlotState, Option<VersionId>),
    ) -> impl FnOnce(&mut SlotState) + 'a {
        move |state| {
            update_previous(state, before.active.clone());
            let candidate = next.candidate.as_ref().map(|(id, _, trial)| (id, *trial));
            state.record_change(&next.active.0, candidate, &expected.actor, &expected.reason);
            if let Some(active) =
                before.active.as_ref().filter(|id| self.has_substitute() && !state.answers(id))
            {
                state.step(
                    active,
                    Stage::Retired,
                    HOST,
                    "it was not compiled, so that it has no running call",
                );
            }
            if scope == ChangeScope::Local && self.shared.is_some() {
                state.generation = before.generation;
            }
        }
    }

    pub(super) fn report_change(&self, expected: &Expected, scope: ChangeScope) {
        self.log_change(expected);
        self.notify_switched(scope);
    }

    fn log_change(&self, expected: &Expected) {
        let state = self.state();
        let (slot, generation) = (self.slot.name().as_str(), state.generation);
        let active = state.active.as_ref().map(VersionId::as_str);
        let candidate = state.candidate.as_ref().map(|candidate| candidate.version.as_str());
        let (actor, reason) = (&expected.actor, &expected.reason);
        tracing::info!(
            slot,
            generation,
            active,
            candidate,
            actor,
            reason,
            "the answering versions have changed"
        );
    }

    /// Serves the versions that the state names and drains the others. The caller has the change lock.
    pub(super) fn install(&self, next: NextVersions<W>, old: Vec<(VersionId, Arc<Version<W>>)>) {
        self.monitor_change(&next, &old);
        if !self.slot.active().is_ok_and(|active| Arc::ptr_eq(&active, &next.active.1)) {
            self.set_uncompiled(None);
        }
        let NextVersions { active: (_, active), candidate } = next;
        let predecessor = self.hold(&active, &old);
        self.slot.serve(active, candidate.map(|(_, version, trial)| (version, trial)), predecessor);
        *self.empty_reason.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let state = self.state();
        for (id, version) in old {
            if !state.answers(&id) {
                self.drain(version, id);
            }
        }
    }

    /// Returns the versions that answer, with their ids of the state.
    pub(super) fn answering_versions(&self, state: &SlotState) -> Vec<(VersionId, Arc<Version<W>>)> {
        let active = self.answering_id(state).zip(self.slot.active().ok());
        let candidate = state.candidate.clone().zip(self.slot.candidate());
        let candidate = candidate.map(|(candidate, (version, _))| (candidate.version, version));
        active.into_iter().chain(candidate).collect()
    }

    /// Waits in the background for the last call of a version that no longer answers, and then retires it. The
    /// copy that is held for a rollback has answered no call.
    fn drain(&self, version: Arc<Version<W>>, id: VersionId) {
        let freed = version.freed();
        drop(version);
        let deployment = self.weak();
        self.spawn(async move {
            freed.await;
            if let Some(deployment) = deployment.upgrade() {
                deployment.retire(&id).await;
            }
        });
    }

    async fn retire(&self, id: &VersionId) {
        let guard = self.lock().await;
        if self.state().get(id).is_none_or(|record| record.stage() != Stage::Draining) {
            return;
        }
        let reason = match self.held(id) {
            Some(_) => "its last call has ended; its code stays loaded while the new version is watched",
            None => "its last call has ended and its code is freed",
        };
        // The same move for both attempts to write it.
        let retired = Move::now(Stage::Retired, HOST, reason);
        let retire = |state: &mut SlotState| state.add_move(id, retired.clone());
        let (slot, version) = (self.slot.name().as_str(), id.as_str());
        if let Err(error) = self.commit(&guard, None, ChangeScope::LocalThenPublish, retire).await {
            tracing::warn!(slot, version, %error, "the retirement is not written to disk; it is retried");
            // The version has retired even if that cannot be written.
            let _ = self.commit_in_memory(&guard, ChangeScope::LocalThenPublish, retire, || {}).await;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_runtime::compile::ComponentDigest;
    use tempfile::TempDir;

    use super::*;
    use crate::tests::{deployment, settings};

    #[tokio::test]
    async fn version_out_of_the_history_is_refused() {
        let folder = TempDir::new().unwrap();
        let deployment = deployment(folder.path(), "/nowhere".as_ref());
        let record = VersionRecord::new(ComponentDigest::of(b"a"), 1, "test", &settings());
        let mut state = SlotState::default();
        state.receive(record.clone());
        deployment.set_state(state);
        deployment.check_remembered(&record).await.unwrap();
        deployment.set_state(SlotState::default());
        let refused = deployment.check_remembered(&record).await;
        assert!(matches!(refused, Err(DeployError::UnknownVersion { .. })), "{refused:?}");
    }
}
