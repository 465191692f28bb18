//! Versions that were not compiled at the start for a temporary reason. The previous version answers meanwhile, a
//! candidate gets no call, and the state on disk stays.

#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use bulkhead_runtime::slots::{Trial, World};
use bulkhead_telemetry::one_line;

use super::{
    DeployError, Deployment, HOST, SlotState, Stage, VersionId, VersionRecord,
    changes::ChangeScope,
    restore::{ConfiguredComponent, record_activation},
};

/// Pause before they are compiled again; it doubles with every attempt.
pub(super) const FIRST_RETRY: Duration = Duration::from_secs(30);
/// Longest pause.
const MAX_RETRY: Duration = Duration::from_secs(600);

/// Why a component is not ready to answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum PrepareError {
    /// It may not answer.
    #[error("{0}")]
    Refused(String),
    /// It was not compiled for a temporary reason: the process was killed, or had too little time or memory.
    #[error("{0}")]
    Uncompiled(String),
}

impl From<String> for PrepareError {
    fn from(reason: String) -> Self {
        Self::Refused(reason)
    }
}

impl From<DeployError> for PrepareError {
    fn from(error: DeployError) -> Self {
        match error {
            DeployError::Uncompiled { reason, .. } => Self::Uncompiled(reason),
            error => Self::Refused(error.to_string()),
        }
    }
}

impl PrepareError {
    /// Adds the version to the error.
    pub(super) fn into_deploy_error(self, version: &VersionId) -> DeployError {
        let version = version.clone();
        match self {
            Self::Refused(reason) => DeployError::Refused { version, reason },
            Self::Uncompiled(reason) => DeployError::Uncompiled { version, reason },
        }
    }
}

/// The state of a slot whose active version or configured component was not compiled.
#[derive(Clone, Debug)]
pub(super) struct CompileFallback {
    /// Why.
    pub(super) reason: String,
    /// The version that answers in place of the active one, if one does.
    pub(super) substitute: Option<VersionId>,
}

