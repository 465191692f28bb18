//! Bombs that go off before the first call: while compiling, linking or instantiating.

use bulkhead_tests::guests::push_section;

use super::*;

/// A second service, whose slot has the default limits: the pool is sized for the larger.
const LARGER_POOL: (&str, &str) = ("services.tickets.enabled", "true");

/// As many elements of WebAssembly text as asked for.
fn many(count: usize, element: impl Fn(usize) -> String) -> String {
    (0..count).map(element).collect()
}

/// A guest with these memories and tables in place of its own.
fn with_memory(memory: &str) -> Vec<u8> {
    Guest::default().with_memory(memory).component()
}

async fn assert_refused(component: Vec<u8>, settings: Settings<'_>, words: &str) {
    let reason = refusal(component, settings).await;
    assert!(reason.contains(words), "{reason}");
}

/// A guest that loops while it is being instantiated never answers its trial, so it is never active.
#[tokio::test(flavor = "multi_thread")]
async fn endless_loop_while_instantiating() {
    let guest = Guest::default().with_fields("(func $start (loop $again (br $again))) (start $start)");
    assert_refused(guest.component(), &[], "self-test failed: the component's call ended with cpu-budget")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn start_function_that_traps() {
    let guest = Guest::default().with_fields("(func $start unreachable) (start $start)");
    assert_refused(guest.component(), &[], "self-test failed: the component's call ended with trap").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn start_function_that_recurses() {
    let guest = Guest::default().with_fields("(func $start (call $start) (call $start)) (start $start)");
    assert_refused(guest.component(), &[], "ended with trap").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn start_function_that_grows_its_memory() {
    let guest = Guest::default()
        .with_fields("(func $start (drop (memory.grow (i32.const 100))) unreachable) (start $start)");
    assert_refused(guest.component(), &[], "ended with memory-limit").await;
}

/// Over the slot's limit and within the pool's, which is sized for the largest slot.
#[tokio::test(flavor = "multi_thread")]
async fn large_initial_memory() {
    let component = with_memory(r#"(memory (export "memory") 32)"#);
    for allocator in ["auto", "on-demand"] {
        let settings = [("sandbox.allocator", allocator), LARGER_POOL];
        assert_refused(component.clone(), &settings, "ended with memory-limit").await;
    }
}

/// Over the limit of every slot.
#[tokio::test(flavor = "multi_thread")]
async fn huge_initial_memory() {
    let component = with_memory(r#"(memory (export "memory") 65536)"#);
    assert_refused(component.clone(), &[("sandbox.allocator", "on-demand")], "ended with memory-limit").await;
    assert_refused(component, &[("sandbox.allocator", "pooling")], "memory").await;
}

/// More than a 64-bit address space holds.
#[tokio::test(flavor = "multi_thread")]
async fn memory_beyond_all_addresses() {
    let component = with_memory(r#"(memory (export "memory") 4) (memory i64 281474976710656)"#);
    assert_refused(component.clone(), &[("sandbox.allocator", "on-demand")], "ended with memory-limit").await;
    assert_refused(component, &[("sandbox.allocator", "pooling")], "memory").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_initial_memories() {
    let component =
        with_memory(&format!(r#"(memory (export "memory") 1) {}"#, many(9, |_| "(memory 1)".into())));
    for allocator in ["pooling", "on-demand"] {
        let settings = [("sandbox.allocator", allocator)];
        assert_refused(component.clone(), &settings, "it has 10 memories, over the limit of 4").await;
    }
}

/// Memory that several stores could share is counted by none.
#[tokio::test(flavor = "multi_thread")]
async fn shared_memory() {
    let component = wat::parse_str(
        r#"(component
            (core module $shared (memory 1 2 shared))
            (core instance (instantiate $shared))
            (instance $nothing)
            (export "bulkhead:captcha/challenges@0.1.1" (instance $nothing))
            (core module $code (func (export "run")))
            (core instance $code (instantiate $code))
            (func $run (canon lift (core func $code "run")))
            (export "self-test" (func $run)))"#,
    );
    assert_refused(component.unwrap(), &[], "does not compile").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_initial_table() {
    let component = with_memory(r#"(memory (export "memory") 4) (table 2000 funcref)"#);
    for allocator in ["auto", "on-demand"] {
        let settings = [("sandbox.allocator", allocator), LARGER_POOL];
        assert_refused(component.clone(), &settings, "ended with memory-limit").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn huge_initial_table() {
    let component = with_memory(r#"(memory (export "memory") 4) (table 10000000 funcref)"#);
    assert_refused(component.clone(), &[("sandbox.allocator", "on-demand")], "ended with memory-limit").await;
    assert_refused(component, &[("sandbox.allocator", "pooling")], "table").await;
}

/// A data segment outside the memory.
#[tokio::test(flavor = "multi_thread")]
async fn data_out_of_bounds() {
    let guest = Guest::default().with_fields(r#"(data (i32.const 0x7fff0000) "stray")"#);
    assert_refused(guest.component(), &[], "ended with trap").await;
}

/// A data segment that needs more memory than the slot has.
#[tokio::test(flavor = "multi_thread")]
async fn data_bomb() {
    let guest = Guest::default()
        .with_memory(r#"(memory (export "memory") 48)"#)
        .with_fields(&format!(r#"(data (i32.const 0) "{}")"#, "x".repeat(3 << 20)));
    assert_refused(guest.component(), &[LARGER_POOL], "ended with memory-limit").await;
}

/// An element segment outside the table.
#[tokio::test(flavor = "multi_thread")]
async fn elements_out_of_bounds() {
    let guest = Guest::default()
        .with_memory(r#"(memory (export "memory") 4) (table 1 funcref)"#)
        .with_fields("(func $stray) (elem (i32.const 1000) $stray)");
    assert_refused(guest.component(), &[], "ended with trap").await;
}

/// Many instances in one component: each takes a place of the pool.
#[tokio::test(flavor = "multi_thread")]
async fn many_core_instances() {
    let instances = many(100, |_| "(core instance (instantiate $empty))".into());
    let component = wat::parse_str(format!(
        r#"(component
            (core module $empty)
            {instances}
            (instance $nothing)
            (export "bulkhead:captcha/challenges@0.1.1" (instance $nothing))
            (core module $code (func (export "run")))
            (core instance $code (instantiate $code))
            (func $run (canon lift (core func $code "run")))
            (export "self-test" (func $run)))"#
    ));
    assert_refused(component.unwrap(), &[], "it has 101 core instances, over the limit of 64").await;
}

/// Components that each instantiate another twice: two to the power of their number, in a file of a few kilobytes.
#[tokio::test(flavor = "multi_thread")]
async fn nested_instances_are_counted_before_compiling() {
    let inner = "(core module $m) (core instance (instantiate $m))".to_owned();
    let bomb = (0..40).fold(inner, |inner, _| {
        format!("(component $c {inner}) (instance (instantiate $c)) (instance (instantiate $c))")
    });
    let component = wat::parse_str(format!("(component {bomb})")).unwrap();
    assert_refused(component, &[], "it has more than 1000000 core instances, over the limit of 64").await;
}

/// The right names with the wrong types.
#[tokio::test(flavor = "multi_thread")]
async fn exports_of_other_types() {
    let component = wat::parse_str(
        r#"(component
            (instance $nothing)
            (export "bulkhead:captcha/challenges@0.1.1" (instance $nothing))
            (core module $code (func (export "run") (result i32) i32.const 0))
            (core instance $code (instantiate $code))
            (func $run (result u32) (canon lift (core func $code "run")))
            (export "self-test" (func $run)))"#,
    );
    assert_refused(component.unwrap(), &[], "does not fit bulkhead:captcha/captcha@0.1.1").await;
}

/// A function that the host offers, with a type of the guest's own.
#[tokio::test(flavor = "multi_thread")]
async fn imports_of_other_types() {
    let component = wat::parse_str(
        r#"(component
            (import "wasi:random/random@0.2.12" (instance (export "get-random-u64" (func (param "seed" string) (result u64)))))
            (instance $nothing)
            (export "bulkhead:captcha/challenges@0.1.1" (instance $nothing))
            (core module $code (func (export "run")))
            (core instance $code (instantiate $code))
            (func $run (canon lift (core func $code "run")))
            (export "self-test" (func $run)))"#,
    );
    assert_refused(component.unwrap(), &[], "does not fit bulkhead:captcha/captcha@0.1.1").await;
}

/// Types within types, ten thousand deep: a host that walks them by recursion runs out of stack.
#[tokio::test(flavor = "multi_thread")]
async fn deeply_nested_types() {
    let types = many(10_000, |depth| format!("(type $t{} (list $t{depth}))", depth + 1));
    let component = wat::parse_str(format!(
        r#"(component
            (type $t0 u8) {types}
            (instance $nothing)
            (export "bulkhead:captcha/challenges@0.1.1" (instance $nothing))
            (core module $code
                (memory (export "memory") 1)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 0)
                (func (export "run") (param i32 i32)))
            (core instance $code (instantiate $code))
            (func $run (param "deep" $t10000)
                (canon lift (core func $code "run") (memory $code "memory") (realloc (func $code "realloc"))))
            (export "self-test" (func $run)))"#
    ));
    assert_refused(component.unwrap(), &[], "nest").await;
}

/// Components within components, a thousand deep.
#[tokio::test(flavor = "multi_thread")]
async fn deeply_nested_components() {
    let empty = b"\0asm\x0d\0\x01\0".to_vec();
    let component = (0..1000).fold(empty.clone(), |inner, _| {
        let mut outer = empty.clone();
        push_section(&mut outer, 4, &inner);
        outer
    });
    let reason = refusal(component, &[]).await;
    assert!(
        reason.contains("does not export self-test") || reason.contains("not a WebAssembly component"),
        "{reason}"
    );
}

/// Larger than the host looks at.
#[tokio::test(flavor = "multi_thread")]
async fn huge_file() {
    let mut component = Guest::default().component();
    // A custom section is valid and says nothing.
    push_section(&mut component, 0, &vec![0; 40 << 20]);
    assert_refused(component, &[], "has more than 33554432 bytes; raise sandbox.component_bytes").await;
}
