//! Data that apps keep in key-value stores.

use std::{fs, path::Path};

use bulkhead_tests::child::{Bulkhead, Launch};
use tempfile::TempDir;

use super::*;
use crate::process::{degraded, faults::full_disk::fill};

pub(super) const STORES: &str = "[keyvalue.stores.links]\nkeys = 10\n";

/// Imports of [`keeping`].
pub(super) const IMPORTS: &[(&str, &str, &str)] = &[
    ("keyvalue/store@0.2.0-draft", "open", "$open-store (param i32 i32 i32)"),
    ("keyvalue/store@0.2.0-draft", "[method]bucket.set", "$keep (param i32 i32 i32 i32 i32 i32)"),
    ("keyvalue/store@0.2.0-draft", "[method]bucket.get", "$kept (param i32 i32 i32 i32)"),
];

/// An app that keeps a value in the store `links`, and answers with what is there. It traps if it may not.
fn keeping() -> HttpGuest {
    let guest = HttpGuest::showing(
        "(call $open-store (i32.const 1024) (i32.const 5) (i32.const 128))
         (if (i32.load8_u (i32.const 128)) (then unreachable))
         (local.set $at (i32.load (i32.const 132)))
         (call $keep (local.get $at) (i32.const 1040) (i32.const 1) (i32.const 1050) (i32.const 4)
            (i32.const 144))
         (if (i32.load8_u (i32.const 144)) (then unreachable))
         (call $kept (local.get $at) (i32.const 1040) (i32.const 1) (i32.const 28))
         (if (i32.load8_u (i32.const 28)) (then unreachable))",
    );
    guest.with_imports(IMPORTS).with_data(1024, "links").with_data(1040, "a").with_data(1050, "kept")
}

