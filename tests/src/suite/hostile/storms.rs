//! Many calls at once, and callers that leave.

use super::*;

const LOOP: &str = "(loop $again (br $again)) unreachable";

/// As many loops as there are places, and more waiting: liveness answers all the while.
#[tokio::test(flavor = "multi_thread")]
async fn loops_on_all_cores_leave_liveness_alone() {
    let settings = [
        ("slots.captcha.cpu_ms", "2000"),
        ("slots.captcha.max_concurrent", "8"),
        ("slots.captcha.queue_length", "4"),
        ("slots.captcha.queue_wait_ms", "100"),
        ("slots.captcha.deadline_ms", "4000"),
    ];
    let host = hosting(Guest::call(LOOP).component(), &settings).start().await;
    let calls_at_once = futures_util::future::join_all((0..20).map(|_| challenge(&host)));
    let probes = async {
        let mut alive = 0;
        for _ in 0..20 {
            let answer = host.client().get(host.admin_url("/health/live")).send().await.unwrap();
            alive += u32::from(answer.status() == 200);
        }
        alive
    };
    let (answers, alive) = tokio::join!(calls_at_once, probes);
    assert_eq!(alive, 20);
    for answer in answers {
        assert!([503, 504].contains(&answer.status().as_u16()), "{}", answer.status());
    }
    assert!(calls(&host, "overloaded").await >= 1.0, "the queue is bounded");
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
    let host = hosting(guest.component(), &[("slots.captcha.cpu_ms", "10000")]).start().await;
    challenge(&host).await;
    let dropped = host.metric(r#"bulkhead_guest_log_dropped_bytes_total{slot="captcha"}"#).await;
    assert!(dropped > 500_000.0, "dropped {dropped}");
    host.stop().await;
}

/// A caller that leaves ends its call.
#[tokio::test(flavor = "multi_thread")]
async fn client_gone_mid_call() {
    let settings = [("slots.captcha.cpu_ms", "60000"), ("slots.captcha.deadline_ms", "60000")];
    let host = hosting(Guest::call(LOOP).component(), &settings).start().await;
    let gone = tokio::time::timeout(std::time::Duration::from_millis(300), challenge(&host)).await;
    assert!(gone.is_err(), "the guest never answers");
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
