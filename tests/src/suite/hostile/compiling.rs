//! Components that take more to compile than they may.

use std::time::{Duration, Instant};

use bulkhead_tests::{
    guests::{ARITHMETIC, with_functions},
    operator::{self, Operator},
};

use super::*;
use crate::operators::{hosting_a, letter};

/// Pushes a bomb while calls go on; they are answered, and the bomb is refused for `reason`.
async fn assert_defused(bomb: Vec<u8>, setting: (&str, &str), reason: &str) {
    // Built-in components of other slots have the same limits.
    let host = hosting_a()
        .env(setting.0, setting.1)
        .env("BULKHEAD_SERVICES__TICKETS__ENABLED", "false")
        .env("BULKHEAD_SERVICES__STATUS__ENABLED", "false")
        .start()
        .await;
    let operator = Operator::new(&host.admin_url(""), operator::DEPLOY);
    let push = tokio::spawn(async move { operator.try_push(bomb).await });
    let (mut answers, until) = (0, Instant::now() + Duration::from_secs(300));
    while answers < 10 || !push.is_finished() {
        assert!(Instant::now() < until, "the push does not end");
        assert_eq!(letter(&host, answers).await, 'A');
        answers += 1;
    }
    let (status, refused) = push.await.unwrap();
    assert_eq!(status, 422, "{refused}");
    assert!(refused.to_string().contains(reason), "{refused}");
    host.stop().await;
}

/// Very many functions: seconds of work for any compiler.
#[tokio::test(flavor = "multi_thread")]
async fn functions_that_take_too_long_to_compile() {
    let bomb = with_functions(Guest::default().component(), 20_000, &ARITHMETIC.repeat(100));
    let setting = ("BULKHEAD_SANDBOX__COMPILE_CPU_SECONDS", "1");
    let reason = "more than 1 s of processor time; make it smaller or raise sandbox.compile_cpu_seconds";
    assert_defused(bomb, setting, reason).await;
}

/// One function of millions of instructions, each of which the compiler holds in memory.
#[tokio::test(flavor = "multi_thread")]
async fn function_over_the_compile_memory() {
    let instructions = [&[0x20, 0], [0x67].repeat(5_000_000).as_slice(), &[0x21, 0]].concat();
    let bomb = with_functions(Guest::default().component(), 1, &instructions);
    let setting = ("BULKHEAD_SANDBOX__COMPILE_MEMORY_BYTES", "536870912");
    let reason = "more than 536870912 bytes of memory; make it smaller or raise sandbox.compile_memory_bytes";
    assert_defused(bomb, setting, reason).await;
}
