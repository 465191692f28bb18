//! Hostile apps, one test each.

mod egress;
mod neighbours;

use std::io::ErrorKind;

use tokio::io::AsyncReadExt as _;

use super::*;

/// Limits that are soon met.
const TIGHT: &str = "cpu_ms = 100\nstream_idle_ms = 300\nstream_ms = 4000\n\
                     response_bytes = 65536\nlog_bytes_per_second = 4096";

/// Gives the head of a response with these headers, as instructions.
const HEAD: &str = "
    (local.set $body (call $respond (local.get $out) (i32.const 200) (call $new-fields)))
    (local.set $stream (call $open (local.get $body)))
    (drop (call $write (local.get $stream) (i32.const 1024) (i32.const 5)))";

/// A guest that gives the beginning of a response, and then runs `rest`.
fn begun(rest: &str) -> HttpGuest {
    HttpGuest::handling(&format!("{HEAD} {rest}")).with_data(1024, "begun")
}

async fn tight(guest: &HttpGuest) -> TestHost {
    let circuit = "[apps.hello.rollout]\ncircuit_failures = 0";
    hosting(guest, &format!("{TIGHT}\n{circuit}")).start().await
}

/// The host answers in place of the app, and the call ends so.
async fn assert_refused(guest: HttpGuest, status: u16, outcome: &str) {
    let host = tight(&guest).await;
    for round in 1..=2 {
        let (found, text) = get(&host, "/hello").await;
        assert_eq!((found, code(&text).as_str()), (status, outcome));
        for inside in ["wasm", "backtrace", "0x", "unreachable"] {
            assert!(!text.contains(inside), "{text} tells of the inside");
        }
        assert_calls(&host, outcome, f64::from(round)).await;
    }
    host.stop().await;
}

