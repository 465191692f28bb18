//! `POST /challenge`, `/verify` and `/invalidate` as captchaservice 2.x's clients know them.

use serde_json::{Value, json};

use super::{Captcha, envelope, read, solver};

#[tokio::test]
async fn challenge_has_the_members_of_clients() {
    let captcha = Captcha::start().await;
    let (status, body) = captcha.call("/challenge", &envelope(json!({}))).await;
    assert_eq!(status, 200);
    assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
    let parameters = &body["challenge"]["parameters"];
    assert_eq!(parameters["algorithm"], "SHA-256");
    assert_eq!(parameters["cost"], 1);
    assert_eq!(parameters["keyLength"], 32);
    assert_eq!(parameters["keyPrefix"], "00");
    for (name, digits) in [("nonce", 32), ("salt", 32)] {
        assert_eq!(parameters[name].as_str().unwrap().len(), digits, "{name}");
    }
    assert!(parameters["expiresAt"].is_u64());
    assert_eq!(body["challenge"]["signature"].as_str().unwrap().len(), 64);
    captcha.stop().await;
}

#[tokio::test]
async fn a_solution_is_valid_once() {
    let captcha = Captcha::start().await;
    let body = envelope(json!({ "payload": captcha.solved().await }));
    assert_eq!(captcha.call("/verify", &body).await, (200, json!({ "valid": true })));
    let replayed = json!({ "valid": false, "reason": "replayed" });
    assert_eq!(captcha.call("/verify", &body).await, (200, replayed));
    captcha.stop().await;
}

#[tokio::test]
async fn one_of_many_concurrent_submissions_is_valid() {
    let captcha = Captcha::start().await;
    let body = envelope(json!({ "payload": captcha.solved().await }));
    let send = || {
        let request = captcha.post("/verify").json(&body);
        tokio::spawn(async move { read(request).await })
    };
    let mut valid = 0;
    for call in (0..16).map(|_| send()).collect::<Vec<_>>() {
        let (status, body) = call.await.unwrap();
        assert_eq!(status, 200);
        valid += usize::from(body["valid"] == true);
    }
    assert_eq!(valid, 1);
    captcha.stop().await;
}

#[tokio::test]
async fn null_and_unknown_members_are_accepted() {
    let captcha = Captcha::start().await;
    let mut payload = captcha.solved().await;
    for name in ["keySignature", "memoryCost", "parallelism", "data"] {
        payload["challenge"]["parameters"][name] = Value::Null;
    }
    payload["unknown"] = json!([1]);
    let body = envelope(json!({ "payload": payload, "unknown": { "a": 1 }, "clientAddress": "::1" }));
    assert_eq!(captcha.call("/verify", &body).await.1["valid"], true);
    captcha.stop().await;
}

#[tokio::test]
async fn failed_verification_is_invalid_with_reason() {
    let captcha = Captcha::start().await;
    let good = captcha.solved().await;
    let changed = |pointer: &str, value: Value| {
        let mut payload = good.clone();
        *payload.pointer_mut(pointer).unwrap() = value;
        payload
    };
    for (payload, reason) in [
        (changed("/challenge/parameters/cost", json!(2)), "bad_signature"),
        (changed("/challenge/signature", json!("00".repeat(32))), "bad_signature"),
        (changed("/solution/derivedKey", json!(format!("00{}", "11".repeat(31)))), "wrong_solution"),
        (changed("/solution/derivedKey", json!("11".repeat(32))), "wrong_solution"),
    ] {
        let body = envelope(json!({ "payload": payload }));
        let answer = json!({ "valid": false, "reason": reason });
        assert_eq!(captcha.call("/verify", &body).await, (200, answer), "{payload}");
    }
    captcha.stop().await;
}

#[tokio::test]
async fn wrong_credentials_are_401_without_detail() {
    let captcha = Captcha::start().await;
    let payload = captcha.solved().await;
    let mut messages = Vec::new();
    for path in ["/challenge", "/verify", "/invalidate"] {
        for changes in [
            json!({ "siteKey": "nobody" }),
            json!({ "siteSecret": "wrong" }),
            json!({ "siteSecret": "web-secret-new" }),
            json!({ "siteKey": "web" }),
        ] {
            let mut body = envelope(changes);
            body["payload"] = payload.clone();
            let (status, body) = captcha.call(path, &body).await;
            assert_eq!((status, &body["code"]), (401, &json!("wrong-credentials")), "{path}");
            messages.push(body["message"].clone());
        }
    }
    messages.dedup();
    assert_eq!(messages.len(), 1);
    captcha.stop().await;
}

