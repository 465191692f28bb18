//! How often, where and for whom a challenge is good: verifications, failures, sites, clients.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{CLIENT, Service, altcha, envelope, refused, valid, with_payload};

const CONFIG: &str = r#"
    [captcha]
    hmac_key = "secret"
    [captcha.sites.compat]
    secret = "compat_secret"
    compat = true
    max_verifies_per_payload = 3
    max_failures_per_challenge = 3
    difficulty_map = [{ min_visits = 1, cost = 1 }]
    [captcha.sites.other]
    secret = "other_secret"
    compat = true
    difficulty_map = [{ min_visits = 1, cost = 1 }]
    [captcha.sites.own]
    secret = "own_secret"
    max_verifies_per_payload = 3
    max_failures_per_challenge = 3
    difficulty_map = [{ min_visits = 1, cost = 10 }]
    [captcha.sites.network]
    secret = "network_secret"
    binding = "network"
    source_address_ipv4_net_size = 24
    source_address_ipv6_net_size = 64
    difficulty_map = [{ min_visits = 1, cost = 10 }]
    [captcha.sites.exact]
    secret = "exact_secret"
    binding = "exact"
    source_address_ipv4_net_size = 24
    difficulty_map = [{ min_visits = 1, cost = 10 }]
"#;

impl Service {
    async fn verify_from(&self, site: &str, address: &str, payload: &Value) -> Value {
        self.post("/verify", &with_payload(envelope(site, address), payload)).await.1
    }

    async fn invalidate(&self, site: &str, payload: &Value) -> Value {
        let (status, body) = self.post("/invalidate", &with_payload(envelope(site, CLIENT), payload)).await;
        assert_eq!(status, 200, "{body}");
        body["invalidated"].clone()
    }
}

