use std::sync::{Arc, PoisonError};

use super::{
    Book, DeployError, Deployment, Entry, HOST, Move, Proof, Record, Stage, VersionId, changes::Reach,
    vault::Blob, watch::Watched,
};
use crate::{
    config::{registries::Reference, slots::ComponentSource},
    slots::{Trial, Version, World},
    telemetry::one_line,
};

/// The component that the configuration names, where it comes from, and what speaks for it; or why it cannot be had.
pub type Configured = Result<(Arc<[u8]>, String, Proof), String>;

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
        let mut configured = Some(configured);
        let mut first = None;
        // The configuration's own stands at the end of the line, or it is all there is.
        for id in line.iter().map(Some).chain([None]) {
            let found = match id.and_then(|id| book.get(id)).cloned() {
                Some(record) if !record.configured => {
                    self.again(record).await.map_err(|error| error.to_string())
                }
                last => match configured.take() {
                    Some(configured) => self.configured(configured, &book, last).await,
                    None => continue,
                },
            };
            match found {
                Ok((record, version)) => {
                    self.settle(book, record, version, first.as_deref()).await;
                    return Ok(());
                }
                Err(reason) => {
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
            }
        }
        self.slot.empty("its component was refused; the host's log and /health/ready say why");
        self.set_book(Book { active: None, candidate: None, ..book });
        Err(first.unwrap_or_default())
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
    ) -> Result<Found<W>, String> {
        if let Some(pinned) = self.pinned(book).await {
            let found = self.again(Record { configured: true, ..pinned }).await;
            return found.map_err(|error| error.to_string());
        }
        let reason = match self.load_configured(configured).await {
            Ok(found) => return Ok(found),
            Err(reason) => reason,
        };
        let Some(last) = last else { return Err(reason) };
        let (slot, version) = (self.slot.name().as_str(), last.id.to_string());
        let found = self.again(last).await.map_err(|_| reason.clone())?;
        tracing::error!(
            slot,
            version,
            reason = one_line(&reason),
            "the configured component cannot be had or may not answer; the one that answered last goes on"
        );
        if matches!(self.slot.settings().component, ComponentSource::File(_)) {
            self.set_file_fault(Some(format!("{}; what answered last goes on", one_line(&reason))));
        }
        Ok(found)
    }

    /// Loads what the configuration names now.
    async fn load_configured(
        &self,
        configured: impl Future<Output = Configured>,
    ) -> Result<Found<W>, String> {
        let (wasm, source, proof) = configured.await?;
        let signature = match &proof {
            Proof::Signature(text) => Some(text.clone()),
            Proof::BuiltIn | Proof::None => None,
        };
        let identified = self.identify(Arc::clone(&wasm), &source, proof).await;
        let (mut record, signer) = identified.map_err(|error| error.to_string())?;
        let is_file = matches!(self.slot.settings().component, ComponentSource::File(_));
        let named = |reason| if is_file { format!("{source}: {reason}") } else { reason };
        signer.map_err(named)?;
        record.configured = true;
        let prepared = self.prepare(Arc::clone(&wasm), &source, self.slot.settings(), |_| {}).await;
        let version = prepared.map_err(named)?;
        let unkept = Blob { component: record.component.clone(), wasm, signature };
        *self.unkept.lock().unwrap_or_else(PoisonError::into_inner) = Some(unkept);
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
    async fn settle(&self, book: Book, record: Record, version: Arc<Version<W>>, failed: Option<&str>) {
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
            let mut record = record.clone();
            record.step(Move::now(Stage::Active, HOST, reason));
            if let Some(last) = book
                .active
                .take()
                .filter(|last| book.get(last).is_some_and(|last| last.stage() == Stage::Active))
            {
                book.step(&last, Stage::Retired, HOST, reason);
            }
            book.receive(record);
            if let Some(at) = book.before.iter().position(|before| *before == id) {
                book.before.truncate(at);
            }
            book.active = Some(id);
        }
        let candidate = self.candidate(&mut book).await;
        if let Some((candidate, Trial::Canary(_))) = &candidate {
            let watched = Watched::candidate(candidate, &version);
            *self.watched.lock().unwrap_or_else(PoisonError::into_inner) = Some(watched);
        }
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
        let turn = self.turn().await;
        if self.shared.is_none() && !is_first {
            // Where hosts share one, the generation is that of what all should have. A file that is there from the start
            // is no change.
            book.generation += 1;
        }
        let after = book.clone();
        if let Err(error) = self.commit_in_memory(&turn, Reach::Here, |kept| *kept = after, || {}).await {
            tracing::warn!(slot, %error, "what answers now is not kept");
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
        let revived = self.revive(&record).await.map_err(|error| error.to_string());
        match revived
            .and_then(|version| Ok((version, candidate.trial().ok_or("its weight is no percentage")?)))
        {
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
    /// says so.
    fn reconcile(&self, book: &Book) {
        let slot = self.slot.name();
        let last = self.vault.audit(Some(slot), 1).ok().and_then(|entries| entries.into_iter().next());
        let Some(last) = last.filter(|last| last.generation > book.generation) else { return };
        let reason = format!(
            "generation {} was logged and not reached, for the host ended; generation {} stands",
            last.generation, book.generation
        );
        tracing::error!(
            slot = slot.as_str(),
            reason,
            "a change was not written before the host ended; it is undone"
        );
        let stands = book.active();
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
