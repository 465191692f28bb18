//! Components that import an interface under the name that it had before it moved into the package of its service.

use bulkhead_tests::{
    guests::{self, BUMP},
    host::eventually,
};

use super::super::*;

/// Every function of the captcha service's interfaces, under the old names.
const OLD: &str = r#"
    (import "bulkhead:host/ledger@0.1.1" "record-visit" (func $visit (param i32 i32 i32 i32 i32 i32)))
    (import "bulkhead:host/ledger@0.1.1" "load" (func $load (param i32 i32 i32)))
    (import "bulkhead:host/ledger@0.1.1" "spent" (func $spent (param i32 i32 i32)))
    (import "bulkhead:host/ledger@0.1.1" "claim" (func $claim (param i32 i32 i64 i32 i32 i32)))
    (import "bulkhead:host/ledger@0.1.1" "record-failure" (func $failure (param i32 i32 i64 i32)))
    (import "bulkhead:host/pow@0.1.1" "derive"
        (func $derive (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
    (import "bulkhead:host/pow@0.1.1" "mint" (func $mint (param i32 i32 i32 i32 i32 i32 i32)))"#;
/// One function under the name of now.
const NEW: &str = r#"
    (import "bulkhead:captcha/ledger@0.1.1" "claim" (func $claim (param i32 i32 i64 i32 i32 i32)))"#;

/// Answers with `letter` after it has spent a challenge, and traps where that was spent before.
fn claiming(letter: char, imports: &str) -> Guest {
    // At 4096 is the result, 0 for `ok`; at 4100, whether there was one left.
    let claim = "
        (call $claim (i32.const 2048) (i32.const 64) (i64.const 4000000000) (i32.const 1) (i32.const 0)
            (i32.const 4096))
        (if (i32.load8_u (i32.const 4096)) (then unreachable))
        (if (i32.eqz (i32.load8_u (i32.const 4100))) (then unreachable))";
    let guest = answering(letter, claim).with_imports(imports);
    let id = "0123456789abcdef".repeat(4);
    let fields = format!("{} (data (i32.const 2048) \"{id}\")", guest.fields);
    guest.with_fields(&fields)
}

/// An exported interface, and the name and parameters of each of its functions.
type Export<'a> = (&'a str, &'a [(&'a str, &'a str)]);

/// A component of a service whose exports trap, and whose self-test runs `call`, which calls the `import` of `interface`.
fn trying(service: &str, export: Export<'_>, interface: &str, import: &str, call: &str) -> Vec<u8> {
    let (exported, functions) = export;
    let function = |(name, parameters): &(&str, &str)| {
        format!("(func (export \"{exported}#{name}\") {parameters} (result i32) unreachable)\n")
    };
    let exports: String = functions.iter().map(function).collect();
    let text = format!(
        r#"(module
            (import "{interface}" {import})
            (memory (export "memory") 4)
            (global $heap (mut i32) (i32.const 65536))
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) {BUMP})
            {exports}
            (func (export "self-test") (result i32) {call} (i32.const 256))
        )"#
    );
    guests::of_service_importing(&text, service, &[interface])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_was_built_before_answers() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let older = |text: &str| {
        let text = guests::renamed(text, "bulkhead:captcha@0.1.1", "0.1.0");
        guests::renamed(&text, "bulkhead:host@0.1.1", "0.1.0")
    };
    let before = guests::built_with(&claiming('B', OLD).text(), older);
    let version = operator.push(before).await;
    operator.swap(&version).await;
    assert_eq!(letter(&host, 1).await, 'B');
    host.stop().await;
}

/// Both names share one recording: a shadow call under one name does not spend again what the live call spent under the
/// other.
#[tokio::test(flavor = "multi_thread")]
async fn both_names_are_one_interface() {
    let host = hosting_a().component(claiming('A', OLD).component()).start().await;
    let operator = operator(&host);
    let live = operator.slot().await["active"]["id"].as_str().unwrap().to_owned();
    let version = operator.push(claiming('A', NEW).component()).await;
    operator.change("shadow", json!({ "version": version, "reason": "to see" })).await;
    assert_eq!(letter(&host, 1).await, 'A');
    let findings = async || operator.get("/v1/slots/captcha/shadow").await.1;
    eventually("the copy is compared", async || {
        let findings = findings().await;
        ["same", "different", "failed"].iter().any(|how| findings[how] == 1)
    })
    .await;
    let findings = findings().await;
    assert_eq!(findings["same"], 1, "{findings}");

    let (status, diff) = operator.get(&format!("/v1/slots/captcha/diff?a={live}&b={version}")).await;
    assert_eq!(status, 200, "{diff}");
    let pow = ["bulkhead:host/pow@0.1.1"];
    assert_eq!(diff["imports"], json!({ "only_a": pow, "only_b": [] }), "the ledger is not a difference");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_services_take_old_names() {
    let host = hosting_a().start().await;
    let reports = [("status", "(param i32 i32 i32 i32)"), ("health", ""), ("metrics", "(param i32 i32)")];
    let status = trying(
        "status",
        ("bulkhead:status/reports@0.1.1", &reports),
        "bulkhead:host/appointments@0.1.1",
        r#""read" (func $read (param i32 i32))"#,
        "(call $read (i32.const 1) (i32.const 4096))
         (if (i32.load8_u (i32.const 4096)) (then unreachable))",
    );
    operator(&host).of("status").push(status).await;
    let answers = [
        ("answer", "(param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)"),
        ("prompt-versions", "(param i32 i32 i32 i32)"),
    ];
    let answer = trying(
        "answer",
        ("bulkhead:answer/answers@0.1.1", &answers),
        "bulkhead:host/search@0.1.1",
        r#""search" (func $search (param i32 i32 i32 i32 i32 i32))"#,
        "(call $search (i32.const 1024) (i32.const 4) (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 4096))",
    );
    operator(&host).of("answer").push(answer).await;
    host.stop().await;
}

/// A grant of the configuration may give either name, and lets both be imported.
#[tokio::test(flavor = "multi_thread")]
async fn grant_counts_for_both_names() {
    let importing = |interface: &str| {
        trying(
            "triage",
            (
                "bulkhead:triage/tickets@0.1.0",
                &[("triage", "(param i32)"), ("prompt-versions", "(param i32)")],
            ),
            interface,
            r#""spent" (func $spent (param i32 i32 i32))"#,
            "(call $spent (i32.const 1024) (i32.const 4) (i32.const 4096))",
        )
    };
    let names = ["bulkhead:host/ledger@0.1.1", "bulkhead:captcha/ledger@0.1.1"];
    let host = hosting_a().start().await;
    for name in names {
        let (status, refused) = operator(&host).of("triage").try_push(importing(name)).await;
        assert_eq!(status, 422, "{refused}");
        let said = format!(
            "it imports {name}, offered as bulkhead:captcha/ledger@0.1.1 but not granted; \
             grant it with slots.triage.grants = [\"bulkhead:captcha/ledger\"]"
        );
        assert!(refused["message"].as_str().unwrap().contains(&said), "no {said} in {refused}");
    }
    host.stop().await;
    for granted in ["bulkhead:host/ledger", "bulkhead:captcha/ledger"] {
        let grants = format!("[slots.triage]\ngrants = [\"{granted}\"]\n");
        let host = hosting_a().config(&grants).start().await;
        for name in names {
            let (status, version) = operator(&host).of("triage").try_push(importing(name)).await;
            assert_eq!(status, 201, "{granted} lets {name} be imported: {version}");
        }
        host.stop().await;
    }
}
