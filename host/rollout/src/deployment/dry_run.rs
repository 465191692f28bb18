//! Dry runs: other settings for a slot are tried before they take effect.

use std::sync::{Arc, PoisonError};

use bulkhead_config::{signatures::Signatures, slots::SlotSettings as Settings};
use bulkhead_runtime::slots::{Version, World, revision};
use bulkhead_telemetry::one_line;
use futures_util::future::BoxFuture;
use tokio::sync::MutexGuard;

use super::{
    Deployment,
    commit::ChangeScope,
    configured::{ChangedFile, ConfiguredFile},
    switch::NextVersions,
};
use crate::{
    DeployError, Expected, HOST, Move, PreparedChange, SlotState, Stage, VersionId, VersionRecord,
    state::Blob,
};

/// A slot's component under other settings, which has passed its self-test and does not answer yet.
pub(super) struct PreparedSettings<W: World> {
    deployment: Arc<Deployment<W>>,
    settings: Arc<Settings>,
    /// The state when it was prepared.
    seen: Arc<SlotState>,
    next: Option<(VersionRecord, Arc<Version<W>>)>,
    /// A component that is not in the local store.
    blob: Option<Blob>,
    /// Why the slot's file is unusable.
    file_fault: Option<String>,
}

impl<W: World> Deployment<W> {
    /// Tries the active component under other settings if they differ, or the configured file's current content. A
    /// configuration that names another component takes effect at a restart only.
    pub(super) async fn prepare_settings(
        self: Arc<Self>,
        settings: Settings,
    ) -> Result<PreparedSettings<W>, DeployError> {
        let (running, state) = (self.slot.settings().component.clone(), self.state());
        let is_named = settings.component == running;
        let settings = Arc::new(Settings { component: running, ..settings });
        let (changed, file_fault) = match is_named {
            true => self.check_configured_file(&state, &settings).await?,
            false => (None, self.file_fault()),
        };
        // The replacement from the file has been checked.
        let replaced = changed.as_ref().and(state.active.as_ref());
        self.may_answer_under(&settings.signatures, &state, replaced).await?;
        let other = state.active().filter(|active| active.revision != revision(&settings)).cloned();
        let (next, blob) = match (changed, other) {
            (Some(ChangedFile { record, version, blob }), _) => (Some((record, version)), Some(blob)),
            (None, Some(record)) => (Some(self.under_settings(record, &settings).await?), None),
            (None, None) => (None, None),
        };
        Ok(PreparedSettings { deployment: self, settings, seen: state, next, blob, file_fault })
    }

    /// Returns the component in the configured file if it has changed, or why the file is unusable. A component
    /// that may not answer rejects the settings, except in an empty slot and where the file was unusable before: that
    /// must not block other settings.
    async fn check_configured_file(
        &self,
        state: &SlotState,
        settings: &Arc<Settings>,
    ) -> Result<(Option<ChangedFile<W>>, Option<String>), DeployError> {
        let fault = match self.read_configured_file(state.active(), settings).await {
            Ok(ConfiguredFile::Same) => return Ok((None, None)),
            Ok(ConfiguredFile::Other(changed)) => return Ok((Some(*changed), None)),
            Ok(ConfiguredFile::Unreadable(reason)) => reason,
            Err(DeployError::Refused { reason, .. })
                if state.active.is_none() || self.file_fault().is_some() =>
            {
                reason
            }
            Err(error) => return Err(error),
        };
        let effect = if state.active.is_some() { "the active version stays" } else { "no version answers" };
        let (slot, fault) = (self.slot.name().as_str(), format!("{}; {effect}", one_line(&fault)));
        tracing::error!(slot, reason = fault, "the configured component is unusable");
        Ok((None, Some(fault)))
    }

    /// Rejects signature rules under which an answering version would not be accepted.
    async fn may_answer_under(
        &self,
        signatures: &Signatures,
        state: &SlotState,
        replaced: Option<&VersionId>,
    ) -> Result<(), DeployError> {
        if *signatures == self.slot.settings().signatures {
            return Ok(());
        }
        let substitute = self.answering_id(state);
        let answers = |id: &VersionId| state.answers(id) || substitute.as_ref() == Some(id);
        let answer = |record: &&VersionRecord| answers(&record.id) && Some(&record.id) != replaced;
        for record in state.versions.iter().filter(answer) {
            self.check_signature_under(signatures, record).await.map_err(|error| match error {
                DeployError::Refused { version, reason } => {
                    let serves = state.is_serving(&version) || substitute.as_ref() == Some(&version);
                    let role = if serves { "answers" } else { "is the candidate" };
                    let reason = format!(
                        "version {version} {role}, and under these {} it may not: {reason}",
                        self.slot.settings().key("signatures")
                    );
                    DeployError::Refused { version, reason }
                }
                error => error,
            })?;
        }
        Ok(())
    }

    /// Switches to the version that the settings or the file lead to.
    async fn switch_settings(
        &self,
        guard: &MutexGuard<'_, ()>,
        record: VersionRecord,
        version: Arc<Version<W>>,
        blob: Option<Blob>,
        expected: &Expected,
    ) -> Result<(), DeployError> {
        let fetched = || self.fetched_blobs.lock().unwrap_or_else(PoisonError::into_inner);
        let component = blob.as_ref().map(|blob| blob.component.clone());
        fetched().extend(blob);
        let candidate = self.state().candidate.clone().zip(self.slot.candidate());
        let candidate = candidate.map(|(candidate, (version, trial))| (candidate.version, version, trial));
        // A candidate that is now the active version is no longer the candidate.
        let (version, candidate) = match candidate {
            Some((id, same, _)) if id == record.id => (same, None),
            other => (version, other),
        };
        let next = NextVersions { active: (record.id.clone(), version), candidate };
        let update_previous = |state: &mut SlotState, active| {
            state.receive(record.clone());
            state.push_previous(active);
        };
        let switched = self.switch(guard, next, expected, ChangeScope::Local, update_previous).await;
        fetched().retain(|blob| Some(&blob.component) != component.as_ref());
        switched?;
        self.slot.metrics.rollout("reload");
        Ok(())
    }

