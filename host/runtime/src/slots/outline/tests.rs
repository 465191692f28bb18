//! Tests of counts, names and the cost of reading.

#![allow(clippy::unwrap_used)]

use bulkhead_steps::{Shape, assert_linear};

use super::*;

/// An empty component.
const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";
/// A core module with a memory and a table.
const MODULE: &[u8] = b"\0asm\x01\0\0\0\x04\x04\x01\x70\0\x01\x05\x03\x01\0\x01";

/// Encodes a number of bytes, or items, as LEB128.
fn number(mut number: usize) -> Vec<u8> {
    let mut written = Vec::new();
    while number >= 0x80 {
        written.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    written.push(number as u8);
    written
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [&[id], number(content.len()).as_slice(), content].concat()
}

fn component(sections: &[Vec<u8>]) -> Vec<u8> {
    [EMPTY, &sections.concat()].concat()
}

/// Returns a section that instantiates the module, or component, with this index a number of times.
fn instantiate(section_id: u8, index: u8, times: u8) -> Vec<u8> {
    let one = [0, index, 0].repeat(times.into());
    section(section_id, &[&[times], one.as_slice()].concat())
}

/// Returns a component that instantiates [`MODULE`] a number of times.
fn modules(times: u8) -> Vec<u8> {
    component(&[section(1, MODULE), instantiate(2, 0, times)])
}

/// Returns a component that instantiates another a number of times.
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
    assert_eq!(usage(&component(&[section(1, MODULE)])), [0; 3], "a definition alone uses nothing");
    assert_eq!(usage(&modules(3)), [3; 3]);
}

#[test]
fn nested_instances_multiply() {
    assert_eq!(usage(&component(&[section(4, &modules(2))])), [0; 3]);
    assert_eq!(usage(&around(&around(&modules(2), 3), 5)), [30; 3]);
}

#[test]
fn exponential_counts_saturate() {
    let bomb = (0..100).fold(modules(1), |inner, _| around(&inner, 2));
    assert_eq!(usage(&bomb), [u64::MAX; 3]);
}

#[test]
fn aliases_and_exports_count_as_targets() {
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
fn imported_module_counts_as_largest_module() {
    // It imports a module and instantiates it 100 times, before the first module of the file.
    let module_type = section(3, &[1, 0x50, 0]);
    let import = section(10, &[1, 0, 1, b'm', 0, 0x11, 0]);
    let inner = component(&[module_type, import, instantiate(2, 0, 100)]);
    let file = component(&[section(4, &inner), section(1, MODULE), instantiate(5, 0, 1)]);
    assert_eq!(usage(&file), [100; 3]);
}

#[test]
fn too_many_definitions_are_refused() {
    let empty = section(4, EMPTY);
    assert!(outline(&component(&vec![empty.clone(); DEFINITIONS])).is_ok());
    let refused = outline(&component(&vec![empty; DEFINITIONS + 1])).unwrap_err();
    assert_eq!(refused, "it defines more than 10000 modules and components");
}

#[test]
fn names_over_limit_are_only_counted() {
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
fn names_are_cut_and_escaped() {
    for (name, kept) in [
        ("a\u{1b}[2J\n\u{9b}b", "a\\u{1b}[2J\\n\\u{9b}b"),
        (&*"x".repeat(101), &*format!("{}…", "x".repeat(100))),
    ] {
        let export = [&[1, 0, name.len() as u8], name.as_bytes(), &[5, 0, 0]].concat();
        assert_eq!(outline(&component(&[section(11, &export)])).unwrap().exports, [kept]);
    }
}

/// Returns a component that imports another and instantiates it a number of times, each time with a component or without.
fn open(times: u8, argument: &[u8]) -> Vec<u8> {
    let import = section(10, &[1, 0, 1, b'c', 4, 0]);
    let one = [&[0, 0], argument].concat();
    component(&[import, section(5, &[&[times], one.repeat(times.into()).as_slice()].concat())])
}

/// The argument `c`: the component with this index.
const GIVEN: &[u8] = &[1, 1, b'c', 4, 0];

#[test]
fn imported_component_counts_as_largest_fit() {
    // A component that is instantiated without a component is one that imports none, and not its parent.
    let file = component(&[section(4, &open(2, &[0])), section(4, &modules(3)), instantiate(5, 0, 1)]);
    assert_eq!(usage(&file), [6; 3]);
    // A component that is instantiated with one may be any, also itself.
    let file = component(&[section(4, &open(2, GIVEN)), section(4, &modules(1)), instantiate(5, 1, 4)]);
    assert_eq!(usage(&file), [4; 3], "it is not instantiated");
}

#[test]
fn imported_components_are_bounded_when_nested() {
    // Each instantiates its argument three times: 27 instances, if they were passed to one another.
    let levels = [open(3, &[0]), open(3, GIVEN), open(3, GIVEN)];
    let mut sections: Vec<Vec<u8>> = levels.iter().map(|level| section(4, level)).collect();
    sections.extend([section(4, &modules(1)), instantiate(5, 2, 1)]);
    let [instances, ..] = usage(&component(&sections));
    assert!(instances >= 27, "{instances}");
}

/// The largest component that the host accepts has some 16 MiB, and short sections cost most.
#[test]
fn steps_grow_with_the_file() {
    let list = |id: u8, bytes: usize, one: &[u8]| {
        let items = bytes / one.len();
        section(id, &[number(items), one.repeat(items)].concat())
    };
    let shapes: [Shape<'_, Vec<u8>>; 6] = [
        ("sections", &|bytes| component(&vec![section(0, &[1, b'n']); bytes / 4])),
        ("components", &|bytes| component(&vec![section(4, EMPTY); bytes / 11])),
        ("exports", &|bytes| component(&[list(11, bytes, &[0, 1, b'e', 5, 0, 0])])),
        ("instances", &|bytes| component(&[section(4, &modules(1)), list(5, bytes, &[0, 0, 0])])),
        ("guesses", &|bytes| {
            let import = section(10, &[1, 0, 1, b'c', 4, 0]);
            let inner = component(&[import, list(5, bytes, &[0, 0, 1, 1, b'c', 4, 0])]);
            component(&[section(4, &inner), section(4, &modules(1)), instantiate(5, 0, 1)])
        }),
        ("nesting", &|bytes| {
            // Innermost first: sizes are known only then.
            let depth = bytes / 16;
            let mut reversed: Vec<u8> = Vec::new();
            for level in 0..depth {
                let length = reversed.len() + EMPTY.len();
                let header = if level + 1 < depth { [vec![4], number(length)].concat() } else { Vec::new() };
                reversed.extend([header.as_slice(), EMPTY].concat().iter().rev());
            }
            reversed.reverse();
            reversed
        }),
    ];
    let test = concat!(module_path!(), "::steps_grow_with_the_file");
    assert_linear(test, 1 << 20, &shapes, |wasm| outline(wasm).is_ok());
}
