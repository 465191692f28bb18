//! The start of a slot: which version answers after a start of the host.

mod compile_retries;
#[cfg(test)]
mod tests;
mod uncompiled;

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, PoisonError},
};

use bulkhead_config::{registries::Reference, slots::ComponentSource};
use bulkhead_runtime::slots::{Trial, Version, World};
use bulkhead_telemetry::{logs::panic_text, one_line};
use futures_util::FutureExt as _;
use tokio::sync::MutexGuard;

use super::{
    Deployment,
    commit::ChangeScope,
    configured::ConfiguredResult,
    prepare::{LoadedVersion, PrepareError},
};
use crate::{AuditEntry, DeployError, HOST, Move, SlotState, Stage, VersionId, VersionRecord};

pub(super) use self::{compile_retries::FIRST_RETRY, uncompiled::CompileFallback};

impl<W: World> Deployment<W> {
    /// Starts the slot with the versions that answered last, or else the latest previous version that may answer.
    /// If nothing has ever been pushed, it uses `configured`, which is polled only then. A panic ends the start of this slot
    /// alone.
    ///
    /// # Errors
    /// Why no version answers, or why the start has not ended.
    pub async fn start(
        self: &Arc<Self>,
        configured: impl Future<Output = ConfiguredResult>,
    ) -> Result<(), String> {
        // Without this, the slot would be starting for ever.
        let started = AssertUnwindSafe(self.start_parts(configured)).catch_unwind().await;
        started.unwrap_or_else(|panic| self.fail_start(&panic_text(&*panic)))
    }