    async fn under_settings(
        &self,
        record: VersionRecord,
        settings: &Arc<Settings>,
    ) -> Result<(VersionRecord, Arc<Version<W>>), DeployError> {
        let (wasm, bytes) = (self.component(&record).await?, record.bytes);
        let prepared = self.prepare(wasm, &record.source, Arc::clone(settings), |_| {}).await;
        let version = prepared.map_err(|error| error.into_deploy_error(&record.id))?;
        let now = VersionRecord::new(version.digest, bytes, &record.source, settings);
        let mut now = VersionRecord {
            signed_by: record.signed_by,
            signed_at: record.signed_at,
            configured: record.configured,
            ..now
        };
        now.step(Move::now(Stage::Trialled, HOST, "the component under other settings"));
        Ok((now, version))
    }
}

impl<W: World> PreparedChange for PreparedSettings<W> {
    fn generation(&self) -> u64 {
        self.seen.generation
    }

    fn version(&self) -> Option<VersionId> {
        self.next.as_ref().map(|(record, _)| record.id.clone())
    }

    fn warning(&self) -> Option<String> {
        self.file_fault.clone()
    }

    fn apply(self: Box<Self>, expected: Expected) -> BoxFuture<'static, Result<(), DeployError>> {
        Box::pin(async move {
            let Self { deployment, settings, seen, next, blob, file_fault } = *self;
            let _staged = deployment.stage(blob.as_ref(), &deployment.state()).await;
            // A running change ends first, so that its checks still hold when it takes effect.
            let guard = deployment.lock().await;
            deployment.check_not_removed()?;
            deployment.check_generation(&expected)?;
            if !deployment.state().serves_same_as(&seen) {
                return Err(DeployError::ConcurrentChange);
            }
            if let Some((record, version)) = next {
                deployment.switch_settings(&guard, record, version, blob, &expected).await?;
            }
            deployment.set_file_fault(file_fault);
            let known = (revision(&settings), Arc::clone(&settings));
            deployment.revisions.lock().unwrap_or_else(PoisonError::into_inner).extend([known]);
            let is_other = settings.signatures != deployment.slot.settings().signatures;
            deployment.slot.set_settings(settings);
            if is_other {
                // The predecessor may not answer under the new rules.
                deployment.reload_predecessor(guard);
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_config::signatures::SignaturePolicy;
    use bulkhead_runtime::compile::ComponentDigest;
    use futures_util::FutureExt as _;
    use tempfile::TempDir;

    use super::*;
    use crate::tests::{Bare, deployment, settings};

    /// Prepares settings that require signatures, for an empty slot.
    async fn prepared_change() -> (TempDir, Arc<Deployment<Bare>>, Box<PreparedSettings<Bare>>) {
        let folder = TempDir::new().unwrap();
        let deployment = deployment(folder.path(), "/nowhere".as_ref());
        let signatures = Signatures { policy: SignaturePolicy::Required, ..Signatures::DEFAULT };
        let required = Settings { signatures, ..settings() };
        let change = Arc::clone(&deployment).prepare_settings(required).await.unwrap();
        (folder, deployment, Box::new(change))
    }

    fn expected() -> Expected {
        Expected { generation: 0, actor: HOST.to_owned(), reason: String::new() }
    }

    /// Returns a state whose active version is unsigned.
    fn unsigned(generation: u64) -> SlotState {
        let record = VersionRecord::new(ComponentDigest::of(b"a"), 1, "test", &settings());
        let mut state = SlotState { generation, active: Some(record.id.clone()), ..SlotState::default() };
        state.receive(record);
        state
    }

    fn policy(deployment: &Deployment<Bare>) -> SignaturePolicy {
        deployment.slot.settings().signatures.policy
    }

    #[tokio::test]
    async fn settings_wait_for_a_running_change() {
        let (_folder, deployment, change) = prepared_change().await;
        // A swap has accepted its version under the old rules and is being written.
        let swap = deployment.lock().await;
        let mut applying = change.apply(expected());
        assert!(applying.as_mut().now_or_never().is_none());
        assert_eq!(policy(&deployment), SignaturePolicy::Off);
        deployment.set_state(unsigned(1));
        drop(swap);
        assert!(matches!(applying.await, Err(DeployError::Conflict { expected: 0, .. })));
        assert_eq!(policy(&deployment), SignaturePolicy::Off);
    }

    #[tokio::test]
    async fn settings_prepared_for_old_versions_are_rejected() {
        let (_folder, deployment, change) = prepared_change().await;
        // A host that lags behind the shared state keeps the generation.
        deployment.set_state(unsigned(0));
        assert!(matches!(change.apply(expected()).await, Err(DeployError::ConcurrentChange)));
        assert_eq!(policy(&deployment), SignaturePolicy::Off);
    }

    #[tokio::test]
    async fn settings_apply_if_nothing_has_changed() {
        let (_folder, deployment, change) = prepared_change().await;
        change.apply(expected()).await.unwrap();
        assert_eq!(policy(&deployment), SignaturePolicy::Required);
        assert!(deployment.lock().now_or_never().is_some());
    }
}
