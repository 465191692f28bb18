//! Log lines as JSON: each line of a request can be found by its id, and nobody waits for their reader.

use std::collections::BTreeSet;

use bulkhead_tests::{child::Launch, guests::Guest, operator};
use serde_json::Value;
use tempfile::TempDir;

use super::{SITE, commands::operate::done, envelope};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// Says two lines, then traps.
fn talkative() -> Guest {
    let call = "(call $log (i32.const 2) (i32.const 1024) (i32.const 3) (i32.const 1024) (i32.const 11)) unreachable";
    let import =
        r#"(import "wasi:logging/logging@0.1.0-draft" "log" (func $log (param i32 i32 i32 i32 i32)))"#;
    Guest::call(call).with_imports(import).with_fields(r#"(data (i32.const 1024) "so it\ngoes\n")"#)
}

/// Whatever a request makes anyone log.
fn concerns_a_request(line: &Value) -> bool {
    let target = line["target"].as_str().unwrap();
    let of_requests = target.starts_with("bulkhead::") && target.ends_with("::http");
    target == "guest" || target == "bulkhead::call" || of_requests
}

#[tokio::test(flavor = "multi_thread")]
async fn request_lines_carry_its_id() {
    let folder = TempDir::new().unwrap();
    let component = folder.path().join("guest.wasm");
    std::fs::write(&component, talkative().component()).unwrap();
    let slot = format!("slots.captcha.component = \"{}\"\n", component.display());
    let host = Launch::serve_with(folder.path(), &format!("{slot}{SITE}")).args(&["--log-level", "trace"]);
    let host = host.ready().await;

    let ask = async |number: usize| {
        let id = format!("request-{number}");
        let request = host.client().post(host.url("/api/v1/captcha/challenge")).json(&envelope());
        let request = request.header("x-request-id", &id);
        let answer = request.header("traceparent", format!("00-{TRACE}-{number:016x}-01")).send().await;
        let answer = answer.unwrap();
        assert_eq!(answer.status(), 500);
        assert_eq!(answer.headers()["x-request-id"], id.as_str());
        id
    };
    let ids = futures_util::future::join_all((1..=20).map(ask)).await;
    let bad = host.client().get(host.url("/nowhere")).header("x-request-id", "x".repeat(65));
    let bad = bad.header("traceparent", "00-nonsense-01").send().await.unwrap();
    let made = bad.headers()["x-request-id"].to_str().unwrap().to_owned();

    let log = host.stop().await;
    for line in &log {
        for member in ["timestamp", "level", "target"] {
            assert!(line[member].is_string(), "{member} is missing in {line}");
        }
    }
    for (number, id) in ids.iter().enumerate() {
        let lines: Vec<&Value> = log.iter().filter(|line| line["id"] == id.as_str()).collect();
        let parent = format!("00-{TRACE}-{:016x}-01", number + 1);
        assert!(lines.iter().all(|line| line["traceparent"] == parent.as_str()), "{lines:?}");
        let count = |name: &str, value: &str| lines.iter().filter(|line| line[name] == value).count();
        assert_eq!(count("target", "guest"), 2, "{lines:?}");
        assert_eq!(count("message", "the sandbox ended a call"), 1, "{lines:?}");
        assert_eq!(count("message", "answered"), 1, "{lines:?}");
    }
    let of_made: Vec<&Value> = log.iter().filter(|line| line["id"] == made.as_str()).collect();
    assert_eq!(of_made.len(), 1, "{of_made:?}");
    assert_eq!((&of_made[0]["message"], &of_made[0]["status"]), (&"answered".into(), &404.into()));
    assert!(of_made[0].get("traceparent").is_none(), "a malformed one is not taken over");

    let known: BTreeSet<&str> = ids.iter().map(String::as_str).chain([made.as_str()]).collect();
    for line in log.iter().filter(|line| concerns_a_request(line)) {
        assert!(line["id"].as_str().is_some_and(|id| known.contains(id)), "{line} is nobody's");
    }
}

#[tokio::test]
async fn guest_text_cannot_forge_a_line() {
    let folder = TempDir::new().unwrap();
    let component = folder.path().join("guest.wasm");
    std::fs::write(&component, talkative().component()).unwrap();
    let slot = format!("slots.captcha.component = \"{}\"\n", component.display());
    let config = format!("{slot}{}{SITE}", operator::tokens());
    let host = Launch::serve_with(folder.path(), &config).env("RUST_BACKTRACE", "1").ready().await;
    assert_eq!(host.post("/api/v1/captcha/challenge", &envelope()).await.0, 500);
    let shown = done(&host, &["component", "logs", "captcha"]).await;
    let log = host.stop().await;
    let lines: Vec<&Value> = log.iter().filter(|line| line["target"] == "guest").collect();
    let [first, second] = lines[..] else { panic!("{log:?}") };
    assert_eq!((&first["slot"], &first["context"]), (&"captcha".into(), &"so ".into()));
    assert_eq!((&first["message"], &second["message"]), (&"so it".into(), &"goes".into()));
    let ended = log.iter().find(|line| line["message"] == "the sandbox ended a call").unwrap();
    assert_eq!(ended["reason"], "wasm trap: wasm `unreachable` instruction executed");
    assert!(ended["backtrace"].as_str().unwrap().starts_with("0: "), "{ended}");
    for text in [shown.as_str(), ended["reason"].as_str().unwrap(), ended["backtrace"].as_str().unwrap()] {
        for foreign in ["\\n", "Stack backtrace", "bulkhead::", "bulkhead_", "wasmtime::"] {
            assert!(!text.contains(foreign), "{foreign} in {text}");
        }
    }
    let contexts: Vec<_> = shown.lines().map(|line| line.contains(" trap ")).collect();
    assert_eq!(contexts[..3], [false, false, true], "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unread_log_delays_nobody() {
    const DROPPED: &str = "bulkhead_log_lines_dropped_total";
    let folder = TempDir::new().unwrap();
    let host = Launch::serve_with(folder.path(), SITE).args(&["--log-level", "trace"]).ready().await;
    assert_eq!(host.metric(DROPPED).await, 0.0);
    host.stop_reading();
    // Some megabytes of lines may wait; each of these requests writes a few kilobytes.
    for _ in 0..400 {
        let nowhere = host.url("/nowhere");
        let answers = (0..50).map(|_| host.status(&nowhere));
        assert_eq!(futures_util::future::join_all(answers).await, [404; 50]);
        if host.metric(DROPPED).await > 0.0 {
            break;
        }
    }
    assert!(host.metric(DROPPED).await > 0.0, "the pipe was never full");
    assert_eq!(host.post("/api/v1/captcha/challenge", &envelope()).await.0, 200);
    host.stop().await;
}

#[tokio::test]
async fn setting_chooses_which_answers_are_logged() {
    for (access, has_errors) in [("errors", true), ("off", false)] {
        let folder = TempDir::new().unwrap();
        let config = format!("log.access = \"{access}\"\n{SITE}");
        let host = Launch::serve_with(folder.path(), &config).ready().await;
        assert_eq!(host.post("/api/v1/captcha/challenge", &envelope()).await.0, 200);
        assert_eq!(host.status(&host.url("/nowhere")).await, 404);
        let log = host.stop().await;
        // On a busy machine an answer may take a second, and has a line then.
        let is_quick = |line: &&Value| line["ms"].as_f64().is_some_and(|ms| ms < 1000.0);
        let quick = log.iter().filter(|line| line["message"] == "answered").filter(is_quick);
        let statuses: BTreeSet<u64> = quick.map(|line| line["status"].as_u64().unwrap()).collect();
        assert!(statuses.iter().all(|status| has_errors && *status >= 400), "{access}: {statuses:?}");
        assert!(!has_errors || log.iter().any(|line| line["status"] == 404), "{log:?}");
    }
}

#[tokio::test]
async fn start_with_empty_slot_is_not_ready() {
    let folder = TempDir::new().unwrap();
    let component = folder.path().join("guest.wasm");
    std::fs::write(&component, "no component").unwrap();
    let slot = format!("slots.captcha.component = \"{}\"\n", component.display());
    let host = Launch::serve_with(folder.path(), &format!("{slot}{SITE}")).ready().await;
    assert_eq!(host.status(&host.admin_url("/health/ready")).await, 503);
    let [line] = &host.said("serving, but not ready; /health/ready says why")[..] else {
        panic!("{}", host.text())
    };
    assert_eq!(line["level"], "WARN");
    assert!(host.said("ready").is_empty());
    host.stop().await;
}

#[tokio::test]
async fn open_ticket_service_gets_one_warning() {
    let key = "[tickets]\napi_key = \"0123456789abcdef0123456789abcdef\"";
    for (config, warnings) in [("", 1), (key, 0)] {
        let folder = TempDir::new().unwrap();
        let log = Launch::serve_with(folder.path(), config).ready().await.stop().await;
        let warned = log.iter().filter(|line| line["level"] == "WARN");
        let warned = warned.filter(|line| line["message"].as_str().unwrap().contains("set tickets.api_key"));
        assert_eq!(warned.count(), warnings, "{log:?}");
    }
}
