//! Tests of sizes by part.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

#[test]
fn modules_are_measured_by_part() {
    let wasm = wat::parse_str(
        r#"(component
            (core module $main
                (memory 2 10)
                (data (i32.const 0) "twelve bytes")
                (func (result i32) i32.const 7))
            (core module (memory 1))
            (core instance (instantiate $main)))"#,
    )
    .unwrap();
    let sizes = Sizes::read(&wasm).unwrap();
    assert_eq!((sizes.bytes, sizes.modules.len()), (wasm.len(), 2));
    let [main, other] = &sizes.modules[..] else { panic!("{sizes:?}") };
    let memory = |minimum: u64, maximum: Option<u64>| MemorySize {
        minimum_bytes: minimum << 16,
        maximum_bytes: maximum.map(|pages| pages << 16),
    };
    assert_eq!(main.memories, [memory(2, Some(10))]);
    assert_eq!(other.memories, [memory(1, None)]);
    assert_eq!(main.name.as_deref(), Some("main"));
    assert!(main.data_bytes > 12 && main.code_bytes > 0 && other.code_bytes == 0, "{sizes:?}");
    let parts = sizes.modules.iter().map(|module| module.bytes).sum::<usize>();
    assert_eq!(parts + sizes.custom_bytes + sizes.rest_bytes, wasm.len());
}
