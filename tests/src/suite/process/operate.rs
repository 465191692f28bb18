//! `bulkhead component` and `bulkhead admin` against a running host.

use std::fs;

use bulkhead_tests::{guests::Guest, operator};
use serde_json::Value;
use tempfile::TempDir;

use super::{
    SITE,
    child::{Bulkhead, Finished, Launch},
};
use crate::operators::answering;

/// Runs `bulkhead` as an operator with a token.
pub async fn bulkhead(host: &Bulkhead, token: &str, arguments: &[&str]) -> Finished {
    let launch = Launch::bulkhead(arguments).env("BULKHEAD_ADMIN_URL", &host.admin_url(""));
    launch.env("BULKHEAD_ADMIN_TOKEN", token).finish().await
}

pub async fn done(host: &Bulkhead, arguments: &[&str]) -> String {
    let finished = bulkhead(host, operator::ADMIN, arguments).await;
    assert!(finished.succeeded(), "{arguments:?}: {}", finished.stderr);
    finished.stdout
}

pub async fn fails(host: &Bulkhead, token: &str, arguments: &[&str], code: i32, said: &str) {
    let finished = bulkhead(host, token, arguments).await;
    assert_eq!(finished.status.code(), Some(code), "{arguments:?}: {}", finished.stderr);
    assert!(finished.stderr.contains(said), "{}", finished.stderr);
}

#[tokio::test]
async fn a_component_is_pushed_tried_promoted_and_rolled_back() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str, wasm: Vec<u8>| {
        let path = folder.path().join(name);
        fs::write(&path, wasm).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (a, b) =
        (file("a.wasm", answering('A', "").component()), file("b.wasm", answering('B', "").component()));
    let (c, bad) = (file("c.wasm", answering('C', "").component()), file("bad.wasm", b"garbage".to_vec()));
    let config = format!("{}[slots.captcha]\ncomponent = {a:?}\n{SITE}", operator::tokens());
    let host = Launch::serve_with(folder.path(), &config).ready().await;

    let list = done(&host, &["component", "list"]).await;
    assert!(list.starts_with("SLOT ") && list.contains("captcha  0 ") && list.contains("a.wasm"), "{list}");
    let pushed = done(&host, &["component", "push", "captcha", &b, "--json"]).await;
    let pushed: Value = serde_json::from_str(&pushed).unwrap();
    let id = pushed["id"].as_str().unwrap();
    let shown = done(&host, &["component", "canary", "captcha", "10", &id[..8], "--reason", "slowly"]).await;
    assert!(shown.contains("10 % of the calls") && shown.contains("90 % of the calls"), "{shown}");
    let shown = done(&host, &["component", "promote", "captcha"]).await;
    assert!(shown.contains("generation   2") && shown.contains(id), "{shown}");
    let shown = done(&host, &["component", "swap", "captcha", "--file", &c]).await;
    assert!(shown.contains("c.wasm") && shown.contains("active by admin"), "{shown}");
    let shown = done(&host, &["component", "rollback", "captcha"]).await;
    assert!(shown.contains("generation   4") && shown.contains(id), "{shown}");
    let history = done(&host, &["component", "history", "captcha"]).await;
    assert!(history.contains("candidate by admin: 10 % of the calls: slowly"), "{history}");
    let audit = done(&host, &["admin", "audit", "--slot", "captcha"]).await;
    assert!(audit.contains("  trialled ") && audit.contains("slowly"), "{audit}");
    assert_eq!(done(&host, &["component", "logs", "captcha"]).await, "");

    let admin = operator::ADMIN;
    fails(&host, admin, &["component", "push", "captcha", &bad], 3, "not a WebAssembly component").await;
    fails(&host, admin, &["component", "swap", "captcha", id, "--generation", "0"], 4, "generation 4").await;
    fails(&host, operator::READ, &["component", "rollback", "captcha"], 5, "the token's scope is read").await;
    fails(&host, "wrong", &["component", "list"], 5, "an operator's token is wanted").await;
    fails(
        &host,
        admin,
        &["component", "show", "captcha", "--url", "http://127.0.0.1:1"],
        6,
        "no answer from",
    )
    .await;
    fails(&host, admin, &["component", "swap", "captcha"], 2, "--file").await;
    host.stop().await;
}

