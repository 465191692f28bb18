//! A version that may answer on one host and not on another.

use std::time::{SystemTime, UNIX_EPOCH};

use bulkhead_tests::signer::Signer;
use tempfile::TempDir;

use super::*;

/// A host that takes what `signer` has signed, and nothing else.
async fn strict(url: &str, signer: &Signer) -> TestHost {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("guest.wasm.minisig"), signer.sign(&component('A'), 1)).unwrap();
    let host = hosting(url)
        .folder(folder)
        .env("BULKHEAD_SLOTS__CAPTCHA__SIGNATURES__POLICY", "required")
        .env("BULKHEAD_SLOTS__CAPTCHA__SIGNATURES__KEYS", &signer.key());
    host.start().await
}

async fn behind(host: &TestHost, said: &str) {
    eventually(&format!("the host says {said}"), async || {
        let shared = operator(host).slot().await["shared"].clone();
        shared["behind"].as_str().is_some_and(|reason| reason.contains(said))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_may_not_follow_keeps_its_own_and_says_why() {
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

/// Whoever can write into the database cannot have other bytes run under a version's name.
#[tokio::test(flavor = "multi_thread")]
async fn other_bytes_in_the_database_are_not_taken() {
    let postgres = Postgres::start();
    let first = hosting(&postgres.url()).start().await;
    let b = operator(&first).push(component('B')).await;
    operator(&first).swap(&b).await;
    let hex = hex::encode(component('C'));
    postgres.sql(&format!("UPDATE bulkhead_component SET wasm = decode('{hex}', 'hex')"));
    let second = hosting(&postgres.url()).start().await;
    behind(&second, "not those of its digest").await;
    assert_eq!((letter(&first, 1).await, letter(&second, 1).await), ('B', 'A'));
    for host in [first, second] {
        host.stop().await;
    }
}
