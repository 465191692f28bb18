//! What operators see of components that print and exit.

use bulkhead_tests::host::eventually;

use super::super::*;

const PRINT: &str = r#"
    (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
    (import "wasi:cli/stderr@0.2.0" "get-stderr" (func $stderr (result i32)))
    (import "wasi:io/streams@0.2.12" "[method]output-stream.blocking-write-and-flush"
        (func $print (param i32 i32 i32 i32)))"#;

/// Prints a line to standard output in two parts, by two handles, and half a line to standard error; then answers with
/// `letter`.
fn printing(letter: char) -> Vec<u8> {
    let body = "
        (call $print (call $stdout) (i32.const 2048) (i32.const 3) (i32.const 4096))
        (call $print (call $stderr) (i32.const 2064) (i32.const 4) (i32.const 4096))
        (call $print (call $stdout) (i32.const 2051) (i32.const 4) (i32.const 4096))";
    let guest = answering(letter, body).with_imports(PRINT);
    let data = r#"(data (i32.const 2048) "hello!\n") (data (i32.const 2064) "oops")"#;
    let fields = format!("{} {data}", guest.fields);
    guest.with_fields(&fields).component()
}

async fn log(operator: &Operator) -> Vec<(String, String, String)> {
    let (_, logs) = operator.get("/v1/slots/captcha/logs").await;
    let text = |line: &Value, member: &str| line[member].as_str().unwrap().to_owned();
    let lines = logs["lines"].as_array().unwrap().iter();
    lines.map(|line| (text(line, "level"), text(line, "context"), text(line, "message"))).collect()
}

fn line(level: &str, context: &str, message: &str) -> (String, String, String) {
    (level.to_owned(), context.to_owned(), message.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn printed_text_is_in_slot_log() {
    let host = hosting_a().component(printing('A')).start().await;
    let operator = operator(&host);
    assert_eq!(letter(&host, 1).await, 'A');
    let expected = [line("info", "stdout", "hello!"), line("warn", "stderr", "oops")];
    eventually("both lines are logged", async || log(&operator).await == expected).await;
    host.stop().await;
}

/// An instance that is kept has the rest of a line: it is logged before the next call, and once.
#[tokio::test(flavor = "multi_thread")]
async fn kept_instance_logs_prints_by_call() {
    let host =
        hosting_a().component(printing('A')).env("BULKHEAD_SLOTS__CAPTCHA__REUSE", "true").start().await;
    let operator = operator(&host);
    for _ in 0..2 {
        assert_eq!(letter(&host, 1).await, 'A');
    }
    let [out, err] = [line("info", "stdout", "hello!"), line("warn", "stderr", "oops")];
    assert_eq!(log(&operator).await, [out.clone(), err, out]);
    // The instance of the calls is kept, so that the host is not at rest.
    let in_use = "bulkhead_pool_slots_in_use{kind=\"component_instances\"}";
    eventually("the instance is kept", async || host.metric(in_use).await == 1.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shadow_call_prints_nothing() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let version = operator.push(printing('B')).await;
    operator.change("shadow", json!({ "version": version })).await;
    assert_eq!(letter(&host, 1).await, 'A');
    let metric = "bulkhead_shadow_calls_total{result=\"different\",slot=\"captcha\"}";
    eventually("the copy is compared", async || host.metric(metric).await == 1.0).await;
    assert!(log(&operator).await.is_empty(), "{:?}", log(&operator).await);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_code_of_an_exit_is_logged() {
    let import = r#"(import "wasi:cli/exit@0.2.0" "exit" (func $exit (param i32)))"#;
    let guest = Guest::call("(call $exit (i32.const 1)) unreachable").with_imports(import);
    let host = hosting_a().component(guest.component()).start().await;
    let operator = operator(&host);
    for client in 0..2 {
        let answer = ask(&host, client).await;
        assert_eq!(answer.status(), 500);
        assert_eq!(answer.json::<Value>().await.unwrap()["code"], "trap");
    }
    let said = line("error", "trap", "the component exited with code 1 before it returned");
    assert_eq!(log(&operator).await.iter().filter(|line| **line == said).count(), 2);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stubs_are_no_difference_of_settings() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let live = operator.slot().await["active"]["id"].as_str().unwrap().to_owned();
    let version = operator.push(printing('B')).await;
    let (status, diff) = operator.get(&format!("/v1/slots/captcha/diff?a={live}&b={version}")).await;
    assert_eq!(status, 200, "{diff}");
    let imports = diff["imports"]["only_b"].as_array().unwrap();
    assert!(imports.contains(&json!("wasi:cli/stdout@0.2.0")), "{diff}");
    assert_eq!(diff["settings"], json!([]));
    host.stop().await;
}
