//! What trusted proxies say of the client.

use serde_json::{Value, json};

use super::{
    Victim,
    raw::{head, json_head},
};

const TRUSTING: &str = "[server]\ntrusted_proxies = [\"127.0.0.0/8\"]\n";
const CONTRADICTION: &str =
    "forwarded: for=192.0.2.1\r\nx-forwarded-for: 192.0.2.2\r\nconnection: close\r\ncontent-length: 0\r\n";

/// The client would else be the proxy, whose address may be allow-listed.
#[tokio::test]
async fn contradicting_headers_are_refused_in_each_shape() {
    let victim = Victim::with(TRUSTING).await;
    let code = "contradicting-forwarded";
    for path in ["/api/v1/captcha/challenge", "/api/v1/captcha/siteverify", "/api/v1/captcha/nowhere"] {
        let answer = victim.ask(json_head(path, CONTRADICTION)).await;
        let body = answer.json();
        assert_eq!((answer.status, &body["code"], &body["path"]), (400, &json!(code), &json!(path)));
    }
    let answer = victim.ask(json_head("/embed", CONTRADICTION)).await;
    assert_eq!((answer.status, &answer.json()["error"]), (400, &json!(code)));
    for path in ["/api/v1/triage", "/api/v1/answer"] {
        let answer = victim.ask(json_head(path, CONTRADICTION)).await;
        let detail = &answer.json()["detail"];
        assert_eq!((answer.status, &detail["error"]), (400, &json!("InvalidRequestError")), "{path}");
        assert!(detail["message"].as_str().unwrap().starts_with(code), "{detail}");
    }
    let raw = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: x\r\n{CONTRADICTION}\r\n");
    let answer = victim.ask(raw("/terminvereinbarung/api/2/status/")).await;
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    let meta = &body["meta"];
    assert_eq!((answer.status, &meta["error"]), (400, &json!(true)));
    assert!(meta["message"].as_str().unwrap().starts_with(code), "{meta}");
    let answer = victim.ask(raw("/actuator/health")).await;
    assert_eq!((answer.status, &answer.json()["code"]), (400, &json!(code)));
    victim.finish().await;
}

#[tokio::test]
async fn agreeing_headers_and_the_named_one_are_taken() {
    let agreeing = "forwarded: for=192.0.2.2\r\nx-forwarded-for: 192.0.2.2\r\n";
    let contradicting = "forwarded: for=192.0.2.1\r\nx-forwarded-for: 192.0.2.2\r\n";
    for (config, fields) in [
        ("", agreeing),
        ("forwarded = \"forwarded\"\n", contradicting),
        ("forwarded = \"x-forwarded\"\n", contradicting),
    ] {
        let victim = Victim::with(&format!("{TRUSTING}{config}")).await;
        let answer = victim.ask(head("GET /actuator/health", fields)).await;
        assert_eq!(answer.status, 200, "{config}");
        victim.finish().await;
    }
    // Nobody listens to those who are not trusted.
    let victim = Victim::start().await;
    assert_eq!(victim.ask(head("GET /actuator/health", contradicting)).await.status, 200);
    victim.finish().await;
}
