//! Swaps: under load, of two operators at once, and what becomes of the version before.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use bulkhead_tests::host::eventually;
use futures_util::future::{join, join_all};

use super::super::*;

const SWAPS: usize = 20;
const CLIENTS: u32 = 6;

async fn swaps_under_load(reuse: &str) {
    // What the host hands over always goes to one place: a kept instance serves any number of calls.
    let guest = |letter| answering(letter, "").with_realloc("i32.const 65536").component();
    let host = hosting_a().component(guest('A')).env("BULKHEAD_SLOTS__CAPTCHA__REUSE", reuse).start().await;
    let operator = operator(&host);
    let mut versions = vec![operator.slot().await["active"]["id"].as_str().unwrap().to_owned()];
    versions.push(operator.push(guest('B')).await);
    let (done, calls) = (AtomicBool::new(false), [AtomicU64::new(0), AtomicU64::new(0)]);
    let answered = || calls.iter().map(|calls| calls.load(Ordering::Relaxed)).sum::<u64>();
    let load = async |client: u32| {
        while !done.load(Ordering::Relaxed) {
            let letter = letter(&host, client).await;
            let version = ['A', 'B'].iter().position(|known| *known == letter).expect("A or B answers");
            calls[version].fetch_add(1, Ordering::Relaxed);
        }
    };
    let swapping = async {
        for round in 1..=SWAPS {
            let slot = operator.swap(&versions[round % 2]).await;
            assert_eq!(slot["generation"], round as u64);
            let expected = if round % 2 == 0 { 'A' } else { 'B' };
            // Calls that begin after the answer are the new version's, every one.
            for client in 0..3 {
                assert_eq!(letter(&host, 100 + client).await, expected, "in round {round}");
            }
            let before = answered();
            answered_since("the load goes on", || answered() >= before + u64::from(CLIENTS)).await;
        }
        done.store(true, Ordering::Relaxed);
    };
    join(join_all((0..CLIENTS).map(load)), swapping).await;
    let of_both = calls.each_ref().map(|calls| calls.load(Ordering::Relaxed));
    assert!(of_both.iter().all(|calls| *calls >= SWAPS as u64), "answers of A and B: {of_both:?}");
    eventually("the version before is freed", async || operator.stage(&versions[1]).await == "retired").await;
    let all = answered() + 3 * SWAPS as u64;
    assert_eq!(good_calls(&host, "captcha").await, all as f64);
    let swaps = "bulkhead_rollouts_total{change=\"swap\",slot=\"captcha\"}";
    assert_eq!(host.metric(swaps).await, SWAPS as f64);
}

