//! The captcha service's sites and the status service's tokens count at once.

use std::{collections::BTreeMap, sync::Arc};

use bulkhead::{
    keys::MasterKey,
    services::{
        captcha::{CaptchaService, config::Captcha as Settings},
        list::{self, CAPTCHA},
    },
    storage::{Backend, Ledger, LedgerOptions},
};
use bulkhead_tests::{host::HMAC_KEY, parts::Parts};

use super::*;
use crate::captcha_http::solver;

/// A site whose challenges are solved at once.
fn site(key: &str, secret: &str, more: &str) -> String {
    format!(
        "[captcha.sites.{key}]\nsecret = {secret}\nalgorithm = \"SHA-256\"\n\
         difficulty_map = [{{ min_visits = 1, cost = 1 }}]\n{more}\n"
    )
}

struct Captcha {
    host: TestHost,
    admin: Operator,
}

impl Captcha {
    async fn start(sites: &str) -> Self {
        let services = "[services]\nembedding.enabled = false\ntickets.enabled = false\n";
        let host = TestHost::builder().config(sites).config(services).config(&operator::tokens());
        let host = host.env("CAPTCHA_HMAC_KEY", HMAC_KEY).start().await;
        Self { admin: admin(&host), host }
    }

    /// Replaces one text of the configuration by another and reloads; keys that count now.
    async fn change(&self, old: &str, new: &str) -> Value {
        let before = rewrite(&self.host, |text| text.replace(old, new));
        assert!(before.contains(old), "{before}");
        let (status, answer) = reload(&self.admin).await;
        assert_eq!((status, &answer["restart"]), (200, &json!([])), "{answer}");
        answer["live"].clone()
    }

