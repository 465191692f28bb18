//! Tests of the retries that compile versions after a start.

#![allow(clippy::unwrap_used)]

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use bulkhead_config::slots::SlotId;
use bulkhead_runtime::compile::ComponentDigest;
use bulkhead_runtime::slots::{Trial, Weight};
use tempfile::TempDir;

use super::*;
use crate::{
    AuditEntry, Candidate, Change, Expected, Move, Proof, VersionId, VersionRecord,
    state::Blob,
    tests::{Bare, EMPTY, deployment, settings},
};

/// Reached only by a failing test.
const PATIENCE: Duration = Duration::from_secs(60);
const SLOT: SlotId = SlotId::new("captcha");

/// Returns a component whose size depends on `number`.
fn component(number: usize) -> Arc<[u8]> {
    let length = u8::try_from(number).unwrap();
    [EMPTY, &[0, length + 1, length], &vec![b'n'; number]].concat().into()
}

fn record(wasm: &[u8]) -> VersionRecord {
    let mut record = VersionRecord::new(ComponentDigest::of(wasm), wasm.len(), "test", &settings());
    record.step(Move::now(Stage::Trialled, "ops", ""));
    record
}

/// A slot whose compiling process fails for every component until code is provided.
struct TestSlot {
    folder: TempDir,
    deployment: Arc<Deployment<Bare>>,
}

impl TestSlot {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let program = folder.path().join("compile");
        // The last argument is the component's size. Exit code 1 would blame the component itself.
        let script = format!(
            "#!/bin/sh\nfor last; do :; done\n/bin/cat {}/$last.code || exit 3\n",
            folder.path().display()
        );
        executable(&program, &script);
        let deployment = deployment(folder.path(), &program);
        Self { folder, deployment }
    }

    fn put_code(&self, wasm: &[u8], code: &[u8]) {
        let (draft, name) = (self.folder.path().join("draft"), format!("{}.code", wasm.len()));
        fs::write(&draft, code).unwrap();
        fs::rename(draft, self.folder.path().join(name)).unwrap();
    }

    /// Lets a component compile from now on.
    fn let_compile(&self, wasm: &[u8]) {
        let engine = self.deployment.slot.context.engine.wasmtime();
        self.put_code(wasm, &engine.precompile_component(EMPTY).unwrap());
    }

    /// Starts the slot with a state of these components, whose roles `arrange` sets.
    async fn start(&self, components: &[Arc<[u8]>], arrange: impl FnOnce(&mut SlotState, &[VersionId])) {
        let mut state = SlotState { revision: 1, ..SlotState::default() };
        let blob = |wasm: &Arc<[u8]>| {
            let component = ComponentDigest::of(wasm).to_string();
            Blob { component, wasm: Arc::clone(wasm), signature: None }
        };
        components.iter().for_each(|wasm| state.receive(record(wasm)));
        let ids: Vec<VersionId> = state.versions.iter().map(|record| record.id.clone()).collect();
        arrange(&mut state, &ids);
        let blobs: Vec<Blob> = components.iter().map(blob).collect();
        self.deployment.store.save(SLOT, 0, &state, &blobs).unwrap();
        let _ = self.deployment.start(async { Err("nothing is configured".to_owned()) }).await;
    }

    /// Waits until a condition holds.
    async fn eventually(&self, is_so: impl Fn(&Deployment<Bare>) -> bool) {
        let wait = async {
            while !is_so(&self.deployment) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.unwrap();
    }

    fn answering(&self) -> Option<String> {
        self.deployment.slot.active().ok().map(|version| version.id.to_string())
    }
}

/// Writes a script that can be run at once, because no child of another test has it open.
fn executable(path: &Path, script: &str) {
    let draft = path.with_extension("draft");
    fs::write(&draft, script).unwrap();
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(Command::new("/bin/cp").arg("-p").args([&draft, path]).status().unwrap().success());
}

