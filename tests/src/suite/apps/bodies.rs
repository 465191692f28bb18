//! Bodies, which stream both ways.

use tokio::io::AsyncWriteExt as _;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn pieces_pass_as_they_come() {
    let host = hosting(&HttpGuest::echoing(), "").start().await;
    let mut socket =
        connected(&host, "POST /hello HTTP/1.1\nhost: x\ntransfer-encoding: chunked\n\n3\none\n").await;
    let head = read_until(&mut socket, "one").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    // The response has begun before the request has ended.
    assert_eq!(host.metric("bulkhead_in_flight{slot=\"hello\"}").await, 1.0);
    socket.write_all(b"3\r\ntwo\r\n").await.unwrap();
    read_until(&mut socket, "two").await;
    socket.write_all(b"0\r\n\r\n").await.unwrap();
    read_until(&mut socket, "0\r\n\r\n").await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn short_complete_body_has_its_length() {
    for keys in ["", "reuse = true"] {
        let host = hosting(&HttpGuest::answering(200, "hello"), keys).start().await;
        for round in 1..=3 {
            let answer = host.client().get(host.url("/hello")).send().await.unwrap();
            assert_eq!(answer.headers()["content-length"], "5");
            assert_eq!(answer.text().await.unwrap(), "hello");
            assert_calls(&host, "ok", f64::from(round)).await;
        }
        // With a kept instance the host is not at rest.
        if keys.is_empty() {
            host.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_pieces_need_no_wait() {
    let piece = "(drop (call $write (local.get $stream) (i32.const 1024) (i32.const 4096)))";
    let guest = HttpGuest::handling(&format!(
        "(local.set $body (call $respond (local.get $out) (i32.const 200) (call $new-fields)))
         (local.set $stream (call $open (local.get $body)))
         {piece} {piece} {piece}
         (call $finish (local.get $stream) (local.get $body))"
    ));
    let host = hosting(&guest, "").start().await;
    let answer = host.client().get(host.url("/hello")).send().await.unwrap();
    assert_eq!(answer.headers()["content-length"], "12288");
    assert_eq!(answer.bytes().await.unwrap().len(), 12_288);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn body_after_a_wait_is_streamed() {
    // Writes a piece, waits for a moment and writes another one.
    let piece = "(drop (call $write (local.get $stream) (i32.const 1024) (i32.const 3)))";
    let guest = HttpGuest::handling(&format!(
        "(local.set $body (call $respond (local.get $out) (i32.const 200) (call $new-fields)))
         (local.set $stream (call $open (local.get $body)))
         {piece} (call $block (call $in (i64.const 10000000))) {piece}
         (call $finish (local.get $stream) (local.get $body))"
    ));
    let host = hosting(&guest.with_data(1024, "one"), "").start().await;
    let answer = host.client().get(host.url("/hello")).send().await.unwrap();
    assert!(!answer.headers().contains_key("content-length"));
    assert_eq!(answer.text().await.unwrap(), "oneone");
    assert_calls(&host, "ok", 1.0).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_body_is_echoed_whole() {
    let host = hosting(&HttpGuest::echoing(), "body_bytes = 8388608").start().await;
    let body: Vec<u8> = (0..4 << 20).map(|at: u32| (at % 251) as u8).collect();
    let answer = host.client().post(host.url("/hello")).body(body.clone()).send().await.unwrap();
    assert_eq!(answer.bytes().await.unwrap(), body);
    assert_calls(&host, "ok", 1.0).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn continue_is_sent_when_guest_reads() {
    let head = "POST /hello HTTP/1.1\nhost: x\ncontent-length: 3\nexpect: 100-continue\n\n";
    let host = hosting(&HttpGuest::answering(200, "unread"), "").start().await;
    let mut socket = connected(&host, head).await;
    let answer = read_until(&mut socket, "unread").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    host.stop().await;
    let host = hosting(&HttpGuest::echoing(), "").start().await;
    let mut socket = connected(&host, head).await;
    read_until(&mut socket, "HTTP/1.1 100 Continue\r\n\r\n").await;
    socket.write_all(b"abc").await.unwrap();
    read_until(&mut socket, "abc").await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_off_requests_open_no_circuit() {
    // Reads the body, and traps if it ends with another error than `closed`.
    let guest = HttpGuest::handling(
        "(local.set $at (call $input (local.get $request)))
         (block $end (loop $again
            (br_if $end (i32.eq (call $read (local.get $at)) (i32.const -1)))
            (br $again)))
         (if (i32.eqz (i32.load8_u (i32.const 36))) (then unreachable))
         (local.set $body (call $respond (local.get $out) (i32.const 200) (call $new-fields)))
         (call $finish (call $open (local.get $body)) (local.get $body))",
    );
    let host = hosting(&guest, "[apps.hello.rollout]\ncircuit_failures = 2").start().await;
    for _ in 0..3 {
        let mut socket = connected(&host, "POST /hello HTTP/1.1\nhost: x\ncontent-length: 9\n\nhalf").await;
        socket.shutdown().await.unwrap();
        let answer = read_until(&mut socket, "cancelled").await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
    assert_calls(&host, "cancelled", 3.0).await;
    assert_eq!(answer(host.client().post(host.url("/hello")).body("whole")).await.0, 200);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn request_body_over_limit_is_413() {
    let host = hosting(&HttpGuest::echoing(), "body_bytes = 10").start().await;
    let declared = host.client().post(host.url("/hello")).body("x".repeat(11));
    let (status, text) = answer(declared).await;
    assert_eq!((status, code(&text).as_str()), (413, "body-too-large"));
    assert_calls(&host, "ok", 0.0).await;
    assert_eq!(answer(host.client().post(host.url("/hello")).body("x".repeat(10))).await.0, 200);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn undeclared_body_over_limit_is_413() {
    // Reads all of the request before it responds.
    let guest = HttpGuest::handling(
        "(local.set $at (call $input (local.get $request)))
         (loop $again (br_if $again (i32.ne (call $read (local.get $at)) (i32.const -1))))
         (local.set $body (call $respond (local.get $out) (i32.const 200) (call $new-fields)))
         (call $finish (call $open (local.get $body)) (local.get $body))",
    );
    let host = hosting(&guest, "body_bytes = 10").start().await;
    let head = "POST /hello HTTP/1.1\nhost: x\ntransfer-encoding: chunked\n\nb\n01234567890\n";
    let mut socket = connected(&host, head).await;
    let answer = read_until(&mut socket, "body-too-large").await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn head_has_no_body_and_ends_well() {
    let host = hosting(&HttpGuest::answering(200, "hello"), "").start().await;
    let answer = host.client().head(host.url("/hello")).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(!answer.headers().contains_key("content-length"), "the guest gives none");
    assert_eq!(answer.text().await.unwrap(), "");
    host.assert_at_rest().await;
    assert_calls(&host, "ok", 1.0).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_without_body_is_guest_error() {
    let guest = HttpGuest::handling(
        "(local.set $body (call $respond (local.get $out) (i32.const 500) (call $new-fields)))
         (call $finish (call $open (local.get $body)) (local.get $body))",
    );
    let host = hosting(&guest, "").start().await;
    let (status, text) = get(&host, "/hello").await;
    assert_eq!((status, code(&text).as_str()), (500, "guest-error"));
    assert_calls(&host, "guest-error", 1.0).await;
    host.stop().await;
    let host = hosting(&HttpGuest::answering(500, "its own"), "").start().await;
    assert_eq!(get(&host, "/hello").await, (500, "its own".to_owned()));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn departed_client_ends_the_guest() {
    // Waits for an hour before it gives its body.
    let guest = HttpGuest::handling(
        "(local.set $body (call $respond (local.get $out) (i32.const 200) (call $new-fields)))
         (call $block (call $in (i64.const 3600000000000)))
         unreachable",
    );
    let host = hosting(&guest, "stream_idle_ms = 3600000\nstream_ms = 3600000").start().await;
    let mut socket = connected(&host, "GET /hello HTTP/1.1\nhost: x\n\n").await;
    read_until(&mut socket, "\r\n\r\n").await;
    drop(socket);
    host.assert_at_rest().await;
    assert_calls(&host, "cancelled", 1.0).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_goes_on_after_the_body() {
    // Answers, and then waits for a moment and uses its processor time up.
    let guest = HttpGuest::handling(
        "(local.set $body (call $respond (local.get $out) (i32.const 200) (call $new-fields)))
         (local.set $stream (call $open (local.get $body)))
         (drop (call $write (local.get $stream) (i32.const 1024) (i32.const 4)))
         (call $finish (local.get $stream) (local.get $body))
         (call $block (call $in (i64.const 10000000)))
         (loop $again (br $again))",
    )
    .with_data(1024, "done");
    let host = hosting(&guest, "cpu_ms = 50").start().await;
    assert_eq!(get(&host, "/hello").await, (200, "done".to_owned()));
    host.assert_at_rest().await;
    assert_calls(&host, "cpu-budget", 1.0).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trap_after_body_leaves_it_complete() {
    for (end, said) in [("unreachable", "unreachable"), ("(call $exit (i32.const 1))", "exited with code 1")]
    {
        let guest = HttpGuest::handling(&format!(
            "(local.set $body (call $respond (local.get $out) (i32.const 200) (call $new-fields)))
             (local.set $stream (call $open (local.get $body)))
             (drop (call $write (local.get $stream) (i32.const 1024) (i32.const 4)))
             (call $finish (local.get $stream) (local.get $body))
             {end}"
        ));
        let exit = ("cli/exit", "exit", "$exit (param i32)");
        let guest = guest.with_imports(&[exit]).with_data(1024, "done");
        let host = hosting(&guest, "").start().await;
        assert_eq!(get(&host, "/hello").await, (200, "done".to_owned()), "{end}");
        host.assert_at_rest().await;
        assert_calls(&host, "trap", 1.0).await;
        let operator = operator::Operator::new(&host.admin_url(""), operator::READ);
        let (_, logs) = operator.get("/v1/slots/hello/logs").await;
        let line = &logs["lines"][0];
        assert_eq!(line["context"], "trap", "{logs}");
        assert!(line["message"].as_str().unwrap().contains(said), "{logs}");
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_not_compressed() {
    let host = hosting(&HttpGuest::answering(200, &"x".repeat(4000)), "").start().await;
    let request = host.client().get(host.url("/hello")).header("accept-encoding", "gzip");
    let answer = request.send().await.unwrap();
    assert!(!answer.headers().contains_key("content-encoding"));
    assert_eq!(answer.bytes().await.unwrap().len(), 4000);
    host.stop().await;
}