    async fn post(&self, path: &str, site: &str, secret: &str, payload: Option<&Value>) -> (u16, Value) {
        let mut body = json!({ "siteKey": site, "siteSecret": secret, "clientAddress": "192.0.2.7" });
        if let Some(payload) = payload {
            body["payload"] = payload.clone();
        }
        let url = self.host.url(&format!("/api/v1/captcha/{path}"));
        let answer = self.host.client().post(url).json(&body).send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    /// Status of a challenge.
    async fn challenge(&self, site: &str, secret: &str) -> u16 {
        self.post("challenge", site, secret, None).await.0
    }

    /// Status of a widget's challenge, and whether the page may read it.
    async fn widget(&self, site: &str, origin: &str) -> (u16, bool) {
        let url = self.host.url(&format!("/api/v1/captcha/widget/challenge?siteKey={site}"));
        let answer = self.host.client().get(url).header("origin", origin).send().await.unwrap();
        (answer.status().as_u16(), answer.headers().contains_key("access-control-allow-origin"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reloaded_sites_accept_and_refuse() {
    let (old, new) = (site("old", "\"old-secret\"", ""), site("new", "\"new-secret\"", ""));
    let captcha = Captcha::start(&old).await;
    let both =
        async || (captcha.challenge("old", "old-secret").await, captcha.challenge("new", "new-secret").await);
    assert_eq!(both().await, (200, 401));
    let live = captcha.change(&old, &new).await;
    assert!(live.as_array().unwrap().contains(&json!("captcha.sites.new.secret")), "{live}");
    assert_eq!(both().await, (401, 200));
    let (status, answer) = captcha.admin.post_at("/v1/config/undo", &json!({})).await;
    assert_eq!((status, both().await), (200, (200, 401)), "{answer}");

    // A site that nobody had before signs with keys of its own.
    captcha.change(&new, &format!("{new}{old}")).await;
    let (_, issued) = captcha.post("challenge", "new", "new-secret", None).await;
    let payload = solver::solve(&issued["challenge"]);
    assert_eq!(captcha.post("verify", "old", "old-secret", Some(&payload)).await.1["valid"], false);
    assert_eq!(captcha.post("verify", "new", "new-secret", Some(&payload)).await.1, json!({ "valid": true }));
    captcha.host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_secret_counts_at_once() {
    let captcha = Captcha::start(&site("shop", "\"first\"", "")).await;
    let both = async || (captcha.challenge("shop", "first").await, captcha.challenge("shop", "second").await);
    assert_eq!(both().await, (200, 401));
    let (_, issued) = captcha.post("challenge", "shop", "first", None).await;
    let payload = solver::solve(&issued["challenge"]);
    assert_eq!(
        captcha.change("\"first\"", "[\"second\", \"first\"]").await,
        json!(["captcha.sites.shop.secret"])
    );
    assert_eq!(both().await, (200, 200));
    captcha.change("[\"second\", \"first\"]", "\"second\"").await;
    assert_eq!(both().await, (401, 200));
    let verdict = captcha.post("verify", "shop", "second", Some(&payload)).await;
    assert_eq!(verdict, (200, json!({ "valid": true })), "a challenge outlives the secret that asked for it");
    captcha.host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ladder_counts_from_the_next_challenge() {
    let captcha = Captcha::start(&site("shop", "\"secret\"", "")).await;
    let cost = async || {
        let (_, issued) = captcha.post("challenge", "shop", "secret", None).await;
        issued["challenge"]["parameters"]["cost"].clone()
    };
    assert_eq!(cost().await, 1);
    assert_eq!(captcha.change("cost = 1 ", "cost = 3 ").await, json!(["captcha.sites.shop.difficulty_map"]));
    assert_eq!(cost().await, 3);
    captcha.host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn origins_count_from_the_next_call() {
    const PAGE: &str = "https://www.example.org";
    let captcha = Captcha::start(&site("shop", "\"secret\"", "allowed_origins = []")).await;
    assert_eq!(captcha.widget("shop", PAGE).await, (403, false));
    let allowed = format!("allowed_origins = [\"{PAGE}\"]");
    assert_eq!(
        captcha.change("allowed_origins = []", &allowed).await,
        json!(["captcha.sites.shop.allowed_origins"])
    );
    assert_eq!(captcha.widget("shop", PAGE).await, (200, true));
    captcha.change(&allowed, "allowed_origins = []").await;
    assert_eq!(captcha.widget("shop", PAGE).await, (403, false));
    captcha.host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn status_tokens_count_at_once() {
    let captcha = Captcha::start("[status]\ntokens = [\"first\"]\n").await;
    let lets_in = async |token: &str| {
        let url = captcha.host.url("/terminvereinbarung/api/2/status/");
        let answer = captcha.host.client().get(url).header("x-token", token).send().await.unwrap();
        answer.status() != 401
    };
    assert_eq!((lets_in("first").await, lets_in("second").await), (true, false));
    assert_eq!(captcha.change("[\"first\"]", "[\"second\"]").await, json!(["status.tokens"]));
    assert_eq!((lets_in("first").await, lets_in("second").await), (false, true));
    captcha.host.stop().await;
}

/// What a demonstration adds is not written in its configuration.
#[tokio::test(flavor = "multi_thread")]
async fn a_demonstration_keeps_its_site() {
    let captcha = Captcha::start("demo = true\n").await;
    assert_eq!(captcha.challenge("demo", "demo").await, 200);
    captcha.change("demo = true\n", "demo = true\n[log]\nlevel = \"info\"\n").await;
    assert_eq!(captcha.challenge("demo", "demo").await, 200);
    captcha.host.stop().await;
}

/// A request takes its site once.
#[tokio::test(flavor = "multi_thread")]
async fn request_keeps_its_site_during_reload() {
    let parts = Parts::new(&site("shop", "\"secret\"", ""));
    let settings: &Settings = parts.config.table().unwrap();
    let options = LedgerOptions::new(settings.source_address_window, 1);
    let ledger = Ledger::open(Backend::Memory, options).await.unwrap();
    let (slot, masters) = (parts.slot(CAPTCHA), [MasterKey::new(HMAC_KEY)]);
    let (resources, metrics) = (parts.resources(CAPTCHA), parts.metrics.set().unwrap());
    let context = parts.context.clone();
    let service = CaptchaService::new(settings, slot, context, resources, &masters, ledger, metrics);
    let wasm = list::component(CAPTCHA).unwrap();
    let version = service.slot().prepare(wasm.into(), "embedded").await.unwrap();
    service.slot().activate(version);

    let site = service.authenticate("shop", "secret").unwrap();
    service.replace_sites(&BTreeMap::new());
    assert!(service.authenticate("shop", "secret").is_none());
    let address = [192, 0, 2, 7].into();
    let issued = service.issue(&site, address, None).await.unwrap();
    let challenge: Value = serde_json::from_str(issued.challenge.get()).unwrap();
    let payload = solver::solve(&challenge).to_string();
    let judged = service.verify(&site, address, &payload, None).await.unwrap();
    assert_eq!(judged.rejected, None);
    assert_eq!(Arc::strong_count(&site), 1, "nobody else has it");
}