impl<W: World> Deployment<W> {
    /// Returns, for operators, why a substitute answers or why no call reaches the candidate.
    pub(super) fn uncompiled_reason(&self) -> Option<String> {
        let active = self.uncompiled().map(|uncompiled| match uncompiled.substitute {
            Some(version) => format!(
                "version {version} answers until the active one is compiled, which is retried: {}",
                uncompiled.reason
            ),
            None => {
                format!("the configured component is not compiled; restart the host: {}", uncompiled.reason)
            }
        });
        let candidate = self.missing_candidate().map(|(record, _)| {
            let known = self.uncompiled_candidate.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let reason = known.map(|(_, reason)| reason).unwrap_or_default();
            format!("candidate {} gets no call until it is compiled, which is retried: {reason}", record.id)
        });
        let reasons: Vec<String> = active.into_iter().chain(candidate).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    pub(super) fn uncompiled(&self) -> Option<CompileFallback> {
        self.uncompiled.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_uncompiled(&self, uncompiled: Option<CompileFallback>) {
        *self.uncompiled.lock().unwrap_or_else(PoisonError::into_inner) = uncompiled;
    }

    /// Returns the version that answers all calls but a candidate's: the active one or its substitute.
    pub(super) fn answering_id(&self, state: &SlotState) -> Option<VersionId> {
        self.uncompiled().and_then(|uncompiled| uncompiled.substitute).or_else(|| state.active.clone())
    }

    pub(super) fn set_uncompiled_candidate(&self, id: VersionId, reason: String) {
        *self.uncompiled_candidate.lock().unwrap_or_else(PoisonError::into_inner) = Some((id, reason));
    }

    pub(super) fn set_uncompiled_configured(&self, named: Option<ConfiguredComponent>) {
        *self.uncompiled_configured.lock().unwrap_or_else(PoisonError::into_inner) = named;
    }

    /// Returns the configured component if it was not compiled at the start and no other version answers.
    fn missing_configured(&self) -> Option<ConfiguredComponent> {
        let named = self.uncompiled_configured.lock().unwrap_or_else(PoisonError::into_inner).clone();
        named.filter(|_| self.state().active.is_none() && self.slot.active().is_err())
    }

    /// Returns the candidate if it was not compiled at the start and gets no call yet.
    fn missing_candidate(&self) -> Option<(VersionRecord, Trial)> {
        let state = self.state();
        let candidate = state.candidate.as_ref().filter(|_| self.slot.candidate().is_none())?;
        let known = self.uncompiled_candidate.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = known.as_ref().is_some_and(|(id, _)| *id == candidate.version);
        state.get(&candidate.version).filter(|_| is_it).cloned().zip(candidate.trial())
    }

    /// Retries, with growing pauses, to compile what was not compiled at the start, until it answers or is
    /// replaced.
    pub(super) fn spawn_compile_retries(&self) {
        let is_due = self.state().active.is_some() && self.has_substitute()
            || self.missing_candidate().is_some()
            || self.missing_configured().is_some();
        if !is_due {
            return;
        }
        let (deployment, mut pause) = (self.weak(), self.compile_pause);
        self.spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(MAX_RETRY);
                let Some(deployment) = deployment.upgrade() else { return };
                if deployment.compile_active().await
                    && deployment.compile_candidate().await
                    && deployment.compile_configured().await
                {
                    return;
                }
            }
        });
    }

    /// Compiles the active version and serves it if that succeeds; returns whether nothing is left to retry.
    async fn compile_active(&self) -> bool {
        let Some(id) = self.state().active.clone() else { return true };
        let is_wanted = || self.state().active.as_ref() == Some(&id) && self.has_substitute();
        let Some(record) = self.state().get(&id).filter(|_| is_wanted()).cloned() else { return true };
        let (slot, version) = (self.slot.name().as_str(), id.as_str());
        let (record, active) = match self.reload_version(record).await {
            Ok(found) => found,
            Err(error @ DeployError::Uncompiled { .. }) => {
                tracing::warn!(slot, version, %error, "the active version does not compile yet");
                return false;
            }
            Err(error) => {
                tracing::error!(slot, version, %error, "the active version may not answer; the previous one stays");
                return true;
            }
        };
        let guard = self.lock().await;
        if !is_wanted() {
            return true;
        }
        let candidate = self.slot.candidate();
        self.monitor_candidate(candidate.as_ref(), &active);
        let serve = || {
            self.slot.serve(Arc::clone(&active), candidate, None);
            self.set_uncompiled(None);
            *self.empty_reason.lock().unwrap_or_else(PoisonError::into_inner) = None;
        };
        tracing::info!(slot, version, "the active version is compiled and answers");
        if record.id == id {
            serve();
            return true;
        }
        let change =
            |state: &mut SlotState| record_activation(state, record, "the slot's settings have changed");
        if let Err(error) = self.commit_in_memory(&guard, ChangeScope::LocalThenPublish, change, serve).await
        {
            tracing::warn!(slot, %error, "the versions that answer now are not saved");
        }
        true
    }

    /// Compiles the candidate and starts its trial if that succeeds; drops it if it may not answer. Returns whether
    /// nothing is left to retry.
    async fn compile_candidate(&self) -> bool {
        let Some((record, _)) = self.missing_candidate() else { return true };
        let (slot, id, version) = (self.slot.name().as_str(), &record.id, record.id.as_str());
        let revived = self.revive(&record).await;
        let guard = self.lock().await;
        let now = self.missing_candidate().filter(|(now, _)| now.id == *id);
        let (Some((_, trial)), Ok(active)) = (now, self.slot.active()) else { return true };
        match revived {
            Ok(candidate) => {
                let predecessor = self.state().previous.last().and_then(|before| self.held(before));
                let candidate = Some((candidate, trial));
                self.monitor_candidate(candidate.as_ref(), &active);
                self.slot.serve(active, candidate, predecessor);
                tracing::info!(slot, version, "the candidate is compiled and under trial");
                true
            }
            Err(DeployError::Uncompiled { reason, .. }) => {
                tracing::warn!(slot, version, reason, "the candidate does not compile yet");
                self.set_uncompiled_candidate(id.clone(), reason);
                false
            }
            Err(error) => {
                let reason = error.to_string();
                tracing::error!(slot, version, reason = one_line(&reason), "the candidate may not answer");
                let give_up = |state: &mut SlotState| {
                    state.candidate = None;
                    state.step(id, Stage::Refused, HOST, &reason);
                    // The generation of a shared state changes only when it is published.
                    state.generation += u64::from(self.shared.is_none());
                };
                if let Err(error) =
                    self.commit_in_memory(&guard, ChangeScope::LocalThenPublish, give_up, || {}).await
                {
                    tracing::warn!(slot, %error, "the end of the trial is not saved");
                }
                true
            }
        }
    }

    /// Compiles the configured component and serves it in an empty slot if that succeeds; returns whether nothing
    /// is left to retry.
    async fn compile_configured(&self) -> bool {
        let Some(named) = self.missing_configured() else {
            self.set_uncompiled_configured(None);
            return true;
        };
        let slot = self.slot.name().as_str();
        let loaded = self.load_configured(async { Ok(named) }).await;
        let guard = self.lock().await;
        if self.state().active.is_some() || self.slot.active().is_ok() {
            // Another version answers now.
            self.set_uncompiled_configured(None);
            return true;
        }
        let reason = match loaded {
            Ok((record, version)) => {
                self.serve_restored(&guard, SlotState::clone(&self.state()), record, version, None).await;
                None
            }
            Err(PrepareError::Uncompiled(reason)) => {
                tracing::warn!(slot, reason, "the configured component does not compile yet");
                return false;
            }
            Err(PrepareError::Refused(reason)) => {
                tracing::error!(slot, reason = one_line(&reason), "the component may not answer");
                self.set_uncompiled_configured(None);
                self.slot.set_empty("its component was refused; the host's log and /health/ready say why");
                Some(reason)
            }
        };
        *self.empty_reason.lock().unwrap_or_else(PoisonError::into_inner) = reason;
        true
    }

    /// Returns whether another version than the active one answers, or none does.
    pub(super) fn has_substitute(&self) -> bool {
        self.uncompiled().is_some_and(|uncompiled| uncompiled.substitute.is_some())
            || self.slot.active().is_err()
    }
}
