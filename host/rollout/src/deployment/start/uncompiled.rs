//! Versions that were not compiled at the start for a temporary reason. The previous version answers meanwhile, a
//! candidate gets no call, and the state on disk stays.

use std::sync::PoisonError;

use bulkhead_runtime::slots::{Trial, World};

use crate::{Deployment, SlotState, VersionId, VersionRecord, deployment::configured::ConfiguredComponent};

/// The state of a slot whose active version or configured component was not compiled.
#[derive(Clone, Debug)]
pub(in crate::deployment) struct CompileFallback {
    /// Why.
    pub(super) reason: String,
    /// The version that answers in place of the active one, if one does.
    pub(super) substitute: Option<VersionId>,
}

impl<W: World> Deployment<W> {
    /// Returns, for operators, why a substitute answers or why no call reaches the candidate.
    pub(in crate::deployment) fn uncompiled_reason(&self) -> Option<String> {
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

    fn uncompiled(&self) -> Option<CompileFallback> {
        self.uncompiled.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(in crate::deployment) fn set_uncompiled(&self, uncompiled: Option<CompileFallback>) {
        *self.uncompiled.lock().unwrap_or_else(PoisonError::into_inner) = uncompiled;
    }

    /// Returns the version that answers all calls but a candidate's: the active one or its substitute.
    pub(in crate::deployment) fn answering_id(&self, state: &SlotState) -> Option<VersionId> {
        self.uncompiled().and_then(|uncompiled| uncompiled.substitute).or_else(|| state.active.clone())
    }

    pub(super) fn set_uncompiled_candidate(&self, id: VersionId, reason: String) {
        *self.uncompiled_candidate.lock().unwrap_or_else(PoisonError::into_inner) = Some((id, reason));
    }

    pub(in crate::deployment) fn set_uncompiled_configured(&self, named: Option<ConfiguredComponent>) {
        *self.uncompiled_configured.lock().unwrap_or_else(PoisonError::into_inner) = named;
    }

    /// Returns the configured component if it was not compiled at the start and no other version answers.
    pub(super) fn missing_configured(&self) -> Option<ConfiguredComponent> {
        let named = self.uncompiled_configured.lock().unwrap_or_else(PoisonError::into_inner).clone();
        named.filter(|_| self.state().active.is_none() && self.slot.active().is_err())
    }

    /// Returns the candidate if it was not compiled at the start and gets no call yet.
    pub(super) fn missing_candidate(&self) -> Option<(VersionRecord, Trial)> {
        let state = self.state();
        let candidate = state.candidate.as_ref().filter(|_| self.slot.candidate().is_none())?;
        let known = self.uncompiled_candidate.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = known.as_ref().is_some_and(|(id, _)| *id == candidate.version);
        state.get(&candidate.version).filter(|_| is_it).cloned().zip(candidate.trial())
    }

    /// Returns whether another version than the active one answers, or none does.
    pub(in crate::deployment) fn has_substitute(&self) -> bool {
        self.uncompiled().is_some_and(|uncompiled| uncompiled.substitute.is_some())
            || self.slot.active().is_err()
    }
}
