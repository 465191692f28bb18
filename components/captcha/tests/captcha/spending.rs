//! Tests of how often a challenge can be used, and what uses it up.

use bulkhead_captcha::issue::issue;
use bulkhead_captcha::policy::{Client, Protocol, Site};
use bulkhead_captcha::verdict::Reason;
use bulkhead_captcha::verify::invalidate;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::native_host::{NOW, NativeHost, client, compat_site, site};
use crate::payloads::{refusal, solve_v1, solved};

fn anyone() -> Client {
    Client::default()
}

fn spoil(payload: &Value) -> Value {
    let mut payload = payload.clone();
    let key = payload["solution"]["derivedKey"].as_str().unwrap().to_owned();
    let last = if key.ends_with('0') { '1' } else { '0' };
    payload["solution"]["derivedKey"] = format!("{}{last}", &key[..key.len() - 1]).into();
    payload
}

#[test]
fn challenge_is_accepted_max_verifies_times() {
    for base in [site(), compat_site()] {
        for limit in [0, 1, 3] {
            let host = NativeHost::new();
            let site = Site { max_verifies: limit, ..base.clone() };
            let payload = solved(&host, &site, &anyone());
            for _ in 0..limit {
                assert_eq!(refusal(&host, &site, &anyone(), &payload), None);
            }
            for _ in 0..2 {
                assert_eq!(refusal(&host, &site, &anyone(), &payload), Some(Reason::Replayed));
            }
        }
    }
}

#[test]
fn replay_id_outlives_the_challenge() {
    let host = NativeHost::new();
    let mut payload = solved(&host, &site(), &anyone());
    let signature = payload["challenge"]["signature"].as_str().unwrap().to_owned();
    // The counter is not looked at where the key is signed; varying it must not help.
    payload["solution"]["counter"] = 77.into();
    assert_eq!(refusal(&host, &site(), &anyone(), &payload), None);
    let id = hex::encode(Sha256::digest(signature));
    assert_eq!(host.spent.borrow()[&id], (1, NOW + 300));
    payload["solution"]["counter"] = 78.into();
    assert_eq!(refusal(&host, &site(), &anyone(), &payload), Some(Reason::Replayed));
}

#[test]
fn wrong_solutions_use_a_challenge_up() {
    for base in [site(), Site { deterministic: false, ..site() }, compat_site()] {
        for (max_failures, wrong) in [(3, 3), (1, 1), (0, 1)] {
            let host = NativeHost::new();
            let site = Site { max_failures, max_verifies: 2, ..base.clone() };
            let payload = solved(&host, &site, &anyone());
            let spoilt = spoil(&payload);
            for _ in 0..wrong {
                assert_eq!(refusal(&host, &site, &anyone(), &spoilt), Some(Reason::WrongSolution));
            }
            let derived = host.derivations.get();
            for payload in [&spoilt, &payload, &payload] {
                let reason = refusal(&host, &site, &anyone(), payload);
                assert_eq!(reason, Some(Reason::TooManyFailures));
            }
            // Where the work is five rounds of a hash, they come before the look into the ledger.
            let quick = if site.compat { 3 } else { 0 };
            assert_eq!(host.derivations.get(), derived + quick, "and no expensive work is done for it");
        }
    }
}

#[test]
fn failures_below_the_limit_do_not_matter() {
    let host = NativeHost::new();
    let payload = solved(&host, &compat_site(), &anyone());
    for _ in 0..2 {
        let reason = refusal(&host, &compat_site(), &anyone(), &spoil(&payload));
        assert_eq!(reason, Some(Reason::WrongSolution));
    }
    assert_eq!(refusal(&host, &compat_site(), &anyone(), &payload), None);
}

#[test]
fn invalidate_spends_all_despite_wrong_solution() {
    for base in [site(), compat_site()] {
        let host = NativeHost::new();
        let site = Site { max_verifies: 3, ..base };
        let payload = solved(&host, &site, &anyone());
        assert_eq!(refusal(&host, &site, &anyone(), &payload), None);
        let mut unsolved = payload.clone();
        unsolved.as_object_mut().unwrap().remove("solution");
        assert!(invalidate(&host, &site, &unsolved.to_string()).unwrap());
        assert!(!invalidate(&host, &site, &payload.to_string()).unwrap(), "nothing is left");
        assert_eq!(refusal(&host, &site, &anyone(), &payload), Some(Reason::Replayed));
    }
}

#[test]
fn expired_and_forged_challenges_cannot_be_invalidated() {
    let host = NativeHost::new();
    let mut payload = solved(&host, &site(), &anyone());
    host.now.set((NOW + 301) as f64);
    assert!(!invalidate(&host, &site(), &payload.to_string()).unwrap());
    host.now.set(NOW as f64);
    payload["challenge"]["parameters"]["cost"] = 1.into();
    assert!(!invalidate(&host, &site(), &payload.to_string()).unwrap());
    assert!(host.spent.borrow().is_empty());
    assert!(invalidate(&host, &site(), "{}").is_err());
}

#[test]
fn v1_challenges_are_spent_the_same_way() {
    let host = NativeHost::new();
    let site = Site { protocol: Protocol::V1, max_verifies: 2, ..compat_site() };
    let payload = solve_v1(&issue(&host, &site, &client("a"), None).unwrap().challenge);
    assert_eq!(refusal(&host, &site, &anyone(), &payload), None);
    let mut wrong = payload.clone();
    wrong["number"] = 4_000_000.into();
    assert!(!invalidate(&host, &site, &wrong.to_string()).unwrap());
    assert!(invalidate(&host, &site, &payload.to_string()).unwrap());
    assert_eq!(refusal(&host, &site, &anyone(), &payload), Some(Reason::Replayed));

    let payload = solve_v1(&issue(&host, &site, &client("a"), None).unwrap().challenge);
    wrong = payload.clone();
    wrong["number"] = 4_000_000.into();
    for _ in 0..3 {
        assert_eq!(refusal(&host, &site, &anyone(), &wrong), Some(Reason::WrongSolution));
    }
    assert_eq!(refusal(&host, &site, &anyone(), &payload), Some(Reason::TooManyFailures));
}
