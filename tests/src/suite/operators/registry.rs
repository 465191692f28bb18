//! Components from OCI registries: a real one, and one that does what it should not.

mod faults;
mod login;
mod start;

use std::{fs, path::Path};

use bulkhead_tests::{
    artifact::Artifact,
    child::Launch,
    host::eventually,
    servers::{fake_registry::FakeRegistry, registry::Registry},
    signer::Signer,
};
use tempfile::TempDir;

use super::{proof::padded, *};

/// The configuration of a registry without TLS.
fn plain(host: &str) -> String {
    format!("[registries.tests]\nhost = \"{host}\"\nplain_http = true\n")
}

/// The component that answers with a letter, as an artifact.
fn artifact(letter: char) -> Artifact {
    Artifact::of(answering(letter, "").component())
}

/// Asks the host to pull a component; status and answer.
async fn pull(host: &TestHost, reference: &str) -> (u16, Value) {
    operator(host).post("/versions", &json!({ "reference": reference })).await
}

/// Asserts that a pull fails with this status and code; what it said.
async fn refused(host: &TestHost, reference: &str, status: u16, code: &str) -> String {
    let (got, error) = pull(host, reference).await;
    assert_eq!((got, error["error"].as_str()), (status, Some(code)), "{reference}: {error}");
    error["message"].as_str().unwrap().to_owned()
}

/// Files below a folder that an attempt has left.
fn leftovers(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        // Not what a link leads to: others write there.
        if entry.file_type().unwrap().is_dir() {
            found.extend(leftovers(&path));
        } else if path.extension().is_some_and(|extension| extension == "tmp") {
            found.push(path.display().to_string());
        }
    }
    found
}

