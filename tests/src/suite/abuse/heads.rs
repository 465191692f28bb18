//! Request heads: too large, malformed, doubled.

use super::{
    MARKER, Victim,
    raw::{head, json_head},
};

#[tokio::test]
async fn http_1_1_names_exactly_one_host() {
    let victim = Victim::start().await;
    for fields in [
        "",
        "host: a\r\nhost: b\r\n",
        "host: a\r\nHost: a\r\n",
        "host: a b\r\n",
        "host: u@a\r\n",
        "host: \u{e4}\r\n",
        "host:\r\n",
        "host: \t \r\n",
    ] {
        let request = format!("GET /actuator/health HTTP/1.1\r\nconnection: close\r\n{fields}\r\n");
        let answer = victim.ask(request).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "bad_host"), "{fields:?}");
    }
    assert_eq!(victim.ask("GET /nowhere HTTP/1.0\r\n\r\n").await.status, 404, "HTTP/1.0 had none");
    victim.finish().await;
}

#[tokio::test]
async fn huge_heads_are_431() {
    let victim = Victim::start().await;
    let huge = head("GET /nowhere", &format!("x-huge: {}\r\n", "x".repeat(100_000)));
    let huge_name = head("GET /nowhere", &format!("{}: x\r\n", "x".repeat(100_000)));
    let many = head("GET /nowhere", &"x-many: x\r\n".repeat(150));
    let endless = format!("GET /nowhere HTTP/1.1\r\nhost: x\r\n{}", "x: y\r\n".repeat(100_000));
    let line = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "x".repeat(100_000));
    let attempts = [huge, huge_name, many, endless, line];
    for attempt in &attempts {
        victim.ask(attempt).await.assert_refused_head(431, "head_too_large");
    }
    victim.assert_faults("too-large", attempts.len()).await;
    let large = head("GET /nowhere", &format!("x-large: {}\r\n", "x".repeat(60_000)));
    assert_eq!(victim.ask(large).await.code(), "not_found", "large is not too large");
    victim.finish().await;
}

#[tokio::test]
async fn malformed_heads_are_400() {
    let victim = Victim::start().await;
    let attempts: [&[u8]; 14] = [
        b"\0\0\0\0\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\nx-nul: a\0b\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\nx-cr: a\rb\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\nx nul: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\n: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\nno colon\r\n\r\n",
        b"GET /\0 HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET  / HTTP/1.1\r\nhost: x\r\n\r\n",
        b"G\xffT / HTTP/1.1\r\nhost: x\r\n\r\n",
        // The beginning of TLS.
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ];
    for attempt in attempts {
        let answer = victim.ask(attempt).await;
        assert_eq!(answer.status, 400, "{}", attempt.escape_ascii());
        answer.assert_refused_head(400, "malformed_head");
    }
    victim.assert_faults("malformed", attempts.len()).await;
    victim.finish().await;
}

/// Requests that were understood keep their answers, the one that was not has its own.
#[tokio::test]
async fn a_refused_head_follows_answers() {
    let victim = Victim::start().await;
    let good = "GET /nowhere HTTP/1.1\r\nhost: x\r\nx-request-id: mine\r\n\r\n";
    let bad = "POST /api/v1/captcha/verify HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";
    let answers = victim.send(format!("{good}{bad}{good}nonsense\r\n\r\n{good}")).await;
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [404, 415, 404, 400]);
    assert_eq!(answers[1].code(), "unsupported-media-type", "a service's own refusal stays");
    answers[3].assert_refused_head(400, "malformed_head");
    let ids: Vec<_> = answers.iter().map(|answer| answer.header("x-request-id").unwrap()).collect();
    assert_eq!((ids[0], ids[2]), ("mine", "mine"));
    assert_eq!(ids[3].len(), 36, "a fresh one");
    victim.finish().await;
}

#[tokio::test]
async fn doubled_fields_are_not_guessed_at() {
    let victim = Victim::start().await;
    let twice = json_head(
        "/api/v1/captcha/verify",
        "connection: close\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n",
    );
    let answer = victim.ask(twice + "{}").await;
    assert_eq!((answer.status, answer.code().as_str()), (415, "unsupported-media-type"));
    // Of the same length twice nothing is in doubt.
    let same = json_head(
        "/api/v1/captcha/verify",
        "connection: close\r\ncontent-length: 2\r\ncontent-length: 2\r\n",
    );
    assert_eq!(victim.ask(same + "{}").await.code(), "invalid-field");
    victim.finish().await;
}

/// Bytes beyond ASCII are legal in values; nothing chokes on them or gives them back.
#[tokio::test]
async fn odd_values_are_passed_over() {
    let victim = Victim::start().await;
    let names = [
        "x-request-id",
        "traceparent",
        "accept",
        "accept-encoding",
        "authorization",
        "origin",
        "cookie",
        "x-forwarded-for",
        "forwarded",
        "if-none-match",
        "range",
        "user-agent",
    ];
    for name in names {
        for value in [
            &b"\xff\xfe"[..],
            b"\xf0\x9f\x92\xa9",
            b"\x1b[2Jswordfish",
            b"%00%0d%0aswordfish: 1",
            b"",
            b"\t\t",
        ] {
            // An escape is not a legal byte.
            let status = if value.contains(&0x1b) { 400 } else { 404 };
            let mut request =
                format!("GET /nowhere HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{name}: ").into_bytes();
            request.extend_from_slice(value);
            request.extend_from_slice(b"\r\n\r\n");
            assert_eq!(victim.ask(&request).await.status, status, "{}", request.escape_ascii());
        }
    }
    victim.finish().await;
}

/// Nobody is upgraded to anything.
#[tokio::test]
async fn upgrades_are_passed_over() {
    let victim = Victim::start().await;
    for protocol in ["h2c", "websocket", MARKER] {
        let request = format!(
            "GET /nowhere HTTP/1.1\r\nhost: x\r\nconnection: close, upgrade\r\nupgrade: {protocol}\r\n\
             http2-settings: AAMAAABkAAQAAP__\r\nsec-websocket-version: 13\r\nsec-websocket-key: eA==\r\n\r\n"
        );
        assert_eq!(victim.ask(request).await.status, 404, "{protocol}");
    }
    victim.finish().await;
}
