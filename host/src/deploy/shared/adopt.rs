use std::sync::{Arc, PoisonError};

use super::Shared;
use crate::{
    background,
    compile::ComponentDigest,
    deploy::{
        Book, Candidate, DeployError, Deployment, Proof, Record, VersionId,
        changes::{Next, Reach},
        signature,
        vault::Blob,
    },
    slots::{Trial, Version, World},
    telemetry::one_line,
};

/// A version that answers, and its record.
type Answering<W> = (Record, Arc<Version<W>>);

impl<W: World> Deployment<W> {
    /// Has the versions answer that the shared book names, as far as they may answer here, and takes the book.
    pub(super) async fn adopt(&self, shared: &Arc<Shared>, desired: Book) -> Result<(), DeployError> {
        let (slot, before) = (self.slot.name(), self.book());
        let old = self.answering(&before);
        let rules = self.slot.settings().signatures.clone();
        let (mut refusals, generation) = (Vec::new(), desired.generation);
        let prepared = async {
            let active = self.desired_active(&desired, &before, &old, &mut refusals).await?;
            let candidate = match &active {
                Some(_) => self.desired_candidate(&desired, &before, &old, &mut refusals).await?,
                None => None,
            };
            Ok::<_, DeployError>((active, candidate))
        };
        let (active, candidate) = tokio::select! {
            prepared = prepared => prepared?,
            // A rollback on another host waits for no compilation of what it takes back; the next look brings it.
            () = shared.is_overtaken(slot, desired.stamp.as_deref()) => return Ok(()),
        };
        // What the configuration of this host names may be what the others try.
        let is_other = |((tried, _), _): &(Answering<W>, Trial)| {
            active.as_ref().is_none_or(|(active, _)| active.id != tried.id)
        };
        let candidate = candidate.filter(is_other);
        let turn = self.turn().await;
        let now = self.book();
        if now.stamp != before.stamp || !now.answers_as(&before) || rules != self.slot.settings().signatures {
            // Changed here meanwhile; the next look sees what is to be done.
            return Ok(());
        }
        let mut after = settled(desired, &now, &old, &active, &candidate);
        if refusals.is_empty() {
            // What answers is not what a rollback goes back to, unless that is not what all should have.
            let active = after.active.clone();
            after.before.retain(|id| Some(id) != active.as_ref());
        }
        let write = |book: &mut Book| {
            let edition = book.edition;
            *book = Book { edition, ..after };
        };
        let mut is_switched = false;
        // A rollback that another host has made does not wait for this one's disk either.
        let is_back = |(record, _): &Answering<W>| now.before.last() == Some(&record.id);
        let kept = if active.as_ref().is_some_and(is_back) {
            let follow = || is_switched = self.follow_up(active, candidate, old);
            self.commit_rollback(&turn, Reach::Here, write, follow).await
        } else {
            let kept = self.commit(&turn, None, Reach::Here, write).await;
            if kept.is_ok() {
                is_switched = self.follow_up(active, candidate, old);
            }
            kept
        };
        self.fetched.lock().unwrap_or_else(PoisonError::into_inner).clear();
        kept?;
        drop(turn);
        let reason = refusals.join("; ");
        {
            let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
            standing.read = true;
            standing.incomplete = true;
            match reason.is_empty() {
                true => standing.follows(),
                false => standing.falls_behind(before.generation, reason.clone(), shared.poll),
            }
        }
        if reason.is_empty() {
            tracing::info!(
                slot = slot.as_str(),
                generation,
                is_switched,
                "the hosts' shared state is followed"
            );
        } else {
            tracing::error!(
                slot = slot.as_str(),
                generation,
                reason = one_line(&reason),
                "the version that all hosts should have may not answer here"
            );
        }
        shared.metrics.sharing.follow(slot.as_str(), if reason.is_empty() { "applied" } else { "refused" });
        self.complete(shared).await
    }

    /// What answers from now on: the desired version, or else the one that does.
    async fn desired_active(
        &self,
        desired: &Book,
        before: &Book,
        old: &[(VersionId, Arc<Version<W>>)],
        refusals: &mut Vec<String>,
    ) -> Result<Option<Answering<W>>, DeployError> {
        let own = before.active().and_then(|record| {
            let version = old.iter().find(|(id, _)| *id == record.id)?;
            Some((record.clone(), Arc::clone(&version.1)))
        });
        let Some(record) = desired.active() else { return Ok(own) };
        if let Some(own) = own.clone().filter(|(own, _)| own.configured && record.configured) {
            // What the configuration names is each host's own.
            return Ok(Some(own));
        }
        match self.obtain(record, before, old).await {
            Ok(answering) => Ok(Some(answering)),
            Err(DeployError::StateUnreachable(reason)) => Err(DeployError::StateUnreachable(reason)),
            Err(error) => {
                refusals.push(format!("version {}: {error}", record.id));
                Ok(own)
            }
        }
    }

    async fn desired_candidate(
        &self,
        desired: &Book,
        before: &Book,
        old: &[(VersionId, Arc<Version<W>>)],
        refusals: &mut Vec<String>,
    ) -> Result<Option<(Answering<W>, Trial)>, DeployError> {
        let Some(candidate) = &desired.candidate else { return Ok(None) };
        let Some((record, trial)) = desired.get(&candidate.version).zip(candidate.trial()) else {
            return Ok(None);
        };
        match self.obtain(record, before, old).await {
            Ok(answering) => Ok(Some((answering, trial))),
            Err(DeployError::StateUnreachable(reason)) => Err(DeployError::StateUnreachable(reason)),
            Err(error) => {
                refusals.push(format!("candidate {}: {error}", record.id));
                Ok(None)
            }
        }
    }

