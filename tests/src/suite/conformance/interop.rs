//! Compatible mode against an independent implementation: challenges of the Java service and ours verify in
//! each other, and what must not verify does not.

use serde_json::{Value, json};

use super::{CLIENT, JAVA, SITE, Service, altcha, column, refused, valid};

/// The key of [`JAVA`].
const KEY: &str = "secret";

#[tokio::test]
async fn challenge_of_java_service_is_accepted() {
    let service = Service::start(JAVA).await;
    // As issued and as echoed by a widget, nulls included; without them; with data, which Java may sign.
    let with_nulls = altcha::java_challenge(KEY, &json!({}));
    let mut without = with_nulls.clone();
    without["parameters"].as_object_mut().unwrap().retain(|_, value| !value.is_null());
    assert_eq!(service.verify(SITE, &altcha::solve(&with_nulls)).await, valid());
    assert_eq!(service.verify(SITE, &altcha::solve(&without)).await, refused("replayed"), "the same one");
    for changes in [
        json!({}),
        json!({ "cost": 1000 }),
        json!({ "expiresAt": null }),
        json!({ "data": { "b": null, "a": "x", "n": 1.5, "t": true } }),
        json!({ "keyLength": 16 }),
        json!({ "algorithm": "PBKDF2/SHA-256", "cost": 10 }),
    ] {
        let challenge = altcha::java_challenge(KEY, &changes);
        assert_eq!(service.verify(SITE, &altcha::solve(&challenge)).await, valid(), "{changes}");
    }
    service.stop().await;
}

#[tokio::test]
async fn extra_members_of_java_client_are_accepted() {
    let service = Service::start(JAVA).await;
    for (pointer, value) in [
        ("/solution/time", json!(null)),
        ("/solution/time", json!(47)),
        ("/solution/time", json!(706.6)),
        ("/solution/unknown", json!({ "a": [1] })),
        ("/challenge/unknown", json!(1)),
        ("/unknown", json!(null)),
    ] {
        let mut payload = altcha::solve(&altcha::java_challenge(KEY, &json!({})));
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        payload.pointer_mut(parent).unwrap()[name] = value.clone();
        assert_eq!(service.verify(SITE, &payload).await, valid(), "{pointer} {value}");
    }
    service.stop().await;
}

#[tokio::test]
async fn our_challenge_holds_for_independent_verifier() {
    let service = Service::start(JAVA).await;
    for address in [CLIENT, "10.0.0.1"] {
        let challenge = service.challenge(SITE, address).await;
        let parameters = &challenge["parameters"];
        assert_eq!(challenge["signature"], altcha::sign(KEY, parameters));
        // As the Java service would read it into its record, and write it: every member, the rest null.
        let mut echoed = parameters.clone();
        for name in ["keySignature", "memoryCost", "parallelism", "data"] {
            assert!(echoed.get(name).is_none(), "{name}");
            echoed[name] = Value::Null;
        }
        assert_eq!(altcha::canonical(&echoed), altcha::canonical(parameters));
        let echoed = json!({ "parameters": echoed, "signature": challenge["signature"] });
        assert_eq!(service.verify(SITE, &altcha::solve(&echoed)).await, valid());
    }
    service.stop().await;
}

