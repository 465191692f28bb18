//! Long and deep lists across the component's border: what the host makes of them is bounded by `response_bytes`, and not
//! by what the guest's memory can describe.

use bulkhead_tests::{
    child::{Bulkhead, Launch},
    guests,
};
use tempfile::TempDir;

use super::*;
use crate::status;

const MIB: u64 = 1 << 20;
/// More than a host of one call's answer needs, and far less than any of the lists would take.
const GROWTH: u64 = 48 * MIB;

const VISIT: &str = r#"
    (import "bulkhead:captcha/ledger@0.1.1" "record-visit" (func $visit (param i32 i32 i32 i32 i32 i32)))"#;

/// Hands the host a list of `length` strings at `address`; what it answers is written at 2048.
fn visit(address: &str, length: &str) -> Guest {
    Guest::call(&format!(
        "(call $visit (i32.const 0) (i32.const 0) (i32.const {address}) (i32.const {length}) (i32.const 0)
            (i32.const 2048)) i32.const 0"
    ))
    .with_imports(VISIT)
}

hostile_guests! {
    /// Hands over more strings than the host takes, each of them empty.
    many_empty_strings: ends(500, "response-too-large"), visit("131072", "16000");

    /// Hands over few strings, all of which are the same long one.
    one_string_many_times: ends(500, "response-too-large"),
        Guest::call("
            (local $i i32)
            (loop $again
                (i32.store offset=131076 (i32.shl (local.get $i) (i32.const 3)) (i32.const 4096))
                (local.set $i (i32.add (local.get $i) (i32.const 1)))
                (br_if $again (i32.lt_u (local.get $i) (i32.const 100))))
            (call $visit (i32.const 0) (i32.const 0) (i32.const 131072) (i32.const 100) (i32.const 0) (i32.const 2048))
            i32.const 0")
            .with_imports(VISIT);

    /// Hands over a list that ends outside its memory.
    list_out_of_bounds: ends(500, "trap"), visit("131072", "1000000");

    /// Hands over a list whose bytes are more than there are addresses.
    list_that_wraps: ends(500, "trap"), visit("131072", "0x20000000");

    /// Hands over a list at an odd address.
    misaligned_list: ends(500, "trap"), visit("131073", "1");
}

/// A status component whose metrics are what `body` writes: at 132 the address of families of 28 bytes, at 136 their
/// number.
fn metrics(body: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
            (memory (export "memory") 900)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
            (func (export "bulkhead:status/reports@0.1.1#status") (param i32 i32 i32 i32) (result i32) unreachable)
            (func (export "bulkhead:status/reports@0.1.1#health") (result i32) unreachable)
            (func $list (param $at i32) (param $size i32) (param $count i32) (param $inner i32) (param $length i32)
                (loop $again
                    (i32.store (local.get $at) (local.get $inner))
                    (i32.store offset=4 (local.get $at) (local.get $length))
                    (local.set $at (i32.add (local.get $at) (local.get $size)))
                    (local.set $count (i32.sub (local.get $count) (i32.const 1)))
                    (br_if $again (local.get $count))))
            (func (export "bulkhead:status/reports@0.1.1#metrics") (param i32 i32) (result i32) {body} i32.const 128)
            (func (export "self-test") (result i32) i32.const 256)
        )"#
    );
    guests::of_service(&text, "status")
}

/// Points `metrics` at families.
fn families(address: u32, count: u32) -> String {
    format!(
        "(i32.store (i32.const 132) (i32.const {address})) (i32.store (i32.const 136) (i32.const {count}))"
    )
}

/// Two million families, all of them zeros: 56 MB of the guest's memory.
fn flat() -> Vec<u8> {
    metrics(&families(65536, 2_000_000))
}

/// A thousand families that share a thousand samples that share a thousand pairs of empty strings: 60 KB of the guest's
/// memory, and a thousand million pairs.
fn deep() -> Vec<u8> {
    let samples =
        "(call $list (i32.const 65556) (i32.const 28) (i32.const 1000) (i32.const 262144) (i32.const 1000))";
    let labels =
        "(call $list (i32.const 262144) (i32.const 16) (i32.const 1000) (i32.const 524288) (i32.const 1000))";
    metrics(&format!("{samples} {labels} {}", families(65536, 1000)))
}

/// Ten thousand families that share a name of a mebibyte.
fn named() -> Vec<u8> {
    let names = "(call $list (i32.const 65536) (i32.const 28) (i32.const 10000) (i32.const 1048576) (i32.const 1048576))";
    metrics(&format!("{names} {}", families(65536, 10_000)))
}

/// A host whose status slot has the component, which hands over at most so many bytes.
async fn serving(folder: &TempDir, component: Vec<u8>, response_bytes: u64) -> Bulkhead {
    let (file, database) = (folder.path().join("guest.wasm"), status::known_figures(folder.path()).await);
    std::fs::write(&file, component).unwrap();
    let off =
        ["embedding", "tickets", "captcha"].map(|service| format!("{service}.enabled = false\n")).concat();
    let config = format!(
        "[services]\n{off}[status]\ndatabase = \"{database}\"\ntokens = [\"{}\"]\n\
         [slots.status]\ncomponent = {file:?}\nresponse_bytes = {response_bytes}\ncpu_ms = 60000\ndeadline_ms = 60000\n",
        status::TOKEN
    );
    Launch::serve_with(folder.path(), &config).ready().await
}

/// Asks for the metrics `times` times, each of which ends with `response-too-large`; by how much the most memory that the
/// host has had resident has grown since it was ready.
async fn growth(component: Vec<u8>, response_bytes: u64, times: u32) -> u64 {
    let folder = TempDir::new().unwrap();
    let host = serving(&folder, component, response_bytes).await;
    let before = host.peak_memory();
    for _ in 0..times {
        let metrics = host.client().get(host.url(&format!("{}/status/metrics", status::BASE)));
        let answer = metrics.header("x-token", status::TOKEN).send().await.unwrap();
        let status = answer.status().as_u16();
        assert_eq!(status, 500, "{}", answer.text().await.unwrap());
    }
    let ended = host.metric("bulkhead_calls_total{outcome=\"response-too-large\",slot=\"status\"}").await;
    assert_eq!(ended, f64::from(times));
    assert_eq!(host.status(&host.admin_url("/health/live")).await, 200);
    let growth = host.peak_memory() - before;
    host.stop().await;
    growth
}

#[tokio::test(flavor = "multi_thread")]
async fn millions_of_elements_take_little_memory() {
    for component in [flat(), deep(), named()] {
        let growth = growth(component, MIB, 5).await;
        assert!(growth < GROWTH, "{} MiB for answers of a mebibyte", growth / MIB);
    }
}

/// What the test above measures is the limit and not the guest: with a larger one the same list takes as much.
#[tokio::test(flavor = "multi_thread")]
async fn list_memory_follows_response_bytes() {
    let growth = growth(deep(), 256 * MIB, 1).await;
    assert!((128 * MIB..768 * MIB).contains(&growth), "{} MiB", growth / MIB);
}
