//! Tests of protocol v2: accepted and refused payloads, and the cost of each refusal.

use bulkhead_captcha::canonical;
use bulkhead_captcha::error::Error;
use bulkhead_captcha::json;
use bulkhead_captcha::policy::{Client, Site};
use bulkhead_captcha::verdict::Reason;
use bulkhead_captcha::verify::verify;
use serde_json::{Value, json};

use crate::native_host::{NOW, NativeHost, client, compat_site, site};
use crate::payloads::{judge, refusal, solved};

fn anyone() -> Client {
    Client::default()
}

/// Returns a cheap site for every mode.
fn sites() -> Vec<Site> {
    let probabilistic = Site { deterministic: false, ..site() };
    let sha512 = Site { algorithm: "SHA-512".to_owned(), ..site() };
    vec![site(), probabilistic, sha512, compat_site()]
}

/// Signs the payload's parameters again, as only the key's holder can.
fn sign_again(host: &NativeHost, payload: &mut Value) {
    use bulkhead_captcha::algorithm::Hash;
    use bulkhead_captcha::host::Host;
    let parameters = match json::parse(&payload["challenge"]["parameters"].to_string()).unwrap() {
        json::Value::Object(object) => canonical::parameters(&object),
        other => panic!("{other:?}"),
    };
    let signature = host.sign("site", Hash::Sha256, parameters.as_bytes()).unwrap();
    payload["challenge"]["signature"] = hex::encode(signature.tag).into();
}

#[test]
fn solved_challenges_are_valid_once() {
    for site in sites() {
        let host = NativeHost::new();
        let payload = solved(&host, &site, &client("a"));
        let verdict = judge(&host, &site, &client("b"), &payload).unwrap();
        assert_eq!(verdict.rejected, None);
        assert_eq!(verdict.cost, Some(5));
        assert_eq!(verdict.reported_time_ms, Some(706.6));
        assert_eq!(verdict.expires_at, Some(NOW + 300));
        let derived = u32::from(!site.deterministic);
        assert_eq!(host.derivations.get(), derived);
        assert_eq!(refusal(&host, &site, &anyone(), &payload), Some(Reason::Replayed));
        // Where the work is five rounds of a hash, they come before the look into the ledger.
        let quick = u32::from(site.compat);
        assert_eq!(host.derivations.get(), derived + quick, "a replay derives nothing expensive");
    }
}

#[test]
fn null_and_unknown_members_are_accepted() {
    for site in sites() {
        let host = NativeHost::new();
        let mut payload = solved(&host, &site, &anyone());
        for name in ["memoryCost", "parallelism", "anything"] {
            payload["challenge"]["parameters"][name] = Value::Null;
        }
        if site.compat {
            payload["challenge"]["parameters"]["keySignature"] = Value::Null;
            payload["challenge"]["parameters"]["data"] = Value::Null;
        }
        payload["challenge"]["codeChallenge"] = json!({"image": "x"});
        payload["solution"]["time"] = Value::Null;
        payload["solution"]["worker"] = 3.into();
        payload["number"] = 3.into();
        payload["verificationData"] = "verified=true".into();
        let verdict = judge(&host, &site, &anyone(), &payload).unwrap();
        assert_eq!((verdict.rejected, verdict.reported_time_ms), (None, None));
    }
}

#[test]
fn changed_parameters_break_the_signature() {
    let host = NativeHost::new();
    let site = site();
    let payload = solved(&host, &site, &client("a"));
    let changes = [
        ("algorithm", json!("SHA-256")),
        ("cost", json!(1)),
        ("keyLength", json!(16)),
        ("keyPrefix", json!("00")),
        ("keySignature", Value::Null),
        ("expiresAt", json!(NOW + 301)),
        ("nonce", json!("00112233445566778899aabbccddeeff")),
        ("salt", json!("00112233445566778899aabbccddeeff")),
        ("memoryCost", json!(8)),
        ("parallelism", json!(1)),
        ("data", Value::Null),
        ("data", json!({"site": "site-a", "keyId": "1", "action": "admin"})),
        ("data", json!({"site": "site-a", "keyId": "1", "other": null})),
        ("data", json!({"site": "site-a", "keyId": "9"})),
        ("extra", json!(0)),
        ("algorithm", json!("MD5")),
        ("nonce", json!("zz")),
        ("salt", Value::Null),
    ];
    for (name, value) in changes {
        let mut payload = payload.clone();
        payload["challenge"]["parameters"][name] = value;
        let verdict = judge(&host, &site, &client("a"), &payload).unwrap();
        assert_eq!(verdict.rejected, Some(Reason::BadSignature), "{name}");
        assert_eq!((verdict.cost, verdict.expires_at), (None, None), "nothing unsigned is reported");
    }
    assert!(host.spent.borrow().is_empty() && host.failures.borrow().is_empty());
    assert_eq!(refusal(&host, &site, &client("a"), &payload), None);
}

#[test]
fn signatures_are_compared_as_text() {
    let host = NativeHost::new();
    let site = compat_site();
    let payload = solved(&host, &site, &anyone());
    let signature = payload["challenge"]["signature"].as_str().unwrap().to_owned();
    let spoilt = [
        signature.to_uppercase(),
        format!("{signature}00"),
        signature[2..].to_owned(),
        String::new(),
        "zz".to_owned(),
        format!(" {signature}"),
    ];
    for spoilt in spoilt {
        let mut payload = payload.clone();
        payload["challenge"]["signature"] = spoilt.clone().into();
        assert_eq!(refusal(&host, &site, &anyone(), &payload), Some(Reason::BadSignature), "{spoilt}");
    }
}

