//! What is counted, and how often.

#![allow(clippy::unwrap_used)]

use super::*;

/// An empty component.
const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";
/// A core module with a memory and a table.
const MODULE: &[u8] = b"\0asm\x01\0\0\0\x04\x04\x01\x70\0\x01\x05\x03\x01\0\x01";

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    let mut section = vec![id];
    let mut length = content.len();
    while length >= 0x80 {
        section.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    section.push(length as u8);
    section.extend_from_slice(content);
    section
}

fn component(sections: &[Vec<u8>]) -> Vec<u8> {
    [EMPTY, &sections.concat()].concat()
}

/// Instantiates the module, or component, with this index so many times.
fn instantiate(section_id: u8, index: u8, times: u8) -> Vec<u8> {
    let one = [0, index, 0].repeat(times.into());
    section(section_id, &[&[times], one.as_slice()].concat())
}

/// A component that instantiates [`MODULE`] so many times.
fn modules(times: u8) -> Vec<u8> {
    component(&[section(1, MODULE), instantiate(2, 0, times)])
}

/// A component that instantiates another so many times.
fn around(inner: &[u8], times: u8) -> Vec<u8> {
    component(&[section(4, inner), instantiate(5, 0, times)])
}

fn usage(wasm: &[u8]) -> [u64; 3] {
    let Usage { core_instances, memories, tables } = outline(wasm).unwrap().usage;
    [core_instances, memories, tables]
}

#[test]
fn instances_count_with_their_memories_and_tables() {
    assert_eq!(usage(EMPTY), [0; 3]);
    assert_eq!(usage(&component(&[section(1, MODULE)])), [0; 3], "what is only defined takes nothing");
    assert_eq!(usage(&modules(3)), [3; 3]);
}

#[test]
fn nested_instances_count_as_often_as_made() {
    assert_eq!(usage(&component(&[section(4, &modules(2))])), [0; 3]);
    assert_eq!(usage(&around(&around(&modules(2), 3), 5)), [30; 3]);
}

#[test]
fn counts_that_grow_exponentially_stay_at_the_largest() {
    let bomb = (0..100).fold(modules(1), |inner, _| around(&inner, 2));
    assert_eq!(usage(&bomb), [u64::MAX; 3]);
}

#[test]
fn aliases_imports_and_exports_count_as_what_they_name() {
    // A component inside names the module around it: sort core module, outer, one level out, index 0.
    let alias = section(6, &[1, 0, 0x11, 2, 1, 0]);
    let inner = component(&[alias, instantiate(2, 0, 2)]);
    assert_eq!(usage(&component(&[section(1, MODULE), section(4, &inner), instantiate(5, 0, 1)])), [2; 3]);
    // An export of a module takes the next index.
    let export = section(11, &[1, 0, 1, b'm', 0, 0x11, 0, 0]);
    assert_eq!(usage(&component(&[section(1, MODULE), export, instantiate(2, 1, 4)])), [4; 3]);
    // An export of an instance may be any module that was seen.
    let alias = section(6, &[1, 0, 0x11, 0, 0, 1, b'm']);
    assert_eq!(usage(&component(&[section(1, MODULE), alias, instantiate(2, 1, 1)])), [1; 3]);
}

#[test]
fn imported_modules_count_as_the_largest_anywhere() {
    // It imports a module, instantiates it 100 times and stands before the first module.
    let module_type = section(3, &[1, 0x50, 0]);
    let import = section(10, &[1, 0, 1, b'm', 0, 0x11, 0]);
    let inner = component(&[module_type, import, instantiate(2, 0, 100)]);
    let file = component(&[section(4, &inner), section(1, MODULE), instantiate(5, 0, 1)]);
    assert_eq!(usage(&file), [100; 3]);
}

#[test]
fn definitions_without_end_are_refused() {
    let empty = section(4, EMPTY);
    assert!(outline(&component(&vec![empty.clone(); DEFINITIONS])).is_ok());
    let refused = outline(&component(&vec![empty; DEFINITIONS + 1])).unwrap_err();
    assert_eq!(refused, "it defines more than 10000 modules and components");
}

#[test]
fn names_are_kept_up_to_a_number_and_counted() {
    let export = |name: usize| {
        let name = format!("e{name:06}");
        [&[0, name.len() as u8], name.as_bytes(), &[5, 0, 0]].concat()
    };
    let count = 2000_usize;
    let exports: Vec<u8> = (0..count).flat_map(export).collect();
    let content = [&[(count & 0x7f) as u8 | 0x80, (count >> 7) as u8], exports.as_slice()].concat();
    let outline = outline(&component(&[section(11, &content)])).unwrap();
    assert_eq!((outline.export_count, outline.exports.len()), (2000, NAMES_KEPT));
    assert_eq!((outline.import_count, outline.usage), (0, Usage::default()));
}

#[test]
fn names_are_cut_and_lose_their_control_characters() {
    assert_eq!(quoted("a\u{1b}[2J\u{7}\n\u{9b}b"), "a\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}b");
    assert_eq!(quoted(&"x".repeat(10_000)).len(), NAME_CHARS);
}
