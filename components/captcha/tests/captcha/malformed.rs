//! Tests of malformed payloads, and of unusual valid ones.

use bulkhead_captcha::policy::Client;
use bulkhead_captcha::verdict::Reason;
use serde_json::{Value, json};

use crate::native_host::{NativeHost, compat_site, site};
use crate::payloads::{malformed, refusal, solved};

fn anyone() -> Client {
    Client::default()
}

#[test]
fn payloads_that_are_none_are_malformed() {
    let host = NativeHost::new();
    let site = compat_site();
    let good = solved(&host, &site, &anyone());
    for (text, problem) in [
        ("", "payload is not acceptable JSON"),
        ("{", "payload is not acceptable JSON"),
        ("[]", "payload must be an object"),
        ("null", "payload must be an object"),
        ("\"eyJjaGFsbGVuZ2UiOiJ4In0=\"", "payload must be an object"),
        ("{}", "payload.solution is missing"),
        (r#"{"challenge":null,"solution":null,"test":true}"#, "payload.solution is missing"),
        (r#"{"challenge":[],"solution":{}}"#, "solution.counter is missing"),
        (r#"{"a":1,"a":2}"#, "duplicate member"),
    ] {
        let error = malformed(&host, &site, text);
        assert!(error.contains(problem), "{text}: {error}");
    }
    let spoilt = [
        ("/solution", json!("x"), "payload.solution must be an object"),
        ("/challenge", Value::Null, "payload.challenge is missing"),
        ("/challenge/signature", Value::Null, "challenge.signature is missing"),
        ("/challenge/signature", json!(1), "challenge.signature must be a string"),
        ("/challenge/parameters", json!([]), "challenge.parameters must be an object"),
        ("/challenge/parameters/cost", Value::Null, "challenge.parameters.cost is missing"),
        ("/challenge/parameters/cost", json!("5"), "challenge.parameters.cost must be an integer"),
        ("/challenge/parameters/cost", json!(-1), "challenge.parameters.cost must be an integer"),
        ("/challenge/parameters/keyLength", json!(1.5), "challenge.parameters.keyLength must be"),
        ("/challenge/parameters/nonce", json!(7), "challenge.parameters.nonce must be a string"),
        ("/challenge/parameters/expiresAt", json!("never"), "challenge.parameters.expiresAt must be"),
        ("/solution/counter", json!("371"), "solution.counter must be an integer"),
        ("/solution/counter", json!(4_294_967_296_u64), "solution.counter must be an integer"),
        ("/solution/counter", json!(-1), "solution.counter must be an integer"),
        ("/solution/counter", json!(0.5), "solution.counter must be an integer"),
        ("/solution/counter", Value::Null, "solution.counter is missing"),
        ("/solution/derivedKey", json!([]), "solution.derivedKey must be a string"),
        ("/solution/derivedKey", Value::Null, "solution.derivedKey is missing"),
        ("/solution/time", json!("soon"), "solution.time must be a number"),
    ];
    for (pointer, value, problem) in spoilt {
        let mut payload = good.clone();
        *payload.pointer_mut(pointer).unwrap() = value;
        let error = malformed(&host, &site, &payload.to_string());
        assert!(error.starts_with(problem), "{pointer}: {error}");
    }
    assert!(host.spent.borrow().is_empty() && host.failures.borrow().is_empty());
}

#[test]
fn missing_parameters_are_refused() {
    let host = NativeHost::new();
    let mut payload = solved(&host, &compat_site(), &anyone());
    payload["challenge"]["parameters"] = Value::Null;
    assert_eq!(refusal(&host, &compat_site(), &anyone(), &payload), Some(Reason::BadSignature));
    payload["challenge"].as_object_mut().unwrap().remove("parameters");
    assert_eq!(refusal(&host, &compat_site(), &anyone(), &payload), Some(Reason::BadSignature));
}

#[test]
fn v1_payloads_need_the_sites_consent() {
    let host = NativeHost::new();
    let error = malformed(&host, &site(), r#"{"challenge":"00","number":1}"#);
    assert!(error.contains("does not accept"), "{error}");
}
