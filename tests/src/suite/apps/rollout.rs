//! Versions of an app: the trial, canary, and what counts as its errors.

use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use super::*;

fn operator(host: &TestHost) -> operator::Operator {
    operator::Operator::new(&host.admin_url(""), operator::DEPLOY).of("hello")
}

/// Answers with 500 to every request.
fn failing() -> HttpGuest {
    HttpGuest::answering(500, "failed")
}

#[tokio::test(flavor = "multi_thread")]
async fn version_that_fails_its_probe_is_refused() {
    let host = hosting(&HttpGuest::answering(404, "fine"), "probe = 'GET /health?a'").start().await;
    assert_eq!(get(&host, "/hello").await.0, 404, "below 500 the probe has passed");
    let operator = operator(&host);
    for (guest, said) in [
        (failing(), "its probe GET /health?a was answered with status 500"),
        (HttpGuest::handling("(nop)"), "the component returned without a response"),
        (HttpGuest::handling("unreachable"), "trap"),
    ] {
        let (status, refused) = operator.try_push(guest.component()).await;
        assert_eq!(status, 422, "{refused}");
        assert!(refused["message"].as_str().unwrap().contains(said), "{said}: {refused}");
    }
    assert_eq!(get(&host, "/hello").await.1, "fine");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn probe_is_in_slot_log() {
    let host = hosting(&HttpGuest::answering(200, "one"), "probe = 'GET /health'").start().await;
    let operator = operator(&host);
    let probed = |status: u16| {
        let guest = HttpGuest::handling(&format!(
            "(drop (call $write (call $stdout) (i32.const 1024) (i32.const 7)))
             (local.set $body (call $respond (local.get $out) (i32.const {status}) (call $new-fields)))
             (call $finish (call $open (local.get $body)) (local.get $body))"
        ));
        guest.with_data(1024, "probed\n").component()
    };
    // The lines of versions but the first one: context, level and text without the time.
    let first = operator.slot().await["active"]["id"].clone();
    let lines = async || -> Vec<(Value, [String; 3])> {
        let (_, logs) = operator.get("/v1/slots/hello/logs").await;
        let lines = logs["lines"].as_array().unwrap().iter().filter(|line| line["version"] != first);
        let member = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
        let text = |line: &Value| member(line, "message").split(" in ").next().unwrap().to_owned();
        let of = |line: &Value| [member(line, "context"), member(line, "level"), text(line)];
        lines.map(|line| (line["version"].clone(), of(line))).collect()
    };
    let line = |context: &str, level: &str, text: &str| [context, level, text].map(str::to_owned);
    let printed = line("stdout", "info", "probed");
    let two = operator.push(probed(200)).await;
    let passed = line("probe", "info", "GET /health passed with status 200");
    assert_eq!(lines().await, [(json!(two), printed.clone()), (json!(two), passed)]);
    assert_eq!(operator.try_push(probed(503)).await.0, 422);
    let of_refused: Vec<_> = lines().await.into_iter().skip(2).map(|(_, line)| line).collect();
    assert_eq!(of_refused, [printed, line("probe", "warn", "GET /health failed with status 503")]);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_errors_are_the_guests() {
    let host = hosting(&failing(), "").start().await;
    assert_eq!(get(&host, "/hello").await, (500, "failed".to_owned()));
    host.assert_at_rest().await;
    assert_calls(&host, "guest-error", 1.0).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sticky_cookie_keeps_its_version() {
    let host = hosting(&HttpGuest::answering(200, "one"), "sticky = 'cookie:id'").start().await;
    let operator = operator(&host);
    let two = operator.push(HttpGuest::answering(200, "two").component()).await;
    operator.change("canary", json!({ "version": two, "weight": 50 })).await;
    let of = async |id: u32| {
        let request = host.client().get(host.url("/hello")).header("cookie", format!("a=b; id={id}"));
        answer(request).await.1
    };
    let mut seen = std::collections::BTreeSet::new();
    for id in 0..20 {
        let first = of(id).await;
        for _ in 0..3 {
            assert_eq!(of(id).await, first, "of {id}");
        }
        seen.insert(first);
    }
    assert_eq!(seen.len(), 2, "both versions answer");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_ends_on_its_version() {
    let host = hosting(&HttpGuest::echoing(), "").start().await;
    let mut socket =
        connected(&host, "POST /hello HTTP/1.1\nhost: x\ntransfer-encoding: chunked\n\n5\nbegun\n").await;
    read_until(&mut socket, "begun").await;
    let operator = operator(&host);
    let two = operator.push(HttpGuest::answering(200, "two").component()).await;
    operator.swap(&two).await;
    assert_eq!(get(&host, "/hello").await.1, "two");
    socket.write_all(b"5\r\nended\r\n0\r\n\r\n").await.unwrap();
    read_until(&mut socket, "ended").await;
    assert_calls(&host, "ok", 2.0).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shadow_compares_status_and_body() {
    let host = hosting(&HttpGuest::answering(200, "one"), "").start().await;
    let operator = operator(&host);
    let two = operator.push(HttpGuest::answering(201, "two").component()).await;
    operator.change("shadow", json!({ "version": two })).await;
    let report = async || operator.get("/v1/slots/hello/shadow").await.1;
    assert_eq!(get(&host, "/hello").await, (200, "one".to_owned()));
    eventually("the copy is compared", async || report().await["different"] == 1).await;
    let difference = &report().await["differences"][0];
    let members: Vec<_> =
        difference["members"].as_array().unwrap().iter().map(|member| &member["name"]).collect();
    assert_eq!(members, ["status", "body sha256"]);
    assert_eq!(difference["members"][0]["shadow"], "201");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shadow_copies_requests_that_read_only() {
    let host = hosting(&HttpGuest::answering(200, "one"), "").start().await;
    let operator = operator(&host);
    let same = operator.push(HttpGuest::answering(200, "one").with_fields("(func)").component()).await;
    operator.change("shadow", json!({ "version": same })).await;
    let report = async || operator.get("/v1/slots/hello/shadow").await.1;
    answer(host.client().post(host.url("/hello"))).await;
    get(&host, "/hello").await;
    eventually("the copy is the same", async || report().await["same"] == 1).await;
    assert_eq!(report().await["different"], 0);
    host.stop().await;
}

/// Answers 200 with a header field of this value.
fn with_header(value: &str) -> HttpGuest {
    let length = value.len();
    let guest = HttpGuest::handling(&format!(
        "(local.set $at (call $new-fields))
         (drop (call $header (local.get $at) (i32.const 1024) (i32.const 5) (i32.const 1040) (i32.const {length})))
         (local.set $body (call $respond (local.get $out) (i32.const 200) (local.get $at)))
         (call $finish (call $open (local.get $body)) (local.get $body))"
    ));
    guest.with_data(1024, "x-two").with_data(1040, value)
}

#[tokio::test(flavor = "multi_thread")]
async fn shadow_compares_listed_headers() {
    let host = hosting(&with_header("one"), "shadow_headers = ['X-Two', 'x-three']").start().await;
    let operator = operator(&host);
    let two = operator.push(with_header("two").component()).await;
    operator.change("shadow", json!({ "version": two })).await;
    let report = async || operator.get("/v1/slots/hello/shadow").await.1;
    assert_eq!(get(&host, "/hello").await.0, 200);
    eventually("the copy is compared", async || report().await["different"] == 1).await;
    let members = report().await["differences"][0]["members"].clone();
    assert_eq!(members.as_array().unwrap().len(), 1, "{members}");
    assert_eq!((&members[0]["name"], &members[0]["shadow"]), (&json!("header x-two"), &json!("two")));
    host.stop().await;
}

/// Answers 200 with a JSON document.
fn with_json(document: &str) -> HttpGuest {
    let length = document.len();
    let guest = HttpGuest::handling(&format!(
        "(local.set $at (call $new-fields))
         (drop (call $header (local.get $at) (i32.const 1024) (i32.const 12) (i32.const 1040) (i32.const 16)))
         (local.set $body (call $respond (local.get $out) (i32.const 200) (local.get $at)))
         (local.set $stream (call $open (local.get $body)))
         (drop (call $write (local.get $stream) (i32.const 1060) (i32.const {length})))
         (call $finish (local.get $stream) (local.get $body))"
    ));
    guest.with_data(1024, "content-type").with_data(1040, "application/json").with_data(1060, document)
}

#[tokio::test(flavor = "multi_thread")]
async fn shadow_compares_json_by_member() {
    let host = hosting(&with_json(r#"{"a": 1, "b": [true, "x"]}"#), "").start().await;
    let operator = operator(&host);
    let two = operator.push(with_json(r#"{"b":[true,"y"],"a":1}"#).component()).await;
    operator.change("shadow", json!({ "version": two })).await;
    let report = async || operator.get("/v1/slots/hello/shadow").await.1;
    assert_eq!(get(&host, "/hello").await.0, 200);
    eventually("the copy is compared", async || report().await["different"] == 1).await;
    let members = report().await["differences"][0]["members"].clone();
    let names: Vec<_> = members.as_array().unwrap().iter().map(|member| &member["name"]).collect();
    assert_eq!(names, ["body.b.1"], "{members}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_gets_responses_of_the_live_call() {
    let (authority, served) =
        outgoing::server_answering("HTTP/1.1 207 Multi-Status\r\ncontent-length: 0\r\n\r\n".to_owned()).await;
    let guest = outgoing::asking(&authority, outgoing::AS_ANSWERED);
    let host = hosting(&guest, &format!("outgoing = ['http://{authority}']")).start().await;
    let operator = operator(&host);
    let same = operator.push(guest.with_fields("(func)").component()).await;
    operator.change("shadow", json!({ "version": same })).await;
    let report = async || operator.get("/v1/slots/hello/shadow").await.1;
    // The server answers one request only.
    assert_eq!(get(&host, "/hello").await.0, 207);
    served.await.unwrap();
    eventually("the copy is compared", async || report().await["same"] == 1).await;
    assert_eq!(report().await["different"], 0);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn probe_sends_requests_where_allowed() {
    let answer = "HTTP/1.1 207 Multi-Status\r\ncontent-length: 0\r\n\r\n".to_owned();
    let (authority, served) = outgoing::server_answering(answer).await;
    let status =
        "(if (result i32) (i32.load8_u (i32.const 272)) (then (i32.const 500)) (else (i32.const 200)))";
    let guest = outgoing::asking(&authority, status);
    let keys = |allowed: bool| {
        format!("outgoing = ['http://{authority}']\nprobe = 'GET /'\nprobe_outgoing = {allowed}")
    };
    let host = hosting(&HttpGuest::answering(200, "one"), &keys(false)).start().await;
    assert_eq!(operator(&host).try_push(guest.component()).await.0, 422);
    host.stop().await;
    let host = hosting(&HttpGuest::answering(200, "one"), &keys(true)).start().await;
    operator(&host).push(guest.component()).await;
    served.await.unwrap();
    host.stop().await;
}
