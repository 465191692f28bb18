use std::sync::{Arc, PoisonError};

use tokio::sync::MutexGuard;

use super::{
    Book, DeployError, Deployment, Entry, HOST, Move, Proof, Record, Stage, VersionId,
    changes::Reach,
    deployment::Identified,
    uncompiled::{Uncompiled, Unprepared},
    watch::Watched,
};
use crate::{
    config::{registries::Reference, slots::ComponentSource},
    slots::{Trial, Version, World},
    telemetry::one_line,
};

/// The component that the configuration names, where it comes from, and what speaks for it.
pub(super) type Named = (Arc<[u8]>, String, Proof);

/// The same, or why it cannot be had.
pub type Configured = Result<Named, String>;

/// A version that may answer.
type Found<W> = (Record, Arc<Version<W>>);

impl<W: World> Deployment<W> {
    /// Puts into the slot what answered last, or else the last version that still may; where nothing has ever been
    /// pushed, what the configuration names, which is looked for only then.
    ///
    /// # Errors
    /// Why nothing answers.
    pub async fn start(self: &Arc<Self>, configured: impl Future<Output = Configured>) -> Result<(), String> {
        let started = self.restore(configured).await;
        *self.why_empty.lock().unwrap_or_else(PoisonError::into_inner) = started.as_ref().err().cloned();
        self.compile_later();
        self.catch_up().await;
        self.follow();
        self.watch();
        self.watch_folder();
        started
    }

    async fn restore(&self, configured: impl Future<Output = Configured>) -> Result<(), String> {
        let slot = self.slot.name();
        let book = self.vault.book(slot).unwrap_or_else(|error| {
            tracing::error!(slot = slot.as_str(), %error, "what answered last is not known");
            None
        });
        let mut book = book.unwrap_or_default();
        self.set_book(book.clone());
        self.reconcile(&book);
        book.end_drains();
        let line: Vec<VersionId> = book.active.iter().chain(book.before.iter().rev()).cloned().collect();
        let kept = book.clone();
        let mut configured = Some(configured);
        let (mut first, mut uncompiled) = (None, None);
        // The configuration's own stands at the end of the line, or it is all there is.
        for id in line.iter().map(Some).chain([None]) {
            let found = match id.and_then(|id| book.get(id)).cloned() {
                Some(record) if !record.configured => self.again(record).await.map_err(Unprepared::from),
                last => match configured.take() {
                    Some(configured) => self.configured(configured, &book, last).await,
                    None => continue,
                },
            };
            match found {
                Ok((record, version)) => {
                    match uncompiled.filter(|_| kept.active.as_ref() != Some(&record.id)) {
                        Some(reason) => self.stand_in(kept, record, version, reason).await,
                        None => {
                            let turn = self.turn().await;
                            self.settle(&turn, book, record, version, first.as_deref()).await;
                        }
                    }
                    return Ok(());
                }
                Err(Unprepared::Refused(reason)) => {
                    tracing::error!(
                        slot = slot.as_str(),
                        reason = one_line(&reason),
                        "the component may not answer"
                    );
                    if let Some(id) = id {
                        book.step(id, Stage::Refused, HOST, &reason);
                    }
                    first = first.or(Some(reason));
                }
                Err(Unprepared::Uncompiled(reason)) => {
                    tracing::error!(slot = slot.as_str(), reason, "the component is not compiled");
                    uncompiled.get_or_insert_with(|| reason.clone());
                    first = first.or(Some(reason));
                }
            }
        }
        if uncompiled.is_some() {
            self.slot.empty("its component was not compiled; the host's log and /health/ready say why");
            self.set_book(kept);
            return Err(first.unwrap_or_default());
        }
        self.slot.empty("its component was refused; the host's log and /health/ready say why");
        self.set_book(Book { active: None, candidate: None, ..book });
        Err(first.unwrap_or_default())
    }

    /// Has `version` answer while the one that should is not compiled. The record stays, so that a restart comes back to it.
    async fn stand_in(&self, mut book: Book, mut record: Record, version: Arc<Version<W>>, reason: String) {
        let id = record.id.clone();
        if book.get(&id).is_none() {
            record.step(Move::now(Stage::Trialled, HOST, "the component under other settings"));
            book.receive(record);
        }
        let candidate = self.candidate(&mut book).await;
        self.watch_candidate(candidate.as_ref(), &version);
        let slot = self.slot.name().as_str();
        tracing::error!(
            slot,
            version = id.as_str(),
            reason,
            "a version before answers until the one that should is compiled"
        );
        self.slot.serve(version, candidate, None);
        self.set_book(book);
        self.set_uncompiled(Some(Uncompiled { reason, instead: Some(id) }));
    }