#[tokio::test]
async fn a_token_is_shown_once_and_its_hash_is_configuration() {
    let folder = TempDir::new().unwrap();
    let made = Launch::bulkhead(&["admin", "token", "ci", "--scope", "read"]).finish().await;
    assert!(made.succeeded(), "{}", made.stderr);
    let token = made.stderr.trim().rsplit(' ').next().unwrap();
    assert!(
        token.starts_with("bulkhead_") && token.len() > 40 && !made.stdout.contains(token),
        "{}",
        made.stdout
    );
    let other = Launch::bulkhead(&["admin", "token", "ci"]).finish().await;
    assert_ne!(other.stderr, made.stderr);

    let a = folder.path().join("a.wasm");
    fs::write(&a, Guest::default().component()).unwrap();
    let config = format!("{}[slots.captcha]\ncomponent = {a:?}\n{SITE}", made.stdout);
    let host = Launch::serve_with(folder.path(), &config).ready().await;
    let file = folder.path().join("token");
    fs::write(&file, format!("{token}\n")).unwrap();
    let url = host.admin_url("");
    let list = ["component", "list", "--url", &url, "--token-file", file.to_str().unwrap()];
    let listed = Launch::bulkhead(&list).finish().await;
    assert!(listed.succeeded(), "{}", listed.stderr);
    assert!(!host.text().contains(token));
    host.stop().await;
}

/// Nobody is asked.
#[tokio::test]
async fn arguments_that_make_no_sense_end_as_wrong_arguments() {
    let nobody = "http://127.0.0.1:1";
    for (arguments, url, token, said) in [
        ("component list", "127.0.0.1:9901", "token", "BULKHEAD_ADMIN_URL must be a URL"),
        ("component list", "ftp://127.0.0.1:1", "token", "BULKHEAD_ADMIN_URL must be a URL"),
        ("component list", "http://", "token", "BULKHEAD_ADMIN_URL must be a URL"),
        ("config show", "http://eva:secret@127.0.0.1:1", "token", "without a user"),
        ("config show", "http://127.0.0.1:1/?secret", "token", "without a user, a query"),
        ("admin audit", nobody, "secret\nsecret", "has a line break"),
        ("admin audit", nobody, " \n", "is empty"),
        ("admin token a.b", nobody, "token", "letters, digits, - and _ only"),
        ("component push captcha oci://Registry.example/a:1", nobody, "token", "must be oci://HOST"),
        ("component swap captcha --file oci://registry.example", nobody, "token", "must be oci://HOST"),
        ("component check --slot captcha oci://registry.example/a", nobody, "token", "must name a tag"),
    ] {
        let arguments: Vec<_> = arguments.split(' ').collect();
        let launch = Launch::bulkhead(&arguments).env("BULKHEAD_ADMIN_URL", url).env("HOME", "/");
        let finished = launch.env("BULKHEAD_ADMIN_TOKEN", token).finish().await;
        assert_eq!(finished.status.code(), Some(2), "{arguments:?} {url}: {}", finished.stderr);
        assert!(finished.stderr.contains(said), "{arguments:?}: {}", finished.stderr);
        assert!(!finished.stderr.contains("secret"), "{}", finished.stderr);
    }
    let without = Launch::bulkhead(&["component", "list"]).finish().await;
    assert_eq!(without.status.code(), Some(2), "{}", without.stderr);
    assert!(without.stderr.contains("no token: "), "{}", without.stderr);
}

#[tokio::test]
async fn shells_complete_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = Launch::bulkhead(&["completions", shell]).finish().await;
        assert!(script.succeeded(), "{shell}: {}", script.stderr);
        for word in [
            "list", "show", "check", "push", "swap", "canary", "shadow", "promote", "rollback", "history",
            "diff",
        ] {
            assert!(script.stdout.contains(word), "{shell} does not know {word}");
        }
        for word in ["logs", "reload", "undo", "audit", "trial", "reason", "generation", "token-file", "json"]
        {
            assert!(script.stdout.contains(word), "{shell} does not know {word}");
        }
    }
}
