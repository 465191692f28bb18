//! Tests of what an inspection shows.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use bulkhead_runtime::slots::outline;

use super::*;
use crate::platform::tests::without_services;

fn inspected(text: &str) -> ComponentInspection {
    let wasm = wat::parse_str(text).unwrap();
    let outline = outline(&wasm).unwrap();
    ComponentInspection::new(&without_services(), &wasm, outline).unwrap()
}

#[test]
fn imports_have_their_status() {
    let found = inspected(
        r#"(component
            (import "wasi:clocks/wall-clock@0.2.0" (instance))
            (import "wasi:cli/stdout@0.2.3" (instance))
            (import "bulkhead:host/keys@0.1.1" (instance))
            (import "other:thing/gone" (instance)))"#,
    );
    let json = found.json();
    let status: Vec<&str> =
        json["imports"].as_array().unwrap().iter().map(|import| import["status"].as_str().unwrap()).collect();
    assert_eq!(status, ["granted", "stub", "by grant", "missing"]);
    assert_eq!(json["world"], Value::Null);
    assert_eq!(json["imports"][2]["detail"], "slots.name.grants = [\"bulkhead:host/keys\"]");
    let text = found.text();
    let grant = "  by grant  bulkhead:host/keys@0.1.1\n";
    assert!(text.contains(grant) && text.contains("\ngrant: slots.name.grants = ["), "{text}");
    assert!(
        text.contains("  missing   other:thing/gone: it imports other:thing/gone, not offered"),
        "{text}"
    );
}

#[test]
fn instances_and_memories_are_counted() {
    let found = inspected(
        r#"(component (core module $m (memory 1 3)) (core instance (instantiate $m)) (core instance (instantiate $m)))"#,
    );
    let json = found.json();
    assert_eq!(
        (&json["core_instances"], &json["memories"], &json["tables"]),
        (&json!(2), &json!(2), &json!(0))
    );
    assert_eq!(json["size"]["modules"][0]["memories"][0]["maximum_bytes"], 3 << 16);
    let text = found.text();
    assert!(text.contains("  core instances: 2 of 64 (sandbox.core_instances)"), "{text}");
    assert!(text.contains("  a memory of 65536 bytes, at most 196608"), "{text}");
}