#[test]
fn challenges_expire() {
    for site in sites() {
        let host = NativeHost::new();
        let payload = solved(&host, &site, &anyone());
        host.now.set((NOW + 300) as f64 + 0.001);
        let verdict = judge(&host, &site, &anyone(), &payload).unwrap();
        assert_eq!((verdict.rejected, verdict.cost), (Some(Reason::Expired), None));
        host.now.set((NOW + 300) as f64);
        assert_eq!(refusal(&host, &site, &anyone(), &payload), None, "the last moment counts");
    }
}

#[test]
fn expiry_may_be_fractional_or_absent() {
    let host = NativeHost::new();
    let site = compat_site();
    let mut payload = solved(&host, &site, &anyone());
    payload["challenge"]["parameters"]["expiresAt"] = (NOW as f64 + 0.25).into();
    sign_again(&host, &mut payload);
    host.now.set(NOW as f64 + 0.5);
    assert_eq!(refusal(&host, &site, &anyone(), &payload), Some(Reason::Expired));
    for never in [json!(0), Value::Null] {
        payload["challenge"]["parameters"]["expiresAt"] = never;
        sign_again(&host, &mut payload);
        let verdict = judge(&host, &site, &anyone(), &payload).unwrap();
        assert_eq!((verdict.rejected, verdict.expires_at), (None, None));
        let remembered = host.spent.borrow().values().any(|&(_, until)| until == NOW + 300);
        assert!(remembered, "for one timeout");
    }
}

#[test]
fn wrong_solutions_are_refused_cheaply() {
    for site in sites() {
        let host = NativeHost::new();
        let site = Site { max_failures: 100, ..site };
        let payload = solved(&host, &site, &anyone());
        let key = payload["solution"]["derivedKey"].as_str().unwrap().to_owned();
        let flipped = |text: &str| if text.ends_with('0') { "1" } else { "0" };
        let cheap = [
            "ff".repeat(key.len() / 2),
            key.to_uppercase().replace(char::is_numeric, "A"),
            format!("{key}00"),
            key[..key.len() - 2].to_owned(),
            key[..key.len() - 1].to_owned(),
            format!("{}zz", &key[..key.len() - 2]),
            String::new(),
        ];
        for spoilt in cheap {
            let mut payload = payload.clone();
            payload["solution"]["derivedKey"] = spoilt.into();
            assert_eq!(refusal(&host, &site, &anyone(), &payload), Some(Reason::WrongSolution));
        }
        assert_eq!(host.derivations.get(), 0, "no derivation before the prefix fits");
        let mut other = payload.clone();
        other["solution"]["derivedKey"] = format!("{}{}", &key[..key.len() - 1], flipped(&key)).into();
        assert_eq!(refusal(&host, &site, &anyone(), &other), Some(Reason::WrongSolution));
        assert_eq!(refusal(&host, &site, &anyone(), &payload), None);
    }
}

#[test]
fn workless_challenge_has_no_solution() {
    let host = NativeHost::new();
    let site = compat_site();
    let mut payload = solved(&host, &site, &anyone());
    payload["challenge"]["parameters"]["keyPrefix"] = "".into();
    sign_again(&host, &mut payload);
    assert_eq!(refusal(&host, &site, &anyone(), &payload), Some(Reason::WrongSolution));
}

#[test]
fn odd_prefixes_are_compared_as_text() {
    let host = NativeHost::new();
    let site = compat_site();
    let mut payload = solved(&host, &site, &anyone());
    payload["challenge"]["parameters"]["keyPrefix"] = "0".into();
    sign_again(&host, &mut payload);
    assert_eq!(refusal(&host, &site, &anyone(), &payload), None);
}

#[test]
fn counters_reach_the_largest_uint32() {
    let host = NativeHost::new();
    let mut payload = solved(&host, &compat_site(), &anyone());
    payload["solution"]["counter"] = u32::MAX.into();
    assert_eq!(refusal(&host, &compat_site(), &anyone(), &payload), Some(Reason::WrongSolution));
}

#[test]
fn absurd_times_are_not_reported() {
    let host = NativeHost::new();
    let mut payload = solved(&host, &site(), &anyone());
    payload["solution"]["time"] = (-5).into();
    assert_eq!(judge(&host, &site(), &anyone(), &payload).unwrap().reported_time_ms, None);
}

#[test]
fn rotated_keys_accept_open_challenges() {
    let host = NativeHost::new();
    let payload = solved(&host, &site(), &anyone());
    host.rotate("site", "2", "newer");
    host.rotate("key", "k2", "newer too");
    let newer = solved(&host, &site(), &anyone());
    assert_eq!(newer["challenge"]["parameters"]["data"]["keyId"], "2");
    assert_eq!(refusal(&host, &site(), &anyone(), &payload), None);
    host.set_key("site", "2", "newer");
    let lost = solved(&host, &site(), &anyone());
    assert_eq!(refusal(&host, &site(), &anyone(), &lost), None);
    host.set_key("site", "3", "newest");
    assert_eq!(refusal(&host, &site(), &anyone(), &newer), Some(Reason::BadSignature));
}

#[test]
fn busy_host_spends_nothing() {
    let host = NativeHost::new();
    let payload = solved(&host, &compat_site(), &anyone());
    host.busy.set(true);
    let busy = verify(&host, &compat_site(), &anyone(), &payload.to_string(), None);
    assert_eq!(busy, Err(Error::Busy(7)));
    host.busy.set(false);
    assert_eq!(refusal(&host, &compat_site(), &anyone(), &payload), None);
}