#[tokio::test]
async fn active_version_answers_once_compiled() {
    let (host, wasm) = (TestSlot::new(), component(1));
    host.start(&[Arc::clone(&wasm)], |state, ids| state.active = ids.first().cloned()).await;
    assert_eq!(host.answering(), None);
    host.let_compile(&wasm);
    host.eventually(|deployment| deployment.slot.active().is_ok()).await;
    assert_eq!(host.answering(), Some(record(&wasm).id.to_string()));
    host.eventually(|deployment| deployment.empty_reason.lock().unwrap().is_none()).await;
}

#[tokio::test]
async fn substitute_answers_until_active_version_compiles() {
    let (host, old, new) = (TestSlot::new(), component(1), component(2));
    host.let_compile(&old);
    let arrange = |state: &mut SlotState, ids: &[VersionId]| {
        (state.previous, state.active) = (ids.first().cloned().into_iter().collect(), ids.last().cloned());
    };
    host.start(&[Arc::clone(&old), Arc::clone(&new)], arrange).await;
    assert_eq!(host.answering(), Some(record(&old).id.to_string()));
    assert!(
        host.deployment.uncompiled_reason().unwrap().contains("answers until the active one is compiled")
    );
    host.let_compile(&new);
    host.eventually(|deployment| deployment.uncompiled_reason().is_none()).await;
    assert_eq!(host.answering(), Some(record(&new).id.to_string()));
}

/// Returns a slot without a state whose configured component was not compiled.
async fn without_record() -> (TestSlot, Arc<[u8]>) {
    let (host, wasm) = (TestSlot::new(), component(1));
    let named = (Arc::clone(&wasm), "test".to_owned(), Proof::None);
    host.deployment.start(async { Ok(named) }).await.unwrap_err();
    assert_eq!((host.answering(), host.deployment.state().active.clone()), (None, None));
    (host, wasm)
}

#[tokio::test]
async fn configured_component_answers_once_compiled() {
    let (host, wasm) = without_record().await;
    host.let_compile(&wasm);
    host.eventually(|deployment| deployment.empty_reason.lock().unwrap().is_none()).await;
    assert_eq!(host.answering(), Some(record(&wasm).id.to_string()));
    let state = host.deployment.state();
    let active = state.active().unwrap();
    assert_eq!((active.configured, active.stage(), state.generation), (true, Stage::Active, 0));
}

#[tokio::test]
async fn refused_configured_component_leaves_slot_empty() {
    let (host, wasm) = without_record().await;
    host.put_code(&wasm, b"no machine code");
    host.eventually(|deployment| deployment.uncompiled_configured.lock().unwrap().is_none()).await;
    assert_eq!(host.answering(), None);
    assert!(host.deployment.empty_reason.lock().unwrap().is_some());
}

#[tokio::test]
async fn version_swapped_in_meanwhile_stays() {
    let (host, wasm) = without_record().await;
    let pushed = component(2);
    host.let_compile(&pushed);
    let taken = host.deployment.ingest(Arc::clone(&pushed), "test", Proof::None, "ops", &|_| {}).await;
    let (id, generation) = (taken.unwrap().record.id, host.deployment.state().generation);
    let expected = Expected { generation, actor: "ops".to_owned(), reason: String::new() };
    host.deployment.apply(&Change::Swap(id.to_string()), &expected).await.unwrap();
    host.let_compile(&wasm);
    host.eventually(|deployment| deployment.uncompiled_configured.lock().unwrap().is_none()).await;
    assert_eq!(host.answering(), Some(id.to_string()));
}

/// Returns a slot whose candidate, the second component, was not compiled at the start.
async fn without_candidate() -> (TestSlot, Arc<[u8]>, VersionId) {
    let (host, active, wasm) = (TestSlot::new(), component(1), component(2));
    host.let_compile(&active);
    let id = record(&wasm).id;
    let trial = Trial::Canary(Weight::new(10).unwrap());
    let candidate = Candidate::new(id.clone(), trial);
    let arrange = |state: &mut SlotState, ids: &[VersionId]| {
        (state.active, state.candidate) = (ids.first().cloned(), Some(candidate));
    };
    host.start(&[active, Arc::clone(&wasm)], arrange).await;
    assert!(host.deployment.slot.candidate().is_none() && host.deployment.slot.active().is_ok());
    let reason = host.deployment.uncompiled_reason().unwrap();
    assert!(reason.contains(&format!("candidate {id} gets no call until it is compiled")), "{reason}");
    (host, wasm, id)
}

