//! Tests of issued challenges and their costs.

use bulkhead_captcha::error::Error;
use bulkhead_captcha::host::{Host, Load};
use bulkhead_captcha::issue::{Issued, issue};
use bulkhead_captcha::policy::{AutoPolicy, Binding, Client, Difficulty, LadderStep, Site};
use bulkhead_captcha::self_test::{self, self_test};
use serde_json::{Value, json};

use crate::native_host::{NOW, NativeHost, client, compat_site, site};
use crate::payloads::{refusal, solve};

fn parts(issued: &Issued) -> (Value, Value) {
    let challenge: Value = serde_json::from_str(&issued.challenge).unwrap();
    (challenge["parameters"].clone(), challenge["signature"].clone())
}

fn ladder(steps: &[(u32, u32)]) -> Difficulty {
    let step = |&(min_visits, cost)| LadderStep { min_visits, cost };
    Difficulty { ladder: steps.iter().map(step).collect(), auto: None }
}

#[test]
fn compat_challenges_have_the_shape_of_captchaservice() {
    let host = NativeHost::new();
    host.now.set(NOW as f64 + 0.9);
    let (parameters, signature) = parts(&issue(&host, &compat_site(), &client("a"), None).unwrap());
    let names: Vec<&String> = parameters.as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        ["algorithm", "cost", "expiresAt", "keyLength", "keyPrefix", "nonce", "salt"],
        "no data, and nulls are left out"
    );
    assert_eq!(parameters["algorithm"], "SHA-256");
    assert_eq!(parameters["keyPrefix"], "00");
    assert_eq!(parameters["keyLength"], 32);
    assert_eq!(parameters["expiresAt"], NOW + 300);
    for text in [&parameters["nonce"], &parameters["salt"]] {
        assert_eq!(text.as_str().unwrap().len(), 32);
    }
    assert_eq!(signature.as_str().unwrap().len(), 64);
}

#[test]
fn compat_mode_overrides_what_it_fixes() {
    let host = NativeHost::new();
    let site = Site {
        algorithm: "ARGON2ID".to_owned(),
        deterministic: true,
        binding: Binding::Network,
        ..compat_site()
    };
    let (parameters, _) = parts(&issue(&host, &site, &Client::default(), None).unwrap());
    assert_eq!(parameters["algorithm"], "SHA-256");
    assert!(parameters.get("keySignature").is_none() && parameters.get("data").is_none());
}

#[test]
fn deterministic_challenge_publishes_half_the_key() {
    let host = NativeHost::new();
    let issued = issue(&host, &site(), &client("a"), Some("login")).unwrap();
    let (parameters, _) = parts(&issued);
    assert_eq!(parameters["algorithm"], "PBKDF2/SHA-256");
    assert_eq!(parameters["keyPrefix"].as_str().unwrap().len(), 32);
    assert_eq!(parameters["keySignature"].as_str().unwrap().len(), 64);
    assert_eq!(
        parameters["data"],
        json!({"site": "site-a", "keyId": "1", "action": "login"}),
        "the id is the signing key's, not the key-signing key's"
    );
    assert!(parameters.get("memoryCost").is_none() && parameters.get("parallelism").is_none());
}

#[test]
fn wrong_key_id_guess_is_corrected() {
    let host = NativeHost::new();
    for (id, key_id) in [("7", "7"), ("8", "other")] {
        host.set_key("site", id, "secret");
        host.set_key("key", key_id, "key secret");
        for deterministic in [true, false] {
            let site = Site { deterministic, ..site() };
            let (parameters, _) = parts(&issue(&host, &site, &client("a"), None).unwrap());
            assert_eq!(parameters["data"]["keyId"], id);
        }
    }
}

#[test]
fn memory_hard_algorithms_name_their_memory() {
    let host = NativeHost::new();
    for (algorithm, memory, default) in [("ARGON2ID", 64, 8192), ("SCRYPT", 2, 8)] {
        let site =
            Site { algorithm: algorithm.to_owned(), memory_cost: Some(memory), counter_max: 2, ..site() };
        let issued = issue(&host, &site, &client("a"), None).unwrap();
        let (parameters, _) = parts(&issued);
        assert_eq!((&parameters["memoryCost"], &parameters["parallelism"]), (&json!(memory), &json!(1)));
        assert_eq!(refusal(&host, &site, &client("a"), &solve(&host, &issued.challenge)), None);
        let site = Site { memory_cost: None, deterministic: false, ..site };
        let (parameters, _) = parts(&issue(&host, &site, &client("a"), None).unwrap());
        assert_eq!(parameters["memoryCost"], default);
    }
}

