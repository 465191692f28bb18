//! Components that are compiled already: who may have compiled them, and for what.

use std::fs;

use bulkhead_tests::{child::Launch, signer::Signer};
use tempfile::TempDir;

use super::*;

/// What `bulkhead component compile` makes of a component, with a key or without, and with more arguments.
pub(super) async fn compiled(wasm: &[u8], signer: Option<&Signer>, more: &[&str]) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, key, pack) = (path("a.wasm"), path("key"), path("a.cwasm"));
    fs::write(&file, wasm).unwrap();
    let mut launch = Launch::bulkhead(&["component", "compile", &file, "--output", &pack]).args(more);
    if let Some(signer) = signer {
        fs::write(&key, signer.secret_key()).unwrap();
        launch = launch.args(&["--sign", &key]);
    }
    let finished = launch.env("BULKHEAD_DATA_DIR", &path("data")).finish().await;
    assert!(finished.succeeded(), "{}", finished.stderr);
    assert!(signer.is_none_or(|signer| finished.stdout.contains(&signer.key())), "{}", finished.stdout);
    fs::read(pack).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn signed_pack_answers() {
    let signer = Signer::new();
    let host = hosting_a().env("BULKHEAD_SANDBOX__PACK_KEYS", &signer.key()).start().await;
    let operator = operator(&host);
    let pack = compiled(&answering('B', "").component(), Some(&signer), &[]).await;
    let version = operator.push(pack.clone()).await;
    operator.swap(&version).await;
    assert_eq!(letter(&host, 1).await, 'B');
    let again = compiled(&pack, Some(&signer), &[]).await;
    assert_eq!(again.len(), pack.len(), "the component of a pack is compiled, not the pack");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_packs_are_refused() {
    let (signer, wasm) = (Signer::new(), answering('B', "").component());
    let host = hosting_a().env("BULKHEAD_SANDBOX__PACK_KEYS", &signer.key()).start().await;
    let operator = operator(&host);
    let other =
        ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"][usize::from(cfg!(target_arch = "x86_64"))];
    let mut flipped = compiled(&wasm, Some(&signer), &[]).await;
    *flipped.last_mut().unwrap() ^= 1;
    for (pack, reason) in [
        (compiled(&wasm, None, &[]).await, "not signed"),
        (compiled(&wasm, Some(&Signer::new()), &[]).await, "no key of sandbox.pack_keys"),
        (compiled(&wasm, Some(&signer), &["--target", other]).await, "compiled for target"),
        (flipped, "its code has changed"),
    ] {
        let (status, error) = operator.try_push(pack).await;
        assert_eq!((status, error["error"].as_str()), (422, Some("refused")), "{error}");
        assert!(error["message"].as_str().unwrap().contains(reason), "{reason}: {error}");
    }
    assert_eq!(letter(&host, 1).await, 'A');
    host.stop().await;
}

/// An upgrade may refuse every pack of before; here, it is the key that is not accepted any more.
#[tokio::test(flavor = "multi_thread")]
async fn configured_component_answers_for_refused_pack() {
    let signer = Signer::new();
    let host = hosting_a().env("BULKHEAD_SANDBOX__PACK_KEYS", &signer.key()).start().await;
    let pack = compiled(&answering('B', "").component(), Some(&signer), &[]).await;
    let version = operator(&host).push(pack).await;
    operator(&host).swap(&version).await;
    let folder = host.stop().await;
    let host = hosting_a().env("BULKHEAD_SANDBOX__PACK_KEYS", &Signer::new().key()).folder(folder);
    let host = host.start().await;
    assert_eq!(letter(&host, 1).await, 'A');
    let ready = host.client().get(host.admin_url("/health/ready")).send().await.unwrap();
    let ready: Value = ready.json().await.unwrap();
    assert_eq!(ready["degraded"][0]["check"], "slot captcha", "{ready}");
    let reason = ready["degraded"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with(&format!("version {version} does not start, and ")), "{reason}");
    assert!(reason.contains("no key of sandbox.pack_keys"), "{reason}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn host_without_keys_refuses_packs() {
    let host = hosting_a().start().await;
    let pack = compiled(&answering('B', "").component(), Some(&Signer::new()), &[]).await;
    let (status, error) = operator(&host).try_push(pack).await;
    assert_eq!(status, 422, "{error}");
    assert!(error["message"].as_str().unwrap().contains("name the signer's in sandbox.pack_keys"), "{error}");
    host.stop().await;
}
