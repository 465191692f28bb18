//! Versions that answered last and were not compiled at the start, though nothing says that they may not answer. The version
//! before the active one answers meanwhile, a candidate gets no call, and the record stays.

#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use super::{
    Book, DeployError, Deployment, HOST, Record, Stage, VersionId,
    changes::Reach,
    restore::{Named, activate},
};
use crate::{
    slots::{Trial, World},
    telemetry::one_line,
};

/// Pause before they are compiled again; it doubles with every try.
pub(super) const FIRST: Duration = Duration::from_secs(30);
/// Longest pause.
const LONGEST: Duration = Duration::from_secs(600);

/// Why a component is not ready to answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unprepared {
    /// It may not answer.
    #[error("{0}")]
    Refused(String),
    /// It was not compiled for a reason that may pass: the process was killed, or had too little time or memory.
    #[error("{0}")]
    Uncompiled(String),
}

impl From<String> for Unprepared {
    fn from(reason: String) -> Self {
        Self::Refused(reason)
    }
}

impl From<DeployError> for Unprepared {
    fn from(error: DeployError) -> Self {
        match error {
            DeployError::Uncompiled { reason, .. } => Self::Uncompiled(reason),
            error => Self::Refused(error.to_string()),
        }
    }
}

impl Unprepared {
    /// The same of this version.
    pub(super) fn of(self, version: &VersionId) -> DeployError {
        let version = version.clone();
        match self {
            Self::Refused(reason) => DeployError::Refused { version, reason },
            Self::Uncompiled(reason) => DeployError::Uncompiled { version, reason },
        }
    }
}

/// What should answer and was not compiled.
#[derive(Clone, Debug)]
pub(super) struct Uncompiled {
    /// Why.
    pub(super) reason: String,
    /// The version that answers instead of the book's active one, where another one does.
    pub(super) instead: Option<VersionId>,
}

