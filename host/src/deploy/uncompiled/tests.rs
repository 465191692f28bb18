//! What is compiled again after a start, and what becomes of it.

#![allow(clippy::unwrap_used)]

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use tempfile::TempDir;

use super::*;
use crate::{
    compile::ComponentDigest,
    config::slots::SlotId,
    deploy::{
        Candidate, Change, Entry, Expected, Move, Proof, Record,
        tests::{Bare, EMPTY, deployment, settings},
        vault::Blob,
    },
    slots::Weight,
};

/// Only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(60);
const SLOT: SlotId = SlotId::new("captcha");

/// A component of a size of its own.
fn component(number: usize) -> Arc<[u8]> {
    let length = u8::try_from(number).unwrap();
    [EMPTY, &[0, length + 1, length], &vec![b'n'; number]].concat().into()
}

fn record(wasm: &[u8]) -> Record {
    let mut record = Record::new(ComponentDigest::of(wasm), wasm.len(), "test", &settings());
    record.step(Move::now(Stage::Trialled, "ops", ""));
    record
}

/// A host whose compiling process fails for every component until there is code for it.
struct Host {
    folder: TempDir,
    deployment: Arc<Deployment<Bare>>,
}

impl Host {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let program = folder.path().join("compile");
        // Its last argument is the component's size. 1 would mean that the component itself is at fault.
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

    /// Has a component compile from now on.
    fn let_compile(&self, wasm: &[u8]) {
        let engine = self.deployment.slot.yard.engine.wasmtime();
        self.put_code(wasm, &engine.precompile_component(EMPTY).unwrap());
    }

    /// Starts the slot with a book of these components, of which `arrange` says which one answers.
    async fn start(&self, components: &[Arc<[u8]>], arrange: impl FnOnce(&mut Book, &[VersionId])) {
        let mut book = Book { edition: 1, ..Book::default() };
        let blob = |wasm: &Arc<[u8]>| {
            let component = ComponentDigest::of(wasm).to_string();
            Blob { component, wasm: Arc::clone(wasm), signature: None }
        };
        components.iter().for_each(|wasm| book.receive(record(wasm)));
        let ids: Vec<VersionId> = book.versions.iter().map(|record| record.id.clone()).collect();
        arrange(&mut book, &ids);
        let blobs: Vec<Blob> = components.iter().map(blob).collect();
        self.deployment.vault.keep(SLOT, 0, &book, &blobs).unwrap();
        let _ = self.deployment.start(async { Err("nothing is configured".to_owned()) }).await;
    }

