//! Other settings for a slot, tried before they count.

use std::sync::{Arc, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::MutexGuard;

use super::{
    Book, DeployError, Deployment, Expected, HOST, Move, Record, Stage, VersionId,
    changes::{Next, Reach, push_down},
    configured::{Changed, InFile},
    vault::Blob,
};
use crate::{
    config::{signatures::Signatures, slots::Slot as Settings},
    slots::{Version, World, revision},
    telemetry::one_line,
};

/// What other settings mean for a slot, ready to be performed; dropped, nothing has happened.
pub trait Rehearsed: Send {
    /// The generation for which it was made ready.
    fn generation(&self) -> u64;

    /// The version that will answer; none where the same goes on.
    fn version(&self) -> Option<VersionId>;

    /// What is amiss though it may count: the slot's file is of no use.
    fn warning(&self) -> Option<String>;

    /// Has it count.
    fn perform(self: Box<Self>, expected: Expected) -> BoxFuture<'static, Result<(), DeployError>>;
}

/// A slot's component under other settings: it has passed its trial and does not answer yet.
pub(super) struct Rehearsal<W: World> {
    deployment: Arc<Deployment<W>>,
    settings: Arc<Settings>,
    /// What answered when it was tried.
    seen: Arc<Book>,
    next: Option<(Record, Arc<Version<W>>)>,
    /// A component that the vault does not have.
    blob: Option<Blob>,
    /// Why the slot's file is of no use.
    file_fault: Option<String>,
}

impl<W: World> Deployment<W> {
    /// Tries what answers under other settings, where these give it anything else than it has, or what the configured
    /// file holds by now. A configuration that names another component changes that with a restart only.
    pub(super) async fn rehearsal(self: Arc<Self>, settings: Settings) -> Result<Rehearsal<W>, DeployError> {
        let (running, book) = (self.slot.settings().component.clone(), self.book());
        let is_named = settings.component == running;
        let settings = Arc::new(Settings { component: running, ..settings });
        let (changed, file_fault) = match is_named {
            true => self.look_into_file(&book, &settings).await?,
            false => (None, self.file_fault()),
        };
        // What the file brings instead has been looked at.
        let replaced = changed.as_ref().and(book.active.as_ref());
        self.may_answer_under(&settings.signatures, &book, replaced).await?;
        let other = book.active().filter(|active| active.revision != revision(&settings)).cloned();
        let (next, blob) = match (changed, other) {
            (Some(Changed { record, version, blob }), _) => (Some((record, version)), Some(blob)),
            (None, Some(record)) => (Some(self.under(record, &settings).await?), None),
            (None, None) => (None, None),
        };
        Ok(Rehearsal { deployment: self, settings, seen: book, next, blob, file_fault })
    }

    /// What the configured file brings, or why it is of no use. One that may not answer refuses the settings, but where
    /// nothing answers: an empty slot keeps no other from its settings.
    async fn look_into_file(
        &self,
        book: &Book,
        settings: &Arc<Settings>,
    ) -> Result<(Option<Changed<W>>, Option<String>), DeployError> {
        let fault = match self.in_file(book.active(), settings).await {
            Ok(InFile::Same) => return Ok((None, None)),
            Ok(InFile::Other(changed)) => return Ok((Some(*changed), None)),
            Ok(InFile::Unreadable(reason)) => reason,
            Err(DeployError::Refused { reason, .. }) if book.active.is_none() => reason,
            Err(error) => return Err(error),
        };
        let goes_on = if book.active.is_some() { "what answers goes on" } else { "nothing answers" };
        let (slot, fault) = (self.slot.name().as_str(), format!("{}; {goes_on}", one_line(&fault)));
        tracing::error!(slot, reason = fault, "the configured component cannot be had");
        Ok((None, Some(fault)))
    }

    /// Refuses signature rules under which a version that answers could not have come to.
    async fn may_answer_under(
        &self,
        signatures: &Signatures,
        book: &Book,
        replaced: Option<&VersionId>,
    ) -> Result<(), DeployError> {
        if *signatures == self.slot.settings().signatures {
            return Ok(());
        }
        let substitute = self.answering_id(book);
        let answers = |id: &VersionId| book.answers(id) || substitute.as_ref() == Some(id);
        let answer = |record: &&Record| answers(&record.id) && Some(&record.id) != replaced;
        for record in book.versions.iter().filter(answer) {
            self.vouched_by(signatures, record).await.map_err(|error| match error {
                DeployError::Refused { version, reason } => {
                    let stands = if book.is_serving(&version) || substitute.as_ref() == Some(&version) { "answers" } else { "is the candidate" };
                    let reason = format!(
                        "version {version} {stands}, and under these slots.{}.signatures it may not: {reason}",
                        self.slot.name().as_str()
                    );
                    DeployError::Refused { version, reason }
                }
                error => error,
            })?;
        }
        Ok(())
    }

    /// Has the version answer that the settings or the file mean.
    async fn switch_settings(
        &self,
        turn: &MutexGuard<'_, ()>,
        record: Record,
        version: Arc<Version<W>>,
        blob: Option<Blob>,
        expected: &Expected,
    ) -> Result<(), DeployError> {
        let fetched = || self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
        let component = blob.as_ref().map(|blob| blob.component.clone());
        fetched().extend(blob);
        let candidate = self.book().candidate.clone().zip(self.slot.candidate());
        let candidate = candidate.map(|(candidate, (version, trial))| (candidate.version, version, trial));
        // A candidate that has become what the settings or the file mean is tried no more.
        let (version, candidate) = match candidate {
            Some((id, same, _)) if id == record.id => (same, None),
            other => (version, other),
        };
        let next = Next { active: (record.id.clone(), version), candidate };
        let line = |book: &mut Book, active| {
            book.receive(record.clone());
            push_down(book, active);
        };
        let switched = self.switch(turn, next, expected, Reach::Alone, line).await;
        fetched().retain(|blob| Some(&blob.component) != component.as_ref());
        switched?;
        self.slot.metrics.rollout("reload");
        Ok(())
    }

    async fn under(
        &self,
        record: Record,
        settings: &Arc<Settings>,
    ) -> Result<(Record, Arc<Version<W>>), DeployError> {
        let (wasm, bytes) = (self.component(&record).await?, record.bytes);
        let prepared = self.prepare(wasm, &record.source, Arc::clone(settings), |_| {}).await;
        let version = prepared.map_err(|error| error.of(&record.id))?;
        let now = Record::new(version.digest, bytes, &record.source, settings);
        let mut now = Record {
            signed_by: record.signed_by,
            signed_at: record.signed_at,
            configured: record.configured,
            ..now
        };
        now.step(Move::now(Stage::Trialled, HOST, "the component under other settings"));
        Ok((now, version))
    }
}

impl<W: World> Rehearsed for Rehearsal<W> {
    fn generation(&self) -> u64 {
        self.seen.generation
    }

    fn version(&self) -> Option<VersionId> {
        self.next.as_ref().map(|(record, _)| record.id.clone())
    }

    fn warning(&self) -> Option<String> {
        self.file_fault.clone()
    }

    fn perform(self: Box<Self>, expected: Expected) -> BoxFuture<'static, Result<(), DeployError>> {
        Box::pin(async move {
            let Self { deployment, settings, seen, next, blob, file_fault } = *self;
            // A change that is on its way ends before, so that what it has checked still holds when it counts.
            let turn = deployment.turn().await;
            deployment.compare(&expected)?;
            if !deployment.book().answers_as(&seen) {
                return Err(DeployError::Overtaken);
            }
            if let Some((record, version)) = next {
                deployment.switch_settings(&turn, record, version, blob, &expected).await?;
            }
            deployment.set_file_fault(file_fault);
            let known = (revision(&settings), Arc::clone(&settings));
            deployment.revisions.lock().unwrap_or_else(PoisonError::into_inner).extend([known]);
            let is_other = settings.signatures != deployment.slot.settings().signatures;
            deployment.slot.set_settings(settings);
            if is_other {
                // Whether it may still answer is another question now.
                deployment.hold_again(turn);
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use futures_util::FutureExt as _;
    use tempfile::TempDir;

    use super::*;
    use crate::{
        compile::ComponentDigest,
        config::signatures::Policy,
        deploy::tests::{Bare, deployment, settings},
    };

    /// Settings under which only signed components answer, tried in a slot that nothing answers for.
    async fn rehearsed() -> (TempDir, Arc<Deployment<Bare>>, Box<Rehearsal<Bare>>) {
        let folder = TempDir::new().unwrap();
        let deployment = deployment(folder.path(), "/nowhere".as_ref());
        let signatures = Signatures { policy: Policy::Required, ..Signatures::DEFAULT };
        let required = Settings { signatures, ..settings() };
        let rehearsal = Arc::clone(&deployment).rehearsal(required).await.unwrap();
        (folder, deployment, Box::new(rehearsal))
    }

    fn expected() -> Expected {
        Expected { generation: 0, actor: HOST.to_owned(), reason: String::new() }
    }

    /// A book of which an unsigned version is active.
    fn unsigned(generation: u64) -> Book {
        let record = Record::new(ComponentDigest::of(b"a"), 1, "test", &settings());
        let mut book = Book { generation, active: Some(record.id.clone()), ..Book::default() };
        book.receive(record);
        book
    }

    fn policy(deployment: &Deployment<Bare>) -> Policy {
        deployment.slot.settings().signatures.policy
    }

    #[tokio::test]
    async fn settings_wait_for_a_change_under_way() {
        let (_folder, deployment, rehearsal) = rehearsed().await;
        // A swap has found its version good under the old rules, and is being written.
        let swap = deployment.turn().await;
        let mut performed = rehearsal.perform(expected());
        assert!(performed.as_mut().now_or_never().is_none());
        assert_eq!(policy(&deployment), Policy::Off);
        deployment.set_book(unsigned(1));
        drop(swap);
        assert!(matches!(performed.await, Err(DeployError::Conflict { expected: 0, .. })));
        assert_eq!(policy(&deployment), Policy::Off);
    }

    #[tokio::test]
    async fn settings_for_versions_of_before_are_refused() {
        let (_folder, deployment, rehearsal) = rehearsed().await;
        // A host that is behind the others keeps their generation.
        deployment.set_book(unsigned(0));
        assert!(matches!(rehearsal.perform(expected()).await, Err(DeployError::Overtaken)));
        assert_eq!(policy(&deployment), Policy::Off);
    }

    #[tokio::test]
    async fn settings_count_where_nothing_has_changed() {
        let (_folder, deployment, rehearsal) = rehearsed().await;
        rehearsal.perform(expected()).await.unwrap();
        assert_eq!(policy(&deployment), Policy::Required);
        assert!(deployment.turn().now_or_never().is_some());
    }
}