impl<W: World> Deployment<W> {
    /// Why another version answers than should, or no call reaches the candidate, in words for operators.
    pub(super) fn why_uncompiled(&self) -> Option<String> {
        let active = self.uncompiled().map(|uncompiled| match uncompiled.instead {
            Some(version) => format!(
                "version {version} answers until the one that should is compiled, which is tried again: {}",
                uncompiled.reason
            ),
            None => format!("what should answer is not compiled; restart the host: {}", uncompiled.reason),
        });
        let candidate = self.missing_candidate().map(|(record, _)| {
            let known = self.uncompiled_candidate.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let reason = known.map(|(_, reason)| reason).unwrap_or_default();
            format!(
                "candidate {} gets no call until it is compiled, which is tried again: {reason}",
                record.id
            )
        });
        let reasons: Vec<String> = active.into_iter().chain(candidate).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    pub(super) fn uncompiled(&self) -> Option<Uncompiled> {
        self.uncompiled.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_uncompiled(&self, uncompiled: Option<Uncompiled>) {
        *self.uncompiled.lock().unwrap_or_else(PoisonError::into_inner) = uncompiled;
    }

    /// The version that answers all calls but a candidate's: the book's active one, or the one that answers instead of it.
    pub(super) fn answering_id(&self, book: &Book) -> Option<VersionId> {
        self.uncompiled().and_then(|uncompiled| uncompiled.instead).or_else(|| book.active.clone())
    }

    pub(super) fn set_uncompiled_candidate(&self, id: VersionId, reason: String) {
        *self.uncompiled_candidate.lock().unwrap_or_else(PoisonError::into_inner) = Some((id, reason));
    }

    pub(super) fn set_uncompiled_configured(&self, named: Option<Named>) {
        *self.uncompiled_configured.lock().unwrap_or_else(PoisonError::into_inner) = named;
    }

    /// What the configuration names, where it was not compiled at the start and nothing else has come to answer.
    fn missing_configured(&self) -> Option<Named> {
        let named = self.uncompiled_configured.lock().unwrap_or_else(PoisonError::into_inner).clone();
        named.filter(|_| self.book().active.is_none() && self.slot.active().is_err())
    }

    /// The book's candidate, where it was not compiled at the start and gets no call yet.
    fn missing_candidate(&self) -> Option<(Record, Trial)> {
        let book = self.book();
        let candidate = book.candidate.as_ref().filter(|_| self.slot.candidate().is_none())?;
        let known = self.uncompiled_candidate.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = known.as_ref().is_some_and(|(id, _)| *id == candidate.version);
        book.get(&candidate.version).filter(|_| is_it).cloned().zip(candidate.trial())
    }

    /// Compiles what was not compiled at the start again, ever more seldom, until it answers or something else should.
    pub(super) fn compile_later(&self) {
        let is_due = self.book().active.is_some() && self.has_substitute()
            || self.missing_candidate().is_some()
            || self.missing_configured().is_some();
        if !is_due {
            return;
        }
        let (deployment, mut pause) = (self.weak(), self.compile_pause);
        self.spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST);
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

    /// Has the version answer that should, if it compiles now. Whether there is nothing left to try.
    async fn compile_active(&self) -> bool {
        let Some(id) = self.book().active.clone() else { return true };
        let is_wanted = || self.book().active.as_ref() == Some(&id) && self.has_substitute();
        let Some(record) = self.book().get(&id).filter(|_| is_wanted()).cloned() else { return true };
        let (slot, version) = (self.slot.name().as_str(), id.as_str());
        let (record, active) = match self.again(record).await {
            Ok(found) => found,
            Err(error @ DeployError::Uncompiled { .. }) => {
                tracing::warn!(slot, version, %error, "the version that should answer does not compile yet");
                return false;
            }
            Err(error) => {
                tracing::error!(slot, version, %error, "the version that should answer may not; the one before goes on");
                return true;
            }
        };
        let turn = self.turn().await;
        if !is_wanted() {
            return true;
        }
        let candidate = self.slot.candidate();
        self.watch_candidate(candidate.as_ref(), &active);
        let serve = || {
            self.slot.serve(Arc::clone(&active), candidate, None);
            self.set_uncompiled(None);
            *self.why_empty.lock().unwrap_or_else(PoisonError::into_inner) = None;
        };
        tracing::info!(slot, version, "the version that should answer is compiled and answers");
        if record.id == id {
            serve();
            return true;
        }
        let change = |book: &mut Book| activate(book, record, "the slot's settings have changed");
        if let Err(error) = self.commit_in_memory(&turn, Reach::Here, change, serve).await {
            tracing::warn!(slot, %error, "what answers now is not kept");
        }
        true
    }

    /// Has the candidate get its calls, if it compiles now; gives it up if it may not answer. Whether there is nothing left
    /// to try.
    async fn compile_candidate(&self) -> bool {
        let Some((record, _)) = self.missing_candidate() else { return true };
        let (slot, id, version) = (self.slot.name().as_str(), &record.id, record.id.as_str());
        let revived = self.revive(&record).await;
        let turn = self.turn().await;
        let now = self.missing_candidate().filter(|(now, _)| now.id == *id);
        let (Some((_, trial)), Ok(active)) = (now, self.slot.active()) else { return true };
        match revived {
            Ok(candidate) => {
                let predecessor = self.book().before.last().and_then(|before| self.held(before));
                let candidate = Some((candidate, trial));
                self.watch_candidate(candidate.as_ref(), &active);
                self.slot.serve(active, candidate, predecessor);
                tracing::info!(slot, version, "the candidate is compiled and is tried");
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
                let give_up = |book: &mut Book| {
                    book.candidate = None;
                    book.step(id, Stage::Refused, HOST, &reason);
                    // Where hosts share one, the generation is that of what all should have.
                    book.generation += u64::from(self.shared.is_none());
                };
                if let Err(error) = self.commit_in_memory(&turn, Reach::Here, give_up, || {}).await {
                    tracing::warn!(slot, %error, "the end of the candidate is not kept");
                }
                true
            }
        }
    }

    /// Has what the configuration names answer in an empty slot, if it compiles now. Whether there is nothing left to try.
    async fn compile_configured(&self) -> bool {
        let Some(named) = self.missing_configured() else {
            self.set_uncompiled_configured(None);
            return true;
        };
        let slot = self.slot.name().as_str();
        let loaded = self.load_configured(async { Ok(named) }).await;
        let turn = self.turn().await;
        if self.book().active.is_some() || self.slot.active().is_ok() {
            // Something else has come to answer meanwhile.
            self.set_uncompiled_configured(None);
            return true;
        }
        let reason = match loaded {
            Ok((record, version)) => {
                self.settle(&turn, Book::clone(&self.book()), record, version, None).await;
                None
            }
            Err(Unprepared::Uncompiled(reason)) => {
                tracing::warn!(slot, reason, "the configured component does not compile yet");
                return false;
            }
            Err(Unprepared::Refused(reason)) => {
                tracing::error!(slot, reason = one_line(&reason), "the component may not answer");
                self.set_uncompiled_configured(None);
                self.slot.empty("its component was refused; the host's log and /health/ready say why");
                Some(reason)
            }
        };
        *self.why_empty.lock().unwrap_or_else(PoisonError::into_inner) = reason;
        true
    }

    /// Whether another version than the book's active one answers, or none does.
    pub(super) fn has_substitute(&self) -> bool {
        self.uncompiled().is_some_and(|uncompiled| uncompiled.instead.is_some())
            || self.slot.active().is_err()
    }
}