/// A solution that does not hold: the published prefix, and nothing behind it.
fn guess(challenge: &Value) -> Value {
    let prefix = challenge["parameters"]["keyPrefix"].as_str().unwrap();
    let key = format!("{prefix}{}", "5a".repeat(32 - prefix.len() / 2));
    json!({ "challenge": challenge, "solution": { "counter": 1, "derivedKey": key } })
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_submissions_are_accepted_as_configured() {
    let service = Arc::new(Service::start(CONFIG).await);
    for site in ["compat", "own"] {
        let payload = Arc::new(service.solved(site, CLIENT).await);
        let calls: Vec<_> = (0..24)
            .map(|_| {
                let (service, payload) = (Arc::clone(&service), Arc::clone(&payload));
                tokio::spawn(async move { service.verify(site, &payload).await })
            })
            .collect();
        let mut accepted = 0;
        for call in calls {
            let answer = call.await.unwrap();
            assert!(answer == valid() || answer == refused("replayed"), "{answer}");
            accepted += u32::from(answer == valid());
        }
        assert_eq!(accepted, 3, "{site}");
    }
    Arc::into_inner(service).unwrap().stop().await;
}

#[tokio::test]
async fn wrong_solutions_use_a_challenge_up() {
    let service = Service::start(CONFIG).await;
    for site in ["compat", "own"] {
        let challenge = service.challenge(site, CLIENT).await;
        for _ in 0..3 {
            assert_eq!(service.verify(site, &guess(&challenge)).await, refused("wrong_solution"), "{site}");
        }
        let solved = altcha::solve(&challenge);
        assert_eq!(service.verify(site, &solved).await, refused("too_many_failures"), "{site}: too late");
        let fresh = service.solved(site, CLIENT).await;
        assert_eq!(service.verify(site, &fresh).await, valid(), "{site}: another challenge");
    }
    service.stop().await;
}

#[tokio::test]
async fn fewer_failures_than_the_limit_are_forgiven() {
    let service = Service::start(CONFIG).await;
    let challenge = service.challenge("own", CLIENT).await;
    for _ in 0..2 {
        assert_eq!(service.verify("own", &guess(&challenge)).await, refused("wrong_solution"));
    }
    assert_eq!(service.verify("own", &altcha::solve(&challenge)).await, valid());
    service.stop().await;
}

#[tokio::test]
async fn a_challenge_is_its_site_s() {
    let service = Service::start(CONFIG).await;
    let payload = service.solved("own", CLIENT).await;
    for site in ["network", "exact", "compat"] {
        let answer = service.verify(site, &payload).await;
        assert_eq!(answer["valid"], false, "{site}: {answer}");
        assert_eq!(service.invalidate(site, &payload).await, false, "{site}");
    }
    let compat = service.solved("compat", CLIENT).await;
    assert_eq!(service.verify("own", &compat).await["valid"], false);
    assert_eq!(service.verify("own", &payload).await, valid(), "nothing was spent");

    // Compatible sites share the raw key, as in the original, and the record of what is spent.
    let shared = service.solved("other", CLIENT).await;
    assert_eq!(service.verify("compat", &shared).await, valid());
    assert_eq!(service.verify("other", &shared).await, refused("replayed"));
    service.stop().await;
}

#[tokio::test]
async fn a_challenge_may_be_its_client_s() {
    let service = Service::start(CONFIG).await;
    for (site, from, to, accepted) in [
        ("own", "192.0.2.1", "198.51.100.1", true),
        ("network", "192.0.2.1", "192.0.2.200", true),
        ("network", "192.0.2.1", "::ffff:192.0.2.200", true),
        ("network", "192.0.2.1", "192.0.3.1", false),
        ("network", "2001:db8::1", "2001:db8::ffff:1", true),
        ("network", "2001:db8::1", "2001:db8:0:1::1", false),
        ("network", "192.0.2.1", "2001:db8::1", false),
        ("exact", "192.0.2.1", "192.0.2.1", true),
        ("exact", "192.0.2.1", "::ffff:192.0.2.1", true),
        ("exact", "192.0.2.1", "192.0.2.2", false),
    ] {
        let payload = service.solved(site, from).await;
        let text = payload.to_string();
        assert!(!text.contains(from), "{text}");
        let answer = service.verify_from(site, to, &payload).await;
        let expected = if accepted { valid() } else { refused("wrong_client") };
        assert_eq!(answer, expected, "{site} from {from} to {to}");
        if !accepted {
            assert_eq!(service.verify_from(site, from, &payload).await, valid(), "nothing was spent");
        }
    }
    service.stop().await;
}

#[tokio::test]
async fn invalidating_spends_what_is_left() {
    let service = Service::start(CONFIG).await;
    for site in ["compat", "own"] {
        let payload = service.solved(site, CLIENT).await;
        assert_eq!(service.verify(site, &payload).await, valid());
        assert_eq!(service.invalidate(site, &payload).await, true, "two of three are left");
        assert_eq!(service.verify(site, &payload).await, refused("replayed"));
        assert_eq!(service.invalidate(site, &payload).await, false, "nothing is left");

        let unsolved = guess(&service.challenge(site, CLIENT).await);
        assert_eq!(service.invalidate(site, &unsolved).await, true, "the solution is not looked at");

        let mut forged = service.solved(site, CLIENT).await;
        forged["challenge"]["parameters"]["cost"] = json!(2);
        assert_eq!(service.invalidate(site, &forged).await, false, "not ours");
    }
    let mut stranger = with_payload(envelope("own", CLIENT), &service.solved("own", CLIENT).await);
    stranger["siteSecret"] = json!("compat_secret");
    assert_eq!(service.post("/invalidate", &stranger).await.0, 401);
    service.stop().await;
}

#[tokio::test]
async fn most_configurable_verifications_are_granted() {
    let many = CONFIG.replace("max_verifies_per_payload = 3", "max_verifies_per_payload = 10000");
    let service = Service::start(&many).await;
    let payload = service.solved("own", CLIENT).await;
    assert_eq!(service.verify("own", &payload).await, valid());
    assert_eq!(service.invalidate("own", &payload).await, true);
    assert_eq!(service.verify("own", &payload).await, refused("replayed"));
    service.stop().await;
    let more =
        super::refusal(&CONFIG.replace("max_verifies_per_payload = 3", "max_verifies_per_payload = 10001"))
            .await;
    assert!(more.contains("max_verifies_per_payload"), "{more}");
}
