//! Retries, in the background, to compile what was not compiled at the start.

#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use bulkhead_runtime::slots::World;
use bulkhead_telemetry::one_line;

use super::record_activation;
use crate::{
    DeployError, Deployment, HOST, SlotState, Stage,
    deployment::{commit::ChangeScope, prepare::PrepareError},
};

/// Pause before the first attempt; it doubles with every attempt.
pub(in crate::deployment) const FIRST_RETRY: Duration = Duration::from_secs(30);
/// Longest pause.
const MAX_RETRY: Duration = Duration::from_secs(600);

impl<W: World> Deployment<W> {
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

    /// Compiles the candidate and has it answer if that succeeds; removes it if it may not answer. Returns whether
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
                tracing::info!(slot, version, "the candidate is compiled and answers");
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
                    tracing::warn!(slot, %error, "the removal of the candidate is not saved");
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
}
