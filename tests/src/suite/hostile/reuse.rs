//! Pooled instances: `reuse = true` trades isolation between calls for speed, and a call that ends badly
//! takes its instance with it.

use super::*;

/// Answers with how many calls its instance has had, four digits. `body` runs with that number in
/// `$count` before the answer.
fn counting(body: &str) -> Guest {
    let digit = |place: u32, divisor: u32| {
        format!(
            "(i32.store8 (i32.const {}) (i32.add (i32.const 48)
                (i32.rem_u (i32.div_u (global.get $count) (i32.const {divisor})) (i32.const 10))))",
            1030 + place
        )
    };
    let digits = [digit(0, 1000), digit(1, 100), digit(2, 10), digit(3, 1)].concat();
    Guest::call(&format!(
        "(global.set $heap (i32.const 65536))
        (global.set $count (i32.add (global.get $count) (i32.const 1)))
        {body} {digits}
        (i32.store (i32.const 8) (i32.const 1024)) (i32.store (i32.const 12) (i32.const 12)) i32.const 0"
    ))
    .with_fields(r#"(global $count (mut i32) (i32.const 0)) (data (i32.const 1024) "{\"n\":\"0000\"}")"#)
}

/// The number that the next call answers with, or the code of its error.
async fn next(host: &TestHost) -> Result<u32, String> {
    let body: Value = challenge(host).await.json().await.unwrap();
    match body["challenge"]["n"].as_str() {
        Some(number) => Ok(number.parse().unwrap()),
        None => Err(body["code"].as_str().unwrap().to_owned()),
    }
}

async fn start(guest: &Guest, reuse: &str) -> TestHost {
    hosting(guest.component(), &[("slots.captcha.reuse", reuse)]).start().await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_reuse_no_call_sees_another() {
    let host = start(&counting(""), "false").await;
    for _ in 0..3 {
        assert_eq!(next(&host).await, Ok(1));
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_reuse_memory_stays_between_calls() {
    let host = start(&counting(""), "true").await;
    for number in 1..=3 {
        assert_eq!(next(&host).await, Ok(number));
    }
    stop(host, 1.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trap_takes_its_instance_with_it() {
    let guest = counting("(if (i32.eq (global.get $count) (i32.const 3)) (then unreachable))");
    let host = start(&guest, "true").await;
    for _ in 0..2 {
        assert_eq!(next(&host).await, Ok(1));
        assert_eq!(next(&host).await, Ok(2));
        assert_eq!(next(&host).await, Err("trap".into()));
    }
    stop(host, 0.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_answer_drops_the_kept_instance() {
    // Zeros stand at 32768: `ok` with an empty challenge.
    let guest = counting("(if (i32.eq (global.get $count) (i32.const 2)) (then (return (i32.const 32768))))");
    let host = start(&guest, "true").await;
    for _ in 0..2 {
        assert_eq!(next(&host).await, Ok(1));
        assert_eq!(next(&host).await, Err("bad-answer".into()));
    }
    stop(host, 0.0).await;
}

/// A budget is each call's own: a kept instance does not run out of it.
#[tokio::test(flavor = "multi_thread")]
async fn spent_budget_drops_its_instance() {
    let guest = counting("(if (i32.eq (global.get $count) (i32.const 3)) (then (loop $again (br $again))))");
    let host = start(&guest, "true").await;
    for _ in 0..2 {
        assert_eq!(next(&host).await, Ok(1));
        assert_eq!(next(&host).await, Ok(2));
        assert_eq!(next(&host).await, Err("cpu-budget".into()));
    }
    stop(host, 0.0).await;
}

/// A refusal belongs to the call in which it was made, not to a later one's trap.
#[tokio::test(flavor = "multi_thread")]
async fn refusal_does_not_reach_next_call() {
    let guest = counting(
        "(drop (memory.grow (i32.mul (i32.eq (global.get $count) (i32.const 1)) (i32.const 1000))))
        (if (i32.eq (global.get $count) (i32.const 2)) (then unreachable))",
    );
    let host = start(&guest, "true").await;
    assert_eq!(next(&host).await, Ok(1));
    assert_eq!(next(&host).await, Err("trap".into()));
    stop(host, 0.0).await;
}

/// Memory is the instance's: what earlier calls took is not there for later ones.
#[tokio::test(flavor = "multi_thread")]
async fn a_leak_meets_the_limit() {
    let guest = counting("(if (i32.eq (memory.grow (i32.const 4)) (i32.const -1)) (then unreachable))");
    let host = start(&guest, "true").await;
    // Four pages to begin with, sixteen at most.
    for number in 1..=3 {
        assert_eq!(next(&host).await, Ok(number));
    }
    assert_eq!(next(&host).await, Err("memory-limit".into()));
    assert_eq!(next(&host).await, Ok(1));
    stop(host, 1.0).await;
}

/// A kept instance retires, so that a leak in it stays small.
#[tokio::test(flavor = "multi_thread")]
async fn kept_instance_serves_bounded_calls() {
    let host = start(&counting(""), "true").await;
    let mut last = 0;
    let served = loop {
        match next(&host).await.unwrap() {
            1 if last > 0 => break last,
            number => last = number,
        }
        assert!(last <= 1000, "an instance has served {last} calls");
    };
    assert!(served > 100, "an instance was dropped after {served} calls");
    stop(host, 1.0).await;
}

/// Calls that follow each other share one instance: no more than that is in use when they have ended.
async fn stop(host: TestHost, kept: f64) {
    eventually("as many instances are kept as should be", async || {
        host.metric("bulkhead_in_flight{slot=\"captcha\"}").await == 0.0
            && host.metric("bulkhead_pool_slots_in_use{kind=\"component_instances\"}").await == kept
    })
    .await;
}
