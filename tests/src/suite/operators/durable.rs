//! What answers is there again after a restart.

use std::fs;

use super::*;

fn again(folder: tempfile::TempDir) -> Builder {
    hosting_a().folder(folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn restart_keeps_version_candidate_and_generation() {
    let host = hosting_a().start().await;
    let first = operator(&host);
    let b = first.push(answering('B', "").component()).await;
    let c = first.push(answering('C', "").component()).await;
    first.swap(&b).await;
    first.change("canary", json!({ "version": c, "weight": 100 })).await;
    let host = again(host.stop().await).start().await;
    assert_eq!(letter(&host, 1).await, 'C');
    let second = operator(&host);
    assert_eq!(second.generation().await, 2);
    second.change("rollback", json!({})).await;
    assert_eq!(letter(&host, 1).await, 'B');
    second.change("rollback", json!({})).await;
    assert_eq!(letter(&host, 1).await, 'A', "the configured one is where the line begins");
    // Back on what the configuration names, the host starts with whatever that is.
    let host = again(host.stop().await).component(answering('D', "").component()).start().await;
    assert_eq!(letter(&host, 1).await, 'D');
    host.stop().await;
}

/// As a registry's component does: see `registry::start`.
#[tokio::test(flavor = "multi_thread")]
async fn missing_file_is_replaced_by_its_copy() {
    let host = hosting_a().start().await;
    assert_eq!((letter(&host, 1).await, operator(&host).generation().await), ('A', 0));
    let active = operator(&host).slot().await["active"].clone();
    let mut folder = host.stop().await;
    let file = folder.path().join("guest-captcha.wasm");
    let naming = |folder| {
        let config = format!("[slots.captcha]\ncomponent = {:?}\n", file.display().to_string());
        TestHost::builder()
            .config(&operator::tokens())
            .config(SITE)
            .config(&config)
            .env("CAPTCHA_HMAC_KEY", bulkhead_tests::host::HMAC_KEY)
            .folder(folder)
    };
    for broken in [None, Some(b"garbage")] {
        let _ = fs::remove_file(&file);
        if let Some(bytes) = broken {
            fs::write(&file, bytes).unwrap();
        }
        let host = naming(folder).start().await;
        assert_eq!(letter(&host, 1).await, 'A', "{broken:?}");
        assert_eq!(operator(&host).slot().await["active"]["id"], active["id"]);
        let ready = host.client().get(host.admin_url("/health/ready")).send().await.unwrap();
        assert_eq!(ready.status(), 200);
        folder = host.stop().await;
    }
    // The file counts again once it is good.
    fs::write(&file, answering('B', "").component()).unwrap();
    let host = naming(folder).start().await;
    assert_eq!(letter(&host, 1).await, 'B');
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_version_is_replaced_by_its_predecessor() {
    let host = hosting_a().start().await;
    let first = operator(&host);
    for letter in ['B', 'C'] {
        let version = first.push(answering(letter, "").component()).await;
        first.swap(&version).await;
    }
    let active = first.slot().await["active"].clone();
    let folder = host.stop().await;
    let digits = active["component"].as_str().unwrap().trim_start_matches("sha256:").to_owned();
    fs::write(folder.path().join(format!("data/slots/captcha/{digits}.wasm")), b"damaged").unwrap();
    let host = again(folder).start().await;
    assert_eq!(letter(&host, 1).await, 'B');
    let second = operator(&host);
    assert_eq!(second.generation().await, 3, "another version answers, and the generation says so");
    assert_eq!(second.stage(active["id"].as_str().unwrap()).await, "refused");
    let ready = host.client().get(host.admin_url("/health/ready")).send().await.unwrap();
    let ready: Value = ready.json().await.unwrap();
    let reason = ready["degraded"][0]["reason"].as_str().unwrap_or_else(|| panic!("{ready}"));
    assert!(reason.contains("is damaged: its digest differs"), "{reason}");
    let host = again(host.stop().await).start().await;
    assert_eq!(letter(&host, 1).await, 'B');
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unwritable_folder_leaves_the_active_version() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let version = operator.push(answering('B', "").component()).await;
    let slots = host.folder().join("data/slots");
    // Not even root writes into a file as if it were a folder.
    fs::rename(&slots, host.folder().join("away")).unwrap();
    fs::write(&slots, b"").unwrap();
    let swap = json!({ "version": version, "generation": 0 });
    let (status, error) = operator.post("/swap", &swap).await;
    assert_eq!((status, error["error"].as_str()), (500, Some("storage")), "{error}");
    assert_eq!((letter(&host, 1).await, operator.generation().await), ('A', 0));
    fs::remove_file(&slots).unwrap();
    fs::rename(host.folder().join("away"), &slots).unwrap();
    assert_eq!(operator.post("/swap", &swap).await.0, 200);
    assert_eq!(letter(&host, 1).await, 'B');
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_slot_is_filled_by_swap() {
    let host = hosting_a().component(b"garbage".to_vec()).start().await;
    assert_eq!(ask(&host, 1).await.status(), 503);
    let ready = host.admin_url("/health/ready");
    assert_eq!(host.client().get(&ready).send().await.unwrap().status(), 503);
    let operator = operator(&host);
    assert!(operator.slot().await["empty"].as_str().unwrap().contains("not a WebAssembly component"));
    let version = operator.push(answering('B', "").component()).await;
    operator.swap(&version).await;
    assert_eq!(letter(&host, 1).await, 'B');
    assert_eq!(host.client().get(&ready).send().await.unwrap().status(), 200);
    let host = again(host.stop().await).component(b"garbage".to_vec()).start().await;
    assert_eq!(letter(&host, 1).await, 'B');
    host.stop().await;
}