    /// Ends a start that has panicked. A version that answers by then goes on, without what would have started after it;
    /// else operators may push another version.
    fn fail_start(&self, panic: &str) -> Result<(), String> {
        let slot = self.slot.name().as_str();
        let panic = one_line(panic);
        if self.slot.active().is_ok() {
            tracing::error!(slot, %panic, "the slot answers, but its start has panicked; report this, and restart the host");
            return Ok(());
        }
        let reason = format!(
            "its start has panicked: {panic}; report this, and restart the host or push another version"
        );
        tracing::error!(slot, reason, "the slot has not started");
        self.slot.set_empty("its start has failed; the host's log and /health/ready say why");
        *self.empty_reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.clone());
        Err(reason)
    }

    async fn start_parts(
        self: &Arc<Self>,
        configured: impl Future<Output = ConfiguredResult>,
    ) -> Result<(), String> {
        let started = self.restore(configured).await;
        *self.empty_reason.lock().unwrap_or_else(PoisonError::into_inner) = started.as_ref().err().cloned();
        self.spawn_compile_retries();
        self.sync().await;
        self.spawn_sync();
        self.spawn_rollback_monitor();
        self.watch_folder();
        started
    }

    async fn restore(&self, configured: impl Future<Output = ConfiguredResult>) -> Result<(), String> {
        let slot = self.slot.name();
        let state = self.store.restore_state(slot).unwrap_or_else(|error| {
            tracing::error!(slot = slot.as_str(), %error, "the state of the slot cannot be read");
            None
        });
        let mut state = state.unwrap_or_default();
        self.set_state(state.clone());
        self.reconcile(&state);
        state.retire_drains();
        let order: Vec<VersionId> = state.active.iter().chain(state.previous.iter().rev()).cloned().collect();
        let kept = state.clone();
        let mut configured = Some(configured);
        let (mut first, mut uncompiled) = (None, None);
        // The configured component is the last in the order, or the only one.
        for id in order.iter().map(Some).chain([None]) {
            let found = match id.and_then(|id| state.get(id)).cloned() {
                Some(record) if !record.configured => {
                    self.reload_version(record).await.map_err(PrepareError::from)
                }
                last => match configured.take() {
                    Some(configured) => self.restore_configured(configured, &state, last).await,
                    None => continue,
                },
            };
            match found {
                Ok((record, version)) => {
                    match uncompiled.filter(|_| kept.active.as_ref() != Some(&record.id)) {
                        Some(reason) => self.serve_substitute(kept, record, version, reason).await,
                        None => {
                            let (guard, id) = (self.lock().await, record.id.clone());
                            self.serve_restored(&guard, state, record, version, first.as_deref()).await;
                            self.set_fallback(kept.active, id, first);
                        }
                    }
                    return Ok(());
                }
                Err(PrepareError::Refused(reason)) => {
                    tracing::error!(
                        slot = slot.as_str(),
                        reason = one_line(&reason),
                        "the component may not answer"
                    );
                    if let Some(id) = id {
                        state.step(id, Stage::Refused, HOST, &reason);
                    }
                    first = first.or(Some(reason));
                }
                Err(PrepareError::Uncompiled(reason)) => {
                    tracing::error!(slot = slot.as_str(), reason, "the component is not compiled");
                    uncompiled.get_or_insert_with(|| reason.clone());
                    first = first.or(Some(reason));
                }
            }
        }
        if uncompiled.is_some() {
            self.slot.set_empty("its component was not compiled; the host's log and /health/ready say why");
            self.set_state(kept);
            return Err(first.unwrap_or_default());
        }
        self.slot.set_empty("its component was refused; the host's log and /health/ready say why");
        self.set_state(SlotState { active: None, candidate: None, ..state });
        Err(first.unwrap_or_default())
    }

    /// Records that the version `id` answers in place of the `last` one, if that was `refused`.
    fn set_fallback(&self, last: Option<VersionId>, id: VersionId, refused: Option<String>) {
        let refused = last.filter(|last| *last != id).zip(refused);
        let fallback = refused.map(|(last, reason)| {
            let text = format!("version {last} does not start, and {id} answers: {}", one_line(&reason));
            (id, text)
        });
        *self.fallback.lock().unwrap_or_else(PoisonError::into_inner) = fallback;
    }

    /// Returns why another version than the last one has answered since the start, until an operator changes that.
    pub(super) fn fallback_reason(&self) -> Option<String> {
        let fallback = self.fallback.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (id, reason) = fallback?;
        (self.state().active.as_ref() == Some(&id)).then_some(reason)
    }

    /// Serves `version` while the active one is not compiled. The state on disk stays, so that a restart tries the
    /// active version again.
    async fn serve_substitute(
        &self,
        mut state: SlotState,
        mut record: VersionRecord,
        version: Arc<Version<W>>,
        reason: String,
    ) {
        let id = record.id.clone();
        if state.get(&id).is_none() {
            record.step(Move::now(Stage::Trialled, HOST, "the component under other settings"));
            state.receive(record);
        }
        let candidate = self.restore_candidate(&mut state).await;
        self.monitor_candidate(candidate.as_ref(), &version);
        let slot = self.slot.name().as_str();
        tracing::error!(
            slot,
            version = id.as_str(),
            reason,
            "a previous version answers until the active one is compiled"
        );
        self.slot.serve(version, candidate, None);
        self.set_state(state);
        self.set_uncompiled(Some(CompileFallback { reason, substitute: Some(id) }));
    }

    /// Loads the configured version: the one that its reference led to before, or, if that may not answer, the one that it
    /// names now. If that cannot be read or may not answer, it loads the configured version that answered last.
    async fn restore_configured(
        &self,
        configured: impl Future<Output = ConfiguredResult>,
        state: &SlotState,
        last: Option<VersionRecord>,
    ) -> Result<LoadedVersion<W>, PrepareError> {
        let mut refused = None;
        if let Some(pinned) = self.pinned(state).await {
            match self.reload_version(VersionRecord { configured: true, ..pinned }).await {
                // Such as a pack of before an upgrade: its reference may lead to one for this program now.
                Err(error @ DeployError::Refused { .. }) => refused = Some(error.into()),
                found => return Ok(found?),
            }
        }
        let error = match (self.load_configured(configured).await, refused) {
            (Ok(found), _) => return Ok(found),
            (Err(error), None) => error,
            (Err(error), Some(refused)) => {
                let (slot, reason) = (self.slot.name().as_str(), one_line(&error));
                tracing::error!(slot, reason, "what the configuration names now is not usable either");
                refused
            }
        };
        let Some(last) = last else { return Err(error) };
        let (slot, version) = (self.slot.name().as_str(), last.id.to_string());
        let found = match self.reload_version(last).await {
            Ok(found) => found,
            Err(last @ DeployError::Uncompiled { .. }) => return Err(last.into()),
            Err(_) => return Err(error),
        };
        let reason = error.to_string();
        tracing::error!(
            slot,
            version,
            reason = one_line(&reason),
            "the configured component is unusable or may not answer; the one that answered last stays"
        );
        match error {
            PrepareError::Uncompiled(reason) => {
                self.set_uncompiled(Some(CompileFallback { reason, substitute: None }));
            }
            PrepareError::Refused(_)
                if matches!(self.slot.settings().component, ComponentSource::File(_)) =>
            {
                self.set_file_fault(Some(format!(
                    "{}; the version that answered last stays",
                    one_line(&reason)
                )));
            }
            PrepareError::Refused(_) => {}
        }
        Ok(found)
    }

    /// Returns the version that the configuration's reference led to before, if its component is stored here and
    /// may answer. So a host starts without a network, and a moved tag does not change its version.
    async fn pinned(&self, state: &SlotState) -> Option<VersionRecord> {
        let settings = self.slot.settings();
        let ComponentSource::Registry(wanted) = &settings.component else { return None };
        let is_it = |record: &&VersionRecord| {
            Reference::parse(&record.source).is_ok_and(|known| wanted.matches_resolved(&known))
        };
        let mut known: Vec<VersionRecord> = state.versions.iter().filter(is_it).cloned().collect();
        // Prefer what the configuration led to over what was pushed later with the same tag.
        known.sort_by_key(|record| record.configured);
        for record in known.into_iter().rev() {
            if self.check_signature(&record).await.is_ok() {
                return self.component(&record).await.ok().map(|_| record);
            }
        }
        None
    }

    /// Serves `record` and the former candidate. The state on disk changes only if it names other versions.
    async fn serve_restored(
        &self,
        guard: &MutexGuard<'_, ()>,
        state: SlotState,
        record: VersionRecord,
        version: Arc<Version<W>>,
        failed: Option<&str>,
    ) {
        let (kept, id) = (state.clone(), record.id.clone());
        let mut state = state;
        // The configured component may be older: the configuration's author decides what is new.
        state.newest_signature = state.newest_signature.max(record.signed_at.unwrap_or(0));
        if state.active.as_ref() != Some(&id) {
            let reason = match failed {
                Some(_) => "the version that answered last does not start",
                None if record.configured => "the configuration names it",
                None => "the slot's settings have changed",
            };
            record_activation(&mut state, record.clone(), reason);
        }
        let candidate = self.restore_candidate(&mut state).await;
        self.monitor_candidate(candidate.as_ref(), &version);
        let is_pulled = Reference::is_reference(&record.source);
        // Hosts that share their state read the component from the database.
        let is_file = self.shared.is_none()
            && record.configured
            && matches!(self.slot.settings().component, ComponentSource::File(_));
        let (slot, component, source) = (self.slot.name().as_str(), version.digest, record.source);
        tracing::info!(slot, version = record.id.as_str(), %component, source, "component active");
        self.slot.serve(version, candidate, None);
        // A component from a registry or a file is stored, for starts at which its source is unavailable.
        let keeps = kept.active.is_some() || is_pulled || is_file;
        let is_first = kept.active.is_none() && !is_pulled;
        let changed = keeps && kept != state;
        self.set_state(SlotState { generation: kept.generation, revision: kept.revision, ..kept });
        if !changed {
            self.set_state(state);
            return;
        }
        if self.shared.is_none() && !is_first {
            // The generation of a shared state changes only when it is published. A configured file at the first
            // start is not a change.
            state.generation += 1;
        }
        let after = state.clone();
        if let Err(error) =
            self.commit_in_memory(guard, ChangeScope::LocalThenPublish, |kept| *kept = after, || {}).await
        {
            tracing::warn!(slot, %error, "the versions that answer now are not saved");
        }
    }

    /// Loads the former candidate; drops it if it may not answer any more.
    async fn restore_candidate(&self, state: &mut SlotState) -> Option<(Arc<Version<W>>, Trial)> {
        let candidate = state.candidate.take()?;
        if state.active.as_ref() == Some(&candidate.version) {
            // The configuration names it now.
            return None;
        }
        let record = state.get(&candidate.version)?.clone();
        let trial = candidate.trial().ok_or_else(|| "its weight is not a percentage".to_owned());
        let revived = match self.revive(&record).await {
            Err(DeployError::Uncompiled { reason, .. }) => {
                let slot = self.slot.name().as_str();
                tracing::error!(slot, reason, "the candidate is not compiled; it is retried");
                self.set_uncompiled_candidate(candidate.version.clone(), reason);
                state.candidate = Some(candidate);
                return None;
            }
            revived => revived.map_err(|error| error.to_string()),
        };
        match revived.and_then(|version| Ok((version, trial?))) {
            Ok(revived) => {
                state.candidate = Some(candidate);
                Some(revived)
            }
            Err(reason) => {
                let (slot, reason_line) = (self.slot.name().as_str(), one_line(&reason));
                tracing::error!(slot, reason = reason_line, "the candidate may not answer");
                state.step(&candidate.version, Stage::Refused, HOST, &reason);
                None
            }
        }
    }

    /// Appends a correction to the audit log if the host was stopped after it had logged a move and before it had
    /// written the state.
    fn reconcile(&self, state: &SlotState) {
        let slot = self.slot.name();
        let last = self.store.audit(Some(slot), 1).ok().and_then(|entries| entries.into_iter().next());
        let Some(last) = last.filter(|last| last.generation > state.generation) else { return };
        let reason = format!(
            "generation {} ({}: version {}) was logged but not reached, because the host stopped before it was \
             written; generation {} remains",
            last.generation,
            last.stage.as_str(),
            last.version,
            state.generation
        );
        tracing::error!(
            slot = slot.as_str(),
            reason,
            "a change was not written before the host stopped; it is undone"
        );
        let latest = state.latest();
        let Move { stage, at, actor, reason } =
            Move::now(latest.map_or(Stage::Retired, VersionRecord::stage), HOST, &reason);
        let entry = AuditEntry {
            at,
            slot: slot.as_str().to_owned(),
            generation: state.generation,
            version: latest.map_or(last.version, |record| record.id.clone()),
            component: latest.map_or(last.component, |record| record.component.clone()),
            stage,
            actor,
            reason,
        };
        if let Err(error) = self.store.append_entry(slot, entry) {
            tracing::warn!(slot = slot.as_str(), %error, "the audit log cannot be written");
        }
    }
}

/// Records that a version answers in place of the active one; a rollback returns to the versions before it.
fn record_activation(state: &mut SlotState, mut record: VersionRecord, reason: &str) {
    let id = record.id.clone();
    record.step(Move::now(Stage::Active, HOST, reason));
    let is_active = |last: &VersionId| state.get(last).is_some_and(|last| last.stage() == Stage::Active);
    if let Some(last) = state.active.clone().filter(is_active) {
        state.step(&last, Stage::Retired, HOST, reason);
    }
    state.receive(record);
    if let Some(at) = state.previous.iter().position(|before| *before == id) {
        state.previous.truncate(at);
    }
    state.active = Some(id);
}