/// Asserts that nothing has come of all attempts.
async fn assert_untouched(host: &TestHost) {
    assert_eq!((letter(host, 1).await, operator(host).generation().await), ('A', 0));
    let (_, history) = operator(host).get("/v1/slots/captcha/history").await;
    assert_eq!(history["versions"].as_array().unwrap().len(), 1, "{history}");
    assert_eq!(leftovers(host.folder()), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn tag_is_resolved_to_digest_once() {
    let registry = Registry::start().await;
    let name = format!("oci://{}/town/captcha", registry.host());
    let (b, c) = (artifact('B'), artifact('C'));
    let host = hosting_a().config(&plain(&registry.host())).start().await;
    let operator = operator(&host);

    let digest = registry.push("town/captcha", "stable", &b).await;
    let (status, version) = pull(&host, &format!("{name}:stable")).await;
    assert_eq!(status, 201, "{version}");
    let source = format!("{name}:stable@{digest}");
    assert_eq!(version["source"], source);
    let first = version["id"].as_str().unwrap();
    operator.swap(first).await;
    assert_eq!(letter(&host, 1).await, 'B');

    // The tag moves: what has been pulled does not, and a new pull says so.
    let moved = registry.push("town/captcha", "stable", &c).await;
    let (status, version) = pull(&host, &format!("{name}@{digest}")).await;
    assert_eq!((status, &version["answering"]), (200, &json!(true)), "{version}");
    let (status, version) = pull(&host, &format!("{name}:stable")).await;
    assert_eq!((status, &version["source"]), (201, &json!(format!("{name}:stable@{moved}"))));
    assert_eq!(letter(&host, 1).await, 'B');
    operator.swap(version["id"].as_str().unwrap()).await;
    assert_eq!(letter(&host, 1).await, 'C');
    operator.change("rollback", json!({})).await;
    assert_eq!(letter(&host, 1).await, 'B');

    let admin = Operator::new(&host.admin_url(""), operator::ADMIN);
    let (_, audit) = admin.get("/v1/audit?slot=captcha&limit=100").await;
    let received = audit["entries"].as_array().unwrap().iter().find(|entry| entry["stage"] == "received");
    assert_eq!(received.unwrap()["reason"], format!("pulled from {source}"), "{audit}");
    // The answer comes before the state of the slot is written.
    eventually("nothing is left over", async || leftovers(host.folder()).is_empty()).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_and_invalid_artifacts_are_reported() {
    let registry = Registry::start().await;
    let host = hosting_a().config(&plain(&registry.host())).start().await;
    let name = format!("oci://{}/town/captcha", registry.host());
    refused(&host, &format!("{name}:none"), 404, "not-found").await;
    refused(&host, &format!("{name}@sha256:{}", "0".repeat(64)), 404, "not-found").await;
    let image = artifact('B').with("/config/mediaType", json!("application/vnd.oci.image.config.v1+json"));
    registry.push("town/captcha", "image", &image).await;
    let said = refused(&host, &format!("{name}:image"), 422, "media-type").await;
    assert!(said.contains("application/vnd.wasm.config.v0+json") && said.contains("wkg oci push"), "{said}");
    assert_untouched(&host).await;
    let text = Artifact::of(b"no component".to_vec());
    let digest = registry.push("town/captcha", "text", &text).await;
    let said = refused(&host, &format!("{name}:text"), 422, "refused").await;
    assert!(said.contains("not a WebAssembly component"), "{said}");
    let (_, history) = operator(&host).get("/v1/slots/captcha/history").await;
    assert_eq!(history["versions"][1]["source"], format!("{name}:text@{digest}"), "{history}");
    refused(&host, "oci://registry.example.org/a:1", 403, "registry-not-allowed").await;
    let metrics = host.metrics().await;
    for (outcome, pulls) in [
        ("ok", 1.0),
        ("not-found", 2.0),
        ("media-type", 1.0),
        ("registry-not-allowed", 1.0),
        ("registry-timeout", 0.0),
        ("cancelled", 0.0),
    ] {
        let name = format!("bulkhead_registry_pulls_total{{outcome=\"{outcome}\"}}");
        assert_eq!(metrics.get(&name), Some(&pulls), "{outcome}");
    }
    assert_eq!(metrics["bulkhead_registry_pull_seconds_count"], 5.0);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn signature_comes_from_manifest_or_request() {
    let (registry, signer, now) = (Registry::start().await, Signer::new(), 1_780_000_000);
    let host = hosting_a()
        .config(&plain(&registry.host()))
        .env("BULKHEAD_SLOTS__CAPTCHA__SIGNATURES__POLICY", "required")
        .env("BULKHEAD_SLOTS__CAPTCHA__SIGNATURES__KEYS", &signer.key())
        .start()
        .await;
    let name = |tag: &str| format!("oci://{}/town/captcha:{tag}", registry.host());
    let unsigned = artifact('B');
    let forged = artifact('B').signed(&Signer::new().sign(&unsigned.layer, now));
    let signed = artifact('B').signed(&signer.sign(&unsigned.layer, now));
    for (tag, artifact) in [("unsigned", &unsigned), ("forged", &forged), ("signed", &signed)] {
        registry.push("town/captcha", tag, artifact).await;
    }
    let said = refused(&host, &name("unsigned"), 422, "refused").await;
    assert!(said.contains("it is not signed"), "{said}");
    let said = refused(&host, &name("forged"), 422, "refused").await;
    assert!(said.contains("not that of these bytes"), "{said}");
    let (status, version) = pull(&host, &name("signed")).await;
    assert_eq!((status, &version["signed_by"]), (201, &json!(signer.key())), "{version}");

    let c = artifact('C');
    registry.push("town/captcha", "beside", &c).await;
    let ask = |signature: String| {
        let url = host.admin_url("/v1/slots/captcha/versions");
        let body = json!({ "reference": name("beside") });
        let request = host.client().post(url).bearer_auth(operator::DEPLOY).json(&body);
        async move {
            use base64::{Engine as _, prelude::BASE64_STANDARD};
            let header = BASE64_STANDARD.encode(signature);
            request.header("x-minisign-signature", header).send().await.unwrap().status()
        }
    };
    assert_eq!(ask(signer.sign(&unsigned.layer, now)).await, 422, "of other bytes");
    assert_eq!(ask(signer.sign(&c.layer, now - 1)).await, 422, "older than the newest that was taken");
    assert_eq!(ask(signer.sign(&c.layer, now + 1)).await, 201);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_checks_and_pushes_references() {
    let (registry, folder) = (Registry::start().await, TempDir::new().unwrap());
    let digest = registry.push("town/captcha", "1", &artifact('B')).await;
    let name = format!("oci://{}/town/captcha:1", registry.host());
    let a = folder.path().join("a.wasm");
    fs::write(&a, answering('A', "").component()).unwrap();
    let services = "[services]\nstatus.enabled = false\ntickets.enabled = false\n";
    let slot = format!("[slots.captcha]\ncomponent = {a:?}\n");
    let config = format!("{}{services}{SITE}{slot}{}", operator::tokens(), plain(&registry.host()));
    let host = Launch::serve_with(folder.path(), &config).ready().await;
    let file = folder.path().join("bulkhead.toml");
    let check = ["component", "check", "--slot", "captcha", &name, "--config", file.to_str().unwrap()];
    let checked = Launch::bulkhead(&check).finish().await;
    assert!(checked.succeeded(), "{}", checked.stderr);
    assert!(checked.stdout.starts_with(&format!("{name}@{digest} may answer for slot captcha")));
    let without = Launch::bulkhead(&check[..5]).env("HOME", folder.path().to_str().unwrap()).finish().await;
    assert_eq!(without.status.code(), Some(5), "as the push of one, below: {}", without.stderr);
    assert!(without.stderr.contains("allow it with [registries.NAME]"), "{}", without.stderr);

    let url = host.admin_url("");
    let command = |arguments: &[&str]| {
        let launch = Launch::bulkhead(&[&["component"][..], arguments].concat());
        launch.env("BULKHEAD_ADMIN_URL", &url).env("BULKHEAD_ADMIN_TOKEN", operator::DEPLOY).finish()
    };
    let swapped = command(&["swap", "captcha", "--file", &name]).await;
    assert!(swapped.succeeded(), "{}", swapped.stderr);
    assert!(swapped.stdout.contains(&digest), "{}", swapped.stdout);
    let pushed = command(&["push", "captcha", "oci://registry.example.org/a:1"]).await;
    assert_eq!(pushed.status.code(), Some(5), "{}", pushed.stderr);
    assert!(pushed.stderr.contains("registry registry.example.org is not allowed"), "{}", pushed.stderr);
    host.stop().await;
}

/// As a full disk: no file may have more than half a megabyte, or one.
#[tokio::test(flavor = "multi_thread")]
async fn full_disk_keeps_no_partial_component() {
    let (fake, folder) = (FakeRegistry::start().await, TempDir::new().unwrap());
    let a = folder.path().join("a.wasm");
    fs::write(&a, answering('A', "").component()).unwrap();
    fake.holds("town/captcha", "1", &Artifact::of(padded(answering('B', "").component(), 3 << 20)));
    let services = "[services]\nstatus.enabled = false\ntickets.enabled = false\n";
    let slot = format!("[slots.captcha]\ncomponent = {a:?}\n");
    let config = format!("{}{services}{SITE}{slot}{}", operator::tokens(), plain(&fake.host()));
    let host = Launch::serve_with_small_files(folder.path(), &config, 1024).ready().await;
    let operator = Operator::new(&host.admin_url(""), operator::DEPLOY);
    let reference = json!({ "reference": format!("oci://{}/town/captcha:1", fake.host()) });
    let (status, error) = operator.post("/versions", &reference).await;
    assert_eq!((status, error["error"].as_str()), (507, Some("storage")), "{error}");
    assert_eq!(operator.generation().await, 0);
    assert_eq!(leftovers(folder.path()), [""; 0]);
    host.stop().await;
}
