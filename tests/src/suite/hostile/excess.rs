//! Components of more parts than a call may have: refused before they are compiled, with the numbers.

use bulkhead_tests::guests::{answering, with_core_instances};

use super::*;

/// A component that instantiates a core module of `memories` memories and `tables` tables `times` times in each of
/// `copies` instances of an inner component.
fn of_parts(memories: usize, tables: usize, times: usize, copies: usize) -> Vec<u8> {
    let (memories, tables) = ("(memory 1)".repeat(memories), "(table 1 funcref)".repeat(tables));
    let instances = "(core instance (instantiate $parts))".repeat(times);
    let copies = "(instance (instantiate $inner))".repeat(copies);
    let text = format!(
        r#"(component
            (component $inner (core module $parts {memories} {tables}) {instances})
            {copies}
            (instance $nothing)
            (export "bulkhead:captcha/challenges@0.1.1" (instance $nothing))
            (core module $code (func (export "run")))
            (core instance $code (instantiate $code))
            (func $run (canon lift (core func $code "run")))
            (export "self-test" (func $run)))"#
    );
    wat::parse_str(text).unwrap()
}

async fn assert_counted(component: Vec<u8>, counts: &[(usize, &str, usize)]) {
    for allocator in ["pooling", "on-demand"] {
        let reason = refusal(component.clone(), &[("sandbox.allocator", allocator)]).await;
        for (count, what, limit) in counts {
            let words = format!("it has {count} {what}, over the limit of {limit}");
            assert!(reason.contains(&words), "no {words:?} in {reason}");
        }
        assert_eq!(reason.matches("over the limit of").count(), counts.len(), "{reason}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_initial_tables() {
    let tables = "(table 1 funcref)".repeat(9);
    let guest = Guest::default().with_memory(&format!(r#"(memory (export "memory") 4) {tables}"#));
    assert_counted(guest.component(), &[(9, "tables", 8)]).await;
}

/// No module of it has too much of anything: only all instances together have.
#[tokio::test(flavor = "multi_thread")]
async fn excess_spread_over_instances_is_summed() {
    let counts = [(66, "core instances", 64), (130, "memories", 4), (195, "tables", 8)];
    assert_counted(of_parts(2, 3, 5, 13), &counts).await;
}

/// At the limits it is refused for something else: what it exports does not fit the world.
#[tokio::test(flavor = "multi_thread")]
async fn parts_within_limits_are_not_counted() {
    let reason = refusal(of_parts(4, 8, 1, 1), &[]).await;
    assert!(!reason.contains("over the limit of") && reason.contains("does not fit"), "{reason}");
}

/// As many core instances as a component of componentize-py has.
#[tokio::test(flavor = "multi_thread")]
async fn many_core_instances_within_the_limit_answer() {
    let component = |count| with_core_instances(answering('A', "").component(), count);
    for allocator in ["pooling", "on-demand"] {
        let allocator = ("sandbox.allocator", allocator);
        for (count, settings) in [
            (41, &[allocator][..]),
            (64, &[allocator][..]),
            (65, &[allocator, ("sandbox.core_instances", "65")][..]),
        ] {
            let host = hosting(component(count), settings).start().await;
            for _ in 0..20 {
                assert_eq!(challenge(&host).await.status(), 200, "{count} core instances, {allocator:?}");
            }
            host.stop().await;
        }
        let reason = refusal(component(65), &[allocator]).await;
        let words = "it has 65 core instances, over the limit of 64; reduce the number or raise sandbox.core_instances";
        assert!(reason.contains(words), "{reason}");
    }
}
