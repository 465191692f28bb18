//! A hostile guest for every limit. The macro makes a test of each entry, so none can be without one.

use bulkhead_tests::{TestHost, guests::Guest, host::eventually};
use serde_json::{Value, json};

/// Limits tight enough to be met soon.
const CONFIG: &str = r#"
    [captcha.sites.site]
    secret = "secret"
    [slots.captcha]
    memory_bytes = 1048576
    table_elements = 1000
    cpu_ms = 50
    deadline_ms = 2000
    response_bytes = 65536
    log_bytes_per_second = 4096
"#;

/// How a call must end.
struct Expected {
    status: u16,
    outcome: &'static str,
}

const fn ends(status: u16, outcome: &'static str) -> Expected {
    Expected { status, outcome }
}

async fn challenge(host: &TestHost) -> reqwest::Response {
    let body = json!({"siteKey": "site", "siteSecret": "secret", "clientAddress": "192.0.2.1"});
    host.client().post(host.url("/api/v1/captcha/challenge")).json(&body).send().await.unwrap()
}

/// The call ends as expected, is counted so, tells the client nothing, and leaves nothing behind.
async fn assert_contained(guest: Guest, config: &str, expected: Expected) {
    let host = TestHost::builder().config(CONFIG).config(config).component(guest.component()).start().await;
    for round in 1..=2 {
        let answer = challenge(&host).await;
        let status = answer.status().as_u16();
        let retry_after = answer.headers().contains_key("retry-after");
        let text = answer.text().await.unwrap();
        assert_eq!(status, expected.status, "{text}");
        assert_eq!(retry_after, status == 503, "a 503 says when to ask again");
        let body: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(body["status"], expected.status, "{text}");
        for inside in ["wasm", "backtrace", "hostile", "0x", "unreachable"] {
            assert!(!text.contains(inside), "{text} tells of the inside");
        }
        let series = format!("bulkhead_calls_total{{outcome=\"{}\",slot=\"captcha\"}}", expected.outcome);
        assert_eq!(host.metric(&series).await, f64::from(round), "{series}");
    }
    host.stop().await;
}