/// The client gets a body that is reset, never a complete one, and the call ends so.
async fn assert_reset(guest: HttpGuest, outcome: &str) {
    let host = tight(&guest).await;
    let whole = async {
        // A connection that is closed at once may not even have the head.
        let answer = host.client().get(host.url("/hello")).send().await?;
        assert_eq!(answer.status(), 200);
        answer.bytes().await
    };
    whole.await.expect_err("the body is not complete");
    host.assert_at_rest().await;
    assert_calls(&host, outcome, 1.0).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_head_that_computes() {
    assert_refused(HttpGuest::handling("(loop $again (br $again))"), 503, "cpu-budget").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_head_that_waits() {
    let guest = HttpGuest::handling("(call $block (call $in (i64.const 3600000000000)))");
    let host = hosting(&guest, "deadline_ms = 300").start().await;
    let (status, text) = get(&host, "/hello").await;
    assert_eq!((status, code(&text).as_str()), (504, "deadline"));
    assert_calls(&host, "deadline", 1.0).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_response() {
    assert_refused(HttpGuest::handling("(nop)"), 500, "bad-answer").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trap_before_the_head() {
    assert_refused(HttpGuest::handling("unreachable"), 500, "trap").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_bomb() {
    let guest = HttpGuest::handling(
        "(loop $again (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable",
    );
    assert_refused(guest, 500, "memory-limit").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn million_headers() {
    let guest = HttpGuest::handling(
        "(local.set $at (call $new-fields))
         (local.set $length (i32.const 1000000))
         (loop $again
            (drop (call $header (local.get $at) (i32.const 1024) (i32.const 1) (i32.const 1024) (i32.const 1)))
            (local.set $length (i32.sub (local.get $length) (i32.const 1)))
            (br_if $again (local.get $length)))
         (drop (call $respond (local.get $out) (i32.const 200) (local.get $at)))",
    );
    assert_refused(guest.with_data(1024, "x"), 500, "trap").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn declared_length_of_two_gigabytes() {
    let guest = HttpGuest::handling(
        "(local.set $at (call $new-fields))
         (drop (call $header (local.get $at) (i32.const 1024) (i32.const 14) (i32.const 1040) (i32.const 10)))
         (local.set $body (call $respond (local.get $out) (i32.const 200) (local.get $at)))
         (local.set $stream (call $open (local.get $body)))
         (loop $again
            (br_if $again (i32.eqz (call $write (local.get $stream) (i32.const 1024) (i32.const 4096)))))",
    );
    let guest = guest.with_data(1024, "content-length").with_data(1040, "2147483648");
    assert_refused(guest, 500, "response-too-large").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn status_of_an_interim_response() {
    let guest =
        HttpGuest::handling("(drop (call $respond (local.get $out) (i32.const 101) (call $new-fields)))");
    assert_refused(guest, 500, "bad-answer").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn line_break_in_a_header() {
    // It is refused the header, and answers with 400 then.
    let guest = HttpGuest::handling(
        "(local.set $at (call $new-fields))
         (local.set $length (call $header (local.get $at) (i32.const 1024) (i32.const 1) (i32.const 1040) (i32.const 8)))
         (local.set $body (call $respond (local.get $out)
            (select (i32.const 400) (i32.const 200) (local.get $length)) (local.get $at)))
         (call $finish (call $open (local.get $body)) (local.get $body))",
    );
    let host = tight(&guest.with_data(1024, "x").with_data(1040, "a\r\nb: cd")).await;
    let answer = host.client().get(host.url("/hello")).send().await.unwrap();
    assert_eq!(answer.status(), 400);
    assert!(!answer.headers().contains_key("x") && !answer.headers().contains_key("b"));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hop_by_hop_header_is_forbidden() {
    let guest = HttpGuest::handling(
        "(local.set $at (call $new-fields))
         (local.set $length (call $header (local.get $at) (i32.const 1024) (i32.const 17) (i32.const 1050) (i32.const 7)))
         (local.set $body (call $respond (local.get $out)
            (select (i32.const 400) (i32.const 200) (local.get $length)) (local.get $at)))
         (call $finish (call $open (local.get $body)) (local.get $body))",
    );
    let host = tight(&guest.with_data(1024, "transfer-encoding").with_data(1050, "chunked")).await;
    assert_eq!(get(&host, "/hello").await.0, 400);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_body() {
    let write = "(call $write (local.get $stream) (i32.const 1024) (i32.const 4096))";
    assert_reset(begun(&format!("(loop $again (br_if $again (i32.eqz {write})))")), "response-too-large")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn body_that_stops() {
    assert_reset(begun("(call $block (call $in (i64.const 3600000000000)))"), "deadline").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn body_that_drips() {
    // A piece every tenth of a second keeps the stream alive until its end.
    let drip = "(call $block (call $in (i64.const 100000000)))
                (drop (call $write (local.get $stream) (i32.const 1024) (i32.const 1)))";
    assert_reset(begun(&format!("(loop $again {drip} (br $again))")), "deadline").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trap_after_the_head() {
    assert_reset(begun("unreachable"), "trap").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trap_after_head_resets_http1_0() {
    // Nothing but the end of the connection would end the body.
    let host = tight(&begun("unreachable")).await;
    let mut socket = connected(&host, "GET /hello HTTP/1.0\n\n").await;
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(10), socket.read_to_end(&mut bytes)).await.unwrap();
    assert_eq!(read.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_calls(&host, "trap", 1.0).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn body_that_computes_for_ever() {
    assert_reset(begun("(loop $again (br $again))"), "cpu-budget").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn body_without_its_end() {
    assert_reset(begun("(nop)"), "bad-answer").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn body_shorter_than_declared() {
    let guest = HttpGuest::handling(
        "(local.set $at (call $new-fields))
         (drop (call $header (local.get $at) (i32.const 1024) (i32.const 14) (i32.const 1040) (i32.const 3)))
         (local.set $body (call $respond (local.get $out) (i32.const 200) (local.get $at)))
         (local.set $stream (call $open (local.get $body)))
         (drop (call $write (local.get $stream) (i32.const 1024) (i32.const 5)))
         (call $finish (local.get $stream) (local.get $body))",
    );
    let guest = guest.with_data(1024, "content-length").with_data(1040, "100");
    assert_reset(guest, "guest-error").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn flood_of_standard_output() {
    let print = "(call $stream-write (local.get $at) (i32.const 1024) (i32.const 4096) (i32.const 32))";
    let guest =
        HttpGuest::handling(&format!("(local.set $at (call $stdout)) (loop $again {print} (br $again))"));
    assert_refused(guest, 503, "cpu-budget").await;
}
