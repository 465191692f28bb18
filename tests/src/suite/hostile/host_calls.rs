//! What a guest does with the functions that it is granted.

use super::*;

const RANDOM: &str =
    r#"(import "wasi:random/random@0.2.12" "get-random-bytes" (func $random (param i64 i32)))"#;
const LOG: &str =
    r#"(import "wasi:logging/logging@0.1.0-draft" "log" (func $log (param i32 i32 i32 i32 i32)))"#;
const SUBSCRIBE: &str = r#"
    (import "wasi:clocks/monotonic-clock@0.2.12" "subscribe-duration" (func $subscribe (param i64) (result i32)))"#;
const SPENT: &str = r#"(import "bulkhead:captcha/ledger@0.1.1" "spent" (func $spent (param i32 i32 i32)))"#;

/// Waits, in one call, for `times` the same thing, which is ready at once.
fn polling(times: usize) -> Guest {
    Guest::call(&format!(
        "(local $pollable i32) (local $at i32)
        (local.set $pollable (call $subscribe (i64.const 0)))
        (loop $again
            (i32.store offset=131072 (local.get $at) (local.get $pollable))
            (local.set $at (i32.add (local.get $at) (i32.const 4)))
            (br_if $again (i32.lt_u (local.get $at) (i32.const 8192))))
        (call $poll (i32.const 131072) (i32.const {times}) (i32.const 16))
        i32.const 0"
    ))
    .with_imports(&format!(
        r#"{SUBSCRIBE} (import "wasi:io/poll@0.2.12" "poll" (func $poll (param i32 i32 i32)))"#
    ))
}

