//! Memories and tables of the pool, which the instances of all slots share: none brings anything of its last user along.

use bulkhead::{
    config::sandbox::{MEMORIES, TABLES},
    engine::PoolSize,
    services::list::{ANSWER, CAPTCHA, TRIAGE},
};
use bulkhead_tests::{
    guests,
    host::load,
    operator::{self, Operator},
};

use super::*;

/// Few places, so that they are soon used up, and memory for all that the guests grow.
const SLOTS: &str = r#"
    [captcha.sites.site]
    secret = "secret"
    [services.embedding]
    enabled = false
    [services.status]
    enabled = false
    [services.apps]
    enabled = false
    [slots.captcha]
    max_concurrent = 1
    shadow_calls = 1
    memory_bytes = 4194304
    cpu_ms = 60000
    deadline_ms = 60000
    [slots.triage]
    max_concurrent = 1
    shadow_calls = 1
    memory_bytes = 4194304
    cpu_ms = 60000
    deadline_ms = 60000
    [slots.answer]
    max_concurrent = 1
    shadow_calls = 1
"#;

/// Pages of each memory: at the start, and once it has grown. The first is larger than what stays resident.
const PAGES: [(u32, u32); MEMORIES] = [(4, 40), (1, 4), (1, 4), (1, 4)];
/// Elements of each table.
const ELEMENTS: u32 = 200;
const PAGE: u32 = 65536;

/// Memories and tables, all that a component may have.
fn parts() -> String {
    let memory = |(at, (pages, _)): (usize, &(u32, u32))| match at {
        0 => format!("(memory $m0 (export \"memory\") {pages})"),
        _ => format!("(memory $m{at} {pages})"),
    };
    let memories: String = PAGES.iter().enumerate().map(memory).collect();
    let tables: String = (0..TABLES).map(|at| format!("(table $t{at} {ELEMENTS} funcref)")).collect();
    memories + &tables
}

/// Grows every memory.
fn grow() -> String {
    let grow = |(at, (from, to)): (usize, &(u32, u32))| {
        format!(
            "(if (i32.eq (memory.grow $m{at} (i32.const {})) (i32.const -1)) (then unreachable))",
            to - from
        )
    };
    PAGES.iter().enumerate().map(grow).collect()
}

/// A captcha component whose self-test leaves `mark` in all of its memories, but for its result, and itself in all of its
/// tables.
fn writer(mark: u32) -> Vec<u8> {
    let fill = |(at, (_, to)): (usize, &(u32, u32))| {
        let from = if at == 0 { 64 } else { 0 };
        format!("(memory.fill $m{at} (i32.const {from}) (i32.const {mark}) (i32.const {}))", to * PAGE - from)
    };
    let fill_table =
        |at: usize| format!("(table.fill $t{at} (i32.const 0) (ref.func $mark) (i32.const {ELEMENTS}))");
    let fill: String = PAGES.iter().enumerate().map(fill).chain((0..TABLES).map(fill_table)).collect();
    Guest::default()
        .with_memory(&parts())
        .with_fields(&format!("(elem declare func $mark) (func $mark (result i32) (i32.const {mark}))"))
        .with_self_test(&format!("{} {fill} (i32.const 0)", grow()))
        .component()
}

/// A triage component whose self-test looks at every word of its memories and at every element of its tables, and says
/// DIRT if any is not empty. `soil` runs before.
fn reader(soil: &str) -> Vec<u8> {
    let look = |(at, (_, to)): (usize, &(u32, u32))| {
        format!(
            "(local.set $at (i32.const 0))
            (loop $words
                (if (i64.ne (i64.load $m{at} (local.get $at)) (i64.const 0)) (then (local.set $dirt (i32.const 1))))
                (local.set $at (i32.add (local.get $at) (i32.const 8)))
                (br_if $words (i32.lt_u (local.get $at) (i32.const {}))))",
            to * PAGE
        )
    };
    let look_at_table = |at: usize| {
        format!(
            "(local.set $at (i32.const 0))
            (loop $elements
                (if (i32.eqz (ref.is_null (table.get $t{at} (local.get $at)))) (then (local.set $dirt (i32.const 1))))
                (local.set $at (i32.add (local.get $at) (i32.const 1)))
                (br_if $elements (i32.lt_u (local.get $at) (i32.const {ELEMENTS}))))"
        )
    };
    let look: String = PAGES.iter().enumerate().map(look).chain((0..TABLES).map(look_at_table)).collect();
    let text = format!(
        r#"(module
            {}
            (elem declare func $other)
            (func $other)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
            (func (export "bulkhead:triage/tickets@0.1.0#triage") (param i32) (result i32) unreachable)
            (func (export "bulkhead:triage/tickets@0.1.0#prompt-versions") (param i32) (result i32) unreachable)
            (func (export "self-test") (result i32)
                (local $at i32) (local $dirt i32)
                {} {soil} {look}
                (if (local.get $dirt)
                    (then
                        (i32.store (i32.const 64) (i32.const 0x54524944))
                        (i32.store8 (i32.const 128) (i32.const 1))
                        (i32.store (i32.const 132) (i32.const 64)) (i32.store (i32.const 136) (i32.const 4))
                        (return (i32.const 128))))
                (i32.const 0))
        )"#,
        parts(),
        grow(),
    );
    guests::of_service(&text, "triage")
}

/// Soils the last byte of the last memory, and the last element of the last table, of a reader.
fn soils() -> [String; 2] {
    let (last, last_table) = (PAGES.len() - 1, TABLES - 1);
    [
        format!("(i32.store8 $m{last} (i32.const {}) (i32.const 1))", PAGES[last].1 * PAGE - 1),
        format!("(table.set $t{last_table} (i32.const {}) (ref.func $other))", ELEMENTS - 1),
    ]
}

/// Instances that have memories of the pool at once: after as many writers no memory is left that none has used.
fn places() -> usize {
    let config = load(SLOTS, Vec::new(), vec![("data_dir".to_owned(), "none".to_owned())]).unwrap();
    let used = [CAPTCHA, TRIAGE, ANSWER];
    PoolSize::of(used.iter().map(|slot| &config.slots.get(*slot).unwrap().limits)).calls
}

#[tokio::test(flavor = "multi_thread")]
async fn used_pool_slots_come_back_empty() {
    let config = format!("{SLOTS}{}[sandbox]\nallocator = \"pooling\"\n", operator::tokens());
    let host = TestHost::builder().config(&config).start().await;
    let deploy = Operator::new(&host.admin_url(""), operator::DEPLOY);
    let (captcha, triage) = (deploy.clone().of("captcha"), deploy.of("triage"));

    for soil in soils() {
        let (status, refused) = triage.try_push(reader(&soil)).await;
        assert_eq!(status, 422, "the reader sees what is there: {refused}");
        assert!(refused["message"].as_str().unwrap().contains("self-test failed: DIRT"), "{refused}");
    }
    // An instance of a module that the pool has not seen takes memories that nothing has used, and then those that were
    // used least recently: twice as many writers as places leave their marks in all of them.
    let places = places();
    assert!(places < 32, "{places}");
    for mark in 0..2 * places as u32 {
        captcha.push(writer(mark + 1)).await;
    }
    let (status, version) = triage.try_push(reader("")).await;
    assert_eq!(status, 201, "{version}");
    // Another module takes other memories.
    let (status, version) = triage.try_push(reader("(nop)")).await;
    assert_eq!(status, 201, "{version}");
    host.stop().await;
}
