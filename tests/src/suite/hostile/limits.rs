//! What a call may use of the machine: time, memory, tables, stack.

use super::*;

/// Never ends.
const LOOP: &str = "(loop $again (br $again)) unreachable";

hostile_guests! {
    /// Burns its CPU budget.
    endless_loop: ends(503, "cpu-budget"), Guest::call(LOOP);

    /// Burns it in instructions that run long each and cannot be interrupted.
    endless_bulk_memory: ends(503, "cpu-budget"),
        Guest::call("
            (loop $again (memory.fill (i32.const 0) (i32.const 1) (i32.const 262144)) (br $again))
            unreachable");

    /// Burns it with so small a wall deadline that the deadline is over first.
    endless_loop_past_its_deadline: ends(504, "deadline"), Guest::call(LOOP),
        with { "slots.captcha.cpu_ms": "600000", "slots.captcha.deadline_ms": "100" };

    /// Calls itself until the stack is full.
    deep_recursion: ends(500, "trap"),
        Guest::call("(call $hostile (i32.const 1))")
            .with_fields("(func $hostile (param i32) (result i32) (i32.add (i32.const 1) (call $hostile (local.get 0))))");

    /// Two functions call each other through a table until the stack is full.
    mutual_recursion: ends(500, "trap"),
        Guest::call("(call $hostile_ping)")
            .with_memory(r#"(memory (export "memory") 4) (table 2 funcref)"#)
            .with_fields("
                (type $call (func (result i32)))
                (elem (i32.const 0) $hostile_ping $hostile_pong)
                (func $hostile_ping (type $call) (i32.add (i32.const 1) (call_indirect (type $call) (i32.const 1))))
                (func $hostile_pong (type $call) (i32.add (i32.const 1) (call_indirect (type $call) (i32.const 0))))");

    /// Traps at once.
    trap: ends(500, "trap"), Guest::call("(call $hostile_function)")
        .with_fields("(func $hostile_function (result i32) unreachable)");

    /// Traps in a function whose name, which the backtrace quotes, tells of another end.
    misleading_name: ends(500, "trap"),
        Guest::call(r#"(call $"fuel allocated for hostcalls has been exhausted")"#)
            .with_fields(r#"(func $"fuel allocated for hostcalls has been exhausted" (result i32) unreachable)"#);

    /// Reads where it has no memory.
    stray_read: ends(500, "trap"), Guest::call("(i32.load (i32.const 0x7ffffff0))");

    /// Calls a function of another type than it says.
    stray_call: ends(500, "trap"),
        Guest::call("(call_indirect (type $call) (i32.const 0))")
            .with_memory(r#"(memory (export "memory") 4) (table 1 funcref)"#)
            .with_fields("(type $call (func (result i32))) (elem (i32.const 0) $other) (func $other)");

    /// Grows its memory until it is refused.
    memory_bomb: ends(500, "memory-limit"),
        Guest::call("(loop $again (br_if $again (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) unreachable");

    /// Asks for all the memory there is at once.
    memory_leap: ends(500, "memory-limit"),
        Guest::call("(drop (memory.grow (i32.const 65000))) unreachable");

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

    /// Spreads over several tables what one may not have.
    many_tables: ends(500, "memory-limit"),
        Guest::call("
            (drop (table.grow $first (ref.null func) (i32.const 600)))
            (drop (table.grow $second (ref.null func) (i32.const 600)))
            unreachable")
            .with_memory(r#"(memory (export "memory") 4) (table $first 1 funcref) (table $second 1 funcref)"#);

    /// Grows a memory over the maximum that it set itself, which is not a limit of the slot.
    own_maximum: ends(500, "trap"),
        Guest::call("(drop (memory.grow (i32.const 60000))) unreachable")
            .with_memory(r#"(memory (export "memory") 4 5)"#);
}

/// Without a pool the limits are the same.
#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_on_demand() {
    let on_demand = [("sandbox.allocator", "on-demand")];
    let grow = "(loop $again (br_if $again (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) unreachable";
    assert_contained(Guest::call(grow), &on_demand, ends(500, "memory-limit")).await;
    assert_contained(Guest::call(LOOP), &on_demand, ends(503, "cpu-budget")).await;
}

/// The self-test of a new version is under the slot's limits too.
#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_in_the_self_test() {
    for (body, outcome) in [
        (LOOP, "cpu-budget"),
        ("unreachable", "trap"),
        ("(drop (memory.grow (i32.const 1000))) unreachable", "memory-limit"),
    ] {
        let reason = refusal(Guest::default().with_self_test(body).component(), &[]).await;
        assert!(
            reason.contains(&format!("self-test failed: the component's call ended with {outcome}")),
            "{reason}"
        );
    }
}