#[tokio::test(flavor = "multi_thread")]
async fn swaps_under_load_lose_no_call() {
    swaps_under_load("false").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn swaps_lose_no_call_of_kept_instances() {
    swaps_under_load("true").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn second_of_concurrent_swaps_gets_conflict() {
    let host = hosting_a().start().await;
    let operator = Arc::new(operator(&host));
    for round in 0..5 {
        let (b, c) = (format!("(drop (i32.const {round}))"), format!("(drop (i32.const -{}))", round + 1));
        let b = operator.push(answering('B', &b).component()).await;
        let c = operator.push(answering('C', &c).component()).await;
        let seen = operator.generation().await;
        let swap = |version: &str| json!({ "version": version, "generation": seen });
        let (b_body, c_body) = (swap(&b), swap(&c));
        let answers = join(operator.post("/swap", &b_body), operator.post("/swap", &c_body)).await;
        let answers: [(u16, Value); 2] = answers.into();
        let won = answers.iter().position(|(status, _)| *status == 200).expect("one wins");
        let (status, lost) = &answers[1 - won];
        assert_eq!((*status, lost["error"].as_str()), (409, Some("conflict")), "{lost}");
        assert_eq!(lost["slot"]["generation"], seen + 1);
        assert_eq!(lost["slot"]["active"]["id"], [&b, &c][won].as_str());
        assert_eq!(letter(&host, 1).await, ['B', 'C'][won]);
    }
    host.stop().await;
}

/// Seconds of computing, so that a swap falls into the call.
const LONG: &str = "(local $i i64)
    (loop $again
        (local.set $i (i64.add (local.get $i) (i64.const 1)))
        (br_if $again (i64.lt_u (local.get $i) (i64.const 1000000000))))";

#[tokio::test(flavor = "multi_thread")]
async fn replaced_version_ends_its_calls() {
    let host = hosting_a()
        .component(answering('A', LONG).component())
        .env("BULKHEAD_SLOTS__CAPTCHA__CPU_MS", "60000")
        .env("BULKHEAD_SLOTS__CAPTCHA__DEADLINE_MS", "60000")
        .start()
        .await;
    let operator = operator(&host);
    let old = operator.slot().await["active"]["id"].as_str().unwrap().to_owned();
    let new = operator.push(answering('B', "").component()).await;
    let swapping = async {
        let running = async || host.metric("bulkhead_in_flight{slot=\"captcha\"}").await == 1.0;
        eventually("the call runs", running).await;
        operator.swap(&new).await;
        let stage = operator.stage(&old).await;
        (letter(&host, 2).await, stage)
    };
    let (before, (after, stage)) = join(letter(&host, 1), swapping).await;
    assert_eq!((before, after), ('A', 'B'));
    assert_eq!(stage, "draining");
    eventually("the last call is over", async || operator.stage(&old).await == "retired").await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rollback_returns_one_version_each() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    for letter in ['B', 'C'] {
        let version = operator.push(answering(letter, "").component()).await;
        operator.swap(&version).await;
    }
    for expected in ['B', 'A'] {
        operator.change("rollback", json!({})).await;
        assert_eq!(letter(&host, 1).await, expected);
    }
    let generation = operator.generation().await;
    let (status, error) = operator.post("/rollback", &json!({ "generation": generation })).await;
    assert_eq!((status, error["error"].as_str()), (409, Some("no-predecessor")), "{error}");
    host.stop().await;
}

/// Idle instances and running calls share the slot's places, whatever the version.
#[tokio::test(flavor = "multi_thread")]
async fn kept_instances_stay_within_the_permits() {
    const WORK: &str = "(local $i i32)
        (loop $again
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $again (i32.lt_u (local.get $i) (i32.const 20000000))))";
    let host = hosting_a()
        .component(answering('A', WORK).component())
        .env("BULKHEAD_SLOTS__CAPTCHA__REUSE", "true")
        .env("BULKHEAD_SLOTS__CAPTCHA__MAX_CONCURRENT", "12")
        .env("BULKHEAD_SLOTS__CAPTCHA__CPU_MS", "60000")
        .env("BULKHEAD_SLOTS__CAPTCHA__DEADLINE_MS", "60000")
        .env("BULKHEAD_SANDBOX__ALLOCATOR", "pooling")
        .start()
        .await;
    let operator = operator(&host);
    let version = operator.push(answering('B', WORK).component()).await;
    join_all((0..12).map(|client| letter(&host, client))).await;
    let instances = async || host.metric("bulkhead_pool_slots_in_use{kind=\"component_instances\"}").await;
    let kept = instances().await;
    assert!(kept > 1.0, "instances are kept: {kept}");
    operator.change("canary", json!({ "version": version, "weight": 100 })).await;
    for _ in 0..2 {
        let letters = join_all((0..12).map(|client| letter(&host, client))).await;
        assert!(letters.iter().all(|letter| *letter == 'B'));
        assert!(instances().await <= 12.0, "{} instances", instances().await);
    }
    operator.change("promote", json!({})).await;
    let retired = async || operator.slot().await["active"]["id"] == version && instances().await <= 12.0;
    eventually("those of the version before are gone", retired).await;
}
