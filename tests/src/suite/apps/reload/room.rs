//! Apps for which the instance pool has no room, or none yet.

use tokio::io::AsyncWriteExt as _;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn app_beyond_all_calls_goes_on() {
    let sandbox = "[sandbox]\ncalls = 4\nmemory_bytes = 1048576\n";
    let host = start(sandbox).await;
    let component = written(&host, "one.wasm", &HttpGuest::answering(200, "one"));
    let app = |calls: u64| {
        format!(
            "{sandbox}[apps.one]\npath_prefix = '/one'\ncomponent = {component}\nmax_concurrent = {calls}\n\
             shadow_calls = 1\nmemory_bytes = 1048576\n"
        )
    };
    reload(&host, &app(1)).await;
    eventually("the app answers", async || get(&host, "/one").await.0 == 200).await;
    reload(&host, &app(4)).await;
    eventually("readiness names the key", async || {
        let (_, checks) = readiness(&host).await;
        checks.iter().any(|(check, reason)| check == "app one" && reason.contains("sandbox.calls"))
    })
    .await;
    assert_eq!(get(&host, "/one").await, (200, "one".to_owned()));
    // There is room for it in place of the former slot only.
    reload(&host, &app(3)).await;
    eventually("nothing is wrong", async || readiness(&host).await == (200, Vec::new())).await;
    assert_eq!(get(&host, "/one").await, (200, "one".to_owned()));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn app_without_room_yet_is_starting() {
    let sandbox = "[sandbox]\ncalls = 4\nmemory_bytes = 1048576\n";
    let host = start(sandbox).await;
    let component = written(&host, "one.wasm", &HttpGuest::echoing());
    let app = |calls: u64| {
        format!(
            "{sandbox}[apps.one]\npath_prefix = '/one'\ncomponent = {component}\nmax_concurrent = {calls}\n\
             shadow_calls = 1\nmemory_bytes = 1048576\nstream_ms = 3600000\nstream_idle_ms = 3600000\n"
        )
    };
    reload(&host, &app(1)).await;
    eventually("the app answers", async || get(&host, "/one").await.0 == 200).await;
    let head = "POST /one HTTP/1.1\nhost: x\ntransfer-encoding: chunked\n\n5\nbegun\n";
    let mut socket = connected(&host, head).await;
    read_until(&mut socket, "begun").await;
    // There is room for it in place of the former slot only, which the stream keeps.
    reload(&host, &app(3)).await;
    eventually("the app is starting", async || {
        let answer = host.client().get(host.url("/one")).send().await.unwrap();
        let (status, retry_after) = (answer.status(), answer.headers().get("retry-after").cloned());
        let text = answer.text().await.unwrap();
        assert!([200, 503].contains(&status.as_u16()), "{status}: {text}");
        let is_starting = status == 503 && code(&text) == "starting";
        assert!(!is_starting || retry_after.is_some_and(|seconds| seconds == "1"));
        is_starting
    })
    .await;
    socket.write_all(b"0\r\n\r\n").await.unwrap();
    read_until(&mut socket, "0\r\n\r\n").await;
    eventually("the app answers again", async || get(&host, "/one").await.0 == 200).await;
    eventually("nothing is wrong", async || readiness(&host).await == (200, Vec::new())).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn app_over_ceiling_names_key_and_restart() {
    let host = start("[sandbox]\ncalls = 4\nmemory_bytes = 1048576\n").await;
    let component = written(&host, "one.wasm", &HttpGuest::answering(200, "one"));
    for (keys, waits, key) in [
        (
            "max_concurrent = 4\nmemory_bytes = 1048576",
            "apps.one.max_concurrent",
            "raise sandbox.calls and restart",
        ),
        (
            "max_concurrent = 1\nshadow_calls = 1\nmemory_bytes = 2097152",
            "apps.one.memory_bytes",
            "raise sandbox.memory_bytes and restart",
        ),
    ] {
        let sandbox = "[sandbox]\ncalls = 4\nmemory_bytes = 1048576\n";
        let answer = reload(
            &host,
            &format!("{sandbox}[apps.one]\npath_prefix = '/one'\ncomponent = {component}\n{keys}\n"),
        )
        .await;
        assert_eq!(answer["live"], json!([]), "{answer}");
        assert!(answer["restart"].as_array().unwrap().contains(&json!(waits)), "{answer}");
        eventually("readiness names the key", async || {
            let (status, checks) = readiness(&host).await;
            status == 200 && checks.iter().any(|(check, reason)| check == "app one" && reason.contains(key))
        })
        .await;
    }
    let fits = "max_concurrent = 1\nshadow_calls = 1\nmemory_bytes = 1048576";
    let sandbox = "[sandbox]\ncalls = 4\nmemory_bytes = 1048576\n";
    reload(&host, &format!("{sandbox}[apps.one]\npath_prefix = '/one'\ncomponent = {component}\n{fits}\n"))
        .await;
    eventually("the app answers", async || get(&host, "/one").await.0 == 200).await;
    assert_eq!(readiness(&host).await, (200, Vec::new()));
    host.stop().await;
}
