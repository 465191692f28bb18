//! The configuration is read again while the host runs: as a whole or not at all.

mod callers;
mod component_file;
mod services;

use std::fs;

use bulkhead_tests::{child::Launch, host::CONFIG_FILE, signer::Signer};
use rustix::process::Signal;
use tempfile::TempDir;

use super::*;

fn admin(host: &TestHost) -> Operator {
    Operator::new(&host.admin_url(""), operator::ADMIN)
}

async fn reload(operator: &Operator) -> (u16, Value) {
    operator.post_at("/v1/config/reload", &json!({ "reason": "test" })).await
}

/// Puts another text into the configuration file; the one that was there.
fn rewrite(host: &TestHost, edit: impl FnOnce(&str) -> String) -> String {
    let file = host.folder().join(CONFIG_FILE);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, edit(&text)).unwrap();
    text
}

/// The configuration under which only what `signer` has signed may answer.
fn required(signer: &Signer) -> String {
    format!("[slots.captcha.signatures]\npolicy = \"required\"\nkeys = [\"{}\"]\n", signer.key())
}

/// Answers every challenge with the first letter of `mode` in its configuration.
fn reading() -> Guest {
    // `get` gives at 2048: 0 for ok, then at 2052 1 for a value, its address, its length.
    let get = r#"(import "wasi:config/store@0.2.0-rc.1" "get" (func $get (param i32 i32 i32)))"#;
    let body = "(call $get (i32.const 1040) (i32.const 4) (i32.const 2048))
        (if (i32.load8_u (i32.const 2052))
            (then (i32.store8 (i32.const 1035) (i32.load8_u (i32.load (i32.const 2056))))))
        (i32.store (i32.const 8) (i32.const 1024)) (i32.store (i32.const 12) (i32.const 14)) i32.const 0";
    let data = r#"(data (i32.const 1024) "{\"letter\":\"-\"}") (data (i32.const 1040) "mode")"#;
    Guest::call(body).with_imports(get).with_fields(data)
}

#[tokio::test(flavor = "multi_thread")]
async fn reloaded_settings_are_a_reversible_version() {
    let host = hosting_a().component(reading().component()).start().await;
    let admin = admin(&host);
    assert_eq!(letter(&host, 1).await, '-');
    let before = admin.slot().await["active"].clone();
    let added = "[slots.captcha]\ncpu_ms = 150\nmax_concurrent = 3\nconfig = { mode = \"strict\" }\n[log]\nlevel = \"warn\"\n";
    rewrite(&host, |text| format!("{text}{added}"));
    let (status, answer) = reload(&admin).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["live"], json!(["log.level", "slots.captcha.config.mode", "slots.captcha.cpu_ms"]));
    assert_eq!(answer["restart"], json!(["slots.captcha.max_concurrent"]));
    let slot = admin.slot().await;
    assert_eq!(answer["versions"], json!([{ "slot": "captcha", "version": slot["active"]["id"] }]));
    assert_eq!(
        (&slot["active"]["component"], &slot["active"]["cpu_ms"]),
        (&before["component"], &json!(150))
    );
    assert_eq!((&slot["generation"], &slot["predecessor"]["id"]), (&json!(1), &before["id"]));
    let step = slot["active"]["moves"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        (&step["actor"], &step["reason"]),
        (&json!("admin"), &json!("the configuration has been reloaded: test"))
    );
    assert_eq!(letter(&host, 1).await, 's');

    // What waits is said again; what counts is not.
    let (_, again) = reload(&admin).await;
    assert_eq!((&again["live"], &again["versions"]), (&json!([]), &json!([])), "{again}");
    assert_eq!(again["restart"], json!(["slots.captcha.max_concurrent"]));
    assert_eq!(admin.generation().await, 1);

    // Undone, the version before has its own settings again; another reload makes the change again.
    admin.change("rollback", json!({})).await;
    assert_eq!(letter(&host, 1).await, '-');
    assert_eq!(admin.slot().await["active"]["cpu_ms"], 200);
    let (_, anew) = reload(&admin).await;
    assert_eq!(anew["versions"][0]["slot"], "captcha");
    assert_eq!(letter(&host, 1).await, 's');
    let host =
        hosting_a().component(reading().component()).config(added).folder(host.stop().await).start().await;
    assert_eq!(letter(&host, 1).await, 's', "a restart goes on with it");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_configuration_changes_nothing() {
    let host = hosting_a().start().await;
    let admin = admin(&host);
    for (added, code, said) in [
        ("[slots.captcha]\ncpu_ms = 0\nno_such_key = 1\n", "unsound-configuration", "no_such_key"),
        ("[slots.captcha\n", "unsound-configuration", "test.toml"),
        (
            "[slots.captcha]\ncpu_ms = 100\nconfig = { mode = \"x\" }\n[slots.status]\ncpu_ms = -1\n",
            "unsound-configuration",
            "cpu_ms",
        ),
    ] {
        let before = rewrite(&host, |text| format!("{text}{added}"));
        let (status, error) = reload(&admin).await;
        assert_eq!((status, error["error"].as_str()), (422, Some(code)), "{added}: {error}");
        assert!(error["message"].as_str().unwrap().contains(said), "{error}");
        assert_eq!((letter(&host, 1).await, admin.generation().await), ('A', 0));
        rewrite(&host, |_| before);
    }
    host.stop().await;
}

