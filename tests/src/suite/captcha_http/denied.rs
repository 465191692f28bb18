//! Clients on a site's deny list: no challenge, and no payload accepted.

use bulkhead_tests::TestHost;
use serde_json::{Value, json};

use super::{Captcha, read, solver};

const DENYING: &str = r#"
    [server]
    trusted_proxies = ["127.0.0.1"]

    [captcha.sites.strict]
    secret = "a-strict-site-s-secret"
    algorithm = "SHA-256"
    difficulty_map = [{ min_visits = 1, cost = 1 }]
    allowed_origins = ["*"]
    whitelisted_source_addresses = ["203.0.113.0/24", "2001:db8:1::/48"]
    denied_source_addresses = ["192.0.2.7", "198.51.100.0/24", "203.0.113.128/25", "2001:db8:bad::/48", "2001:db8:1::1"]

    [captcha.sites.open]
    secret = "an-open-site-s-secret"
    algorithm = "SHA-256"
    difficulty_map = [{ min_visits = 1, cost = 1 }]
"#;

const DENIED: [&str; 9] = [
    "192.0.2.7",
    "::ffff:192.0.2.7",
    "198.51.100.0",
    "198.51.100.255",
    "203.0.113.200",
    "2001:db8:bad::",
    "2001:db8:bad:ffff::1",
    "2001:DB8:BAD::7",
    "2001:db8:1::1",
];
const ADMITTED: [&str; 6] =
    ["192.0.2.8", "198.51.101.0", "203.0.113.127", "2001:db8:bae::", "2001:db8:1::2", "::192.0.2.7"];

async fn start() -> Captcha {
    Captcha(TestHost::builder().config(DENYING).start().await)
}

fn envelope(address: &str, payload: Option<&Value>) -> Value {
    let mut body = json!({
        "siteKey": "strict", "siteSecret": "a-strict-site-s-secret", "clientAddress": address,
    });
    if let Some(payload) = payload {
        body["payload"] = payload.clone();
    }
    body
}

impl Captcha {
    /// Asks as a browser behind the trusted proxy; for a challenge without `body`.
    async fn widget(&self, address: &str, body: Option<&Value>) -> (u16, Value) {
        let request = match body {
            None => self.get("/widget/challenge?siteKey=strict"),
            Some(body) => self.post("/widget/verify?siteKey=strict").json(body),
        };
        read(request.header("x-forwarded-for", address)).await
    }
}

fn assert_denied((status, body): (u16, Value), address: &str) {
    assert_eq!((status, &body["code"]), (403, &json!("client-denied")), "{address}: {body}");
    assert!(body["message"].as_str().unwrap().contains("denied_source_addresses"), "{body}");
}

#[tokio::test]
async fn a_denied_client_gets_no_challenge() {
    let captcha = start().await;
    for address in DENIED {
        assert_denied(captcha.call("/challenge", &envelope(address, None)).await, address);
        assert_denied(captcha.widget(address, None).await, address);
    }
    for address in ADMITTED {
        assert_eq!(captcha.call("/challenge", &envelope(address, None)).await.0, 200, "{address}");
        assert_eq!(captcha.widget(address, None).await.0, 200, "{address}");
    }
    let other = json!({
        "siteKey": "open", "siteSecret": "an-open-site-s-secret", "clientAddress": "192.0.2.7",
    });
    assert_eq!(captcha.call("/challenge", &other).await.0, 200, "another site has a list of its own");
    let refused =
        captcha.0.metric("captcha_rejections_total{reason=\"denied_client\",site=\"strict\"}").await;
    assert_eq!(refused, 2.0 * DENIED.len() as f64);
    captcha.stop().await;
}

#[tokio::test]
async fn denied_client_spends_no_payload() {
    let captcha = start().await;
    let (_, answer) = captcha.call("/challenge", &envelope("192.0.2.8", None)).await;
    let payload = solver::solve(&answer["challenge"]);
    let encoded = solver::encode(&payload);
    for address in DENIED {
        let verdict = captcha.call("/verify", &envelope(address, Some(&payload))).await;
        assert_eq!(verdict, (200, json!({ "valid": false, "reason": "denied_client" })), "{address}");
        let answer = captcha.call("/invalidate", &envelope(address, Some(&payload))).await;
        assert_eq!(answer, (200, json!({ "invalidated": false, "reason": "denied_client" })), "{address}");
        let verdict = captcha.widget(address, Some(&json!({ "payload": encoded }))).await;
        assert_eq!(verdict, (200, json!({ "verified": false, "reason": "denied_client" })), "{address}");
        let with_port =
            if address.contains(':') { format!("[{address}]:443") } else { format!("{address}:443") };
        for stated in [address, &with_port] {
            let question =
                json!({ "secret": "a-strict-site-s-secret", "response": encoded, "remoteip": stated });
            let (_, answer) = captcha.call("/siteverify", &question).await;
            assert_eq!(answer["error-codes"], json!(["invalid-input-response"]), "{stated}");
        }
    }
    let good = captcha.call("/verify", &envelope("192.0.2.8", Some(&payload))).await;
    assert_eq!(good, (200, json!({ "valid": true })));
    let (_, answer) = captcha.call("/challenge", &envelope("192.0.2.8", None)).await;
    let payload = solver::solve(&answer["challenge"]);
    let invalidated = captcha.call("/invalidate", &envelope("192.0.2.8", Some(&payload))).await;
    assert_eq!(invalidated, (200, json!({ "invalidated": true })));
    captcha.stop().await;
}
