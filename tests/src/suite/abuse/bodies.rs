//! Bodies of the widget's endpoints and of `siteverify`, in both of their formats.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{Victim, assert_tells_nothing};

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
async fn deep_payloads_are_refused_whatever_they_are_wrapped_in() {
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
    for (kind, body) in [
        (JSON, &b"{\"secret\":\"\xff\"}"[..]),
        (JSON, b"{\"secret\":\"a\",\"secret\":\"b\"}"),
        (FORM, b"secret=%00&response=x"),
        (FORM, b"secret=\xff&response=x"),
        (FORM, b"secret=shop-secret&response=%00"),
        (FORM, b"secret=shop-secret&secret=shop-secret&response=x"),
        (FORM, b"&&&&===="),
        (FORM, b""),
    ] {
        let (status, answer) = post(&victim, SITEVERIFY, kind, body).await;
        let refused = status == 400 || (status == 200 && answer["success"] == false);
        assert!(refused, "{} gave {status} {answer}", body.escape_ascii());
    }
    victim.finish().await;
}

#[tokio::test]
async fn a_query_is_no_place_for_garbage() {
    let victim = Victim::start().await;
    for query in [
        "siteKey=%00",
        "siteKey=%ff",
        "siteKey=shop&siteKey=shop",
        "siteKey",
        "=",
        "siteKey=shop&action=%0d%0a",
        "?",
    ] {
        let url = victim.0.url(&format!("/api/v1/captcha/widget/challenge?{query}"));
        let answer = victim.0.client().get(url).send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        assert!([400, 404].contains(&status), "{query} gave {status} {text}");
        assert_tells_nothing(&text);
        assert!(serde_json::from_str::<Value>(&text).unwrap()["code"].is_string(), "{text}");
    }
    victim.finish().await;
}

#[tokio::test]
async fn ten_megabytes_are_413_wherever_they_are_sent() {
    let victim = Victim::start().await;
    for path in ["/api/v1/captcha/challenge", "/api/v1/captcha/invalidate", WIDGET, SITEVERIFY] {
        let (status, body) = post(&victim, path, JSON, vec![b' '; 10 << 20]).await;
        assert_eq!((status, &body["code"]), (413, &json!("body-too-large")), "{path}");
    }
    let (status, body) = post(&victim, SITEVERIFY, FORM, vec![b'a'; 10 << 20]).await;
    assert_eq!((status, &body["code"]), (413, &json!("body-too-large")));
    // Nobody reads a body at a path that is none.
    let nowhere = victim.0.client().post(victim.0.url("/nowhere")).body(vec![b' '; 10 << 20]).send().await;
    assert_eq!(nowhere.map(|answer| answer.status().as_u16()).unwrap_or(404), 404);
    victim.finish().await;
}