hostile_guests! {
    /// Waits in the host for ever.
    host_call_that_never_returns: ends(504, "deadline"),
        Guest::call("(call $block (call $subscribe (i64.const 0x7fffffffffffffff))) unreachable")
            .with_imports(&format!(
                r#"{SUBSCRIBE} (import "wasi:io/poll@0.2.12" "[method]pollable.block" (func $block (param i32)))"#
            )),
        with { "slots.captcha.deadline_ms": "300" };

    /// Takes handles and never drops them.
    handles_never_dropped: ends(500, "memory-limit"),
        Guest::call("(loop $again (drop (call $subscribe (i64.const 1))) (br $again)) unreachable")
            .with_imports(SUBSCRIBE),
        with { "slots.captcha.cpu_ms": "10000" };

    /// Uses a handle that it has never been given.
    invented_handle: ends(500, "trap"),
        Guest::call("(call $block (i32.const 7)) i32.const 0")
            .with_imports(r#"(import "wasi:io/poll@0.2.12" "[method]pollable.block" (func $block (param i32)))"#);

    /// Asks for ever whether something is ready that always is.
    endless_ready_poll: ends(503, "cpu-budget"),
        Guest::call("
            (local $pollable i32)
            (local.set $pollable (call $subscribe (i64.const 0)))
            (loop $again (call $block (local.get $pollable)) (br $again))
            unreachable")
            .with_imports(&format!(
                r#"{SUBSCRIBE} (import "wasi:io/poll@0.2.12" "[method]pollable.block" (func $block (param i32)))"#
            ));

    /// Waits for one thing as often as the host looks at.
    largest_poll: ends(500, "bad-answer"), polling(1000),
        with { "sandbox.handles": "3000" };

    /// Waits for it more often than it may hold handles.
    poll_beyond_handles: ends(500, "memory-limit"), polling(1000);

    /// Waits for it once more.
    too_large_poll: ends(500, "trap"), polling(1001),
        with { "sandbox.handles": "3000" };

    /// Waits for nothing.
    empty_poll: ends(500, "trap"), polling(0);

    /// Asks for as many random bytes as one host call gives.
    large_host_call: ends(500, "bad-answer"),
        Guest::call("(call $random (i64.const 65536) (i32.const 16)) i32.const 0").with_imports(RANDOM);

    /// Asks for one more.
    huge_host_call: ends(500, "trap"),
        Guest::call("(call $random (i64.const 65537) (i32.const 16)) i32.const 0").with_imports(RANDOM);

    /// Asks for more random bytes than there are addresses.
    endless_random: ends(500, "trap"),
        Guest::call("(call $random (i64.const -1) (i32.const 16)) i32.const 0").with_imports(RANDOM);

    /// Has the host make random numbers for ever.
    random_loop: ends(503, "cpu-budget"),
        Guest::call("(loop $again (drop (call $random)) (br $again)) unreachable")
            .with_imports(r#"(import "wasi:random/random@0.2.12" "get-random-u64" (func $random (result i64)))"#);

    /// Has the host look at its log lines for ever.
    log_loop: ends(503, "cpu-budget"),
        Guest::call("
            (loop $again
                (call $log (i32.const 4) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 60000))
                (br $again))
            unreachable")
            .with_imports(LOG);

    /// Hands the host more than it takes.
    huge_log_line: ends(500, "response-too-large"),
        Guest::call("(call $log (i32.const 4) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 200000)) i32.const 0")
            .with_imports(LOG);

    /// Hands over a log line outside its memory.
    log_line_out_of_bounds: ends(500, "trap"),
        Guest::call("(call $log (i32.const 4) (i32.const 0) (i32.const 0) (i32.const 0x7fff0000) (i32.const 9)) i32.const 0")
            .with_imports(LOG);

    /// Logs at a level that there is not.
    invalid_log_level: ends(500, "trap"),
        Guest::call("(call $log (i32.const 77) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)) i32.const 0")
            .with_imports(LOG);

    /// Wants the answer where it has no memory.
    answer_pointer_out_of_bounds: ends(500, "trap"),
        Guest::call("(call $spent (i32.const 1024) (i32.const 64) (i32.const 0x7fff0000)) i32.const 0")
            .with_imports(SPENT)
            .with_fields(ID);

    /// Calls the host from every depth of its stack, down to where it ends.
    host_calls_until_the_stack_ends: ends(500, "trap"),
        Guest::call("(call $hostile (i32.const 0))")
            .with_imports(&format!("{LOG} {SPENT}"))
            .with_fields(&format!("{ID} {DEEP}")),
        with { "slots.captcha.cpu_ms": "60000", "slots.captcha.deadline_ms": "60000", "sandbox.stack_bytes": "65536" };
}

/// Sixty-four digits at 1024.
const ID: &str =
    r#"(data (i32.const 1024) "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")"#;

/// Logs, asks the ledger, and calls itself.
const DEEP: &str = "
    (func $hostile (param i32) (result i32)
        (call $log (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1024) (i32.const 64))
        (call $spent (i32.const 1024) (i32.const 64) (i32.const 2048))
        (i32.add (local.get 0) (call $hostile (i32.add (local.get 0) (i32.const 1)))))";

/// Time in the host is not the guest's: a call that waits far longer than its CPU budget is not charged for it.
#[tokio::test(flavor = "multi_thread")]
async fn waiting_costs_no_cpu_budget() {
    let guest = Guest::call("(call $block (call $subscribe (i64.const 300000000))) i32.const 0")
        .with_imports(&format!(
            r#"{SUBSCRIBE} (import "wasi:io/poll@0.2.12" "[method]pollable.block" (func $block (param i32)))"#
        ));
    let settings = [("slots.captcha.cpu_ms", "10")];
    assert_contained(guest, &settings, ends(500, "bad-answer")).await;
}

/// What an interface is not granted for does not help: it is refused before it runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_call_without_a_grant() {
    let guest = Guest::call("(call $check (i32.const 0) (i32.const 0) (i32.const 16)) unreachable")
        .with_imports(
            r#"(import "bulkhead:host/guard@0.1.1" "check-prompt" (func $check (param i32 i32 i32)))"#,
        );
    let reason = refusal(guest.component(), &[]).await;
    assert!(reason.contains("slots.captcha.grants = [\"bulkhead:host/guard\"]"), "{reason}");
}
