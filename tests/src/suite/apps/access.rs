//! Keys of callers, pages of other origins, and requests for other protocols.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn checked_key_does_not_reach_the_app() {
    let host = hosting(&HttpGuest::showing_header("authorization"), "api_keys = ['swordfish']").start().await;
    let (status, text) = get(&host, "/hello").await;
    assert_eq!((status, code(&text).as_str()), (401, "unauthorized"));
    let wrong = host.client().get(host.url("/hello")).bearer_auth("sword");
    assert_eq!(answer(wrong).await.0, 401);
    let known = host.client().get(host.url("/hello")).bearer_auth("swordfish");
    assert_eq!(answer(known).await, (200, String::new()), "the app sees no key");
    assert_calls(&host, "ok", 1.0).await;
    host.stop().await;
    let host = hosting(&HttpGuest::showing_header("authorization"), "").start().await;
    let own = host.client().get(host.url("/hello")).bearer_auth("the app's own");
    assert_eq!(answer(own).await.1, "Bearer the app's own");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_listed_origins_may_call() {
    let keys = "cors_origins = ['https://a.example']\napi_keys = ['swordfish']";
    let host = hosting(&HttpGuest::answering(200, "hello"), keys).start().await;
    for (origin, is_allowed) in [("https://a.example", true), ("https://b.example", false)] {
        let preflight = host.client().request(reqwest::Method::OPTIONS, host.url("/hello"));
        let preflight = preflight.header("origin", origin).header("access-control-request-method", "PUT");
        let answer = preflight.send().await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers().contains_key("access-control-allow-origin"), is_allowed, "{origin}");
    }
    assert_calls(&host, "ok", 0.0).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn host_has_last_word_on_origins() {
    let guest = HttpGuest::handling(
        "(local.set $at (call $new-fields))
         (drop (call $header (local.get $at) (i32.const 1024) (i32.const 27) (i32.const 1060) (i32.const 17)))
         (drop (call $header (local.get $at) (i32.const 1100) (i32.const 32) (i32.const 1140) (i32.const 4)))
         (local.set $body (call $respond (local.get $out) (i32.const 200) (local.get $at)))
         (call $finish (call $open (local.get $body)) (local.get $body))",
    );
    let guest = guest.with_data(1024, "access-control-allow-origin").with_data(1060, "https://b.example");
    let guest = guest.with_data(1100, "access-control-allow-credentials").with_data(1140, "true");
    for (keys, origin, allowed) in [
        ("cors_origins = ['https://a.example']", "https://a.example", Some("https://a.example")),
        ("cors_origins = ['https://a.example']", "https://b.example", None),
        ("cors_origins = ['*']", "https://b.example", Some("*")),
        ("", "https://a.example", Some("https://b.example")),
    ] {
        let host = hosting(&guest, keys).start().await;
        let answer = host.client().get(host.url("/hello")).header("origin", origin).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let values = answer.headers().get_all("access-control-allow-origin").iter();
        let values: Vec<&str> = values.map(|value| value.to_str().unwrap()).collect();
        assert_eq!(values, allowed.into_iter().collect::<Vec<_>>(), "{keys} {origin}");
        assert!(!answer.headers().contains_key("access-control-allow-credentials"), "{keys}");
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn options_without_page_reaches_the_app() {
    let keys = "cors_origins = ['https://a.example']";
    let host = hosting(&HttpGuest::answering(200, "hello"), keys).start().await;
    let options = || host.client().request(reqwest::Method::OPTIONS, host.url("/hello"));
    assert_eq!(answer(options()).await.1, "hello");
    assert_eq!(answer(options().header("access-control-request-method", "PUT")).await.1, "hello");
    let of_page = options().header("origin", "https://a.example").send().await.unwrap();
    assert_eq!(of_page.headers()["access-control-allow-origin"], "https://a.example");
    assert_eq!(of_page.text().await.unwrap(), "hello");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn upgrade_is_not_offered() {
    let host = hosting(&HttpGuest::answering(200, "hello"), "").start().await;
    let request = host.client().get(host.url("/hello")).header("connection", "upgrade");
    let (status, text) = answer(request.header("upgrade", "websocket")).await;
    assert_eq!((status, code(&text).as_str()), (501, "upgrade-not-offered"));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_reach_the_app_by_config() {
    let ask = "(call $setting (i32.const 1024) (i32.const 5) (i32.const 28))";
    let guest = HttpGuest::showing(ask).with_data(1024, "token");
    let host = hosting(&guest, "secrets = { token = 'swordfish' }").start().await;
    assert_eq!(get(&host, "/hello").await, (200, "swordfish".to_owned()));
    host.stop().await;
}