#[tokio::test(flavor = "multi_thread")]
async fn app_keeps_values_in_listed_store() {
    let host = hosting(&keeping(), &format!("keyvalue = ['links']\n{STORES}")).start().await;
    assert_eq!(get(&host, "/hello").await, (200, "kept".to_owned()));
    let set = "bulkhead_keyvalue_operations_total{operation=\"set\",outcome=\"ok\",slot=\"hello\"}";
    assert_eq!(host.metric(set).await, 1.0);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn value_is_bounded_by_its_store() {
    // The first value is larger than a response may be, the second one than the store takes.
    let keep = |bytes| {
        format!(
            "(call $keep (local.get $at) (i32.const 1040) (i32.const 1) (i32.const 4096) (i32.const {bytes})
                (i32.const 144))"
        )
    };
    let (fits, is_too_large) = (keep(70_000), keep(90_000));
    let guest = HttpGuest::handling(&format!(
        "(call $open-store (i32.const 1024) (i32.const 5) (i32.const 128))
         (local.set $at (i32.load (i32.const 132)))
         {fits}
         (if (i32.load8_u (i32.const 144)) (then unreachable))
         {is_too_large}
         (if (i32.eqz (i32.load8_u (i32.const 144))) (then unreachable))
         (local.set $body (call $respond (local.get $out) (i32.const 200) (call $new-fields)))
         (call $finish (call $open (local.get $body)) (local.get $body))"
    ));
    let guest = guest.with_imports(IMPORTS).with_data(1024, "links").with_data(1040, "a");
    let keys = format!("keyvalue = ['links']\nresponse_bytes = 65536\n{STORES}value_bytes = 80000\n");
    let host = hosting(&guest, &keys).start().await;
    assert_eq!(get(&host, "/hello").await.0, 200);
    assert_calls(&host, "ok", 1.0).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn store_that_is_not_listed_is_refused() {
    let host = hosting(&keeping(), STORES).start().await;
    assert_eq!(get(&host, "/hello").await.0, 500);
    assert_calls(&host, "trap", 1.0).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_opens_keep_to_log_rate() {
    let guest = HttpGuest::handling(
        "(loop $again
            (call $open-store (i32.const 1024) (i32.const 5) (i32.const 128))
            (if (i32.eqz (i32.load8_u (i32.const 128))) (then unreachable))
            (local.set $length (i32.add (local.get $length) (i32.const 1)))
            (br_if $again (i32.lt_u (local.get $length) (i32.const 500))))
         (local.set $body (call $respond (local.get $out) (i32.const 200) (call $new-fields)))
         (call $finish (call $open (local.get $body)) (local.get $body))",
    );
    let guest = guest.with_imports(IMPORTS).with_data(1024, "lists");
    let keys = format!("keyvalue = ['links']\nlog_bytes_per_second = 4096\n{STORES}");
    let host = hosting(&guest, &keys).start().await;
    assert_eq!(get(&host, "/hello").await.0, 200);
    let dropped = host.metric("bulkhead_guest_log_dropped_bytes_total{slot=\"hello\"}").await;
    assert!(dropped > 0.0, "500 lines are more than 4096 bytes a second");
    let operator = operator::Operator::new(&host.admin_url(""), operator::READ);
    let (_, log) = operator.get("/v1/slots/hello/logs").await;
    assert!(log.to_string().contains("there is no key-value store"), "{log}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_store_is_reported() {
    let host = hosting(&keeping(), &format!("keyvalue = ['lists']\n{STORES}")).start().await;
    let (status, checks) = readiness(&host).await;
    assert_eq!(status, 200);
    let [(_, reason)] = &checks[..] else { panic!("{checks:?}") };
    assert!(reason.contains("apps.hello.keyvalue names the store lists"), "{reason}");
    host.stop().await;
}

/// An app at `/keep` that keeps a value, and one at `/show` that answers with it.
fn keeping_and_showing(folder: &Path) -> String {
    let showing = HttpGuest::showing(
        "(call $open-store (i32.const 1024) (i32.const 5) (i32.const 128))
         (if (i32.load8_u (i32.const 128)) (then unreachable))
         (call $kept (i32.load (i32.const 132)) (i32.const 1040) (i32.const 1) (i32.const 28))
         (if (i32.load8_u (i32.const 28)) (then unreachable))",
    );
    let showing = showing.with_imports(IMPORTS).with_data(1024, "links").with_data(1040, "a");
    let app = |name: &str, guest: &HttpGuest| {
        let file = folder.join(format!("{name}.wasm"));
        fs::write(&file, guest.component()).unwrap();
        format!("[apps.{name}]\ncomponent = {file:?}\npath_prefix = '/{name}'\nkeyvalue = ['links']\n")
    };
    format!("{ALONE}{}{}{STORES}", app("keep", &keeping()), app("show", &showing))
}

async fn answered(host: &Bulkhead, path: &str) -> (u16, String) {
    answer(host.client().get(host.url(path))).await
}

async fn has_degraded_stores(host: &Bulkhead) -> bool {
    degraded(host).await.contains(&"key-value stores".to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_store_is_degraded_and_read() {
    let folder = TempDir::new().unwrap();
    let config = keeping_and_showing(folder.path());
    let kept = (200, "kept".to_owned());
    let host = Launch::serve_with(folder.path(), &config).ready().await;
    assert_eq!(answered(&host, "/keep").await, kept);
    assert!(!has_degraded_stores(&host).await);
    host.stop().await;

    let host = Launch::serve_with_read_only_data(folder.path(), &config).ready().await;
    assert!(has_degraded_stores(&host).await);
    assert_eq!(answered(&host, "/show").await, kept, "{}", host.text());
    assert_eq!(answered(&host, "/keep").await.0, 500);
    host.stop().await;

    let host = Launch::serve_with(folder.path(), &config).ready().await;
    assert!(!has_degraded_stores(&host).await);
    assert_eq!(answered(&host, "/keep").await, kept);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unfinished_read_only_store_is_named() {
    let folder = TempDir::new().unwrap();
    let config = keeping_and_showing(folder.path());
    let host = Launch::serve_with(folder.path(), &config).ready().await;
    assert_eq!(answered(&host, "/keep").await.0, 200);
    host.stop().await;
    for suffix in ["-journal", "-wal"] {
        // Changes that SQLite would undo or add.
        let unfinished = folder.path().join(format!("data/keyvalue.sqlite{suffix}"));
        fs::write(&unfinished, "changes").unwrap();
        let host = Launch::serve_with_read_only_data(folder.path(), &config).ready().await;
        assert!(has_degraded_stores(&host).await);
        assert_eq!(answered(&host, "/show").await.0, 500, "{suffix}");
        let failed = "the key-value store does not answer; check that its database runs and has room";
        let reason = host.line(failed).await["reason"].to_string();
        for said in [&format!("keyvalue.sqlite{suffix} has changes"), "make the disk writable"] {
            assert!(reason.contains(said), "{reason}");
        }
        host.stop().await;
        fs::remove_file(&unfinished).unwrap();
    }
    let host = Launch::serve_with_read_only_data(folder.path(), &config).ready().await;
    assert_eq!(answered(&host, "/show").await.0, 200);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn full_store_is_degraded_until_room() {
    let folder = TempDir::new().unwrap();
    let config = keeping_and_showing(folder.path());
    let kept = (200, "kept".to_owned());
    let host = Launch::serve_with_small_disk(folder.path(), &config, 64 << 20).ready().await;
    assert_eq!(answered(&host, "/keep").await, kept);
    let filler = host.root().join(folder.path().strip_prefix("/").unwrap()).join("data/filler");
    fill(&filler);
    assert!(has_degraded_stores(&host).await);
    assert_eq!(answered(&host, "/show").await, kept, "{}", host.text());
    fs::remove_file(&filler).unwrap();
    eventually("the store is well", async || !has_degraded_stores(&host).await).await;
    eventually("it takes writes", async || answered(&host, "/keep").await == kept).await;
    host.stop().await;
}
