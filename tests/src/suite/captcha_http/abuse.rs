//! What a hostile client sends: the right status, a JSON body, nothing leaked, and the host goes on.

use reqwest::{Method, header};
use serde_json::{Value, json};

use super::{Captcha, envelope, read};

const JSON: &str = "application/json";

/// Posts bytes as JSON to `/verify`.
async fn post(captcha: &Captcha, body: impl Into<reqwest::Body>) -> (u16, Value) {
    read(captcha.post("/verify").header(header::CONTENT_TYPE, JSON).body(body)).await
}

/// An envelope's text with a payload put in as it is.
fn with_payload(payload: &str) -> String {
    let mut text = envelope(json!({})).to_string();
    text.pop();
    format!("{text},\"payload\":{payload}}}")
}

async fn assert_alive(captcha: &Captcha) {
    assert_eq!(captcha.call("/challenge", &envelope(json!({}))).await.0, 200);
}

#[tokio::test]
async fn a_large_body_is_413() {
    let captcha = Captcha::start().await;
    let (status, body) = post(&captcha, vec![b' '; 10 << 20]).await;
    assert_eq!((status, &body["code"]), (413, &json!("body-too-large")));
    let message = body["message"].as_str().unwrap_or_default();
    assert!(message.ends_with("16384 bytes; send less, or raise captcha.body_bytes"), "{message}");
    assert_alive(&captcha).await;
    captcha.stop().await;
}

#[tokio::test]
async fn deep_nesting_is_400() {
    let captcha = Captcha::start().await;
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let inner = if open == "[" { "" } else { "1" };
        let nested = format!("{}{inner}{}", open.repeat(100), close.repeat(100));
        let payload = format!("{{\"challenge\":{nested}}}");
        let (status, body) = post(&captcha, with_payload(&payload)).await;
        assert_eq!((status, &body["code"]), (400, &json!("too-deep")), "{open}");
    }
    let unclosed = with_payload(&"[".repeat(10_000));
    assert_eq!(post(&captcha, unclosed).await.1["code"], "invalid-json");
    assert_alive(&captcha).await;
    captcha.stop().await;
}

#[tokio::test]
async fn broken_text_is_400() {
    let captcha = Captcha::start().await;
    let with_byte = |byte: u8| {
        let mut text = envelope(json!({ "siteKey": "X", "payload": {} })).to_string().into_bytes();
        let at = text.iter().position(|other| *other == b'X').unwrap();
        text[at] = byte;
        text
    };
    for (body, code) in [
        (Vec::new(), "invalid-json"),
        (b"nonsense".to_vec(), "invalid-json"),
        (b"{".to_vec(), "invalid-json"),
        (b"[]".to_vec(), "invalid-object"),
        (b"\"text\"".to_vec(), "invalid-object"),
        (with_byte(0xff), "invalid-utf8"),
        (with_byte(0), "invalid-json"),
        (envelope(json!({ "siteKey": "a\0", "payload": {} })).to_string().into_bytes(), "invalid-field"),
        (b"{\"siteKey\":\"\\ud800\"}".to_vec(), "invalid-field"),
    ] {
        let text = String::from_utf8_lossy(&body).into_owned();
        let (status, body) = post(&captcha, body).await;
        assert_eq!((status, &body["code"]), (400, &json!(code)), "{text:?}");
    }
    captcha.stop().await;
}

#[tokio::test]
async fn a_byte_order_mark_is_skipped() {
    let captcha = Captcha::start().await;
    let mark = |body: &Value| format!("\u{feff}{body}");
    let post = async |path: &str, body: &Value| {
        read(captcha.post(path).header(header::CONTENT_TYPE, JSON).body(mark(body))).await
    };
    assert_eq!(post("/challenge", &envelope(json!({}))).await.0, 200);
    let solved = captcha.solved().await;
    let (status, answer) = post("/verify", &envelope(json!({ "payload": solved }))).await;
    assert_eq!((status, answer), (200, json!({ "valid": true })));
    let (status, answer) = post("/siteverify", &json!({ "secret": "no", "response": "x" })).await;
    assert_eq!((status, &answer["error-codes"]), (200, &json!(["invalid-input-secret"])));
    captcha.stop().await;
}

