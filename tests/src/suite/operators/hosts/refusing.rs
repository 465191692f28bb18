//! A version that may answer on one host and not on another.

use std::time::{SystemTime, UNIX_EPOCH};

use bulkhead_tests::signer::Signer;
use tempfile::TempDir;

use super::*;

/// A host that takes what `signer` has signed, and nothing else.
async fn strict(url: &str, signer: &Signer) -> TestHost {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("guest-captcha.wasm.minisig"), signer.sign(&component('A'), 1))
        .unwrap();
    let host = hosting(url)
        .folder(folder)
        .env("BULKHEAD_SLOTS__CAPTCHA__SIGNATURES__POLICY", "required")
        .env("BULKHEAD_SLOTS__CAPTCHA__SIGNATURES__KEYS", &signer.key());
    host.start().await
}

pub(super) async fn behind(host: &TestHost, said: &str) {
    eventually(&format!("the host says {said}"), async || {
        let shared = operator(host).slot().await["shared"].clone();
        shared["behind"].as_str().is_some_and(|reason| reason.contains(said))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusing_host_keeps_its_version() {
    let (postgres, signer) = (Postgres::start(), Signer::new());
    let (lax, strict) = (hosting(&postgres.url()).start().await, strict(&postgres.url(), &signer).await);
    converge(&[&lax, &strict], 'A').await;
    let b = operator(&lax).push(component('B')).await;
    operator(&lax).swap(&b).await;
    behind(&strict, "it is not signed").await;
    assert_eq!((letter(&lax, 1).await, letter(&strict, 1).await), ('B', 'A'));
    let shared = operator(&strict).slot().await["shared"].clone();
    assert_eq!((&shared["desired"], &shared["applied"]), (&json!(1), &json!(0)), "{shared}");
    let (status, body) = ready(&strict).await;
    assert_eq!(
        (status, &body["degraded"][0]["check"]),
        (200, &json!("slot captcha")),
        "it serves on: {body}"
    );
    assert!(
        strict.metric("bulkhead_shared_state_follows_total{result=\"refused\",slot=\"captcha\"}").await > 0.0
    );

    // A change may be made on the host that does not follow, too: it is one for all.
    let signed = |letter| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        signer.sign(&component(letter), now)
    };
    let (status, version) = operator(&strict).try_push_signed(component('C'), &signed('C')).await;
    assert_eq!(status, 201, "{version}");
    operator(&strict).swap(version["id"].as_str().unwrap()).await;
    converge(&[&lax, &strict], 'C').await;

    // Its signature travels with a component, though the host that takes it does not look at it.
    let (status, version) = operator(&lax).try_push_signed(component('D'), &signed('D')).await;
    assert_eq!(status, 201, "{version}");
    operator(&lax).swap(version["id"].as_str().unwrap()).await;
    converge(&[&lax, &strict], 'D').await;
    // Either host takes back what only one may run.
    for (host, letter) in [(&lax, 'E'), (&strict, 'F')] {
        let version = operator(&lax).push(component(letter)).await;
        operator(&lax).swap(&version).await;
        behind(&strict, "it is not signed").await;
        operator(host).change("rollback", json!({})).await;
        converge(&[&lax, &strict], 'D').await;
    }
    for host in [lax, strict] {
        host.stop().await;
    }
}

/// A client that can write into the database cannot have other bytes run under a version's name.
#[tokio::test(flavor = "multi_thread")]
async fn changed_bytes_of_database_are_refused() {
    let postgres = Postgres::start();
    let first = hosting(&postgres.url()).start().await;
    let b = operator(&first).push(component('B')).await;
    operator(&first).swap(&b).await;
    let hex = hex::encode(component('C'));
    postgres.sql(&format!("UPDATE bulkhead_component SET wasm = decode('{hex}', 'hex')"));
    let second = hosting(&postgres.url()).start().await;
    behind(&second, "do not match its digest").await;
    assert_eq!((letter(&first, 1).await, letter(&second, 1).await), ('B', 'A'));
    for host in [first, second] {
        host.stop().await;
    }
}

/// Has all hosts answer with `version`, whose record claims that `signer` signed it.
fn forge(postgres: &Postgres, version: &str, signer: &str) {
    let text = postgres.sql("SELECT book FROM bulkhead_slot WHERE slot = 'captcha'");
    let mut book: Value = serde_json::from_str(&text).unwrap();
    book["active"] = json!(version);
    book["generation"] = json!(book["generation"].as_u64().unwrap() + 1);
    let record = book["versions"].as_array_mut().unwrap().iter_mut().find(|known| known["id"] == version);
    record.unwrap()["signed_by"] = json!(signer);
    postgres.sql(&format!(
        "UPDATE bulkhead_slot SET stamp = md5(stamp), generation = generation + 1, book = $book${book}$book$::json
            WHERE slot = 'captcha'"
    ));
}

/// A client that can write into the database cannot have a component answer by saying that it is signed.
#[tokio::test(flavor = "multi_thread")]
async fn unproven_signature_of_database_is_refused() {
    let (postgres, signer) = (Postgres::start(), Signer::new());
    let (lax, two) = (hosting(&postgres.url()).start().await, hosting(&postgres.url()).start().await);
    let b = operator(&lax).push(component('B')).await;
    operator(&lax).swap(&b).await;
    converge(&[&lax, &two], 'B').await;
    let c = operator(&lax).try_push_signed(component('C'), &signer.sign(&component('C'), 1)).await.1;
    operator(&lax).swap(c["id"].as_str().unwrap()).await;
    converge(&[&lax, &two], 'C').await;
    // It has the unsigned component in its folder, from when it took unsigned ones.
    let strict = hosting(&postgres.url())
        .folder(two.stop().await)
        .env("BULKHEAD_SLOTS__CAPTCHA__SIGNATURES__POLICY", "required")
        .env("BULKHEAD_SLOTS__CAPTCHA__SIGNATURES__KEYS", &signer.key())
        .start()
        .await;
    converge(&[&lax, &strict], 'C').await;
    for claim in [signer.key().as_str(), "built in"] {
        forge(&postgres, &b, claim);
        behind(&strict, "not signed").await;
        assert_eq!(letter(&strict, 1).await, 'C', "{claim}");
    }
    for host in [lax, strict] {
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn built_in_component_is_gone_back_to() {
    let (postgres, signer) = (Postgres::start(), Signer::new());
    let host = TestHost::builder()
        .config(&operator::tokens())
        .config(SITE)
        .env("CAPTCHA_HMAC_KEY", bulkhead_tests::host::HMAC_KEY)
        .env("BULKHEAD_CAPTCHA__DATABASE", &postgres.url())
        .env("BULKHEAD_SLOTS__CAPTCHA__SIGNATURES__POLICY", "required")
        .env("BULKHEAD_SLOTS__CAPTCHA__SIGNATURES__KEYS", &signer.key())
        .env("BULKHEAD_SLOTS__CAPTCHA__ROLLOUT__WATCH_SECONDS", "0")
        .start()
        .await;
    let built_in = operator(&host).slot().await["active"]["id"].clone();
    let b = operator(&host).try_push_signed(component('B'), &signer.sign(&component('B'), 1)).await.1;
    operator(&host).swap(b["id"].as_str().unwrap()).await;
    let slot = operator(&host).change("rollback", json!({})).await;
    assert_eq!((&slot["active"]["id"], &slot["active"]["signed_by"]), (&built_in, &json!("built in")));
    host.stop().await;
}
