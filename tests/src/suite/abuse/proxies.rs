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
async fn agreeing_headers_and_named_ones_count() {
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

/// The client's `Forwarded` names its own address, as the proxy does, and another host.
#[tokio::test]
async fn a_client_cannot_choose_its_host() {
    let victim = Victim::with(TRUSTING).await;
    let fields = |forwarded: &str, host: &str| {
        format!("forwarded: for=192.0.2.1;{forwarded}\r\nx-forwarded-for: 192.0.2.1\r\n{host}")
    };
    let differing = fields("host=evil.example", "x-forwarded-host: www.example\r\n");
    let answer = victim.ask(head("GET /actuator/health", &differing)).await;
    assert_eq!((answer.status, &answer.json()["code"]), (400, &json!("contradicting-forwarded")));
    for host in ["", "x-forwarded-host: www.example\r\n"] {
        let forwarded = if host.is_empty() { "host=evil.example" } else { "host=www.example" };
        let answer = victim.ask(head("GET /actuator", &fields(forwarded, host))).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let shown = if host.is_empty() { "http://x/" } else { "http://www.example/" };
        assert!(answer.body.contains(shown) && !answer.body.contains("evil"), "{}", answer.body);
    }
    victim.finish().await;
}

/// A proxy's own address may be allow-listed; a client that it gives no address is not the proxy.
#[tokio::test]
async fn client_without_address_is_not_listed() {
    let site = "[captcha.sites.listed]\nsecret = \"listed-secret\"\nalgorithm = \"SHA-256\"\n\
                difficulty_map = [{ min_visits = 1, cost = 7 }]\nwhitelisted_source_addresses = [\"127.0.0.1\"]\n\
                allowed_origins = [\"*\"]\n";
    let victim = Victim::with(&format!("{TRUSTING}{site}")).await;
    for (fields, cost) in [
        ("", 1),
        ("x-forwarded-for: unknown\r\n", 7),
        ("x-forwarded-for:\r\n", 7),
        ("forwarded: for=unknown\r\n", 7),
        ("forwarded: for=_hidden;proto=https\r\n", 7),
        ("x-forwarded-for: 127.0.0.1\r\n", 1),
    ] {
        let answer = victim.ask(head("GET /api/v1/captcha/widget/challenge?siteKey=listed", fields)).await;
        let challenge = answer.json();
        assert_eq!((answer.status, &challenge["parameters"]["cost"]), (200, &json!(cost)), "{fields}");
    }
    victim.finish().await;
}
