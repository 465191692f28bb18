//! Proof of work is done by the host: it costs the guest no CPU budget, and a place until it is done.

use super::*;

const DERIVE: &str = r#"
    (import "bulkhead:captcha/pow@0.1.1" "derive"
        (func $derive (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))"#;

/// Calls `derive` for PBKDF2/SHA-256 with `cost` iterations; the result stands at 2048.
fn derive(cost: u32) -> String {
    format!(
        "(call $derive (i32.const 3) (i32.const {cost}) (i32.const 0) (i32.const 0) (i32.const 32)
            (i32.const 1024) (i32.const 8) (i32.const 1024) (i32.const 8) (i32.const 2048))"
    )
}

hostile_guests! {
    /// Derives keys for ever: not charged for the work, stopped by the deadline.
    derivation_loop: ends(504, "deadline"),
        Guest::call(&format!("(loop $again {} (br $again)) unreachable", derive(300_000))).with_imports(DERIVE),
        with { "slots.captcha.cpu_ms": "100", "slots.captcha.deadline_ms": "600" };

    /// Asks for more work than the caps allow, and gives up when it is refused.
    derivation_over_the_cap: ends(500, "trap"),
        Guest::call(&format!(
            "{} (if (i32.and (i32.load8_u (i32.const 2048)) (i32.eqz (i32.load8_u (i32.const 2052)))) (then unreachable))
            (loop $again (br $again)) unreachable",
            derive(u32::MAX >> 1)
        ))
        .with_imports(DERIVE);
}

/// A derivation keeps its place after its caller has left; a caller that finds no place learns when to come back.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_pool() {
    // Passes `busy` on to its caller.
    let guest = Guest::call(&format!(
        "{}
        (if (i32.load8_u (i32.const 2048)) (then
            (i32.store8 (i32.const 0) (i32.const 1))
            (i32.store8 (i32.const 8) (i32.load8_u (i32.const 2052)))
            (i32.store (i32.const 12) (i32.load (i32.const 2056)))))
        i32.const 0",
        derive(10_000_000)
    ))
    .with_imports(DERIVE);
    let settings =
        [("slots.captcha.deadline_ms", "200"), ("sandbox.pow_threads", "1"), ("sandbox.pow_queue", "0")];
    let host = hosting(guest.component(), &settings).start().await;
    assert_eq!(challenge(&host).await.status(), 504, "the derivation outlasts its caller's deadline");
    let answer = challenge(&host).await;
    assert_eq!(answer.status(), 503, "its place is not free");
    assert_eq!(answer.headers()["retry-after"], "1");
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["code"], "busy");
    assert_eq!((calls(&host, "deadline").await, calls(&host, "guest-error").await), (1.0, 1.0));
    eventually("the place is free again", async || challenge(&host).await.status() == 504).await;
    host.stop().await;
}
