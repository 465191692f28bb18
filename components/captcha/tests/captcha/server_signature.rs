//! Tests of server-signed results: accepted once, for their site, until they expire.

use bulkhead_captcha::algorithm::Hash;
use bulkhead_captcha::host::Host;
use bulkhead_captcha::policy::{Client, Site};
use bulkhead_captcha::verdict::Reason;
use bulkhead_captcha::verify::{invalidate, verify};
use serde_json::{Value, json};

use crate::native_host::{NOW, NativeHost, site};
use crate::payloads::{malformed, refusal};

fn signed(host: &NativeHost, data: &str) -> Value {
    let tag = host.sign("site", Hash::Sha256, &Hash::Sha256.digest(data.as_bytes())).unwrap().tag;
    json!({
        "algorithm": "SHA-256",
        "id": "unsigned",
        "signature": hex::encode(tag),
        "verificationData": data,
        "verified": true,
    })
}

fn good() -> String {
    format!("action=login&expire={}&id=x&site=site-a&verified=true", NOW + 60)
}

fn reason(host: &NativeHost, payload: &Value) -> Option<Reason> {
    refusal(host, &site(), &Client::default(), payload)
}

#[test]
fn server_result_is_accepted_only_once() {
    let host = NativeHost::new();
    let site = Site { max_verifies: 5, ..site() };
    let payload = signed(&host, &good()).to_string();
    let judge = |action| verify(&host, &site, &Client::default(), &payload, action).unwrap();
    assert_eq!(judge(Some("pay")).rejected, Some(Reason::WrongAction));
    let verdict = judge(Some("login"));
    assert_eq!((verdict.rejected, verdict.expires_at), (None, Some(NOW + 60)));
    assert_eq!(verdict.action.as_deref(), Some("login"));
    assert_eq!(judge(None).rejected, Some(Reason::Replayed));
    assert!(!invalidate(&host, &site, &payload).unwrap());
}

#[test]
fn only_signed_members_count() {
    let host = NativeHost::new();
    let mut payload = signed(&host, &good());
    payload["verificationData"] = good().replace("x", "y").into();
    assert_eq!(reason(&host, &payload), Some(Reason::BadSignature));
    payload = signed(&host, &good());
    payload["algorithm"] = "SHA-1".into();
    assert_eq!(reason(&host, &payload), Some(Reason::BadSignature));
    let failed = signed(&host, &good().replace("true", "false"));
    assert_eq!(reason(&host, &failed), Some(Reason::WrongSolution));
    let twice = signed(&host, &format!("verified=false&{}", good()));
    assert_eq!(reason(&host, &twice), Some(Reason::WrongSolution));
    payload["signature"] = Value::Null;
    assert_eq!(malformed(&host, &site(), &payload.to_string()), "payload.signature is missing");
}

#[test]
fn results_need_their_site_and_an_end() {
    let host = NativeHost::new();
    let data = good();
    for (data, expected) in [
        (data.replace("site-a", "site-b"), Reason::WrongSite),
        (data.replace("site=", "page="), Reason::WrongSite),
        (data.replace("expire=", "start="), Reason::Expired),
        (data.replace(&(NOW + 60).to_string(), &(NOW - 1).to_string()), Reason::Expired),
        (data.replace(&(NOW + 60).to_string(), "soon"), Reason::Expired),
    ] {
        let payload = signed(&host, &data);
        assert_eq!(reason(&host, &payload), Some(expected), "{data}");
        assert!(!invalidate(&host, &site(), &payload.to_string()).unwrap());
    }
    assert!(invalidate(&host, &site(), &signed(&host, &data).to_string()).unwrap());
}