#[test]
fn scrypt_cost_is_a_power_of_two() {
    let host = NativeHost::new();
    let site = Site { algorithm: "SCRYPT".to_owned(), difficulty: ladder(&[(1, 1000)]), ..site() };
    assert_eq!(issue(&host, &site, &client("a"), None).unwrap().cost, 1024);
    let listed = Client { allow_listed: true, ..client("b") };
    assert_eq!(issue(&host, &site, &listed, None).unwrap().cost, 2);
}

/// Facts 14 and 15 of what captchaservice's own suite asserts.
#[test]
fn ladder_counts_the_visits_before_this_one() {
    let host = NativeHost::new();
    let site = Site { difficulty: ladder(&[(1, 1000), (3, 2000), (4, 3000)]), ..compat_site() };
    let expected = [1000, 1000, 2000, 3000, 3000, 3000, 3000, 3000, 3000];
    for (before, cost) in expected.into_iter().enumerate() {
        let issued = issue(&host, &site, &client("a"), None).unwrap();
        assert_eq!((issued.cost, issued.visits), (cost, before as u64 + 1));
        assert_eq!(parts(&issued).0["cost"], cost);
    }
    let listed = Client { allow_listed: true, ..client("a") };
    for visits in 10..15 {
        let issued = issue(&host, &site, &listed, None).unwrap();
        assert_eq!((issued.cost, issued.visits), (1, visits));
    }
}

#[test]
fn ladder_without_matching_step_errs() {
    let host = NativeHost::new();
    for steps in [&[][..], &[(3, 1000)][..]] {
        let site = Site { difficulty: ladder(steps), ..compat_site() };
        let error = issue(&host, &site, &client("a"), None).unwrap_err();
        assert!(matches!(error, Error::Internal(text) if text.contains("first visit")));
    }
}

#[test]
fn auto_reads_the_load() {
    let host = NativeHost::new();
    let auto = AutoPolicy { target_solve_ms: 500, min_cost: 100, max_cost: 10_000 };
    let difficulty = Difficulty { ladder: vec![], auto: Some(auto) };
    let site = Site { difficulty, deterministic: false, ..site() };
    let cost = |name| issue(&host, &site, &client(name), None).unwrap().cost;
    assert_eq!(cost("a"), 100);
    host.load.set(Load { failure_ratio: 1.0, issued_per_minute: 1e9, ..Load::default() });
    assert_eq!(cost("b"), 10_000);
}

#[test]
fn unsignable_action_is_refused_before_counting() {
    let host = NativeHost::new();
    let long = "x".repeat(101);
    for (site, action) in [(compat_site(), "login"), (site(), ""), (site(), long.as_str())] {
        let error = issue(&host, &site, &client("a"), Some(action)).unwrap_err();
        assert!(matches!(error, Error::Malformed(_)), "{error}");
    }
    let bound = Site { binding: Binding::Exact, ..site() };
    let error = issue(&host, &bound, &Client::default(), None).unwrap_err();
    assert!(matches!(error, Error::Internal(_)), "{error}");
    let unknown = Site { algorithm: "MD5".to_owned(), ..site() };
    let error = issue(&host, &unknown, &client("a"), None).unwrap_err();
    assert!(error.to_string().contains("MD5"), "{error}");
    assert!(host.visits.borrow().is_empty());
}

#[test]
fn busy_derivations_pass_through() {
    let host = NativeHost::new();
    host.busy.set(true);
    assert_eq!(issue(&host, &site(), &client("a"), None), Err(Error::Busy(7)));
}

#[test]
fn self_test_needs_key_and_sound_host() {
    let host = NativeHost::new();
    let problem = self_test(&host).unwrap_err();
    assert!(problem.contains(self_test::KEY), "{problem}");
    host.set_key(self_test::KEY, "1", "anything");
    assert_eq!(self_test(&host), Ok(()));
    host.busy.set(true);
    assert!(self_test(&host).unwrap_err().starts_with("pow: "));
    assert!(host.spent("0").is_ok());
}