macro_rules! hostile_guests {
    ($($(#[doc = $doc:literal])* $name:ident: $expected:expr, $guest:expr $(, $config:literal)?;)*) => {
        $(
            $(#[doc = $doc])*
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                assert_contained($guest, concat!($($config)?), $expected).await;
            }
        )*
    };
}

hostile_guests! {
    /// Burns its CPU budget.
    endless_loop: ends(503, "cpu-budget"), Guest::call("(loop $again (br $again)) unreachable");

    /// Burns it before it has an instance. Its self-test never ends either, so the slot takes it untried.
    deep_recursion: ends(500, "trap"),
        Guest::call("(call $hostile (i32.const 1))")
            .with_fields("(func $hostile (param i32) (result i32) (i32.add (i32.const 1) (call $hostile (local.get 0))))");

    /// Traps at once.
    trap: ends(500, "trap"), Guest::call("(call $hostile_function)")
        .with_fields("(func $hostile_function (result i32) unreachable)");

    /// Grows its memory until it is refused.
    memory_bomb: ends(500, "memory-limit"),
        Guest::call("(loop $again (br_if $again (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) unreachable");

    /// Spreads over several memories what one may not have.
    many_memories: ends(500, "memory-limit"),
        Guest::call("
            (loop $again
                (br_if $again (i32.ne (memory.grow $second (i32.const 1)) (i32.const -1)))
                (br_if $again (i32.ne (memory.grow $third (i32.const 1)) (i32.const -1))))
            unreachable")
            .with_memory(r#"(memory (export "memory") 4) (memory $second 1) (memory $third 1)"#);

    /// Grows a table until it is refused.
    table_bomb: ends(500, "memory-limit"),
        Guest::call("
            (loop $again (br_if $again (i32.ne (table.grow $hostile (ref.null func) (i32.const 100)) (i32.const -1))))
            unreachable")
            .with_memory(r#"(memory (export "memory") 4) (table $hostile 1 funcref)"#);

    /// Answers with a string as long as all its memory.
    huge_answer: ends(500, "response-too-large"),
        Guest::call("
            (i32.store (i32.const 8) (i32.const 0))
            (i32.store (i32.const 12) (i32.const 262144))
            i32.const 0");

    /// Answers with a string outside its memory.
    answer_out_of_bounds: ends(500, "trap"),
        Guest::call("
            (i32.store (i32.const 8) (i32.const 0x7fff0000))
            (i32.store (i32.const 12) (i32.const 100))
            i32.const 0");

    /// Waits in the host for ever.
    host_call_that_never_returns: ends(504, "deadline"),
        Guest::call("(call $block (call $subscribe (i64.const 0x7fffffffffffffff))) unreachable")
            .with_imports(r#"
                (import "wasi:clocks/monotonic-clock@0.2.12" "subscribe-duration" (func $subscribe (param i64) (result i32)))
                (import "wasi:io/poll@0.2.12" "[method]pollable.block" (func $block (param i32)))"#),
        "deadline_ms = 300\ngrants = [\"wasi:io/poll\"]";

    /// Takes handles and never drops them.
    handles_never_dropped: ends(500, "trap"),
        Guest::call("(loop $again (drop (call $subscribe (i64.const 1))) (br $again)) unreachable")
            .with_imports(r#"
                (import "wasi:clocks/monotonic-clock@0.2.12" "subscribe-duration" (func $subscribe (param i64) (result i32)))"#),
        "cpu_ms = 5000\ngrants = [\"wasi:io/poll\"]";

    /// Asks for more random bytes than one host call may hand over.
    huge_host_call: ends(500, "memory-limit"),
        Guest::call("(call $random (i64.const 0x4000000) (i32.const 16)) unreachable")
            .with_imports(r#"
                (import "wasi:random/random@0.2.12" "get-random-bytes" (func $random (param i64 i32)))"#);

    /// Answers with something that is not JSON.
    no_json: ends(500, "ok"), Guest::default();
}

/// A guest that loops while it is being instantiated never answers its trial, so it is never active.
#[tokio::test(flavor = "multi_thread")]
async fn endless_loop_while_instantiating() {
    let guest = Guest::default().with_fields("(func $start (loop $again (br $again))) (start $start)");
    let host = TestHost::builder().config(CONFIG).component(guest.component()).start().await;
    let answer = challenge(&host).await;
    assert_eq!(answer.status(), 503);
    let body: Value = answer.json().await.unwrap();
    assert!(body["message"].as_str().unwrap().contains("cpu-budget"), "{body}");
    let ready = host.client().get(host.admin_url("/health/ready")).send().await.unwrap();
    assert_eq!(ready.status(), 503);
    host.stop().await;
}

/// As many loops as there are places, and more waiting: liveness answers all the while.
#[tokio::test(flavor = "multi_thread")]
async fn loops_on_all_cores_leave_liveness_alone() {
    let guest = Guest::call("(loop $again (br $again)) unreachable");
    let config = "cpu_ms = 2000\nmax_concurrent = 8\nqueue_length = 4\nqueue_wait_ms = 100";
    let host = TestHost::builder().config(CONFIG.replace("cpu_ms = 50", config).as_str());
    let host = host.component(guest.component()).start().await;
    let calls = futures_util::future::join_all((0..20).map(|_| challenge(&host)));
    let probes = async {
        let mut alive = 0;
        for _ in 0..20 {
            let answer = host.client().get(host.admin_url("/health/live")).send().await.unwrap();
            alive += u32::from(answer.status() == 200);
        }
        alive
    };
    let (answers, alive) = tokio::join!(calls, probes);
    assert_eq!(alive, 20);
    for answer in answers {
        assert!([503, 504].contains(&answer.status().as_u16()), "{}", answer.status());
    }
    let overloaded = host.metric(r#"bulkhead_calls_total{outcome="overloaded",slot="captcha"}"#).await;
    assert!(overloaded >= 1.0, "the queue is bounded");
    host.stop().await;
}

/// A thousand traps cost nothing that stays.
#[tokio::test(flavor = "multi_thread")]
async fn trap_storm() {
    let host =
        TestHost::builder().config(CONFIG).component(Guest::call("unreachable").component()).start().await;
    for _ in 0..20 {
        let answers = futures_util::future::join_all((0..50).map(|_| challenge(&host))).await;
        assert!(answers.iter().all(|answer| answer.status() == 500));
    }
    assert_eq!(host.metric(r#"bulkhead_calls_total{outcome="trap",slot="captcha"}"#).await, 1000.0);
    host.stop().await;
}

/// Terminal escapes by the megabyte: the log takes its budget and counts the rest.
#[tokio::test(flavor = "multi_thread")]
async fn log_flood() {
    let guest = Guest::call(
        "(local $i i32)
        (loop $again
            (call $log (i32.const 4) (i32.const 1024) (i32.const 3) (i32.const 1024) (i32.const 2000))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $again (i32.lt_u (local.get $i) (i32.const 500))))
        unreachable",
    )
    .with_imports(
        r#"(import "wasi:logging/logging@0.1.0-draft" "log" (func $log (param i32 i32 i32 i32 i32)))"#,
    )
    .with_fields(r#"(data (i32.const 1024) "\1b[2J\1b]0;owned\07\0d\0a")"#);
    let host = TestHost::builder().config(CONFIG).component(guest.component()).start().await;
    challenge(&host).await;
    let dropped = host.metric(r#"bulkhead_guest_log_dropped_bytes_total{slot="captcha"}"#).await;
    assert!(dropped > 500_000.0, "dropped {dropped}");
    host.stop().await;
}

/// A caller that leaves ends its call.
#[tokio::test(flavor = "multi_thread")]
async fn client_gone_mid_call() {
    let guest = Guest::call("(loop $again (br $again)) unreachable");
    let config =
        CONFIG.replace("cpu_ms = 50", "cpu_ms = 60000").replace("deadline_ms = 2000", "deadline_ms = 60000");
    let host = TestHost::builder().config(&config).component(guest.component()).start().await;
    let gone = tokio::time::timeout(std::time::Duration::from_millis(300), challenge(&host)).await;
    assert!(gone.is_err(), "the guest never answers");
    eventually("the call is counted as cancelled", async || {
        host.metric(r#"bulkhead_calls_total{outcome="cancelled",slot="captcha"}"#).await == 1.0
    })
    .await;
    host.stop().await;
}