    /// A pushed version, under the settings as they are now.
    pub(super) async fn again(&self, record: Record) -> Result<Found<W>, DeployError> {
        let version = self.revive(&record).await?;
        let mut now = Record::new(version.digest, record.bytes, &record.source, &self.slot.settings());
        now.signed_by.clone_from(&record.signed_by);
        now.signed_at = record.signed_at;
        now.configured = record.configured;
        if now.id == record.id {
            return Ok((record, version));
        }
        Ok((now, version))
    }

    /// The configuration's own: what its reference led to once, or what it is now. Where that cannot be had or may not
    /// answer, what it was when it answered last.
    async fn configured(
        &self,
        configured: impl Future<Output = Configured>,
        book: &Book,
        last: Option<Record>,
    ) -> Result<Found<W>, Unprepared> {
        if let Some(pinned) = self.pinned(book).await {
            return Ok(self.again(Record { configured: true, ..pinned }).await?);
        }
        let error = match self.load_configured(configured).await {
            Ok(found) => return Ok(found),
            Err(error) => error,
        };
        let Some(last) = last else { return Err(error) };
        let (slot, version) = (self.slot.name().as_str(), last.id.to_string());
        let found = match self.again(last).await {
            Ok(found) => found,
            Err(last @ DeployError::Uncompiled { .. }) => return Err(last.into()),
            Err(_) => return Err(error),
        };
        let reason = error.to_string();
        tracing::error!(
            slot,
            version,
            reason = one_line(&reason),
            "the configured component cannot be had or may not answer; the one that answered last goes on"
        );
        match error {
            Unprepared::Uncompiled(reason) => {
                self.set_uncompiled(Some(Uncompiled { reason, instead: None }));
            }
            Unprepared::Refused(_) if matches!(self.slot.settings().component, ComponentSource::File(_)) => {
                self.set_file_fault(Some(format!("{}; what answered last goes on", one_line(&reason))));
            }
            Unprepared::Refused(_) => {}
        }
        Ok(found)
    }

    /// Loads what the configuration names now.
    pub(super) async fn load_configured(
        &self,
        configured: impl Future<Output = Configured>,
    ) -> Result<Found<W>, Unprepared> {
        let named = configured.await?;
        let (wasm, source, proof) = named.clone();
        let settings = self.slot.settings();
        let identified = self.identify(wasm, &source, proof, &settings).await;
        let Identified { mut record, signer, blob } = identified.map_err(|error| error.to_string())?;
        let is_file = matches!(settings.component, ComponentSource::File(_));
        let of_file = |reason| if is_file { format!("{source}: {reason}") } else { reason };
        signer.map_err(of_file)?;
        record.configured = true;
        let prepared = self.prepare(Arc::clone(&blob.wasm), &source, settings, |_| {}).await;
        if !matches!(prepared, Err(Unprepared::Refused(_))) {
            *self.unkept.lock().unwrap_or_else(PoisonError::into_inner) = Some(blob);
        }
        let is_uncompiled = matches!(prepared, Err(Unprepared::Uncompiled(_)));
        self.set_uncompiled_configured(is_uncompiled.then_some(named));
        let version = prepared.map_err(|error| match error {
            Unprepared::Refused(reason) => Unprepared::Refused(of_file(reason)),
            uncompiled @ Unprepared::Uncompiled(_) => uncompiled,
        })?;
        Ok((record, version))
    }

    /// The version that the configuration's reference led to, where its component is here and may answer: a host starts
    /// without a network, and a tag does not move under it.
    async fn pinned(&self, book: &Book) -> Option<Record> {
        let settings = self.slot.settings();
        let ComponentSource::Registry(wanted) = &settings.component else { return None };
        let is_it =
            |record: &&Record| Reference::parse(&record.source).is_ok_and(|known| wanted.is_met_by(&known));
        let mut known: Vec<Record> = book.versions.iter().filter(is_it).cloned().collect();
        // What the configuration has led to before what somebody pushed by the same tag since.
        known.sort_by_key(|record| record.configured);
        for record in known.into_iter().rev() {
            if self.vouched(&record).await.is_ok() {
                return self.component(&record).await.ok().map(|_| record);
            }
        }
        None
    }