#[tokio::test]
async fn duplicate_members_are_400() {
    let captcha = Captcha::start().await;
    let twice = envelope(json!({ "payload": {} })).to_string().replacen('{', "{\"siteKey\":\"x\",", 1);
    assert_eq!(post(&captcha, twice).await.1["code"], "invalid-object");
    for payload in [r#"{"challenge":1,"challenge":2}"#, r#"{"challenge":{"signature":"a","signature":"b"}}"#]
    {
        assert_eq!(post(&captcha, with_payload(payload)).await.0, 400, "{payload}");
    }
    captcha.stop().await;
}

#[tokio::test]
async fn a_wrong_content_type_is_415() {
    let captcha = Captcha::start().await;
    let body = envelope(json!({ "payload": {} })).to_string();
    for path in ["/challenge", "/verify", "/invalidate", "/widget/verify?siteKey=web", "/siteverify"] {
        assert_eq!(read(captcha.post(path).body(body.clone())).await.0, 415, "{path} without a type");
        let request = captcha.post(path).header(header::CONTENT_TYPE, "text/plain");
        assert_eq!(read(request.body(body.clone())).await.0, 415, "{path}");
    }
    let json = captcha.post("/challenge").header(header::CONTENT_TYPE, "application/json;charset=UTF-8");
    assert_eq!(read(json.body(body)).await.0, 200);
    captcha.stop().await;
}

#[tokio::test]
async fn a_wrong_method_is_405_with_allow() {
    let captcha = Captcha::start().await;
    for (path, method, allow) in [
        ("/challenge", Method::GET, "POST"),
        ("/verify", Method::PUT, "POST"),
        ("/invalidate", Method::DELETE, "POST"),
        ("/siteverify", Method::DELETE, "POST"),
        ("/widget/files", Method::POST, "GET"),
        ("/widget/challenge", Method::POST, "GET"),
        ("/widget/verify", Method::GET, "POST"),
    ] {
        let response = captcha.0.client().request(method, captcha.url(path)).send().await.unwrap();
        assert_eq!(response.status(), 405, "{path}");
        assert!(response.headers()[header::ALLOW].to_str().unwrap().contains(allow), "{path}");
        let body: Value = response.json().await.unwrap();
        assert_eq!(body["code"], "method-not-allowed", "{path}");
    }
    captcha.stop().await;
}

/// A client that tests a link with HEAD spends nothing and counts as no visit.
#[tokio::test]
async fn head_is_405_where_get_changes_something() {
    let captcha = Captcha::start().await;
    let head = async |path: &str| {
        let response = captcha.0.client().head(captcha.url(path)).send().await.unwrap();
        let headers = response.headers();
        assert_eq!(headers[header::CONTENT_TYPE], "application/json", "{path}");
        let allow = headers.get(header::ALLOW).map(|allow| allow.to_str().unwrap().to_owned());
        (response.status().as_u16(), allow)
    };
    let body = captcha.solved_by_widget("web").await;
    let payload = body["payload"].as_str().unwrap();
    let payload = payload.replace('+', "-").replace('/', "_").trim_end_matches('=').to_owned();
    let query = format!("/siteverify?secret=web-secret-new&response={payload}");
    assert_eq!(head(&query).await, (405, Some("GET, POST".into())));
    assert_eq!(read(captcha.get(&query)).await.1["success"], true, "it has not been spent");

    // The site takes two calls a minute.
    let challenge = "/widget/challenge?siteKey=narrow";
    for _ in 0..5 {
        assert_eq!(head(challenge).await, (405, Some("GET, OPTIONS".into())));
    }
    for _ in 0..2 {
        assert_eq!(read(captcha.get(challenge)).await.0, 200);
    }
    for (path, allow) in [("/siteverify", "GET, POST"), (challenge, "GET, OPTIONS")] {
        let response = captcha.0.client().delete(captcha.url(path)).send().await.unwrap();
        assert_eq!(
            (response.status().as_u16(), &response.headers()[header::ALLOW]),
            (405, &allow.parse().unwrap())
        );
        let body: Value = response.json().await.unwrap();
        assert_eq!(body["code"], "method-not-allowed", "{path}");
    }
    // What only reads takes HEAD.
    assert_eq!(head("/widget/files").await, (404, None), "as GET, without a folder of files");
    captcha.stop().await;
}

#[tokio::test]
async fn an_unknown_path_is_404() {
    let captcha = Captcha::start().await;
    for path in ["", "/", "/nothing", "/challenge/", "/widget", "/verify/x?y=%00", "/..%2f..%2fetc"] {
        let (status, body) = read(captcha.get(path)).await;
        assert_eq!((status, &body["code"]), (404, &json!("not-found")), "{path}");
    }
    captcha.stop().await;
}
