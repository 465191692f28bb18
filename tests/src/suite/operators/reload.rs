//! The configuration is read anew while the host runs: as a whole or not at all.

use std::fs;

use bulkhead_tests::host::CONFIG_FILE;
use rustix::process::Signal;
use tempfile::TempDir;

use super::*;
use crate::process::child::Launch;

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

/// Answers every challenge with the first letter of `mode` in its configuration.
fn reading() -> Guest {
    // `get` gives at 2048: 0 for ok, then at 2052 1 for a value, its address, its length.
    let get = r#"(import "wasi:config/store@0.2.0-rc.1" "get" (func $get (param i32 i32 i32)))"#;
    let body = "(call $get (i32.const 1040) (i32.const 4) (i32.const 2048))
        (if (i32.load8_u (i32.const 2052))
            (then (i32.store8 (i32.const 1025) (i32.load8_u (i32.load (i32.const 2056))))))
        (i32.store (i32.const 8) (i32.const 1024)) (i32.store (i32.const 12) (i32.const 3)) i32.const 0";
    let data = r#"(data (i32.const 1024) "\"-\"") (data (i32.const 1040) "mode")"#;
    Guest::call(body).with_imports(get).with_fields(data)
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_count_at_once_as_another_version_that_a_rollback_undoes() {
    let host = hosting_a().component(reading().component()).start().await;
    let admin = admin(&host);
    assert_eq!(letter(&host, 1).await, '-');
    let before = admin.slot().await["active"].clone();
    let added = "[slots.captcha]\ncpu_ms = 150\nmax_concurrent = 3\nconfig = { mode = \"strict\" }\n[log]\nlevel = \"warn\"\n";
    rewrite(&host, |text| format!("{text}{added}"));
    let (status, answer) = reload(&admin).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["live"], json!(["slots.captcha.config.mode", "slots.captcha.cpu_ms"]));
    assert_eq!(answer["restart"], json!(["log.level", "slots.captcha.max_concurrent"]));
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
        (&json!("admin"), &json!("the configuration was read anew: test"))
    );
    assert_eq!(letter(&host, 1).await, 's');

    // What waits is said again; what counts is not.
    let (_, again) = reload(&admin).await;
    assert_eq!((&again["live"], &again["versions"]), (&json!([]), &json!([])), "{again}");
    assert_eq!(again["restart"], json!(["log.level", "slots.captcha.max_concurrent"]));
    assert_eq!(admin.generation().await, 1);

    // Undone, the version before has its own settings again; another reload does it anew.
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
async fn a_bad_configuration_leaves_all_as_it_was() {
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
async fn settings_under_which_a_component_may_not_answer_change_no_slot() {
    let import = r#"(import "wasi:io/poll@0.2.12" "[method]pollable.block" (func $block (param i32)))"#;
    let polling =
        answering('A', "(if (i32.const 0) (then (call $block (i32.const 0))))").with_imports(import);
    let granted = "[slots.captcha]\ngrants = [\"wasi:io/poll\"]\n";
    let host = hosting_a().component(polling.component()).config(granted).start().await;
    let admin = admin(&host);
    let status_before = admin.get("/v1/slots/status").await.1["active"]["id"].clone();
    rewrite(&host, |text| {
        text.replace(granted, "[slots.captcha]\ncpu_ms = 100\n[slots.status]\ncpu_ms = 500\n")
    });
    let (status, error) = reload(&admin).await;
    assert_eq!((status, error["error"].as_str()), (422, Some("refused")), "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("slot captcha: ") && message.contains("wasi:io/poll"), "{message}");
    assert_eq!((letter(&host, 1).await, admin.generation().await), ('A', 0));
    assert_eq!(admin.get("/v1/slots/status").await.1["active"]["id"], status_before);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_no_other_version_counts_without_one() {
    let host = hosting_a().start().await;
    let admin = admin(&host);
    rewrite(&host, |text| {
        format!(
            "{text}[slots.captcha.rollout]\nmin_calls = 3\n[slots.captcha.signatures]\npolicy = \"required\"\nkeys = [\"{}\"]\n",
            bulkhead_tests::signer::Signer::new().key()
        )
    });
    let (status, answer) = reload(&admin).await;
    assert_eq!((status, &answer["versions"]), (200, &json!([])), "{answer}");
    assert_eq!((letter(&host, 1).await, admin.generation().await), ('A', 0));
    let (status, error) = admin.try_push(answering('B', "").component()).await;
    assert_eq!(status, 422, "{error}");
    assert!(error["message"].as_str().unwrap().contains("it is not signed"), "{error}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_reads_it_anew() {
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
        answer["challenge"].as_str().unwrap().to_owned()
    };
    assert_eq!(letter().await, "a");
    fs::write(folder.path().join("bulkhead.toml"), config("\"b\"")).unwrap();
    host.signal(Signal::HUP);
    let line = host.line("the configuration has been read anew").await;
    assert_eq!((&line["actor"], &line["live"]), (&json!("SIGHUP"), &json!("slots.captcha.config.mode")));
    assert_eq!(letter().await, "b");
    fs::write(folder.path().join("bulkhead.toml"), config("7")).unwrap();
    host.signal(Signal::HUP);
    let line = host.line("the configuration has been read and stays as it was").await;
    assert!(line["error"].as_str().unwrap().contains("slots.captcha.config.mode"), "{line}");
    assert_eq!(letter().await, "b");
    host.stop().await;
}
