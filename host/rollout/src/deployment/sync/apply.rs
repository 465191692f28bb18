//! Application of the shared state to a slot of this host.

use std::sync::{Arc, PoisonError};

use bulkhead_runtime::slots::{Trial, Version, World};
use bulkhead_telemetry::one_line;

use crate::{
    Candidate, DeployError, Deployment, SharedState, SlotState, VersionId, VersionRecord,
    deployment::{commit::ChangeScope, prepare::LoadedVersion, switch::NextVersions},
};

impl<W: World> Deployment<W> {
    /// Serves the versions that the shared state names, as far as they may answer here, and adopts the state.
    pub(super) async fn apply_shared_state(
        &self,
        shared: &Arc<SharedState>,
        desired: SlotState,
    ) -> Result<(), DeployError> {
        let (slot, before) = (self.slot.name(), self.state());
        let old = self.answering_versions(&before);
        let rules = self.slot.settings().signatures.clone();
        let (mut refusals, generation) = (Vec::new(), desired.generation);
        let prepared = async {
            let active = self.desired_active(&desired, &before, &old, &mut refusals).await?;
            let candidate = match &active {
                Some(_) => self.desired_candidate(&desired, &before, &old, &mut refusals).await?,
                None => None,
            };
            Ok::<_, DeployError>((active, candidate))
        };
        let (active, candidate) = tokio::select! {
            prepared = prepared => prepared?,
            // A rollback on another host does not wait until a version that it removes is compiled; the next poll
            // applies it.
            () = shared.wait_for_newer(slot, desired.stamp.as_deref()) => return Ok(()),
        };
        // The version that this host's configuration names may be another host's candidate.
        let is_other = |((tried, _), _): &(LoadedVersion<W>, Trial)| {
            active.as_ref().is_none_or(|(active, _)| active.id != tried.id)
        };
        let candidate = candidate.filter(is_other);
        // A rollback by another host does not wait for this host's disk.
        let is_back = |state: &SlotState| {
            active.as_ref().is_some_and(|(record, _)| state.previous.last() == Some(&record.id))
        };
        let _staged = if is_back(&before) { Vec::new() } else { self.stage(None, &desired).await };
        let guard = self.lock().await;
        let now = self.state();
        if now.stamp != before.stamp
            || !now.serves_same_as(&before)
            || rules != self.slot.settings().signatures
        {
            // The state has changed meanwhile; the next poll compares again.
            return Ok(());
        }
        let mut after = as_applied(desired, &now, &old, &active, &candidate);
        if refusals.is_empty() {
            // A rollback does not return to the version that answers, unless that one replaces a desired version.
            let active = after.active.clone();
            after.previous.retain(|id| Some(id) != active.as_ref());
        }
        let write = |state: &mut SlotState| {
            let revision = state.revision;
            *state = SlotState { revision, ..after };
        };
        let mut is_switched = false;
        let kept = if is_back(&now) {
            let serve = || is_switched = self.serve_desired(active, candidate, old);
            self.commit_rollback(&guard, ChangeScope::LocalThenPublish, write, serve).await
        } else {
            let kept = self.commit(&guard, None, ChangeScope::LocalThenPublish, write).await;
            if kept.is_ok() {
                is_switched = self.serve_desired(active, candidate, old);
            }
            kept
        };
        self.fetched_blobs.lock().unwrap_or_else(PoisonError::into_inner).clear();
        kept?;
        drop(guard);
        let reason = refusals.join("; ");
        {
            let mut replication = self.replication.lock().unwrap_or_else(PoisonError::into_inner);
            replication.has_read = true;
            replication.is_incomplete = true;
            match reason.is_empty() {
                true => replication.record_success(),
                false => replication.record_lag(before.generation, reason.clone(), shared.poll_interval),
            }
        }
        if reason.is_empty() {
            tracing::info!(slot = slot.as_str(), generation, is_switched, "the shared state is applied");
        } else {
            tracing::error!(
                slot = slot.as_str(),
                generation,
                reason = one_line(&reason),
                "the desired version may not answer on this host"
            );
        }
        shared
            .metrics
            .sharing
            .record_sync(slot.as_str(), if reason.is_empty() { "applied" } else { "refused" });
        self.fetch_missing(shared).await
    }

