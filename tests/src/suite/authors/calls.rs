//! Calls and test cases of a component.

use std::fs;

use bulkhead_tests::guests::{Guest, HttpGuest};
use tempfile::TempDir;

use super::{done, fails, folder};

/// Writes the tag of an error into the result at address 0.
const ERROR: &str = "(i32.store8 (i32.const 0) (i32.const 1)) i32.const 0";

fn with_self_test(body: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let guest = Guest::default().with_self_test(body);
    fs::write(folder.path().join("captcha.wasm"), guest.component()).unwrap();
    folder
}

#[tokio::test]
async fn call_prints_answer_in_wave() {
    let folder = folder();
    let folder = folder.path();
    assert_eq!(done(folder, &["component", "call", "status.wasm", "self-test"]).await, "ok\n");
    for name in ["health", "bulkhead:status/reports#health", "bulkhead:status/reports@0.1.1#health"] {
        let said = done(folder, &["component", "call", "status.wasm", name]).await;
        assert!(said.starts_with("ok({level: ") && said.contains("text: \"OK\""), "{said}");
    }
    let options = "{statistics: false, wire: typed, version: \"1\"}";
    let said = done(folder, &["component", "call", "status.wasm", "status", options]).await;
    assert_eq!(said, "ok({data: \"{}\", collected-at: 1700000000})\n");
}

#[tokio::test]
async fn error_and_trap_have_own_exit_codes() {
    let call = ["component", "call", "captcha.wasm", "self-test"];
    let said = fails(with_self_test(ERROR).path(), &call, 9).await;
    assert!(said.starts_with("err(\"\")\n") && said.contains("self-test answered with an error"), "{said}");
    let said = fails(with_self_test("unreachable").path(), &call, 10).await;
    assert!(said.contains("self-test ended with trap: ") && said.contains("unreachable"), "{said}");
    let endless = "(loop $forever (br $forever)) i32.const 0";
    let limited = [&call[..], &["--cpu-ms", "20"]].concat();
    let said = fails(with_self_test(endless).path(), &limited, 10).await;
    assert!(said.contains("self-test ended with cpu-budget: "), "{said}");
}

#[tokio::test]
async fn wrong_export_and_argument_are_explained() {
    let folder = folder();
    let folder = folder.path();
    let said = fails(folder, &["component", "call", "status.wasm", "healthy"], 2).await;
    assert!(said.contains("exports no function healthy; it exports "), "{said}");
    assert!(said.contains("bulkhead:status/reports@0.1.1#health"), "{said}");
    let said = fails(folder, &["component", "call", "status.wasm", "status", "{wire: other}"], 2).await;
    assert!(said.contains("argument 1 (options) is not WAVE text of its type"), "{said}");
    assert!(said.contains("status: func(options: options) -> result<report, error>"), "{said}");
    assert!(
        said.contains("record { statistics: bool, wire: enum { typed, legacy }, version: string }"),
        "{said}"
    );
    let said = fails(folder, &["component", "call", "status.wasm", "status"], 2).await;
    assert!(said.contains("takes 1 argument, 0 given"), "{said}");
}

#[tokio::test]
async fn call_of_handler_names_run() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("http.wasm"), HttpGuest::answering(200, "hello").component()).unwrap();
    let said = fails(folder.path(), &["component", "call", "http.wasm", "handle"], 2).await;
    assert!(
        said.contains("#handle takes handles") && said.contains("`run` serves one of wasi:http"),
        "{said}"
    );
}

#[tokio::test]
async fn call_of_what_needs_a_host_traps() {
    let import = r#"(import "bulkhead:captcha/ledger@0.1.1" "spent" (func $spent (param i32 i32 i32)))"#;
    let guest = Guest::default()
        .with_imports(import)
        .with_self_test("(call $spent (i32.const 0) (i32.const 0) (i32.const 64)) i32.const 0");
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("captcha.wasm"), guest.component()).unwrap();
    let said = fails(folder.path(), &["component", "call", "captcha.wasm", "self-test"], 10).await;
    assert!(said.contains("bulkhead:captcha/ledger@0.1.1#spent needs a host"), "{said}");
}

#[tokio::test]
async fn failing_case_shows_the_difference() {
    let folder = folder();
    let test = ["component", "test", "status.wasm", "--cases", "cases.jsonl"];
    let cases = |text: &str| fs::write(folder.path().join("cases.jsonl"), text).unwrap();
    let good = "{\"export\": \"self-test\", \"answer\": \"ok\"}\n\n";
    cases(good);
    assert_eq!(done(folder.path(), &test).await, "1 cases, 1 passed, 0 failed\n");
    let bad = r#"{"name": "the verdict", "export": "health", "answer": "{level: %ok, text: \"BAD\"}"}"#;
    cases(&format!("{good}{bad}\n"));
    let said = fails(folder.path(), &test, 1).await;
    assert!(said.contains("line 3: bulkhead:status/reports@0.1.1#health (the verdict) differs\n"), "{said}");
    assert!(said.contains("    ok.text: expected \"BAD\", found \"OK\"\n"), "{said}");
    assert!(said.contains("2 cases, 1 passed, 1 failed\n"), "{said}");
    cases(&format!("{good}{{\"export\": \"self-test\"}}\n"));
    let said = fails(folder.path(), &test, 2).await;
    assert!(said.contains("cases.jsonl line 3: a case has one of answer, error and trap"), "{said}");
}
