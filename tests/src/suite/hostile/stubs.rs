//! What a guest does with the parts of WASI that it may import and that allow nothing.

use bulkhead_tests::guests::answering;

use super::*;

const EXIT: &str = r#"(import "wasi:cli/exit@0.2.0" "exit" (func $exit (param i32)))"#;
const STDOUT: &str = r#"
    (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))"#;
const PRINT: &str = r#"
    (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
    (import "wasi:io/streams@0.2.12" "[method]output-stream.blocking-write-and-flush"
        (func $print (param i32 i32 i32 i32)))
    (import "wasi:io/streams@0.2.12" "[method]output-stream.write" (func $write (param i32 i32 i32 i32)))"#;
const SOCKET: &str = r#"
    (import "wasi:sockets/tcp-create-socket@0.2.3" "create-tcp-socket" (func $socket (param i32 i32)))"#;

hostile_guests! {
    /// Exits, as if it had done all, instead of answering.
    exit_before_an_answer: ends(500, "trap"),
        Guest::call("(call $exit (i32.const 0)) i32.const 0").with_imports(EXIT);

    /// Prints for ever, without a line break.
    endless_line: ends(503, "cpu-budget"),
        Guest::call("
            (local $out i32)
            (local.set $out (call $stdout))
            (loop $again
                (call $print (local.get $out) (i32.const 1024) (i32.const 4096) (i32.const 16))
                (br $again))
            unreachable")
            .with_imports(PRINT);

    /// Prints more at once than the stream takes.
    oversized_print: ends(500, "trap"),
        Guest::call("(call $write (call $stdout) (i32.const 1024) (i32.const 4097) (i32.const 16)) i32.const 0")
            .with_imports(PRINT);

    /// Takes handles to standard output and never drops them.
    outputs_never_dropped: ends(500, "memory-limit"),
        Guest::call("(loop $again (drop (call $stdout)) (br $again)) unreachable").with_imports(STDOUT),
        with { "slots.captcha.cpu_ms": "10000" };

    /// Tries to open a socket for ever.
    endless_sockets: ends(503, "cpu-budget"),
        Guest::call("(loop $again (call $socket (i32.const 0) (i32.const 16)) (br $again)) unreachable")
            .with_imports(SOCKET);
}

/// Traps unless there are one variable, no folder, no socket, no terminal and no input.
const LOOK: &str = "
    (local $at i32)
    (call $environment (i32.const 4096))
    (if (i32.ne (i32.load (i32.const 4100)) (i32.const 1)) (then unreachable))
    (local.set $at (i32.load (i32.const 4096)))
    (if (i32.ne (i32.load (i32.load (local.get $at))) (i32.const 0x65657267)) (then unreachable))
    (if (i32.ne (i32.load (i32.load offset=8 (local.get $at))) (i32.const 0x6c6c6568)) (then unreachable))
    (call $directories (i32.const 4096))
    (if (i32.load (i32.const 4100)) (then unreachable))
    (call $socket (i32.const 0) (i32.const 4096))
    (if (i32.ne (i32.load8_u (i32.const 4096)) (i32.const 1)) (then unreachable))
    (if (i32.ne (i32.load8_u (i32.const 4100)) (i32.const 1)) (then unreachable))
    (call $terminal (i32.const 4096))
    (if (i32.load8_u (i32.const 4096)) (then unreachable))
    (call $read (call $stdin) (i64.const 10) (i32.const 4096))
    (if (i32.ne (i32.load8_u (i32.const 4096)) (i32.const 1)) (then unreachable))
    (if (i32.ne (i32.load8_u (i32.const 4100)) (i32.const 1)) (then unreachable))";

const ALL: &str = r#"
    (import "wasi:cli/environment@0.2.0" "get-environment" (func $environment (param i32)))
    (import "wasi:cli/stdin@0.2.0" "get-stdin" (func $stdin (result i32)))
    (import "wasi:cli/terminal-stdout@0.2.0" "get-terminal-stdout" (func $terminal (param i32)))
    (import "wasi:filesystem/preopens@0.2.3" "get-directories" (func $directories (param i32)))
    (import "wasi:io/streams@0.2.12" "[method]input-stream.blocking-read" (func $read (param i32 i64 i32)))"#;

async fn assert_answers(host: &TestHost) {
    let answer = challenge(host).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.json::<Value>().await.unwrap()["challenge"]["letter"], "A");
}

/// The environment is the slot's `config`; all else is empty, closed or denied.
#[tokio::test(flavor = "multi_thread")]
async fn stubs_allow_nothing_and_the_component_answers() {
    let imports = format!("{ALL} {SOCKET} {EXIT}");
    let component = answering('A', LOOK).with_imports(&imports).component();
    for allocator in ["pooling", "on-demand"] {
        let settings = [("slots.captcha.config.greeting", "hello"), ("sandbox.allocator", allocator)];
        let host = hosting(component.clone(), &settings).start().await;
        assert_answers(&host).await;
        host.stop().await;
    }
}

/// Lines that a flood prints.
const LINES: u32 = 1000;
const LINE: &str = "printed line";

#[tokio::test(flavor = "multi_thread")]
async fn flood_of_prints_is_logged_or_counted() {
    let body = format!(
        "(local $out i32) (local $left i32)
        (local.set $out (call $stdout))
        (local.set $left (i32.const {LINES}))
        (loop $again
            (call $print (local.get $out) (i32.const 2048) (i32.const {}) (i32.const 4096))
            (local.set $left (i32.sub (local.get $left) (i32.const 1)))
            (br_if $again (local.get $left)))",
        LINE.len() + 1
    );
    let guest = answering('A', &body).with_imports(PRINT);
    let fields = format!("{} (data (i32.const 2048) \"{LINE}\\n\")", guest.fields);
    let settings = [("slots.captcha.cpu_ms", "10000")];
    let host = hosting(guest.with_fields(&fields).component(), &settings).start().await;
    assert_answers(&host).await;
    let written = host.metric(r#"bulkhead_guest_log_lines_total{level="info",slot="captcha"}"#).await;
    let dropped = host.metric(r#"bulkhead_guest_log_dropped_bytes_total{slot="captcha"}"#).await;
    assert!(written >= 1.0 && dropped > 0.0, "{written} lines, {dropped} bytes dropped");
    assert_eq!(written * LINE.len() as f64 + dropped, f64::from(LINES) * LINE.len() as f64);
    host.stop().await;
}
