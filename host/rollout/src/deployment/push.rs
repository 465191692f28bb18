//! Pushes: a component is received, checked and tried.

use std::sync::Arc;

use bulkhead_config::{registries::Reference, slots::ComponentSource};
use bulkhead_runtime::background;
use bulkhead_runtime::slots::World;

use super::{
    Deployment,
    commit::{ATTEMPTS, ChangeScope},
    prepare::IdentifiedComponent,
};
use crate::{
    AuditEntry, DeployError, EMBEDDED, Move, Proof, Pushed, SlotState, Stage, VersionRecord, signature,
    state::Blob,
};

impl<W: World> Deployment<W> {
    /// Ingests a component up to its self-test and reports each stage. The active version and the candidate are not
    /// tried again; a signature older than one that the slot has accepted is rejected.
    pub(super) async fn ingest(
        &self,
        wasm: Arc<[u8]>,
        source: &str,
        proof: Proof,
        actor: &str,
        report: &(dyn Fn(Stage) + Send + Sync),
    ) -> Result<Pushed, DeployError> {
        self.check_not_removed()?;
        self.refresh().await?;
        let is_built_in = proof == Proof::BuiltIn;
        let IdentifiedComponent { mut record, signer, blob } =
            self.identify(Arc::clone(&wasm), source, proof, &self.slot.settings()).await?;
        record.configured = is_built_in && self.slot.settings().component == ComponentSource::Embedded;
        let (id, signed_at) = (record.id.clone(), record.signed_at);
        let signer =
            signer.and_then(|()| signature::check_not_older(signed_at, self.state().newest_signature));
        if self.state().answers(&id) {
            if let (Some(_), Err(reason)) = (&blob.signature, signer) {
                return Err(self.refuse_known(&record, actor, reason).await);
            }
            return self.keep_known(record, blob).await;
        }
        if let Err(reason) = &signer
            && self.state().get(&id).is_some_and(VersionRecord::is_tried)
        {
            // Otherwise a push with a bad signature would remove an old version from the history.
            return Err(self.refuse_known(&record, actor, reason.clone()).await);
        }
        let reason =
            if Reference::is_reference(source) { format!("pulled from {source}") } else { String::new() };
        record.step(Move::now(Stage::Received, actor, &reason));
        self.record(Some(blob), |state| state.receive(record.clone())).await?;
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
        let step = |state: &mut SlotState| {
            if tried.is_ok() {
                state.newest_signature = state.newest_signature.max(signed_at.unwrap_or(0));
            }
            if let Some(at) = state.versions.iter().position(|record| record.id == id) {
                let mut record = state.versions.remove(at);
                steps.iter().cloned().for_each(|step| record.step(step));
                // The version becomes the newest, which is never dropped.
                state.versions.push(record);
            }
        };
        self.record(None, step).await?;
        match tried {
            Ok(_) => Ok(Pushed { record: self.find_version(id.as_str())?, answering: false }),
            Err(error) => Err(error.into_deploy_error(&id)),
        }
    }

    /// Rejects a push of a known version, which stays unchanged; the audit log gets a line.
    async fn refuse_known(&self, record: &VersionRecord, actor: &str, reason: String) -> DeployError {
        let (slot, version) = (self.slot.name(), record.id.clone());
        tracing::warn!(
            slot = slot.as_str(),
            version = version.as_str(),
            actor,
            reason,
            "a push of a known version was refused"
        );
        let step = Move::now(Stage::Refused, actor, &reason);
        let entry = AuditEntry::new(slot, self.state().generation, record, &step);
        let store = Arc::clone(&self.store);
        if let Ok(Err(error)) = background::run(move || store.append_entry(slot, entry)).await {
            tracing::warn!(slot = slot.as_str(), %error, "the audit log has no line of a refused push");
        }
        DeployError::Refused { version, reason }
    }

    /// Accepts a push of the active version or the candidate: a valid signature is stored, nothing else changes.
    async fn keep_known(&self, record: VersionRecord, blob: Blob) -> Result<Pushed, DeployError> {
        let VersionRecord { id, signed_by, signed_at, .. } = record;
        if blob.signature.is_some() && signed_by.is_some() {
            let sign = |state: &mut SlotState| {
                state.newest_signature = state.newest_signature.max(signed_at.unwrap_or(0));
                if let Some(known) = state.versions.iter_mut().find(|known| known.id == id) {
                    known.signed_by.clone_from(&signed_by);
                    known.signed_at = signed_at;
                }
            };
            self.record(Some(blob), sign).await?;
        }
        let answering = self.state().is_serving(&id);
        Ok(Pushed { record: self.find_version(id.as_str())?, answering })
    }

    /// Returns the version that a name refers to. For [`EMBEDDED`] that is the remembered version of the built-in
    /// component, or a new one that has passed its self-test.
    pub(super) async fn resolve_name(&self, name: &str, actor: &str) -> Result<String, DeployError> {
        if name != EMBEDDED {
            return Ok(name.to_owned());
        }
        let wasm = self.built_in()?;
        let identified =
            self.identify(Arc::clone(&wasm), EMBEDDED, Proof::BuiltIn, &self.slot.settings()).await;
        let record = identified?.record;
        if self.state().get(&record.id).is_some_and(VersionRecord::is_tried) {
            return Ok(record.id.to_string());
        }
        let pushed = self.ingest(wasm, EMBEDDED, Proof::BuiltIn, actor, &|_| {}).await?;
        Ok(pushed.record.id.to_string())
    }

    /// Changes the state in cluster scope without a change of the versions that answer, and retries on conflicts.
    async fn record(&self, blob: Option<Blob>, change: impl Fn(&mut SlotState)) -> Result<(), DeployError> {
        let _staged = self.stage(blob.as_ref(), &self.state()).await;
        for _ in 0..ATTEMPTS {
            let guard = self.lock().await;
            match self.commit(&guard, blob.clone(), ChangeScope::Cluster, &change).await {
                Err(DeployError::ConcurrentChange) => drop(guard),
                recorded => return recorded,
            }
            self.refresh().await?;
        }
        Err(DeployError::ConcurrentChange)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::mpsc;

    use tempfile::TempDir;

    use super::*;
    use crate::{
        Deploy as _,
        tests::{EMPTY, deployment},
    };

    #[tokio::test]
    async fn pushed_component_is_written_outside_change_lock() {
        let folder = TempDir::new().unwrap();
        let deployment = deployment(folder.path(), "/nowhere".as_ref());
        let (report, writes) = mpsc::channel();
        let pushing = deployment.weak();
        deployment.store.check_writes(move |path| {
            let file = path.extension().unwrap().to_str().unwrap().to_owned();
            let is_free = pushing.upgrade().unwrap().change_lock.try_lock().is_ok();
            report.send((file, is_free)).unwrap();
            Ok(())
        });
        let (source, actor) = ("test".to_owned(), "ops".to_owned());
        let pushed = Arc::clone(&deployment).push(EMPTY.into(), source, Proof::None, actor, Arc::new(|_| {}));
        assert!(pushed.await.is_err(), "nothing compiles it");
        let writes: Vec<_> = writes.try_iter().collect();
        let record = [("jsonl".to_owned(), false), ("json".to_owned(), false)];
        let component = [("wasm".to_owned(), true)];
        assert_eq!(writes, [&component[..], &record, &record].concat(), "a rollback may come between");
        let versions = deployment.history();
        assert!(deployment.store.has_component(deployment.slot.name(), &versions.first().unwrap().component));
    }
}
