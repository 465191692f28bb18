//! A version that answered last and was not compiled at the start, though nothing says that it may not answer: the one before
//! answers meanwhile, and the record stays.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use super::{Book, DeployError, Deployment, VersionId, changes::Reach, restore::activate};
use crate::slots::World;

/// Pause before it is compiled again; it doubles with every try.
const FIRST: Duration = Duration::from_secs(30);
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
    /// Why another version answers than should, in words for operators.
    pub(super) fn why_uncompiled(&self) -> Option<String> {
        self.uncompiled().map(|uncompiled| match uncompiled.instead {
            Some(version) => format!(
                "version {version} answers until the one that should is compiled, which is tried again: {}",
                uncompiled.reason
            ),
            None => format!("what should answer is not compiled; restart the host: {}", uncompiled.reason),
        })
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

    /// Compiles the active version again, ever more seldom, until it answers or another one should.
    pub(super) fn compile_later(&self) {
        let Some(id) = self.book().active.clone() else { return };
        let deployment = self.weak();
        self.spawn(async move {
            let mut pause = FIRST;
            loop {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST);
                let Some(deployment) = deployment.upgrade() else { return };
                if deployment.compile_again(&id).await {
                    return;
                }
            }
        });
    }

    /// Has the version answer that should, if it compiles now. Whether there is nothing left to try.
    async fn compile_again(&self, id: &VersionId) -> bool {
        let is_wanted = || self.book().active.as_ref() == Some(id) && self.has_substitute();
        let Some(record) = self.book().get(id).filter(|_| is_wanted()).cloned() else { return true };
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
        if record.id == *id {
            serve();
            return true;
        }
        let change = |book: &mut Book| activate(book, record, "the slot's settings have changed");
        if let Err(error) = self.commit_in_memory(&turn, Reach::Here, change, serve).await {
            tracing::warn!(slot, %error, "what answers now is not kept");
        }
        true
    }

    /// Whether another version than the book's active one answers, or none does.
    pub(super) fn has_substitute(&self) -> bool {
        self.uncompiled().is_some_and(|uncompiled| uncompiled.instead.is_some())
            || self.slot.active().is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compile::ComponentDigest,
        deploy::{Record, tests::settings},
    };

    #[test]
    fn only_uncompiled_errors_may_pass() {
        let version = Record::new(ComponentDigest::of(b"a"), 1, "test", &settings()).id;
        let passing = Unprepared::Uncompiled("killed".to_owned()).of(&version);
        assert!(matches!(&passing, DeployError::Uncompiled { .. }));
        assert_eq!((passing.code(), passing.to_string().as_str()), ("refused", "killed"));
        assert!(matches!(Unprepared::from(passing), Unprepared::Uncompiled(reason) if reason == "killed"));
        let final_error = Unprepared::from("bad".to_owned()).of(&version);
        assert!(matches!(&final_error, DeployError::Refused { .. }));
        assert!(matches!(Unprepared::from(final_error), Unprepared::Refused(reason) if reason == "bad"));
    }
}
