//! Facts 1, 4 to 7, 14, 15 and 20, and the Unicode NFC of secrets.

use bulkhead_tests::TestHost;
use serde_json::{Value, json};

use super::{CLIENT, JAVA, SITE, Service, altcha, envelope, refused, valid, with_payload};

#[tokio::test]
async fn fact_1_challenge_has_sha256_and_signature() {
    let service = Service::start(JAVA).await;
    let (status, body) = service.post("/challenge", &envelope(SITE, CLIENT)).await;
    assert_eq!(status, 200);
    let members: Vec<_> = body.as_object().unwrap().keys().collect();
    assert_eq!(members, ["challenge"]);
    let members: Vec<_> = body["challenge"].as_object().unwrap().keys().collect();
    assert_eq!(members, ["parameters", "signature"]);

    let parameters = &body["challenge"]["parameters"];
    assert_eq!(parameters["algorithm"], "SHA-256");
    assert_eq!((&parameters["cost"], &parameters["keyLength"]), (&json!(1000), &json!(32)));
    assert_eq!(parameters["keyPrefix"], "00");
    for name in ["nonce", "salt"] {
        assert_eq!(hex::decode(parameters[name].as_str().unwrap()).unwrap().len(), 16, "{name}");
    }
    assert!(parameters.as_object().unwrap().values().all(|value| !value.is_null()), "{parameters}");
    assert_eq!(body["challenge"]["signature"], altcha::sign("secret", parameters));

    let other = service.challenge(SITE, CLIENT).await;
    for name in ["nonce", "salt"] {
        assert_ne!(other["parameters"][name], parameters[name], "{name}");
    }
    service.stop().await;
}

#[tokio::test]
async fn fact_4_malformed_client_address_is_400() {
    let service = Service::start(JAVA).await;
    for path in ["/challenge", "/verify"] {
        let body = with_payload(envelope(SITE, "test"), &json!({ "challenge": {}, "solution": {} }));
        let (status, body) = service.post(path, &body).await;
        assert_eq!((status, &body["status"], &body["error"]), (400, &json!(400), &json!("Bad Request")));
        assert_eq!(body["path"], format!("/api/v1/captcha{path}"));
    }
    service.stop().await;
}

#[tokio::test]
async fn facts_5_and_7_solution_counts_once() {
    let service = Service::start(JAVA).await;
    let payload = service.solved(SITE, CLIENT).await;
    assert_eq!(service.verify(SITE, &payload).await, valid());
    assert_eq!(service.verify(SITE, &payload).await, refused("replayed"));
    service.stop().await;
}

#[tokio::test]
async fn fact_6_wrong_credentials_are_401() {
    let service = Service::start(JAVA).await;
    let payload = service.solved(SITE, CLIENT).await;
    for (name, value) in [("siteKey", "stranger"), ("siteSecret", "guesswork")] {
        let mut body = with_payload(envelope(SITE, CLIENT), &payload);
        body[name] = value.into();
        let (status, body) = service.post("/verify", &body).await;
        assert_eq!((status, &body["status"]), (401, &json!(401)));
        assert!(!body.to_string().contains(value), "{body}");
    }
    assert_eq!(service.verify(SITE, &payload).await, valid(), "a refusal spends nothing");
    service.stop().await;
}

#[tokio::test]
async fn fact_14_costs_rise_with_recorded_requests() {
    let service = Service::start(JAVA).await;
    let mut costs = Vec::new();
    for _ in 0..9 {
        costs.push(service.cost(SITE, CLIENT).await);
    }
    let on_record = |requests: usize| costs[requests];
    assert_eq!([1, 2, 3, 8].map(on_record), [1000, 2000, 3000, 3000]);
    assert_eq!(on_record(0), 1000);
    assert_eq!(service.cost(SITE, "1.2.3.5").await, 1000, "another client");
    service.stop().await;
}

#[tokio::test]
async fn fact_15_listed_client_always_pays_1() {
    let service = Service::start(JAVA).await;
    for _ in 0..9 {
        assert_eq!(service.cost(SITE, "10.1.2.3").await, 1);
    }
    service.stop().await;
}

#[tokio::test]
async fn visits_count_for_all_sites_together() {
    let twin = r#"
        [captcha.sites.twin]
        secret = "twin_secret"
        compat = true
        difficulty_map = [{ min_visits = 1, cost = 10 }, { min_visits = 3, cost = 30 }]
    "#;
    let service = Service::start(&format!("{JAVA}{twin}")).await;
    for _ in 0..2 {
        service.challenge(SITE, CLIENT).await;
    }
    assert_eq!(service.cost("twin", CLIENT).await, 30);
    assert_eq!(service.cost(SITE, CLIENT).await, 3000);
    service.stop().await;
}

#[tokio::test]
async fn fact_20_no_answer_may_be_kept() {
    let service = Service::start(JAVA).await;
    let paths =
        ["/actuator", "/actuator/health", "/actuator/health/none", "/actuator/info", "/actuator/none"];
    let others = ["/actuator/metrics", "/actuator/prometheus", "/api/v1/captcha/none", "/nothing"];
    for path in paths.iter().chain(&others) {
        let answer = service.get(path, "*/*").await;
        let values: Vec<_> = answer.headers.get_all("cache-control").iter().collect();
        assert_eq!(values, ["no-cache, no-store, must-revalidate"], "{path} {}", answer.status);
    }
    service.stop().await;
}

#[tokio::test]
async fn secrets_match_in_any_normal_form() {
    let config = |key: &str, secret: &str| {
        format!(
            "[captcha.sites.\"{key}\"]\nsecret = \"{secret}\"\nalgorithm = \"SHA-256\"\n\
             difficulty_map = [{{ min_visits = 1, cost = 1 }}]\n"
        )
    };
    let (composed, decomposed) =
        (["caf\u{e9}", "\u{c5}ngstr\u{f6}m"], ["cafe\u{301}", "A\u{30a}ngstro\u{308}m"]);
    for [key, secret] in [composed, decomposed] {
        let service = Service(TestHost::builder().config(&config(key, secret)).start().await);
        for [key, secret] in [composed, decomposed] {
            let body = json!({ "siteKey": key, "siteSecret": secret, "clientAddress": CLIENT });
            assert_eq!(service.post("/challenge", &body).await.0, 200, "{key} {secret}");
        }
        // Compatibility equivalence is not enough.
        let wide = json!({ "siteKey": key, "siteSecret": "\u{ff21}ngstr\u{f6}m", "clientAddress": CLIENT });
        assert_eq!(service.post("/challenge", &wide).await.0, 401);
        service.stop().await;
    }
}

#[tokio::test]
async fn widget_tokens_serve_compatible_sites_too() {
    let service = Service::start(JAVA).await;
    let challenge = service.get("/api/v1/captcha/widget/challenge?siteKey=test_site", "*/*").await.json();
    let solved = altcha::solve(&challenge).to_string();
    let solved = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, solved);
    let (status, answer) =
        service.post("/widget/verify?siteKey=test_site", &json!({ "payload": solved })).await;
    assert_eq!((status, &answer["verified"]), (200, &json!(true)), "{answer}");
    let token = answer["payload"].as_str().unwrap();
    let token = base64::Engine::decode(&base64::prelude::BASE64_STANDARD, token).unwrap();
    let token: Value = serde_json::from_slice(&token).unwrap();
    assert_eq!(service.verify(SITE, &token).await, valid());
    assert_eq!(service.verify(SITE, &token).await, refused("replayed"));
    service.stop().await;
}
