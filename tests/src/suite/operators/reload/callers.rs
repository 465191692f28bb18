//! Keys of callers count at once: one that is revoked is refused, and a new one accepted, without a restart.

use bulkhead_tests::models::ToyModel;

use super::*;

const FIRST: &str = "a-first-key-of-more-than-32-characters";
const SECOND: &str = "a-second-key-of-more-than-32-characters";

async fn start(config: &str) -> TestHost {
    TestHost::builder().config(config).config(&operator::tokens()).start().await
}

/// Whether each of the two keys, and no key, opens what a request asks for.
async fn opens(request: impl Fn() -> reqwest::RequestBuilder) -> [bool; 3] {
    let asked = [
        request().bearer_auth(FIRST).send().await,
        request().bearer_auth(SECOND).send().await,
        request().send().await,
    ];
    asked.map(|answer| answer.unwrap().status() != 401)
}

/// Replaces one text of the configuration by another and reloads; keys that count now, and those that wait.
async fn change(host: &TestHost, old: &str, new: &str) -> [Value; 2] {
    let before = rewrite(host, |text| text.replace(old, new));
    assert!(before.contains(old), "{before}");
    let (status, answer) = reload(&admin(host)).await;
    assert_eq!(status, 200, "{answer}");
    [answer["live"].clone(), answer["restart"].clone()]
}

#[tokio::test(flavor = "multi_thread")]
async fn captcha_keys_count_at_once() {
    let guarded = format!("[captcha]\nauth = \"api-key\"\napi_keys = [\"{FIRST}\"]\n");
    let services = "[services]\nembedding.enabled = false\nstatus.enabled = false\ntickets.enabled = false\n";
    let site = "[captcha.sites.shop]\nsecret = \"shop-secret\"\n";
    let host = start(&format!("{guarded}{site}{services}")).await;
    let body = json!({ "siteKey": "shop", "siteSecret": "shop-secret", "clientAddress": "192.0.2.7" });
    let challenge = || host.client().post(host.url("/api/v1/captcha/challenge")).json(&body);
    assert_eq!(opens(challenge).await, [true, false, false]);
    let both = change(&host, &format!("[\"{FIRST}\"]"), &format!("[\"{SECOND}\", \"{FIRST}\"]")).await;
    assert_eq!(both, [json!(["captcha.api_keys"]), json!([])]);
    assert_eq!(opens(challenge).await, [true, true, false]);
    change(&host, &format!(", \"{FIRST}\""), "").await;
    assert_eq!(opens(challenge).await, [false, true, false]);
    let (status, answer) = admin(&host).post_at("/v1/config/undo", &json!({})).await;
    assert_eq!((status, opens(challenge).await), (200, [true, true, false]), "{answer}");

    // Another way in waits for a restart, and the keys with it: nobody is let in or shut out by half of a change.
    let guarded = guarded.replace(FIRST, SECOND);
    let waits = change(&host, &guarded, "[captcha]\nauth = \"none\"\n").await;
    assert_eq!(waits, [json!([]), json!(["captcha.api_keys", "captcha.auth"])]);
    assert_eq!(opens(challenge).await, [true, true, false]);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn embedding_keys_count_at_once() {
    let models = TempDir::new().unwrap();
    let model = ToyModel::default().write(models.path(), "toy");
    let services = "[services]\nstatus.enabled = false\ntickets.enabled = false\ncaptcha.enabled = false\n";
    let embedding = format!("[embedding]\nmodels = [{model:?}]\napi_keys = [\"{FIRST}\"]\n");
    let host = start(&format!("{services}{embedding}")).await;
    let info = || host.client().get(host.url("/info"));
    assert_eq!(opens(info).await, [true, false, false]);
    assert_eq!(change(&host, FIRST, SECOND).await, [json!(["embedding.api_keys"]), json!([])]);
    assert_eq!(opens(info).await, [false, true, false]);
    change(&host, &format!("api_keys = [\"{SECOND}\"]\n"), "").await;
    assert_eq!(opens(info).await, [true; 3], "without a key everybody may call");
    change(&host, "[embedding]\n", &format!("[embedding]\napi_keys = [\"{FIRST}\"]\n")).await;
    assert_eq!(opens(info).await, [true, false, false]);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn embedding_shares_count_at_once() {
    let models = TempDir::new().unwrap();
    let model = ToyModel::default().write(models.path(), "toy");
    let services = "[services]\nstatus.enabled = false\ntickets.enabled = false\ncaptcha.enabled = false\n";
    let key = format!("[embedding.keys.shop]\nkey = \"{FIRST}\"\n");
    let host = start(&format!("{services}[embedding]\nmodels = [{model:?}]\n{key}")).await;
    let info = || host.client().get(host.url("/info"));
    assert_eq!(opens(info).await, [true, false, false]);
    let shares = "[embedding.shares]\nanonymous = 20\n";
    let opened = change(&host, &key, &format!("{key}{shares}")).await;
    assert_eq!(opened, [json!(["embedding.shares.anonymous"]), json!([])]);
    assert_eq!(opens(info).await, [true; 3], "a bearer that is not known is that of an anonymous caller");
    assert_eq!(change(&host, FIRST, SECOND).await, [json!(["embedding.keys.shop.key"]), json!([])]);
    assert_eq!(change(&host, shares, "").await, [json!(["embedding.shares.anonymous"]), json!([])]);
    assert_eq!(opens(info).await, [false, true, false]);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ticket_key_counts_at_once() {
    let key = tempfile::NamedTempFile::new().unwrap();
    fs::write(key.path(), FIRST).unwrap();
    let services = "[services]\nembedding.enabled = false\nstatus.enabled = false\ncaptcha.enabled = false\n";
    let tickets = format!("[tickets]\napi_key = \"file:{}\"\n", key.path().display());
    let host = start(&format!("{services}{tickets}")).await;
    let triage = || host.client().post(host.url("/api/v1/triage")).json(&json!({ "text": "ahoy" }));
    assert_eq!(opens(triage).await, [true, false, false]);
    // The configuration's text is the same: what the file holds counts.
    fs::write(key.path(), SECOND).unwrap();
    assert_eq!(change(&host, "", "").await, [json!(["tickets.api_key"]), json!([])]);
    assert_eq!(opens(triage).await, [false, true, false]);
    host.stop().await;
}