    /// Waits for what becomes true in the background.
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

/// Writes a script that can be run at once: no child of another test has it open.
fn executable(path: &Path, script: &str) {
    let draft = path.with_extension("draft");
    fs::write(&draft, script).unwrap();
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(Command::new("/bin/cp").arg("-p").args([&draft, path]).status().unwrap().success());
}

#[tokio::test]
async fn active_version_answers_once_compiled() {
    let (host, wasm) = (Host::new(), component(1));
    host.start(&[Arc::clone(&wasm)], |book, ids| book.active = ids.first().cloned()).await;
    assert_eq!(host.answering(), None);
    host.let_compile(&wasm);
    host.eventually(|deployment| deployment.slot.active().is_ok()).await;
    assert_eq!(host.answering(), Some(record(&wasm).id.to_string()));
    host.eventually(|deployment| deployment.why_empty.lock().unwrap().is_none()).await;
}

#[tokio::test]
async fn substitute_answers_until_active_version_compiles() {
    let (host, old, new) = (Host::new(), component(1), component(2));
    host.let_compile(&old);
    let arrange = |book: &mut Book, ids: &[VersionId]| {
        (book.before, book.active) = (ids.first().cloned().into_iter().collect(), ids.last().cloned());
    };
    host.start(&[Arc::clone(&old), Arc::clone(&new)], arrange).await;
    assert_eq!(host.answering(), Some(record(&old).id.to_string()));
    assert!(host.deployment.why_uncompiled().unwrap().contains("answers until the one that should"));
    host.let_compile(&new);
    host.eventually(|deployment| deployment.why_uncompiled().is_none()).await;
    assert_eq!(host.answering(), Some(record(&new).id.to_string()));
}

/// A host that has no record yet, and whose configured component was not compiled.
async fn without_record() -> (Host, Arc<[u8]>) {
    let (host, wasm) = (Host::new(), component(1));
    let named = (Arc::clone(&wasm), "test".to_owned(), Proof::None);
    host.deployment.start(async { Ok(named) }).await.unwrap_err();
    assert_eq!((host.answering(), host.deployment.book().active.clone()), (None, None));
    (host, wasm)
}

#[tokio::test]
async fn configured_component_of_a_first_start_answers_once_compiled() {
    let (host, wasm) = without_record().await;
    host.let_compile(&wasm);
    host.eventually(|deployment| deployment.why_empty.lock().unwrap().is_none()).await;
    assert_eq!(host.answering(), Some(record(&wasm).id.to_string()));
    let book = host.deployment.book();
    let active = book.active().unwrap();
    assert_eq!((active.configured, active.stage(), book.generation), (true, Stage::Active, 0));
}

#[tokio::test]
async fn configured_component_that_turns_out_refused_leaves_the_slot_empty() {
    let (host, wasm) = without_record().await;
    host.put_code(&wasm, b"no machine code");
    host.eventually(|deployment| deployment.uncompiled_configured.lock().unwrap().is_none()).await;
    assert_eq!(host.answering(), None);
    assert!(host.deployment.why_empty.lock().unwrap().is_some());
}

#[tokio::test]
async fn what_was_swapped_in_meanwhile_stays() {
    let (host, wasm) = without_record().await;
    let pushed = component(2);
    host.let_compile(&pushed);
    let taken = host.deployment.take_up(Arc::clone(&pushed), "test", Proof::None, "ops", &|_| {}).await;
    let (id, generation) = (taken.unwrap().record.id, host.deployment.book().generation);
    let expected = Expected { generation, actor: "ops".to_owned(), reason: String::new() };
    host.deployment.apply(&Change::Swap(id.to_string()), &expected).await.unwrap();
    host.let_compile(&wasm);
    host.eventually(|deployment| deployment.uncompiled_configured.lock().unwrap().is_none()).await;
    assert_eq!(host.answering(), Some(id.to_string()));
}

/// A host whose candidate, the second of these components, was not compiled at the start.
async fn without_candidate() -> (Host, Arc<[u8]>, VersionId) {
    let (host, active, wasm) = (Host::new(), component(1), component(2));
    host.let_compile(&active);
    let id = record(&wasm).id;
    let trial = Trial::Canary(Weight::new(10).unwrap());
    let candidate = Candidate::new(id.clone(), trial);
    let arrange = |book: &mut Book, ids: &[VersionId]| {
        (book.active, book.candidate) = (ids.first().cloned(), Some(candidate));
    };
    host.start(&[active, Arc::clone(&wasm)], arrange).await;
    assert!(host.deployment.slot.candidate().is_none() && host.deployment.slot.active().is_ok());
    let reason = host.deployment.why_uncompiled().unwrap();
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
    assert!(host.deployment.watched.lock().unwrap().as_ref().unwrap().is_of_candidate());
    assert_eq!(host.deployment.why_uncompiled(), None);
}

#[tokio::test]
async fn candidate_that_turns_out_refused_is_given_up() {
    let (host, wasm, id) = without_candidate().await;
    host.put_code(&wasm, b"no machine code");
    host.eventually(|deployment| deployment.why_uncompiled().is_none()).await;
    let book = host.deployment.book();
    assert_eq!((book.generation, &book.candidate), (1, &None));
    assert_eq!(book.get(&id).unwrap().stage(), Stage::Refused);
}

#[tokio::test]
async fn uncompiled_pushes_take_no_place_of_the_history() {
    let (host, history) = (Host::new(), settings().rollout.history);
    let known: Vec<Arc<[u8]>> = (1..=history).map(component).collect();
    host.start(&known, |_, _| {}).await;
    for number in [history + 1, history + 2] {
        let pushed = host.deployment.take_up(component(number), "test", Proof::None, "ops", &|_| {}).await;
        assert!(matches!(pushed, Err(DeployError::Uncompiled { .. })), "{pushed:?}");
    }
    let book = host.deployment.book();
    let count = |stage| book.versions.iter().filter(|record| record.stage() == stage).count();
    assert_eq!((count(Stage::Trialled), count(Stage::Refused)), (history, 2));
}

/// As after a host that was killed between the audit log and the book.
#[tokio::test]
async fn line_of_a_restart_names_the_change_that_stands() {
    let (host, active, tried) = (Host::new(), component(1), component(2));
    let arrange = |book: &mut Book, ids: &[VersionId]| {
        let id = ids.last().unwrap();
        let trial = Trial::Canary(Weight::new(10).unwrap());
        (book.generation, book.active) = (1, ids.first().cloned());
        book.candidate = Some(Candidate::new(id.clone(), trial));
        book.step(id, Stage::Candidate, "ops", "canary");
    };
    host.start(&[Arc::clone(&active), Arc::clone(&tried)], arrange).await;
    let vault = Arc::clone(&host.deployment.vault);
    let lost = Entry::new(SLOT, 2, &record(&active), &Move::now(Stage::Active, "ops", "rollback"));
    vault.note(SLOT, lost.clone()).unwrap();
    let _ = host.deployment.start(async { Err("nothing is configured".to_owned()) }).await;
    let last = vault.audit(Some(SLOT), 1).unwrap().pop().unwrap();
    assert_eq!((last.generation, last.stage, &last.version), (1, Stage::Candidate, &record(&tried).id));
    let said = format!("generation 2 (active: version {}) was logged and not reached", lost.version);
    assert!(last.reason.contains(&said) && last.reason.ends_with("generation 1 stands"), "{}", last.reason);
}

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
