//! What the command line shows of a running host: shadow, diff, history and logs of a slot, and the configuration.

use std::fs;

use bulkhead_tests::{
    child::{Bulkhead, Launch},
    guests::{Guest, answering},
    host::eventually,
    operator,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::operate::{done, fails};
use crate::process::{SITE, envelope};

/// Logs a line on every call and answers with `letter`.
fn talking(letter: char) -> Guest {
    let log = "(call $log (i32.const 2) (i32.const 2048) (i32.const 5) (i32.const 2053) (i32.const 9))";
    let import =
        r#"(import "wasi:logging/logging@0.1.0-draft" "log" (func $log (param i32 i32 i32 i32 i32)))"#;
    let guest = answering(letter, log).with_imports(import);
    let fields = format!(r#"{} (data (i32.const 2048) "placea message")"#, guest.fields);
    guest.with_fields(&fields)
}

async fn json_of(host: &Bulkhead, arguments: &[&str]) -> Value {
    let text = done(host, &[arguments, &["--json"]].concat()).await;
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[tokio::test]
async fn shadow_history_and_log_are_shown() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str, wasm: Vec<u8>| {
        let path = folder.path().join(name);
        fs::write(&path, wasm).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (a, b) = (file("a.wasm", talking('A').component()), file("b.wasm", answering('B', "").component()));
    let config = format!("{}[slots.captcha]\ncomponent = {a:?}\n{SITE}", operator::tokens());
    let host = Launch::serve_with(folder.path(), &config).ready().await;

    let shadow = ["component", "shadow", "captcha"];
    fails(&host, operator::READ, &shadow, 4, "no candidate in shadow").await;
    fails(&host, operator::READ, &["component", "shadow", "captcha", "--file", &b], 5, "scope is read").await;
    let begun = done(&host, &["component", "shadow", "captcha", "--file", &b, "--reason", "to see"]).await;
    assert!(begun.contains("in shadow; 0 calls") && begun.contains("by admin"), "{begun}");
    for _ in 0..2 {
        assert_eq!(host.post("/api/v1/captcha/challenge", &envelope()).await.0, 200);
    }
    eventually("both copies are compared", async || json_of(&host, &shadow).await["different"] == 2).await;
    let found = json_of(&host, &shadow).await;
    assert_eq!(found["differences"].as_array().unwrap().len(), 2, "{found}");
    let shown = done(&host, &shadow).await;
    assert!(shown.contains("0 answered alike, 2 in another way, 0 failed, 0 skipped"), "{shown}");
    assert!(shown.contains("  document.letter: \"A\" -> \"B\""), "{shown}");

    let history = json_of(&host, &["component", "history", "captcha"]).await;
    let versions = history["versions"].as_array().unwrap();
    let ids: Vec<&str> = versions.iter().map(|version| version["id"].as_str().unwrap()).collect();
    let [first, second] = ids[..] else { panic!("{history}") };
    let shown = done(&host, &["component", "history", "captcha"]).await;
    assert!(shown.contains(first) && shown.contains("a.wasm") && shown.contains(": to see"), "{shown}");

    let diff = ["component", "diff", "captcha", &first[..8], &second[..8]];
    let found = json_of(&host, &diff).await;
    let import = "wasi:logging/logging@0.1.0-draft";
    assert_eq!(found["imports"], json!({ "only_a": [import], "only_b": [] }));
    let shown = done(&host, &diff).await;
    assert!(shown.contains(&format!("imports of a only: {import}\n")), "{shown}");
    assert!(shown.contains("built for bulkhead:captcha@0.1.1") && shown.contains(second), "{shown}");
    let unknown = ["component", "diff", "captcha", first, "ffffffff"];
    fails(&host, operator::READ, &unknown, 1, "knows no version ffffffff").await;

    let lines = json_of(&host, &["component", "logs", "captcha"]).await;
    let lines = lines["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 2, "copies log nothing: {lines:?}");
    assert_eq!((&lines[0]["context"], &lines[0]["message"]), (&json!("place"), &json!("a message")));
    let shown = done(&host, &["component", "logs", "captcha", "--lines", "1"]).await;
    assert_eq!(shown.lines().count(), 1, "{shown}");
    assert!(shown.contains(" info ") && shown.trim_end().ends_with(" place a message"), "{shown}");

    done(&host, &["component", "rollback", "captcha"]).await;
    fails(&host, operator::READ, &shadow, 4, "no candidate in shadow").await;
    let log = host.stop().await;
    let refused = log.iter().find(|line| line["code"] == "forbidden").unwrap();
    assert_eq!((&refused["actor"], &refused["level"]), (&json!("read"), &json!("WARN")), "{refused}");
    assert_eq!(refused["route"], "/v1/slots/{slot}/versions");
}

#[tokio::test]
async fn configuration_is_shown_reloaded_and_undone() {
    let folder = TempDir::new().unwrap();
    let base = format!("{}{SITE}", operator::tokens());
    let host = Launch::serve_with(folder.path(), &base).ready().await;
    let write = |text: &str| fs::write(folder.path().join("bulkhead.toml"), text).unwrap();
    let show = ["config", "show"];
    let first = json_of(&host, &show).await;
    assert!(done(&host, &show).await.contains("reloaded          0 times\n"));
    fails(&host, operator::ADMIN, &["config", "undo"], 4, "no configuration before this one").await;

    write(&format!("{base}[log]\nlevel = \"debug\"\n[server]\nmax_connections = 7\n"));
    let (live, restart) = ("log.level\n", "needs a restart   server.max_connections\n");
    let tried = done(&host, &["config", "reload", "--trial"]).await;
    assert_eq!(tried, format!("would take effect {live}{restart}"));
    assert_eq!(json_of(&host, &show).await, first, "a dry run changes nothing");
    fails(&host, operator::DEPLOY, &["config", "reload"], 5, "scope is deploy, but this request needs admin")
        .await;
    let done_now = done(&host, &["config", "reload", "--reason", "to see more"]).await;
    assert_eq!(done_now, format!("took effect       {live}{restart}"));
    let shown = done(&host, &show).await;
    assert!(
        shown.contains(restart) && shown.contains("by admin: ") && shown.contains("to see more"),
        "{shown}"
    );
    assert!(
        shown.contains(&format!("previous revision {}\n", first["revision"].as_str().unwrap())),
        "{shown}"
    );
    let again = json_of(&host, &["config", "reload"]).await;
    assert_eq!((&again["live"], &again["restart"]), (&json!([]), &json!(["server.max_connections"])));

    write(&format!("{base}[log]\nlevel = \"loud\"\n"));
    for arguments in [&["config", "reload"][..], &["config", "reload", "--trial"]] {
        fails(&host, operator::ADMIN, arguments, 3, "log.level: ").await;
    }
    let shown = done(&host, &show).await;
    assert!(shown.contains("refused           ") && shown.contains("bulkhead.toml line"), "{shown}");
    assert_eq!(done(&host, &["config", "undo"]).await, format!("took effect       {live}{restart}"));
    let shown = done(&host, &show).await;
    assert!(shown.contains(restart), "the file still has it: {shown}");
    assert_eq!(json_of(&host, &show).await["revision"], first["revision"]);

    let audit = done(&host, &["admin", "audit", "--configuration"]).await;
    let stages: Vec<_> = audit.lines().skip(1).filter_map(|line| line.split_whitespace().nth(4)).collect();
    assert_eq!(stages, ["active", "active", "refused", "active"], "{audit}");
    assert_eq!(done(&host, &["admin", "audit", "--slot", "config"]).await, audit);
    fails(&host, "a wrong token", &["admin", "audit"], 5, "does not know the token").await;
    let refused = ["admin", "audit", "--slot", "access"];
    let noted = async || done(&host, &refused).await.contains("GET /v1/audit from 127.0.0.1: unauthorized");
    eventually("the attempt is noted", noted).await;
    fails(&host, operator::ADMIN, &["admin", "audit", "--slot", "nobody"], 1, "the slots are captcha").await;
    fails(&host, operator::ADMIN, &["config", "show", "--url", "http://127.0.0.1:1"], 6, "no answer from")
        .await;
    host.stop().await;
}
