//! A changed file behind `component = PATH`.

use super::*;

/// Why the host is degraded.
async fn degraded(host: &TestHost) -> Value {
    let body: Value =
        host.client().get(host.admin_url("/health/ready")).send().await.unwrap().json().await.unwrap();
    body["degraded"].clone()
}

/// The slot's component is a file; what is in it changes without a word of the configuration.
#[tokio::test(flavor = "multi_thread")]
async fn changed_component_file_counts_with_reload() {
    let host = hosting_a().start().await;
    let admin = admin(&host);
    let file = host.folder().join("guest-captcha.wasm");
    let (_, same) = reload(&admin).await;
    assert_eq!((&same["versions"], admin.generation().await), (&json!([]), 0), "{same}");
    fs::write(&file, answering('B', "").component()).unwrap();
    let (status, trial) = admin.post_at("/v1/config/trial", &json!({})).await;
    assert_eq!((status, &trial["versions"][0]["slot"]), (200, &json!("captcha")), "{trial}");
    assert_eq!((letter(&host, 1).await, admin.generation().await), ('A', 0));
    let (_, reloaded) = reload(&admin).await;
    let slot = admin.slot().await;
    assert_eq!(reloaded["versions"], json!([{ "slot": "captcha", "version": slot["active"]["id"] }]));
    assert_eq!((letter(&host, 1).await, &slot["active"]["configured"]), ('B', &json!(true)));
    assert_eq!(slot["active"]["component"], bulkhead_tests::artifact::digest(&fs::read(&file).unwrap()));
    // One that may not answer leaves all as it was, and so does one that is not there.
    fs::write(&file, b"garbage").unwrap();
    let (status, refused) = reload(&admin).await;
    assert_eq!(status, 422, "{refused}");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("not a WebAssembly component"), "{refused}");
    assert!(message.contains(file.to_str().unwrap()), "{refused}");
    fs::remove_file(&file).unwrap();
    assert_eq!(degraded(&host).await, json!(null));
    let (status, warned) = reload(&admin).await;
    assert_eq!((status, &warned["versions"]), (200, &json!([])), "{warned}");
    let warning = warned["warnings"][0].as_str().unwrap();
    assert!(
        warning.starts_with("slot captcha: cannot read") && warning.contains(file.to_str().unwrap()),
        "{warning}"
    );
    assert_eq!(degraded(&host).await[0]["check"], "slot captcha");
    let trial = Launch::bulkhead(&["config", "reload", "--trial"])
        .env("BULKHEAD_ADMIN_URL", &host.admin_url(""))
        .env("BULKHEAD_ADMIN_TOKEN", operator::ADMIN);
    let finished = trial.finish().await;
    assert!(
        finished.succeeded() && finished.stdout.contains(&format!("warning: {warning}")),
        "{}",
        finished.stdout
    );
    // Nobody writes to this pipe: a reload that opened it would never end.
    let made = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success(), "{made}");
    assert_eq!(reload(&admin).await.0, 200);
    fs::remove_file(&file).unwrap();
    assert_eq!(reload(&admin).await.0, 200);
    assert_eq!(letter(&host, 1).await, 'B');
    admin.change("rollback", json!({})).await;
    assert_eq!(letter(&host, 1).await, 'A', "its bytes are here though the file has gone");
    // What was pushed is no business of the file's.
    let pushed = admin.push(answering('C', "").component()).await;
    admin.swap(&pushed).await;
    fs::write(&file, answering('D', "").component()).unwrap();
    let (_, reloaded) = reload(&admin).await;
    assert_eq!((&reloaded["versions"], letter(&host, 1).await), (&json!([]), 'C'));
    host.stop().await;
}