    /// Returns the version that will be active: the desired one, or else the current one.
    async fn desired_active(
        &self,
        desired: &SlotState,
        before: &SlotState,
        old: &[(VersionId, Arc<Version<W>>)],
        refusals: &mut Vec<String>,
    ) -> Result<Option<LoadedVersion<W>>, DeployError> {
        let own = before.active().and_then(|record| {
            let version = old.iter().find(|(id, _)| *id == record.id)?;
            Some((record.clone(), Arc::clone(&version.1)))
        });
        let Some(record) = desired.active() else { return Ok(own) };
        if let Some(own) = own.clone().filter(|(own, _)| own.configured && record.configured) {
            // The version that the configuration names is each host's own.
            return Ok(Some(own));
        }
        match self.obtain(record, before, old).await {
            Ok(answering) => Ok(Some(answering)),
            Err(DeployError::StateUnreachable(reason)) => Err(DeployError::StateUnreachable(reason)),
            Err(error) => {
                refusals.push(format!("version {}: {error}", record.id));
                Ok(own)
            }
        }
    }

    async fn desired_candidate(
        &self,
        desired: &SlotState,
        before: &SlotState,
        old: &[(VersionId, Arc<Version<W>>)],
        refusals: &mut Vec<String>,
    ) -> Result<Option<(LoadedVersion<W>, Trial)>, DeployError> {
        let Some(candidate) = &desired.candidate else { return Ok(None) };
        let Some((record, trial)) = desired.get(&candidate.version).zip(candidate.trial()) else {
            return Ok(None);
        };
        match self.obtain(record, before, old).await {
            Ok(answering) => Ok(Some((answering, trial))),
            Err(DeployError::StateUnreachable(reason)) => Err(DeployError::StateUnreachable(reason)),
            Err(error) => {
                refusals.push(format!("candidate {}: {error}", record.id));
                Ok(None)
            }
        }
    }

    /// Returns a version that answers already or is held, or loads it.
    async fn obtain(
        &self,
        record: &VersionRecord,
        before: &SlotState,
        old: &[(VersionId, Arc<Version<W>>)],
    ) -> Result<LoadedVersion<W>, DeployError> {
        let is_same = |(id, version): &&(VersionId, Arc<Version<W>>)| {
            *id == record.id || version.digest.to_string() == record.component
        };
        match old.iter().find(|(id, _)| *id == record.id).or_else(|| old.iter().find(is_same)) {
            Some((id, version)) if *id == record.id => Ok((record.clone(), Arc::clone(version))),
            Some((id, version)) => Ok((before.get(id).unwrap_or(record).clone(), Arc::clone(version))),
            None => match self.held(&record.id) {
                Some(version) => Ok((record.clone(), version)),
                None => self.reload_version(record.clone()).await,
            },
        }
    }

    /// Serves the versions; returns whether that changed anything.
    fn serve_desired(
        &self,
        active: Option<LoadedVersion<W>>,
        candidate: Option<(LoadedVersion<W>, Trial)>,
        old: Vec<(VersionId, Arc<Version<W>>)>,
    ) -> bool {
        let Some((record, version)) = active else { return false };
        let is_same = self.slot.active().is_ok_and(|active| Arc::ptr_eq(&active, &version))
            && match (&candidate, self.slot.candidate()) {
                (Some(((_, new), trial)), Some((old, is))) => Arc::ptr_eq(new, &old) && *trial == is,
                (None, None) => true,
                _ => false,
            };
        if !is_same {
            let candidate = candidate.map(|((record, version), trial)| (record.id, version, trial));
            self.install(NextVersions { active: (record.id, version), candidate }, old);
        }
        !is_same
    }
}

/// Returns the desired state as applied on this host, with the versions that answer here and the drains that ended
/// here.
fn as_applied<W: World>(
    desired: SlotState,
    own: &SlotState,
    old: &[(VersionId, Arc<Version<W>>)],
    active: &Option<LoadedVersion<W>>,
    candidate: &Option<(LoadedVersion<W>, Trial)>,
) -> SlotState {
    let mut state = desired;
    let running: Vec<&VersionId> = old.iter().map(|(id, _)| id).collect();
    state.retire_remote_drains(own, &running);
    state.newest_signature = state.newest_signature.max(own.newest_signature);
    state.active = active.as_ref().map(|(record, _)| record.id.clone());
    state.candidate =
        candidate.as_ref().map(|((record, _), trial)| Candidate::new(record.id.clone(), *trial));
    let answering = active.iter().map(|(record, _)| record);
    for record in answering.chain(candidate.iter().map(|((record, _), _)| record)) {
        if state.get(&record.id).is_none() {
            state.versions.push(record.clone());
        }
    }
    state
}
