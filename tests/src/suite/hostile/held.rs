//! What the host holds for a guest's handles counts against the call's memory.

use bulkhead_tests::{child::Launch, guests};
use tempfile::TempDir;

use super::*;

const MIB: u64 = 1 << 20;

/// A triage component whose self-test asks for `count` graphs of 1 MiB long names, and drops none of the errors.
fn naming(count: u32) -> Vec<u8> {
    let text = format!(
        r#"(module
            (import "wasi:nn/graph@0.2.0-rc-2024-10-28" "load-by-name" (func $load (param i32 i32 i32)))
            (memory (export "memory") 33)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 65536)
            (func (export "bulkhead:triage/tickets@0.1.0#triage") (param i32) (result i32) unreachable)
            (func (export "bulkhead:triage/tickets@0.1.0#prompt-versions") (param i32) (result i32) unreachable)
            (func (export "self-test") (result i32)
                (local $left i32)
                (local.set $left (i32.const {count}))
                (loop $again
                    (call $load (i32.const 1048576) (i32.const 1048576) (i32.const 16))
                    (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                    (br_if $again (local.get $left)))
                i32.const 128)
        )"#
    );
    guests::of_service(&text, "triage")
}

const TICKETS: &str = r#"
    [services.embedding]
    enabled = false
    [services.status]
    enabled = false
    [services.captcha]
    enabled = false
    [slots.triage]
    response_bytes = 4194304
    cpu_ms = 60000
    deadline_ms = 60000
"#;

/// The most memory of a host whose guest holds the errors of `count` names.
async fn peak(count: u32) -> u64 {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("naming.wasm");
    std::fs::write(&file, naming(count)).unwrap();
    let config = format!("{TICKETS}component = {file:?}\n[sandbox]\nhandles = 10000\n");
    let host = Launch::serve_with(folder.path(), &config).ready().await;
    let ready: Value =
        host.client().get(host.admin_url("/health/ready")).send().await.unwrap().json().await.unwrap();
    assert!(!ready.to_string().contains("slot triage"), "the self-test has passed: {ready}");
    let peak = host.peak_memory();
    host.stop().await;
    peak
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_refused_graphs_take_little_memory() {
    let (few, many) = (peak(1).await, peak(1000).await);
    assert!(many < few + 300 * MIB, "{} MiB for one name, {} MiB for a thousand", few / MIB, many / MIB);
}

#[tokio::test(flavor = "multi_thread")]
async fn held_errors_meet_the_memory_limit() {
    // Memory for the guest, and 64 KiB for what it holds.
    let config = format!("{TICKETS}memory_bytes = {}\n[sandbox]\nhandles = 100000\n", 34 * 65536);
    let host = TestHost::builder().config(&config).component_of("triage", naming(1000)).start().await;
    let ready: Value =
        host.client().get(host.admin_url("/health/ready")).send().await.unwrap().json().await.unwrap();
    let reason = ready["failing"].to_string();
    assert!(reason.contains("slot triage") && reason.contains("memory-limit"), "{ready}");
    host.stop().await;
}