    /// Has `record` answer, and the candidate that there was. The book changes on disk only if something else answers
    /// than what it says.
    pub(super) async fn settle(
        &self,
        turn: &MutexGuard<'_, ()>,
        book: Book,
        record: Record,
        version: Arc<Version<W>>,
        failed: Option<&str>,
    ) {
        let (kept, id) = (book.clone(), record.id.clone());
        let mut book = book;
        // The configuration's own may go back: whoever writes there decides what is new.
        book.newest_signature = book.newest_signature.max(record.signed_at.unwrap_or(0));
        if book.active.as_ref() != Some(&id) {
            let reason = match failed {
                Some(_) => "the version that answered last does not start",
                None if record.configured => "the configuration names it",
                None => "the slot's settings have changed",
            };
            activate(&mut book, record.clone(), reason);
        }
        let candidate = self.candidate(&mut book).await;
        self.watch_candidate(candidate.as_ref(), &version);
        let is_pulled = Reference::is_one(&record.source);
        // Hosts that share their state have it from the database.
        let is_file = self.shared.is_none()
            && record.configured
            && matches!(self.slot.settings().component, ComponentSource::File(_));
        let (slot, component, source) = (self.slot.name().as_str(), version.digest, record.source);
        tracing::info!(slot, version = record.id.as_str(), %component, source, "component active");
        self.slot.serve(version, candidate, None);
        // What came from a registry or a file must be here when that is not.
        let keeps = kept.active.is_some() || is_pulled || is_file;
        let is_first = kept.active.is_none() && !is_pulled;
        let changed = keeps && kept != book;
        self.set_book(Book { generation: kept.generation, edition: kept.edition, ..kept });
        if !changed {
            self.set_book(book);
            return;
        }
        if self.shared.is_none() && !is_first {
            // Where hosts share one, the generation is that of what all should have. A file that is there from the start
            // is no change.
            book.generation += 1;
        }
        let after = book.clone();
        if let Err(error) = self.commit_in_memory(turn, Reach::Here, |kept| *kept = after, || {}).await {
            tracing::warn!(slot, %error, "what answers now is not kept");
        }
    }

    /// Watches a candidate in canary beside `active`.
    pub(super) fn watch_candidate(
        &self,
        candidate: Option<&(Arc<Version<W>>, Trial)>,
        active: &Arc<Version<W>>,
    ) {
        if let Some((candidate, Trial::Canary(_))) = candidate {
            let watched = Watched::candidate(candidate, active);
            *self.watched.lock().unwrap_or_else(PoisonError::into_inner) = Some(watched);
        }
    }

    /// The candidate that there was; given up when it may not answer any more.
    async fn candidate(&self, book: &mut Book) -> Option<(Arc<Version<W>>, Trial)> {
        let candidate = book.candidate.take()?;
        if book.active.as_ref() == Some(&candidate.version) {
            // The configuration has come to name it.
            return None;
        }
        let record = book.get(&candidate.version)?.clone();
        let trial = candidate.trial().ok_or_else(|| "its weight is no percentage".to_owned());
        let revived = match self.revive(&record).await {
            Err(DeployError::Uncompiled { reason, .. }) => {
                let slot = self.slot.name().as_str();
                tracing::error!(slot, reason, "the candidate is not compiled; it is tried again");
                self.set_uncompiled_candidate(candidate.version.clone(), reason);
                book.candidate = Some(candidate);
                return None;
            }
            revived => revived.map_err(|error| error.to_string()),
        };
        match revived.and_then(|version| Ok((version, trial?))) {
            Ok(revived) => {
                book.candidate = Some(candidate);
                Some(revived)
            }
            Err(reason) => {
                let (slot, reason_line) = (self.slot.name().as_str(), one_line(&reason));
                tracing::error!(slot, reason = reason_line, "the candidate may not answer");
                book.step(&candidate.version, Stage::Refused, HOST, &reason);
                None
            }
        }
    }

    /// A host that was killed between the audit log and the book has logged a move that it did not make: the log
    /// says so, and which change stands.
    fn reconcile(&self, book: &Book) {
        let slot = self.slot.name();
        let last = self.vault.audit(Some(slot), 1).ok().and_then(|entries| entries.into_iter().next());
        let Some(last) = last.filter(|last| last.generation > book.generation) else { return };
        let reason = format!(
            "generation {} ({}: version {}) was logged and not reached, for the host ended before it was written; \
             generation {} stands",
            last.generation,
            last.stage.as_str(),
            last.version,
            book.generation
        );
        tracing::error!(
            slot = slot.as_str(),
            reason,
            "a change was not written before the host ended; it is undone"
        );
        let stands = book.latest();
        let Move { stage, at, actor, reason } =
            Move::now(stands.map_or(Stage::Retired, Record::stage), HOST, &reason);
        let entry = Entry {
            at,
            slot: slot.as_str().to_owned(),
            generation: book.generation,
            version: stands.map_or(last.version, |record| record.id.clone()),
            component: stands.map_or(last.component, |record| record.component.clone()),
            stage,
            actor,
            reason,
        };
        if let Err(error) = self.vault.note(slot, entry) {
            tracing::warn!(slot = slot.as_str(), %error, "the audit log cannot be written");
        }
    }
}

/// Writes into the book that a version answers instead of the one that did. What it goes back to is what stood before it.
pub(super) fn activate(book: &mut Book, mut record: Record, reason: &str) {
    let id = record.id.clone();
    record.step(Move::now(Stage::Active, HOST, reason));
    let is_active = |last: &VersionId| book.get(last).is_some_and(|last| last.stage() == Stage::Active);
    if let Some(last) = book.active.clone().filter(is_active) {
        book.step(&last, Stage::Retired, HOST, reason);
    }
    book.receive(record);
    if let Some(at) = book.before.iter().position(|before| *before == id) {
        book.before.truncate(at);
    }
    book.active = Some(id);
}