#[tokio::test]
async fn candidate_is_tried_once_compiled() {
    let (host, wasm, id) = without_candidate().await;
    host.let_compile(&wasm);
    host.eventually(|deployment| deployment.slot.candidate().is_some()).await;
    let (candidate, trial) = host.deployment.slot.candidate().unwrap();
    assert_eq!((&*candidate.id, trial.percent()), (id.as_str(), 10));
    assert!(host.deployment.monitored.lock().unwrap().as_ref().unwrap().is_for_candidate());
    assert_eq!(host.deployment.uncompiled_reason(), None);
}

#[tokio::test]
async fn refused_candidate_is_dropped() {
    let (host, wasm, id) = without_candidate().await;
    host.put_code(&wasm, b"no machine code");
    host.eventually(|deployment| deployment.uncompiled_reason().is_none()).await;
    let state = host.deployment.state();
    assert_eq!((state.generation, &state.candidate), (1, &None));
    assert_eq!(state.get(&id).unwrap().stage(), Stage::Refused);
}

#[tokio::test]
async fn uncompiled_pushes_displace_no_history() {
    let (host, history) = (TestSlot::new(), settings().rollout.history);
    let known: Vec<Arc<[u8]>> = (1..=history).map(component).collect();
    host.start(&known, |_, _| {}).await;
    for number in [history + 1, history + 2] {
        let pushed = host.deployment.ingest(component(number), "test", Proof::None, "ops", &|_| {}).await;
        assert!(matches!(pushed, Err(DeployError::Uncompiled { .. })), "{pushed:?}");
    }
    let state = host.deployment.state();
    let count = |stage| state.versions.iter().filter(|record| record.stage() == stage).count();
    assert_eq!((count(Stage::Trialled), count(Stage::Refused)), (history, 2));
}

/// The host was killed between the audit log and the state.
#[tokio::test]
async fn restart_logs_the_change_that_remains() {
    let (host, active, tried) = (TestSlot::new(), component(1), component(2));
    let arrange = |state: &mut SlotState, ids: &[VersionId]| {
        let id = ids.last().unwrap();
        let trial = Trial::Canary(Weight::new(10).unwrap());
        (state.generation, state.active) = (1, ids.first().cloned());
        state.candidate = Some(Candidate::new(id.clone(), trial));
        state.step(id, Stage::Candidate, "ops", "canary");
    };
    host.start(&[Arc::clone(&active), Arc::clone(&tried)], arrange).await;
    let store = Arc::clone(&host.deployment.store);
    let lost = AuditEntry::new(SLOT, 2, &record(&active), &Move::now(Stage::Active, "ops", "rollback"));
    store.append_entry(SLOT, lost.clone()).unwrap();
    let _ = host.deployment.start(async { Err("nothing is configured".to_owned()) }).await;
    let last = store.audit(Some(SLOT), 1).unwrap().pop().unwrap();
    assert_eq!((last.generation, last.stage, &last.version), (1, Stage::Candidate, &record(&tried).id));
    let said = format!("generation 2 (active: version {}) was logged but not reached", lost.version);
    assert!(last.reason.contains(&said) && last.reason.ends_with("generation 1 remains"), "{}", last.reason);
}

#[test]
fn only_uncompiled_errors_are_temporary() {
    let version = VersionRecord::new(ComponentDigest::of(b"a"), 1, "test", &settings()).id;
    let passing = PrepareError::Uncompiled("killed".to_owned()).into_deploy_error(&version);
    assert!(matches!(&passing, DeployError::Uncompiled { .. }));
    assert_eq!((passing.code(), passing.to_string().as_str()), ("refused", "killed"));
    assert!(matches!(PrepareError::from(passing), PrepareError::Uncompiled(reason) if reason == "killed"));
    let final_error = PrepareError::from("bad".to_owned()).into_deploy_error(&version);
    assert!(matches!(&final_error, DeployError::Refused { .. }));
    assert!(matches!(PrepareError::from(final_error), PrepareError::Refused(reason) if reason == "bad"));
}
