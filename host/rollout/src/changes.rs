//! Changes of the versions that answer: swap, canary, shadow, promote and roll back.

use std::sync::{Arc, PoisonError};

use bulkhead_runtime::slots::{Trial, Version, World};
use tokio::sync::MutexGuard;

use super::{
    Change, Deploy as _, DeployError, Deployment, Expected, HOST, SlotState, Stage, VersionId, VersionRecord,
};

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

/// The version that an automatic rollback removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RollbackTarget {
    /// The candidate.
    Candidate,
    /// The active version.
    Active,
}

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
    pub(super) async fn apply(&self, change: &Change, expected: &Expected) -> Result<(), DeployError> {
        let is_shared = self.scope(expected) == ChangeScope::Cluster;
        if is_shared && *change == Change::Rollback {
            return self.roll_back_cluster(expected).await;
        }
        if is_shared {
            self.refresh().await?;
        }
        self.check_generation(expected)?;
        let name = match change {
            Change::Swap(name) | Change::Canary(Some(name), _) | Change::Shadow(Some(name)) => {
                Some(self.resolve_name(name, &expected.actor).await?)
            }
            Change::Canary(None, _) | Change::Shadow(None) | Change::Promote | Change::Rollback => None,
        };
        let name = name.as_deref();
        match change {
            Change::Swap(_) => self.swap(name.unwrap_or_default(), expected).await,
            Change::Canary(_, weight) => self.start_trial(name, Trial::Canary(*weight), expected).await,
            Change::Shadow(_) => self.start_trial(name, Trial::Shadow, expected).await,
            Change::Promote => self.promote(expected).await,
            Change::Rollback => self.roll_back(expected).await,
        }
    }

    /// Returns the scope of a change: an operator's applies to all hosts or to none; an automatic one of a host
    /// that lags behind the shared state applies to that host only.
    fn scope(&self, expected: &Expected) -> ChangeScope {
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

    /// Returns the remembered version that `name` matches.
    pub(super) fn find_version(&self, name: &str) -> Result<VersionRecord, DeployError> {
        let unknown = || DeployError::UnknownVersion {
            slot: self.slot.name().as_str(),
            name: bulkhead_telemetry::quoted(name),
        };
        self.state().find(name).cloned().ok_or_else(unknown)
    }

    /// Returns the version that `name` matches if it has passed its trial.
    fn find_tried(&self, name: &str) -> Result<VersionRecord, DeployError> {
        let record = self.find_version(name)?;
        if record.is_tried() { Ok(record) } else { Err(DeployError::Untried(record.id)) }
    }

    async fn swap(&self, name: &str, expected: &Expected) -> Result<(), DeployError> {
        let record = self.find_tried(name)?;
        let state = self.state();
        if self.answering_id(&state).as_ref() == Some(&record.id) && state.candidate.is_none() {
            return Err(DeployError::Answering(record.id));
        }
        if state.candidate.as_ref().is_some_and(|candidate| candidate.version == record.id) {
            return self.promote(expected).await;
        }
        let version = self.revive(&record).await?;
        let next = NextVersions { active: (record.id.clone(), version), candidate: None };
        self.switch_to(&record, next, expected, self.scope(expected), SlotState::push_previous).await
    }

    async fn start_trial(
        &self,
        name: Option<&str>,
        trial: Trial,
        expected: &Expected,
    ) -> Result<(), DeployError> {
        let (slot, state) = (self.slot.name().as_str(), self.state());
        let active = state.active.clone().zip(self.slot.active().ok()).ok_or(DeployError::NoActive(slot))?;
        let tried = state.candidate.as_ref().map(|candidate| &candidate.version);
        let wanted = name.map(|name| self.find_tried(name)).transpose()?;
        let (id, version) = match (tried, wanted) {
            (Some(tried), wanted) if wanted.as_ref().is_none_or(|wanted| wanted.id == *tried) => {
                let (version, _) = self.slot.candidate().ok_or(DeployError::NoCandidate(slot))?;
                (tried.clone(), version)
            }
            (Some(tried), _) => return Err(DeployError::OtherCandidate(tried.clone())),
            (None, None) => return Err(DeployError::NoCandidate(slot)),
            (None, Some(wanted)) if wanted.id == active.0 => return Err(DeployError::Answering(wanted.id)),
            (None, Some(wanted)) => (wanted.id.clone(), self.revive(&wanted).await?),
        };
        let record = self.find_version(id.as_str())?;
        let next = NextVersions { active, candidate: Some((id, version, trial)) };
        self.switch_to(&record, next, expected, self.scope(expected), |_, _| {}).await
    }

    async fn promote(&self, expected: &Expected) -> Result<(), DeployError> {
        let none = DeployError::NoCandidate(self.slot.name().as_str());
        let candidate = self.state().candidate.clone().zip(self.slot.candidate());
        let (candidate, (version, _)) = candidate.ok_or(none)?;
        let record = self.find_version(candidate.version.as_str())?;
        let next = NextVersions { active: (candidate.version, version), candidate: None };
        self.switch_to(&record, next, expected, self.scope(expected), SlotState::push_previous).await
    }

    pub(super) async fn roll_back(&self, expected: &Expected) -> Result<(), DeployError> {
        let state = self.state();
        if let Some(active) = state.active.clone().zip(self.slot.active().ok())
            && state.candidate.is_some()
        {
            let next = NextVersions { active, candidate: None };
            return self.switch_in_memory(None, next, expected, |_, _| {}).await;
        }
        self.restore_previous(expected).await
    }

    /// Restores the previous version; a candidate is dropped.
    async fn restore_previous(&self, expected: &Expected) -> Result<(), DeployError> {
        let state = self.state();
        let before = state.previous.last().and_then(|id| state.get(id));
        let before = before.ok_or(DeployError::NoPredecessor(self.slot.name().as_str()))?;
        let version = self.ready_version(before).await?;
        let next = NextVersions { active: (before.id.clone(), version), candidate: None };
        self.switch_in_memory(Some(before), next, expected, |state, _| drop(state.previous.pop())).await
    }

    /// Rolls back the version that the host has found to be worse: the candidate or the active version.
    pub(super) async fn roll_back_regression(
        &self,
        target: RollbackTarget,
        expected: &Expected,
    ) -> Result<(), DeployError> {
        self.check_generation(expected)?;
        match target {
            RollbackTarget::Candidate => self.roll_back(expected).await,
            RollbackTarget::Active => self.restore_previous(expected).await,
        }
    }

    /// Switches to other versions, of which `remembered` is checked again, because the slot's signature rules may
    /// have changed while it was prepared.
    async fn switch_to(
        &self,
        remembered: &VersionRecord,
        next: NextVersions<W>,
        expected: &Expected,
        scope: ChangeScope,
        update_previous: impl Fn(&mut SlotState, Option<VersionId>),
    ) -> Result<(), DeployError> {
        for _ in 0..ATTEMPTS {
            let guard = self.lock().await;
            self.check_generation(expected)?;
            self.check_signature(remembered).await?;
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

    /// Switches to other versions for a rollback, whose versions are loaded: it takes effect before it is on disk,
    /// even if the disk is full.
    async fn switch_in_memory(
        &self,
        remembered: Option<&VersionRecord>,
        next: NextVersions<W>,
        expected: &Expected,
        update_previous: impl Fn(&mut SlotState, Option<VersionId>),
    ) -> Result<(), DeployError> {
        let (scope, guard) = (self.scope(expected), self.lock().await);
        self.check_generation(expected)?;
        if expected.actor != HOST {
            self.check_no_conflict(&guard).await?;
        }
        // Held versions were released if the rules have changed.
        if let Some(record) = remembered.filter(|record| self.held(&record.id).is_none()) {
            self.check_signature(record).await?;
        }
        let before = self.state();
        let old = self.answering_versions(&before);
        let change = self.change_to(&before, &next, expected, scope, &update_previous);
        let install = || {
            self.install(next.clone(), old);
            self.report_change(expected, scope);
        };
        self.commit_rollback(&guard, scope, change, install).await
    }

    /// Returns the function that turns the state `before` into the state after the change.
    fn change_to<'a>(
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

    fn report_change(&self, expected: &Expected, scope: ChangeScope) {
        self.log_change(expected);
        self.notify_switched(scope);
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

    /// Returns the versions that answer, with their ids of the state.
    pub(super) fn answering_versions(&self, state: &SlotState) -> Vec<(VersionId, Arc<Version<W>>)> {
        let active = self.answering_id(state).zip(self.slot.active().ok());
        let candidate = state.candidate.clone().zip(self.slot.candidate());
        let candidate = candidate.map(|(candidate, (version, _))| (candidate.version, version));
        active.into_iter().chain(candidate).collect()
    }
}
