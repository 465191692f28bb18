//! The component that is built in, and the bytes of versions.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bulkhead_tests::signer::Signer;
use sha2::{Digest as _, Sha256};

use super::super::*;

/// A host on its built-in component that remembers one other.
fn hosting_built_in() -> Builder {
    TestHost::builder()
        .config(&operator::tokens())
        .config(SITE)
        .config("[slots.captcha.rollout]\nhistory = 1\n")
        .env("CAPTCHA_HMAC_KEY", bulkhead_tests::host::HMAC_KEY)
}

#[tokio::test(flavor = "multi_thread")]
async fn built_in_component_returns_without_history() {
    let host = hosting_built_in().start().await;
    let operator = operator(&host);
    let first = operator.slot().await["active"].clone();
    assert_eq!(first["source"], "embedded");
    for letter in ['B', 'C', 'D'] {
        let version = operator.push(answering(letter, "").component()).await;
        operator.swap(&version).await;
    }
    let by_id = json!({ "version": first["id"], "generation": 3 });
    let (status, error) = operator.post("/swap", &by_id).await;
    assert_eq!((status, error["error"].as_str()), (404, Some("unknown-version")), "it has left: {error}");

    let slot = operator.swap("embedded").await;
    let active = &slot["active"];
    assert_eq!((&active["component"], &active["id"]), (&first["component"], &first["id"]));
    assert_eq!((&active["source"], &active["signed_by"]), (&json!("embedded"), &json!("built in")));
    assert_eq!(active["configured"], true, "an upgrade of the host brings another");
    assert_eq!(ask(&host, 1).await.status(), 200);
    operator.change("rollback", json!({})).await;
    assert_eq!(letter(&host, 1).await, 'D');
    let slot = operator.change("canary", json!({ "version": "embedded", "weight": 50 })).await;
    assert_eq!(slot["candidate"]["id"], first["id"], "what is remembered is no other version");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bytes_of_versions_are_given_out() {
    let host = hosting_built_in().start().await;
    let (operator, wasm) = (operator(&host), answering('B', "").component());
    let version = operator.push(wasm.clone()).await;
    let first = operator.slot().await["active"].clone();
    let get = async |name: &str, token: &str| {
        let path = format!("/v1/slots/captcha/versions/{name}/component");
        host.client().get(host.admin_url(&path)).bearer_auth(token).send().await.unwrap()
    };
    let answer = get(&version[..8], operator::DEPLOY).await;
    let digest = answer.headers()["content-digest"].to_str().unwrap().to_owned();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "application/wasm");
    assert_eq!(answer.bytes().await.unwrap(), wasm);
    assert_eq!(digest, format!("sha-256=:{}:", BASE64_STANDARD.encode(Sha256::digest(&wasm))));
    for name in ["embedded", first["id"].as_str().unwrap(), first["component"].as_str().unwrap()] {
        let bytes = get(name, operator::ADMIN).await.bytes().await.unwrap();
        let digest = format!("sha256:{}", hex::encode(Sha256::digest(&bytes)));
        assert_eq!(digest, first["component"].as_str().unwrap(), "{name}");
    }
    assert_eq!(get("ffffffffffffffff", operator::DEPLOY).await.status(), 404);
    assert_eq!(get("embedded", operator::READ).await.status(), 403);
    host.stop().await;
}

/// Two are given out at once: more wait for these to have left memory.
#[tokio::test(flavor = "multi_thread")]
async fn a_permit_of_an_export_comes_back() {
    let host = hosting_built_in().start().await;
    let url = host.admin_url("/v1/slots/captcha/versions/embedded/component");
    for _ in 0..20 {
        let answer = host.client().get(&url).bearer_auth(operator::DEPLOY).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        answer.bytes().await.unwrap();
    }
    host.stop().await;
}

/// Its digest decides, wherever its bytes come from.
#[tokio::test(flavor = "multi_thread")]
async fn built_in_bytes_need_no_signature() {
    let host = hosting_built_in().start().await;
    let url = host.admin_url("/v1/slots/captcha/versions/embedded/component");
    let answer = host.client().get(&url).bearer_auth(operator::DEPLOY).send().await.unwrap();
    let wasm = answer.bytes().await.unwrap().to_vec();
    host.stop().await;

    let signer = Signer::new();
    let rules = format!("[slots.captcha.signatures]\npolicy = \"required\"\nkeys = [\"{}\"]\n", signer.key());
    let host = hosting_built_in().component(wasm.clone()).config(&rules).start().await;
    let operator = operator(&host);
    let first = operator.slot().await["active"].clone();
    assert_eq!((&first["signed_by"], &first["configured"]), (&json!("built in"), &json!(true)), "a file");
    let signed = answering('B', "").component();
    let (_, version) = operator.try_push_signed(signed.clone(), &signer.sign(&signed, 1)).await;
    operator.swap(version["id"].as_str().unwrap()).await;
    let (status, pushed) = operator.try_push(wasm).await;
    assert_eq!((status, &pushed["id"]), (201, &first["id"]), "{pushed}");
    operator.swap(first["id"].as_str().unwrap()).await;
    assert_eq!(ask(&host, 1).await.status(), 200);
    host.stop().await;
}
