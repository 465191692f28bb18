//! What may not answer, and requests that make no sense.

use bulkhead_tests::host::eventually;

use super::super::*;

#[tokio::test(flavor = "multi_thread")]
async fn refused_component_changes_nothing() {
    let host = hosting_a().env("BULKHEAD_SANDBOX__COMPONENT_BYTES", "65536").start().await;
    let operator = operator(&host);
    let failing = "(i32.store8 (i32.const 32) (i32.const 1)) (i32.store (i32.const 36) (i32.const 48)) \
        (i32.store (i32.const 40) (i32.const 9)) i32.const 32";
    let unfit = Guest::default().with_self_test(failing).with_fields(r#"(data (i32.const 48) "no spoons")"#);
    let looping = Guest::default().with_self_test("(loop $again (br $again)) unreachable");
    for (wasm, reason) in [
        (b"garbage".to_vec(), "not a WebAssembly component"),
        (wat::parse_str("(component)").unwrap(), "does not export self-test"),
        (unfit.component(), "self-test failed: no spoons"),
        (looping.component(), "self-test failed: the component's call ended with cpu-budget"),
    ] {
        let (status, error) = operator.try_push(wasm).await;
        assert_eq!((status, error["error"].as_str()), (422, Some("refused")), "{error}");
        assert!(error["message"].as_str().unwrap().contains(reason), "{error}");
        let version = error["version"].as_str().unwrap();
        assert_eq!(operator.stage(version).await, "refused");
        let swap = json!({ "version": version, "generation": 0 });
        let (status, error) = operator.post("/swap", &swap).await;
        assert_eq!((status, error["error"].as_str()), (409, Some("untried")), "{error}");
    }
    let (status, error) = operator.try_push(vec![0; 65537]).await;
    assert_eq!((status, error["error"].as_str()), (413, Some("body-too-large")), "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("65536 bytes; make it smaller or raise sandbox.component_bytes"), "{message}");
    let long = json!({ "generation": 0, "reason": "x".repeat(16 << 10) });
    let (status, error) = operator.post("/rollback", &long).await;
    assert_eq!((status, error["error"].as_str()), (413, Some("body-too-large")), "{error}");
    assert!(error["message"].as_str().unwrap().contains("more than 16384 bytes"), "{error}");
    assert_eq!((letter(&host, 1).await, operator.generation().await), ('A', 0));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsensical_requests_get_a_typed_error() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let version = operator.push(answering('B', "").component()).await;
    let active = operator.slot().await["active"]["id"].clone();
    for (path, body, status, code) in [
        ("/swap", json!({ "version": version }), 400, "invalid-request"),
        ("/swap", json!({ "version": version, "generation": -1 }), 400, "invalid-request"),
        ("/swap", json!({ "version": version, "generation": 0, "force": true }), 400, "invalid-request"),
        ("/swap", json!({ "version": version, "generation": 7 }), 409, "conflict"),
        ("/swap", json!({ "version": "../../etc/passwd", "generation": 0 }), 404, "unknown-version"),
        ("/swap", json!({ "version": "", "generation": 0 }), 404, "unknown-version"),
        ("/swap", json!({ "version": active, "generation": 0 }), 409, "answering"),
        ("/canary", json!({ "version": active, "weight": 1, "generation": 0 }), 409, "answering"),
        ("/canary", json!({ "weight": 1, "generation": 0 }), 409, "no-candidate"),
        ("/canary", json!({ "weight": 101, "generation": 0 }), 400, "invalid-request"),
        ("/canary", json!({ "weight": "10", "generation": 0 }), 400, "invalid-request"),
        ("/shadow", json!({ "version": 7, "generation": 0 }), 400, "invalid-request"),
        ("/rollback", json!([0, ""]), 400, "invalid-request"),
        ("/promote", json!({ "generation": 0 }), 409, "no-candidate"),
        ("/rollback", json!({ "generation": 0 }), 409, "no-predecessor"),
    ] {
        let (got, error) = operator.post(path, &body).await;
        assert_eq!((got, error["error"].as_str()), (status, Some(code)), "{path} {body}: {error}");
        let message = error["message"].as_str().unwrap();
        for internal in ["struct", "expected", "u64", "invalid type", "missing field", "unknown field"] {
            assert!(!message.contains(internal), "{message}");
        }
    }
    for (path, status) in [
        ("/v1/slots/none", 404),
        ("/v1/slots/..%2Fcaptcha", 404),
        ("/v1/slots/captcha/logs?limit=0", 400),
        ("/v1/slots/captcha/logs?lines=1", 400),
        ("/v1/slots/%ff", 404),
        ("/v1/slots/captcha/statistics?limit=x", 400),
        ("/v1/nothing", 404),
    ] {
        let (got, error) = operator.get(path).await;
        assert_eq!(got, status, "{path}: {error}");
        let code = error["error"].as_str().unwrap();
        assert!(code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{path}: {code}");
    }
    assert_eq!((letter(&host, 1).await, operator.generation().await), ('A', 0));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_see_logs_and_failures() {
    let host = hosting_a().component(trapping().component()).start().await;
    assert_eq!(ask(&host, 1).await.status(), 500);
    let (status, logs) = operator(&host).get("/v1/slots/captcha/logs?limit=5").await;
    assert_eq!(status, 200);
    let [reason, frame, ..] = logs["lines"].as_array().unwrap().as_slice() else { panic!("{logs}") };
    for line in [reason, frame] {
        assert_eq!((&line["level"], &line["context"]), (&json!("error"), &json!("trap")));
    }
    assert_eq!(reason["message"], "wasm trap: wasm `unreachable` instruction executed");
    assert!(frame["message"].as_str().unwrap().trim_start().starts_with("0: "), "{frame}");
    let active = operator(&host).slot().await["active"].clone();
    assert_eq!(reason["version"], active["id"], "by the version's id");
    let (status, statistics) = operator(&host).get("/v1/slots/captcha/statistics").await;
    assert_eq!((status, &statistics["calls"]), (200, &json!(1)), "{statistics}");
    assert_eq!((&statistics["outcomes"]["trap"], &statistics["outcomes"]["ok"]), (&json!(1), &json!(0)));
    assert!(statistics["p99_ms"].as_f64().unwrap() > 0.0, "{statistics}");
    eventually("the call stands in a step", async || {
        let (_, statistics) = operator(&host).get("/v1/slots/captcha/statistics?limit=150").await;
        let steps = statistics["steps"].as_array().unwrap();
        steps.iter().any(|step| step["outcomes"] == json!({ "trap": 1 }) && step["calls"] == 1)
    })
    .await;
    host.stop().await;
}

/// A key of minisign's documentation, and its signature of `test`.
const KEY: &str = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
const SIGNATURE: &str = "untrusted comment: signature from minisign secret key\n\
    RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=\n\
    trusted comment: timestamp:1556193335\tfile:test\n\
    y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==\n";

#[tokio::test(flavor = "multi_thread")]
async fn signing_slot_refuses_unsigned_components() {
    let host = hosting_a()
        .env("BULKHEAD_SLOTS__CAPTCHA__SIGNATURES__POLICY", "required")
        .env("BULKHEAD_SLOTS__CAPTCHA__SIGNATURES__KEYS", KEY)
        .start()
        .await;
    let operator = operator(&host);
    let empty = operator.slot().await["empty"].as_str().unwrap().to_owned();
    assert!(empty.contains("it is not signed"), "the configuration's file is not either: {empty}");
    let wasm = answering('B', "").component();
    let (status, error) = operator.try_push(wasm.clone()).await;
    assert_eq!(status, 422, "{error}");
    assert!(error["message"].as_str().unwrap().contains("minisign -S"), "{error}");
    let (status, error) = operator.try_push_signed(wasm.clone(), SIGNATURE).await;
    assert_eq!(status, 422, "{error}");
    assert!(error["message"].as_str().unwrap().contains("not that of these bytes"), "{error}");
    let (status, error) = operator.try_push_signed(wasm, "garbage").await;
    assert_eq!(status, 422, "{error}");
    // A good signature of something that is not a component.
    let (status, error) = operator.try_push_signed(b"test".to_vec(), SIGNATURE).await;
    assert_eq!(status, 422, "{error}");
    assert!(error["message"].as_str().unwrap().contains("not a WebAssembly component"), "{error}");
    host.stop().await;
}
