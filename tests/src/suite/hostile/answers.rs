//! What a guest hands back: too much, out of place, not of its type, or meant for a terminal.

use super::*;

/// `issue` answers with `ok`, a challenge of `length` bytes at `address`.
fn challenge_at(address: &str, length: &str) -> String {
    format!(
        "(i32.store (i32.const 8) (i32.const {address})) (i32.store (i32.const 12) (i32.const {length})) i32.const 0"
    )
}

/// `issue` answers with the case `case` of its error, with a text or number in `first` and `second`.
fn error(case: u32, first: &str, second: &str) -> String {
    format!(
        "(i32.store8 (i32.const 0) (i32.const 1)) (i32.store8 (i32.const 8) (i32.const {case}))
        (i32.store (i32.const 12) (i32.const {first})) (i32.store (i32.const 16) (i32.const {second})) i32.const 0"
    )
}

hostile_guests! {
    /// Answers with a string as long as all its memory.
    huge_answer: ends(500, "response-too-large"), Guest::call(&challenge_at("0", "262144"));

    /// Hands over as much in an error.
    huge_error: ends(500, "response-too-large"), Guest::call(&error(0, "0", "262144"));

    /// Answers with a string outside its memory.
    answer_out_of_bounds: ends(500, "trap"), Guest::call(&challenge_at("0x7fff0000", "100"));

    /// Answers with a string that ends beyond the end of addresses.
    answer_that_wraps: ends(500, "trap"), Guest::call(&challenge_at("0x00010000", "0xffffffff"));

    /// Answers with a record outside its memory.
    result_out_of_bounds: ends(500, "trap"), Guest::call("i32.const 0x7fff0000");

    /// Answers with a record at an odd address.
    misaligned_result: ends(500, "trap"), Guest::call("i32.const 1");

    /// Answers with bytes that are not UTF-8.
    invalid_utf8: ends(500, "trap"),
        Guest::call(&challenge_at("1024", "3")).with_fields(r#"(data (i32.const 1024) "\22\ff\22")"#);

    /// Answers with neither `ok` nor `error`.
    invalid_discriminant: ends(500, "trap"), Guest::call("(i32.store8 (i32.const 0) (i32.const 2)) i32.const 0");

    /// Answers with an error that its type has not.
    invalid_error: ends(500, "trap"), Guest::call(&error(7, "0", "0"));

    /// Answers with something that is not JSON.
    no_json: ends(500, "bad-answer"), Guest::default();

    /// Answers with what begins as JSON and goes on as something else.
    half_json: ends(500, "bad-answer"),
        Guest::call(&challenge_at("1024", "8")).with_fields(r#"(data (i32.const 1024) "{}hostile")"#);

    /// Says that the host has failed it, in its own words.
    internal_error: ends(500, "guest-error"),
        Guest::call(&error(2, "1024", "7")).with_fields(r#"(data (i32.const 1024) "hostile")"#);

    /// Never gives the host room for what it hands over.
    endless_realloc: ends(503, "cpu-budget"),
        Guest::default().with_realloc("(loop $again (br $again)) unreachable");

    /// Gives room where it has no memory.
    realloc_out_of_bounds: ends(500, "trap"), Guest::default().with_realloc("i32.const 0x7fff0000");

    /// Gives room at an odd address.
    realloc_misaligned: ends(500, "trap"), Guest::default().with_realloc("i32.const 65537");

    /// Traps when asked for room.
    realloc_that_traps: ends(500, "trap"), Guest::default().with_realloc("unreachable");

    /// Calls the host back while the host waits for room.
    host_call_from_realloc: ends(500, "trap"),
        Guest::default()
            .with_imports(r#"(import "wasi:random/random@0.2.12" "get-random-u64" (func $random (result i64)))"#)
            .with_realloc("(drop (call $random)) i32.const 65536");

    /// Never ends tidying up after its answer.
    endless_post_return: ends(503, "cpu-budget"),
        Guest::default().with_fields(r#"
            (func (export "cabi_post_bulkhead:captcha/challenges@0.1.1#issue") (param i32) (loop $again (br $again)))"#);

    /// Traps after it has answered.
    post_return_that_traps: ends(500, "trap"),
        Guest::default().with_fields(r#"
            (func (export "cabi_post_bulkhead:captcha/challenges@0.1.1#issue") (param i32) unreachable)"#);
}

/// What a guest says about a client's payload reaches the client, cut and without control characters.
#[tokio::test(flavor = "multi_thread")]
async fn guest_text_for_clients_is_escaped() {
    let guest = Guest::call(&error(0, "1024", "60000"))
        .with_fields(r#"(data (i32.const 1024) "\1b[2J\1b]0;owned\07\0d\0a<script>")"#);
    let host = hosting(guest.component(), &[]).start().await;
    let answer = challenge(&host).await;
    assert_eq!(answer.status(), 400);
    let body: Value = answer.json().await.unwrap();
    let message = body["message"].as_str().unwrap();
    assert!(message.contains("<script>") && message.len() < 1000, "{message}");
    assert!(!message.contains(|c: char| c.is_control()), "{message:?}");
    assert_eq!(calls(&host, "guest-error").await, 1.0);
    host.stop().await;
}

/// A guest may ask clients to come back, within an hour.
#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_is_busy() {
    let guest = Guest::call(&error(1, "0xffffffff", "0"));
    let host = hosting(guest.component(), &[]).start().await;
    let answer = challenge(&host).await;
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.headers()["retry-after"], "3600");
    host.stop().await;
}