#[tokio::test]
async fn both_secrets_are_compared_in_nfc() {
    let captcha = Captcha::start().await;
    for (key, secret) in
        [("compat", "compat-secret-cafe\u{301}"), ("web", "web-secret-old"), ("web", "web-secret-new")]
    {
        let body = envelope(json!({ "siteKey": key, "siteSecret": secret }));
        assert_eq!(captcha.call("/challenge", &body).await.0, 200, "{secret}");
    }
    captcha.stop().await;
}

#[tokio::test]
async fn missing_and_malformed_members_are_400() {
    let captcha = Captcha::start().await;
    let payload = captcha.solved().await;
    for (name, values) in [
        ("siteKey", vec![json!(null), json!(""), json!("  "), json!(1)]),
        ("siteSecret", vec![json!(null), json!(""), json!({})]),
        ("clientAddress", vec![json!(null), json!(""), json!("test"), json!("1.2.3.4:80"), json!(1)]),
    ] {
        for value in values {
            for path in ["/challenge", "/verify", "/invalidate"] {
                let mut body = envelope(json!({}));
                body["payload"] = payload.clone();
                body[name] = value.clone();
                assert_eq!(captcha.call(path, &body).await.0, 400, "{path} {name} {value}");
                body.as_object_mut().unwrap().remove(name);
                assert_eq!(captcha.call(path, &body).await.0, 400, "{path} without {name}");
            }
        }
    }
    captcha.stop().await;
}

#[tokio::test]
async fn payloads_that_are_none_are_400() {
    let captcha = Captcha::start().await;
    let encoded = solver::encode(&captcha.solved().await);
    for payload in [
        json!(null),
        json!(encoded),
        json!([]),
        json!({}),
        json!({ "challenge": null, "solution": null, "test": true }),
        json!({ "challenge": {}, "solution": {} }),
    ] {
        let mut body = envelope(json!({}));
        body["payload"] = payload.clone();
        assert_eq!(captcha.call("/verify", &body).await.0, 400, "{payload}");
    }
    assert_eq!(captcha.call("/verify", &envelope(json!({}))).await.0, 400);
    captcha.stop().await;
}

#[tokio::test]
async fn an_invalidated_payload_is_spent() {
    let captcha = Captcha::start().await;
    let body = envelope(json!({ "payload": captcha.solved().await }));
    assert_eq!(captcha.call("/invalidate", &body).await, (200, json!({ "invalidated": true })));
    assert_eq!(captcha.call("/invalidate", &body).await, (200, json!({ "invalidated": false })));
    let replayed = json!({ "valid": false, "reason": "replayed" });
    assert_eq!(captcha.call("/verify", &body).await, (200, replayed));
    captcha.stop().await;
}

#[tokio::test]
async fn ladder_counts_visits_and_spares_listed_clients() {
    let captcha = Captcha::start().await;
    let mut costs = Vec::new();
    for address in ["192.0.2.9"; 4].iter().chain(&["::ffff:192.0.2.9", "10.1.2.3", "10.1.2.3"]) {
        let (_, body) = captcha.call("/challenge", &envelope(json!({ "clientAddress": address }))).await;
        costs.push(body["challenge"]["parameters"]["cost"].as_u64().unwrap());
    }
    assert_eq!(costs, [1, 1, 2, 2, 2, 1, 1]);
    captcha.stop().await;
}

#[tokio::test]
async fn an_action_is_signed_and_compared() {
    let captcha = Captcha::start().await;
    let with = |changes: Value| {
        let mut body = envelope(json!({ "siteKey": "web", "siteSecret": "web-secret-new" }));
        body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        body
    };
    let (_, body) = captcha.call("/challenge", &with(json!({ "action": "login" }))).await;
    let payload = solver::solve(&body["challenge"]);
    let other = with(json!({ "action": "order", "payload": payload }));
    let refused = json!({ "valid": false, "reason": "wrong_action" });
    assert_eq!(captcha.call("/verify", &other).await, (200, refused));
    let same = with(json!({ "action": "login", "payload": payload }));
    assert_eq!(captcha.call("/verify", &same).await, (200, json!({ "valid": true })));
    assert_eq!(captcha.call("/challenge", &with(json!({ "action": "a b" }))).await.0, 400);
    captcha.stop().await;
}