/// A component that needs its grant, and another slot whose settings are good: neither changes.
#[tokio::test(flavor = "multi_thread")]
async fn refused_settings_change_no_slot() {
    let import = r#"(import "bulkhead:host/guard@0.1.1" "check-prompt" (func $check (param i32 i32 i32)))"#;
    let call = "(if (i32.const 0) (then (call $check (i32.const 0) (i32.const 0) (i32.const 16))))";
    let checking = answering('A', call).with_imports(import);
    let granted = "[slots.captcha]\ngrants = [\"bulkhead:host/guard\"]\n";
    let host = hosting_a().component(checking.component()).config(granted).start().await;
    let admin = admin(&host);
    let status_before = admin.get("/v1/slots/status").await.1["active"]["id"].clone();
    rewrite(&host, |text| {
        text.replace(granted, "[slots.captcha]\ncpu_ms = 100\n[slots.status]\ncpu_ms = 500\n")
    });
    let (status, error) = reload(&admin).await;
    assert_eq!((status, error["error"].as_str()), (422, Some("refused")), "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("slot captcha: ") && message.contains("bulkhead:host/guard"), "{message}");
    assert_eq!((letter(&host, 1).await, admin.generation().await), ('A', 0));
    assert_eq!(admin.get("/v1/slots/status").await.1["active"]["id"], status_before);
    host.stop().await;
}

/// What operators may do with their tokens is up to the configuration of now.
#[tokio::test(flavor = "multi_thread")]
async fn reloaded_tokens_count_until_undone() {
    let host = hosting_a().start().await;
    let (admin, deploy) = (admin(&host), operator(&host));
    let read = Operator::new(&host.admin_url(""), operator::READ);
    let push = json!({ "version": "ffffffff", "generation": 0 });
    assert_eq!((read.post("/swap", &push).await.0, deploy.post("/swap", &push).await.0), (403, 404));

    rewrite(&host, |text| {
        let (kept, rest) = text.split_once("[admin.tokens.deploy]").unwrap();
        let (_, rest) = rest.split_once("[admin.tokens.admin]").unwrap();
        format!("{}[admin.tokens.admin]{rest}", kept.replace("scope = \"read\"", "scope = \"deploy\""))
    });
    let (status, trial) = admin.post_at("/v1/config/trial", &json!({})).await;
    assert_eq!((status, deploy.get("/v1/token").await.0), (200, 200), "a trial changes nothing: {trial}");
    let (status, answer) = reload(&admin).await;
    let changed = ["admin.tokens.deploy.hash", "admin.tokens.deploy.scope", "admin.tokens.read.scope"];
    assert_eq!((status, &answer["live"]), (200, &json!(changed)), "{answer}");
    assert_eq!(answer, trial, "it does what the trial has said");
    assert_eq!((read.post("/swap", &push).await.0, deploy.get("/v1/token").await.0), (404, 401));

    let (status, answer) = admin.post_at("/v1/config/undo", &json!({})).await;
    assert_eq!((status, &answer["live"]), (200, &json!(changed)), "{answer}");
    assert_eq!((read.post("/swap", &push).await.0, deploy.post("/swap", &push).await.0), (403, 404));

    rewrite(&host, |_| SITE.to_owned());
    assert_eq!(reload(&admin).await.0, 200);
    let (status, error) = admin.get("/v1/config").await;
    assert_eq!((status, error["error"].as_str()), (401, Some("no-tokens")), "nobody is left");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn configuration_has_revision_trial_and_undo() {
    let host = hosting_a().component(reading().component()).start().await;
    let admin = admin(&host);
    let config = async || admin.get("/v1/config").await.1;
    let first = config().await;
    let start = (&first["generation"], &first["actor"], &first["previous"], &first["refused"]);
    assert_eq!(start, (&json!(0), &json!("host"), &json!(null), &json!(null)), "{first}");
    let (status, error) = admin.post_at("/v1/config/undo", &json!({})).await;
    assert_eq!((status, error["error"].as_str()), (409, Some("no-predecessor")), "{error}");

    let before = admin.slot().await["active"]["id"].clone();
    let old = rewrite(&host, |text| {
        format!("{text}[slots.captcha]\ncpu_ms = 150\nmax_concurrent = 3\nconfig = {{ mode = \"strict\" }}\n")
    });
    let (status, trial) = admin.post_at("/v1/config/trial", &json!({})).await;
    assert_eq!((status, &trial["restart"]), (200, &json!(["slots.captcha.max_concurrent"])), "{trial}");
    assert_eq!((letter(&host, 1).await, config().await["generation"].as_u64()), ('-', Some(0)));
    assert_eq!(reload(&admin).await, (200, trial.clone()));
    let second = config().await;
    assert_eq!((&second["revision"], &second["previous"]), (&trial["revision"], &first["revision"]));
    assert_eq!((&second["generation"], &second["actor"]), (&json!(1), &json!("admin")));
    assert_eq!(second["restart"], json!(["slots.captcha.max_concurrent"]));
    assert_eq!(letter(&host, 1).await, 's');

    // What cannot be read is said, and keeps all as it is, the way back as well.
    let good = rewrite(&host, |text| format!("{text}no_such_key = 1\n"));
    assert_eq!(reload(&admin).await.0, 422);
    let refused = config().await;
    assert_eq!((&refused["revision"], &refused["previous"]), (&second["revision"], &first["revision"]));
    assert_eq!(
        (&refused["refused"]["stage"], &refused["refused"]["actor"]),
        (&json!("refused"), &json!("admin"))
    );
    assert!(refused["refused"]["reason"].as_str().unwrap().contains("no_such_key"), "{refused}");
    rewrite(&host, |_| good);

    let (status, undone) = admin.post_at("/v1/config/undo", &json!({ "reason": "too strict" })).await;
    assert_eq!((status, &undone["versions"][0]["version"]), (200, &before), "{undone}");
    assert_eq!(letter(&host, 1).await, '-');
    let third = config().await;
    assert_eq!((&third["revision"], &third["previous"]), (&first["revision"], &json!(null)), "back once");
    let waits = json!(["slots.captcha.max_concurrent"]);
    assert_eq!((&third["refused"], &third["restart"]), (&json!(null), &waits), "the file still has it");
    assert_eq!(undone["restart"], waits, "{undone}");
    rewrite(&host, |_| old);
    let (_, same) = reload(&admin).await;
    assert_eq!((&same["live"], &same["versions"]), (&json!([]), &json!([])), "{same}");
    assert_eq!(config().await["restart"], json!([]), "the file has been mended");

    let (_, audit) = admin.get("/v1/audit?slot=config").await;
    let entries = audit["entries"].as_array().unwrap();
    let lines: Vec<_> = entries
        .iter()
        .map(|line| (line["stage"].as_str().unwrap(), line["generation"].as_u64().unwrap()))
        .collect();
    assert_eq!(lines, [("active", 1), ("refused", 1), ("active", 2), ("active", 3)]);
    assert_eq!(
        entries[0]["reason"],
        "the configuration has been reloaded: test; counts now: slots.captcha.config.mode, slots.captcha.cpu_ms; \
         needs a restart: slots.captcha.max_concurrent"
    );
    assert!(entries[2]["reason"].as_str().unwrap().contains("too strict"), "{audit}");
    host.stop().await;
}

/// What a key's file holds is part of the configuration.
#[tokio::test(flavor = "multi_thread")]
async fn changed_secret_file_is_named() {
    let secret = tempfile::NamedTempFile::new().unwrap();
    fs::write(secret.path(), "one").unwrap();
    let site = format!("[captcha.sites.other]\nsecret = \"file:{}\"\n", secret.path().display());
    let host = hosting_a().config(&site).start().await;
    let admin = admin(&host);
    assert_eq!(reload(&admin).await.1["live"], json!([]));
    fs::write(secret.path(), "two").unwrap();
    let (status, answer) = reload(&admin).await;
    assert_eq!((status, &answer["live"]), (200, &json!(["captcha.sites.other.secret"])), "{answer}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_keys_count_without_new_version() {
    let (folder, signer) = (TempDir::new().unwrap(), Signer::new());
    let signature = signer.sign(&answering('A', "").component(), 1);
    fs::write(folder.path().join("guest-captcha.wasm.minisig"), signature).unwrap();
    let host = hosting_a().folder(folder).start().await;
    let admin = admin(&host);
    rewrite(&host, |text| format!("{text}[slots.captcha.rollout]\nmin_calls = 3\n{}", required(&signer)));
    let (status, answer) = reload(&admin).await;
    assert_eq!((status, &answer["versions"]), (200, &json!([])), "{answer}");
    assert_eq!((letter(&host, 1).await, admin.generation().await), ('A', 0));
    let (status, error) = admin.try_push(answering('B', "").component()).await;
    assert_eq!(status, 422, "{error}");
    assert!(error["message"].as_str().unwrap().contains("it is not signed"), "{error}");
    host.stop().await;
}

/// Else the next restart would change the version.
#[tokio::test(flavor = "multi_thread")]
async fn signatures_required_of_unsigned_active_are_refused() {
    let (host, signer) = (hosting_a().start().await, Signer::new());
    let admin = admin(&host);
    let old = rewrite(&host, |text| format!("{text}{}", required(&signer)));
    for path in ["/v1/config/trial", "/v1/config/reload"] {
        let (status, error) = admin.post_at(path, &json!({})).await;
        assert_eq!((status, error["error"].as_str()), (422, Some("refused")), "{path}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with("slot captcha: version "), "{message}");
        assert!(message.contains("slots.captcha.signatures") && message.contains("not signed"), "{message}");
    }
    for arguments in [&["config", "reload", "--trial"][..], &["config", "reload"]] {
        let reload = Launch::bulkhead(arguments)
            .env("BULKHEAD_ADMIN_URL", &host.admin_url(""))
            .env("BULKHEAD_ADMIN_TOKEN", operator::ADMIN);
        let finished = reload.finish().await;
        assert_eq!(finished.status.code(), Some(3), "{}", finished.stderr);
        assert!(finished.stderr.contains("slot captcha"), "{}", finished.stderr);
    }
    let (status, unsigned) = admin.try_push(answering('B', "").component()).await;
    assert_eq!(status, 201, "nothing has changed: {unsigned}");

    // A candidate answers too.
    let signed = |letter| signer.sign(&answering(letter, "").component(), 1);
    let (_, version) = admin.try_push_signed(answering('C', "").component(), &signed('C')).await;
    admin.swap(version["id"].as_str().unwrap()).await;
    admin.change("canary", json!({ "version": unsigned["id"], "weight": 5 })).await;
    assert_eq!(reload(&admin).await.0, 422);
    admin.change("rollback", json!({})).await;
    let (status, answer) = reload(&admin).await;
    assert_eq!(status, 200, "{answer}");
    // What answered before is unsigned, and not gone back to, though its code was loaded.
    let body = json!({ "generation": admin.generation().await });
    let (status, error) = admin.post("/rollback", &body).await;
    assert_eq!((status, error["error"].as_str()), (422, Some("refused")), "{error}");
    assert_eq!(letter(&host, 1).await, 'C');
    rewrite(&host, |_| old);
    assert_eq!(reload(&admin).await.0, 200);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn signal_reads_file_again() {
    let folder = TempDir::new().unwrap();
    let component = folder.path().join("a.wasm");
    fs::write(&component, reading().component()).unwrap();
    let services = "[services]\nstatus.enabled = false\ntickets.enabled = false\n";
    let config = |mode: &str| {
        let slot = format!(
            "[slots.captcha]\ncomponent = \"{}\"\nconfig = {{ mode = {mode} }}\n",
            component.display()
        );
        format!("{}{services}{SITE}{slot}", operator::tokens())
    };
    let host = Launch::serve_with(folder.path(), &config("\"a\"")).ready().await;
    let letter = async || {
        let body = json!({ "siteKey": "shop", "siteSecret": "shop-secret", "clientAddress": "192.0.2.7" });
        let (status, answer) = host.post("/api/v1/captcha/challenge", &body).await;
        assert_eq!(status, 200, "{answer}");
        answer["challenge"]["letter"].as_str().unwrap().to_owned()
    };
    assert_eq!(letter().await, "a");
    fs::write(folder.path().join("bulkhead.toml"), config("\"b\"")).unwrap();
    host.signal(Signal::HUP);
    let line = host.line("the configuration has been reloaded").await;
    assert_eq!((&line["actor"], &line["live"]), (&json!("SIGHUP"), &json!("slots.captcha.config.mode")));
    assert_eq!(letter().await, "b");
    fs::write(folder.path().join("bulkhead.toml"), config("7")).unwrap();
    host.signal(Signal::HUP);
    let line = host.line("the reload has failed, and the configuration stays as it was").await;
    assert!(line["error"].as_str().unwrap().contains("slots.captcha.config.mode"), "{line}");
    assert_eq!(letter().await, "b");
    host.stop().await;
}

#[tokio::test]
async fn signal_changes_the_log_level() {
    let folder = TempDir::new().unwrap();
    let services = "[services]\nstatus.enabled = false\ntickets.enabled = false\n";
    let config = |level: &str| format!("{}{services}{SITE}[log]\nlevel = \"{level}\"\n", operator::tokens());
    let file = folder.path().join("bulkhead.toml");
    let host = Launch::serve_with(folder.path(), &config("info")).ready().await;
    let reader = Operator::new(&host.admin_url(""), operator::READ);
    let read_anew = async |times: u64| {
        host.signal(Signal::HUP);
        let all = async || reader.get("/v1/config").await.1["generation"] == times;
        bulkhead_tests::host::eventually("the configuration has been reloaded", all).await;
    };
    let answered = async |times: usize| {
        assert_eq!(host.status(&host.url("/nowhere")).await, 404);
        let all = async || host.said("answered").len() >= times;
        bulkhead_tests::host::eventually("the request is logged", all).await;
        assert_eq!(host.said("answered").len(), times);
    };
    answered(1).await;
    fs::write(&file, config("warn")).unwrap();
    read_anew(1).await;
    let line = host.line("the configuration has been reloaded").await;
    assert_eq!((&line["actor"], &line["live"]), (&json!("SIGHUP"), &json!("log.level")));
    assert_eq!(host.status(&host.url("/nowhere")).await, 404);
    fs::write(&file, config("info")).unwrap();
    read_anew(2).await;
    // The one in between is not there.
    answered(2).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reloads_take_no_place_of_the_history() {
    let host = hosting_a().env("BULKHEAD_SLOTS__CAPTCHA__ROLLOUT__HISTORY", "1").start().await;
    let admin = admin(&host);
    let version = admin.push(answering('B', "").component()).await;
    let text = rewrite(&host, str::to_owned);
    for cpu_ms in 150..155 {
        rewrite(&host, |_| format!("{text}[slots.captcha]\ncpu_ms = {cpu_ms}\n"));
        let (status, answer) = reload(&admin).await;
        assert_eq!((status, &answer["versions"][0]["slot"]), (200, &json!("captcha")), "{answer}");
    }
    let (_, history) = admin.get("/v1/slots/captcha/history").await;
    assert_eq!(history["versions"].as_array().unwrap().len(), 3, "active, one before it, and B: {history}");
    admin.swap(&version).await;
    assert_eq!(letter(&host, 1).await, 'B');
    host.stop().await;
}