    /// A version that answers already, or one made ready to.
    async fn obtain(
        &self,
        record: &Record,
        before: &Book,
        old: &[(VersionId, Arc<Version<W>>)],
    ) -> Result<Answering<W>, DeployError> {
        let is_same = |(id, version): &&(VersionId, Arc<Version<W>>)| {
            *id == record.id || version.digest.to_string() == record.component
        };
        match old.iter().find(|(id, _)| *id == record.id).or_else(|| old.iter().find(is_same)) {
            Some((id, version)) if *id == record.id => Ok((record.clone(), Arc::clone(version))),
            Some((id, version)) => Ok((before.get(id).unwrap_or(record).clone(), Arc::clone(version))),
            None => match self.held(&record.id) {
                Some(version) => Ok((record.clone(), version)),
                None => self.again(record.clone()).await,
            },
        }
    }

    /// Has them answer; whether that changes anything.
    fn follow_up(
        &self,
        active: Option<Answering<W>>,
        candidate: Option<(Answering<W>, Trial)>,
        old: Vec<(VersionId, Arc<Version<W>>)>,
    ) -> bool {
        let Some((record, version)) = active else { return false };
        let is_same = self.slot.active().is_ok_and(|active| Arc::ptr_eq(&active, &version))
            && match (&candidate, self.slot.candidate()) {
                (Some(((_, new), trial)), Some((old, is))) => Arc::ptr_eq(new, &old) && *trial == is,
                (None, None) => true,
                _ => false,
            };
        if !is_same {
            let candidate = candidate.map(|((record, version), trial)| (record.id, version, trial));
            self.install(Next { active: (record.id, version), candidate }, old);
        }
        !is_same
    }

    /// A component from the hosts' database, if what speaks for it is good here.
    pub(in crate::deploy) async fn fetch(
        &self,
        shared: &Shared,
        record: &Record,
    ) -> Result<Blob, DeployError> {
        let (slot, cap) = (self.slot.name(), self.slot.yard.sandbox.component_bytes);
        let blob = match shared.depot.component(slot, &record.component, cap).await {
            Err(error @ super::DepotError::Absent(_)) => {
                let reason = error.to_string();
                return Err(DeployError::Refused { version: record.id.clone(), reason });
            }
            blob => blob?,
        };
        let (signatures, looked) = (self.slot.settings().signatures.clone(), blob.clone());
        let vault = Arc::clone(&self.vault);
        let look = move || {
            let digest = ComponentDigest::of(&looked.wasm);
            if digest.to_string() != looked.component {
                return Err(
                    "its bytes in the hosts' database are not those of its digest; push it again".to_owned()
                );
            }
            let proof = looked.signature.map_or(Proof::None, Proof::Signature);
            let proof = proof.or_built_in(&vault, slot, digest);
            signature::signer(&signatures, &looked.wasm, &proof).map(drop)
        };
        let looked = background::run(look).await.map_err(|_| DeployError::Stopping)?;
        looked.map_err(|reason| DeployError::Refused { version: record.id.clone(), reason })?;
        Ok(blob)
    }

    /// Takes every component that the book names into the vault, one at a time, so that this host can go back to each by
    /// itself.
    pub(super) async fn complete(&self, shared: &Shared) -> Result<(), DeployError> {
        let (slot, book) = (self.slot.name(), self.book());
        for record in book.versions.iter().filter(|record| !self.vault.has(slot, &record.component)) {
            match self.fetch(shared, record).await {
                Ok(blob) => {
                    let vault = Arc::clone(&self.vault);
                    let add = move || vault.add(slot, &blob);
                    background::run(add).await.map_err(|_| DeployError::Stopping)??;
                }
                // It may not answer here, or was never there: nothing that another try would change.
                Err(DeployError::Refused { version, reason }) => {
                    tracing::debug!(slot = slot.as_str(), version = version.as_str(), reason, "not taken");
                }
                Err(error) => return Err(error),
            }
        }
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).incomplete = false;
        Ok(())
    }
}

/// The desired book as it is on this host: with what answers here, and with the ends of calls here.
fn settled<W: World>(
    desired: Book,
    own: &Book,
    old: &[(VersionId, Arc<Version<W>>)],
    active: &Option<Answering<W>>,
    candidate: &Option<(Answering<W>, Trial)>,
) -> Book {
    let mut book = desired;
    let running: Vec<&VersionId> = old.iter().map(|(id, _)| id).collect();
    book.end_elsewhere(own, &running);
    book.newest_signature = book.newest_signature.max(own.newest_signature);
    book.active = active.as_ref().map(|(record, _)| record.id.clone());
    book.candidate = candidate.as_ref().map(|((record, _), trial)| Candidate::new(record.id.clone(), *trial));
    let answering = active.iter().map(|(record, _)| record);
    for record in answering.chain(candidate.iter().map(|((record, _), _)| record)) {
        if book.get(&record.id).is_none() {
            book.versions.push(record.clone());
        }
    }
    book
}
