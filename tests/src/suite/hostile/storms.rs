//! Many calls at once, and callers that leave.

use bulkhead_tests::{
    child::Launch,
    operator::{self, Operator},
};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tempfile::TempDir;

use super::*;
use crate::process::{SITE, envelope};

const LOOP: &str = "(loop $again (br $again)) unreachable";

/// As many loops as there are places, and more waiting: liveness answers all the while, and a caller that finds no place gets an answer that says so.
#[tokio::test(flavor = "multi_thread")]
async fn loops_on_all_cores_leave_liveness_alone() {
    let settings = [
        ("slots.captcha.cpu_ms", "600000"),
        ("slots.captcha.max_concurrent", "8"),
        ("slots.captcha.queue_length", "4"),
        ("slots.captcha.queue_wait_ms", "100"),
        ("slots.captcha.deadline_ms", "600000"),
    ];
    let host = hosting(Guest::call(LOOP).component(), &settings).start().await;
    let mut answers: FuturesUnordered<_> = (0..20).map(|_| challenge(&host)).collect();
    let refused: Vec<_> = answers.by_ref().take(12).map(|answer| answer.status().as_u16()).collect().await;
    assert_eq!(refused, [503; 12]);
    let running = async || host.metric("bulkhead_in_flight{slot=\"captcha\"}").await;
    assert_eq!(running().await, 8.0);
    for _ in 0..20 {
        let answer = host.client().get(host.admin_url("/health/live")).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    }
    assert_eq!(running().await, 8.0, "the loops go on while liveness answers");
    drop(answers);
    eventually("every loop is ended", async || calls(&host, "cancelled").await == 8.0).await;
    assert_eq!(calls(&host, "overloaded").await, 12.0);
    host.stop().await;
}

/// A thousand traps cost nothing that stays.
#[tokio::test(flavor = "multi_thread")]
async fn trap_storm() {
    let host = hosting(Guest::call("unreachable").component(), &[]).start().await;
    for _ in 0..20 {
        let answers = futures_util::future::join_all((0..50).map(|_| challenge(&host))).await;
        assert!(answers.iter().all(|answer| answer.status() == 500));
    }
    assert_eq!(calls(&host, "trap").await, 1000.0);
    host.stop().await;
}

/// Terminal escapes by the megabyte: the log takes its budget, escaped, and counts the rest.
#[tokio::test(flavor = "multi_thread")]
async fn log_flood() {
    const MESSAGE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}";
    const ESCAPED: &str = r"\u{1b}[2J\u{1b}]0;owned\u{7}";
    const MESSAGES: f64 = 50_000.0;
    let length = MESSAGE.len();
    let guest = Guest::call(&format!(
        "(local $i i32)
        (loop $again
            (call $log (i32.const 4) (i32.const 1024) (i32.const 4) (i32.const 1024) (i32.const {length}))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $again (i32.lt_u (local.get $i) (i32.const {MESSAGES}))))
        unreachable",
    ))
    .with_imports(
        r#"(import "wasi:logging/logging@0.1.0-draft" "log" (func $log (param i32 i32 i32 i32 i32)))"#,
    )
    .with_fields(r#"(data (i32.const 1024) "\1b[2J\1b]0;owned\07")"#);
    let folder = TempDir::new().unwrap();
    let component = folder.path().join("guest.wasm");
    std::fs::write(&component, guest.component()).unwrap();
    let slot = format!("[slots.captcha]\ncomponent = {component:?}\ncpu_ms = 60000\ndeadline_ms = 60000\n");
    let config = format!("{}{slot}log_bytes_per_second = 4096\n{SITE}", operator::tokens());
    let host = Launch::serve_with(folder.path(), &config).ready().await;
    let (status, answer) = host.post("/api/v1/captcha/challenge", &envelope()).await;
    assert_eq!(status, 500, "{answer}");
    let written = host.metric(r#"bulkhead_guest_log_lines_total{level="error",slot="captcha"}"#).await;
    let dropped = host.metric(r#"bulkhead_guest_log_dropped_bytes_total{slot="captcha"}"#).await;
    assert_eq!(
        written * length as f64 + dropped,
        MESSAGES * length as f64,
        "each message is written or counted"
    );
    assert!(written >= 1.0, "nothing is written");
    let (_, shown) =
        Operator::new(&host.admin_url(""), operator::READ).get("/v1/slots/captcha/logs?limit=1000").await;
    let shown = shown["lines"].as_array().unwrap().iter().filter(|line| line["level"] == "error");
    let (diagnosis, shown): (Vec<_>, Vec<_>) = shown.partition(|line| line["context"] == "trap");
    assert!(!diagnosis.is_empty(), "a flood hides why the host ended the call");
    assert!(shown.iter().all(|line| line["message"] == ESCAPED && line["context"] == r"\u{1b}[2J"));
    assert!(!shown.is_empty());
    let text = host.text();
    assert!(!text.contains(['\u{1b}', '\u{7}']), "{text}");
    let log = host.stop().await;
    let lines = log.iter().filter(|line| line["target"] == "guest" && line["message"] == ESCAPED);
    assert_eq!(lines.count() as f64, written);
}

/// A caller that leaves ends its call.
#[tokio::test(flavor = "multi_thread")]
async fn client_gone_mid_call() {
    let settings = [("slots.captcha.cpu_ms", "60000"), ("slots.captcha.deadline_ms", "60000")];
    let host = hosting(Guest::call(LOOP).component(), &settings).start().await;
    let running = async || host.metric("bulkhead_in_flight{slot=\"captcha\"}").await;
    tokio::select! {
        _ = challenge(&host) => panic!("the guest never answers"),
        () = eventually("the call runs", async || running().await == 1.0) => {}
    }
    eventually("the call is counted as cancelled", async || calls(&host, "cancelled").await == 1.0).await;
    host.stop().await;
}

/// A caller that leaves while it waits for a place gives its turn away.
#[tokio::test(flavor = "multi_thread")]
async fn client_gone_while_queued() {
    let settings = [
        ("slots.captcha.cpu_ms", "60000"),
        ("slots.captcha.deadline_ms", "60000"),
        ("slots.captcha.max_concurrent", "1"),
        ("slots.captcha.queue_wait_ms", "60000"),
    ];
    let host = hosting(Guest::call(LOOP).component(), &settings).start().await;
    let count = async |name: &str| host.metric(&format!("{name}{{slot=\"captcha\"}}")).await;
    let watch = async {
        eventually("one call runs and one waits", async || {
            count("bulkhead_in_flight").await == 1.0 && count("bulkhead_queue_depth").await == 1.0
        })
        .await;
    };
    tokio::select! {
        _ = futures_util::future::join(challenge(&host), challenge(&host)) => panic!("the guest never answers"),
        () = watch => {}
    }
    eventually("both are counted as cancelled", async || calls(&host, "cancelled").await == 2.0).await;
    host.stop().await;
}
