//! A signature that somebody has kept is of no use once a newer one has been taken.

use std::time::{SystemTime, UNIX_EPOCH};

use bulkhead_tests::signer::Signer;

use super::super::*;

/// Unsigned components answer too, so that the configuration's own needs no signature.
fn hosting(signer: &Signer) -> Builder {
    hosting_a()
        .env("BULKHEAD_SLOTS__CAPTCHA__SIGNATURES__POLICY", "optional")
        .env("BULKHEAD_SLOTS__CAPTCHA__SIGNATURES__KEYS", &signer.key())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn component(letter: char) -> Vec<u8> {
    answering(letter, "").component()
}

/// Pushes with a signature; the version's id.
async fn push(operator: &Operator, letter: char, signature: &str) -> String {
    let (status, version) = operator.try_push_signed(component(letter), signature).await;
    assert_eq!(status, 201, "{version}");
    version["id"].as_str().unwrap().to_owned()
}

async fn refused(operator: &Operator, wasm: Vec<u8>, signature: &str, said: &str) {
    let (status, error) = operator.try_push_signed(wasm, signature).await;
    assert_eq!((status, error["error"].as_str()), (422, Some("refused")), "{error}");
    assert!(error["message"].as_str().unwrap().contains(said), "{error}");
}

const OLD: &str = "an old signature in a new push is refused";

#[tokio::test(flavor = "multi_thread")]
async fn old_signature_is_not_accepted_again() {
    let (signer, now) = (Signer::new(), now());
    let sign = |letter, ago| signer.sign(&component(letter), now - ago);
    let host = hosting(&signer).start().await;
    let operator = operator(&host);
    let old = push(&operator, 'B', &sign('B', 100)).await;
    let new = push(&operator, 'C', &sign('C', 50)).await;
    let (_, history) = operator.get("/v1/slots/captcha/history").await;
    let versions = history["versions"].as_array().unwrap();
    let record = versions.iter().find(|version| version["id"] == new.as_str()).unwrap();
    assert_eq!((&record["signed_by"], &record["signed_at"]), (&json!(signer.key()), &json!(now - 50)));
    refused(&operator, component('B'), &sign('B', 100), OLD).await;
    refused(&operator, component('D'), &sign('D', 51), OLD).await;
    push(&operator, 'C', &sign('C', 50)).await;
    // What the slot remembers comes back by its name.
    operator.swap(&new).await;
    assert_eq!(letter(&host, 1).await, 'C');
    operator.change("rollback", json!({})).await;
    assert_eq!(letter(&host, 1).await, 'A');
    // The refused push has not taken it from those.
    operator.swap(&old).await;
    assert_eq!(letter(&host, 1).await, 'B');
    operator.change("rollback", json!({})).await;
    push(&operator, 'B', &sign('B', 40)).await;

    let host = hosting(&signer).folder(host.stop().await).start().await;
    let operator = self::operator(&host);
    refused(&operator, component('D'), &sign('D', 41), OLD).await;
    push(&operator, 'D', &sign('D', 40)).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_taken_makes_nothing_old() {
    let (signer, now) = (Signer::new(), now());
    let host = hosting(&signer).start().await;
    let operator = operator(&host);
    let garbage = b"garbage".to_vec();
    refused(&operator, garbage.clone(), &signer.sign(&garbage, now), "not a WebAssembly component").await;
    let other = Signer::new().sign(&component('B'), now);
    refused(&operator, component('B'), &other, "not that of these bytes").await;
    push(&operator, 'B', &signer.sign(&component('B'), now - 100)).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn undated_or_future_signature_is_refused() {
    let (signer, now) = (Signer::new(), now());
    let host = hosting(&signer).start().await;
    let operator = operator(&host);
    let wasm = component('B');
    refused(&operator, wasm.clone(), &signer.sign_with(&wasm, "our release"), "is not dated").await;
    let ahead = signer.sign(&wasm, now + 7 * 24 * 3600);
    refused(&operator, wasm.clone(), &ahead, "dated in the future").await;
    let forged =
        signer.sign(&wasm, now - 9).replace(&format!("timestamp:{}", now - 9), &format!("timestamp:{now}"));
    refused(&operator, wasm, &forged, "not that of these bytes").await;
    host.stop().await;
}
