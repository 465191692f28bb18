//! Taking a component up to its trial.

use std::sync::Arc;

use super::{
    Book, DeployError, Deployment, Entry, Move, Proof, Pushed, Record, Stage, deployment::Identified,
    signature, vault::Blob,
};
use crate::{
    background,
    config::{registries::Reference, slots::ComponentSource},
    slots::World,
};

impl<W: World> Deployment<W> {
    /// Takes a component up to its trial and reports each stage. One that is active or the candidate is not taken again;
    /// one whose signature is older than one that the slot has taken is refused.
    pub(super) async fn take_up(
        &self,
        wasm: Arc<[u8]>,
        source: &str,
        proof: Proof,
        actor: &str,
        report: &(dyn Fn(Stage) + Send + Sync),
    ) -> Result<Pushed, DeployError> {
        self.refresh().await?;
        let is_built_in = proof == Proof::BuiltIn;
        let Identified { mut record, signer, blob } =
            self.identify(Arc::clone(&wasm), source, proof, &self.slot.settings()).await?;
        record.configured = is_built_in && self.slot.settings().component == ComponentSource::Embedded;
        let (id, signed_at) = (record.id.clone(), record.signed_at);
        let signer = signer.and_then(|()| signature::fresh(signed_at, self.book().newest_signature));
        if self.book().answers(&id) {
            if let (Some(_), Err(reason)) = (&blob.signature, signer) {
                return Err(self.refuse_known(&record, actor, reason).await);
            }
            return self.known_already(record, blob).await;
        }
        if let Err(reason) = &signer
            && self.book().get(&id).is_some_and(Record::is_tried)
        {
            // Else a push of an old version with a bad signature takes it from those that can be gone back to.
            return Err(self.refuse_known(&record, actor, reason.clone()).await);
        }
        let reason = if Reference::is_one(source) { format!("pulled from {source}") } else { String::new() };
        record.step(Move::now(Stage::Received, actor, &reason));
        self.record(Some(blob), |book| book.receive(record.clone())).await?;
        report(Stage::Received);

        let mut steps = Vec::new();
        let tried = match signer {
            Ok(()) => {
                self.prepare(wasm, source, self.slot.settings(), |stage| {
                    report(stage);
                    steps.push(Move::now(stage, actor, ""));
                })
                .await
            }
            Err(reason) => Err(reason.into()),
        };
        if let Err(error) = &tried {
            report(Stage::Refused);
            steps.push(Move::now(Stage::Refused, actor, &error.to_string()));
        }
        let step = |book: &mut Book| {
            if tried.is_ok() {
                book.newest_signature = book.newest_signature.max(signed_at.unwrap_or(0));
            }
            if let Some(at) = book.versions.iter().position(|record| record.id == id) {
                let mut record = book.versions.remove(at);
                steps.iter().cloned().for_each(|step| record.step(step));
                // It has come last, whatever came while it was tried: the newest is not forgotten.
                book.versions.push(record);
            }
        };
        self.record(None, step).await?;
        match tried {
            Ok(_) => Ok(Pushed { record: self.known(id.as_str())?, answering: false }),
            Err(error) => Err(error.of(&id)),
        }
    }

    /// Refuses a push of a version that is known, which stays as it is; the audit log has a line of it.
    async fn refuse_known(&self, record: &Record, actor: &str, reason: String) -> DeployError {
        let (slot, version) = (self.slot.name(), record.id.clone());
        tracing::warn!(
            slot = slot.as_str(),
            version = version.as_str(),
            actor,
            reason,
            "a push of a known version was refused"
        );
        let step = Move::now(Stage::Refused, actor, &reason);
        let entry = Entry::new(slot, self.book().generation, record, &step);
        let vault = Arc::clone(&self.vault);
        if let Ok(Err(error)) = background::run(move || vault.note(slot, entry)).await {
            tracing::warn!(slot = slot.as_str(), %error, "the audit log has no line of a refused push");
        }
        DeployError::Refused { version, reason }
    }

    /// What comes of a push of a version that is active or the candidate: a good signature is kept, nothing else changes.
    async fn known_already(&self, record: Record, blob: Blob) -> Result<Pushed, DeployError> {
        let Record { id, signed_by, signed_at, .. } = record;
        if blob.signature.is_some() && signed_by.is_some() {
            let sign = |book: &mut Book| {
                book.newest_signature = book.newest_signature.max(signed_at.unwrap_or(0));
                if let Some(known) = book.versions.iter_mut().find(|known| known.id == id) {
                    known.signed_by.clone_from(&signed_by);
                    known.signed_at = signed_at;
                }
            };
            self.record(Some(blob), sign).await?;
        }
        let answering = self.book().is_serving(&id);
        Ok(Pushed { record: self.known(id.as_str())?, answering })
    }
}
