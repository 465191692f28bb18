//! Site secrets and master keys change while challenges are out.

use serde_json::{Value, json};

use super::{CLIENT, Service, altcha, envelope, refused, valid, with_payload};

const OLD: &str = "the master key of last year, which is long enough";
const NEW: &str = "the master key of this year, which is long enough";

/// A site of each mode under these master keys, the current one first.
fn config(keys: &[&str]) -> String {
    let (current, previous) = keys.split_first().unwrap();
    format!(
        r#"
        [captcha]
        hmac_key = "{current}"
        previous_hmac_keys = {previous:?}
        [captcha.sites.compat]
        secret = "compat_secret"
        compat = true
        difficulty_map = [{{ min_visits = 1, cost = 1 }}]
        [captcha.sites.own]
        secret = "own_secret"
        difficulty_map = [{{ min_visits = 1, cost = 10 }}]
        [captcha.sites.bound]
        secret = "bound_secret"
        binding = "exact"
        difficulty_map = [{{ min_visits = 1, cost = 10 }}, {{ min_visits = 2, cost = 20 }}]
        "#
    )
}

const SITES: [&str; 3] = ["compat", "own", "bound"];

fn key_id(payload: &Value) -> &Value {
    &payload["challenge"]["parameters"]["data"]["keyId"]
}

#[tokio::test]
async fn challenges_hold_while_their_key_is_listed() {
    let before = Service::start(&config(&[OLD])).await;
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for site in SITES {
        first.push(before.solved(site, CLIENT).await);
        second.push(before.solved(site, CLIENT).await);
    }
    let folder = before.stop().await;

    let during = Service::resume(&config(&[NEW, OLD]), folder).await;
    for (site, payload) in SITES.iter().zip(&first) {
        assert_eq!(during.verify(site, payload).await, valid(), "{site}");
        assert_eq!(during.verify(site, payload).await, refused("replayed"), "{site}");
        let fresh = during.solved(site, CLIENT).await;
        if *site != "compat" {
            assert!(key_id(payload).is_string() && key_id(&fresh) != key_id(payload), "{fresh}");
        }
        assert_eq!(during.verify(site, &fresh).await, valid(), "{site}");
    }
    let folder = during.stop().await;

    let after = Service::resume(&config(&[NEW]), folder).await;
    for (site, payload) in SITES.iter().zip(&second) {
        assert_eq!(after.verify(site, payload).await, refused("bad_signature"), "{site}");
    }
    after.stop().await;
}

#[tokio::test]
async fn visits_count_across_a_rotation() {
    let before = Service::start(&config(&[OLD])).await;
    assert_eq!(before.cost("bound", CLIENT).await, 10);
    let during = Service::resume(&config(&[NEW, OLD]), before.stop().await).await;
    assert_eq!(during.cost("bound", CLIENT).await, 20, "the visit under the old key counts");
    assert_eq!(during.cost("bound", "1.2.3.5").await, 10, "another client's do not");
    during.stop().await;
}

#[tokio::test]
async fn keys_belong_to_one_site_each() {
    let service = Service::start(&config(&[NEW])).await;
    let (own, bound) = (service.solved("own", CLIENT).await, service.solved("bound", CLIENT).await);
    for payload in [&own, &bound] {
        let id = key_id(payload).as_str().unwrap();
        assert!(id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        let parameters = &payload["challenge"]["parameters"];
        assert_ne!(payload["challenge"]["signature"], altcha::sign(NEW, parameters), "no raw key");
    }
    assert_ne!(key_id(&own), key_id(&bound));
    // The id of another key, or of none, under a good signature of this one, is a change like any other.
    let mut changed = own.clone();
    changed["challenge"]["parameters"]["data"]["keyId"] = key_id(&bound).clone();
    assert_eq!(service.verify("own", &changed).await, refused("bad_signature"));
    service.stop().await;
}

#[tokio::test]
async fn two_secrets_hold_during_a_change() {
    let with = |secrets: &[&str]| {
        format!(
            "[captcha]\nhmac_key = \"{NEW}\"\n[captcha.sites.own]\nsecret = {secrets:?}\n\
             difficulty_map = [{{ min_visits = 1, cost = 10 }}]\n"
        )
    };
    let call = |secret: &str, payload: &Value| {
        let mut body = with_payload(envelope("own", CLIENT), payload);
        body["siteSecret"] = json!(secret);
        body
    };
    let service = Service::start(&with(&["own_secret", "next_secret"])).await;
    let payload = service.solved("own", CLIENT).await;
    assert_eq!(service.post("/verify", &call("next_secret", &payload)).await, (200, valid()));
    let later = service.solved("own", CLIENT).await;
    let service = Service::resume(&with(&["next_secret"]), service.stop().await).await;
    assert_eq!(service.post("/verify", &call("own_secret", &later)).await.0, 401);
    assert_eq!(service.post("/verify", &call("next_secret", &later)).await, (200, valid()));
    service.stop().await;
    let reason = super::refusal(&with(&["a", "b", "c"])).await;
    assert!(reason.contains("must be one secret or two"), "{reason}");
}

#[tokio::test]
async fn a_generated_key_survives_a_restart() {
    let config = "[captcha.sites.own]\nsecret = \"own_secret\"\n";
    let service = Service::start(config).await;
    let payload = service.solved("own", CLIENT).await;
    let spent = service.solved("own", CLIENT).await;
    assert_eq!(service.verify("own", &spent).await, valid());
    let service = Service::resume(config, service.stop().await).await;
    assert_eq!(service.verify("own", &payload).await, valid());
    assert_eq!(service.verify("own", &spent).await, refused("replayed"));
    service.stop().await;
}
