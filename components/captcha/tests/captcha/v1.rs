//! Tests of protocol v1 and of attacks on it.

use bulkhead_captcha::issue::issue;
use bulkhead_captcha::policy::{Binding, Client, Protocol, Site};
use bulkhead_captcha::verdict::Reason;
use bulkhead_captcha::verify::verify;
use serde_json::{Value, json};

use crate::native_host::{NOW, NativeHost, client, compat_site, site};
use crate::payloads::{judge, malformed, refusal, solve_v1};

fn v1_site() -> Site {
    Site { protocol: Protocol::V1, algorithm: "SHA-256".to_owned(), max_failures: 100, ..site() }
}

fn v1_compat_site() -> Site {
    Site { protocol: Protocol::V1, max_failures: 100, ..compat_site() }
}

fn issued(host: &NativeHost, site: &Site) -> Value {
    let challenge = issue(host, site, &client("a"), None).unwrap().challenge;
    serde_json::from_str(&challenge).unwrap()
}

fn with(payload: &Value, name: &str, value: impl Into<Value>) -> Value {
    let mut payload = payload.clone();
    payload[name] = value.into();
    payload
}

#[test]
fn compat_challenge_has_captchaservice_shape() {
    let challenge = issued(&NativeHost::new(), &v1_compat_site());
    let names: Vec<&String> = challenge.as_object().unwrap().keys().collect();
    assert_eq!(names, ["algorithm", "challenge", "maxnumber", "salt", "signature"]);
    assert_eq!((&challenge["algorithm"], &challenge["maxnumber"]), (&json!("SHA-256"), &json!(5)));
    let salt = challenge["salt"].as_str().unwrap();
    let (random, query) = salt.split_once('?').unwrap();
    assert_eq!((random.len(), query), (24, format!("expires={}&", NOW + 300).as_str()));
}

#[test]
fn binding_is_signed_after_the_expiry() {
    let host = NativeHost::new();
    let site = Site { key: "büro & co".to_owned(), binding: Binding::Network, ..v1_site() };
    let challenge = issue(&host, &site, &client("a"), Some("log in?")).unwrap().challenge;
    let salt = serde_json::from_str::<Value>(&challenge).unwrap()["salt"].clone();
    let (_, query) = salt.as_str().unwrap().split_once('?').unwrap();
    let expected = "&max=5&site=b%C3%BCro+%26+co&keyId=1&action=log+in%3F&client=net-a-new&";
    assert_eq!(query, format!("expires={}{expected}", NOW + 300));
    let payload = solve_v1(&challenge);
    let judge = |client: &Client, action| {
        verify(&host, &site, client, &payload.to_string(), action).unwrap().rejected
    };
    assert_eq!(judge(&client("b"), None), Some(Reason::WrongClient));
    assert_eq!(judge(&client("a"), Some("pay")), Some(Reason::WrongAction));
    let other = Site { key: "site-b".to_owned(), ..site.clone() };
    assert_eq!(refusal(&host, &other, &client("a"), &payload), Some(Reason::WrongSite));
    assert_eq!(judge(&client("a"), Some("log in?")), None);
    assert_eq!(judge(&client("a"), Some("log in?")), Some(Reason::Replayed));
}

#[test]
fn solved_challenges_are_valid_under_every_hash() {
    for algorithm in ["SHA-1", "SHA-256", "SHA-384", "SHA-512"] {
        let host = NativeHost::new();
        let site = Site { algorithm: algorithm.to_owned(), ..v1_site() };
        let payload = solve_v1(&issue(&host, &site, &client("a"), None).unwrap().challenge);
        let verdict = judge(&host, &site, &client("a"), &payload).unwrap();
        assert_eq!(verdict.rejected, None, "{algorithm}");
        assert_eq!((verdict.cost, verdict.expires_at), (Some(5), Some(NOW + 300)));
        assert_eq!(verdict.reported_time_ms, Some(47.0));
    }
}

#[test]
fn sha1_needs_the_site_s_consent() {
    let host = NativeHost::new();
    let asking = Site { algorithm: "SHA-1".to_owned(), ..v1_site() };
    let payload = solve_v1(&issue(&host, &asking, &client("a"), None).unwrap().challenge);
    assert_eq!(refusal(&host, &v1_site(), &client("a"), &payload), Some(Reason::BadSignature));
    let odd = with(&payload, "algorithm", "MD5");
    assert_eq!(refusal(&host, &asking, &client("a"), &odd), Some(Reason::BadSignature));
}

