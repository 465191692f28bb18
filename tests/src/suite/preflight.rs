//! What is refused before it may answer, and what the refusal says.

use bulkhead_tests::guests::{self, Guest};

use crate::hostile;

/// Why the component may not answer, for operators.
async fn refusal(wasm: Vec<u8>) -> String {
    hostile::refusal(wasm, &[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn random_garbage() {
    let garbage = (0..4096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    assert!(refusal(garbage).await.contains("not a WebAssembly component"));
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_file() {
    assert!(refusal(Vec::new()).await.contains("not a WebAssembly component"));
}

#[tokio::test(flavor = "multi_thread")]
async fn truncated() {
    let whole = Guest::default().component();
    let half = whole.len() / 2;
    assert!(refusal(whole[..half].to_vec()).await.contains("not a WebAssembly component"));
}

#[tokio::test(flavor = "multi_thread")]
async fn core_module_only() {
    let module = wat::parse_str(Guest::default().text()).unwrap();
    assert!(refusal(module).await.contains("core module"));
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_export() {
    let component = wat::parse_str("(component)").unwrap();
    let refusal = refusal(component).await;
    assert!(refusal.contains("does not export bulkhead:captcha/challenges@0.1.1"), "{refusal}");
    assert!(refusal.contains("does not export self-test"), "{refusal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ungranted_import_names_the_granting_line() {
    let guest = Guest::call("(call $check (i32.const 0) (i32.const 0) (i32.const 16)) unreachable")
        .with_imports(
            r#"(import "bulkhead:host/guard@0.1.1" "check-prompt" (func $check (param i32 i32 i32)))"#,
        );
    let refusal = refusal(guest.component()).await;
    assert!(refusal.contains("slots.captcha.grants = [\"bulkhead:host/guard\"]"), "{refusal}");
    assert!(refusal.contains("wasi:random/random@0.2.12"), "the refusal lists what is offered: {refusal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_import_names_the_nearest() {
    let component = wat::parse_str(
        r#"(component (import "wasi:clocks/wall-clocks@0.2.12" (instance (export "now" (func)))))"#,
    );
    let refusal = refusal(component.unwrap()).await;
    assert!(refusal.contains("wasi:clocks/wall-clocks@0.2.12"), "{refusal}");
    assert!(refusal.contains("the nearest is wasi:clocks/wall-clock"), "{refusal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wasi_http_component_is_called_that() {
    for export in ["wasi:http/incoming-handler@0.2.3", "wasi:http/handler@0.3.0"] {
        let text = format!(
            r#"(component
                (import "wasi:http/types@0.2.3" (instance $types))
                (instance $handler)
                (export "{export}" (instance $handler)))"#
        );
        let refusal = refusal(wat::parse_str(text).unwrap()).await;
        assert!(refusal.contains("this is a wasi:http component (it exports"), "{refusal}");
        assert!(!refusal.contains("does not export") && !refusal.contains("it imports"), "{refusal}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_version_names_the_one_offered() {
    let component = wat::parse_str(
        r#"(component (import "wasi:clocks/wall-clock@0.3.0" (instance (export "now" (func)))))"#,
    );
    let refusal = refusal(component.unwrap()).await;
    assert!(refusal.contains("this host offers wasi:clocks/wall-clock@0.2.12"), "{refusal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_self_test_keeps_a_component_out() {
    let guest = Guest::default()
        .with_self_test("(i32.store8 (i32.const 32) (i32.const 1)) (i32.store (i32.const 36) (i32.const 48)) (i32.store (i32.const 40) (i32.const 9)) i32.const 32")
        .with_fields(r#"(data (i32.const 48) "no spoons")"#);
    assert!(refusal(guest.component()).await.contains("no spoons"));
}

#[test]
fn a_well_behaved_guest_is_a_component() {
    let component = guests::component(&wat::parse_str(Guest::default().text()).unwrap());
    assert_eq!(component[..8], [0, b'a', b's', b'm', 13, 0, 1, 0]);
}
