//! Operators' work while components compile.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use bulkhead_tests::{
    host::{CONFIG_FILE, eventually, program},
    servers::postgres::Postgres,
    signer::Signer,
};
use tempfile::TempDir;
use tokio::time::timeout;

use super::super::*;

/// Only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that compiles as the host's does, once a file says that it may.
pub struct Gated {
    folder: TempDir,
}

impl Gated {
    pub fn new() -> Self {
        Self::above(0)
    }

    /// Components of fewer bytes are compiled at once.
    pub fn above(bytes: usize) -> Self {
        let gated = Self { folder: TempDir::new().unwrap() };
        gated.open();
        let (begun, gate) = (gated.path("begun"), gated.path("gate"));
        // The last argument is the component's size.
        let script = format!(
            "echo begun >> {}\nfor last; do :; done\n\
             while [ $last -ge {bytes} ] && [ ! -e {} ]; do /bin/sleep 0.02; done\nexec {} \"$@\"\n",
            begun.display(),
            gate.display(),
            program().display()
        );
        executable(&gated.program(), &script);
        gated
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn program(&self) -> PathBuf {
        self.path("compile")
    }

    pub fn open(&self) {
        fs::write(self.path("gate"), "").unwrap();
    }

    pub fn close(&self) {
        fs::remove_file(self.path("gate")).unwrap();
    }

    pub fn begun(&self) -> usize {
        fs::read_to_string(self.path("begun")).unwrap_or_default().lines().count()
    }
}

/// Writes a script that can be run at once.
fn executable(path: &Path, script: &str) {
    let draft = path.with_extension("draft");
    fs::write(&draft, format!("#!/bin/sh\n{script}")).unwrap();
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o755)).unwrap();
    // A copy that this process never had open: else a child of another test may keep it from being run.
    let copied = Command::new("/bin/cp").arg("-p").args([&draft, path]).status().unwrap();
    assert!(copied.success());
}