#[test]
fn challenges_expire() {
    let host = NativeHost::new();
    let payload = solve_v1(&issued(&host, &v1_compat_site()).to_string());
    host.now.set((NOW + 301) as f64);
    assert_eq!(refusal(&host, &v1_compat_site(), &client("a"), &payload), Some(Reason::Expired));
}

#[test]
fn numbers_are_json_integers_in_range() {
    let host = NativeHost::new();
    let site = v1_compat_site();
    let payload = solve_v1(&issued(&host, &site).to_string());
    let number = payload["number"].to_string();
    let bad = [json!(number), json!(-1), json!(0.5), json!([1]), json!(true), json!(1e300)];
    for value in bad {
        let text = with(&payload, "number", value).to_string();
        let error = malformed(&host, &site, &text);
        assert!(error.starts_with("payload.number must be an integer"), "{error}");
    }
    assert_eq!(
        malformed(&host, &site, &with(&payload, "number", Value::Null).to_string()),
        "payload.number is missing"
    );
    assert_eq!(refusal(&host, &site, &client("a"), &payload), None);
}

/// CVE-2025-68113: digits move across an unmarked boundary between salt and number.
#[test]
fn salts_and_numbers_cannot_be_spliced() {
    let host = NativeHost::new();
    let site = v1_compat_site();
    let payload = solve_v1(&issued(&host, &site).to_string());
    let salt = payload["salt"].as_str().unwrap().to_owned();
    let number = payload["number"].to_string();
    let refused = |salt: &str, number: Value| {
        let payload = with(&with(&payload, "salt", salt), "number", number);
        let reason = refusal(&host, &site, &client("a"), &payload);
        assert!(reason.is_some(), "{payload}");
        reason
    };
    // The number's digits join the expiry: there is no closing delimiter any more.
    assert_eq!(refused(&format!("{salt}{number}"), json!(0)), Some(Reason::BadSignature));
    assert_eq!(
        refused(salt.trim_end_matches('&'), json!(number.parse::<u32>().unwrap())),
        Some(Reason::BadSignature)
    );
    // With a delimiter of the client's own the hash is another.
    assert_eq!(refused(&format!("{salt}{number}&"), json!(0)), Some(Reason::WrongSolution));
    assert_eq!(refused(&salt.replace("expires", "expired"), json!(1)), Some(Reason::WrongSolution));
    assert_eq!(refused("", json!(1)), Some(Reason::BadSignature));
    // The salt is cut at an earlier `&` and its rest moves into a number that is text.
    let site = v1_site();
    let payload = solve_v1(&issued(&host, &site).to_string());
    let salt = payload["salt"].as_str().unwrap();
    let cut = salt.find('&').unwrap() + 1;
    let number = format!("{}{}", &salt[cut..], payload["number"]);
    let spliced = with(&with(&payload, "salt", &salt[..cut]), "number", number);
    let error = malformed(&host, &site, &spliced.to_string());
    assert!(error.starts_with("payload.number must be an integer"), "{error}");
    assert_eq!(refusal(&host, &site, &client("a"), &payload), None);
}

#[test]
fn signatures_and_challenges_cannot_be_changed() {
    let host = NativeHost::new();
    let site = v1_compat_site();
    let payload = solve_v1(&issued(&host, &site).to_string());
    let other = solve_v1(&issued(&host, &site).to_string());
    for name in ["challenge", "signature"] {
        let upper = payload[name].as_str().unwrap().to_uppercase();
        for value in [json!(upper), other[name].clone(), json!("")] {
            let reason = refusal(&host, &site, &client("a"), &with(&payload, name, value));
            assert_eq!(reason, Some(Reason::BadSignature), "{name}");
        }
    }
    let reason = refusal(&host, &site, &client("a"), &with(&payload, "algorithm", "SHA-512"));
    assert_eq!(reason, Some(Reason::BadSignature));
}

#[test]
fn expiries_that_are_no_numbers_have_passed() {
    let host = NativeHost::new();
    let payload = json!({
        "algorithm": "SHA-256", "challenge": "00", "number": 1, "signature": "00",
        "salt": "0011?expires=tomorrow&",
    });
    assert_eq!(refusal(&host, &v1_compat_site(), &client("a"), &payload), Some(Reason::Expired));
}

#[test]
fn numbers_span_the_whole_range() {
    let host = NativeHost::new();
    let site = v1_compat_site();
    let numbers: std::collections::BTreeSet<u64> =
        (0..200).map(|_| solve_v1(&issued(&host, &site).to_string())["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers.into_iter().collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
}