#[tokio::test]
async fn wrong_keys_and_tampered_parameters_are_refused() {
    let service = Service::start(JAVA).await;
    for key in ["", "Secret", "secret ", "test_secret"] {
        let payload = altcha::solve(&altcha::java_challenge(key, &json!({})));
        assert_eq!(service.verify(SITE, &payload).await, refused("bad_signature"), "{key:?}");
    }
    let challenge = altcha::java_challenge(KEY, &json!({ "cost": 10 }));
    for (name, value) in [
        ("cost", json!(1)),
        ("keyPrefix", json!("0")),
        ("keyPrefix", json!("")),
        ("keyLength", json!(16)),
        ("expiresAt", json!(4_102_444_800_u64)),
        ("expiresAt", json!(null)),
        ("algorithm", json!("SHA-512")),
        ("nonce", json!("00112233445566778899aabbccddeeff")),
        ("data", json!({ "a": 1 })),
        ("added", json!(1)),
    ] {
        let mut changed = challenge.clone();
        changed["parameters"][name] = value.clone();
        let payload = altcha::solve(&changed);
        assert_eq!(service.verify(SITE, &payload).await, refused("bad_signature"), "{name} {value}");
    }
    let mut unsigned = altcha::solve(&challenge);
    unsigned["challenge"]["signature"] = json!("");
    assert_eq!(service.verify(SITE, &unsigned).await, refused("bad_signature"));
    assert_eq!(service.verify(SITE, &altcha::solve(&challenge)).await, valid(), "the genuine one");
    service.stop().await;
}

#[tokio::test]
async fn key_without_the_prefix_is_no_work() {
    let service = Service::start(JAVA).await;
    let challenge = altcha::java_challenge(KEY, &json!({ "keyPrefix": "00ff" }));
    let lazy = altcha::unsolved(&challenge);
    assert_eq!(service.verify(SITE, &lazy).await, refused("wrong_solution"), "its own key, no work");
    let mut claimed = lazy.clone();
    claimed["solution"]["derivedKey"] = json!(format!("00ff{}", "ab".repeat(30)));
    assert_eq!(service.verify(SITE, &claimed).await, refused("wrong_solution"), "the prefix, another key");
    service.stop().await;
}

#[tokio::test]
async fn counters_are_integers_of_32_bits() {
    let service = Service::start(JAVA).await;
    let payload = altcha::solve(&altcha::java_challenge(KEY, &json!({})));
    let counter = payload["solution"]["counter"].as_u64().unwrap();
    for wrong in [json!(counter + (1 << 32)), json!(counter.to_string()), json!(-1), json!(0.5), json!(null)]
    {
        let mut body = super::with_payload(super::envelope(SITE, CLIENT), &payload);
        body["payload"]["solution"]["counter"] = wrong.clone();
        let (status, answer) = service.post("/verify", &body).await;
        assert_eq!((status, &answer["code"]), (400, &json!("invalid-payload")), "{wrong}: {answer}");
    }
    assert_eq!(service.verify(SITE, &payload).await, valid());
    service.stop().await;
}

#[tokio::test]
async fn one_challenge_has_one_signature_text() {
    let service = Service::start(JAVA).await;
    let mut payload = altcha::solve(&altcha::java_challenge(KEY, &json!({})));
    assert_eq!(service.verify(SITE, &payload).await, valid());
    let signature = payload["challenge"]["signature"].as_str().unwrap().to_owned();
    for other in [signature.to_uppercase(), format!("{signature} "), format!("0x{signature}")] {
        payload["challenge"]["signature"] = json!(other);
        assert_ne!(service.verify(SITE, &payload).await["valid"], true, "{other}");
    }
    service.stop().await;
}

#[tokio::test]
async fn spent_challenge_is_its_signature_hash() {
    let ours = r#"
        [captcha.sites.own]
        secret = "own_secret"
    "#;
    let service = Service::start(&format!("{JAVA}{ours}")).await;
    let mut expected = Vec::new();
    for site in [SITE, "own"] {
        let payload = service.solved(site, CLIENT).await;
        assert_eq!(service.verify(site, &payload).await, valid());
        expected.push(altcha::hash(payload["challenge"]["signature"].as_str().unwrap()));
    }
    // A refused payload leaves no row.
    service.verify(SITE, &altcha::unsolved(&altcha::java_challenge(KEY, &json!({})))).await;
    let rows =
        column(&service.stop().await, "SELECT payload_hash FROM invalidated_payload ORDER BY rowid").await;
    assert_eq!(rows, expected);
}