/// A component that no cache has.
fn unknown(letter: char) -> Vec<u8> {
    let name = TempDir::new().unwrap();
    let name = name.path().file_name().unwrap().to_str().unwrap().to_owned();
    answering(letter, "")
        .with_fields(&format!(r#"(data (i32.const 1024) "{{\"letter\":\"{letter}\"}}{name}")"#))
        .component()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_waits_for_no_compilation() {
    let gated = Gated::new();
    let host = hosting_a().env("BULKHEAD_SANDBOX__COMPILE_WORKERS", "1").compile_program(&gated.program());
    let host = host.start().await;
    let operator = operator(&host);
    let version = operator.push(unknown('B')).await;
    operator.swap(&version).await;
    assert_eq!(letter(&host, 1).await, 'B');

    gated.close();
    let before = gated.begun();
    let pushes = ['C', 'D'].map(|letter| {
        let operator = operator.clone();
        tokio::spawn(async move { operator.try_push(unknown(letter)).await })
    });
    eventually("a compilation holds the only permit", async || gated.begun() == before + 1).await;
    timeout(PATIENCE, operator.change("rollback", json!({ "reason": "test" }))).await.unwrap();
    assert_eq!(letter(&host, 1).await, 'A');
    assert!(pushes.iter().all(|push| !push.is_finished()));

    gated.open();
    for push in pushes {
        let (status, version) = timeout(PATIENCE, push).await.unwrap().unwrap();
        assert_eq!(status, 201, "{version}");
    }
    assert_eq!(gated.begun(), before + 2);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn swap_back_within_watch_compiles_nothing() {
    let gated = Gated::new();
    let host = hosting_a().env("BULKHEAD_SANDBOX__CACHE", "false").compile_program(&gated.program());
    let host = host.start().await;
    let operator = operator(&host);
    let first = operator.slot().await["active"]["id"].as_str().unwrap().to_owned();
    let second = operator.push(answering('B', "").component()).await;
    let begun = gated.begun();
    let active = operator.swap(&second).await["active"].clone();
    assert_eq!(gated.begun(), begun + 1, "no cache has it");
    operator.swap(&first).await;
    assert_eq!(letter(&host, 1).await, 'A');
    operator.change("canary", json!({ "version": second, "weight": 100 })).await;
    assert_eq!(letter(&host, 1).await, 'B');
    operator.change("rollback", json!({})).await;
    assert_eq!(gated.begun(), begun + 1);
    // The next start would not find it.
    let file = active["component"].as_str().unwrap().replace("sha256:", "") + ".wasm";
    fs::write(host.folder().join("data/slots/captcha").join(file), "damaged").unwrap();
    let body = json!({ "version": second, "generation": operator.generation().await });
    let (status, error) = operator.post("/swap", &body).await;
    assert_eq!((status, error["error"].as_str()), (500, Some("storage")), "{error}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_compile_program_refuses_the_push_only() {
    let host = hosting_a().start().await;
    let folder = host.stop().await;
    let host = hosting_a().folder(folder).compile_program(Path::new("/nonexistent")).start().await;
    let (status, refused) = operator(&host).try_push(unknown('B')).await;
    assert_eq!(status, 422, "{refused}");
    assert!(refused.to_string().contains("cannot run /nonexistent"), "{refused}");
    assert_eq!(letter(&host, 1).await, 'A');
    host.stop().await;
}

/// Signature rules that change while an unsigned version is made ready hold for it.
#[tokio::test(flavor = "multi_thread")]
async fn rules_changed_during_compilation_refuse_the_version() {
    let (gated, folder, signer) = (Gated::new(), TempDir::new().unwrap(), Signer::new());
    let signature = signer.sign(&answering('A', "").component(), 1);
    fs::write(folder.path().join("guest-captcha.wasm.minisig"), signature).unwrap();
    let host = hosting_a()
        .folder(folder)
        .compile_program(&gated.program())
        .env("BULKHEAD_SANDBOX__CACHE", "false")
        .start()
        .await;
    let operator = Operator::new(&host.admin_url(""), operator::ADMIN);
    let version = operator.push(unknown('B')).await;
    let file = host.folder().join(CONFIG_FILE);
    let old = fs::read_to_string(&file).unwrap();
    let rules = format!("[slots.captcha.signatures]\npolicy = \"required\"\nkeys = [\"{}\"]\n", signer.key());
    for (path, mut body) in [
        ("/swap", json!({ "version": version })),
        ("/canary", json!({ "version": version, "weight": 50 })),
        ("/shadow", json!({ "version": version })),
    ] {
        gated.close();
        let before = gated.begun();
        body["generation"] = operator.generation().await.into();
        let change = {
            let operator = operator.clone();
            tokio::spawn(async move { operator.post(path, &body).await })
        };
        eventually("it is being compiled", async || gated.begun() == before + 1).await;
        fs::write(&file, format!("{old}{rules}")).unwrap();
        let (status, answer) = operator.post_at("/v1/config/reload", &json!({})).await;
        assert_eq!(status, 200, "{answer}");
        assert!(!change.is_finished());
        gated.open();
        let (status, error) = timeout(PATIENCE, change).await.unwrap().unwrap();
        assert_eq!((status, error["error"].as_str()), (422, Some("refused")), "{path}: {error}");
        let slot = operator.slot().await;
        assert_eq!((letter(&host, 1).await, &slot["candidate"]), ('A', &Value::Null), "{path}");
        fs::write(&file, &old).unwrap();
        assert_eq!(operator.post_at("/v1/config/reload", &json!({})).await.0, 200);
    }
    host.stop().await;
}

/// A host that shares its state in this database.
fn sharing(postgres: &Postgres) -> Builder {
    hosting_a()
        .env("BULKHEAD_CAPTCHA__DATABASE", &postgres.url())
        .env("BULKHEAD_SHARING__POLL_MS", "200")
        .env("BULKHEAD_SANDBOX__CACHE", "false")
}

/// Hosts on one database: what one has taken back no other compiles first.
#[tokio::test(flavor = "multi_thread")]
async fn rollback_elsewhere_ends_waiting_for_compilation() {
    let (gated, postgres) = (Gated::new(), Postgres::start());
    let one = sharing(&postgres).start().await;
    let two = sharing(&postgres).compile_program(&gated.program()).start().await;
    let version = operator(&one).push(unknown('B')).await;
    gated.close();
    let before = gated.begun();
    operator(&one).change("canary", json!({ "version": version, "weight": 5 })).await;
    eventually("the other host compiles it", async || gated.begun() == before + 1).await;
    let slot = operator(&one).change("rollback", json!({})).await;
    eventually("the other host follows the rollback", async || {
        let two = operator(&two).slot().await;
        two["shared"]["applied"] == slot["generation"] && two["candidate"].is_null()
    })
    .await;
    gated.open();
    for host in [one, two] {
        host.stop().await;
    }
}

/// The same on the very host that compiles it.
#[tokio::test(flavor = "multi_thread")]
async fn rollback_does_not_wait_for_compilation() {
    let (gated, postgres) = (Gated::new(), Postgres::start());
    let one = sharing(&postgres).start().await;
    let two = sharing(&postgres).compile_program(&gated.program()).start().await;
    for (change, body) in [("swap", json!({})), ("canary", json!({ "weight": 5 }))] {
        let version = operator(&one).push(unknown('B')).await;
        let stale = operator(&two).generation().await;
        gated.close();
        let before = gated.begun();
        let mut body = body;
        body["version"] = version.into();
        let desired = operator(&one).change(change, body).await["generation"].as_u64().unwrap();
        eventually("the other host compiles it", async || gated.begun() == before + 1).await;
        let rollback = async |generation: u64| {
            let (operator, body) = (operator(&two), json!({ "generation": generation, "reason": "test" }));
            timeout(PATIENCE, operator.post("/rollback", &body)).await.unwrap()
        };
        let (status, error) = rollback(stale).await;
        assert_eq!((status, &error["slot"]["shared"]["desired"]), (409, &json!(desired)), "{error}");
        let message = format!("the slot has generation {desired} and not {stale}");
        assert!(error["message"].as_str().unwrap().starts_with(&message), "{error}");
        let (status, slot) = rollback(desired).await;
        assert_eq!((status, &slot["generation"]), (200, &json!(desired + 1)), "{slot}");
        assert!(slot["candidate"].is_null(), "{slot}");
        assert_eq!(letter(&two, 1).await, 'A');
        eventually("the other host follows the rollback", async || {
            let slot = operator(&one).slot().await;
            slot["generation"] == desired + 1 && letter(&one, 1).await == 'A'
        })
        .await;
        assert_eq!(gated.begun(), before + 1);
        gated.open();
    }
    for host in [one, two] {
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_compilation_is_tried_again() {
    let folder = TempDir::new().unwrap();
    let (compile, killed) = (folder.path().join("compile"), folder.path().join("killed"));
    let (path, program) = (killed.display(), program());
    let script =
        format!("[ -e {path} ] && exec {} \"$@\"\necho killed > {path}\nkill -KILL $$\n", program.display());
    let host = hosting_a().start().await;
    let host = hosting_a().folder(host.stop().await).compile_program(&compile);
    executable(&compile, &script);
    let host = host.start().await;
    let (status, version) = operator(&host).try_push(unknown('B')).await;
    assert_eq!((status, killed.exists()), (201, true), "{version}");
    host.stop().await;
}

/// Takes the compiled code of a version from the cache, as an upgrade does.
fn forget(host: &TestHost, component: &str) {
    let digest = component.strip_prefix("sha256:").unwrap();
    let files = fs::read_dir(host.folder().join("data/compiled")).unwrap().map(|file| file.unwrap().path());
    let is_its = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(digest);
    let files: Vec<PathBuf> = files.filter(is_its).collect();
    assert_eq!(files.len(), 1);
    fs::remove_file(&files[0]).unwrap();
}

/// The OOM killer is no reason to have another version answer for good.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_compilation_keeps_the_active_version() {
    let folder = TempDir::new().unwrap();
    let kills = folder.path().join("compile");
    executable(&kills, "kill -KILL $$\n");
    let host = hosting_a().start().await;
    let operator_before = operator(&host);
    let old = operator_before.slot().await["active"]["id"].clone();
    let version = operator_before.push(unknown('B')).await;
    let slot = operator_before.swap(&version).await;
    let (active, generation) = (slot["active"]["id"].clone(), slot["generation"].clone());
    forget(&host, slot["active"]["component"].as_str().unwrap());

    let host = hosting_a().folder(host.stop().await).compile_program(&kills).start().await;
    assert_eq!(letter(&host, 1).await, 'A');
    let slot = operator(&host).slot().await;
    assert_eq!((&slot["active"]["id"], &slot["generation"]), (&old, &generation), "{slot}");
    let ready = host.client().get(host.admin_url("/health/ready")).send().await.unwrap();
    let ready: Value = ready.json().await.unwrap();
    assert_eq!(ready["degraded"][0]["check"], "slot captcha", "{ready}");
    let reason = ready["degraded"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("the system killed it"), "{reason}");

    let host = hosting_a().folder(host.stop().await).start().await;
    assert_eq!(letter(&host, 1).await, 'B');
    let slot = operator(&host).slot().await;
    assert_eq!((&slot["active"]["id"], &slot["generation"]), (&active, &generation), "{slot}");
    host.stop().await;
}
