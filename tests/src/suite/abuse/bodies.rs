//! Bodies of the widget's endpoints and of `siteverify`, in both of their formats.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{Victim, assert_tells_nothing, raw::head};

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";
const WIDGET: &str = "/api/v1/captcha/widget/verify?siteKey=shop";
const SITEVERIFY: &str = "/api/v1/captcha/siteverify";

async fn post(victim: &Victim, path: &str, kind: &str, body: impl Into<reqwest::Body>) -> (u16, Value) {
    let request = victim.0.client().post(victim.0.url(path)).header("content-type", kind).body(body);
    let answer = request.send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], JSON);
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap();
    assert_tells_nothing(&text);
    (status, serde_json::from_str(&text).unwrap())
}

#[tokio::test]
async fn deep_payloads_are_refused_in_any_wrapping() {
    let victim = Victim::start().await;
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let inner = if open == "[" { "" } else { "1" };
        let nested = format!("{}{inner}{}", open.repeat(100), close.repeat(100));
        let encoded = BASE64_STANDARD.encode(format!("{{\"challenge\":{nested}}}"));
        let (status, body) = post(&victim, WIDGET, JSON, json!({ "payload": encoded }).to_string()).await;
        assert_eq!((status, &body["code"]), (400, &json!("too-deep")), "{body}");
        let (status, body) = post(&victim, WIDGET, JSON, format!("{{\"payload\":{nested}}}")).await;
        assert_eq!(status, 400, "{body}");
        let asked = json!({ "secret": "shop-secret", "response": encoded }).to_string();
        let (status, body) = post(&victim, SITEVERIFY, JSON, asked).await;
        assert_eq!((status, &body["success"]), (200, &json!(false)), "{body}");
    }
    victim.finish().await;
}

#[tokio::test]
async fn broken_text_is_refused_in_both_formats() {
    let victim = Victim::start().await;
    for body in [
        &b"\xff\xfe{}"[..],
        b"{\"payload\":\"\xff\"}",
        b"{\"payload\":\"\0\"}",
        b"{\"payload\":\"\\u0000\"}",
        b"{\"payload\":\"\\ud800\"}",
        b"\0",
        b"{\"payload\":\"e30=\"}{}",
    ] {
        let (status, answer) = post(&victim, WIDGET, JSON, body).await;
        assert_eq!(status, 400, "{} gave {answer}", body.escape_ascii());
    }
    for (kind, body, status, code) in [
        (JSON, &b"{\"secret\":\"\xff\"}"[..], 400, "invalid-utf8"),
        (JSON, b"{\"secret\":\"a\",\"secret\":\"b\"}", 200, "bad-request"),
        (FORM, b"secret=%00&response=x", 200, "bad-request"),
        (FORM, b"secret=\xff&response=x", 400, "invalid-utf8"),
        (FORM, b"secret=shop-secret&response=%00", 200, "bad-request"),
        (FORM, b"secret=shop-secret&secret=shop-secret&response=x", 200, "bad-request"),
        (FORM, b"&&&&====", 200, "missing-input-secret"),
        (FORM, b"", 200, "missing-input-secret"),
    ] {
        let (found, answer) = post(&victim, SITEVERIFY, kind, body).await;
        let told = if found == 200 { &answer["error-codes"][0] } else { &answer["code"] };
        assert_eq!((found, told), (status, &json!(code)), "{}: {answer}", body.escape_ascii());
        assert!(found == 400 || answer["success"] == false, "{answer}");
    }
    victim.finish().await;
}

#[tokio::test]
async fn a_query_is_no_place_for_garbage() {
    let victim = Victim::start().await;
    for (query, status, code) in [
        ("siteKey=%00", 400, "invalid-field"),
        ("siteKey=%ff", 404, "unknown-site"),
        ("siteKey=shop&siteKey=shop", 400, "invalid-field"),
        ("siteKey", 400, "invalid-field"),
        ("=", 400, "invalid-field"),
        ("siteKey=shop&action=%0d%0a", 400, "invalid-field"),
        ("?", 400, "invalid-field"),
    ] {
        let url = victim.0.url(&format!("/api/v1/captcha/widget/challenge?{query}"));
        let answer = victim.0.client().get(url).send().await.unwrap();
        let found = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        assert_tells_nothing(&text);
        let body: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((found, &body["code"]), (status, &json!(code)), "{query} gave {text}");
    }
    victim.finish().await;
}

#[tokio::test]
async fn ten_megabytes_are_413_on_every_path() {
    let victim = Victim::start().await;
    for path in ["/api/v1/captcha/challenge", "/api/v1/captcha/invalidate", WIDGET, SITEVERIFY] {
        let (status, body) = post(&victim, path, JSON, vec![b' '; 10 << 20]).await;
        assert_eq!((status, &body["code"]), (413, &json!("body-too-large")), "{path}");
    }
    let (status, body) = post(&victim, SITEVERIFY, FORM, vec![b'a'; 10 << 20]).await;
    assert_eq!((status, &body["code"]), (413, &json!("body-too-large")));
    // Nobody reads a body at a path without a route.
    let nowhere = head("POST /nowhere", &format!("content-length: {}\r\n", 10 << 20));
    let nowhere = [nowhere.into_bytes(), vec![b' '; 10 << 20]].concat();
    assert_eq!(victim.ask(nowhere).await.status, 404);
    victim.finish().await;
}