/// Else the corrected file counts with a restart only.
#[tokio::test(flavor = "multi_thread")]
async fn corrected_file_fills_empty_slot() {
    let host = hosting_a().component(b"garbage".to_vec()).start().await;
    let admin = admin(&host);
    let file = host.folder().join("guest-captcha.wasm");
    assert!(admin.slot().await["empty"].as_str().unwrap().contains(file.to_str().unwrap()));
    let (status, answer) = reload(&admin).await;
    assert_eq!((status, &answer["versions"]), (200, &json!([])), "no other slot waits for it: {answer}");
    assert!(answer["warnings"][0].as_str().unwrap().contains("not a WebAssembly component"), "{answer}");
    fs::write(&file, answering('B', "").component()).unwrap();
    let (_, answer) = reload(&admin).await;
    let slot = admin.slot().await;
    assert_eq!(
        answer["versions"],
        json!([{ "slot": "captcha", "version": slot["active"]["id"] }]),
        "{answer}"
    );
    assert_eq!((&answer["warnings"], &slot["empty"]), (&json!([]), &json!(null)));
    assert_eq!((letter(&host, 1).await, &slot["active"]["configured"]), ('B', &json!(true)));
    let host = hosting_a().component(answering('B', "").component()).folder(host.stop().await).start().await;
    assert_eq!(letter(&host, 1).await, 'B', "a restart goes on with it");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_copy_in_use_degrades() {
    let host = hosting_a().start().await;
    let (file, lost) = (host.folder().join("guest-captcha.wasm"), answering('B', "").component());
    fs::write(&file, lost).unwrap();
    assert_eq!(reload(&admin(&host)).await.0, 200);
    let folder = host.stop().await;
    let host = hosting_a().component(b"garbage".to_vec()).folder(folder).start().await;
    assert_eq!(letter(&host, 1).await, 'B');
    let degraded_by = degraded(&host).await;
    assert!(degraded_by[0]["reason"].as_str().unwrap().contains("guest-captcha.wasm"), "{degraded_by}");
    // Other changes do not wait until the file is usable.
    let (status, answer) = reload(&admin(&host)).await;
    assert_eq!((status, &answer["versions"]), (200, &json!([])), "{answer}");
    assert!(answer["warnings"][0].as_str().unwrap().contains("not a WebAssembly component"), "{answer}");
    assert_eq!(letter(&host, 1).await, 'B');
    assert!(degraded(&host).await[0]["reason"].as_str().unwrap().contains("guest-captcha.wasm"));
    let file = host.folder().join("guest-captcha.wasm");
    fs::write(&file, answering('B', "").component()).unwrap();
    assert_eq!(reload(&admin(&host)).await.0, 200);
    assert_eq!(degraded(&host).await, json!(null));
    host.stop().await;
}

/// The file, or the settings, come to mean what was tried.
#[tokio::test(flavor = "multi_thread")]
async fn an_activated_candidate_is_tried_no_more() {
    let host = hosting_a().component(reading().component()).start().await;
    let admin = admin(&host);
    let file = host.folder().join("guest-captcha.wasm");
    let candidate = admin.push(answering('C', "").component()).await;
    admin.change("canary", json!({ "version": candidate, "weight": 30 })).await;
    fs::write(&file, answering('C', "").component()).unwrap();
    assert_eq!(reload(&admin).await.0, 200);
    let slot = admin.slot().await;
    assert_eq!((&slot["active"]["id"], &slot["candidate"]), (&json!(candidate), &json!(null)), "{slot}");
    assert_eq!((letter(&host, 1).await, admin.stage(&candidate).await.as_str()), ('C', "active"));

    let plain = rewrite(&host, |text| format!("{text}[slots.captcha]\ncpu_ms = 150\n"));
    assert_eq!(reload(&admin).await.0, 200);
    assert_ne!(admin.slot().await["active"]["id"], candidate.as_str());
    admin.change("canary", json!({ "version": candidate, "weight": 30 })).await;
    rewrite(&host, |_| plain);
    assert_eq!(reload(&admin).await.0, 200);
    let slot = admin.slot().await;
    assert_eq!((&slot["active"]["id"], &slot["candidate"]), (&json!(candidate), &json!(null)), "{slot}");

    // So it is with a restart.
    fs::write(&file, answering('D', "").component()).unwrap();
    let next = admin.push(answering('D', "").component()).await;
    admin.change("canary", json!({ "version": next, "weight": 30 })).await;
    let host = hosting_a().component(answering('D', "").component()).folder(host.stop().await).start().await;
    let slot = operator(&host).slot().await;
    assert_eq!((&slot["active"]["id"], &slot["candidate"]), (&json!(next), &json!(null)), "{slot}");
    host.stop().await;
}

/// The reason of a refusal has several lines.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_one_log_line() {
    let failing = "(i32.store8 (i32.const 32) (i32.const 1)) (i32.store (i32.const 36) (i32.const 48)) \
        (i32.store (i32.const 40) (i32.const 9)) i32.const 32";
    let unfit = Guest::default().with_self_test(failing).with_fields(r#"(data (i32.const 48) "no\nspoons")"#);
    let folder = TempDir::new().unwrap();
    let component = folder.path().join("a.wasm");
    fs::write(&component, unfit.component()).unwrap();
    let config = format!(
        "[services]\nstatus.enabled = false\ntickets.enabled = false\n{SITE}[slots.captcha]\ncomponent = \"{}\"\n",
        component.display()
    );
    let host = Launch::serve_with(folder.path(), &config).ready().await;
    let line = host.line("the component may not answer").await;
    let reason = line["reason"].as_str().unwrap();
    assert!(reason.ends_with("self-test failed: no; spoons"), "{reason}");
    host.stop().await;
}
